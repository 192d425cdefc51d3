"""Lifetimes of values, for the planner and the peak estimate. Time k is the execution of node k."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from dualflow._core import Symbol, get_op
from dualflow.graph.ir import LEAVES, Graph, is_dynamic

ASSIGN = get_op("assign")


def wave_spans(graph: Graph) -> list[tuple[int, int]]:
    """Return the first and last time at which each node may run: the span of its wave, if any."""
    spans = [(k, k) for k in range(len(graph.nodes))]
    members: dict[int, list[int]] = {}
    for k, node in enumerate(graph.nodes):
        if node.wave:
            members.setdefault(node.wave, []).append(k)
    for places in members.values():
        for k in places:
            spans[k] = places[0], places[-1]
    return spans


def last_uses(graph: Graph, spans: list[tuple[int, int]]) -> dict[Symbol, int]:
    """Return the last time at which each value, or a view of it, is read; -1: never."""
    n = len(graph.nodes)
    last = {y: -1 for node in graph.nodes for y in node.outputs}
    last.update((x, n) for x in graph.outputs)
    for k in range(n - 1, -1, -1):
        node = graph.nodes[k]
        for i, x in enumerate(node.inputs):
            if not (node.op.shape_only >> i & 1 or (node.op is ASSIGN and i == 0)):
                last[x] = max(last[x], spans[k][1])
        if node.op.kind == "view":
            last[node.inputs[0]] = max(last[node.inputs[0]], last[node.outputs[0]])
        if node.op.async_role == "wait":
            last.update((x, max(last[x], last[y]))
                        for x, y in zip(node.inputs[1:], node.outputs, strict=False))
    return last


def carry_chains(graph: Graph, carried: Mapping[int, Symbol]) -> dict[Symbol, Symbol]:
    """Return, for the next value of each carry of a loop body, the carry, if ops may compute one
    from the other in the memory of the carry; and for each value between, the one before it.

    A value between has no other reader, so that the last op of a chain can always continue in the
    memory: only then may the first op overwrite the carry.
    """
    readers = Counter([x for node in graph.nodes for x in node.inputs])
    readers.update(graph.outputs)

    def aliases(y: Symbol) -> list[Symbol]:
        """Return the inputs in whose memory the op of y may compute y."""
        node = y.node
        if (readers[y] != 1 or node.op in LEAVES or node.op.kind == "view" or node.wave
                or len(node.outputs) > 1 or any(map(is_dynamic, (y, *node.inputs)))):
            return []
        return [x for i, x in enumerate(node.inputs)
                if node.op.may_alias >> min(i, 31) & 1 and x.shape == y.shape
                and x.dtype.itemsize == y.dtype.itemsize]

    def chain(y: Symbol, carry: Symbol) -> dict[Symbol, Symbol]:
        after: dict[Symbol, Symbol] = {}        # from a value to the value computed from it
        waiting = [y]
        while waiting:
            y = waiting.pop()
            found = aliases(y)
            if any([x is carry for x in found]):
                links = {y: carry}
                while y in after:
                    links[after[y]] = y
                    y = after[y]
                return links
            after.update([(x, y) for x in found])
            waiting += reversed(found)
        return {}

    before: dict[Symbol, Symbol] = {}
    for k, x in carried.items():
        y = graph.outputs[k]
        before[y] = x
        before.update(chain(y, x))
    return before
