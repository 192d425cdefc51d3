"""Short-time Fourier transforms: framing and overlap-add."""

from collections.abc import Callable
from typing import Any

from dualflow import dtypes
from dualflow._core import Tensor, as_tensor
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.ops.array.creation import range as range_
from dualflow.ops.array.padding import pad
from dualflow.ops.array.shape import expand_dims, one_size, product, reshape, static_shape
from dualflow.ops.array.slicing import tile
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.complex import check_real
from dualflow.ops.indexing.gather import gather, gather_grad
from dualflow.ops.reduction.reduce import reduce_sum
from dualflow.ops.signal.real_fourier import irfft, rfft
from dualflow.ops.signal.windows import hann_window
from dualflow.ops.types import DTypeLike, TensorLike

__all__ = ["frame", "inverse_stft", "inverse_stft_window_fn", "overlap_and_add", "stft"]

Window = Callable[..., Any]


# --- frames --------------------------------------------------------------------------------------


def positive(op: str, **given: Any) -> list[int]:
    found = [one_size(value, f"{op}: {name}") for name, value in given.items()]
    for name, value in zip(given, found, strict=True):
        if value < 1:
            raise InvalidArgumentError(f"{op}: {name} is {value}, expected at least 1")
    return found


def _places(count: Any, length: int, step: int) -> Tensor:
    """Return the index in the signal of each element of each frame."""
    return expand_dims(range_(count) * step, -1) + range_(length)


