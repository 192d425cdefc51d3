"""Fourier transforms. Keras passes complex values as pairs of tensors."""

import math
from typing import Any

import dualflow as df
from dualflow.keras.src.ops.convert import convert_to_tensor, floating, tensors


def _joined(x: Any) -> df.Tensor:
    """Return a pair of tensors as a complex tensor."""
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
    real, imag = tensors(real, imag)
    if real.dtype not in (df.float32, df.float64):
        real, imag = df.cast(real, df.float32), df.cast(imag, df.float32)
    return df.complex(real, imag)


def _pair(x: df.Tensor) -> tuple[df.Tensor, df.Tensor]:
    return df.math.real(x), df.math.imag(x)


def fft(x: Any) -> Any:
    return _pair(df.signal.fft(_joined(x)))


def fft2(x: Any) -> Any:
    return _pair(df.signal.fft2d(_joined(x)))


def ifft2(x: Any) -> Any:
    return _pair(df.signal.ifft2d(_joined(x)))


def rfft(x: Any, fft_length: Any = None) -> Any:
    return _pair(df.signal.rfft(floating(x), fft_length))


def irfft(x: Any, fft_length: Any = None) -> Any:
    return df.signal.irfft(_joined(x), fft_length)


# --- short-time transforms ---

def _window(window: Any, length: int, fft_length: int, dtype: df.DType) -> df.Tensor:
    """Return the window of a sequence, centred in zeros of length `fft_length`."""
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


def stft(x: Any, sequence_length: Any, sequence_stride: Any, fft_length: Any,
         window: Any = "hann", center: Any = True) -> Any:
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


def istft(x: Any, sequence_length: Any, sequence_stride: Any, fft_length: Any, length: Any = None,
          window: Any = "hann", center: Any = True) -> Any:
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
    """Return at each position the sum over the sequences that overlap there."""
    n = x.shape[0]
    times = -(-n // stride)
    rows = df.reshape(df.pad(x, [[0, times * stride - n]]), (times, stride))
    return df.tile(df.reduce_sum(rows, 0), [times])[:n]
