"""The passes over a graph, in the order in which they run.

Each module has one function ``run(graph, options) -> graph``; it may change the graph it is given.
A pass sees one graph, and nodes that own bodies as nodes like others: it is run on the bodies
first.
"""

from collections.abc import Callable
from types import ModuleType

from dualflow.graph import ir
from dualflow.graph.ir import Graph
from dualflow.graph.passes import (
    algebra,
    assign,
    bodies,
    cluster,
    common,
    dead_code,
    early,
    epilogue,
    fold,
    hoist,
    inline,
    keep,
    packing,
    recompute,
    reshapes,
    residuals,
    updates,
    versions,
    waves,
)
from dualflow.graph.passes.options import Options

# What any graph needs before it can be lowered; `check` accepts it only after both.
NEEDED = (inline, versions)
# Cheap, and each may enable another: run again while they change anything, at most ROUNDS times.
SIMPLE = (bodies, hoist, assign, algebra, reshapes, fold, common, dead_code,
          recompute)
ROUNDS = 2
# After them.
LAST = (residuals, packing, keep, epilogue, cluster, updates, early, waves)
# They look into bodies by themselves, or at what lasts from run to run, which nothing does inside.
ONCE = (*NEEDED, bodies, hoist, recompute, residuals, packing, keep)
PASSES = (*NEEDED, dead_code, *SIMPLE, *LAST)

Watch = Callable[[str, Graph], None]


def optimize(graph: Graph, options: Options, watch: Watch | None = None) -> Graph:
    """Runs the passes over a specialised graph.

    Parameters
    ----------
    graph : Graph
        Not changed.
    options : Options
    watch : callable (name, graph), optional
        Called after each pass with the name of its module. The next pass changes the graph it gets.

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

    if not inline.n_calls(graph):           # else it makes the copy
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
    """Runs a pass on all bodies of a graph, those inside first."""
    owners = [node for node in graph.nodes if node.bodies]
    for node in ir.walk(owners):
        if node.bodies:
            for body in node.bodies:
                module.run(body, options)
                graph.changes += body.changes
                body.changes = 0
            node.own(node.bodies)
