"""Indexing, sorting, searching, counting, and diagonals."""

import builtins
from typing import Any

from keras.src.backend.common.backend_utils import canonicalize_axis, vectorize_impl
from keras.src.backend.common.dtypes import result_type

import dualflow as df
from dualflow import array_api
from dualflow.keras.src.ops.convert import (
    convert_to_tensor,
    dtype_of,
    tensors,
    to_dtype,
)


def where(condition: Any, x1: Any = None, x2: Any = None) -> Any:
    condition = convert_to_tensor(condition, "bool")
    if x1 is None and x2 is None:
        return nonzero(condition)
    if x1 is None or x2 is None:
        raise ValueError("`x1` and `x2` either both should be `None` or both should have non-None "
                         "value.")
    return df.where(condition, *tensors(x1, x2))


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    dtype = result_type(*map(dtype_of, choicelist), dtype_of(default))
    found = convert_to_tensor(default, dtype)
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        found = df.where(convert_to_tensor(condition, "bool"), convert_to_tensor(choice, dtype),
                         found)
    return found


def take(x: Any, indices: Any, axis: Any = None) -> Any:
    x = convert_to_tensor(x)
    if axis is None:
        x, axis = df.reshape(x, (-1,)), 0
    return array_api.take(x, convert_to_tensor(indices), axis=canonicalize_axis(axis, x.ndim))


def take_along_axis(x: Any, indices: Any, axis: Any = None) -> Any:
    x, indices = convert_to_tensor(x), convert_to_tensor(indices)
    if axis is None:
        if indices.ndim != 1:
            raise ValueError("take_along_axis: expected 1-dimensional indices with axis=None, got "
                             f"shape {indices.shape}")
        return take(x, indices)
    return array_api.take_along_axis(x, indices, axis=axis)


def nonzero(x: Any) -> Any:
    x = convert_to_tensor(x, "bool")
    found = df.cast(df.where(x), df.int32)
    return tuple(df.unstack(found, x.ndim, axis=1))


def unravel_index(indices: Any, shape: Any) -> Any:
    indices = convert_to_tensor(indices)
    dtype = indices.dtype if indices.dtype.is_integer else df.int32
    indices = df.cast(indices, df.int64)
    total = 1
    for n in shape:
        total *= n
    indices = df.where(indices < 0, indices + total, indices)
    found = []
    for n in reversed(shape):
        found.append(df.cast(df.math.floormod(indices, n), dtype))
        indices = df.math.floordiv(indices, n)
    return tuple(found[::-1])


# --- order ---

def sort(x: Any, axis: Any = -1) -> Any:
    x = convert_to_tensor(x)
    if axis is None:
        x, axis = df.reshape(x, (-1,)), 0
    if x.dtype.is_bool:
        return df.cast(sort(df.cast(x, df.uint8), axis), df.bool_)
    return df.sort(x, axis)


def argsort(x: Any, axis: Any = -1) -> Any:
    x = convert_to_tensor(x)
    if x.dtype.is_bool:
        x = df.cast(x, df.uint8)
    if axis is None or x.ndim == 0:
        x, axis = df.reshape(x, (-1,)), 0
    return df.cast(df.argsort(x, axis, stable=True), df.int32)


def argpartition(x: Any, kth: Any, axis: Any = -1) -> Any:
    return argsort(x, axis)             # a sorted array is partitioned at any index


def searchsorted(sorted_sequence: Any, values: Any, side: Any = "left") -> Any:
    row, values = tensors(sorted_sequence, values)
    if row.ndim != 1:
        raise ValueError("`searchsorted` only supports 1-D sorted sequences. You can use "
                         "`keras.ops.vectorized_map` to extend it to N-D sequences. Received: "
                         f"sorted_sequence.shape={row.shape}")
    if row.dtype.is_bool:
        row, values = df.cast(row, df.int32), df.cast(values, df.int32)
    found = df.searchsorted(row, df.reshape(values, (-1,)), side, df.int32)
    return df.reshape(found, values.shape)


def digitize(x: Any, bins: Any) -> Any:
    return searchsorted(bins, x, "right")


def bincount(x: Any, weights: Any = None, minlength: Any = 0, sparse: Any = False) -> Any:
    if sparse:
        raise ValueError("Unsupported value `sparse=True` with the dualflow backend")
    x = convert_to_tensor(x)
    if x.dtype not in (df.int32, df.int64):
        x = df.cast(x, df.int32)
    dtype = df.int32
    if weights is not None:
        weights = convert_to_tensor(weights)
        dtype = to_dtype(result_type(weights.dtype.name))
        weights = df.cast(weights, dtype)
    if x.ndim == 2:
        n = int(df.reduce_max(x).item()) + 1 if x.size else 0
        rows = df.unstack(x)
        parts = [None] * len(rows) if weights is None else df.unstack(weights)
        return df.stack([bincount(row, part, builtins.max(n, minlength))
                         for row, part in zip(rows, parts, strict=True)])
    return df.cast(df.math.bincount(x, weights, minlength), dtype)


