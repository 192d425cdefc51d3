"""Keeps old values of variables for those who read them late.

Python may read a variable, assign to it, and use what it read: the graph then reads a version that
is overwritten, which the rules of the IR forbid. Here such a reader gets a copy made just before
the version is overwritten. Needed even where nothing is to be optimised.
"""

from dualflow._core import Symbol, get_op
from dualflow.graph.ir import Graph, Node
from dualflow.graph.passes.options import Options

IDENTITY = get_op("identity")


def run(graph: Graph, options: Options) -> Graph:
    """Every reader of a version stands before the node that overwrites it."""
    late = _read_late(graph)
    if not late:
        return graph
    old, graph.nodes = graph.nodes, []
    kept: dict[Symbol, Symbol] = {}
    for node in old:
        if kept:
            node.inputs = tuple([kept.get(x, x) for x in node.inputs])
        for before, _ in node.written:
            if before in late:
                copy = graph.add(IDENTITY, (before,), None, f"{before.node.name}/kept", node.line)
                kept[before] = copy.outputs[0]
                graph.changes += 1
        graph.nodes.append(node)
    graph.outputs = [kept.get(x, x) for x in graph.outputs]
    return graph


def _read_late(graph: Graph) -> set[Symbol]:
    """Versions that somebody reads, or the graph returns, after they are overwritten."""
    overwritten: dict[Symbol, Node] = {}
    late: set[Symbol] = set()
    for node in graph.nodes:
        if overwritten:
            late.update([x for x in node.inputs if x in overwritten])
        for before, _ in node.written:
            overwritten[before] = node
    late.update([x for x in graph.outputs if x in overwritten])
    return late
