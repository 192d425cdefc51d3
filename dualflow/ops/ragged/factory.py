"""Functions of `df.ragged`: creation of ragged tensors, and functions of their values."""

from __future__ import annotations

import builtins

from dualflow._core import as_tensor
from dualflow._util.arguments import shown
from dualflow.dtypes import as_dtype, float32, int64
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError
from dualflow.ops.array import creation
from dualflow.ops.array.shape import broadcast_to, ints, reshape
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import where
from dualflow.ops.indexing.segment import unsorted_segment_sum
from dualflow.ops.ragged import rows
from dualflow.ops.ragged.elementwise import on_flat_values
from dualflow.ops.ragged.partition import (
    largest,
    ranges,
    rows_of,
    size_of,
    splits_of,
    splits_of_rows,
    vector,
)
from dualflow.ops.ragged.ragged_tensor import RaggedTensor, length
from dualflow.ops.string_tensor import StringTensor, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dualflow.ops.types import DTypeLike, TensorLike

__all__ = ["boolean_mask", "constant", "map_flat_values", "range", "row_splits_to_segment_ids",
           "segment_ids_to_row_splits", "stack"]


def constant(pylist: Any, dtype: DTypeLike | None = None, ragged_rank: int | None = None,
             inner_shape: Sequence[int] | None = None, name: str | None = None,
             row_splits_dtype: DTypeLike = int64) -> Any:
    """Return nested lists of numbers or text as a ragged tensor.

    Parameters
    ----------
    pylist : nested lists
        All values are equally deep.
    dtype : dtype, optional
        By default, as for `df.constant`.
    ragged_rank : int, optional
        The number of ragged dimensions; by default, all after the first that are not in
        `inner_shape`.
    inner_shape : sequence of int, optional
        The shape of each value.
    row_splits_dtype
        Accepted for compatibility with TensorFlow: splits are int64.

    Returns
    -------
    RaggedTensor, or Tensor without ragged dimensions

    Raises
    ------
    InvalidArgumentError
        If the values are not equally deep, or numbers as well as text.

    Examples
    --------
    >>> import dualflow as df
    >>> df.ragged.constant([[1, 2], [], [3]])
    <dualflow.RaggedTensor [[1, 2], [], [3]]>
    >>> df.ragged.constant([[[1, 2], [3, 4]], [[5, 6]]], ragged_rank=1).flat_values.shape
    (3, 2)
    """
    given = pylist.tolist() if hasattr(pylist, "tolist") else pylist
    level, depth, whole = [given], 0, 1
    while any([isinstance(x, list | tuple) for x in level]):
        if not all([isinstance(x, list | tuple) for x in level]):
            raise InvalidArgumentError(f"ragged.constant: {shown(pylist)} has values at depth "
                                       f"{depth} and deeper, expected one depth")
        depth += 1
        level = [y.tolist() if hasattr(y, "tolist") else y for x in level for y in x]
        whole = depth
    if len({isinstance(x, str | bytes) for x in level}) > 1:
        raise InvalidArgumentError(f"ragged.constant: {shown(pylist)} has numbers and text")
    inner = () if inner_shape is None else ints(inner_shape, "ragged.constant: inner_shape")
    ranks = max(whole - 1 - len(inner), 0) if ragged_rank is None else ragged_rank
    if not 0 <= ranks <= max(whole - 1, 0) and level:
        raise InvalidArgumentError(f"ragged.constant: ragged_rank is {ranks} and the depth "
                                   f"{whole}, expected less than the depth")
    flat, splits = given, []
    for _ in builtins.range(ranks):
        splits.append(splits_of(vector([len(x) for x in flat], "ragged.constant")))
        flat = [y for x in flat for y in x]
    values = _values(flat, level, dtype)
    if inner_shape is not None or (not level and ranks + 1 < whole):
        values = reshape(values, (-1 if level else 0, *inner))
    made: Any = values
    for split in reversed(splits):
        made = RaggedTensor._made(made, split)
    return made


def _values(flat: Any, leaves: Sequence[Any], dtype: DTypeLike | None) -> Any:
    if leaves and isinstance(leaves[0], str | bytes):
        return text(flat, "ragged.constant")
    if not leaves and dtype is not None and getattr(dtype, "name", dtype) in ("string", str):
        return text(flat, "ragged.constant") if flat else StringTensor([])
    return creation.constant(flat, dtype or (None if leaves else float32))


def range(starts: TensorLike, limits: TensorLike | None = None, deltas: TensorLike = 1,
          dtype: DTypeLike | None = None, name: str | None = None,
          row_splits_dtype: DTypeLike = int64) -> RaggedTensor:
    """Return the ranges from `starts` to `limits` as the rows of a ragged tensor.

    Parameters
    ----------
    starts, limits, deltas : Tensor, shape () or (n,)
        With one argument, the limits of ranges that start at 0.
    dtype : dtype, optional

    Examples
    --------
    >>> import dualflow as df
    >>> df.ragged.range([2, 0, 3])
    <dualflow.RaggedTensor [[0, 1], [], [0, 1, 2]]>
    >>> df.ragged.range([0, 5], [6, 7], 2)
    <dualflow.RaggedTensor [[0, 2, 4], [5]]>
    """
    if limits is None:
        starts, limits = 0, starts
    xs: list[Any] = [as_tensor(x, None, "ragged.range") for x in (starts, limits, deltas)]
    wanted = None if dtype is None else as_dtype(dtype)
    if wanted is None:
        common = sum([x.reshape((-1,))[:1] * 0 for x in xs])
        wanted = common.dtype
    n: Any = 1
    for x in xs:
        if x.ndim > 1:
            raise ShapeError(f"ragged.range: an argument has shape {x.shape}, expected () or (n,)")
        n = x.shape[0] if x.ndim else n
    values, splits = ranges(*[broadcast_to(cast(x, wanted), (n,)) for x in xs])
    return RaggedTensor._made(values, splits)


