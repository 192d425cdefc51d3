"""Early updates of variables, so that the memory of a gradient is free after its update.

In the order of the trace all updates come last, so all gradients live until then. Here a node that
writes, or whose results only such nodes read, moves to just after its inputs and the last reader of
the version it overwrites. Updates and nodes that may raise keep their order: after a failure,
variables have the values that Python would have left. Leaves move to the front; other nodes stay.
"""

from __future__ import annotations

from dualflow._core import Symbol
from dualflow.graph.ir import LEAVES, Graph, Node
from dualflow.graph.passes.options import Options

# A sort key: (k, -1) is the position of node k, (k, second) follows node k, ordered by `second`.
Place = tuple[int, int]


def run(graph: Graph, options: Options) -> Graph:
    """Move updates to earlier positions."""
    if any([node.writes for node in graph.nodes]):
        places = _places(graph)
        graph.nodes.sort(key=places.__getitem__)
    return graph


def _places(graph: Graph) -> dict[Node, Place]:
    """Return the sort key of each node."""
    for_updates = _only_for_updates(graph)
    places: dict[Node, Place] = {}
    made: dict[Symbol, Place] = {}
    read: dict[Symbol, Place] = {}          # the last reader of a value or of a view of it
    viewed: dict[Symbol, Symbol] = {}
    refused: Place = (-1, -1)               # the last node that may raise
    written: Place = (-1, -1)               # the last node that writes
    for k, node in enumerate(graph.nodes):
        place = (-1, k) if node.op in LEAVES else (k, -1)
        may_raise = node.may_raise
        if node in for_updates:
            waits_for = [refused, *[made[x] for x in node.inputs]]
            waits_for += [read[before] for before, _ in node.written if before in read]
            waits_for += [written] if may_raise else []
            place = max(waits_for)[0], k
        if may_raise:
            refused = max(refused, place)
        if node.writes:
            written = max(written, place)
        places[node] = place
        for y in node.outputs:
            made[y] = place
        if node.op.kind == "view":
            viewed[node.outputs[0]] = viewed.get(node.inputs[0], node.inputs[0])
        for x in node.inputs:
            for seen in {x, viewed.get(x, x)}:
                read[seen] = max(read.get(seen, place), place)
    return places


def _only_for_updates(graph: Graph) -> set[Node]:
    """Return the nodes that write, and the nodes without effect whose results only writers read."""
    elsewhere = {*graph.outputs, *[x for node in graph.nodes if not node.writes
                                   for x in node.inputs]}
    return {node for node in graph.nodes if node.writes or not (
        node.effect or node.op in LEAVES or node.op.kind == "view"
        or any([y in elsewhere for y in node.outputs]))}
