"""The RMSprop optimizer."""

from __future__ import annotations

import dualflow as df
from dualflow._util.arguments import NOT_NEGATIVE, SHARE, Limits
from dualflow.optimizers.base import Optimizer
from dualflow.optimizers.formula import Formula
from dualflow.optimizers.rate import LearningRate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar, Unpack

    from dualflow.optimizers.options import Common

__all__ = ["RMSprop"]


class RMSprop(Optimizer):
    """Divides the gradient by its running root mean square.

    Parameters
    ----------
    learning_rate : float, Variable, schedule or callable, default 0.001
    rho : float, default 0.9
        Decay rate of the mean.
    momentum : float, default 0.0
    epsilon : float, default 1e-7
        Added under the square root.
    centered : bool, default False
        Whether to divide by the standard deviation instead.
    **common
        See `Optimizer`.

    Examples
    --------
    >>> import dualflow as df
    >>> v = df.Variable([1.])
    >>> df.optimizers.RMSprop(0.25, rho=0.75).apply_gradients([(df.constant([2.]), v)])
    >>> v.numpy().round(4).tolist()
    [0.5]
    """

    rho: float
    momentum: float
    epsilon: float
    centered: bool

    limits: ClassVar[Mapping[str, Limits]] = {
        **Optimizer.limits, "rho": SHARE, "momentum": SHARE, "epsilon": NOT_NEGATIVE}

    def __init__(self, learning_rate: LearningRate = 0.001, rho: float = 0.9,
                 momentum: float = 0.0, epsilon: float = 1e-7, centered: bool = False,
                 **common: Unpack[Common]) -> None:
        super().__init__(learning_rate, **common)
        self.rho, self.momentum, self.epsilon, self.centered = rho, momentum, epsilon, centered

    def layout(self) -> tuple[str, ...]:
        return ("rms", "mean", "momentum") if self.centered else ("rms", "momentum")

    def needed_slots(self) -> Any:
        return self.layout() if self.momentum else self.layout()[:-1]

    def initial_slot(self, slot: Any, var: Any) -> Any:
        if slot == "momentum" and slot not in self._holds:
            return df.zeros([0], var.dtype)  # the op requires a variable but does not read it
        return super().initial_slot(slot, var)

    def formula(self) -> Formula:
        attrs = {"rho": self.rho, "momentum": self.momentum, "epsilon": self.epsilon}
        if self.centered:
            return Formula("centered_rmsprop_update", ("rms", "mean", "momentum"), (), attrs)
        return Formula("rmsprop_update", ("rms", "momentum"), (), attrs)
