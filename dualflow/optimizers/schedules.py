"""Learning rates as functions of the number of updates, computed in float64.

Each schedule is composed of ops on the step, so that a traced training step follows it too.
"""

from __future__ import annotations

import dualflow as df
from dualflow._util.arguments import NOT_NEGATIVE, NUMBER, POSITIVE, Limits, number, shown
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.trace_dependency import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, ClassVar

__all__ = ["CosineDecay", "ExponentialDecay", "InverseTimeDecay", "LearningRateSchedule",
           "PiecewiseConstantDecay", "PolynomialDecay"]

PI = 3.141592653589793


class LearningRateSchedule(Settings):
    """Base of schedules: callable with a step, an int or an integer Tensor."""

    def __call__(self, step: Any) -> df.Tensor:
        """Return the learning rate after `step` updates, float64, shape ()."""
        self.used()
        x = step if isinstance(step, df.TensorBase) else df.constant(step, df.int64)
        return self.at(df.cast(x, df.float64))

    def at(self, step: df.Tensor) -> df.Tensor:
        """Return the learning rate for a float64 step."""
        raise NotImplementedError


class _Decay(LearningRateSchedule):
    """A schedule over `decay_steps` steps."""

    decay_steps: float
    limits: ClassVar[Mapping[str, Limits]] = {
        "initial_learning_rate": NOT_NEGATIVE, "decay_steps": POSITIVE, "decay_rate": NOT_NEGATIVE,
        "end_learning_rate": NOT_NEGATIVE, "power": NUMBER, "alpha": NOT_NEGATIVE,
        "warmup_target": NOT_NEGATIVE.or_none(), "warmup_steps": NOT_NEGATIVE}


def _share(step: df.Tensor, decay_steps: float, staircase: bool) -> df.Tensor:
    return step // decay_steps if staircase else step / decay_steps


class ExponentialDecay(_Decay):
    """A decay by initial_learning_rate * decay_rate ** (step / decay_steps).

    Parameters
    ----------
    initial_learning_rate, decay_steps, decay_rate : float
    staircase : bool, default False
        Whether to round the exponent down.

    Examples
    --------
    >>> import dualflow as df
    >>> df.optimizers.schedules.ExponentialDecay(0.5, 10, 0.5)(20).numpy().item()
    0.125
    """

    initial_learning_rate: float
    decay_steps: float
    decay_rate: float
    staircase: bool

    def __init__(self, initial_learning_rate: float, decay_steps: float, decay_rate: float,
                 staircase: bool = False) -> None:
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.decay_rate, self.staircase = decay_rate, staircase

    def at(self, step: Any) -> Any:
        rate = df.constant(self.decay_rate, df.float64)
        share = _share(step, self.decay_steps, self.staircase)
        return self.initial_learning_rate * rate ** share


class InverseTimeDecay(_Decay):
    """A decay by initial_learning_rate / (1 + decay_rate * step / decay_steps).

    Parameters
    ----------
    initial_learning_rate, decay_steps, decay_rate : float
    staircase : bool, default False
        Whether to round step / decay_steps down.

    Examples
    --------
    >>> import dualflow as df
    >>> df.optimizers.schedules.InverseTimeDecay(0.5, 10, 0.5)(20).numpy().item()
    0.25
    """

    initial_learning_rate: float
    decay_steps: float
    decay_rate: float
    staircase: bool

    def __init__(self, initial_learning_rate: float, decay_steps: float, decay_rate: float,
                 staircase: bool = False) -> None:
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.decay_rate, self.staircase = decay_rate, staircase

    def at(self, step: Any) -> Any:
        share = _share(step, self.decay_steps, self.staircase)
        return self.initial_learning_rate / (1.0 + self.decay_rate * share)


