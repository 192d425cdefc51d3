"""The optimizers Adam and AdamW, Adam with decoupled weight decay."""

from __future__ import annotations

from dualflow._util.arguments import LESS_THAN_ALL, NOT_NEGATIVE, Limits
from dualflow.optimizers.base import Optimizer
from dualflow.optimizers.formula import Formula
from dualflow.optimizers.rate import LearningRate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import ClassVar, Unpack

    from dualflow.optimizers.options import Common, Rest

__all__ = ["Adam", "AdamW"]


class Adam(Optimizer):
    """Steps by running means of the gradient and of its square (Kingma and Ba, ICLR 2015).

    Parameters
    ----------
    learning_rate : float, Variable, schedule or callable, default 0.001
    beta_1, beta_2 : float, default 0.9 and 0.999
        The decay rates of the means.
    epsilon : float, default 1e-7
        Added to the square root, as in the paper's efficient form.
    amsgrad : bool
        Whether to use the running maximum of the mean of squares (Reddi et al., "On the convergence
        of Adam and beyond", ICLR 2018).
    weight_decay : float, optional
        See `AdamW`.
    **common
        See `Optimizer`.

    Examples
    --------
    >>> import dualflow as df
    >>> v = df.Variable([1.])
    >>> df.optimizers.Adam(0.5).apply_gradients([(df.constant([2.]), v)])
    >>> v.numpy().round(4).tolist()
    [0.5]
    """

    beta_1: float
    beta_2: float
    epsilon: float

    decays_itself = True

    limits: ClassVar[Mapping[str, Limits]] = {
        **Optimizer.limits, "beta_1": LESS_THAN_ALL, "beta_2": LESS_THAN_ALL,
        "epsilon": NOT_NEGATIVE}

    def __init__(self, learning_rate: LearningRate = 0.001, beta_1: float = 0.9,
                 beta_2: float = 0.999, epsilon: float = 1e-7, amsgrad: bool = False,
                 **common: Unpack[Common]) -> None:
        super().__init__(learning_rate, **common)
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon
        self.amsgrad = amsgrad

    def layout(self) -> tuple[str, ...]:
        return ("m", "v", "v_hat") if self.amsgrad else ("m", "v")

    def options(self) -> dict[str, float]:
        return {"beta_1": self.beta_1, "beta_2": self.beta_2, "epsilon": self.epsilon,
                "weight_decay": self.weight_decay or 0.0}

    def formula(self) -> Formula:
        op = "amsgrad_update" if self.amsgrad else "adam_update"
        return Formula(op, self.layout(), (self.iterations,), self.options())


class AdamW(Adam):
    """Adam with weight decay that bypasses the running means.

    Parameters
    ----------
    learning_rate : float, Variable, schedule or callable, default 0.001
    weight_decay : float, default 0.004
        A variable is first multiplied by 1 - learning_rate * weight_decay.
    beta_1, beta_2, epsilon, amsgrad, **common
        See `Adam`.

    Notes
    -----
    Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019.

    Examples
    --------
    >>> import dualflow as df
    >>> v = df.Variable([1.])
    >>> df.optimizers.AdamW(0.5, weight_decay=0.5).apply_gradients([(df.constant([2.]), v)])
    >>> v.numpy().round(4).tolist()
    [0.25]
    """

    def __init__(self, learning_rate: LearningRate = 0.001, weight_decay: float = 0.004,
                 beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-7,
                 amsgrad: bool = False, **common: Unpack[Rest]) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, amsgrad,
                         weight_decay=weight_decay, **common)
