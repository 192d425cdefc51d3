"""Exponential moving averages of variables during training."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import dualflow as df
from dualflow._core import unwrapped
from dualflow.errors import DTypeError, InvalidArgumentError

__all__ = ["ExponentialMovingAverage"]


class ExponentialMovingAverage:
    """Maintains ``average = decay * average + (1 - decay) * value`` for variables.

    Parameters
    ----------
    decay : float, 0 to 1
    num_updates : int, Tensor or Variable, optional
        Reduces the decay at the start to ``min(decay, (1 + n) / (10 + n))``.
    zero_debias : bool
        Ignored: averages of variables are initialised with their values.
    name : str
        Suffix of the names of the averages.

    Examples
    --------
    >>> import dualflow as df
    >>> w = df.Variable(1.)
    >>> ema = df.train.ExponentialMovingAverage(0.75)
    >>> ema.apply([w])
    >>> w.assign(5.).numpy().item()
    5.0
    >>> ema.apply([w])
    >>> ema.average(w).numpy().item()
    2.0
    """

    decay: Any | float | int
    num_updates: Any
    name: str

    def __init__(self, decay: Any, num_updates: Any = None, zero_debias: bool = False,
                 name: str = "ExponentialMovingAverage") -> None:
        if isinstance(decay, float | int) and not 0 <= decay <= 1:
            raise InvalidArgumentError(f"{name}: decay is {decay!r}, expected 0 to 1")
        self.decay, self.num_updates, self.name = decay, num_updates, name
        self._averages: dict[df.Variable, df.Variable] = {}

    def apply(self, var_list: Iterable[Any]) -> None:
        """Update the averages; the first call creates them."""
        decay = df.cast(self.decay, df.float64)
        if self.num_updates is not None:
            n = df.cast(self.num_updates, df.float64)
            decay = df.minimum(decay, (1.0 + n) / (10.0 + n))
        for var in map(unwrapped, var_list):
            if not isinstance(var, df.Variable) or not var.dtype.is_inexact:
                raise DTypeError(f"{self.name}: got {type(var).__name__}, expected floating "
                                 "variables")
            if var not in self._averages:
                self._averages[var] = df.Variable(var, trainable=False,
                                                  name=f"{var.name}/{self.name}")
            average = self._averages[var]
            average.assign_sub((average - var) * (1.0 - df.cast(decay, var.dtype)))

    def average(self, var: Any) -> df.Variable | None:
        """Return the variable that holds the average, or None."""
        return self._averages.get(unwrapped(var))

    def average_name(self, var: Any) -> str:
        """Return the name of the average of a variable."""
        return f"{unwrapped(var).name}/{self.name}"
