"""Window functions: weights of the samples of a frame."""

import math
from typing import Any

from dualflow import dtypes
from dualflow._core import Tensor, as_tensor
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.ops.array.creation import range as range_
from dualflow.ops.array.join import concat
from dualflow.ops.array.shape import one_size
from dualflow.ops.array.slicing import reverse
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import where
from dualflow.ops.elementwise.complex import check_real
from dualflow.ops.elementwise.exponential import exp, sqrt
from dualflow.ops.elementwise.trigonometric import cos, sin
from dualflow.ops.reduction.cumulative import cumsum
from dualflow.ops.reduction.reduce_moments import reduce_mean
from dualflow.ops.types import DTypeLike, TensorLike

__all__ = ["hamming_window", "hann_window", "kaiser_bessel_derived_window", "kaiser_window",
           "vorbis_window"]


def _floating(op: str, dtype: DTypeLike) -> dtypes.DType:
    made = dtypes.as_dtype(dtype)
    if not made.is_floating:
        raise DTypeError(f"{op}: {made}, expected a floating dtype")
    return made


def _raised_cosine(op: str, window_length: int, periodic: bool, dtype: DTypeLike, a: float,
                   b: float, name: str | None) -> Tensor:
    """Return a - b cos(2 pi k / n), a period without its last point if `periodic`; 1 if n is 0."""
    length, dtype = one_size(window_length, f"{op}: window_length"), _floating(op, dtype)
    n = as_tensor(length - (length % 2 if periodic else 1), dtypes.float64)
    made = a - b * cos(range_(length, dtype=dtypes.float64) * (2 * math.pi / n))
    return cast(where(n > 0, made, as_tensor(1, dtypes.float64)), dtype, name=name)


def hann_window(window_length: int, periodic: bool = True, dtype: DTypeLike = dtypes.float32,
                name: str | None = None) -> Tensor:
    """Return the weights ``0.5 - 0.5 * cos(2 * pi * k / n)``.

    Parameters
    ----------
    window_length : int
    periodic : bool
        Whether an even number of weights spans one period. Otherwise, and for an odd number, the
        last weight equals the first.
    dtype : floating dtype

    Returns
    -------
    Tensor, shape (window_length,)

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.hann_window(4).tolist()
    [0.0, 0.5, 1.0, 0.5]
    """
    return _raised_cosine("hann_window", window_length, periodic, dtype, 0.5, 0.5, name)


def hamming_window(window_length: int, periodic: bool = True, dtype: DTypeLike = dtypes.float32,
                   name: str | None = None) -> Tensor:
    """Return the weights ``0.54 - 0.46 * cos(2 * pi * k / n)``; otherwise as `hann_window`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.hamming_window(4).numpy().round(2).tolist()
    [0.07999999821186066, 0.5400000214576721, 1.0, 0.5400000214576721]
    """
    return _raised_cosine("hamming_window", window_length, periodic, dtype, 0.54, 0.46, name)


# --- Kaiser's windows ----------------------------------------------------------------------------

_ANGLES = 256       # I0(x) has 15 digits for x up to 900


def _bessel(x: Tensor, largest: Tensor) -> Tensor:
    """Return ``exp(-largest) I0(x)``: I0(x) is the mean of exp(x cos(t)) over a half period, whose
    sum at equally spaced points converges exponentially (M. Abramowitz and I. Stegun, "Handbook of
    Mathematical Functions", 1964, 9.6.16)."""
    t = cast(range_(_ANGLES), dtypes.float64) * (math.pi / _ANGLES) + math.pi / (2 * _ANGLES)
    return reduce_mean(exp(x[..., None] * cos(t) - largest), -1)


def _kaiser(length: Any, beta: TensorLike) -> Tensor:
    """Return the weights in float64."""
    beta = cast(check_real("kaiser_window", beta, "beta"), dtypes.float64)
    half = cast(as_tensor(length - 1, dtypes.int64), dtypes.float64) / 2
    at = cast(range_(length), dtypes.float64) - half
    ratio = where(half > 0, at / where(half > 0, half, 1), 0)
    inside = 1 - ratio * ratio
    root = sqrt(where(inside > 0, inside, 1)) * where(inside > 0, 1., 0.)
    return _bessel(beta * root, beta) / _bessel(beta[None], beta)


def kaiser_window(window_length: int, beta: TensorLike = 12.0, dtype: DTypeLike = dtypes.float32,
                  name: str | None = None) -> Tensor:
    """Return the weights ``I0(beta * sqrt(1 - r**2)) / I0(beta)``, r from -1 to 1.

    Parameters
    ----------
    window_length : int
    beta : scalar
        Larger numbers give a narrower window with lower side lobes, up to 900.
    dtype : floating dtype

    Returns
    -------
    Tensor, shape (window_length,)

    Notes
    -----
    I0 is the modified Bessel function of order 0. J. Kaiser and R. Schafer, "On the use of the
    I0-sinh window for spectrum analysis", 1980.

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.kaiser_window(3, 2.).numpy().round(4).tolist()
    [0.43869999051094055, 1.0, 0.43869999051094055]
    """
    dtype = _floating("kaiser_window", dtype)
    made = _kaiser(one_size(window_length, "kaiser_window: window_length"), beta)
    return cast(made, dtype, name=name)


def kaiser_bessel_derived_window(window_length: int, beta: TensorLike = 12.0,
                                 dtype: DTypeLike = dtypes.float32,
                                 name: str | None = None) -> Tensor:
    """Return roots of normalised running sums of a `kaiser_window`.

    Parameters
    ----------
    window_length : int
        An even number.
    beta, dtype
        As in `kaiser_window`.

    Returns
    -------
    Tensor, shape (window_length,)
        The squares of weights that are half a window apart add up to 1, as `mdct` requires.

    Examples
    --------
    >>> import dualflow as df
    >>> w = df.signal.kaiser_bessel_derived_window(4, 2.)
    >>> (w[:2]**2 + w[2:]**2).numpy().round(4).tolist()
    [1.0, 1.0]
    """
    op = "kaiser_bessel_derived_window"
    dtype, length = _floating(op, dtype), one_size(window_length, f"{op}: window_length")
    if length % 2:
        raise InvalidArgumentError(f"{op}: window_length is {length}, expected an even number")
    sums = cumsum(_kaiser(length // 2 + 1, beta))
    half = sqrt(sums[:-1] / sums[-1])
    return cast(concat([half, reverse(half, [0])], 0), dtype, name=name)


def vorbis_window(window_length: int, dtype: DTypeLike = dtypes.float32,
                  name: str | None = None) -> Tensor:
    """Return the weights ``sin(pi / 2 * sin(pi * (k + 0.5) / window_length)**2)``.

    Parameters
    ----------
    window_length : int
    dtype : floating dtype

    Returns
    -------
    Tensor, shape (window_length,)
        As in `kaiser_bessel_derived_window`, squares half a window apart add up to 1.

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.vorbis_window(4).numpy().round(4).tolist()
    [0.2280000001192093, 0.9736999869346619, 0.9736999869346619, 0.2280000001192093]
    """
    dtype = _floating("vorbis_window", dtype)
    length = one_size(window_length, "vorbis_window: window_length")
    at = cast(range_(length), dtypes.float64) + 0.5
    inner = sin(at * (math.pi / cast(as_tensor(length, dtypes.int64), dtypes.float64)))
    return cast(sin(math.pi / 2 * inner * inner), dtype, name=name)
