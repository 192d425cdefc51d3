"""The op of an update, applied to one variable or to many in one call."""

from __future__ import annotations

from dualflow._core import Updates, Variable, apply_each
from dualflow._util.named_tuple import NamedTuple
from dualflow.ops.state.optimizer import apply_update

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["Formula"]


class Formula(NamedTuple):
    """The op that updates a variable. Its inputs are the variable, the slots with these names, the
    gradient, the learning rate, and `rest`."""

    op: str
    slots: tuple[str, ...]
    rest: tuple[TensorLike, ...]
    attrs: dict[str, Any]

    def mixed(self, master: str) -> Formula:
        """Return the update of 16-bit variables whose slot `master` is their float32 value."""
        return Formula(f"{self.op}_mixed", (master, *self.slots), self.rest, self.attrs)

    def update(self, grad: Any, var: Variable, slots: Iterable[Variable], rate: TensorLike) -> None:
        """Update one variable by any kind of gradient, in eager mode or in a graph."""
        apply_update(self.op, (var, *slots), grad, (rate, *self.rest), **self.attrs)

    def update_each(self, grads: Sequence[Any], variables: Sequence[Variable],
                    slots: Sequence[Sequence[Variable]], rate: TensorLike) -> list[tuple[Any, ...]]:
        """Update variables by dense gradients in eager mode: all, or none if one is invalid. Return
        the inputs of the op for each."""
        rest = (rate, *self.rest)
        rows = [(var, *own, grad, *rest) for grad, var, own
                in zip(grads, variables, slots, strict=True)]
        apply_each(self.op, rows, self.attrs)
        return rows

    def repeated(self, rows: list[tuple[Any, ...]], rate: TensorLike,
                 count: Variable) -> Updates | None:
        """Return an object that updates the variables of `rows` again and increments `count`, or
        None if the op has inputs that are not variables."""
        rest = tuple([x for x in (rate, *self.rest) if type(x) is Variable])
        if len(rest) < 1 + len(self.rest):
            return None
        return Updates(self.op, rows, self.attrs, rest, count)
