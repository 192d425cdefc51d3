"""Maxima, minima, products and means of segments, which are rows with equal ids. Composed of
segment sums and scatter ops."""

from __future__ import annotations

import math

from dualflow._core import Tensor, as_tensor
from dualflow.dtypes import DType
from dualflow.errors import DTypeError
from dualflow.ops.array.creation import ones_like, zeros_like
from dualflow.ops.array.shape import expand_dims, one_size
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import equal, less, where
from dualflow.ops.elementwise.exponential import sqrt
from dualflow.ops.elementwise.limits import maximum
from dualflow.ops.indexing.gather import tensor_scatter_nd_max, tensor_scatter_nd_min
from dualflow.ops.indexing.scatter import tensor_scatter_nd_mul
from dualflow.ops.indexing.segment import segment_sum, unsorted_segment_sum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from dualflow.ops.types import TensorLike

__all__ = [
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "unsorted_segment_max",
    "unsorted_segment_mean",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sqrt_n",
]

Combine: TypeAlias = "Callable[[Tensor, Tensor, Tensor], Tensor]"


def _tensors(op: str, data: TensorLike, ids: TensorLike) -> tuple[Tensor, Tensor]:
    x, at = as_tensor(data, None, op), as_tensor(ids, None, op)
    if x.dtype.is_bool:
        raise DTypeError(f"{op}: data is bool, expected a number dtype")
    return x, at


def _lowest(dtype: DType) -> float:
    if dtype.is_floating:
        return -math.inf
    return 0 if dtype.name.startswith("u") else -(2 ** (8 * dtype.itemsize - 1))


def _highest(dtype: DType) -> float:
    if dtype.is_floating:
        return math.inf
    return 2 ** (8 * dtype.itemsize - (not dtype.name.startswith("u"))) - 1


def _beside(counts: Tensor, ndim: int) -> Tensor:
    """Expand counts of rows to the rank of the results."""
    for _ in range(ndim - counts.ndim):
        counts = expand_dims(counts, -1)
    return counts


def _sorted(combine: Combine, x: Tensor, ids: Tensor, identity: float, empty: float) -> Tensor:
    """Reduce segments up to the last id; `empty` for ids that do not occur."""
    start = zeros_like(segment_sum(x, ids)) + identity
    counts = segment_sum(ones_like(ids), ids)
    made = combine(start, expand_dims(ids, -1), x)
    return where(equal(_beside(counts, made.ndim), 0), empty, made)


def _loose(combine: Combine, x: Tensor, ids: Tensor, n: int, identity: float) -> Tensor:
    """Reduce `n` segments; rows with negative ids go to an extra segment, which is cut off."""
    counts = unsorted_segment_sum(ones_like(ids), ids, n)
    places = where(less(ids, 0), n, ids)
    start = zeros_like(unsorted_segment_sum(x, places, n + 1)) + identity
    made = combine(start, expand_dims(places, -1), x)[:n]
    return where(equal(_beside(counts, made.ndim), 0), identity, made)


def _counts(op: str, x: Tensor, ids: Tensor, n: int | None) -> Tensor:
    """Return the number of rows of each segment, at least 1, in the dtype of the data or its
    parts."""
    if not x.dtype.is_inexact:
        raise DTypeError(f"{op}: data is {x.dtype.name}, expected a floating or complex dtype")
    ones = ones_like(ids)
    counts = segment_sum(ones, ids) if n is None else unsorted_segment_sum(ones, ids, n)
    return _beside(maximum(cast(counts, x.dtype.real_dtype), 1), x.ndim - ids.ndim + 1)


