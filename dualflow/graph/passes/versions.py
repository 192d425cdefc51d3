"""Keeps old values of variables for nodes that read them late.

Python may read a variable, assign to it, and use what it read: the graph then reads a version that
is overwritten, which the rules of the IR forbid. Here such a reader gets a copy made just before
the version is overwritten; so does a node that takes a version twice and writes it in its bodies.
Needed even if nothing is to be optimised.
"""

from collections import Counter

from dualflow._core import Symbol, get_op
from dualflow.graph.ir import Graph, Node, graphs
from dualflow.graph.passes.options import Options

IDENTITY = get_op("identity")


def run(graph: Graph, options: Options) -> Graph:
    """Makes sure that every reader of a version comes before the node that overwrites it."""
    for one in graphs(graph):
        late = _read_late(one)
        if late:
            _keep(one, late)
            graph.changes += len(late)
    return graph


def _keep(graph: Graph, late: set[Symbol]) -> None:
    """Adds copies of the versions in `late` for the nodes that read them late."""
    old, graph.nodes = graph.nodes, []
    kept: dict[Symbol, Symbol] = {}
    for node in old:
        if kept:
            node.inputs = tuple([kept.get(x, x) for x in node.inputs])
        for before, _ in node.written:
            if before in late:
                copy = graph.add(IDENTITY, (before,), None, f"{before.node.name}/kept", node.line)
                kept[before] = copy.outputs[0]
        if node.bodies and kept:
            node.inputs = tuple([x if node.writes >> i & 1 else kept.get(x, x)
                                 for i, x in enumerate(node.inputs)])
        graph.nodes.append(node)
    graph.outputs = [kept.get(x, x) for x in graph.outputs]


def _read_late(graph: Graph) -> set[Symbol]:
    """Versions that are read, or returned by the graph, after they are overwritten, or that are
    written by a node that takes them twice."""
    overwritten: dict[Symbol, Node] = {}
    late: set[Symbol] = set()
    for node in graph.nodes:
        if overwritten:
            late.update([x for x in node.inputs if x in overwritten])
        written = node.written
        for before, _ in written:
            overwritten[before] = node
        if written and node.bodies:
            times = Counter(node.inputs)
            late.update([before for before, _ in written if times[before] > 1])
    late.update([x for x in graph.outputs if x in overwritten])
    return late
