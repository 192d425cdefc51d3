"""Operators of reduction, sorting, cumulative sums and matrix products."""

from __future__ import annotations

import dualflow as df
from dualflow.onnx.importers.registry import Node, axis_of, in_float32, number, operator, tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.onnx.importers.registry import Operator

m = df.math


@operator("MatMul")
def _(node: Node, a, b):
    """Multiply matrices; a vector is a row on the left and a column on the right."""
    a, b = tensor(a), tensor(b)
    row, column = a.ndim == 1, b.ndim == 1
    y = df.matmul(df.expand_dims(a, 0) if row else a, df.expand_dims(b, 1) if column else b,
                  node("transpose_a", False), node("transpose_b", False))     # set by `fold`
    axes = [-2] * row + [-1] * column
    return df.squeeze(y, axes) if axes else y


def _sum_of_squares(x: Any, axes: Any, keepdims: bool) -> Any:
    return df.reduce_sum(df.square(x), axes, keepdims)


REDUCE: dict[str, Operator] = {
    "ReduceSum": df.reduce_sum, "ReduceMean": df.reduce_mean, "ReduceProd": df.reduce_prod,
    "ReduceMax": df.reduce_max, "ReduceMin": df.reduce_min,
    "ReduceLogSumExp": df.reduce_logsumexp, "ReduceSumSquare": in_float32(_sum_of_squares),
    "ReduceL1": lambda x, axes, keep: df.reduce_sum(df.abs(x), axes, keep),
    "ReduceL2": in_float32(lambda x, axes, keep: df.sqrt(_sum_of_squares(x, axes, keep))),
    "ReduceLogSum": in_float32(lambda x, axes, keep: df.log(df.reduce_sum(x, axes, keep))),
}


@operator(*REDUCE)
def _(node: Node, x, axes=None):
    x, which = tensor(x), node.given("axes", axes)
    if not which:                       # no axes: elementwise part only, or all axes
        which = [] if node("noop_with_empty_axes", 0) else None
    keep = bool(node("keepdims", 1))
    if x.dtype.is_bool:
        both = {"ReduceMax": df.reduce_any, "ReduceMin": df.reduce_all}
        return both[node.kind](x, which, keep)
    y = REDUCE[node.kind](x, which, keep)
    return y if y.dtype is x.dtype else df.cast(y, x.dtype)


@operator("ArgMax", "ArgMin")
def _(node: Node, x):
    x, axis = tensor(x), node("axis", 0)
    find = df.argmax if node.kind == "ArgMax" else df.argmin
    if node("select_last_index", 0):
        y = x.shape[axis] - 1 - find(df.reverse(x, [axis_of(axis, x)]), axis, df.int64)
    else:
        y = find(x, axis, df.int64)
    return df.expand_dims(y, axis_of(axis, x)) if node("keepdims", 1) else y


@operator("CumSum")
def _(node: Node, x, axis):
    return df.cumsum(x, number(axis), bool(node("exclusive", 0)), bool(node("reverse", 0)))


@operator("CumProd")
def _(node: Node, x, axis):
    return m.cumprod(x, number(axis), bool(node("exclusive", 0)), bool(node("reverse", 0)))


@operator("TopK")
def _(node: Node, x, k=None):
    x, n = tensor(x), node("k") if k is None else number(k)
    axis = axis_of(node("axis", -1), x)
    largest = node("largest", 1)
    moved = [*[j for j in range(x.ndim) if j != axis], axis]
    y = df.transpose(x, moved)
    order = df.argsort(y, -1, "DESCENDING" if largest else "ASCENDING", stable=True)
    order = order[..., :n]
    values = df.gather(y, order, axis=-1, batch_dims=x.ndim - 1)
    back = [moved.index(j) for j in range(x.ndim)]
    return df.transpose(values, back), df.transpose(df.cast(order, df.int64), back)


@operator("Unique")
def _(node: Node, x):
    """Return the distinct slices along an axis, or elements: equal ones are adjacent when
    sorted."""
    x, axis = tensor(x), node("axis")
    along = df.reshape(x, [-1]) if axis is None else df.transpose(x, _to_front(axis, x))
    n = along.shape[0]
    rows = df.reshape(along, [n, -1])
    rows = df.cast(rows, df.uint8) if x.dtype.is_bool else rows
    order = df.range(n, dtype=df.int64)
    for k in reversed(range(rows.shape[1])):
        order = df.gather(order, df.argsort(df.gather(rows[:, k], order), stable=True))
    placed = df.gather(rows, order)
    differ = df.reduce_any(df.not_equal(placed[1:], placed[:-1]), 1)
    new = df.concat([df.ones([1], df.bool_), differ], 0)[:n]
    starts = df.cast(df.reshape(df.where(new), [-1]), df.int64)
    first = df.gather(order, starts)                    # of equal ones, since the sort is stable
    counts = df.concat([starts[1:], df.ones([1], df.int64) * n], 0)[:starts.shape[0]] - starts
    place = df.gather(df.cumsum(df.cast(new, df.int64)) - 1, df.argsort(order))
    if not node("sorted", 1):
        found = df.argsort(first)
        first, counts = df.gather(first, found), df.gather(counts, found)
        place = df.cast(df.gather(df.argsort(found), place), df.int64)
    values = df.gather(along, first)
    if axis is not None:
        values = df.transpose(values, [_to_front(axis, x).index(k) for k in range(x.ndim)])
    return values, first, place, counts


def _to_front(axis: int, x: Any) -> list[int]:
    axis = axis_of(axis, x)
    return [axis, *[k for k in range(x.ndim) if k != axis]]


@operator("Gemm")
@in_float32
def _(node: Node, a, b, c=None):
    y = df.matmul(a, b, bool(node("transA", 0)), bool(node("transB", 0)))
    y = y if node("alpha", 1.0) == 1 else _times(y, node("alpha"))
    if c is None:
        return y
    return y + (c if node("beta", 1.0) == 1 else _times(c, node("beta")))


def _times(x: Any, factor: float) -> Any:
    if x.dtype.is_floating:
        return x * factor
    return df.cast(df.cast(x, df.float64) * factor, x.dtype)


@operator("Einsum")
def _(node: Node, *xs):
    return df.einsum(node("equation"), *xs)


@operator("Inverse")
def _(node: Node, x):
    return df.linalg.inv(x)
