"""Convolutions, windows and normalisation. Channels come first here."""

from __future__ import annotations

from typing import Any

import dualflow as df
from dualflow.onnx.operators.registry import Node, operator, tensor

nn = df.nn
FORMATS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def pads_of(at: Node, sizes: Any, windows: Any, strides: Any, dilations: Any) -> list[list[Any]]:
    """(before, after) for each dimension of space."""
    n, how = len(windows), at("auto_pad", "NOTSET")
    if how in ("NOTSET", "VALID"):
        given = at("pads", [0] * 2 * n) if how == "NOTSET" else [0] * 2 * n
        return [[given[k], given[n + k]] for k in range(n)]
    found = []
    for size, window, stride, dilation in zip(sizes, windows, strides, dilations, strict=True):
        reach = (window - 1) * dilation + 1
        total = (-(-size // stride) - 1) * stride + reach - size
        total = total if total > 0 else 0
        half = total // 2
        found.append([half, total - half] if how == "SAME_UPPER" else [total - half, half])
    return found


def _geometry(at: Node, windows: Any) -> tuple[list[int], list[int]]:
    n = len(windows)
    return at("strides", [1] * n), at("dilations", [1] * n)


def _bias(y: Any, bias: Any, n: int) -> Any:
    return y if bias is None else y + df.reshape(bias, [-1] + [1] * n)


@operator("Conv")
def _(at: Node, x, filters, bias=None):
    x, filters = tensor(x), tensor(filters)
    n = x.ndim - 2
    return _bias(convolve(at, x, filters), bias, n)


def convolve(at: Node, x: Any, filters: Any) -> Any:
    n, windows = x.ndim - 2, filters.shape[2:]
    strides, dilations = _geometry(at, windows)
    pads = pads_of(at, x.shape[2:], windows, strides, dilations)
    filters = df.transpose(filters, [*range(2, n + 2), 1, 0])
    if n > 3:
        raise at.refuse(f"{n} dimensions of space, at most 3")
    if n == 0:
        raise at.refuse("no dimension of space")
    return nn.convolution(x, filters, strides, [[0, 0], [0, 0], *pads], FORMATS[n], dilations)


@operator("ConvInteger")
def _(at: Node, x, filters, x_zero=None, w_zero=None):
    x, filters = df.cast(x, df.float64), df.cast(filters, df.float64)
    x = x if x_zero is None else x - df.cast(x_zero, df.float64)
    if w_zero is not None:
        zero = df.cast(w_zero, df.float64)
        filters = filters - df.reshape(zero, [-1] + [1] * (filters.ndim - 1))
    return df.cast(convolve(at, x, filters), df.int32)


@operator("ConvTranspose")
def _(at: Node, x, filters, bias=None):
    """The whole of what windows reach, grown by the output's padding and cut by the pads."""
    x, filters = tensor(x), tensor(filters)
    n, windows = x.ndim - 2, filters.shape[2:]
    strides, dilations = _geometry(at, windows)
    more, wanted = at("output_padding", [0] * n), at("output_shape")
    full = [(size - 1) * s + (k - 1) * d + 1
            for size, s, k, d in zip(x.shape[2:], strides, windows, dilations, strict=True)]
    channels = filters.shape[1] * at("group", 1)
    y = nn.conv_transpose(x, df.transpose(filters, [*range(2, n + 2), 1, 0]),
                          [x.shape[0], channels, *full], strides, "VALID", FORMATS[n], dilations)
    how = at("auto_pad", "NOTSET")
    if wanted is None and how in ("SAME_UPPER", "SAME_LOWER"):
        wanted = [size * s for size, s in zip(x.shape[2:], strides, strict=True)]
    if wanted is not None:
        cuts = []
        for size, target, extra in zip(full, wanted, more, strict=True):
            total = size + extra - target
            half = total // 2
            cuts.append([half, total - half] if how == "SAME_UPPER" else [total - half, half])
    else:
        given = at("pads", [0] * 2 * n)
        cuts = [[given[k], given[n + k]] for k in range(n)]
    y = df.pad(y, [[0, 0], [0, 0], *[[0, max(extra, 0)] for extra in more]])
    grown = [[max(-a, 0), max(-b, 0)] for a, b in cuts]
    y = df.pad(y, [[0, 0], [0, 0], *grown])
    keys = [slice(max(a, 0), y.shape[2 + k] - max(b, 0)) for k, (a, b) in enumerate(cuts)]
    return _bias(y[(slice(None), slice(None), *keys)], bias, n)


# --- windows ----------------------------------------------------------------------------------


def _pads_of_windows(at: Node, x: Any) -> Any:
    """Windows, strides, dilations, pads, and pads grown so that the last window fits."""
    windows = at("kernel_shape")
    strides, dilations = _geometry(at, windows)
    pads = pads_of(at, x.shape[2:], windows, strides, dilations)
    grown = []
    for size, window, s, d, (a, b) in zip(x.shape[2:], windows, strides, dilations, pads,
                                          strict=True):
        rest = (size + a + b - ((window - 1) * d + 1)) % s if at("ceil_mode", 0) else 0
        more = s - rest if rest else 0
        # a window that begins in the padding after the image does not count
        last = size + a + b + more - ((window - 1) * d + 1)
        grown.append([a, b + (0 if more and last >= size + a else more)])
    return windows, strides, dilations, pads, grown


def _pool(x: Any, kind: str, windows: Any, strides: Any, dilations: Any) -> Any:
    n = x.ndim - 2
    if any([d != 1 for d in dilations]) and any([s != 1 for s in strides]):
        y = nn.pool(x, windows, kind, [1] * n, "VALID", FORMATS[n], dilations)
        return y[(slice(None), slice(None), *[slice(None, None, s) for s in strides])]
    return nn.pool(x, windows, kind, strides, "VALID", FORMATS[n], dilations)


@operator("MaxPool")
def _(at: Node, x):
    x = tensor(x)
    if at.n_outputs > 1:
        raise at.refuse("the indices of the largest numbers")
    windows, strides, dilations, _, grown = _pads_of_windows(at, x)
    dtype = x.dtype
    lowest = float("-inf") if dtype.is_floating else dtype.min
    if any([k for pair in grown for k in pair]):
        x = df.pad(x, [[0, 0], [0, 0], *grown], constant_values=df.constant(lowest, dtype))
    return _pool(x, "MAX", windows, strides, dilations)


@operator("AveragePool")
def _(at: Node, x):
    x = tensor(x)
    windows, strides, dilations, pads, grown = _pads_of_windows(at, x)
    if not any([k for pair in grown for k in pair]):
        return _pool(x, "AVG", windows, strides, dilations)
    y = _pool(df.pad(x, [[0, 0], [0, 0], *grown]), "AVG", windows, strides, dilations)
    ones = df.ones([1, 1, *x.shape[2:]], x.dtype)
    inside = pads if at("count_include_pad", 0) else [[0, 0]] * len(pads)
    ones = df.pad(ones, [[0, 0], [0, 0], *inside], constant_values=1)
    rest = [[a - c, b - d] for (a, b), (c, d) in zip(grown, inside, strict=True)]
    share = _pool(df.pad(ones, [[0, 0], [0, 0], *rest]), "AVG", windows, strides, dilations)
    return y / share


@operator("LpPool")
def _(at: Node, x):
    x, p = tensor(x), float(at("p", 2))
    windows, strides, dilations, _, grown = _pads_of_windows(at, x)
    n = 1
    for k in windows:
        n *= k
    y = df.pad(df.abs(x) ** p, [[0, 0], [0, 0], *grown])
    return (_pool(y, "AVG", windows, strides, dilations) * float(n)) ** (1 / p)


def _space(x: Any) -> list[int]:
    return list(range(2, x.ndim))


@operator("GlobalAveragePool")
def _(at: Node, x):
    return df.reduce_mean(x, _space(tensor(x)), True)


@operator("GlobalMaxPool")
def _(at: Node, x):
    return df.reduce_max(x, _space(tensor(x)), True)


@operator("GlobalLpPool")
def _(at: Node, x):
    p = float(at("p", 2))
    return df.reduce_sum(df.abs(x) ** p, _space(tensor(x)), True) ** (1 / p)


# --- normalisation ----------------------------------------------------------------------------


def _channels(p: Any, x: Any) -> Any:
    return df.reshape(p, [-1] + [1] * (x.ndim - 2))


def _normalized(x: Any, mean: Any, variance: Any, offset: Any, scale: Any, epsilon: float) -> Any:
    """By moments of channels."""
    return nn.batch_normalization(x, _channels(mean, x), _channels(variance, x),
                                  _channels(offset, x), _channels(scale, x), epsilon)


@operator("BatchNormalization")
def _(at: Node, x, scale, offset, mean, variance):
    x, epsilon = tensor(x), at("epsilon", 1e-5)
    if not at("training_mode", 0):
        return _normalized(x, mean, variance, offset, scale, epsilon)
    axes = [k for k in range(x.ndim) if k != 1]
    new_mean, new_variance = df.reduce_mean(x, axes), df.math.reduce_variance(x, axes)
    y = _normalized(x, new_mean, new_variance, offset, scale, epsilon)
    keep = at("momentum", 0.9)
    return (y, mean * keep + new_mean * (1 - keep), variance * keep + new_variance * (1 - keep))


@operator("InstanceNormalization")
def _(at: Node, x, scale, offset):
    x = tensor(x)
    axes, epsilon = _space(x), at("epsilon", 1e-5)
    mean = df.reduce_mean(x, axes, True)
    variance = df.math.reduce_variance(x, axes, True)
    return (x - mean) / df.sqrt(variance + epsilon) * _channels(scale, x) + _channels(offset, x)


@operator("LayerNormalization")
def _(at: Node, x, scale, offset=None):
    x = tensor(x)
    dtype, axes = x.dtype, list(range(at("axis", -1) % x.ndim, x.ndim))
    x = df.cast(x, df.float32) if at("stash_type", 1) == 1 and dtype.itemsize == 2 else x
    mean = df.reduce_mean(x, axes, True)
    rate = df.math.rsqrt(df.math.reduce_variance(x, axes, True) + at("epsilon", 1e-5))
    y = df.cast((x - mean) * rate, dtype) * scale
    return (y if offset is None else y + offset), mean, rate


@operator("LpNormalization")
def _(at: Node, x):
    axis = at("axis", -1)
    size = df.reduce_sum(df.abs(x), axis, True) if at("p", 2) == 1 else df.sqrt(
        df.reduce_sum(df.square(x), axis, True))
    return df.math.divide_no_nan(x, size)


@operator("LRN")
def _(at: Node, x):
    x, size = tensor(x), at("size")
    squares = df.square(x)
    before = (size - 1) // 2
    pairs = [[0, 0]] * x.ndim
    pairs[1] = [before, size - 1 - before]
    padded, n = df.pad(squares, pairs), x.shape[1]
    total = df.add_n([padded[:, k:k + n] for k in range(size)])
    return x / (total * (at("alpha", 1e-4) / size) + at("bias", 1.0)) ** at("beta", 0.75)


# --- whole numbers for fractions --------------------------------------------------------------


def _per_axis(p: Any, x: Any, axis: int, block: int) -> Any:
    """A scale or zero point in a shape that broadcasts to x."""
    p = tensor(p)
    if p.ndim == 0 or (p.ndim == 1 and x.ndim != 1 and p.shape[0] == 1):
        return df.reshape(p, [])
    axis %= x.ndim
    if block:
        p = df.repeat(p, block, axis)
        return p[tuple([slice(0, n) for n in x.shape])]
    return df.reshape(p, [-1] + [1] * (x.ndim - 1 - axis)) if p.ndim == 1 else p


@operator("DequantizeLinear")
def _(at: Node, x, scale, zero=None):
    x, scale = tensor(x), tensor(scale)
    axis, block = at("axis", 1), at("block_size", 0)
    y = df.cast(x, scale.dtype)
    if zero is not None:
        y = y - df.cast(_per_axis(zero, x, axis, block), scale.dtype)
    return y * _per_axis(scale, x, axis, block)


@operator("QuantizeLinear")
def _(at: Node, x, scale, zero=None):
    x, scale = tensor(x), tensor(scale)
    axis, block = at("axis", 1), at("block_size", 0)
    dtype = df.uint8 if zero is None else tensor(zero).dtype
    code = at("output_dtype", 0)
    if code:
        from_code = OUTPUTS.get(code)
        if from_code is None:
            raise at.refuse("to a dtype that is none here")
        dtype = from_code
    y = df.round(df.cast(x / df.cast(_per_axis(scale, x, axis, block), x.dtype), df.float32))
    if zero is not None:
        y = y + df.cast(_per_axis(zero, x, axis, block), df.float32)
    return df.saturate_cast(y, dtype)


OUTPUTS = {2: df.uint8, 3: df.int8, 4: df.uint16, 5: df.int16}


@operator("QLinearMatMul")
def _(at: Node, a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
    def whole(x: Any, zero: Any) -> Any:
        return df.cast(x, df.float64) - df.cast(zero, df.float64)
    y = df.matmul(whole(a, a_zero), whole(b, b_zero))
    factor = df.cast(a_scale, df.float64) * df.cast(b_scale, df.float64) / df.cast(
        y_scale, df.float64)
    y = df.round(y * factor) + df.cast(y_zero, df.float64)
    return df.saturate_cast(y, tensor(y_zero).dtype)


@operator("QLinearConv")
def _(at: Node, x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias=None):
    def wide(v: Any) -> Any:
        return df.cast(v, df.float64)

    w = tensor(w)
    n = w.ndim - 1
    zero = df.reshape(wide(w_zero), [-1] + [1] * n)
    y = convolve(at, wide(x) - wide(x_zero), wide(w) - zero)
    y = y if bias is None else y + df.reshape(wide(bias), [-1] + [1] * (n - 1))
    factor = wide(x_scale) * df.reshape(wide(w_scale), [-1] + [1] * (n - 1)) / wide(y_scale)
    return df.saturate_cast(df.round(y * factor) + wide(y_zero), tensor(y_zero).dtype)
