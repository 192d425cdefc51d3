"""Resize and Upsample: each axis is multiplied by a weight matrix computed from its sizes."""

from __future__ import annotations

import dualflow as df
from dualflow._core import Dim
from dualflow.onnx.importers.registry import Node, axis_of, ints, operator, tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@operator("Resize", "Upsample")
def _(node: Node, x, roi=None, scales=None, sizes=None):
    x = tensor(x)
    if node.kind == "Upsample" or node.version < 11:
        scales, roi = (roi if roi is not None else node("scales")), None
    axes = [axis_of(k, x) for k in node("axes", range(x.ndim))]
    if any([isinstance(x.shape[k], Dim) for k in axes if k > 1]):
        raise node.refuse("images of unknown size")
    wanted = None if sizes is None else ints(sizes)
    factors = None if wanted is not None else ints(scales)
    if wanted is not None:
        wanted, factors = _kept_ratio(node, [x.shape[k] for k in axes], wanted)
    corners = None if roi is None else ints(roi)
    for k, axis in enumerate(axes):
        n = x.shape[axis]
        factor = factors[k] if factors is not None else None
        m = wanted[k] if wanted is not None else int(n * factor)
        if isinstance(n, Dim) or (m == n and corners is None and factor in (1, None)):
            continue
        factor = m / n if factor is None else factor
        crop = None if not corners else (corners[k], corners[len(axes) + k])
        x = _along(node, x, axis, m, factor, crop)
    return df.identity(x)


def _kept_ratio(node: Node, have: Any, wanted: Any) -> tuple[list[int], list[float]]:
    """Return the sizes after the aspect-ratio policy, and their scale factors."""
    how, pairs = node("keep_aspect_ratio_policy", "stretch"), list(zip(wanted, have, strict=True))
    if how == "stretch":
        return wanted, [m / n for m, n in pairs]
    factor = (min if how == "not_larger" else max)([m / n for m, n in pairs])
    return [int(factor * n + 0.5) for n in have], [factor] * len(pairs)


def _along(node: Node, x: Any, axis: int, m: int, factor: float, crop: Any) -> Any:
    """Resize an axis to m elements."""
    import numpy as np

    n = x.shape[axis]
    mode = node("coordinate_transformation_mode",
                "half_pixel" if node.version >= 11 and node.kind == "Resize" else "asymmetric")
    places = _places(np, mode, n, m, factor, crop, node("scales") is None)
    outside = (places < 0) | (places > n - 1) if mode == "tf_crop_and_resize" else None
    if node("mode", "nearest") == "nearest":
        rows = _nearest(np, node("nearest_mode", "round_prefer_floor") if node.version >= 11
                        else "floor", places)
        y = df.gather(x, df.constant(np.clip(rows, 0, n - 1), df.int64), axis=axis)
    else:
        table = _weights(np, node, places, n, factor)
        dtype = x.dtype if x.dtype.is_floating and x.dtype.itemsize > 2 else df.float32
        last = [*[k for k in range(x.ndim) if k != axis], axis]
        y = df.matmul(df.cast(df.transpose(x, last), dtype), df.constant(table.T, dtype))
        y = df.transpose(y, [last.index(k) for k in range(x.ndim)])
        y = df.round(y) if x.dtype.is_integer else y
        y = df.cast(y, x.dtype)
    if outside is None or not outside.any():
        return y
    hidden = df.reshape(df.constant(outside), [m if k == axis else 1 for k in range(x.ndim)])
    return df.where(hidden, df.cast(node("extrapolation_value", 0.0), y.dtype), y)


def _places(np: Any, mode: str, n: int, m: int, factor: float, crop: Any, plain: bool) -> Any:
    """Return the positions of the m output pixels among the n input pixels."""
    i = np.arange(m, dtype="float64")
    length = factor * n
    if mode == "align_corners":
        return i * (n - 1) / (length - 1) if length != 1 else i * 0
    if mode == "asymmetric":
        return i / factor
    if mode == "tf_crop_and_resize":
        a, b = crop
        if length == 1:
            return i * 0 + (b - a) * (n - 1) / 2
        return a * (n - 1) + i * (b - a) * (n - 1) / (length - 1)
    if mode == "pytorch_half_pixel" and length == 1:
        return i * 0 - 0.5
    if mode == "tf_half_pixel_for_nn":
        return (i + 0.5) / factor
    if mode == "half_pixel_symmetric":
        return n / 2 * (1 - m / length) + (i + 0.5) / factor - 0.5
    return (i + 0.5) / factor - 0.5


def _nearest(np: Any, how: str, places: Any) -> Any:
    if how == "round_prefer_floor":
        return np.ceil(places - 0.5)
    if how == "round_prefer_ceil":
        return np.floor(places + 0.5)
    return np.floor(places) if how == "floor" else np.ceil(places)


def _weights(np: Any, node: Node, places: Any, n: int, factor: float) -> Any:
    """Return (m, n): the weight of each input pixel in each output pixel."""
    linear = node("mode") == "linear"
    radius = 1 if linear else 2
    shrink = min(factor, 1.0) if node("antialias", 0) else 1.0
    a = node("cubic_coeff_a", -0.75)
    reach = int(np.ceil(radius / shrink))
    first = np.floor(places).astype("int64") - reach
    near = first[:, None] + np.arange(2 * reach + 2)
    d = np.abs((places[:, None] - near) * shrink)
    if linear:
        w = np.clip(1 - d, 0, None)
    else:
        inner = ((a + 2) * d - (a + 3)) * d * d + 1
        outer = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
        w = np.where(d <= 1, inner, np.where(d < 2, outer, 0))
    if node("exclude_outside", 0):
        w = np.where((near < 0) | (near >= n), 0, w)
    w = w / w.sum(1, keepdims=True)
    table = np.zeros((len(places), n))
    rows = np.broadcast_to(np.arange(len(places))[:, None], near.shape)
    np.add.at(table, (rows, np.clip(near, 0, n - 1)), w)      # outside, the edge repeats
    return table
