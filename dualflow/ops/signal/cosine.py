"""Discrete cosine transforms, and lapped transforms of overlapping frames."""

import math
from typing import Any

from dualflow import dtypes
from dualflow._core import Tensor, as_tensor
from dualflow._util.arguments import shown
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError
from dualflow.ops.array.creation import range as range_, zeros_like
from dualflow.ops.array.join import concat, stack
from dualflow.ops.array.shape import ints, reshape
from dualflow.ops.array.slicing import reverse
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import equal, where
from dualflow.ops.elementwise.complex import complex as complex_, real
from dualflow.ops.elementwise.trigonometric import cos, sin
from dualflow.ops.signal.fourier import of_length, transform
from dualflow.ops.signal.spectrogram import Window, frame, overlap_and_add
from dualflow.ops.signal.windows import vorbis_window
from dualflow.ops.types import TensorLike

__all__ = ["dct", "idct", "inverse_mdct", "mdct"]

_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


def _floats(op: str, x: TensorLike) -> Tensor:
    a = as_tensor(x, None, op)
    if a.dtype.is_complex:
        raise DTypeError(f"{op}: {a.dtype.name}, expected real numbers; see df.math.real")
    if a.ndim < 1:
        raise ShapeError(f"{op}: shape (), expected at least 1 dimension")
    return a if a.dtype is dtypes.float64 else cast(a, dtypes.float32)


def _quarter_turns(x: Tensor, n: Any, sign: int) -> Tensor:
    """Return ``exp(sign i pi k / 2n)`` for k < n, in the complex dtype of real numbers x."""
    angle = cast(range_(n), dtypes.float64) / (2 * n) * math.pi
    made = complex_(cos(angle), sign * sin(angle))
    return cast(made, dtypes.complex128 if x.dtype is dtypes.float64 else dtypes.complex64)


def _complexed(x: Tensor) -> Tensor:
    return complex_(x, zeros_like(x))


def _first(x: Tensor) -> Tensor:
    """Return the unscaled transform of type 1: half of the transform of the even extension."""
    n = x.shape[-1]
    if n < 2:
        raise InvalidArgumentError("dct: type 1 requires at least 2 numbers, got 1")
    even = concat([x, reverse(x[..., 1:-1], [-1])], -1)
    return real(transform(_complexed(even), even.ndim - 1, False))[..., :n]


def _second(x: Tensor) -> Tensor:
    """Return the unscaled transform of type 2 from a Fourier transform of the same length
    (J. Makhoul, "A fast cosine transform in one and two dimensions", 1980)."""
    order = concat([x[..., ::2], reverse(x[..., 1::2], [-1])], -1)
    made = transform(_complexed(order), x.ndim - 1, False)
    return 2 * real(made * _quarter_turns(x, x.shape[-1], -1))


