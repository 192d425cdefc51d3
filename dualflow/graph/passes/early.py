"""What runs beside the program is started as early as possible, and waited for as late as possible.

Calls of Python that are `early` or `late` (`distribute.overlap` has them) come in pairs, one that
starts something and one that waits for it. In the order of the trace they come one after another,
when all gradients are there. Here the first moves to just after what it is given, and the second to
just before what it gives is read. Calls of Python keep their order, which is that of all ranks, but
for those that wait: they only give what was started.
"""

from __future__ import annotations

from dualflow._core import Symbol, host_function
from dualflow.graph.ir import LEAVES, Graph, Node
from dualflow.graph.passes.options import Options


def run(graph: Graph, options: Options) -> Graph:
    """Moves what starts something forward in time, and what waits for it back."""
    marked = {node: mark for node in graph.nodes if node.effect and (mark := _mark(node))}
    if marked:
        graph.nodes = _waits_late(_starts_early(graph.nodes, marked), marked)
    return graph


def _mark(node: Node) -> str | None:
    host = host_function(node.op, node.attrs)
    if host is None:
        return None
    return next((mark for mark in ("early", "late") if hasattr(host.call, mark)), None)


def _starts_early(nodes: list[Node], marked: dict[Node, str]) -> list[Node]:
    places: dict[Node, tuple[int, int]] = {}
    made: dict[Symbol, tuple[int, int]] = {}
    called = -1, -1                 # the last call of Python
    for k, node in enumerate(nodes):
        place = k, -1
        if marked.get(node) == "early":
            place = max(called, *[made[x] for x in node.inputs])[0], k
        if node.effect and not node.writes and marked.get(node) != "late":
            called = max(called, place)
        places[node] = place
        for y in node.outputs:
            made[y] = place
    return sorted(nodes, key=places.__getitem__)


def _waits_late(nodes: list[Node], marked: dict[Node, str]) -> list[Node]:
    order: list[Node] = []
    waiting: list[Node] = []
    maker: dict[Symbol, Node] = {}
    for node in nodes:
        if marked.get(node) == "late":
            waiting.append(node)
            maker.update((y, node) for y in node.outputs)
            continue
        needed = {maker[x] for x in node.inputs if x in maker} if node.op not in LEAVES else set()
        if node.effect and not node.writes and marked.get(node) != "early":
            needed.update(waiting)
        last = max((k for k, wait in enumerate(waiting) if wait in needed), default=-1)
        order += waiting[:last + 1]
        del waiting[:last + 1]
        order.append(node)
    return order + waiting
