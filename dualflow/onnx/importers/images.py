"""Operators that sample images at coordinates, and Col2Im."""

from __future__ import annotations

from functools import reduce
from itertools import product

import dualflow as df
from dualflow.onnx.importers.registry import Node, ints, operator, tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CUBIC = -0.75                       # coefficient of GridSample's cubic kernel


@operator("GridSample")
def _(node: Node, x, grid):
    """Interpolate at each position, dimension by dimension; a grid lists the last one first."""
    x, grid = tensor(x), tensor(grid)
    n = x.ndim - 2
    sizes = list(x.shape[2:])
    aligned, padding = bool(node("align_corners", 0)), node("padding_mode", "zeros")
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(node("mode", "linear"),
                                                           node("mode", "linear"))
    last = df.transpose(x, [0, *range(2, n + 2), 1])
    taps = []
    for k, size in enumerate(sizes):
        place = _place(grid[..., n - 1 - k], size, aligned)
        place = df.round(place) if mode == "nearest" else place
        taps.append(_taps(mode, _kept_inside(place, size, aligned, padding)))
    total: Any = None
    for chosen in product(*taps):
        weight: Any = 1.0
        where = []
        for (index, share), size in zip(chosen, sizes, strict=True):
            inside = df.logical_and(index >= 0, index <= size - 1)
            if padding == "zeros":
                share = df.where(inside, share, df.zeros_like(share))
            weight = weight * share
            index = _kept_inside(index, size, aligned, padding)
            where.append(df.cast(df.clip_by_value(index, 0., size - 1.), df.int64))
        picked = df.gather_nd(last, df.stack(where, -1), 1)
        part = picked * df.expand_dims(weight, -1)
        total = part if total is None else total + part
    return df.transpose(total, [0, n + 1, *range(1, n + 1)])


def _place(g: Any, size: Any, aligned: bool) -> Any:
    """Map [-1, 1] to pixel coordinates."""
    return (g + 1) * ((size - 1) / 2) if aligned else ((g + 1) * size - 1) / 2


def _kept_inside(place: Any, size: Any, aligned: bool, padding: str) -> Any:
    """Map outside positions into the image by the padding mode; "zeros" is handled later."""
    if padding == "border":
        return df.clip_by_value(place, 0., size - 1.)
    if padding != "reflection":
        return place
    low, high = (0., size - 1.) if aligned else (-0.5, size - 0.5)
    span = high - low
    if span == 0:
        return df.zeros_like(place)
    away = df.abs(place - low)
    turns = df.floor(away / span)
    rest = away - turns * span
    even = df.equal(df.math.floormod(turns, 2.), 0)
    mirrored = df.where(even, rest + low, high - rest)
    outside = df.logical_or(place < low, place > high)
    return df.where(outside, mirrored, place)


def _taps(mode: str, place: Any) -> list[tuple[Any, Any]]:
    """Return the pixels along one dimension, with their weights."""
    if mode == "nearest":
        return [(place, df.ones_like(place))]
    first = df.floor(place)
    t = place - first
    if mode == "linear":
        return [(first, 1 - t), (first + 1, t)]
    a = CUBIC
    near = [((a + 2) * d - (a + 3)) * d * d + 1 for d in (t, 1 - t)]
    far = [((a * d - 5 * a) * d + 8 * a) * d - 4 * a for d in (t + 1, 2 - t)]
    return [(first - 1, far[0]), (first, near[0]), (first + 1, near[1]), (first + 2, far[1])]


