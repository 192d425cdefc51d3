"""Sorting and searching. NaN is sorted last in either direction, and sorting is stable."""

from __future__ import annotations

from dualflow._core import Tensor, TensorBase, apply, as_tensor
from dualflow._util.arguments import integer
from dualflow._util.named_tuple import NamedTuple
from dualflow.dtypes import int32
from dualflow.errors import InvalidArgumentError
from dualflow.gradient_registry import gradient, no_gradient
from dualflow.ops.array.shape import static_shape, transpose
from dualflow.ops.axes import by_axes
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.indexing.gather import gather_grad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dualflow.ops.types import DTypeLike, TensorLike

__all__ = [
    "argsort",
    "searchsorted",
    "sort",
    "top_k",
    "unique",
    "unique_with_counts",
]


class TopK(NamedTuple):
    values: Tensor
    indices: Tensor


class Unique(NamedTuple):
    y: Tensor
    idx: Tensor


class UniqueWithCounts(NamedTuple):
    y: Tensor
    idx: Tensor
    count: Tensor                   # type: ignore[assignment]  # TensorFlow's name


def _descending(direction: str, op: str) -> bool:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise InvalidArgumentError(
            f"{op}: direction is {direction!r}, expected 'ASCENDING' or 'DESCENDING'")
    return direction == "DESCENDING"


def _along(values: TensorLike, axis: int, op: str, function: Callable[[Any], Tensor],
           name: str | None) -> Tensor:
    """Apply `function`, which works along the last axis, along any axis."""
    values = values if isinstance(values, TensorBase) else as_tensor(values, None, op)
    ndim = values.ndim
    chosen = by_axes(axis, ndim, op, lambda a: _along(values, a, op, function, name))
    if chosen is not None:
        return chosen
    axis = integer(axis, f"{op}: axis")
    if ndim and not -ndim <= axis < ndim:
        raise InvalidArgumentError(
            f"{op}: axis {axis} for values of shape {values.shape}, expected {-ndim} to {ndim - 1}")
    if ndim == 0 or axis in (-1, ndim - 1):
        return function(values)
    swap = list(range(ndim))
    swap[axis], swap[-1] = swap[-1], swap[axis]
    return transpose(function(transpose(values, swap)), swap, name=name)


def sort(values: TensorLike, axis: int = -1, direction: str = "ASCENDING",
         name: str | None = None) -> Tensor:
    """Sort `values` along an axis.

    Parameters
    ----------
    values : Tensor, bool or any number dtype, at least 1 dimension
    axis : int
    direction : "ASCENDING" or "DESCENDING"

    Returns
    -------
    Tensor, same shape and dtype as `values`

    Notes
    -----
    NaN is sorted last in either direction; -0 precedes 0. Equal elements keep their order. The
    gradient goes to the original position of each element.

    Examples
    --------
    >>> import dualflow as df
    >>> df.sort([3, 1, 2], direction="DESCENDING").numpy().tolist()
    [3, 2, 1]
    """
    descending = _descending(direction, "sort")
    return _along(values, axis, "sort",
                  lambda x: apply("sort", x, name=name, descending=descending), name)


@gradient("sort", saves="inputs")
def _(g, y, values, descending):
    order = apply("argsort", values, descending=descending)
    return gather_grad(g, order, static_shape(values), -1, len(values.shape) - 1)


def argsort(values: TensorLike, axis: int = -1, direction: str = "ASCENDING",
            stable: bool = False, name: str | None = None) -> Tensor:
    """Return the indices that sort `values` along an axis.

    Parameters
    ----------
    values : Tensor, bool or any number dtype, at least 1 dimension
    axis : int
    direction : "ASCENDING" or "DESCENDING"
    stable : bool
        Ignored: sorting is always stable.

    Returns
    -------
    Tensor, int32, same shape as `values`

    Notes
    -----
    NaN is sorted last in either direction. No gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.argsort([3, 1, 2]).numpy().tolist()
    [1, 2, 0]
    """
    descending = _descending(direction, "argsort")
    return _along(values, axis, "argsort",
                  lambda x: apply("argsort", x, name=name, descending=descending), name)


