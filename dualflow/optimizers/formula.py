"""An update as one op: of one variable, or of many in one call."""

from __future__ import annotations

from typing import NamedTuple

from dualflow._core import Variable, apply_each
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
                    slots: Sequence[Sequence[Variable]], rate: TensorLike) -> None:
        """Updates variables by tensors, now: all of them, or none if one is refused."""
        rest = (rate, *self.rest)
        apply_each(self.op, [(var, *own, grad, *rest) for grad, var, own
                             in zip(grads, variables, slots, strict=True)], self.attrs)
