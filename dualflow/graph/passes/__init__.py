"""The passes over a specialised graph, and `optimize`, which runs them.

Each pass is a module with a function ``run(graph, options) -> graph``, which may change its
argument. Unless it is in `ONCE`, a pass handles one graph, and `optimize` runs it on the bodies
first. Every pass preserves the invariants of `ir.check`. The passes run in this order, for these
reasons:

    inline      no later pass, nor the planner, handles calls
    versions    an inlined body may leave late reads of versions, which `ir.check` forbids
    dead_code   later passes then skip unread nodes, such as unused gradients

  repeated while values change, at most `ROUNDS` times: each may enable another
    bodies      makes unchanged carries captured inputs, which `hoist` can move out
    hoist       the passes below then simplify moved nodes together with their new neighbours
    assign      `algebra` and `cluster` handle `add`, not `assign_add`
    slice_sums  `algebra` would split short sums
    algebra     removes nodes between the ops that `reshapes` and `fold` combine
    layout      leaves pairs of transposes that cancel for `reshapes`
    reshapes    turns ops on broadcasts into broadcasts of small ops, which `fold` can compute
    fold        its constants enable rules of `algebra` in the second iteration
    loop_sums   `fold` computes the indices of the rows that loops read
    cse         the rewrites before it turn equivalent nodes into equal ones
    dead_code   drops the nodes that the rewrites replaced: `recompute` counts readers
    recompute   copies simplified nodes only; the second iteration simplifies the copies

  once
    residuals   needs the final readers of stacked values
    masked_carries, carried_sums
                `loop_sums` moves the sums that it can out of their loops before
    packing, loop_packing
                `reshapes` has merged transposes into products; `cache_invariants` caches packed
                matrices
    cache_invariants
                fusion would merge cached nodes with others
    epilogue    `cluster` would take the elementwise nodes that follow a product
    cluster     no other pass rewrites tile code, so all rewrites come before it
    updates     moves nodes whose positions `cluster` has decided
    latency_hiding
                an update that `updates` has moved limits how late a wait may come
    waves       no node may move afterwards: the nodes of a wave are consecutive

`cluster` uses `partition`, which groups nodes, and `operands`, which finds the sources of views.
`values` has helpers for all passes, `options` has the settings.
"""

from __future__ import annotations

from collections.abc import Callable

from dualflow._core import get_op
from dualflow._util.late_binding import submodule
from dualflow.graph import ir
from dualflow.graph.ir import Graph, Node
from dualflow.graph.passes import (  # most programs need them; the others are loaded late
    algebra as algebra,
    assign as assign,
    cache_invariants as cache_invariants,
    cluster as cluster,
    cse as cse,
    dead_code as dead_code,
    epilogue as epilogue,
    fold as fold,
    inline,
    packing as packing,
    reshapes as reshapes,
    updates as updates,
    versions as versions,
    waves as waves,
)
from dualflow.graph.passes.options import Options


class Pass:
    """A pass, whose module is loaded by the first graph that the pass may change.

    Attributes
    ----------
    name : str
        The name of the module.
    may_change : callable (node) -> bool, or None
        If given, the pass changes only graphs with bodies, and graphs with a node for which this
        function returns True.
    enters : bool
        True if the pass processes the bodies of the graph itself, or must not change them.
    """

    def __init__(self, name: str, may_change: Callable[[Node], bool] | None = None,
                 enters: bool = False) -> None:
        self.name = name
        self.may_change = may_change
        self.enters = enters

    def skips(self, graph: Graph, has_bodies: bool) -> bool:
        """Return True if the pass does not change a graph."""
        if self.may_change is None or has_bodies:
            return False
        return not any(map(self.may_change, graph.nodes))

    def run(self, graph: Graph, options: Options) -> Graph:
        """Return the rewritten graph."""
        made: Graph = submodule(__name__, self.name).run(graph, options)
        return made

    def __repr__(self) -> str:
        return f"<Pass {self.name}>"


def owns_bodies(node: Node) -> bool:
    """Return True for a node with bodies."""
    return bool(node.bodies)


def is_op(name: str) -> Callable[[Node], bool]:
    """Return a function that returns True for the nodes of an op."""
    op = get_op(name)
    return lambda node: node.op is op


# Required for lowering, even without optimisation; `ir.check` accepts a graph only after both.
NEEDED = (
    Pass("inline", owns_bodies, enters=True),
    Pass("versions", enters=True),
)
SIMPLE = (
    Pass("bodies", owns_bodies, enters=True),
    Pass("hoist", owns_bodies, enters=True),
    Pass("assign"),
    Pass("slice_sums", is_op("strided_slice_grad")),
    Pass("algebra"),
    Pass("layout", is_op("transpose")),
    Pass("reshapes"),
    Pass("fold"),
    Pass("loop_sums", owns_bodies),
    Pass("cse"),
    Pass("dead_code"),
    Pass("recompute", owns_bodies, enters=True),
)
ROUNDS = 2
LAST = (
    Pass("residuals", owns_bodies, enters=True),
    Pass("masked_carries", owns_bodies, enters=True),
    Pass("carried_sums", owns_bodies, enters=True),
    Pass("packing", enters=True),
    Pass("loop_packing", owns_bodies, enters=True),
    Pass("cache_invariants", enters=True),  # no value of a body is valid in a later run
    Pass("epilogue"),
    Pass("cluster"),
    Pass("updates"),
    Pass("latency_hiding", lambda node: bool(node.op.async_role)),
    Pass("waves"),
)
FIRST = (Pass("dead_code"),)
PASSES = (*NEEDED, *FIRST, *SIMPLE, *LAST)

Watch = Callable[[str, Graph], None]


def optimize(graph: Graph, options: Options, watch: Watch | None = None) -> Graph:
    """Run the passes over a specialised graph.

    Parameters
    ----------
    graph : Graph
        Left unchanged.
    options : Options
    watch : callable (name, graph), optional
        Called after each pass with the name of its module. The next pass may change that graph.

    Returns
    -------
    Graph
    """
    def apply(passes: tuple[Pass, ...]) -> None:
        nonlocal graph
        has_bodies = any(map(owns_bodies, graph.nodes))        # no pass adds the first bodies
        for one in passes:
            if not one.skips(graph, has_bodies):
                if has_bodies and not one.enters:
                    _run_inside(one, graph, options)
                graph = one.run(graph, options)
                if options.check and one is not NEEDED[0]:
                    ir.check(graph)
            if watch is not None:
                watch(one.name, graph)

    if not inline.n_calls(graph):           # otherwise `inline` returns a new graph
        graph = ir.copy(graph)
    apply(NEEDED)
    if not options.passes:
        return graph
    apply(FIRST)
    for _ in range(ROUNDS):
        before = graph.changes
        apply(SIMPLE)
        if graph.changes == before:
            break
    apply(LAST)
    return graph


def _run_inside(one: Pass, graph: Graph, options: Options) -> None:
    """Run a pass on all bodies of a graph, inner bodies first."""
    owners = [node for node in graph.nodes if node.bodies]
    for node in ir.walk(owners):
        if node.bodies:
            for body in node.bodies:
                one.run(body, options)
                graph.changes += body.changes
                body.changes = 0
            node.own(node.bodies)
