"""Reductions of ragged tensors."""

from __future__ import annotations

from dualflow._core import apply, as_tensor
from dualflow.dtypes import int32, int64
from dualflow.errors import InvalidArgumentError, UnimplementedError
from dualflow.ops.array.creation import ones_like
from dualflow.ops.array.shape import ints
from dualflow.ops.elementwise.arithmetic import add, subtract
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import greater
from dualflow.ops.elementwise.division import divide
from dualflow.ops.elementwise.exponential import sqrt
from dualflow.ops.elementwise.limits import maximum
from dualflow.ops.indexing.gather import gather
from dualflow.ops.indexing.segment import unsorted_segment_sum
from dualflow.ops.indexing.segment_reductions import (
    unsorted_segment_max,
    unsorted_segment_min,
    unsorted_segment_prod,
)
from dualflow.ops.ragged.partition import iota, largest, rows_of, size_of, splits_of
from dualflow.ops.ragged.ragged_tensor import RaggedTensor, length
from dualflow.ops.ragged.rows import expand_dims

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__: list[str] = []

SEGMENTS: dict[str, Callable[..., Any]] = {
    "reduce_sum": unsorted_segment_sum, "reduce_max": unsorted_segment_max,
    "reduce_min": unsorted_segment_min, "reduce_prod": unsorted_segment_prod}
BOOLS = {"reduce_any": "reduce_max", "reduce_all": "reduce_min"}


def reduce(op: str, x: RaggedTensor, axes: Any, keepdims: bool, name: str | None) -> Any:
    """Reduce a ragged tensor along axes, the last axis first."""
    made: Any
    n = x.ndim
    given = ints(axes, f"{op}: axis")
    if any([not -n <= a < n for a in given]) or len({a % n for a in given}) != len(given):
        raise InvalidArgumentError(f"{op}: axis {axes} of {n} dimensions")
    if op in BOOLS:
        found = reduce(BOOLS[op], x.with_flat_values(cast(x.flat_values, int32)), axes, keepdims,
                       name)
        return greater(found, 0)
    if op == "reduce_mean":
        ones = x.with_flat_values(ones_like(x.flat_values))
        return divide(reduce("reduce_sum", x, axes, keepdims, name),
                      reduce("reduce_sum", ones, axes, keepdims, name))
    if op in ("reduce_variance", "reduce_std"):
        mean = reduce("reduce_mean", x, axes, keepdims, name)
        made = subtract(reduce("reduce_mean", x * x, axes, keepdims, name), mean * mean)
        return sqrt(made) if op == "reduce_std" else made
    if op not in SEGMENTS:
        raise UnimplementedError(f"{op}: ragged tensors are not supported along an axis")
    chosen = sorted([a % n for a in given])
    if len(chosen) == n:
        flat = x.flat_values
        made = apply(op, flat, axes=tuple(range(flat.ndim)), keepdims=False, name=name)
    else:
        made = x
        for axis in reversed(chosen):
            made = _reduced(op, made, axis)
    for axis in chosen if keepdims else ():
        made = expand_dims(made, axis)
    return made


def _reduced(op: str, x: Any, axis: int) -> Any:
    if not isinstance(x, RaggedTensor):
        return apply(op, x, axes=(axis,), keepdims=False)
    if axis > 1:
        return x.with_values(_reduced(op, x.values, axis - 1))
    n = length(x.values)
    rows = rows_of(x.row_splits, n)
    if axis == 1:
        return _by_segment(op, x.values, rows, length(x))
    columns = subtract(iota(n), gather(x.row_splits, rows))
    return _by_segment(op, x.values, columns, size_of(largest(x.row_lengths())))


def _by_segment(op: str, values: Any, segments: Any, n: Any) -> Any:
    """Reduce the values of each segment; rows of values are as long as the longest of them."""
    if not isinstance(values, RaggedTensor):
        return SEGMENTS[op](values, segments, n)
    each = values.row_lengths()
    longest = unsorted_segment_max(each, segments, n)       # negative without rows
    splits = splits_of(maximum(longest, as_tensor(0, int64)))
    m = length(values.values)
    rows = rows_of(values.row_splits, m)
    columns = subtract(iota(m), gather(values.row_splits, rows))
    at = add(gather(gather(splits, segments), rows), columns)
    return RaggedTensor._made(_by_segment(op, values.values, at, size_of(splits[-1])), splits)
