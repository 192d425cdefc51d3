"""Equivalence of graphs, by value numbering across both graphs.

`generalize.py` compares a general trace with a trace for the exact values of a call. Names, lines,
the order of independent nodes and duplicates of a constant do not matter. A False may be wrong (a
less general trace is used), a True may not.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from dualflow._core import Symbol, host_function
from dualflow.graph import ir
from dualflow.graph.calls.exact import equivalent
from dualflow.graph.ir import CONSTANT, LEAVES, LOOP, VARIABLE, Graph, Node, loop_parts
from dualflow.graph.passes import algebra, fold, inline
from dualflow.graph.passes.options import Options
from dualflow.graph.passes.values import same_tensor
from dualflow.graph.trace.parameters import Argument
from dualflow.graph.trace.trace import Trace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def same_decisions(a: Trace, b: Trace) -> bool:
    """Return True if the guards of two traces have the same operators and answers."""
    return [(guard.op, guard.answer) for guard in a.guards.values()] == [
        (guard.op, guard.answer) for guard in b.guards.values()]


def same_graphs(a: Graph, b: Graph) -> bool:
    """Return True if two graphs compute equal outputs, with equal effects in the same order. Calls
    are inlined first."""
    options = Options()
    a, b = inline.run(a, options), inline.run(b, options)
    return _same(a, b) or _same(*[algebra.run(fold.run(ir.copy(g), options), options)
                                  for g in (a, b)])


def _same(a: Graph, b: Graph) -> bool:
    values = _Values()
    return bool(values.summary(a) == values.summary(b))


Numbers = dict[Symbol, tuple[int, int]]


class _Values:
    """Value numbers, shared by all graphs that one object summarises."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.kinds: dict[str, list[Any]] = {"constant": [], "parameter": [], "call": []}

    def summary(self, graph: Graph, at: Numbers | None = None) -> Hashable:
        """Return the numbers of outputs, of effects in order, and of nodes that may raise. `at` has
        the numbers of the inputs of a body. Recurses into branches and loops."""
        at = {} if at is None else at
        effects: list[int] = []
        refusing: set[int] = set()
        fed = 0                             # two fed values are never equal
        for node in graph.nodes:
            if node.op in LEAVES:
                if node.outputs[0] in at:
                    continue
                key = self.leaf(node)
                if key[0] == "parameter":
                    key, fed = (*key, fed), fed + 1
            elif node.bodies:
                key = (len(effects) if node.effect else None, *self.owner(node, at))
            else:
                key = (node.op, self.attrs(node), tuple([at[x] for x in node.inputs]),
                       len(effects) if node.effect else None)
            number = self.numbers.setdefault(key, len(self.numbers))
            if node.effect:
                effects.append(number)
            elif node.op not in LEAVES and node.may_raise:
                refusing.add(number)
            at.update((y, (number, k)) for k, y in enumerate(node.outputs))
        return tuple([at[x] for x in graph.outputs]), tuple(effects), frozenset(refusing)

    def owner(self, node: Node, at: Numbers) -> tuple[Hashable, ...]:
        """Return the key of a node with bodies. Captured values keep their numbers inside, so their
        order, and whether constants are captured, does not matter."""
        first, n = 0, 0                     # range of inputs that count by position: of iterations
        rest: Hashable = node.attrs
        if node.op is LOOP:
            parts = loop_parts(node)
            times, n = parts.times, parts.captured.start
            if times < 0:
                limit, first = node.inputs[0], 1
                times = limit.node.data.item() if limit.node.op is CONSTANT else at[limit]
            rest = times, node.attrs.values[1:] if node.attrs else None
        bodies = []
        for body in node.bodies:
            inside: Numbers = {}
            for k, (x, param) in enumerate(zip(node.inputs, body.inputs, strict=True)):
                key: Hashable = None
                if node.writes >> k & 1:
                    key = "version", at[x]
                elif k < n:
                    key = "round", k - first, at[x]
                inside[param] = at[x] if key is None else (
                    self.numbers.setdefault(key, len(self.numbers)), 0)
            bodies.append(self.summary(body, inside))
        given = tuple([at[x] for x in node.inputs[first:max(n, 1)]])
        return node.op, rest, given, tuple(bodies)

    def leaf(self, node: Node) -> tuple[Any, ...]:
        """Return the key of a leaf."""
        if node.op is CONSTANT:
            return "constant", self.first_like("constant", node.stored, same_tensor)
        if node.op is VARIABLE:
            return "variable", id(node.data)
        if isinstance(node.data, Argument):
            return "argument", node.data.leaf
        return "parameter", self.first_like("parameter", node.data, equivalent)

    def attrs(self, node: Node) -> Any:
        """Return the attributes of a node; for a host call, the function instead of its number."""
        host = host_function(node.op, node.attrs)
        if host is None:
            return node.attrs
        assert node.attrs is not None
        return self.first_like("call", host.call, equivalent), node.attrs.values[1:]

    def first_like(self, kind: str, data: Any, same: Callable[[Any, Any], bool]) -> int:
        """Return the index of the first equal object seen."""
        met = self.kinds[kind]
        for k, other in enumerate(met):
            if other is data or same(other, data):
                return k
        met.append(data)
        return len(met) - 1
