"""Whether two graphs compute the same: a trace that takes any number is compared with one that was
made for the numbers of a call.

Values are numbered by what they are computed from, across both graphs. So names, lines, the order
of independent nodes and duplicates of a constant do not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dualflow._core import Symbol, host_function
from dualflow.graph import ir
from dualflow.graph.calls.exact import alike
from dualflow.graph.ir import CONSTANT, LEAVES, VARIABLE, Graph, Node
from dualflow.graph.passes import algebra, fold, inline
from dualflow.graph.passes.options import Options
from dualflow.graph.passes.values import same_tensor
from dualflow.graph.trace.parameters import Argument
from dualflow.graph.trace.trace import Trace


def decisions(trace: Trace) -> list[tuple[str, Any]]:
    """What Python decided based on numbers that may change: questions and answers."""
    return [(guard.op, guard.answer) for guard in trace.guards.values()]


def same_graphs(a: Graph, b: Graph) -> bool:
    """Whether two graphs give the same, with the same effects in the same order. Their calls are
    inlined first."""
    options = Options()
    a, b = inline.run(a, options), inline.run(b, options)
    return _same(a, b) or _same(*[algebra.run(fold.run(ir.copy(g), options), options)
                                  for g in (a, b)])


def _same(a: Graph, b: Graph) -> bool:
    values = _Values()
    return bool(values.summary(a) == values.summary(b))


class _Values:
    """Numbers for the values of all graphs that are summarised with it."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.kinds: dict[str, list[Any]] = {"constant": [], "parameter": [], "call": []}

    def summary(self, graph: Graph) -> Any:
        """Outputs, effects in their order, and what may refuse a value."""
        at: dict[Symbol, tuple[int, int]] = {}
        effects: list[int] = []
        refusing: set[int] = set()
        fed = 0                             # two values that each run asks for are never the same
        for node in graph.nodes:
            if node.op in LEAVES:
                key = self.leaf(node)
                if key[0] == "parameter":
                    key, fed = (*key, fed), fed + 1
            else:
                key = (node.op, self.attrs(node), tuple([at[x] for x in node.inputs]),
                       len(effects) if node.effect else None, *map(id, node.bodies))
            number = self.numbers.setdefault(key, len(self.numbers))
            if node.effect:
                effects.append(number)
            elif node.op not in LEAVES and node.may_refuse:
                refusing.add(number)
            at.update((y, (number, k)) for k, y in enumerate(node.outputs))
        return [at[x] for x in graph.outputs], effects, refusing

    def leaf(self, node: Node) -> tuple[Any, ...]:
        """What a leaf stands for."""
        if node.op is CONSTANT:
            return "constant", self.first_like("constant", node.data, same_tensor)
        if node.op is VARIABLE:
            return "variable", id(node.data)
        if isinstance(node.data, Argument):
            return "argument", node.data.leaf
        return "parameter", self.first_like("parameter", node.data, alike)

    def attrs(self, node: Node) -> Any:
        """An application's attributes; for a call of Python its function, not its number."""
        call = host_function(node.op, node.attrs)
        return node.attrs if call is None else self.first_like("call", call, alike)

    def first_like(self, kind: str, data: Any, same: Callable[[Any, Any], bool]) -> int:
        """The place of the first object seen that is the same."""
        met = self.kinds[kind]
        for k, other in enumerate(met):
            if other is data or same(other, data):
                return k
        met.append(data)
        return len(met) - 1
