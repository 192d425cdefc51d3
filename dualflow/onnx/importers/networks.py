"""Operators of convolution, pooling and normalisation. The layout is channels first."""

from __future__ import annotations

import dualflow as df
from dualflow.onnx.importers.registry import Node, in_float32, ints, operator, tensor, widened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

nn = df.nn
FORMATS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def pads_of(node: Node, sizes: Any, windows: Any, strides: Any, dilations: Any) -> list[list[Any]]:
    """Return (before, after) for each spatial dimension."""
    n, how = len(windows), node("auto_pad", "NOTSET")
    if how in ("NOTSET", "VALID"):
        given = node("pads", [0] * 2 * n) if how == "NOTSET" else [0] * 2 * n
        return [[given[k], given[n + k]] for k in range(n)]
    found = []
    for size, window, stride, dilation in zip(sizes, windows, strides, dilations, strict=True):
        reach = (window - 1) * dilation + 1
        total = (-(-size // stride) - 1) * stride + reach - size
        total = total if total > 0 else 0
        half = total // 2
        found.append([half, total - half] if how == "SAME_UPPER" else [total - half, half])
    return found


def _geometry(node: Node, windows: Any) -> tuple[list[int], list[int]]:
    n = len(windows)
    return node("strides", [1] * n), node("dilations", [1] * n)


def _bias(y: Any, bias: Any, n: int) -> Any:
    return y if bias is None else y + df.reshape(bias, [-1] + [1] * n)


@operator("Conv")
def _(node: Node, x, filters, bias=None):
    x, filters = tensor(x), tensor(filters)
    y = convolve(node, x, filters)
    return y + bias if node("bias_first") else _bias(y, bias, x.ndim - 2)


def convolve(node: Node, x: Any, filters: Any, zero: Any = None) -> Any:
    """Return a convolution; of 8-bit integers, in int32, if `zero` is the value of the padding."""
    n = x.ndim - 2
    if not node("filters_last"):        # this and "bias_first" are set by fold.py
        filters = df.transpose(filters, [*range(2, n + 2), 1, 0])
    windows = filters.shape[:n]
    strides, dilations = _geometry(node, windows)
    pads = pads_of(node, x.shape[2:], windows, strides, dilations)
    if n > 3:
        raise node.refuse(f"{n} spatial dimensions, at most 3 are supported")
    if n == 0:
        raise node.refuse("no spatial dimension")
    padding = [[0, 0], [0, 0], *pads]
    if zero is not None:
        return nn.conv_int32(x, filters, strides, padding, FORMATS[n], dilations, zero)
    return nn.convolution(x, filters, strides, padding, FORMATS[n], dilations)


@operator("ConvTranspose")
def _(node: Node, x, filters, bias=None):
    """Compute the full result, extend it by the output padding and crop it by the pads."""
    x, filters = tensor(x), tensor(filters)
    n, windows = x.ndim - 2, filters.shape[2:]
    strides, dilations = _geometry(node, windows)
    more, wanted = node("output_padding", [0] * n), node("output_shape")
    full = [(size - 1) * s + (k - 1) * d + 1
            for size, s, k, d in zip(x.shape[2:], strides, windows, dilations, strict=True)]
    channels = filters.shape[1] * node("group", 1)
    y = nn.conv_transpose(x, df.transpose(filters, [*range(2, n + 2), 1, 0]),
                          [x.shape[0], channels, *full], strides, "VALID", FORMATS[n], dilations)
    how = node("auto_pad", "NOTSET")
    if wanted is None and how in ("SAME_UPPER", "SAME_LOWER"):
        wanted = [size * s for size, s in zip(x.shape[2:], strides, strict=True)]
    if wanted is not None:
        cuts = []
        for size, target, extra in zip(full, wanted, more, strict=True):
            total = size + extra - target
            half = total // 2
            cuts.append([half, total - half] if how == "SAME_UPPER" else [total - half, half])
    else:
        given = node("pads", [0] * 2 * n)
        cuts = [[given[k], given[n + k]] for k in range(n)]
    y = df.pad(y, [[0, 0], [0, 0], *[[0, max(extra, 0)] for extra in more]])
    grown = [[max(-a, 0), max(-b, 0)] for a, b in cuts]
    y = df.pad(y, [[0, 0], [0, 0], *grown])
    keys = [slice(max(a, 0), y.shape[2 + k] - max(b, 0)) for k, (a, b) in enumerate(cuts)]
    return _bias(y[(slice(None), slice(None), *keys)], bias, n)


# --- windows ----------------------------------------------------------------------------------


def _pads_of_windows(node: Node, x: Any) -> Any:
    """Return windows, strides, dilations, pads, and pads extended to hold the last window."""
    windows = node("kernel_shape")
    strides, dilations = _geometry(node, windows)
    pads = pads_of(node, x.shape[2:], windows, strides, dilations)
    grown = []
    for size, window, s, d, (a, b) in zip(x.shape[2:], windows, strides, dilations, pads,
                                          strict=True):
        rest = (size + a + b - ((window - 1) * d + 1)) % s if node("ceil_mode", 0) else 0
        more = s - rest if rest else 0
        # A window that begins in the padding after the image does not count.
        last = size + a + b + more - ((window - 1) * d + 1)
        grown.append([a, b + (0 if more and last >= size + a else more)])
    return windows, strides, dilations, pads, grown


def _pool(x: Any, kind: str, windows: Any, strides: Any, dilations: Any, pads: Any = None) -> Any:
    n = x.ndim - 2
    padding: Any = [[0, 0], [0, 0], *pads] if pads else "VALID"
    if any([d != 1 for d in dilations]) and any([s != 1 for s in strides]):
        y = nn.pool(x, windows, kind, [1] * n, padding, FORMATS[n], dilations)
        return y[(slice(None), slice(None), *[slice(None, None, s) for s in strides])]
    return nn.pool(x, windows, kind, strides, padding, FORMATS[n], dilations)


def _are_short(pads: Any, windows: Any, dilations: Any) -> bool:
    """Return True if `nn.pool` takes these pads: known, and less than a window."""
    return all([isinstance(k, int) and k <= (window - 1) * d
                for pair, window, d in zip(pads, windows, dilations, strict=True) for k in pair])


@operator("MaxPool")
def _(node: Node, x):
    x = tensor(x)
    windows, strides, dilations, _, grown = _pads_of_windows(node, x)
    dtype = x.dtype
    lowest = float("-inf") if dtype.is_floating else dtype.min
    if node.n_outputs > 1:
        return _with_places(node, x, windows, strides, dilations, grown, lowest)
    if _are_short(grown, windows, dilations):
        return _pool(x, "MAX", windows, strides, dilations, grown)
    x = df.pad(x, [[0, 0], [0, 0], *grown], constant_values=df.constant(lowest, dtype))
    return _pool(x, "MAX", windows, strides, dilations)


def _with_places(node: Node, x: Any, windows: Any, strides: Any, dilations: Any, pads: Any,
                 lowest: Any) -> tuple[Any, Any]:
    """Return the maxima of windows, and the flat index of each in x."""
    n, y, inside, places = len(windows), x, df.constant(True), []
    for k, (window, s, d, (a, b)) in enumerate(zip(windows, strides, dilations, pads, strict=True)):
        size = x.shape[2 + k]
        many = (size + a + b - ((window - 1) * d + 1)) // s + 1
        own = df.expand_dims(df.range(many, dtype=df.int64) * s - a, 1) + df.range(
            window, dtype=df.int64) * d                             # (steps, window)
        y = df.gather(y, df.clip_by_value(own, 0, size - 1), axis=2 + 2 * k)
        own = df.reshape(own, [p for j in range(n) for p in (own.shape if j == k else (1, 1))])
        there = df.logical_and(own >= 0, own < size)
        inside = df.logical_and(inside, there)
        places.append(own)
    flat = [*range(2, 2 + 2 * n, 2), *range(3, 3 + 2 * n, 2)]       # steps..., window...
    y = df.transpose(df.where(inside, y, df.constant(lowest, x.dtype)), [0, 1, *flat])
    shape = y.shape[:2 + n]
    y = df.reshape(y, [*shape, -1])
    sizes = list(enumerate(x.shape[2:]))
    where: Any = 0
    for k, size in sizes if not node("storage_order", 0) else reversed(sizes):
        where = where * size + places[k]
    where = df.reshape(df.transpose(where, [j - 2 for j in flat]), [1, 1, *shape[2:], -1])
    best = df.argmax(y, -1, df.int64)
    where = df.gather(df.broadcast_to(where, y.shape), df.expand_dims(best, -1), axis=-1,
                      batch_dims=2 + n)
    images = df.reshape(df.range(x.shape[0] * x.shape[1], dtype=df.int64),
                        [*x.shape[:2], *[1] * n])
    each: Any = 1
    for size in x.shape[2:]:
        each = each * size
    return df.reduce_max(y, -1), df.squeeze(where, [-1]) + images * each


@operator("MaxUnpool")
def _(node: Node, x, places, shape=None):
    """Write elements to their positions in zeros; a larger shape has more zeros at the ends."""
    x, windows = tensor(x), node("kernel_shape")
    n = len(windows)
    pads, strides = node("pads", [0] * 2 * n), node("strides", [1] * n)
    sizes = [*x.shape[:2], *[(size - 1) * s + w - pads[k] - pads[n + k] for k, (size, s, w) in
                             enumerate(zip(x.shape[2:], strides, windows, strict=True))]]
    total: Any = 1
    for size in sizes:
        total = total * size
    y = df.reshape(df.tensor_scatter_nd_update(df.zeros([total], x.dtype),
                                               df.reshape(places, [-1, 1]), df.reshape(x, [-1])),
                   sizes)
    wanted = sizes if shape is None else ints(shape)
    return df.pad(y, [[0, b - a] for a, b in zip(sizes, wanted, strict=True)])


@operator("AveragePool")
def _(node: Node, x):
    x = tensor(x)
    windows, strides, dilations, pads, grown = _pads_of_windows(node, x)
    if not any([k for pair in grown for k in pair]):
        return _pool(x, "AVG", windows, strides, dilations)
    if not node("count_include_pad", 0) and _are_short(grown, windows, dilations):
        return _pool(x, "AVG", windows, strides, dilations, grown)
    y = _pool(df.pad(x, [[0, 0], [0, 0], *grown]), "AVG", windows, strides, dilations)
    ones = df.ones([1, 1, *x.shape[2:]], x.dtype)
    inside = pads if node("count_include_pad", 0) else [[0, 0]] * len(pads)
    ones = df.pad(ones, [[0, 0], [0, 0], *inside], constant_values=1)
    rest = [[a - c, b - d] for (a, b), (c, d) in zip(grown, inside, strict=True)]
    share = _pool(df.pad(ones, [[0, 0], [0, 0], *rest]), "AVG", windows, strides, dilations)
    return y / share


@operator("LpPool")
@in_float32
def _(node: Node, x):
    x, p = tensor(x), float(node("p", 2))
    windows, strides, dilations, _, grown = _pads_of_windows(node, x)
    n = 1
    for k in windows:
        n *= k
    y = df.pad(df.abs(x) ** p, [[0, 0], [0, 0], *grown])
    return (_pool(y, "AVG", windows, strides, dilations) * float(n)) ** (1 / p)


def _space(x: Any) -> list[int]:
    return list(range(2, x.ndim))


@operator("GlobalAveragePool")
def _(node: Node, x):
    return df.reduce_mean(x, _space(tensor(x)), True)


@operator("GlobalMaxPool")
def _(node: Node, x):
    return df.reduce_max(x, _space(tensor(x)), True)


@operator("GlobalLpPool")
@in_float32
def _(node: Node, x):
    p = float(node("p", 2))
    return df.reduce_sum(df.abs(x) ** p, _space(tensor(x)), True) ** (1 / p)


# --- normalisation ----------------------------------------------------------------------------


def _channels(p: Any, x: Any) -> Any:
    return df.reshape(p, [-1] + [1] * (x.ndim - 2))


def _normalized(x: Any, mean: Any, variance: Any, offset: Any, scale: Any, epsilon: float) -> Any:
    """Normalise with moments per channel."""
    return nn.batch_normalization(x, _channels(mean, x), _channels(variance, x),
                                  _channels(offset, x), _channels(scale, x), epsilon)


@operator("BatchNormalization")
def _(node: Node, x, scale, offset, mean, variance):
    x, epsilon = tensor(x), node("epsilon", 1e-5)
    if not node("training_mode", 0):
        return _normalized(x, mean, variance, offset, scale, epsilon)
    dtypes = [tensor(y).dtype for y in (x, mean, variance)]
    x, scale, offset, mean, variance = [widened(tensor(y))
                                        for y in (x, scale, offset, mean, variance)]
    axes, keep = [k for k in range(x.ndim) if k != 1], node("momentum", 0.9)
    new_mean, new_variance = df.reduce_mean(x, axes), df.math.reduce_variance(x, axes)
    y = _normalized(x, new_mean, new_variance, offset, scale, epsilon)
    made = (y, mean * keep + new_mean * (1 - keep), variance * keep + new_variance * (1 - keep))
    return tuple([df.cast(y, dtype) for y, dtype in zip(made, dtypes, strict=True)])


@operator("InstanceNormalization")
@in_float32
def _(node: Node, x, scale, offset):
    x = tensor(x)
    axes, epsilon = _space(x), node("epsilon", 1e-5)
    mean = df.reduce_mean(x, axes, True)
    variance = df.math.reduce_variance(x, axes, True)
    return (x - mean) / df.sqrt(variance + epsilon) * _channels(scale, x) + _channels(offset, x)


@operator("LayerNormalization")
def _(node: Node, x, scale, offset=None):
    x = tensor(x)
    dtype, axes = x.dtype, list(range(node("axis", -1) % x.ndim, x.ndim))
    if node.n_outputs == 1:
        return nn.layer_norm(x, scale, offset, node("epsilon", 1e-5), axes)
    x = df.cast(x, df.float32) if node("stash_type", 1) == 1 and dtype.itemsize == 2 else x
    mean = df.reduce_mean(x, axes, True)
    rate = df.math.rsqrt(df.math.reduce_variance(x, axes, True) + node("epsilon", 1e-5))
    y = df.cast((x - mean) * rate, dtype) * scale
    return (y if offset is None else y + offset), mean, rate


@operator("LpNormalization")
@in_float32
def _(node: Node, x):
    axis = node("axis", -1)
    size = df.reduce_sum(df.abs(x), axis, True) if node("p", 2) == 1 else df.sqrt(
        df.reduce_sum(df.square(x), axis, True))
    return df.math.divide_no_nan(x, size)


@operator("LRN")
@in_float32
def _(node: Node, x):
    x, size = tensor(x), node("size")
    squares = df.square(x)
    before = (size - 1) // 2
    pairs = [[0, 0]] * x.ndim
    pairs[1] = [before, size - 1 - before]
    padded, n = df.pad(squares, pairs), x.shape[1]
    total = df.add_n([padded[:, k:k + n] for k in range(size)])
    return x / (total * (node("alpha", 1e-4) / size) + node("bias", 1.0)) ** node("beta", 0.75)
