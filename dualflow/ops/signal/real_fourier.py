"""Fourier transforms of real numbers: the frequencies from 0 to half the number of points."""

from typing import Any

from dualflow import dtypes
from dualflow._core import Tensor, as_tensor
from dualflow.errors import DTypeError, ShapeError
from dualflow.ops.array.creation import range as range_
from dualflow.ops.array.shape import ints, transpose
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import where
from dualflow.ops.elementwise.complex import real
from dualflow.ops.signal.fourier import (
    along,
    at_least_one,
    axes_and_lengths,
    checked_norm,
    complex_input,
    of_length,
    real_transform,
)
from dualflow.ops.types import TensorLike

__all__ = ["fftfreq", "irfft", "irfft2d", "irfft3d", "irfftnd", "rfft", "rfft2d", "rfft3d",
           "rfftfreq", "rfftnd"]


def _last(op: str, x: Tensor, fft_length: Any, n_axes: int) -> list[tuple[int, Any]]:
    """Return the last axes, each with its number of points or None."""
    if x.ndim < n_axes:
        raise ShapeError(f"{op}: shape {tuple(x.shape)}, expected at least {n_axes} dimensions")
    axes = range(x.ndim - n_axes, x.ndim)
    if fft_length is None:
        return [(axis, None) for axis in axes]
    return axes_and_lengths(op, x, fft_length, axes)


def _along(x: Tensor, axis: int, n: Any, inverse: bool, norm: str | None,
           name: str | None) -> Tensor:
    """Transform n real numbers along one axis, or frequencies to n real numbers."""
    last = x.ndim - 1
    if axis == last:
        return real_transform(x, n, inverse, norm, name)
    order = list(range(x.ndim))
    order[axis], order[last] = last, axis
    return transpose(real_transform(transpose(x, order), n, inverse, norm), order, name=name)


def _to_half(op: str, x: Tensor, axes: list[tuple[int, Any]], norm: str | None,
             name: str | None) -> Tensor:
    if not axes:
        return complex_input(op, x, 0)
    *others, (axis, n) = axes
    n = at_least_one(op, x.shape[axis] if n is None else n)
    for which, length in axes:
        x = of_length(x, which, length)
    if x.dtype is not dtypes.float32 and x.dtype is not dtypes.float64:
        x = cast(x, dtypes.float32)
    y = _along(x, axis, n, False, norm, None if others else name)
    return along(op, y, [(a, None) for a, _ in others], False, norm, name)


def _real_input(op: str, x: TensorLike) -> Tensor:
    a = as_tensor(x, None, op)
    if a.dtype.is_complex:
        raise DTypeError(f"{op}: {a.dtype.name}, expected real numbers; see df.signal.fft, or "
                         "df.math.real for the real parts")
    return a


