"""Latency hiding: asynchronous operations start as early and are awaited as late as possible.

In the order of the trace, a start and its wait are adjacent, after all gradients. Here a start
moves to just after its inputs, and a wait to just before the first node that needs its result;
pure nodes that depend on the wait move, too. Calls of Python keep their order, which must be the
same on all ranks. Waits are exempt: they only return the results of started calls.
"""

from __future__ import annotations

from dualflow._core import Symbol
from dualflow.graph.ir import LEAVES, Graph, Node
from dualflow.graph.passes.options import Options


def run(graph: Graph, options: Options) -> Graph:
    """Move starts to earlier and waits to later positions."""
    if any([node.op.async_role for node in graph.nodes]):
        graph.nodes = _waits_late(_starts_early(graph.nodes))
    return graph


def _starts_early(nodes: list[Node]) -> list[Node]:
    places: dict[Node, tuple[int, int]] = {}
    made: dict[Symbol, tuple[int, int]] = {}
    called = -1, -1                 # the last call of Python
    for k, node in enumerate(nodes):
        place = k, -1
        if node.op.async_role == "start":
            place = max(called, *[made[x] for x in node.inputs])[0], k
        if node.effect and not node.writes and node.op.async_role != "wait":
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
        if node.op.async_role == "wait" or (not (node.effect or node.writes or node.may_raise)
                                            and any(x in late.maker for x in needed)):
            late.add(node)
            continue
        if node.effect and not node.writes and node.op.async_role != "start":
            late.emit(list(late.place))
        late.emit([late.maker[x] for x in needed if x in late.maker])
        for before, _ in node.written:
            late.emit(late.readers.pop(before, []))
        order.append(node)
    late.emit(list(late.place))
    return order


class _Late:
    """The delayed nodes: waits and their dependents."""

    def __init__(self, order: list[Node]) -> None:
        self.order = order
        self.place: dict[Node, int] = {}            # order in the old list
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
        """Append those of `nodes` that are delayed to the order, after the nodes they depend on."""
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