class PolynomialDecay(_Decay):
    """A decay from the initial to the end learning rate by (1 - step / decay_steps) ** power.

    Parameters
    ----------
    initial_learning_rate, decay_steps : float
    end_learning_rate : float, default 0.0001
    power : float, default 1.0
    cycle : bool, default False
        Whether to restart with `decay_steps` at its next multiple instead of staying at the end.

    Examples
    --------
    >>> import dualflow as df
    >>> df.optimizers.schedules.PolynomialDecay(1.0, 10, 0.5)(5).numpy().item()
    0.75
    """

    initial_learning_rate: float
    decay_steps: float
    end_learning_rate: float
    power: float
    cycle: bool

    def __init__(self, initial_learning_rate: float, decay_steps: float,
                 end_learning_rate: float = 0.0001, power: float = 1.0,
                 cycle: bool = False) -> None:
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.end_learning_rate, self.power, self.cycle = end_learning_rate, power, cycle

    def at(self, step: Any) -> Any:
        share = step / self.decay_steps
        rounds = df.maximum(-(-share // 1.0), 1.0)
        share = share / rounds if self.cycle else df.minimum(share, 1.0)
        width = self.initial_learning_rate - self.end_learning_rate
        return width * (1.0 - share) ** self.power + self.end_learning_rate


class PiecewiseConstantDecay(LearningRateSchedule):
    """A step function: values[i] up to and including step boundaries[i], then the last value.

    Parameters
    ----------
    boundaries : sequence of int, increasing
    values : sequence of float, one more than boundaries

    Examples
    --------
    >>> import dualflow as df
    >>> rate = df.optimizers.schedules.PiecewiseConstantDecay([10, 20], [0.5, 0.25, 0.125])
    >>> [rate(step).numpy().item() for step in (10, 11, 21)]
    [0.5, 0.25, 0.125]
    """

    boundaries: Sequence[float]
    values: Sequence[float]

    def __init__(self, boundaries: Sequence[float], values: Sequence[float]) -> None:
        self.boundaries, self.values = boundaries, values
        self.validate()

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("boundaries", "values"):
            if isinstance(value, str) or not hasattr(value, "__iter__"):
                raise DTypeError(f"PiecewiseConstantDecay: {name} is {shown(value)}, expected "
                                 "numbers")
            value = tuple([number(x, f"PiecewiseConstantDecay: {name}[{k}]")
                           for k, x in enumerate(value)])
        super().__setattr__(name, value)

    def validate(self) -> None:
        boundaries, values = self.boundaries, self.values
        if len(values) != len(boundaries) + 1:
            raise InvalidArgumentError(
                f"PiecewiseConstantDecay: got {len(boundaries)} boundaries and {len(values)} "
                "values, expected one value more than boundaries")
        if sorted(boundaries) != list(boundaries):
            raise InvalidArgumentError(
                f"PiecewiseConstantDecay: boundaries are {list(boundaries)}, expected "
                "increasing order")

    def at(self, step: Any) -> Any:
        rate = df.constant(self.values[-1], df.float64)
        for boundary, value in reversed(list(zip(self.boundaries, self.values, strict=False))):
            rate = df.where(step <= boundary, df.constant(value, df.float64), rate)
        return rate


class CosineDecay(_Decay):
    """A half-cosine decay from the initial learning rate to alpha times it, after linear warm-up.

    Parameters
    ----------
    initial_learning_rate, decay_steps : float
    alpha : float, default 0.0
        Final learning rate as a fraction of the rate at the start of the decay.
    warmup_target : float, optional
        Learning rate at the end of a linear warm-up of `warmup_steps` steps before the decay.
    warmup_steps : float, default 0

    Notes
    -----
    Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", ICLR 2017,
    without the restarts.

    Examples
    --------
    >>> import dualflow as df
    >>> df.optimizers.schedules.CosineDecay(1.0, 10)(5).numpy().round(6).item()
    0.5
    """

    initial_learning_rate: float
    decay_steps: float
    alpha: float
    warmup_target: float | None
    warmup_steps: float

    def __init__(self, initial_learning_rate: float, decay_steps: float, alpha: float = 0.0,
                 warmup_target: float | None = None, warmup_steps: float = 0) -> None:
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.alpha, self.warmup_target, self.warmup_steps = alpha, warmup_target, warmup_steps

    def at(self, step: Any) -> Any:
        if self.warmup_target is None:
            return self._decayed(step, self.initial_learning_rate)
        top = self.warmup_target
        decayed = self._decayed(df.maximum(step - self.warmup_steps, 0.0), top)
        if not self.warmup_steps:
            return decayed
        rise = (top - self.initial_learning_rate) / self.warmup_steps
        return df.where(step < self.warmup_steps, step * rise + self.initial_learning_rate, decayed)

    def _decayed(self, step: df.Tensor, top: float) -> df.Tensor:
        share = df.minimum(step / self.decay_steps, 1.0)
        cosine = 0.5 * (1.0 + df.cos(share * PI))
        return top * ((1.0 - self.alpha) * cosine + self.alpha)


def __dir__() -> list[str]:
    return __all__
