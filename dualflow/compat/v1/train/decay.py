"""Learning rate schedules with the formulas of TensorFlow 1."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import dualflow as df
from dualflow._core import current_graph
from dualflow.compat.v1.default_graph import recorded
from dualflow.compat.v1.defaults import Mode
from dualflow.compat.v1.ops import convert
from dualflow.math import ceil

__all__ = ["cosine_decay", "exponential_decay", "inverse_time_decay", "natural_exp_decay",
           "piecewise_constant", "piecewise_constant_decay", "polynomial_decay"]


F = TypeVar("F", bound=Callable[..., Any])


def scheduled(function: F) -> F:
    """Decorate a function that returns a learning rate. In eager mode the result is a callable
    that optimizers evaluate at each step."""
    in_graph = recorded(function)

    @functools.wraps(function)
    def made(*args: Any, **kwargs: Any) -> Any:
        if Mode.eager and current_graph() is None:
            return functools.partial(function, *args, **kwargs)
        return in_graph(*args, **kwargs)

    return made  # type: ignore[return-value]


def rate_and_share(learning_rate: Any, global_step: Any, decay_steps: Any,
                   staircase: bool = False) -> tuple[Any, Any]:
    """Return the learning rate as a tensor, and global_step / decay_steps."""
    if global_step is None:
        raise ValueError("global_step is required.")
    rate = convert(learning_rate, df.float32)
    share = df.cast(convert(global_step), rate.dtype) / df.cast(convert(decay_steps), rate.dtype)
    return rate, df.floor(share) if staircase else share


@scheduled
def exponential_decay(learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any,
                      staircase: bool = False, name: str | None = None) -> Any:
    """Return learning_rate * decay_rate ** (global_step / decay_steps); `staircase` rounds the
    exponent down.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.train.exponential_decay(1., 2, 1, 0.5)))
    0.25
    """
    rate, share = rate_and_share(learning_rate, global_step, decay_steps, staircase)
    return df.multiply(rate, df.pow(convert(decay_rate, rate.dtype), share),
                       name or "ExponentialDecay")


@scheduled
def natural_exp_decay(learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any,
                      staircase: bool = False, name: str | None = None) -> Any:
    """Return learning_rate * exp(-decay_rate * global_step / decay_steps).

    Parameters
    ----------
    learning_rate : float or Tensor
    global_step : int, Tensor or Variable
    decay_steps : number
    decay_rate : number
    staircase : bool, default False
        Whether to round ``global_step / decay_steps`` down.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.train.natural_exp_decay(1., 1, 1, 1.)).round(4))
    0.3679
    """
    rate, share = rate_and_share(learning_rate, global_step, decay_steps, staircase)
    return df.multiply(rate, df.exp(-convert(decay_rate, rate.dtype) * share),
                       name or "NaturalExpDecay")


@scheduled
def inverse_time_decay(learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any,
                       staircase: bool = False, name: str | None = None) -> Any:
    """Return learning_rate / (1 + decay_rate * global_step / decay_steps).

    Parameters
    ----------
    learning_rate : float or Tensor
    global_step : int, Tensor or Variable
    decay_steps : number
    decay_rate : number
    staircase : bool, default False
        Whether to round ``global_step / decay_steps`` down.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.train.inverse_time_decay(1., 1, 1, 1.)))
    0.5
    """
    rate, share = rate_and_share(learning_rate, global_step, decay_steps, staircase)
    return df.divide(rate, 1.0 + convert(decay_rate, rate.dtype) * share,
                     name or "InverseTimeDecay")


@scheduled
def polynomial_decay(learning_rate: Any, global_step: Any, decay_steps: Any,
                     end_learning_rate: Any = 0.0001, power: Any = 1.0, cycle: bool = False,
                     name: str | None = None) -> Any:
    """Return (learning_rate - end_learning_rate) * (1 - global_step / decay_steps) ** power +
    end_learning_rate; `cycle` restarts with longer cycles.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.train.polynomial_decay(1., 5, 10, 0.)))
    0.5
    """
    rate, share = rate_and_share(learning_rate, global_step, decay_steps)
    if cycle:
        share = share / df.where(df.equal(share, 0.0), 1.0, ceil(share))
    else:
        share = df.minimum(share, 1.0)
    end = convert(end_learning_rate, rate.dtype)
    return df.add((rate - end) * df.pow(1.0 - share, convert(power, rate.dtype)), end,
                  name or "PolynomialDecay")


@scheduled
def cosine_decay(learning_rate: Any, global_step: Any, decay_steps: Any, alpha: float = 0.0,
                 name: str | None = None) -> Any:
    """Return learning_rate times a half cosine that falls from 1 to `alpha` in `decay_steps`.

    Parameters
    ----------
    learning_rate : float or Tensor
    global_step : int, Tensor or Variable
    decay_steps : number
    alpha : float, default 0.0

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.train.cosine_decay(1., 5, 10)).round(4))
    0.5
    """
    rate, share = rate_and_share(learning_rate, global_step, decay_steps)
    cosine = 0.5 * (1.0 + df.cos(df.minimum(share, 1.0) * math.pi))
    return df.multiply(rate, (1.0 - alpha) * cosine + alpha, name or "CosineDecay")


@scheduled
def piecewise_constant(x: Any, boundaries: Sequence[Any], values: Sequence[Any],
                       name: str | None = None) -> Any:
    """Return values[i] up to and including boundaries[i], and the last value beyond.

    Parameters
    ----------
    x : Tensor, number or Variable
    boundaries : list of number, increasing
    values : list of number, one more

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     rates = [tf.train.piecewise_constant(k, [1, 2], [1., 0.5, 0.25]) for k in (1, 2, 3)]
    ...     print(sess.run(rates))
    [np.float32(1.0), np.float32(0.5), np.float32(0.25)]
    """
    if len(boundaries) != len(values) - 1:
        raise ValueError("The length of boundaries should be 1 less than the length of values")
    step = convert(x)
    rate = convert(values[-1], df.float32)
    for boundary, value in reversed(list(zip(boundaries, values, strict=False))):
        rate = df.where(df.less_equal(step, convert(boundary, step.dtype)),
                        convert(value, rate.dtype), rate)
    return df.identity(rate, name or "PiecewiseConstant")


piecewise_constant_decay = piecewise_constant
