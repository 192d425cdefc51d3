"""Recomputation of cheap residuals: a stacked value that only one other loop reads is recomputed
there, if that takes a few elementwise ops on values that the other loop reads anyway.

    y = sigmoid(x), both stacked for the backward loop     only x is stacked, y is recomputed

Exact: the same kernels run on the same values. Row r of a stacked output corresponds to row r of
every sliced input of both loops, in either direction. Writing and reading a stack takes as long as
the ops that it saves, and stacks are most of the memory of a long loop.
"""

from __future__ import annotations

from collections.abc import Iterator

from dualflow._core import Symbol
from dualflow.graph.ir import CONSTANT, LEAVES, LOOP, Graph, LoopParts, Node, graphs, loop_parts
from dualflow.graph.passes import bodies
from dualflow.graph.passes.options import Options
from dualflow.graph.passes.values import is_known

MOST_NS = 1.0       # cost limit per element; writing and reading a stacked element takes as long


def run(graph: Graph, options: Options) -> Graph:
    """Rewrite each pair of loops in which the second reads stacked outputs of the first."""
    changed = False
    for one in graphs(graph):
        loops = [node for node in one.nodes if node.op is LOOP]
        if len(loops) < 2:
            continue
        only = _only_readers(one)
        for first in loops:
            for second in dict.fromkeys([only.get(y) for y in first.outputs]):
                if second is not None and _Pair(first, second, only).run():
                    bodies.tidy_inputs(one, second)
                    changed = True
    return bodies.run(graph, options) if changed else graph


def _only_readers(graph: Graph) -> dict[Symbol, Node | None]:
    """Return, for each value that is read, the loop that is its only reader and slices it, else
    None."""
    found: dict[Symbol, Node | None] = dict.fromkeys(graph.outputs)
    for node in graph.nodes:
        rows = loop_parts(node).sliced if node.op is LOOP else slice(0, 0)
        for k, x in enumerate(node.inputs):
            reader = node if rows.start <= k < rows.stop else None
            found[x] = reader if found.get(x, reader) is reader else None
    return found


class _Pair:
    """Two loops; the second reads stacked outputs of the first."""

    def __init__(self, first: Node, second: Node, only: dict[Symbol, Node | None]) -> None:
        self.body, self.into = first.bodies[0], second.bodies[0]
        self.place = {node: k for k, node in enumerate(self.body.nodes)}
        self.seen = list(_seen_by_both(first, second))
        self.at = dict(self.seen)
        readers: dict[Symbol, list[Node | None]] = {}
        for k in _stacked(loop_parts(first)):
            if first.outputs[k] in only:
                readers.setdefault(self.body.outputs[k], []).append(only[first.outputs[k]])
        self.stacked = [y for y, found in readers.items() if all([n is second for n in found])]
        self.again: dict[Symbol, None] = {}    # values to recompute

    def run(self) -> bool:
        """Rewrite the loops; return True if the second reads fewer stacks."""
        for y in sorted(self.stacked, key=lambda y: self.place[y.node], reverse=True):
            self.again.update(dict.fromkeys(self._steps(y)))
        if self.again:
            self._compute()
        return bool(self.again)

    def _steps(self, y: Symbol) -> list[Symbol]:
        """Return the values to recompute instead of the stack of `y`, or [] if they cost more."""
        needed, new = {y: None}, [y]
        while new:
            x = new.pop()
            if not _is_cheap(x) or sum([z.node.op.cost for z in needed]) > MOST_NS:
                return []
            more = {z: None for z in x.node.inputs if z not in needed and z not in self.again
                    and z not in self.at and z.node.op is not CONSTANT}
            new += more
            needed.update(more)
        return list(needed)

    def _compute(self) -> None:
        """Add the nodes at the beginning of the second body and redirect their readers."""
        old = self.into.nodes
        self.into.nodes = [node for node in old if node.op in LEAVES]
        here = {x: inside for x, inside in self.at.items() if x not in self.again}
        for y in sorted(self.again, key=lambda y: self.place[y.node]):
            for x in y.node.inputs:
                if x not in here:
                    here[x] = self.into.constant(x.node.data, x.node.name, x.node.line)
            node = y.node
            here[y] = self.into.add(node.op, [here[x] for x in node.inputs], node.attrs, node.name,
                                    node.line).outputs[0]
        instead = {inside: here[x] for x, inside in self.seen if x in self.again}
        rest = [node for node in old if node.op not in LEAVES]
        for node in rest:
            node.inputs = tuple([instead.get(x, x) for x in node.inputs])
        self.into.nodes += rest
        self.into.outputs = [instead.get(x, x) for x in self.into.outputs]


def _stacked(parts: LoopParts) -> Iterator[int]:
    """Yield the indices of the stacked outputs whose rows have one shape."""
    for k in range(parts.stacked.start, parts.stacked.stop):
        if not parts.packed >> k - parts.stacked.start & 1:
            yield k


def _seen_by_both(first: Node, second: Node) -> Iterator[tuple[Symbol, Symbol]]:
    """Yield pairs (value of the first body, parameter of the second body that holds it)."""
    parts, other = loop_parts(first), loop_parts(second)
    stacked = {first.outputs[k]: first.bodies[0].outputs[k] for k in _stacked(parts)}
    for k in range(other.sliced.start, len(second.inputs)):
        x, inside = second.inputs[k], second.bodies[0].inputs[k]
        given = parts.sliced if k < other.sliced.stop else parts.captured
        if k < other.sliced.stop and x in stacked:
            yield stacked[x], inside
        elif not second.writes >> k & 1:
            for i in range(given.start, given.stop):
                if first.inputs[i] is x and not first.writes >> i & 1:
                    yield first.bodies[0].inputs[i], inside


def _is_cheap(x: Symbol) -> bool:
    node = x.node
    return (node.op.kind == "elementwise" and len(node.outputs) == 1 and not node.writes
            and not node.effect and not node.may_raise and node.op not in LEAVES
            and all(map(is_known, (x, *node.inputs))))
