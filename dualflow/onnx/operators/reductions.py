"""Reductions, order, sums along an axis, products of matrices."""

from __future__ import annotations

from typing import Any

import dualflow as df
from dualflow.onnx.operators.registry import Node, Operator, axis_of, number, operator, tensor

m = df.math


@operator("MatMul")
def _(at: Node, a, b):
    """Vectors are rows on the left and columns on the right, for the time of the product."""
    a, b = tensor(a), tensor(b)
    row, column = a.ndim == 1, b.ndim == 1
    y = df.matmul(df.expand_dims(a, 0) if row else a, df.expand_dims(b, 1) if column else b)
    axes = [-2] * row + [-1] * column
    return df.squeeze(y, axes) if axes else y


def _sum_of_squares(x: Any, axes: Any, keepdims: bool) -> Any:
    return df.reduce_sum(df.square(x), axes, keepdims)


REDUCE: dict[str, Operator] = {
    "ReduceSum": df.reduce_sum, "ReduceMean": df.reduce_mean, "ReduceProd": df.reduce_prod,
    "ReduceMax": df.reduce_max, "ReduceMin": df.reduce_min,
    "ReduceLogSumExp": df.reduce_logsumexp, "ReduceSumSquare": _sum_of_squares,
    "ReduceL1": lambda x, axes, keep: df.reduce_sum(df.abs(x), axes, keep),
    "ReduceL2": lambda x, axes, keep: df.sqrt(_sum_of_squares(x, axes, keep)),
    "ReduceLogSum": lambda x, axes, keep: df.log(df.reduce_sum(x, axes, keep)),
}


@operator(*REDUCE)
def _(at: Node, x, axes=None):
    x, which = tensor(x), at.given("axes", axes)
    if not which:
        if at("noop_with_empty_axes", 0):
            return df.identity(x)
        which = None
    keep = bool(at("keepdims", 1))
    if x.dtype.is_bool:
        both = {"ReduceMax": df.reduce_any, "ReduceMin": df.reduce_all}
        return both[at.kind](x, which, keep)
    y = REDUCE[at.kind](x, which, keep)
    return y if y.dtype is x.dtype else df.cast(y, x.dtype)


@operator("ArgMax", "ArgMin")
def _(at: Node, x):
    x, axis = tensor(x), at("axis", 0)
    find = df.argmax if at.kind == "ArgMax" else df.argmin
    if at("select_last_index", 0):
        y = x.shape[axis] - 1 - find(df.reverse(x, [axis_of(axis, x)]), axis, df.int64)
    else:
        y = find(x, axis, df.int64)
    return df.expand_dims(y, axis_of(axis, x)) if at("keepdims", 1) else y


@operator("CumSum")
def _(at: Node, x, axis):
    return df.cumsum(x, number(axis), bool(at("exclusive", 0)), bool(at("reverse", 0)))


@operator("CumProd")
def _(at: Node, x, axis):
    return m.cumprod(x, number(axis), bool(at("exclusive", 0)), bool(at("reverse", 0)))


@operator("TopK")
def _(at: Node, x, k=None):
    x, n = tensor(x), at("k") if k is None else number(k)
    axis = axis_of(at("axis", -1), x)
    largest = at("largest", 1)
    moved = [*[j for j in range(x.ndim) if j != axis], axis]
    y = df.transpose(x, moved)
    order = df.argsort(y, -1, "DESCENDING" if largest else "ASCENDING", stable=True)
    order = order[..., :n]
    values = df.gather(y, order, axis=-1, batch_dims=x.ndim - 1)
    back = [moved.index(j) for j in range(x.ndim)]
    return df.transpose(values, back), df.transpose(df.cast(order, df.int64), back)


@operator("Unique")
def _(at: Node, x):
    x = tensor(x)
    if at("axis") is not None and x.ndim > 1:
        raise at.refuse("rows along an axis")
    flat = df.reshape(x, [-1])
    values, places, counts = df.unique_with_counts(flat, df.int64)
    n = flat.shape[0]
    first = df.math.unsorted_segment_min(df.range(n, dtype=df.int64), places, values.shape[0])
    if at("sorted", 1):
        order = df.argsort(values)
        rank = df.argsort(order)
        values, first, counts = [df.gather(y, order) for y in (values, first, counts)]
        places = df.cast(df.gather(rank, places), df.int64)
    return values, first, places, counts


@operator("Gemm")
def _(at: Node, a, b, c=None):
    y = df.matmul(a, b, bool(at("transA", 0)), bool(at("transB", 0)))
    y = y if at("alpha", 1.0) == 1 else _times(y, at("alpha"))
    if c is None:
        return y
    return y + (c if at("beta", 1.0) == 1 else _times(c, at("beta")))


def _times(x: Any, factor: float) -> Any:
    if x.dtype.is_floating:
        return x * factor
    return df.cast(df.cast(x, df.float64) * factor, x.dtype)


@operator("Einsum")
def _(at: Node, *xs):
    return df.einsum(at("equation"), *xs)


@operator("MatMulInteger")
def _(at: Node, a, b, a_zero=None, b_zero=None):
    a, b = [df.cast(x, df.int32) for x in (a, b)]
    if a_zero is not None:
        zero = df.cast(a_zero, df.int32)
        a = a - (df.expand_dims(zero, -1) if zero.ndim == 1 else zero)
    if b_zero is not None:
        b = b - df.cast(b_zero, df.int32)
    return df.matmul(a, b)


@operator("Inverse")
def _(at: Node, x):
    return df.linalg.inv(x)