@operator("Col2Im")
def _(node: Node, x, image, block):
    """Add each column to its position in the image."""
    import numpy as np

    x, sizes, window = tensor(x), ints(image), ints(block)
    n = len(sizes)
    strides, dilations = node("strides", [1] * n), node("dilations", [1] * n)
    pads = node("pads", [0] * 2 * n)
    grown = [s + pads[k] + pads[n + k] for k, s in enumerate(sizes)]
    places = np.zeros([1] * 2 * n, "int64")         # window..., steps...
    for k in range(n):
        steps = (grown[k] - (window[k] - 1) * dilations[k] - 1) // strides[k] + 1
        own = np.arange(window[k])[:, None] * dilations[k] + np.arange(steps) * strides[k]
        shape = [1] * 2 * n
        shape[k], shape[n + k] = window[k], steps
        places = places * grown[k] + own.reshape(shape)
    batch, channels = x.shape[0], x.shape[1] // int(np.prod(window))
    rows = df.transpose(df.reshape(x, [batch, channels, -1]), [2, 0, 1])
    total = df.scatter_nd(df.constant(places.reshape(-1, 1), df.int64), rows,
                          [int(np.prod(grown)), batch, channels])
    y = df.reshape(df.transpose(total, [1, 2, 0]), [batch, channels, *grown])
    return y[(slice(None), slice(None), *[slice(pads[k], pads[k] + s)
                                         for k, s in enumerate(sizes)])]


@operator("DeformConv")
def _(node: Node, x, filters, offset, bias=None, mask=None):
    """Convolve with windows whose positions are shifted by offsets and sampled bilinearly."""
    x, filters = tensor(x), tensor(filters)
    n, groups, parts = x.ndim - 2, node("group", 1), node("offset_group", 1)
    window, steps, sizes = filters.shape[2:], offset.shape[2:], x.shape[2:]
    places = _window_places(node, window, steps)
    shape = [x.shape[0], parts, *window, n, *steps]
    offset = df.reshape(offset, shape)
    taps = []
    for k in range(n):
        moved = offset[(slice(None),) * (2 + n) + (k,)]             # batch, parts, window, steps
        place = moved + df.cast(places[k], x.dtype)
        taps.append([(i, df.where(df.logical_and(i >= 0, i <= sizes[k] - 1), w, df.zeros_like(w)))
                     for i, w in _taps("linear", place)])
    channels = x.shape[1] // parts
    last = df.reshape(x, [x.shape[0], parts, channels, *sizes])
    last = df.transpose(last, [0, 1, *range(3, 3 + n), 2])
    total: Any = None
    for chosen in product(*taps):
        where = [df.cast(df.clip_by_value(i, 0., size - 1.), df.int64)
                 for (i, _), size in zip(chosen, sizes, strict=True)]
        weight = reduce(lambda a, b: a * b, [w for _, w in chosen])
        weight = weight if mask is None else weight * df.reshape(mask, weight.shape)
        part = df.gather_nd(last, df.stack(where, -1), 2) * df.expand_dims(weight, -1)
        total = part if total is None else total + part
    # (batch, parts, window, steps, channels) to (groups, batch and steps, channels and window)
    axes = range(2, 2 + n), range(2 + n, 2 + 2 * n)
    total = df.transpose(total, [0, *axes[1], 1, 2 + 2 * n, *axes[0]])
    total = df.reshape(total, [x.shape[0], *steps, groups, x.shape[1] // groups * _product(window)])
    total = df.transpose(total, [n + 1, *range(n + 1), n + 2])
    rows = df.reshape(filters, [groups, filters.shape[0] // groups, -1])
    flat = df.reshape(total, [groups, -1, total.shape[-1]])
    y = df.reshape(df.matmul(flat, rows, transpose_b=True), [groups, x.shape[0], *steps,
                                                             filters.shape[0] // groups])
    y = df.transpose(y, [1, 0, n + 2, *range(2, n + 2)])
    y = df.reshape(y, [x.shape[0], filters.shape[0], *steps])
    return y if bias is None else y + df.reshape(bias, [-1] + [1] * n)


def _product(numbers: Any) -> Any:
    return reduce(lambda a, b: a * b, numbers, 1)


def _window_places(node: Node, window: Any, steps: Any) -> list[Any]:
    """Return for each dimension the positions of windows: window..., steps..."""
    n = len(window)
    strides, dilations = node("strides", [1] * n), node("dilations", [1] * n)
    pads, made = node("pads", [0] * 2 * n), []
    for k in range(n):
        own = df.expand_dims(df.range(window[k]) * dilations[k], 1) + (
            df.range(steps[k]) * strides[k] - pads[k])
        shape = [1] * 2 * n
        shape[k], shape[n + k] = window[k], steps[k]
        made.append(df.reshape(own, shape))
    return made
