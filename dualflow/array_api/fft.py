"""The extension `fft`: discrete Fourier transforms.

The argument `norm` is "backward": inverse transforms are divided by n; "forward": the other
transforms are; or "ortho": both are divided by the square root of n.
"""

from collections.abc import Sequence
from typing import Any

from dualflow._core import Tensor
from dualflow.array_api.arrays import array, given_dtype
from dualflow.array_api.device import check_device
from dualflow.dtypes import float32, int64
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.ops.array.creation import range as range_
from dualflow.ops.array.shape import ints
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import where
from dualflow.ops.elementwise.complex import conj
from dualflow.ops.signal import fourier, real_fourier
from dualflow.ops.types import DTypeLike, TensorLike

__all__ = ["fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft",
           "irfft", "irfftn", "rfft", "rfftfreq", "rfftn"]

_OTHER = {"backward": "forward", "forward": "backward"}


def _one(n: int | None, axis: int) -> tuple[Any, list[int]]:
    """Return the lengths and axes of a transform along one axis."""
    return None if n is None else [n], [axis]


def fft(x: TensorLike, /, *, n: int | None = None, axis: int = -1,
        norm: str = "backward") -> Tensor:
    """Return the discrete Fourier transform along an axis.

    Parameters
    ----------
    x : array, complex
        Real numbers are cast.
    n : int, optional
        Number of points; `x` is truncated or padded with zeros. By default, the size of the axis.
    axis : int
    norm : {"backward", "ortho", "forward"}

    Returns
    -------
    array, complex

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.fft.fft(df.constant([1., 1.])).tolist()
    [(2+0j), 0j]
    """
    return fourier.fftnd(array(x, "fft"), *_one(n, axis), norm)


def ifft(x: TensorLike, /, *, n: int | None = None, axis: int = -1,
         norm: str = "backward") -> Tensor:
    """Return the inverse transform along an axis.

    Parameters
    ----------
    x : array, complex
        Real numbers are cast.
    n, axis, norm
        As in `fft`.

    Returns
    -------
    array, complex

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.fft.ifft(df.constant([2., 0.])).tolist()
    [(1+0j), (1+0j)]
    """
    return fourier.ifftnd(array(x, "ifft"), *_one(n, axis), norm)


def fftn(x: TensorLike, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,
         norm: str = "backward") -> Tensor:
    """Return the discrete Fourier transform along several axes.

    Parameters
    ----------
    x : array, complex
        Real numbers are cast.
    s : sequence of ints, optional
        Number of points along each axis; `x` is truncated or padded with zeros.
    axes : sequence of ints, optional
        By default all, or the last ones, as many as `s` has numbers.
    norm : {"backward", "ortho", "forward"}

    Returns
    -------
    array, complex

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.fft.fftn(df.ones([2, 2])).tolist()
    [[(4+0j), 0j], [0j, 0j]]
    """
    return fourier.fftnd(array(x, "fftn"), s, axes, norm)


def ifftn(x: TensorLike, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,
          norm: str = "backward") -> Tensor:
    """Return the inverse transform along several axes.

    Parameters
    ----------
    x : array, complex
        Real numbers are cast.
    s, axes, norm
        As in `fftn`.

    Returns
    -------
    array, complex

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.fft.ifftn(df.constant([[4., 0.], [0., 0.]])).tolist()
    [[(1+0j), (1+0j)], [(1+0j), (1+0j)]]
    """
    return fourier.ifftnd(array(x, "ifftn"), s, axes, norm)


def rfft(x: TensorLike, /, *, n: int | None = None, axis: int = -1,
         norm: str = "backward") -> Tensor:
    """Return the first ``n // 2 + 1`` results of `fft` for real numbers.

    Parameters
    ----------
    x : array, real
    n, axis, norm
        As in `fft`.

    Returns
    -------
    array, complex

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.fft.rfft(df.constant([1., 1., 1.])).tolist()
    [(3+0j), 0j]
    """
    return real_fourier.rfftnd(array(x, "rfft"), *_one(n, axis), norm)


def irfft(x: TensorLike, /, *, n: int | None = None, axis: int = -1,
          norm: str = "backward") -> Tensor:
    """Return the n real numbers whose `rfft` is `x`.

    Parameters
    ----------
    x : array, complex
    n : int, optional
        Number of results, by default twice the size of the axis minus 2.
    axis, norm
        As in `fft`.

    Returns
    -------
    array, real

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.fft.irfft(df.constant([3., 0.]), n=3).tolist()
    [1.0, 1.0, 1.0]
    """
    return real_fourier.irfftnd(array(x, "irfft"), *_one(n, axis), norm)