no_gradient("argsort", why="integer result")


def top_k(input: TensorLike, k: int = 1, sorted: bool = True, index_type: DTypeLike = int32,
          name: str | None = None) -> TopK:
    """Return the `k` largest elements along the last axis, and their indices.

    Parameters
    ----------
    input : Tensor, bool or any number dtype, shape (..., n)
    k : int, at most n
    sorted : bool
        Ignored: the values are always in descending order.
    index_type : int32, int64 or int16

    Returns
    -------
    values : Tensor, shape (..., k), dtype of `input`
    indices : Tensor, `index_type`, shape (..., k)

    Notes
    -----
    Of equal elements, the one with the lower index comes first; NaN comes last. The gradient of the
    values goes to their original positions.

    Examples
    --------
    >>> import dualflow as df
    >>> values, indices = df.math.top_k([1, 5, 3, 5], 3)
    >>> values.numpy().tolist(), indices.numpy().tolist()
    ([5, 5, 3], [1, 3, 2])
    """
    values, indices = apply("top_k", input, name=name, k=k)
    return TopK(values, indices if index_type is int32 else cast(indices, index_type))


@gradient("top_k", saves="output")
def _(g, y, input, k):
    return gather_grad(g[0], y[1], static_shape(input), -1, len(input.shape) - 1)


def searchsorted(sorted_sequence: TensorLike, values: TensorLike, side: str = "left",
                 out_type: DTypeLike = int32, name: str | None = None) -> Tensor:
    """Return the indices at which inserting `values` keeps the last axis sorted.

    Parameters
    ----------
    sorted_sequence : Tensor, bool or any number dtype, shape (..., n), ascending
    values : Tensor, shape (..., m) with the same leading dimensions, or any shape if
        `sorted_sequence` has one dimension
    side : "left" (before equal elements) or "right" (after them)
    out_type : int32 or int64

    Returns
    -------
    Tensor, of `out_type`, same shape as `values`, numbers from 0 to n

    Notes
    -----
    NaN counts as larger than every number. No gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.searchsorted([1, 3, 3, 5], [3, 6]).numpy().tolist()
    [1, 4]
    >>> df.searchsorted([1, 3, 3, 5], [3, 6], side="right").numpy().tolist()
    [3, 4]
    """
    if side not in ("left", "right"):
        raise InvalidArgumentError(f"searchsorted: side is {side!r}, expected 'left' or 'right'")
    return apply("searchsorted", sorted_sequence, values, name=name, right=side == "right",
                 out_type=out_type)


no_gradient("searchsorted", why="integer result")


def unique(x: TensorLike, out_idx: DTypeLike = int32, name: str | None = None) -> Unique:
    """Return the distinct elements of `x` in the order of their first occurrence.

    Parameters
    ----------
    x : Tensor, bool or any number dtype, shape (n,)
    out_idx : int32 or int64

    Returns
    -------
    y : Tensor, shape (number of distinct elements,), dtype of `x`
    idx : Tensor, `out_idx`, shape (n,)
        ``y[idx[i]] == x[i]``.

    Notes
    -----
    All NaNs count as equal. No gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> y, idx = df.unique([5, 1, 5, 2])
    >>> y.numpy().tolist(), idx.numpy().tolist()
    ([5, 1, 2], [0, 1, 0, 2])
    """
    y, idx, _ = apply("unique", x, name=name, out_idx=out_idx)
    return Unique(y, idx)


def unique_with_counts(x: TensorLike, out_idx: DTypeLike = int32,
                       name: str | None = None) -> UniqueWithCounts:
    """Return the results of `unique` for `x` and `out_idx`, and the count of each element.

    Examples
    --------
    >>> import dualflow as df
    >>> df.unique_with_counts([5, 1, 5, 2]).count.numpy().tolist()
    [2, 1, 1]
    """
    return UniqueWithCounts(*apply("unique", x, name=name, out_idx=out_idx))


no_gradient("unique", why="the number of results depends on the values")
