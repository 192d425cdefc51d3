"""Fourier transforms as products with cosine and sine matrices."""

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
        return _real(x, which, n)
    n = x.shape[which] if length is None else number(length)
    return transformed(x, which, n, inverse, onesided)


def _table(n: int, rows: int, columns: int) -> tuple[Any, Any]:
    """Return the cosines and sines of the angles 2 pi j k / n."""
    import numpy as np

    angle = 2 * np.pi / max(n, 1) * (np.outer(np.arange(rows), np.arange(columns)) % max(n, 1))
    return np.cos(angle), np.sin(angle)


def _of_length(x: Any, axis: int, n: int) -> Any:
    """Truncate an axis to length n, or pad it with zeros."""
    have = x.shape[axis]
    if have > n:
        return x[tuple([slice(0, n) if k == axis else slice(None) for k in range(x.ndim)])]
    return df.pad(x, [[0, n - have if k == axis else 0] for k in range(x.ndim)])


def _along(parts: list[Any], axis: int, product: Any) -> Any:
    """Apply `product` to the real or complex parts with an axis moved to the end."""
    n = parts[0].ndim
    last = [*[k for k in range(n) if k != axis], axis]
    made = product(*[df.transpose(p, last) for p in parts])
    return df.stack([df.transpose(y, [last.index(k) for k in range(n)]) for y in made], -1)


def transformed(x: Any, axis: int, n: int, inverse: bool, onesided: bool) -> Any:
    """Return the transform of length n along an axis; `onesided` omits the symmetric part."""
    x = _of_length(x, axis, n)
    cos, sin = [df.constant(t, x.dtype) for t in _table(n, n, n // 2 + 1 if onesided else n)]
    sin = sin if inverse else -sin
    share = 1 / n if inverse else 1.0

    def product(real: Any, imaginary: Any = None) -> list[Any]:
        y = [df.matmul(real, cos), df.matmul(real, sin)]
        if imaginary is not None:
            y = [y[0] - df.matmul(imaginary, sin), y[1] + df.matmul(imaginary, cos)]
        return [part * share for part in y] if inverse else y

    return _along([x[..., k] for k in range(x.shape[-1])], axis, product)


def _real(x: Any, axis: int, n: int) -> Any:
    """Return the n real values whose one-sided transform is x."""
    import numpy as np

    half = n // 2 + 1
    x = _of_length(x, axis, half)
    k = np.arange(half)[:, None]
    share = np.where((k == 0) | (2 * k == n), 1, 2) / n     # the other terms occur twice
    cos, sin = [df.constant(t * share, x.dtype) for t in _table(n, half, n)]
    return _along([x[..., 0], x[..., 1]], axis,
                  lambda real, imaginary: [df.matmul(real, cos) - df.matmul(imaginary, sin)])


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