def _from_half(op: str, x: Tensor, axes: list[tuple[int, Any]], norm: str | None,
               name: str | None) -> Tensor:
    if not axes:
        return real(x, name)
    *others, (axis, n) = axes
    n = at_least_one(op, 2 * (x.shape[axis] - 1) if n is None else n)
    x = of_length(along(op, x, others, True, norm), axis, n // 2 + 1)
    return _along(x, axis, n, True, norm, name)


def rfft(input_tensor: TensorLike, fft_length: TensorLike | None = None,
         name: str | None = None) -> Tensor:
    """Return the first half of the `fft` of real numbers; the second half is its conjugate.

    Parameters
    ----------
    input_tensor : Tensor, real, shape (..., n)
        Dtypes other than float64 are computed in complex64.
    fft_length : int, optional
        Number of points; the input is truncated or padded with zeros. By default n.

    Returns
    -------
    Tensor, complex, shape (..., fft_length // 2 + 1)

    Raises
    ------
    DTypeError
        If the input is complex.
    InvalidArgumentError
        If `fft_length` is below 1.

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.rfft([0., 1., 0., 0.]).numpy()
    array([ 1.+0.j,  0.-1.j, -1.+0.j], dtype=complex64)
    """
    x = _real_input("rfft", input_tensor)
    return _to_half("rfft", x, _last("rfft", x, fft_length, 1), None, name)


def irfft(input_tensor: TensorLike, fft_length: TensorLike | None = None,
          name: str | None = None) -> Tensor:
    """Return the real numbers whose `rfft` is `input_tensor`.

    Parameters
    ----------
    input_tensor : Tensor, complex, shape (..., k)
        The imaginary part of the first point and, if `fft_length` is even, of the last is ignored.
    fft_length : int, optional
        Number of results, by default ``2 * (k - 1)``.

    Returns
    -------
    Tensor, float32 or float64, shape (..., fft_length)

    Notes
    -----
    In the gradient, the points between the first and the last count twice: each represents its
    conjugate too.

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.irfft([1, -1j, -1]).tolist()
    [0.0, 1.0, 0.0, 0.0]
    """
    x = complex_input("irfft", input_tensor)
    return _from_half("irfft", x, _last("irfft", x, fft_length, 1), None, name)


def rfft2d(input_tensor: TensorLike, fft_length: TensorLike | None = None,
           name: str | None = None) -> Tensor:
    """Compute `rfft` along the last dimension, then `fft` along the one before.

    Parameters
    ----------
    input_tensor : Tensor, real, shape (..., m, n)
    fft_length : two ints, optional

    Returns
    -------
    Tensor, complex, shape (..., m, n // 2 + 1)

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.rfft2d(df.ones([2, 2])).numpy()
    array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    x = _real_input("rfft2d", input_tensor)
    return _to_half("rfft2d", x, _last("rfft2d", x, fft_length, 2), None, name)


def irfft2d(input_tensor: TensorLike, fft_length: TensorLike | None = None,
            name: str | None = None) -> Tensor:
    """Return the real numbers whose `rfft2d` is `input_tensor`.

    Parameters are as in `irfft`, with two numbers in `fft_length`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.irfft2d([[4., 0.], [0., 0.]]).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    x = complex_input("irfft2d", input_tensor)
    return _from_half("irfft2d", x, _last("irfft2d", x, fft_length, 2), None, name)


def rfft3d(input_tensor: TensorLike, fft_length: TensorLike | None = None,
           name: str | None = None) -> Tensor:
    """Compute `rfft` along the last dimension, then `fft` along the two before.

    Parameters are as in `rfft`, with three numbers in `fft_length`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.rfft3d(df.ones([2, 4, 6])).shape
    (2, 4, 4)
    """
    x = _real_input("rfft3d", input_tensor)
    return _to_half("rfft3d", x, _last("rfft3d", x, fft_length, 3), None, name)


def irfft3d(input_tensor: TensorLike, fft_length: TensorLike | None = None,
            name: str | None = None) -> Tensor:
    """Return the real numbers whose `rfft3d` is `input_tensor`.

    Parameters are as in `irfft`, with three numbers in `fft_length`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.irfft3d(df.ones([2, 4, 4])).shape
    (2, 4, 6)
    """
    x = complex_input("irfft3d", input_tensor)
    return _from_half("irfft3d", x, _last("irfft3d", x, fft_length, 3), None, name)


def rfftnd(input_tensor: TensorLike, fft_length: TensorLike | None = None,
           axes: TensorLike | None = None, norm: str | None = None,
           name: str | None = None) -> Tensor:
    """Compute `rfft` along the last of several dimensions, then `fft` along the others.

    Parameters
    ----------
    input_tensor : Tensor, real
    fft_length, axes, norm
        As in `fftnd`. The last of `axes` has ``fft_length[-1] // 2 + 1`` results.

    Returns
    -------
    Tensor, complex

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.rfftnd(df.ones([8, 3]), axes=[1, 0]).shape
    (5, 3)
    """
    x = _real_input("rfftnd", input_tensor)
    axes_of = axes_and_lengths("rfftnd", x, fft_length, axes)
    return _to_half("rfftnd", x, axes_of, checked_norm("rfftnd", norm), name)


def irfftnd(input_tensor: TensorLike, fft_length: TensorLike | None = None,
            axes: TensorLike | None = None, norm: str | None = None,
            name: str | None = None) -> Tensor:
    """Return the real numbers whose `rfftnd` is `input_tensor`.

    Parameters are as in `fftnd`. By default, the last axis has ``2 * (k - 1)`` results.

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.irfftnd(df.ones([5, 3]), axes=[1, 0]).shape
    (8, 3)
    """
    x = complex_input("irfftnd", input_tensor, 0)
    axes_of = axes_and_lengths("irfftnd", x, fft_length, axes)
    return _from_half("irfftnd", x, axes_of, checked_norm("irfftnd", norm), name)


# --- frequencies -------------------------------------------------------------------------------


def fftfreq(n: int, d: float = 1.0) -> Tensor:
    """Return the frequencies of the points of `fft` in cycles per unit of time.

    Parameters
    ----------
    n : int
        Number of points.
    d : float
        Time between samples.

    Returns
    -------
    Tensor, float32, shape (n,)
        ``0, 1, ..., (n - 1) // 2, -(n // 2), ..., -1``, divided by ``n * d``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.fftfreq(4).tolist()
    [0.0, 0.25, -0.5, -0.25]
    """
    size, = ints(n, "fftfreq: n")
    at_least_one("fftfreq", size)
    k = range_(size, dtype=dtypes.int64)
    signed = where(k * 2 < size, k, k - size)
    return cast(signed, dtypes.float32) / (size * d)


def rfftfreq(n: int, d: float = 1.0) -> Tensor:
    """Return the frequencies of the points of `rfft` in cycles per unit of time.

    Parameters
    ----------
    n : int
        Number of points before the transform.
    d : float
        Time between samples.

    Returns
    -------
    Tensor, float32, shape (n // 2 + 1,)

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.rfftfreq(4).tolist()
    [0.0, 0.25, 0.5]
    """
    size, = ints(n, "rfftfreq: n")
    at_least_one("rfftfreq", size)
    return cast(range_(size // 2 + 1, dtype=dtypes.int64), dtypes.float32) / (size * d)
