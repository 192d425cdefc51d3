"""Fourier transforms on NumPy's pocketfft. Keras passes complex numbers as pairs of tensors."""

import math
from typing import Any

import numpy as np

import dualflow as df
from dualflow.keras.src.ops.convert import convert_to_tensor, floating


def _transformed(real: df.Tensor, imag: df.Tensor, forward: bool) -> Any:
    x = real.numpy() + 1j * imag.numpy()
    found = np.fft.fft(x) if forward else np.fft.ifft(x, norm="forward")
    return [np.asarray(part, real.dtype.name) for part in (found.real, found.imag)]


# The sum over n of x[n] e^(-+ 2 pi i k n / N), along the last axis. What flows back goes through
# the other one of the two.
transform: Any = df.register_op(
    "fourier", _transformed, infer=lambda real, imag, forward: [real, imag],
    gradient=lambda g, y, real, imag, forward: transform(*g, forward=not forward))


def _pair(x: Any) -> tuple[df.Tensor, df.Tensor]:
    if not isinstance(x, tuple | list) or len(x) != 2:
        raise ValueError("Input `x` should be a tuple of two tensors - real and imaginary."
                         f"Received: x={x}")
    real, imag = map(convert_to_tensor, x)
    if tuple(real.shape) != tuple(imag.shape):
        raise ValueError("Input `x` should be a tuple of two tensors - real and imaginary. Both "
                         "the real and imaginary parts should have the same shape. Received: "
                         f"x[0].shape = {real.shape}, x[1].shape = {imag.shape}")
    if not (real.dtype.is_floating and imag.dtype.is_floating):
        raise ValueError("At least one tensor in input `x` is not of type float. "
                         f"Received: x={x}.")
    return _wide(real), _wide(imag)


def _wide(x: df.Tensor) -> df.Tensor:
    return df.cast(x, df.float32) if x.dtype.itemsize == 2 else x


def _swapped(pair: Any) -> Any:
    """The last two axes exchanged."""
    n = pair[0].ndim
    return [df.transpose(p, [*range(n - 2), n - 1, n - 2]) for p in pair]


def fft(x):
    return tuple(transform(*_pair(x), forward=True))


def fft2(x):
    rows = transform(*_pair(x), forward=True)
    return tuple(_swapped(transform(*_swapped(rows), forward=True)))


def ifft2(x):
    rows = transform(*_pair(x), forward=False)
    real, imag = _swapped(transform(*_swapped(rows), forward=False))
    count = real.shape[-1] * real.shape[-2]
    return real / count, imag / count


def _of_length(x: df.Tensor, n: Any) -> df.Tensor:
    """`x` cut, or filled with zeros, along its last axis."""
    if x.shape[-1] >= n:
        return x[..., :n]
    return df.pad(x, [[0, 0]] * (x.ndim - 1) + [[0, n - x.shape[-1]]])


def rfft(x, fft_length=None):
    x = _wide(floating(x))
    n = x.shape[-1] if fft_length is None else fft_length
    x = _of_length(x, n)
    real, imag = transform(x, df.zeros_like(x), forward=True)
    return real[..., :n // 2 + 1], imag[..., :n // 2 + 1]


def irfft(x, fft_length=None):
    real, imag = _pair(x)
    n = 2 * (real.shape[-1] - 1) if fft_length is None else fft_length
    real, imag = (_of_length(p, n // 2 + 1) for p in (real, imag))
    other = n - n // 2                              # the rest is the conjugate of those before
    real = df.concat([real, df.reverse(real[..., 1:other], [-1])], -1)
    imag = df.concat([imag, -df.reverse(imag[..., 1:other], [-1])], -1)
    return transform(real, imag, forward=False)[0] / n


# --- short times ---

def _window(window: Any, length: int, fft_length: int, dtype: df.DType) -> df.Tensor:
    """The window of a sequence, in the middle of zeros."""
    if window is None:
        return df.ones((fft_length,), dtype)
    if isinstance(window, str):
        if window not in ("hann", "hamming"):
            raise ValueError("If a string is passed to `window`, it must be one of `\"hann\"`, "
                             f"`\"hamming\"`. Received: window={window}")
        low = 0.5 if window == "hann" else 0.54
        turn = df.cast(df.range(length), dtype) * (2 * math.pi / length)
        window = low - (1 - low) * df.cos(turn)
    window = convert_to_tensor(window, dtype)
    if window.ndim != 1 or window.shape[0] != length:
        raise ValueError("The shape of `window` must be equal to [sequence_length]. Received: "
                         f"window shape={window.shape}")
    before = (fft_length - length) // 2
    return df.pad(window, [[before, fft_length - length - before]])


def _starts(count: Any, stride: int, length: int) -> df.Tensor:
    return df.expand_dims(df.range(count) * stride, 1) + df.range(length)


def stft(x, sequence_length, sequence_stride, fft_length, window="hann", center=True):
    x = convert_to_tensor(x)
    if x.dtype not in (df.float32, df.float64):
        raise TypeError("Invalid input type. Expected `float32` or `float64`. "
                        f"Received: input type={x.dtype}")
    if fft_length < sequence_length:
        raise ValueError("`fft_length` must equal or larger than `sequence_length`. Received: "
                         f"sequence_length={sequence_length}, fft_length={fft_length}")
    weights = _window(window, sequence_length, fft_length, x.dtype)
    if center:
        x = df.pad(x, [[0, 0]] * (x.ndim - 1) + [[fft_length // 2] * 2], "REFLECT")
    count = 1 + (x.shape[-1] - fft_length) // sequence_stride
    parts = df.gather(x, _starts(count, sequence_stride, fft_length), axis=x.ndim - 1)
    return rfft(parts * weights)


def istft(x, sequence_length, sequence_stride, fft_length, length=None, window="hann", center=True):
    parts = irfft(x, fft_length)
    if parts.ndim < 2:
        raise ValueError("Input `x` must have at least 2 dimensions. Received shape: "
                         f"{parts.shape}")
    count = parts.shape[-2]
    total = fft_length + sequence_stride * (count - 1)
    at = df.reshape(_starts(count, sequence_stride, fft_length), (-1,))
    if window is not None:
        weights = _window(window, sequence_length, fft_length, parts.dtype)
        parts = parts * (weights / _overlapping(weights * weights, sequence_stride))
    batch = parts.shape[:-2]
    flat = df.transpose(df.reshape(parts, (-1, count * fft_length)))
    made = df.transpose(df.math.unsorted_segment_sum(flat, at, total))
    made = df.reshape(made, (*batch, total))
    start = fft_length // 2 if center else 0
    stop = start + length if length is not None else total - fft_length // 2 if center else total
    return made[..., start:stop]


def _overlapping(x: df.Tensor, stride: int) -> df.Tensor:
    """At each place, the sum of what all sequences that overlap there have."""
    n = x.shape[0]
    times = -(-n // stride)
    rows = df.reshape(df.pad(x, [[0, times * stride - n]]), (times, stride))
    return df.tile(df.reduce_sum(rows, 0), [times])[:n]
