"""Rows of ragged tensors: selection, concatenation, and values of any kind in rows."""

from __future__ import annotations

from dualflow._core import TensorBase, as_tensor
from dualflow.dtypes import int64
from dualflow.errors import DTypeError, ShapeError
from dualflow.ops.array import join
from dualflow.ops.array.creation import constant
from dualflow.ops.array.shape import expand_dims as expand_dense, reshape
from dualflow.ops.array.slicing import tile as tile_dense
from dualflow.ops.elementwise.arithmetic import add, subtract
from dualflow.ops.indexing.gather import gather
from dualflow.ops.ragged.partition import iota, is_known, rows_of, size_of, splits_of
from dualflow.ops.ragged.ragged_tensor import RaggedTensor, length, levels
from dualflow.ops.reduction.cumulative import cumsum
from dualflow.ops.string_tensor import StringTensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__: list[str] = []


def take(values: Any, at: Any) -> Any:
    """Return the rows of a tensor at given positions, an int64 tensor of shape (n,)."""
    if type(values) is StringTensor and is_known(at):
        return values[at.numpy()]               # faster than a gather of handles
    if not isinstance(values, RaggedTensor):
        return gather(values, at)
    return pieces(values.values, gather(values.row_starts(), at), gather(values.row_lengths(), at))


def pieces(values: Any, starts: Any, lengths: Any) -> RaggedTensor:
    """Return pieces of `values` as the rows of a ragged tensor."""
    splits = splits_of(lengths)
    n = size_of(splits[-1])
    shift = gather(subtract(starts, cumsum(lengths, exclusive=True)), rows_of(splits, n))
    return RaggedTensor._made(take(values, add(iota(n), shift)), splits)


def between(values: Any, start: Any, end: Any) -> Any:
    """Return the rows of a tensor from `start` to `end`."""
    if not isinstance(values, RaggedTensor):
        return values[start:end]
    splits = values.row_splits[start:end + 1]
    inner = between(values.values, *_ends(splits))
    return RaggedTensor._made(inner, subtract(splits, splits[0]), values._uniform)


def _ends(splits: Any) -> tuple[Any, Any]:
    return size_of(splits[0]), size_of(splits[-1])


def convertible(x: Any) -> Any:
    """Return an argument as a ragged tensor, a tensor or text."""
    return x if isinstance(x, RaggedTensor | TensorBase | StringTensor) else constant(x)


def with_rank(x: Any, ragged_rank: int) -> Any:
    """Return a tensor with at least so many ragged dimensions."""
    if not isinstance(x, RaggedTensor):
        return x if ragged_rank == 0 else RaggedTensor.from_tensor(x, None, None, ragged_rank)
    if x.ragged_rank >= ragged_rank:
        return x
    return x.with_flat_values(with_rank(x.flat_values, ragged_rank - x.ragged_rank))


def alike(values: Sequence[Any], caller: str) -> list[Any]:
    """Return tensors of one rank as ragged tensors with equally many ragged dimensions."""
    xs = [convertible(x) for x in values]
    if any([x.ndim != xs[0].ndim for x in xs]):
        raise ShapeError(f"{caller}: tensors with {[x.ndim for x in xs]} dimensions, expected "
                         "one rank")
    most = max([len(levels(x)) for x in xs])
    return [with_rank(x, most) for x in xs]


def joined(values: Sequence[Any]) -> Any:
    """Return the rows of several tensors with equally many ragged dimensions."""
    if all([type(x) is StringTensor for x in values]):
        import numpy as np

        return StringTensor(np.concatenate([x.numpy() for x in values]))
    if not isinstance(values[0], RaggedTensor):
        return join.concat(values, 0)
    offset: Any = as_tensor([0], int64)
    splits = [offset]
    for x in values:
        splits.append(add(x.row_splits[1:], offset))
        offset = add(offset, x.row_splits[-1:])
    return RaggedTensor._made(joined([x.values for x in values]), join.concat(splits, 0))


def concat(values: Sequence[Any], axis: int) -> Any:
    """Concatenate tensors along an axis; at least one is ragged."""
    xs = alike(values, "concat")
    n = xs[0].ndim
    if not -n <= axis < n:
        raise ShapeError(f"concat: axis {axis} of tensors with {n} dimensions")
    return _concat(xs, axis % n)