def frame(signal: TensorLike, frame_length: int, frame_step: int, pad_end: bool = False,
          pad_value: TensorLike = 0, axis: int = -1, name: str | None = None) -> Tensor:
    """Split a signal into frames, one every `frame_step` elements.

    Parameters
    ----------
    signal : Tensor, shape (..., samples, ...)
    frame_length, frame_step : int
    pad_end : bool
        Whether to include frames that extend past the end, padded with `pad_value`.
    pad_value : scalar
    axis : int
        The dimension of samples.

    Returns
    -------
    Tensor, shape (..., frames, frame_length, ...)

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.frame([1, 2, 3, 4, 5], 3, 2).tolist()
    [[1, 2, 3], [3, 4, 5]]
    """
    x = as_tensor(signal, None, "frame")
    length, step = positive("frame", frame_length=frame_length, frame_step=frame_step)
    if not -x.ndim <= axis < x.ndim:
        raise InvalidArgumentError(f"frame: axis is {axis}, signal has {x.ndim} dimensions")
    axis %= x.ndim
    samples = static_shape(x)[axis]
    if pad_end:
        count = -(-samples // step)
        beyond = [[0, 0]] * x.ndim
        beyond[axis] = [0, length]
        x = pad(x, beyond, constant_values=cast(pad_value, x.dtype))
    else:
        count = max((samples - length) // step + 1, 0)
    return gather(x, _places(count, length, step), axis=axis, name=name)


def overlap_and_add(signal: TensorLike, frame_step: int, name: str | None = None) -> Tensor:
    """Add overlapping frames at intervals of `frame_step` elements.

    Parameters
    ----------
    signal : Tensor, floating, shape (..., frames, frame_length)
    frame_step : int

    Returns
    -------
    Tensor, shape (..., (frames - 1) * frame_step + frame_length)

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.overlap_and_add([[1., 2., 3.], [10., 20., 30.]], 2).tolist()
    [1.0, 2.0, 13.0, 20.0, 30.0]
    """
    x = as_tensor(signal, None, "overlap_and_add")
    if x.ndim < 2:
        raise ShapeError(f"overlap_and_add: shape {tuple(x.shape)}, expected frames in the last "
                         "two dimensions")
    step, = positive("overlap_and_add", frame_step=frame_step)
    *batch, count, length = static_shape(x)
    shape = (product(batch), (count - 1) * step + length)
    flat = gather_grad(reshape(x, (shape[0], count, length)), _places(count, length, step), shape,
                       1, 0)
    return reshape(flat, (*batch, shape[1]), name=name)


# --- transforms ----------------------------------------------------------------------------------


def stft(signals: TensorLike, frame_length: int, frame_step: int, fft_length: int | None = None,
         window_fn: Window | None = hann_window, pad_end: bool = False,
         name: str | None = None) -> Tensor:
    """Return the short-time Fourier transform: the `rfft` of each weighted frame.

    Parameters
    ----------
    signals : Tensor, floating, shape (..., samples)
    frame_length, frame_step : int
    fft_length : int, optional
        By default the smallest power of 2 that is at least `frame_length`.
    window_fn : callable, optional
        ``window_fn(frame_length, dtype=...)`` returns the weights; None means no weights.
    pad_end : bool
        Whether frames may extend past the end, padded with zeros.

    Returns
    -------
    Tensor, complex, shape (..., frames, fft_length // 2 + 1)

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.stft(df.ones([8]), 4, 2).shape
    (3, 3)
    """
    x = check_real("stft", signals, "signals")
    length, _ = positive("stft", frame_length=frame_length, frame_step=frame_step)
    points = 1 << (length - 1).bit_length() if fft_length is None else fft_length
    frames = frame(x, length, frame_step, pad_end)
    if window_fn is not None:
        frames = frames * window_fn(length, dtype=x.dtype)
    return rfft(frames, [points], name=name)


def inverse_stft(stfts: TensorLike, frame_length: int, frame_step: int,
                 fft_length: int | None = None, window_fn: Window | None = hann_window,
                 name: str | None = None) -> Tensor:
    """Return the signal of a given `stft`: the sum of the weighted frames.

    Parameters
    ----------
    stfts : Tensor, complex, shape (..., frames, fft_length // 2 + 1)
    frame_length, frame_step, fft_length
        As in `stft`.
    window_fn : callable, optional
        As in `stft`. `inverse_stft_window_fn` returns the window that reconstructs the signal, for
        the step and window of the transform.

    Returns
    -------
    Tensor, shape (..., samples)

    Examples
    --------
    >>> import dualflow as df
    >>> stfts = df.signal.stft(df.ones([8]), 4, 2)
    >>> window = df.signal.inverse_stft_window_fn(2)
    >>> df.signal.inverse_stft(stfts, 4, 2, window_fn=window)[2:6].numpy().round(4).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    length, _ = positive("inverse_stft", frame_length=frame_length, frame_step=frame_step)
    points = 1 << (length - 1).bit_length() if fft_length is None else fft_length
    frames = irfft(stfts, [points])[..., :length]
    if int(points) < length:
        frames = pad(frames, [[0, 0]] * (frames.ndim - 1) + [[0, length - int(points)]])
    if window_fn is not None:
        frames = frames * window_fn(length, dtype=frames.dtype)
    return overlap_and_add(frames, frame_step, name=name)


def inverse_stft_window_fn(frame_step: int, forward_window_fn: Window = hann_window,
                           name: str | None = None) -> Window:
    """Return the window with which `inverse_stft` inverts `stft`: the window of `stft` divided by
    the sum of the squares of all windows that overlap at an element.

    Parameters
    ----------
    frame_step : int
    forward_window_fn : callable
        The `window_fn` of `stft`.

    Returns
    -------
    callable
        ``f(frame_length, dtype)`` returns a Tensor.

    Notes
    -----
    D. Griffin and J. Lim, "Signal estimation from modified short-time Fourier transform", 1984.

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.inverse_stft_window_fn(2)(4, df.float32).tolist()
    [0.0, 1.0, 1.0, 1.0]
    """
    step, = positive("inverse_stft_window_fn", frame_step=frame_step)

    def window(frame_length: int, dtype: DTypeLike = dtypes.float32) -> Tensor:
        forward = forward_window_fn(frame_length, dtype=dtype)
        length = one_size(frame_length, "inverse_stft_window_fn: frame_length")
        count = -(-length // step)
        squares = pad(forward * forward, [[0, count * step - length]])
        total = tile(reduce_sum(reshape(squares, (count, step)), 0), [count])[:length]
        made: Tensor = forward / total
        return made

    return window