def rfftn(x: TensorLike, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,
          norm: str = "backward") -> Tensor:
    """Return `rfft` along the last of several axes, then `fft` along the others.

    Parameters
    ----------
    x : array, real
    s, axes, norm
        As in `fftn`.

    Returns
    -------
    array, complex

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.fft.rfftn(df.ones([2, 3])).tolist()
    [[(6+0j), 0j], [0j, 0j]]
    """
    return real_fourier.rfftnd(array(x, "rfftn"), s, axes, norm)


def irfftn(x: TensorLike, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,
           norm: str = "backward") -> Tensor:
    """Return the real numbers whose `rfftn` is `x`.

    Parameters
    ----------
    x : array, complex
    s, axes, norm
        As in `fftn`. By default, the last axis has ``2 * (m - 1)`` results, where m is its size.

    Returns
    -------
    array, real

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.fft.irfftn(df.constant([[4., 0.], [0., 0.]])).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    return real_fourier.irfftnd(array(x, "irfftn"), s, axes, norm)


def hfft(x: TensorLike, /, *, n: int | None = None, axis: int = -1,
         norm: str = "backward") -> Tensor:
    """Return the real transform of n numbers that equal their reversed conjugates.

    Parameters
    ----------
    x : array, complex
        The first ``n // 2 + 1`` of these numbers.
    n : int, optional
        Number of results, by default twice the size of the axis minus 2.
    axis, norm
        As in `fft`.

    Returns
    -------
    array, real

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.fft.hfft(df.constant([1., 1.])).tolist()
    [2.0, 0.0]
    """
    return real_fourier.irfftnd(conj(array(x, "hfft")), *_one(n, axis), _OTHER.get(norm, norm))


def ihfft(x: TensorLike, /, *, n: int | None = None, axis: int = -1,
          norm: str = "backward") -> Tensor:
    """Return the first ``n // 2 + 1`` results of `ifft` for real numbers, the inverse of `hfft`.

    Parameters
    ----------
    x : array, real
    n, axis, norm
        As in `fft`.

    Returns
    -------
    array, complex

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.real(df.array_api.fft.ihfft(df.constant([2., 0.]))).tolist()
    [1.0, 1.0]
    """
    return conj(real_fourier.rfftnd(array(x, "ihfft"), *_one(n, axis), _OTHER.get(norm, norm)))


def _frequencies(op: str, n: int, d: float, dtype: DTypeLike | None, device: Any,
                 half: bool) -> Tensor:
    check_device(device, op)
    wanted = given_dtype(dtype, float32)
    if not wanted.is_floating:
        raise DTypeError(f"{op}: dtype is {wanted}, expected a floating dtype")
    size, = ints(n, f"{op}: n")
    if size < 1:
        raise InvalidArgumentError(f"{op}: n is {size}, expected at least 1")
    k = range_(size // 2 + 1 if half else size, dtype=int64)
    signed = k if half else where(k * 2 < size, k, k - size)
    return cast(signed, wanted) / (size * d)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: DTypeLike | None = None,
            device: Any = None) -> Tensor:
    """Return the frequencies of the points of `fft` in cycles per unit of time.

    Parameters
    ----------
    n : int
        Number of points.
    d : float
        Time between samples.
    dtype : floating dtype, optional
        By default float32.
    device : optional
        The CPU.

    Returns
    -------
    array, shape (n,)

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.fft.fftfreq(4).tolist()
    [0.0, 0.25, -0.5, -0.25]
    """
    return _frequencies("fftfreq", n, d, dtype, device, False)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: DTypeLike | None = None,
             device: Any = None) -> Tensor:
    """Return the frequencies of the ``n // 2 + 1`` points of `rfft`.

    Parameters
    ----------
    n : int
        Number of points before the transform.
    d, dtype, device
        As in `fftfreq`.

    Returns
    -------
    array, shape (n // 2 + 1,)

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.fft.rfftfreq(4).tolist()
    [0.0, 0.25, 0.5]
    """
    return _frequencies("rfftfreq", n, d, dtype, device, True)


def fftshift(x: TensorLike, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """Move frequency 0 from the start of each axis to its centre.

    Parameters
    ----------
    x : array
    axes : int or sequence of ints, optional
        By default all.

    Returns
    -------
    array, shape and dtype of `x`

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.fft.fftshift(df.constant([0, 1, 2, -2, -1])).tolist()
    [-2, -1, 0, 1, 2]
    """
    return fourier.fftshift(array(x, "fftshift"), axes)


def ifftshift(x: TensorLike, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """Move frequency 0 from the centre of each axis to its start, the inverse of `fftshift`.

    Parameters
    ----------
    x : array
    axes : int or sequence of ints, optional
        By default all.

    Returns
    -------
    array, shape and dtype of `x`

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.fft.ifftshift(df.constant([-2, -1, 0, 1, 2])).tolist()
    [0, 1, 2, -2, -1]
    """
    return fourier.ifftshift(array(x, "ifftshift"), axes)


def __dir__() -> list[str]:
    return __all__
