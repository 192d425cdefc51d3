"""Quantization operators with scales and zero points.

Products of int8 and uint8 are computed in int32 by `matmul` and `conv_int32`. The zero points are
applied afterwards, for rows a of A, columns b of B, and k terms:

    sum (a - p)(b - q) = sum a b - p sum b - q sum a + k p q

in int32 arithmetic, which wraps around, so that the result is exact. Terms of zero points that are
known to be 0 are omitted; sums of constants are computed once.
"""

from __future__ import annotations

import dualflow as df
from dualflow._core import Symbol
from dualflow.graph.trace.trace import suspended
from dualflow.onnx.importers.networks import convolve
from dualflow.onnx.importers.registry import Node, operator, tensor
from dualflow.onnx.narrow import NarrowTensor, NarrowType, cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
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


@operator("DynamicQuantizeLinear")
def _(node: Node, x):
    """Quantize to uint8 with the scale of the range of x, which is extended to 0."""
    low, high = df.minimum(df.reduce_min(x), 0.), df.maximum(df.reduce_max(x), 0.)
    scale = (high - low) / 255.
    zero = df.saturate_cast(df.round(df.clip_by_value(0. - low / scale, 0., 255.)), df.uint8)
    y = df.round(x / scale) + df.cast(zero, df.float32)
    return df.saturate_cast(y, df.uint8), scale, zero


# --- products of integers ---------------------------------------------------------------------


def _are_bytes(*xs: Any) -> bool:
    return all([x.dtype in (df.int8, df.uint8) for x in xs])


def _is_zero(zero: Any) -> bool:
    """Return True if a zero point is missing or known to be 0."""
    return zero is None or (isinstance(zero, df.Tensor) and not isinstance(zero, Symbol)
                            and not zero.numpy().any())


def _wide(x: Any) -> Any:
    return df.cast(x, df.int32)


def _column_sums(b: Any, transpose_b: bool) -> Any:
    """Return the int32 sum of each column of a matrix, once if the matrix is a constant."""
    terms = b.shape[-1 if transpose_b else -2]
    return _once(lambda: df.matmul(df.ones([1, terms], df.int8), b, transpose_b=transpose_b,
                                   output_type=df.int32), b)


def _once(compute: Callable[[], Any], x: Any) -> Any:
    if isinstance(x, Symbol | df.Variable):
        return compute()
    with suspended():
        return compute()


def _product(a: Any, a_zero: Any, b: Any, b_zero: Any, transpose_b: bool = False) -> Any:
    """Return the int32 product of matrices without their zero points: one for all of a matrix,
    for each row of a, or for each column of b."""
    a, b = tensor(a), tensor(b)
    if not _are_bytes(a, b) or min(a.ndim, b.ndim) < 2:
        a = _wide(a) if a_zero is None else _wide(a) - _of_rows(_wide(a_zero))
        b = _wide(b) if b_zero is None else _wide(b) - _wide(b_zero)
        return df.matmul(a, b, transpose_b=transpose_b)
    y = df.matmul(a, b, transpose_b=transpose_b, output_type=df.int32)
    p = None if _is_zero(a_zero) else _of_rows(_wide(a_zero))
    q = None if _is_zero(b_zero) else _wide(b_zero)
    if p is not None:
        y = y - p * _column_sums(b, transpose_b)
    if q is not None:
        ones = df.ones([a.shape[-1], 1], df.int8)
        y = y - q * df.matmul(a, ones, output_type=df.int32)
    return y if p is None or q is None else y + p * q * a.shape[-1]


def _of_rows(zero: Any) -> Any:
    return df.expand_dims(zero, -1) if zero.ndim == 1 else zero


def _convolution(node: Node, x: Any, x_zero: Any, w: Any, w_zero: Any) -> Any:
    """Return the int32 convolution of images without their zero point and filters without theirs:
    one for all filters or for each."""
    x, w = tensor(x), tensor(w)
    n = x.ndim - 2
    zero = df.constant(0, x.dtype) if x_zero is None else df.reshape(x_zero, [])
    y = convolve(node, x, w, zero)
    if _is_zero(x_zero) and _is_zero(w_zero):
        return y
    last = bool(node("filters_last"))
    channels = [-1] + [1] * n
    inside = [*range(n + 1)] if last else [*range(1, n + 2)]
    if not _is_zero(x_zero):
        sums = _once(lambda: df.reshape(df.reduce_sum(_wide(w), inside), channels), w)
        y = y - _wide(zero) * sums
    if not _is_zero(w_zero):
        q = df.reshape(_wide(w_zero), channels)
        outputs, each = (w.shape[-1], w.shape[-2]) if last else (w.shape[0], w.shape[1])
        groups = node("group", 1)
        sizes = list(w.shape[:n] if last else w.shape[2:])
        ones = df.ones([*sizes, each, groups] if last else [groups, each, *sizes], df.int8)
        sums = df.repeat(convolve(node, x, ones, zero), outputs // groups, 1)
        terms = each
        for size in sizes:
            terms = terms * size
        y = y - q * (sums - _wide(zero) * terms)
    return y


def _requantized(y: Any, scale: Any, y_scale: Any, zero: Any) -> Any:
    """Return int32 sums as 8-bit integers: y * scale / y_scale in float32, rounded to even, plus
    the zero point."""
    dtype: Any = tensor(zero).dtype
    y = df.round(df.cast(y, df.float32) * (df.cast(scale, df.float32)
                                           / df.cast(y_scale, df.float32)))
    return df.saturate_cast(y + df.cast(zero, df.float32), dtype)


@operator("QLinearMatMul")
def _(node: Node, a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero, bias=None):
    """The last input and the attribute are set by quantized.py."""
    y = _product(a, a_zero, b, b_zero, bool(node("transpose_b")))
    y = y if bias is None else y + bias
    scale = _of_rows(df.cast(a_scale, df.float32)) * df.cast(b_scale, df.float32)
    return _requantized(y, scale, _of_rows(tensor(y_scale)), _of_rows(tensor(y_zero)))


@operator("QLinearConv")
def _(node: Node, x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias=None):
    y = _convolution(node, x, x_zero, w, w_zero)
    channels = [-1] + [1] * (y.ndim - 2)
    y = y if bias is None else y + df.reshape(bias, channels)
    scale = df.reshape(df.cast(x_scale, df.float32) * df.cast(w_scale, df.float32), channels)
    return _requantized(y, scale, df.reshape(y_scale, []), df.reshape(y_zero, []))


@operator("ConvInteger")
def _(node: Node, x, filters, x_zero=None, w_zero=None):
    return _convolution(node, x, x_zero, filters, w_zero)


@operator("MatMulInteger")
def _(node: Node, a, b, a_zero=None, b_zero=None):
    return _product(a, a_zero, b, b_zero)
