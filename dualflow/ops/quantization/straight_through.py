"""The straight-through estimator and the roundings of quantisation."""

from __future__ import annotations

from dualflow.ops.array.shape import stop_gradient
from dualflow.ops.elementwise.rounding import floor, round, trunc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def straight_through(value: Any, surrogate: Any) -> Any:
    """Return `value` with the gradient of `surrogate`, whose elements must be finite.

    The sum is exact: the difference of `surrogate` and its copy is 0. Source: Bengio, Leonard and
    Courville, Estimating or Propagating Gradients Through Stochastic Neurons (2013).
    """
    return stop_gradient(value) + (surrogate - stop_gradient(surrogate))


def round_half_up(x: Any) -> Any:
    """Return floor(x + 0.5), the rounding of TensorFlow's fake quantisation."""
    return floor(x + 0.5)


def round_half_away(x: Any) -> Any:
    """Return x rounded to the nearest integer, ties away from 0. Exact: x - trunc(x) has no
    rounding error."""
    whole = trunc(x)
    return whole + trunc((x - whole) * 2.0)


ROUNDINGS: dict[str, Any] = {"HALF_TO_EVEN": round, "HALF_UP": round_half_up,
                             "HALF_AWAY_FROM_ZERO": round_half_away}