def histogram(x: Any, bins: Any = 10, range: Any = None) -> Any:
    x = convert_to_tensor(x)
    if not x.dtype.is_inexact:
        x = df.cast(x, df.float32)
    x = df.reshape(x, (-1,))
    if isinstance(bins, int):
        low, high = (df.reduce_min(x), df.reduce_max(x)) if range is None else [
            convert_to_tensor(v, x.dtype) for v in range]
        around = df.where(df.equal(low, high), convert_to_tensor(0.5, x.dtype),
                          df.zeros_like(low))
        edges = df.linspace(low - around, high + around, bins + 1)
    else:
        edges = convert_to_tensor(bins, x.dtype)
    n = edges.shape[0] - 1
    place = df.searchsorted(edges, x, "right", df.int32) - 1
    place = df.where(df.equal(x, edges[-1]), df.fill(place.shape, n - 1), place)
    inside = df.logical_and(place >= 0, place < n)
    counts = df.math.unsorted_segment_sum(
        df.cast(inside, df.int32), df.clip_by_value(place, 0, n - 1), n)
    return counts, edges


# --- diagonals ---

def diagonal(x: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
    x = convert_to_tensor(x)
    axis1, axis2 = canonicalize_axis(axis1, x.ndim), canonicalize_axis(axis2, x.ndim)
    x = df.transpose(x, [*[a for a in range(x.ndim) if a not in (axis1, axis2)], axis1, axis2])
    x = x[..., :, offset:] if offset >= 0 else x[..., -offset:, :]
    n, m = x.shape[-2:]
    flat = df.reshape(x, (*x.shape[:-2], n * m))
    return df.gather(flat, df.range(builtins.min(n, m)) * (m + 1), axis=flat.ndim - 1)


def trace(x: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
    from_diagonal = diagonal(x, offset, axis1, axis2)
    name = from_diagonal.dtype.name
    if not from_diagonal.dtype.is_inexact:
        name = (result_type(name, "int32") if name[0] != "u"
                else "uint32" if name in ("uint8", "uint16") else name)
    return df.reduce_sum(convert_to_tensor(from_diagonal, name), -1)


def diag(x: Any, k: Any = 0) -> Any:
    x = convert_to_tensor(x)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ValueError(f"`x` must be 1-d or 2-d. Received: x.shape={x.shape}")
    n = x.shape[0] + abs(k)
    rows = df.range(n)
    place = rows + (min(k, 0))
    there = df.equal(df.expand_dims(df.range(n), 0), df.expand_dims(rows + k, 1))
    if x.shape[0] == 0:
        return df.zeros((n, n), x.dtype)
    values = df.gather(x, df.clip_by_value(place, 0, x.shape[0] - 1))
    return df.where(there, df.expand_dims(values, 1), df.zeros((), x.dtype))


def diagflat(x: Any, k: Any = 0) -> Any:
    return diag(df.reshape(convert_to_tensor(x), (-1,)), k)


def diff(a: Any, n: Any = 1, axis: Any = -1) -> Any:
    a = convert_to_tensor(a)
    axis = canonicalize_axis(axis, a.ndim)
    before = (builtins.slice(None),) * axis
    for _ in range(n):
        late, early = a[(*before, builtins.slice(1, None))], a[(*before, builtins.slice(None, -1))]
        a = df.not_equal(late, early) if a.dtype.is_bool else late - early
    return a


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    y = convert_to_tensor(y)
    y = df.cast(y, to_dtype(result_type(y.dtype.name, float)))
    axis = canonicalize_axis(axis, y.ndim)
    gap: Any = convert_to_tensor(dx, y.dtype)
    if x is not None:
        x = convert_to_tensor(x, y.dtype)
        gap = diff(x, axis=axis if x.ndim > 1 else -1)
        if gap.ndim < y.ndim:
            gap = df.reshape(gap, (*gap.shape, *[1] * (y.ndim - 1 - axis)))
    before = (builtins.slice(None),) * axis
    middle = y[(*before, builtins.slice(1, None))] + y[(*before, builtins.slice(None, -1))]
    return df.reduce_sum(middle * gap, axis) / 2


def vectorize(pyfunc: Any, *, excluded: Any = None, signature: Any = None) -> Any:
    def rows(function: Any, in_axes: Any = 0, out_axes: Any = 0) -> Any:
        def call(*args: Any) -> Any:
            axes = [in_axes] * len(args) if isinstance(in_axes, int) else in_axes
            along = [a for a, axis in zip(args, axes, strict=True) if axis is not None]

            def one(parts: Any) -> Any:
                given = iter(parts)
                return function(*[a if axis is None else next(given)
                                  for a, axis in zip(args, axes, strict=True)])

            return df.vectorized_map(one, tuple(along))

        return call

    return vectorize_impl(pyfunc, rows, excluded=excluded or set(), signature=signature)
