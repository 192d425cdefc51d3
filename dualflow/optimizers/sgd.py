"""The SGD optimizer: gradient descent with optional momentum."""

from __future__ import annotations

from dualflow._util.arguments import SHARE, Limits
from dualflow.optimizers.base import Optimizer
from dualflow.optimizers.formula import Formula
from dualflow.optimizers.rate import LearningRate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import ClassVar, Unpack

    from dualflow.optimizers.options import Common

__all__ = ["SGD"]


class SGD(Optimizer):
    """Gradient descent, with optional momentum.

    Parameters
    ----------
    learning_rate : float, Variable, schedule or callable, default 0.01
    momentum : float, default 0.0
        In [0, 1].
    nesterov : bool, default False
    **common
        See `Optimizer`.

    Examples
    --------
    >>> import dualflow as df
    >>> v = df.Variable([1.])
    >>> df.optimizers.SGD(0.5).apply_gradients([(df.constant([1.]), v)])
    >>> v.numpy().tolist()
    [0.5]
    """

    momentum: float
    nesterov: bool

    limits: ClassVar[Mapping[str, Limits]] = {**Optimizer.limits, "momentum": SHARE}

    def __init__(self, learning_rate: LearningRate = 0.01, momentum: float = 0.0,
                 nesterov: bool = False, **common: Unpack[Common]) -> None:
        super().__init__(learning_rate, **common)
        self.momentum, self.nesterov = momentum, nesterov

    def layout(self) -> tuple[str, ...]:
        return ("momentum",) if self.momentum else ()

    def formula(self) -> Formula:
        if "momentum" not in self._layout:
            return Formula("sgd_update", (), (), {})
        return Formula("momentum_update", ("momentum",), (),
                       {"momentum": self.momentum, "nesterov": self.nesterov})
