"""The gradient of a cond: a cond on the same predicate.

`control_gradient.BackwardRule` creates it by `TRANSPOSES`. All branches must return the same
cotangents, so a cotangent that only some branches have carries a flag.
"""

from __future__ import annotations

from collections.abc import Sequence

from dualflow._core import MaskedGradient, Symbol
from dualflow.autodiff.backward import backward
from dualflow.graph.ir import COND, LOOP
from dualflow.graph.trace.bodies import Body
from dualflow.graph.trace.control_gradient import (
    TRANSPOSES,
    Cotangents,
    Transpose,
    accum,
    any_flag,
    is_inside,
    own_recorded,
    value_of,
)
from dualflow.graph.trace.cotangents import dense, flag_of, is_packed
from dualflow.ops.array.shape import broadcast_to
from dualflow.ops.reduction.reduce import reduce_any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def flag_for(g: Any, x: Symbol) -> Any:
    """Return the flag of the cotangent of `x`, of the same shape in all branches: one flag for each
    row if `x` is a residual that a loop stacked, otherwise one flag."""
    flag, node = flag_of(g), x.node
    if is_packed(x):
        return any_flag(flag)
    if node.op is not LOOP or not is_inside(x):
        return reduce_any(flag) if flag.ndim else flag
    if flag.ndim > 1:
        return reduce_any(flag, list(range(1, flag.ndim)))
    return flag if flag.ndim else broadcast_to(flag, (x.shape[0],))


class CondTranspose(Transpose):
    """The transpose of a cond: a cond on the same predicate."""

    outs: list[tuple[int, Any]]
    more: list[tuple[int, Any]]

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        node = self.node
        self.outs, self.more = self.declared(), self.inside()
        self.made: list[list[Any]] = []
        bodies = [Body(self.trace, f"{self.name}/{k}", lambda k=k: self._branch(k), ())
                  for k in range(len(node.bodies))]
        self._join(bodies)

    def _branch(self, k: int) -> list[Any]:
        body = self.node.bodies[k]
        tape = self.tape(body.nodes, self.want.values())
        flows: Cotangents = {i: g for i, g in self.accumulated.items() if i in self.want}
        for place, g in [*self.more, *self.outs]:
            accum(flows, self.id_of(body.outputs[place]), g)
        found = backward(tape, flows, self.want, free=True, maybe=True)
        self.made.append([dense(found.get(i)) for i in self.want])
        return [part for g, x in zip(self.made[-1], self.want.values(), strict=True)
                for part in (value_of(g, x), flag_for(g, x))]

    def _join(self, bodies: Sequence[Body]) -> None:
        columns: list[tuple[int, bool]] = []
        places = []
        for n, i in enumerate(self.want):
            column = [found[n] for found in self.made]
            if all([g is None or g is self.accumulated.get(i) for g in column]):
                continue
            certain = all([g is not None and not isinstance(g, MaskedGradient) for g in column])
            columns.append((i, certain))
            places += [2 * n] if certain else [2 * n, 2 * n + 1]
        if not columns:
            return
        given = self.trace.to_symbols(None, [self.inputs[0]])
        for k, body in enumerate(bodies):
            body.outputs = [body.outputs[n] for n in places]
            inner = {x: self.outliner.outside(self.add_output(k, x))
                     for x in self.read(body, self.node.bodies[k].nodes)}
            body.replace(inner)
            read = set(body.reads())
            given += [x for x in inner.values() if x not in read]
        node = own_recorded(self.trace, COND, None, given, 0, bodies, self.name)
        made = iter(node.outputs)
        for i, certain in columns:
            value = next(made)
            self.found[i] = value if certain else MaskedGradient(value, next(made), True)


TRANSPOSES[COND] = CondTranspose
