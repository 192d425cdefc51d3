"""Copies versions of variables that are read after they are overwritten.

Python may read a variable, assign a new value, and then use the old value. The graph then reads an
overwritten version, which `ir.check` forbids. Such a reader gets a copy from just before the write.
So does a node with bodies that writes a version and also has it as another input. Required even
without optimisation.
"""

from __future__ import annotations

from collections import Counter

from dualflow._core import Symbol, get_op
from dualflow.graph.ir import Graph, Node, graphs
from dualflow.graph.passes.options import Options

IDENTITY = get_op("identity")


def run(graph: Graph, options: Options) -> Graph:
    """Add copies until every reader of a version precedes the node that overwrites it."""
    for one in graphs(graph):
        late = _read_late(one)
        if late:
            _keep(one, late)
            graph.changes += len(late)
    return graph


def _keep(graph: Graph, late: set[Symbol]) -> None:
    """Add copies of the versions in `late` for their late readers."""
    old, graph.nodes = graph.nodes, []
    copies: dict[Symbol, Symbol] = {}
    for node in old:
        if copies:
            node.inputs = tuple([copies.get(x, x) for x in node.inputs])
        for before, _ in node.written:
            if before in late:
                copy = graph.add(IDENTITY, (before,), None, f"{before.node.name}/kept", node.line)
                copies[before] = copy.outputs[0]
        if node.bodies and copies:
            node.inputs = tuple([x if node.writes >> i & 1 else copies.get(x, x)
                                 for i, x in enumerate(node.inputs)])
        graph.nodes.append(node)
    graph.outputs = [copies.get(x, x) for x in graph.outputs]


def _read_late(graph: Graph) -> set[Symbol]:
    """Return the versions that are read or returned after they are overwritten, or that a node with
    bodies writes and has as two inputs."""
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
