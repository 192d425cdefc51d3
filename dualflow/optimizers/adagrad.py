"""The Adagrad optimizer."""

from __future__ import annotations

import dualflow as df
from dualflow._util.arguments import NOT_NEGATIVE, Limits
from dualflow.optimizers.base import Optimizer
from dualflow.optimizers.formula import Formula
from dualflow.optimizers.rate import LearningRate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar, Unpack

    from dualflow.optimizers.options import Common

__all__ = ["Adagrad"]


class Adagrad(Optimizer):
    """Divides the gradient by the root of the accumulated sum of its squares.

    Parameters
    ----------
    learning_rate : float, Variable, schedule or callable, default 0.001
    initial_accumulator_value : float, default 0.1
        Initial value of the accumulator.
    epsilon : float, default 1e-7
        Added under the square root.
    **common
        See `Optimizer`.

    Notes
    -----
    Duchi, Hazan and Singer, "Adaptive subgradient methods for online learning and stochastic
    optimization", JMLR 12 (2011).

    Examples
    --------
    >>> import dualflow as df
    >>> v = df.Variable([1.])
    >>> opt = df.optimizers.Adagrad(0.25, initial_accumulator_value=0.)
    >>> opt.apply_gradients([(df.constant([2.]), v)])
    >>> v.numpy().tolist()
    [0.75]
    """

    initial_accumulator_value: float
    epsilon: float

    slot_names: tuple[str, ...] = ("accumulator",)

    limits: ClassVar[Mapping[str, Limits]] = {
        **Optimizer.limits, "initial_accumulator_value": NOT_NEGATIVE, "epsilon": NOT_NEGATIVE}

    def __init__(self, learning_rate: LearningRate = 0.001,
                 initial_accumulator_value: float = 0.1, epsilon: float = 1e-7,
                 **common: Unpack[Common]) -> None:
        super().__init__(learning_rate, **common)
        self.initial_accumulator_value, self.epsilon = initial_accumulator_value, epsilon

    def initial_slot(self, slot: Any, var: Any) -> Any:
        value = self.initial_accumulator_value
        both = complex(value, value) if var.dtype.is_complex else value     # of both parts
        return df.fill(var.shape, df.constant(both, var.dtype))

    def formula(self) -> Formula:
        return Formula("adagrad_update", self.slot_names, (), {"epsilon": self.epsilon})
