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
    packing     `reshapes` has merged transposes into products; `cache_invariants` caches
                packed matrices
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
from types import ModuleType

from dualflow.graph import ir
from dualflow.graph.ir import Graph
from dualflow.graph.passes import (
    algebra,
    assign,
    bodies,
    cache_invariants,
    cluster,
    cse,
    dead_code,
    epilogue,
    fold,
    hoist,
    inline,
    latency_hiding,
    layout,
    loop_sums,
    packing,
    recompute,
    reshapes,
    residuals,
    slice_sums,
    updates,
    versions,
    waves,
)
from dualflow.graph.passes.options import Options

# Required for lowering, even without optimisation; `ir.check` accepts a graph only after both.
NEEDED = (inline, versions)
SIMPLE = (bodies, hoist, assign, slice_sums, algebra, layout, reshapes, fold, loop_sums, cse,
          dead_code, recompute)
ROUNDS = 2
LAST = (residuals, packing, cache_invariants, epilogue, cluster, updates, latency_hiding, waves)
# These passes process the bodies themselves, except for `cache_invariants`, which ignores them: no
# value of a body is valid in a later run.
ONCE = (*NEEDED, bodies, hoist, recompute, residuals, packing, cache_invariants)
PASSES = (*NEEDED, dead_code, *SIMPLE, *LAST)

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
    def apply(modules: tuple[ModuleType, ...]) -> None:
        nonlocal graph
        for module in modules:
            if module not in ONCE:
                _run_inside(module, graph, options)
            graph = module.run(graph, options)
            if options.check and module is not inline:
                ir.check(graph)
            if watch is not None:
                watch(module.__name__.rpartition(".")[2], graph)

    if not inline.n_calls(graph):           # otherwise `inline` returns a new graph
        graph = ir.copy(graph)
    apply(NEEDED)
    if not options.passes:
        return graph
    apply((dead_code,))
    for _ in range(ROUNDS):
        before = graph.changes
        apply(SIMPLE)
        if graph.changes == before:
            break
    apply(LAST)
    return graph


def _run_inside(module: ModuleType, graph: Graph, options: Options) -> None:
    """Run a pass on all bodies of a graph, inner bodies first."""
    owners = [node for node in graph.nodes if node.bodies]
    for node in ir.walk(owners):
        if node.bodies:
            for body in node.bodies:
                module.run(body, options)
                graph.changes += body.changes
                body.changes = 0
            node.own(node.bodies)
