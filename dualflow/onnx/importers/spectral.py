"""Fourier transforms, whose complex numbers are pairs in the last dimension."""

from __future__ import annotations

import dualflow as df
from dualflow.onnx.importers.registry import Node, axis_of, number, operator, tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@operator("DFT")
def _(node: Node, x, length=None, axis=None):
    """Transform along an axis; the last dimension holds real values or (real, imaginary) pairs."""
    x = tensor(x)
    which = node("axis", 1) if node.version < 20 else (-2 if axis is None else number(axis))
    which = axis_of(which, x)
    inverse, onesided = bool(node("inverse", 0)), bool(node("onesided", 0))
    if inverse and onesided:
        n = 2 * (x.shape[which] - 1) if length is None else number(length)
        return df.cast(df.signal.irfftnd(_joined(x), [n], [which])[..., None], x.dtype)
    n = x.shape[which] if length is None else number(length)
    return transformed(x, which, n, inverse, onesided)


def _joined(x: Any) -> Any:
    """Return the real values or pairs in the last dimension as real or complex numbers."""
    x = x if x.dtype is df.float64 else df.cast(x, df.float32)
    return x[..., 0] if x.shape[-1] == 1 else df.complex(x[..., 0], x[..., 1])


def transformed(x: Any, axis: int, n: int, inverse: bool, onesided: bool) -> Any:
    """Return the transform of length n along an axis as pairs; `onesided` omits the symmetric
    part."""
    y = _joined(x)
    if inverse:
        y = df.signal.ifftnd(y, [n], [axis])
    elif onesided and not y.dtype.is_complex:
        y = df.signal.rfftnd(y, [n], [axis])
    else:
        y = df.signal.fftnd(y, [n], [axis])
        if onesided:
            y = df.gather(y, df.range(n // 2 + 1), axis=axis)
    return df.cast(df.stack([df.math.real(y), df.math.imag(y)], -1), x.dtype)


@operator("STFT")
def _(node: Node, signal, step, window=None, length=None):
    """Transform sliding windows of a signal of shape (batch, time, 1 or 2)."""
    signal, hop = tensor(signal), number(step)
    n = tensor(window).shape[0] if length is None else number(length)
    frames = (signal.shape[1] - n) // hop + 1
    places = df.expand_dims(df.range(frames) * hop, 1) + df.range(n)
    cut = df.gather(signal, places, axis=1)         # (batch, frames, n, 1 or 2)
    if window is not None:
        cut = cut * df.reshape(window, [n, 1])
    return transformed(cut, 2, n, False, bool(node("onesided", 1)))


@operator("MelWeightMatrix")
def _(node: Node, bins, length, rate, low, high):
    """Return (length // 2 + 1, bins): triangular filters between neighbours on the mel scale."""
    import numpy as np

    bins, length, rate = number(bins), number(length), number(rate)
    edges = [2595 * np.log10(1 + number(f) / 700) for f in (low, high)]
    mel = np.arange(bins + 2) * (edges[1] - edges[0]) / (bins + 2) + edges[0]
    places = ((length + 1) * 700 * (10 ** (mel / 2595) - 1) // rate).astype("int64")
    k = np.arange(length // 2 + 1)[:, None]
    left, centre, right = places[:-2], places[1:-1], places[2:]
    up = np.where(left == centre, k == centre, (k - left) / np.maximum(centre - left, 1))
    down = (right - k) / np.maximum(right - centre, 1)
    table = np.where((k >= left) & (k <= centre), up, 0)
    table = np.where((k >= centre) & (k < right), down, table)
    return df.constant(table, node.dtype("output_datatype") or df.float32)
