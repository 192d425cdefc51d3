"""Conversions between ragged tensors and dense or sparse tensors."""

from __future__ import annotations

from dualflow._core import as_tensor
from dualflow.dtypes import int64
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.ops.array import join
from dualflow.ops.array.creation import constant
from dualflow.ops.array.shape import broadcast_to, expand_dims, reshape, static_shape
from dualflow.ops.elementwise.arithmetic import add, multiply, subtract
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import less, not_equal, where
from dualflow.ops.elementwise.division import floordiv, floormod
from dualflow.ops.elementwise.limits import minimum
from dualflow.ops.indexing.gather import gather
from dualflow.ops.ragged.partition import (
    iota,
    is_known,
    largest,
    rows_of,
    size_of,
    sizes,
    splits_of,
    vector,
)
from dualflow.ops.ragged.ragged_tensor import RaggedTensor, length
from dualflow.ops.ragged.rows import convertible, joined, take
from dualflow.ops.reduction.reduce import reduce_max
from dualflow.ops.sparse.select import product
from dualflow.ops.sparse.sparse_tensor import SparseTensor
from dualflow.ops.string_tensor import StringTensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__: list[str] = []


def to_tensor(x: RaggedTensor, default_value: Any, shape: Any) -> Any:
    """See `RaggedTensor.to_tensor`."""
    values, wanted = x.values, [] if shape is None else sizes(shape, "to_tensor: shape")
    if len(wanted) > x.ndim:
        raise ShapeError(f"to_tensor: shape {wanted} of {x.ndim} dimensions")
    if isinstance(values, RaggedTensor):
        values = to_tensor(values, default_value, wanted[1:] or None)
    starts, lengths = x.row_starts(), x.row_lengths()
    if wanted and wanted[0] is not None:
        rows = iota(wanted[0])
        present = less(rows, as_tensor(length(x), int64))
        starts = _padded(starts, rows, present)
        lengths = _padded(lengths, rows, present)
    width = wanted[1] if len(wanted) > 1 and wanted[1] is not None else (
        x.uniform_row_length if x.uniform_row_length is not None else size_of(largest(lengths)))
    column = expand_dims(iota(width), 0)
    n = as_tensor(length(values), int64)
    at = where(less(column, expand_dims(lengths, 1)), add(column, expand_dims(starts, 1)), n)
    return take(joined([values, _filler(values, default_value)]), at)


def _padded(x: Any, rows: Any, present: Any) -> Any:
    """Return x[rows], with 0 for rows beyond the last."""
    whole = join.concat([x, as_tensor([0], int64)], 0)
    return gather(whole, where(present, rows, as_tensor(length(x), int64)))


def _filler(values: Any, default_value: Any) -> Any:
    """Return one row of default values."""
    inner = static_shape(values)[1:]
    empty: Any = "" if isinstance(values, StringTensor) else 0
    one = constant(empty if default_value is None else default_value, values.dtype)
    if one.ndim > len(inner):
        raise ShapeError(f"to_tensor: default_value has shape {one.shape}, expected at most "
                         f"{tuple(inner)}")
    return broadcast_to(one, (1, *inner))


def from_tensor(tensor: Any, lengths: Any, padding: Any, ragged_rank: int) -> RaggedTensor:
    """See `RaggedTensor.from_tensor`."""
    x = convertible(tensor)
    if not 0 < ragged_rank < x.ndim:
        raise InvalidArgumentError(f"from_tensor: ragged_rank is {ragged_rank}, expected 1 or more "
                                   f"and less than the rank, {x.ndim}")
    if lengths is not None and padding is not None:
        raise InvalidArgumentError("from_tensor: got lengths and padding, expected one of them")
    shape = static_shape(x)
    if isinstance(lengths, list | tuple) and lengths and not isinstance(lengths[0], int):
        made = from_tensor(x, lengths[0], None, 1)
        return made if len(lengths) == 1 else made.with_values(
            from_tensor(made.values, list(lengths[1:]), None, len(lengths) - 1))
    merged = _reshaped(x, (shape[0] * shape[1], *shape[2:]))
    uniform = RaggedTensor._made(merged, multiply(iota(shape[0] + 1), shape[1]), shape[1])
    if ragged_rank > 1:
        return uniform.with_values(from_tensor(merged, lengths, padding, ragged_rank - 1))
    if lengths is None and padding is None:
        return uniform
    column = expand_dims(iota(shape[1]), 0)
    if padding is None:
        each = minimum(vector(lengths, "from_tensor: lengths"), as_tensor(shape[1], int64))
        if length(each) != shape[0]:
            raise ShapeError(f"from_tensor: {length(each)} lengths of {shape[0]} rows")
    else:
        differs: Any = x != padding if isinstance(x, StringTensor) else (
            not_equal(x, constant(padding, x.dtype)))
        while differs.ndim > 2:
            differs = reduce_max(cast(differs, int64), -1)
        ends = where(cast(differs, "bool"), add(column, as_tensor(1, int64)), as_tensor(0, int64))
        each = reduce_max(join.concat([ends, multiply(expand_dims(iota(shape[0]), 1), 0)], 1), 1)
    kept = less(column, expand_dims(each, 1))
    return RaggedTensor._made(take(merged, where(reshape(kept, (-1,)))[:, 0]), splits_of(each))


