"""Indices and slices of ragged tensors."""

from __future__ import annotations

import builtins

from dualflow._core import Tensor, TensorBase, as_tensor
from dualflow._util.arguments import shown
from dualflow.dtypes import int64
from dualflow.errors import DTypeError, InvalidArgumentError, OutOfRangeError
from dualflow.ops.elementwise.arithmetic import add
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import less, where
from dualflow.ops.elementwise.limits import maximum, minimum
from dualflow.ops.indexing.gather import gather
from dualflow.ops.ragged.partition import is_known, ranges, size_of
from dualflow.ops.ragged.ragged_tensor import RaggedTensor, length
from dualflow.ops.ragged.rows import between, expand_dims, pieces, take

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__: list[str] = []

WHOLE = builtins.slice(None)


def item(x: RaggedTensor, key: Any) -> Any:
    """Return ``x[key]``."""
    keys = list(key) if isinstance(key, tuple) else [key]
    dots = [k for k, part in enumerate(keys) if part is Ellipsis]
    named = len([k for k in keys if k is not None and k is not Ellipsis])
    if len(dots) > 1 or named > x.ndim:
        raise InvalidArgumentError(f"index {shown(key)} of a ragged tensor with {x.ndim} "
                                   "dimensions")
    if dots:
        keys[dots[0]:dots[0] + 1] = [WHOLE] * (x.ndim - named)
    return _rows(x, keys)


def _rows(x: Any, keys: list[Any]) -> Any:
    """Apply an index to the first and the following dimensions."""
    if not keys:
        return x
    if not isinstance(x, RaggedTensor):
        return x[tuple(keys)]
    first, rest = keys[0], keys[1:]
    if first is None:
        return expand_dims(_rows(x, rest), 0)
    if isinstance(first, builtins.slice):
        return _inner(_sliced(x, first), rest)
    found = row(x, first)
    return _rows(found, rest)


def row(x: RaggedTensor, k: Any) -> Any:
    """Return a row by its number."""
    n = length(x)
    if isinstance(k, TensorBase) and type(k) is not Tensor:
        k = cast(k, int64)
        k = where(less(k, as_tensor(0, int64)), add(k, as_tensor(n, int64)), k)
        ends = size_of(gather(x.row_splits, k)), size_of(gather(x.row_splits, k + 1))
        return between(x.values, *ends)
    if isinstance(k, bool) or not hasattr(k, "__index__"):
        raise DTypeError(f"index {shown(k)} of a ragged tensor, expected integers, slices, ... and "
                         "None")
    at = k.__index__()
    if not -n <= at < n:
        raise OutOfRangeError(f"index {at} of a ragged tensor with {n} rows")
    at = at % n
    return between(x.values, size_of(x.row_splits[at]), size_of(x.row_splits[at + 1]))


def _sliced(x: RaggedTensor, key: builtins.slice) -> RaggedTensor:
    if key == WHOLE:
        return x
    n = length(x)
    if all([k is None or type(k) is int for k in (key.start, key.stop, key.step)]) and (
            key.step in (None, 1)) and is_known(x.row_splits):
        start, stop, _ = key.indices(n)
        made: RaggedTensor = between(x, start, max(start, stop))
        return made
    return pieces(x.values, x.row_starts()[key], x.row_lengths()[key])


def _inner(x: Any, keys: list[Any]) -> Any:
    """Apply an index to the dimensions after the first."""
    if not keys:
        return x
    if not isinstance(x, RaggedTensor):
        return x[(WHOLE, *keys)]
    first, rest = keys[0], keys[1:]
    if first is None:
        return expand_dims(_inner(x, rest), 1)
    if isinstance(first, builtins.slice):
        if first != WHOLE:
            x = _columns(x, first)
        if not rest:
            return x
        values = _inner(x.values, rest)
        return RaggedTensor._made(values, x.row_splits, x._uniform)
    if x.uniform_row_length is None:
        raise InvalidArgumentError(f"index {shown(first)} of an inner ragged dimension, whose rows "
                                   "may be shorter; use a slice")
    if not -x.uniform_row_length <= first < x.uniform_row_length:
        raise OutOfRangeError(f"index {first} of rows of {x.uniform_row_length} values")
    return _inner(take(x.values, x.row_starts() + first % x.uniform_row_length), rest)


def _columns(x: RaggedTensor, key: builtins.slice) -> RaggedTensor:
    """Return a slice of each row."""
    step = 1 if key.step is None else key.step.__index__()
    if step == 0:
        raise InvalidArgumentError("a slice has step 0")
    n = x.row_lengths()
    low, high = (as_tensor(0, int64), n) if step > 0 else (as_tensor(-1, int64), n - 1)
    start = _bounded(key.start, n, low, high, low if step > 0 else high)
    stop = _bounded(key.stop, n, low, high, high if step > 0 else low)
    zero = n * 0
    at, splits = ranges(start + x.row_starts(), stop + x.row_starts() + zero,
                        zero + as_tensor(step, int64))
    return RaggedTensor._made(take(x.values, at), splits)


def _bounded(bound: Any, n: Any, low: Any, high: Any, missing: Any) -> Any:
    """Return a bound of a slice of rows of length `n` as an index."""
    if bound is None:
        return missing
    at: Any = cast(bound, int64)
    at = where(less(at, as_tensor(0, int64)), add(n, at), add(n * 0, at))
    return minimum(maximum(at, low), high)