def _concat(xs: Sequence[Any], axis: int) -> Any:
    if not isinstance(xs[0], RaggedTensor):
        return join.concat(xs, axis)
    if axis == 0 or len(xs) == 1:
        return joined(xs)
    n, k = length(xs[0]), len(xs)
    if any([length(x) != n for x in xs]):
        raise ShapeError(f"concat: {[length(x) for x in xs]} rows, expected equally many")
    if axis > 1:
        for x in xs[1:]:
            same_splits(xs[0], x, "concat")
        return xs[0].with_values(_concat([x.values for x in xs], axis - 1))
    order = reshape(add(expand_dense(iota(n), 1), iota(k) * n), (n * k,))
    mixed = take(joined(xs), order)         # row i of each tensor, then row i + 1
    return RaggedTensor._made(mixed.values, mixed.row_splits[::k])


def same_splits(x: Any, y: Any, caller: str) -> None:
    """Raise unless two ragged tensors have equal outer splits. Traced splits are not compared;
    their values are checked to be equally many."""
    a, b = x.row_splits, y.row_splits
    if a is b:
        return
    if is_known(a) and is_known(b) and a.tolist() != b.tolist():
        raise ShapeError(f"{caller}: rows of {shown_lengths(x)} and {shown_lengths(y)} values, "
                         "expected equal lengths")


def shown_lengths(x: Any) -> str:
    """Return the row lengths for messages."""
    found = x.row_lengths().tolist()
    return f"[{', '.join(map(str, found[:8]))}{', ...' if len(found) > 8 else ''}]"


def expand_dims(x: Any, axis: int) -> Any:
    """Return a ragged tensor with a new dimension of size 1."""
    if not isinstance(x, RaggedTensor):
        return x[None] if isinstance(x, StringTensor) else expand_dense(x, axis)
    n = x.ndim + 1
    if not -n <= axis < n:
        raise ShapeError(f"expand_dims: axis {axis} of {x.ndim} dimensions")
    at, rows = axis % n, length(x)
    if at == 0:
        return RaggedTensor._made(x, iota(2) * rows, rows if type(rows) is int else None)
    if at == 1:
        return RaggedTensor._made(x, iota(rows + 1), 1)
    return x.with_values(expand_dims(x.values, at - 1))


def stack(values: Sequence[Any], axis: int = 0) -> Any:
    """Stack tensors, whose rows may have different lengths, along a new dimension."""
    xs = [convertible(x) for x in values]
    n = xs[0].ndim + 1
    if not -n <= axis < n:
        raise ShapeError(f"stack: axis {axis} of tensors with {n - 1} dimensions")
    if axis % n:
        return concat([expand_dims(x, axis % n) for x in xs], axis % n)
    rows = alike(xs, "stack")
    if rows[0].ndim == 0:
        return join.stack(rows) if isinstance(rows[0], TensorBase) else constant(rows)
    if not isinstance(rows[0], RaggedTensor) and rows[0].ndim > 1:
        rows = [with_rank(x, rows[0].ndim - 1) for x in rows]
    lengths = [as_tensor(length(x), int64) for x in rows]
    return RaggedTensor._made(joined(rows), splits_of(join.stack(lengths)))


def tile(x: RaggedTensor, multiples: Sequence[int]) -> Any:
    """Repeat a ragged tensor along each dimension."""
    if len(multiples) != x.ndim:
        raise ShapeError(f"tile: {len(multiples)} multiples of {x.ndim} dimensions, expected one "
                         "per dimension")
    made = x
    for axis, times in enumerate(multiples[:x.ragged_rank + 1]):
        if times != 1:
            made = concat([made] * times, axis) if times else take(
                made, iota(0)) if axis == 0 else _empty(made, axis)
    inner = list(multiples[x.ragged_rank + 1:])
    if inner:
        made = made.with_flat_values(tile_dense(made.flat_values, [1, *inner]))
    return made


def _empty(x: RaggedTensor, axis: int) -> RaggedTensor:
    if axis > 1:
        return x.with_values(_empty(x.values, axis - 1))
    return RaggedTensor._made(take(x.values, iota(0)), x.row_splits * 0)


def ragged(x: Any, caller: str) -> RaggedTensor:
    """Return an argument that must be a ragged tensor."""
    if not isinstance(x, RaggedTensor):
        raise DTypeError(f"{caller}: got {type(x).__name__}, expected a RaggedTensor")
    return x
