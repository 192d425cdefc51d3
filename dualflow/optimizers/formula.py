"""An update as one op: of one variable, or of many in one call."""

from __future__ import annotations

from typing import NamedTuple

from dualflow._core import Updates, Variable, apply_each
from dualflow.ops.optimizer import apply_update

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["Formula"]


class Formula(NamedTuple):
    """The op that updates a variable. Its inputs are the variable, the slots of these names, the
    gradient, the learning rate, and `rest`."""

    op: str
    slots: tuple[str, ...]
    rest: tuple[TensorLike, ...]
    attrs: dict[str, Any]

    def update(self, grad: Any, var: Variable, slots: Iterable[Variable], rate: TensorLike) -> None:
        """Updates one variable, by a gradient of any kind, now or in a graph."""
        apply_update(self.op, (var, *slots), grad, (rate, *self.rest), **self.attrs)

    def update_each(self, grads: Sequence[Any], variables: Sequence[Variable],
                    slots: Sequence[Sequence[Variable]], rate: TensorLike) -> list[tuple[Any, ...]]:
        """Updates variables by tensors, now: all of them, or none if one is refused. Returns what
        the op was given for each."""
        rest = (rate, *self.rest)
        rows = [(var, *own, grad, *rest) for grad, var, own
                in zip(grads, variables, slots, strict=True)]
        apply_each(self.op, rows, self.attrs)
        return rows

    def repeated(self, rows: list[tuple[Any, ...]], rate: TensorLike,
                 count: Variable) -> Updates | None:
        """What updates the variables of `rows` again, and adds 1 to `count`; None if the op reads
        anything but variables."""
        rest = tuple([x for x in (rate, *self.rest) if type(x) is Variable])
        if len(rest) < 1 + len(self.rest):
            return None
        return Updates(self.op, rows, self.attrs, rest, count)
