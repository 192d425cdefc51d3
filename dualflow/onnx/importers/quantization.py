"""Quantization operators with scales and zero points."""

from __future__ import annotations

import dualflow as df
from dualflow.onnx.importers.networks import convolve
from dualflow.onnx.importers.registry import Node, operator, tensor
from dualflow.onnx.narrow import NarrowTensor, NarrowType, cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _values(x: Any) -> Any:
    """Return the values in a dtype that supports arithmetic."""
    return x.values if isinstance(x, NarrowTensor) else tensor(x)


def _per_axis(p: Any, x: Any, axis: int, block: int) -> Any:
    """Return a scale or zero point in a shape that broadcasts to x."""
    p = _values(p)
    if p.ndim == 0 or (p.ndim == 1 and x.ndim != 1 and p.shape[0] == 1):
        return df.reshape(p, [])
    axis %= x.ndim
    if block:
        p = df.repeat(p, block, axis)
        return p[tuple([slice(0, n) for n in x.shape])]
    return df.reshape(p, [-1] + [1] * (x.ndim - 1 - axis)) if p.ndim == 1 else p


@operator("DequantizeLinear")
def _(node: Node, x, scale, zero=None):
    axis, block = node("axis", 1), node("block_size", 0)
    y, own = _values(x), scale.dtype
    dtype: Any = node.dtype("output_dtype") or (df.float32 if isinstance(own, NarrowType) else own)
    if zero is not None:
        wide = df.float32 if y.dtype.is_floating else df.int32
        y = df.cast(y, wide) - df.cast(_per_axis(zero, y, axis, block), wide)
    return df.cast(y, dtype) * df.cast(_per_axis(scale, y, axis, block), dtype)


@operator("QuantizeLinear")
def _(node: Node, x, scale, zero=None):
    x = tensor(x)
    axis, block = node("axis", 1), node("block_size", 0)
    dtype: Any = node.dtype("output_dtype") or (df.uint8 if zero is None else zero.dtype)
    wide = node.dtype("precision") or (x.dtype if isinstance(scale, NarrowTensor) else scale.dtype)
    wide = wide if wide.is_floating else df.float32
    y = df.cast(df.cast(x, wide) / df.cast(_per_axis(scale, x, axis, block), wide), df.float32)
    y = df.round(y) if dtype.is_integer else y
    if zero is not None:
        y = y + df.cast(_per_axis(zero, x, axis, block), df.float32)
    if isinstance(dtype, NarrowType):
        low, high = dtype.limits
        y = df.clip_by_value(y, float(low), float(high)) if dtype.is_integer else y
        return cast(y, dtype, bool(node("saturate", 1)))
    return df.saturate_cast(y, dtype)


@operator("QLinearMatMul")
def _(node: Node, a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
    def whole(x: Any, zero: Any) -> Any:
        return df.cast(x, df.float64) - df.cast(zero, df.float64)
    y = df.matmul(whole(a, a_zero), whole(b, b_zero))
    factor = df.cast(a_scale, df.float64) * df.cast(b_scale, df.float64) / df.cast(
        y_scale, df.float64)
    y = df.round(y * factor) + df.cast(y_zero, df.float64)
    return df.saturate_cast(y, tensor(y_zero).dtype)


@operator("QLinearConv")
def _(node: Node, x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias=None):
    def wide(v: Any) -> Any:
        return df.cast(v, df.float64)

    w = tensor(w)
    n = w.ndim - 1
    zero = df.reshape(wide(w_zero), [-1] + [1] * n)
    y = convolve(node, wide(x) - wide(x_zero), wide(w) - zero)
    y = y if bias is None else y + df.reshape(wide(bias), [-1] + [1] * (n - 1))
    factor = wide(x_scale) * df.reshape(wide(w_scale), [-1] + [1] * (n - 1)) / wide(y_scale)
    return df.saturate_cast(df.round(y * factor) + wide(y_zero), tensor(y_zero).dtype)


@operator("ConvInteger")
def _(node: Node, x, filters, x_zero=None, w_zero=None):
    x, filters = df.cast(x, df.float64), df.cast(filters, df.float64)
    x = x if x_zero is None else x - df.cast(x_zero, df.float64)
    if w_zero is not None:
        zero = df.cast(w_zero, df.float64)
        filters = filters - df.reshape(zero, [-1] + [1] * (filters.ndim - 1))
    return df.cast(convolve(node, x, filters), df.int32)


@operator("MatMulInteger")
def _(node: Node, a, b, a_zero=None, b_zero=None):
    a, b = [df.cast(x, df.int32) for x in (a, b)]
    if a_zero is not None:
        zero = df.cast(a_zero, df.int32)
        a = a - (df.expand_dims(zero, -1) if zero.ndim == 1 else zero)
    if b_zero is not None:
        b = b - df.cast(b_zero, df.int32)
    return df.matmul(a, b)