def stack(values: Sequence[Any], axis: int = 0, name: str | None = None) -> Any:
    """Stack tensors of one rank, whose sizes may differ, along a new dimension.

    Parameters
    ----------
    values : list of Tensor and RaggedTensor
    axis : int

    Examples
    --------
    >>> import dualflow as df
    >>> df.ragged.stack([df.constant([1, 2]), df.constant([3])])
    <dualflow.RaggedTensor [[1, 2], [3]]>
    """
    if not len(values):
        raise InvalidArgumentError("ragged.stack: got no tensors")
    return rows.stack(values, axis)


def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the ragged tensor with the flat values ``op(*args)``, where ragged tensors among the
    arguments stand for their flat values and have equal splits.

    Parameters
    ----------
    op : callable
        Returns one row for each row of the flat values.
    *args, **kwargs

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.ragged.constant([[1, 2], [3]])
    >>> df.ragged.map_flat_values(lambda v: v * 2 + 1, x)
    <dualflow.RaggedTensor [[3, 5], [7]]>
    """
    def is_ragged(x: Any) -> bool:
        return isinstance(x, RaggedTensor)

    found: list[Any] = []
    for x in (*args, *kwargs.values()):
        found += [y for y in (x if isinstance(x, list | tuple) else [x]) if is_ragged(y)]
    if not found:
        return op(*args, **kwargs)

    def apply(flat: list[Any]) -> Any:
        rest = iter(flat)

        def plain(x: Any) -> Any:
            if isinstance(x, list | tuple):
                return type(x)([plain(y) for y in x])
            return next(rest) if is_ragged(x) else x

        return op(*[plain(x) for x in args], **{k: plain(x) for k, x in kwargs.items()})

    return on_flat_values("map_flat_values", found, apply)


def boolean_mask(data: Any, mask: Any, name: str | None = None) -> Any:
    """Return the elements of `data` for which `mask` is True, in the rows of the mask.

    Parameters
    ----------
    data : Tensor or RaggedTensor
    mask : bool Tensor or RaggedTensor
        Its shape is the beginning of the shape of `data`.

    Returns
    -------
    RaggedTensor of the rank of `data`; for a mask of rank 1, rows of `data`

    Examples
    --------
    >>> import dualflow as df
    >>> df.ragged.boolean_mask([[1, 2], [3, 4], [5, 6]],
    ...                        [[True, False], [False, False], [True, True]])
    <dualflow.RaggedTensor [[1], [], [5, 6]]>
    """
    x, m = rows.convertible(data), rows.convertible(mask)
    if m.ndim < 1 or m.ndim > x.ndim or not m.dtype.is_bool:
        raise DTypeError(f"ragged.boolean_mask: mask is {m.dtype} with {m.ndim} dimensions, "
                         f"expected bool and 1 to {x.ndim}")
    levels = max(m.ndim - 1, 0)
    return _masked(rows.with_rank(x, levels), rows.with_rank(m, levels))


def _masked(x: Any, mask: Any) -> Any:
    if not isinstance(mask, RaggedTensor):
        return rows.take(x, cast(where(mask)[:, 0], int64))
    rows.same_splits(x, mask, "ragged.boolean_mask")
    values = _masked(x.values, mask.values)
    if isinstance(mask.values, RaggedTensor):
        return RaggedTensor._made(values, mask.row_splits)
    kept = unsorted_segment_sum(cast(mask.values, int64), mask.value_rowids(), length(mask))
    return RaggedTensor._made(values, splits_of(kept))


def row_splits_to_segment_ids(splits: TensorLike, name: str | None = None,
                              out_type: DTypeLike | None = None) -> Any:
    """Return the row of each value.

    Parameters
    ----------
    splits : int Tensor, shape (n + 1,)
    out_type : dtype, default int64

    Examples
    --------
    >>> import dualflow as df
    >>> df.ragged.row_splits_to_segment_ids([0, 3, 3, 5]).tolist()
    [0, 0, 0, 2, 2]
    """
    x = vector(splits, "row_splits_to_segment_ids: splits")
    return cast(rows_of(x, size_of(x[-1])), out_type or int64)


def segment_ids_to_row_splits(segment_ids: TensorLike, num_segments: Any = None,
                              out_type: DTypeLike | None = None, name: str | None = None) -> Any:
    """Return the splits for the row of each value; rows do not decrease.

    Parameters
    ----------
    segment_ids : int Tensor, shape (n,)
    num_segments : int, optional
        The number of rows; by default, the last row plus one.
    out_type : dtype, default int64

    Examples
    --------
    >>> import dualflow as df
    >>> df.ragged.segment_ids_to_row_splits([0, 0, 0, 2, 2]).tolist()
    [0, 3, 3, 5]
    """
    x = vector(segment_ids, "segment_ids_to_row_splits: segment_ids")
    n = size_of(largest(x + 1) if num_segments is None else num_segments)
    return cast(splits_of_rows(x, n), out_type or int64)