def _third(x: Tensor) -> Tensor:
    """Return the unscaled transform of type 3: 2 n times the inverse of `_second`."""
    n = x.shape[-1]
    back = concat([zeros_like(x[..., :1]), reverse(x[..., 1:], [-1])], -1)
    made = real(transform(complex_(x, -back) * _quarter_turns(x, n, 1), x.ndim - 1, True,
                          "forward"))
    first, second = made[..., :(n + 1) // 2], reverse(made[..., (n + 1) // 2:], [-1])
    both = stack([first, of_length(second, x.ndim - 1, (n + 1) // 2)], -1)
    return reshape(both, [*both.shape[:-2], -1])[..., :n]


def _fourth(x: Tensor) -> Tensor:
    return _second(of_length(x, x.ndim - 1, 2 * x.shape[-1]))[..., 1::2]


def _root(n: Any, power: float, like: Tensor) -> Tensor:
    return cast(cast(as_tensor(n, dtypes.int64), dtypes.float64) ** power, like.dtype)


def _ends(n: Any, first: float, like: Tensor) -> Tensor:
    """Return `first` and n - 1 ones."""
    one = as_tensor(1., dtypes.float64)
    return cast(where(equal(range_(n), 0), one * first, one), like.dtype)


def dct(input: TensorLike, type: int = 2, n: int | None = None, axis: int = -1,
        norm: str | None = None, name: str | None = None) -> Tensor:
    """Return the discrete cosine transform of type 1, 2, 3 or 4 along the last dimension.

    Parameters
    ----------
    input : Tensor, real, shape (..., m)
    type : {1, 2, 3, 4}
        Result k is, with sums over j from 0 to n - 1,
        1: ``x[0] + (-1)**k x[n-1] + 2 sum of x[j] cos(pi j k / (n - 1))`` (0 < j < n - 1);
        2: ``2 sum of x[j] cos(pi k (2 j + 1) / 2n)``;
        3: ``x[0] + 2 sum of x[j] cos(pi j (2 k + 1) / 2n)`` (j > 0);
        4: ``2 sum of x[j] cos(pi (2 j + 1) (2 k + 1) / 4n)``.
    n : int, optional
        Number of points; the input is truncated or padded with zeros. By default m.
    axis : int
        -1.
    norm : {None, "ortho"}
        Whether types 2, 3 and 4 are scaled to orthonormal transforms.

    Returns
    -------
    Tensor, float32, or float64 like the input, shape (..., n)

    Raises
    ------
    InvalidArgumentError
        If `type`, `axis`, `norm` or `n` is another value, or for "ortho" with type 1.

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.dct([1., 2., 3.]).numpy().round(4).tolist()
    [12.0, -3.464099884033203, 0.0]
    """
    x = _floats("dct", input)
    if type not in _INVERSE:
        raise InvalidArgumentError(f"dct: type is {shown(type)}, expected 1, 2, 3 or 4")
    if axis not in (-1, x.ndim - 1):
        raise InvalidArgumentError(f"dct: axis is {axis}, expected -1")
    if norm not in (None, "ortho") or (norm and type == 1):
        raise InvalidArgumentError(f"dct: norm is {shown(norm)} for type {type}, expected None"
                                   f"{' or ' + repr('ortho') if type != 1 else ''}")
    if n is not None:
        size, = ints(n, "dct: n")
        if not size >= 1:
            raise InvalidArgumentError(f"dct: n is {size}, expected at least 1")
        x = of_length(x, x.ndim - 1, size)
    points = x.shape[-1]
    if norm and type == 3:
        x = x * (_ends(points, math.sqrt(2), x) * _root(2 * points, -.5, x))
    y = (_first, _second, _third, _fourth)[type - 1](x)
    if norm and type == 2:
        y = y * (_ends(points, math.sqrt(.5), y) * _root(2 * points, -.5, y))
    if norm and type == 4:
        y = y * _root(2 * points, -.5, y)
    return y


def idct(input: TensorLike, type: int = 2, n: int | None = None, axis: int = -1,
         norm: str | None = None, name: str | None = None) -> Tensor:
    """Return the inverse of `dct`, times 2n without `norm` (type 1: times ``2 * (n - 1)``).

    Parameters are as in `dct`, whose types 1 and 4 are their own inverses; type 3 is the
    inverse of type 2.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.signal.dct([1., 2., 3.], norm="ortho")
    >>> df.signal.idct(x, norm="ortho").numpy().round(4).tolist()
    [1.0, 2.0, 3.0]
    """
    if type not in _INVERSE:
        raise InvalidArgumentError(f"idct: type is {shown(type)}, expected 1, 2, 3 or 4")
    return dct(input, _INVERSE[type], n, axis, norm, name)


# --- lapped transforms ---------------------------------------------------------------------------


def mdct(signals: TensorLike, frame_length: int, window_fn: Window | None = vorbis_window,
         pad_end: bool = False, norm: str | None = None, name: str | None = None) -> Tensor:
    """Return the modified discrete cosine transform of frames that overlap by half.

    Parameters
    ----------
    signals : Tensor, real, shape (..., samples)
    frame_length : int
        A multiple of 4.
    window_fn : callable, optional
        ``window_fn(frame_length, dtype=...)`` returns the weights of a frame; None means the
        weights ``sqrt(0.5)``.
    pad_end : bool
        Whether the last frame may extend past the end, padded with zeros.
    norm : {None, "ortho"}

    Returns
    -------
    Tensor, float32, or float64 like `signals`, shape (..., frames, frame_length // 2)

    Raises
    ------
    InvalidArgumentError
        If `frame_length` is not a multiple of 4.

    Notes
    -----
    J. Princen, A. Johnson and A. Bradley, "Subband/transform coding using filter bank designs based
    on time domain aliasing cancellation", 1987.

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.mdct(df.ones([16]), 8).shape
    (3, 4)
    """
    x = _floats("mdct", signals)
    length, = ints(frame_length, "mdct: frame_length")
    if length < 4 or length % 4:
        raise InvalidArgumentError(f"mdct: frame_length is {length}, expected a multiple of 4")
    frames = frame(x, length, length // 2, pad_end)
    frames = frames * (math.sqrt(.5) if window_fn is None else window_fn(length, dtype=x.dtype))
    quarter = length // 4
    a, b, c, d = [frames[..., k * quarter:(k + 1) * quarter] for k in range(4)]
    folded = concat([-reverse(c, [-1]) - d, a - reverse(b, [-1])], -1)
    return dct(folded, 4, norm=norm, name=name)


def inverse_mdct(mdcts: TensorLike, window_fn: Window | None = vorbis_window,
                 norm: str | None = None, name: str | None = None) -> Tensor:
    """Return the signal of a given `mdct`, exact except for the first and the last half frame.

    Parameters
    ----------
    mdcts : Tensor, real, shape (..., frames, n)
    window_fn, norm
        As in `mdct`.

    Returns
    -------
    Tensor, shape (..., (frames + 1) * n)

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.inverse_mdct(df.signal.mdct(df.ones([16]), 8))[4:8].numpy().round(4).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    x = _floats("inverse_mdct", mdcts)
    n = x.shape[-1]
    y = dct(x, 4, norm=norm)
    if norm is None:
        y = y * cast(.5 / cast(as_tensor(n, dtypes.int64), dtypes.float64), y.dtype)
    first, second = y[..., :n // 2], y[..., n // 2:]
    frames = concat([second, -reverse(second, [-1]), -reverse(first, [-1]), -first], -1)
    frames = frames * (math.sqrt(.5) if window_fn is None else window_fn(2 * n, dtype=y.dtype))
    return overlap_and_add(frames, n, name=name)
