"""What runs beside the program is started as early as possible, and waited for as late as possible.

In the order of the trace a start and its wait follow each other, when all gradients are there. Here
the first moves to just after what it is given, and the second to just before what it gives is
needed, as does what is only computed of that. Calls of Python keep their order, which is that of
all ranks, but for those that wait: they only give what was started.
"""

from __future__ import annotations

from dualflow._core import Symbol
from dualflow.graph.ir import LEAVES, Graph, Node
from dualflow.graph.passes.options import Options


def run(graph: Graph, options: Options) -> Graph:
    """Moves what starts something forward in time, and what waits for it back."""
    if any([node.op.beside for node in graph.nodes]):
        graph.nodes = _waits_late(_starts_early(graph.nodes))
    return graph


def _starts_early(nodes: list[Node]) -> list[Node]:
    places: dict[Node, tuple[int, int]] = {}
    made: dict[Symbol, tuple[int, int]] = {}
    called = -1, -1                 # the last call of Python
    for k, node in enumerate(nodes):
        place = k, -1
        if node.op.beside == "starts":
            place = max(called, *[made[x] for x in node.inputs])[0], k
        if node.effect and not node.writes and node.op.beside != "waits":
            called = max(called, place)
        places[node] = place
        for y in node.outputs:
            made[y] = place
    return sorted(nodes, key=places.__getitem__)


def _waits_late(nodes: list[Node]) -> list[Node]:
    order: list[Node] = []
    late = _Late(order)
    for node in nodes:
        needed = list(node.inputs) if node.op not in LEAVES else []
        if node.op.beside == "waits" or (not (node.effect or node.writes or node.may_refuse)
                                         and any(x in late.maker for x in needed)):
            late.add(node)
            continue
        if node.effect and not node.writes and node.op.beside != "starts":
            late.emit(list(late.place))
        late.emit([late.maker[x] for x in needed if x in late.maker])
        for before, _ in node.written:
            late.emit(late.readers.pop(before, []))
        order.append(node)
    late.emit(list(late.place))
    return order


class _Late:
    """Waits, and what is computed of their results, until somebody needs them."""

    def __init__(self, order: list[Node]) -> None:
        self.order = order
        self.place: dict[Node, int] = {}            # in the order in which they came
        self.maker: dict[Symbol, Node] = {}
        self.readers: dict[Symbol, list[Node]] = {}
        self.n = 0

    def add(self, node: Node) -> None:
        self.place[node] = self.n
        self.n += 1
        self.maker.update((y, node) for y in node.outputs)
        for x in node.inputs:
            self.readers.setdefault(x, []).append(node)

    def emit(self, nodes: list[Node]) -> None:
        """Puts these into the order, after what they need, unless they are there."""
        found: dict[Node, int] = {}
        while nodes:
            node = nodes.pop()
            if node in self.place:
                found[node] = self.place.pop(node)
                nodes += [self.maker.pop(x) for x in node.inputs if x in self.maker]
        self.order += sorted(found, key=found.__getitem__)
        for node in found:
            for y in node.outputs:
                self.maker.pop(y, None)