def segment_max(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Return the maxima of the rows of `data` with equal ids, which are sorted.

    Parameters
    ----------
    data : Tensor, any number dtype, shape (n, ...)
    segment_ids : Tensor, int32 or int64, shape (n,), sorted, not negative

    Returns
    -------
    Tensor, dtype of `data`, shape ``(segment_ids[-1] + 1, ...)``, 0 for ids that do not occur

    Raises
    ------
    InvalidArgumentError
        If the ids are not sorted or one is negative.

    Notes
    -----
    The gradient is divided equally among rows that equal the result.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.segment_max([3, 1, 2], [0, 0, 2]).numpy().tolist()
    [3, 0, 2]
    """
    x, ids = _tensors("segment_max", data, segment_ids)
    return _sorted(tensor_scatter_nd_max, x, ids, _lowest(x.dtype), 0)


def unsorted_segment_max(data: TensorLike, segment_ids: TensorLike, num_segments: int,
                         name: str | None = None) -> Tensor:
    """Return the maxima of the rows of `data` with equal ids.

    Parameters
    ----------
    data : Tensor, any number dtype, shape ``segment_ids.shape + (...)``
    segment_ids : Tensor, int32 or int64
        Rows with a negative id are skipped.
    num_segments : int

    Returns
    -------
    Tensor, dtype of `data`, shape (num_segments, ...), the lowest value for ids that do not occur

    Raises
    ------
    OutOfRangeError
        If an id is `num_segments` or more.

    Notes
    -----
    The gradient is divided equally among rows that equal the result.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.unsorted_segment_max([3, 1, 2], [1, -1, 0], 2).numpy().tolist()
    [2, 3]
    """
    x, ids = _tensors("unsorted_segment_max", data, segment_ids)
    n = one_size(num_segments, "unsorted_segment_max: num_segments")
    return _loose(tensor_scatter_nd_max, x, ids, n, _lowest(x.dtype))


def segment_min(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Return the minima of the rows of `data` with equal ids, which are sorted.

    Parameters
    ----------
    data : Tensor, any number dtype, shape (n, ...)
    segment_ids : Tensor, int32 or int64, shape (n,), sorted, not negative

    Returns
    -------
    Tensor, dtype of `data`, shape ``(segment_ids[-1] + 1, ...)``, 0 for ids that do not occur

    Raises
    ------
    InvalidArgumentError
        If the ids are not sorted or one is negative.

    Notes
    -----
    The gradient is divided equally among rows that equal the result.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.segment_min([3, 1, 2], [0, 0, 2]).numpy().tolist()
    [1, 0, 2]
    """
    x, ids = _tensors("segment_min", data, segment_ids)
    return _sorted(tensor_scatter_nd_min, x, ids, _highest(x.dtype), 0)


def unsorted_segment_min(data: TensorLike, segment_ids: TensorLike, num_segments: int,
                         name: str | None = None) -> Tensor:
    """Return the minima of the rows of `data` with equal ids.

    Parameters
    ----------
    data : Tensor, any number dtype, shape ``segment_ids.shape + (...)``
    segment_ids : Tensor, int32 or int64
        Rows with a negative id are skipped.
    num_segments : int

    Returns
    -------
    Tensor, dtype of `data`, shape (num_segments, ...), the highest value for ids that do not occur

    Raises
    ------
    OutOfRangeError
        If an id is `num_segments` or more.

    Notes
    -----
    The gradient is divided equally among rows that equal the result.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.unsorted_segment_min([3, 1, 2], [1, -1, 0], 2).numpy().tolist()
    [2, 3]
    """
    x, ids = _tensors("unsorted_segment_min", data, segment_ids)
    n = one_size(num_segments, "unsorted_segment_min: num_segments")
    return _loose(tensor_scatter_nd_min, x, ids, n, _highest(x.dtype))


def segment_prod(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Return the products of the rows of `data` with equal ids, which are sorted.

    Parameters
    ----------
    data : Tensor, any number dtype, shape (n, ...)
    segment_ids : Tensor, int32 or int64, shape (n,), sorted, not negative

    Returns
    -------
    Tensor, dtype of `data`, shape ``(segment_ids[-1] + 1, ...)``, 1 for ids that do not occur

    Raises
    ------
    InvalidArgumentError
        If the ids are not sorted or one is negative.

    Notes
    -----
    The gradient of a row is g times the product of the others.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.segment_prod([3, 1, 2], [0, 0, 2]).numpy().tolist()
    [3, 1, 2]
    """
    x, ids = _tensors("segment_prod", data, segment_ids)
    return _sorted(tensor_scatter_nd_mul, x, ids, 1, 1)


def unsorted_segment_prod(data: TensorLike, segment_ids: TensorLike, num_segments: int,
                          name: str | None = None) -> Tensor:
    """Return the products of the rows of `data` with equal ids.

    Parameters
    ----------
    data : Tensor, any number dtype, shape ``segment_ids.shape + (...)``
    segment_ids : Tensor, int32 or int64
        Rows with a negative id are skipped.
    num_segments : int

    Returns
    -------
    Tensor, dtype of `data`, shape (num_segments, ...), 1 for ids that do not occur

    Raises
    ------
    OutOfRangeError
        If an id is `num_segments` or more.

    Notes
    -----
    The gradient of a row is g times the product of the others.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.unsorted_segment_prod([3, 1, 2], [1, -1, 0], 2).numpy().tolist()
    [2, 3]
    """
    x, ids = _tensors("unsorted_segment_prod", data, segment_ids)
    n = one_size(num_segments, "unsorted_segment_prod: num_segments")
    return _loose(tensor_scatter_nd_mul, x, ids, n, 1)


def segment_mean(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Return the means of the rows of `data` with equal ids, which are sorted.

    Parameters
    ----------
    data : Tensor, floating, shape (n, ...)
    segment_ids : Tensor, int32 or int64, shape (n,), sorted, not negative

    Returns
    -------
    Tensor, dtype of `data`, shape ``(segment_ids[-1] + 1, ...)``, 0 for ids that do not occur

    Raises
    ------
    InvalidArgumentError
        If the ids are not sorted or one is negative.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.segment_mean([3., 1., 2.], [0, 0, 2]).numpy().tolist()
    [2.0, 0.0, 2.0]
    """
    x, ids = _tensors("segment_mean", data, segment_ids)
    return segment_sum(x, ids) / _counts("segment_mean", x, ids, None)


def unsorted_segment_mean(data: TensorLike, segment_ids: TensorLike, num_segments: int,
                          name: str | None = None) -> Tensor:
    """Return the means of the rows of `data` with equal ids.

    Parameters
    ----------
    data : Tensor, floating, shape ``segment_ids.shape + (...)``
    segment_ids : Tensor, int32 or int64
        Rows with a negative id are skipped.
    num_segments : int

    Returns
    -------
    Tensor, dtype of `data`, shape (num_segments, ...), 0 for ids that do not occur

    Raises
    ------
    OutOfRangeError
        If an id is `num_segments` or more.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.unsorted_segment_mean([3., 1., 2.], [1, -1, 1], 2).numpy().tolist()
    [0.0, 2.5]
    """
    x, ids = _tensors("unsorted_segment_mean", data, segment_ids)
    counts = _counts("unsorted_segment_mean", x, ids, num_segments)
    return unsorted_segment_sum(x, ids, num_segments) / counts


def unsorted_segment_sqrt_n(data: TensorLike, segment_ids: TensorLike, num_segments: int,
                            name: str | None = None) -> Tensor:
    """Return the sums of the rows of `data` with equal ids, divided by the root of their number.

    Parameters
    ----------
    data : Tensor, floating, shape ``segment_ids.shape + (...)``
    segment_ids : Tensor, int32 or int64
        Rows with a negative id are skipped.
    num_segments : int

    Returns
    -------
    Tensor, dtype of `data`, shape (num_segments, ...), 0 for ids that do not occur

    Raises
    ------
    OutOfRangeError
        If an id is `num_segments` or more.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.unsorted_segment_sqrt_n([3., 1., 2., 2., 1.], [1, -1, 1, 1, 1], 2).numpy().tolist()
    [0.0, 4.0]
    """
    x, ids = _tensors("unsorted_segment_sqrt_n", data, segment_ids)
    counts = _counts("unsorted_segment_sqrt_n", x, ids, num_segments)
    return unsorted_segment_sum(x, ids, num_segments) / sqrt(counts)
