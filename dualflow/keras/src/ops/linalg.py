"""Norms. What takes a factorisation is not there yet."""

from typing import Any

import dualflow as df
from dualflow.keras.src.ops.convert import convert_to_tensor, float_of, to_dtype


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> df.Tensor:
    x = convert_to_tensor(x)
    if not x.dtype.is_floating:
        x = df.cast(x, to_dtype(float_of(x.dtype)))
    axes = [axis] if isinstance(axis, int) else list(range(x.ndim)) if axis is None else list(axis)
    if axis is None and ord is not None and x.ndim > 2:
        raise ValueError(f"norm: x has {x.ndim} dimensions, want an axis where `ord` is given")
    if len(axes) > 2 or (ord is None and len(axes) != 1):
        return df.sqrt(df.reduce_sum(x * x, axes, keepdims))
    return _vectors(x, 2 if ord is None else ord, axes[0], keepdims) if len(axes) == 1 else \
        _matrices(x, ord, axes, keepdims)


def _vectors(x: df.Tensor, ord: Any, axis: int, keepdims: bool) -> df.Tensor:
    if isinstance(ord, str):
        raise ValueError(f"Invalid `ord` argument for vector norm. Received: ord={ord}")
    size = df.abs(x)
    if ord == float("inf"):
        return df.reduce_max(size, axis, keepdims)
    if ord == float("-inf"):
        return df.reduce_min(size, axis, keepdims)
    if ord == 0:
        return df.reduce_sum(df.cast(df.not_equal(x, 0), x.dtype), axis, keepdims)
    if ord == 1:
        return df.reduce_sum(size, axis, keepdims)
    if ord == 2:
        return df.sqrt(df.reduce_sum(x * x, axis, keepdims))
    return df.pow(df.reduce_sum(df.pow(size, ord), axis, keepdims), 1 / ord)


def _matrices(x: df.Tensor, ord: Any, axes: list[int], keepdims: bool) -> df.Tensor:
    row, column = (a % x.ndim for a in axes)
    if ord == "fro":
        return df.sqrt(df.reduce_sum(x * x, [row, column], keepdims))
    if ord not in (1, -1, float("inf"), float("-inf")):
        raise ValueError(f"norm: ord={ord!r} of a matrix takes its singular values, which dualflow "
                         "does not compute yet; there are 'fro', 1, -1, inf and -inf")
    first, then = (row, column) if abs(ord) == 1 else (column, row)
    sums = df.reduce_sum(df.abs(x), first, True)
    found = (df.reduce_max if ord > 0 else df.reduce_min)(sums, then, True)
    return found if keepdims else df.squeeze(found, [row, column])