def _reshaped(x: Any, shape: Sequence[Any]) -> Any:
    if type(x) is StringTensor:
        return StringTensor(x.numpy().reshape(shape))
    return reshape(x, shape)


def coordinates(x: RaggedTensor) -> list[Any]:
    """Return the position of each flat value in the first dimension and in each ragged one."""
    n = length(x.values)
    rows = rows_of(x.row_splits, n)
    columns = subtract(iota(n), gather(x.row_splits, rows))
    if not isinstance(x.values, RaggedTensor):
        return [rows, columns]
    inner = coordinates(x.values)
    return [gather(rows, inner[0]), gather(columns, inner[0]), *inner[1:]]


def to_sparse(x: RaggedTensor) -> SparseTensor:
    """See `RaggedTensor.to_sparse`."""
    at, flat = coordinates(x), x.flat_values
    inner = static_shape(flat)[1:]
    if inner:
        each = product(inner)
        element = iota(static_shape(flat)[0] * each)
        at = [gather(c, floordiv(element, each)) for c in at]
        rest = floormod(element, each)
        for k, n in enumerate(inner):
            below = product(inner[k + 1:])
            at.append(floormod(floordiv(rest, below), n))
        flat = _reshaped(flat, (-1,))
    return SparseTensor(join.stack(at, 1), flat, x.bounding_shape())


def from_sparse(st_input: Any) -> RaggedTensor:
    """See `RaggedTensor.from_sparse`."""
    if not isinstance(st_input, SparseTensor) or st_input.ndim != 2:
        raise InvalidArgumentError(f"from_sparse: got {type(st_input).__name__}, expected a sparse "
                                   "matrix")
    rows, columns = st_input.indices[:, 0], st_input.indices[:, 1]
    made = RaggedTensor.from_value_rowids(st_input.values, rows, st_input.sizes[0])
    if is_known(columns) and columns.tolist() != coordinates(made)[1].tolist():
        raise InvalidArgumentError("from_sparse: a row has gaps or is not in order, expected "
                                   "columns 0, 1, ... in each row")
    return made


def merge_dims(x: RaggedTensor, outer_axis: int, inner_axis: int) -> Any:
    """See `RaggedTensor.merge_dims`."""
    n = x.ndim
    if not (-n <= outer_axis < n and -n <= inner_axis < n) or outer_axis % n > inner_axis % n:
        raise InvalidArgumentError(f"merge_dims: axes {outer_axis} to {inner_axis} of {n} "
                                   "dimensions")
    return _merged(x, outer_axis % n, inner_axis % n)


def _merged(x: Any, outer: int, inner: int) -> Any:
    if outer == inner:
        return x
    if not isinstance(x, RaggedTensor):
        shape = static_shape(x)
        return _reshaped(x, (*shape[:outer], product(shape[outer:inner + 1]), *shape[inner + 1:]))
    if outer == 0:
        return _merged(x.values, 0, inner - 1)
    if outer > 1:
        return x.with_values(_merged(x.values, outer - 1, inner - 1))
    if isinstance(x.values, RaggedTensor):
        merged = RaggedTensor._made(x.values.values, gather(x.values.row_splits, x.row_splits))
    else:
        shape = static_shape(x.values)
        merged = RaggedTensor._made(_merged(x.values, 0, 1), multiply(x.row_splits, shape[1]))
    return _merged(merged, 1, inner - 1)
