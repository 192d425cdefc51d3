"""Searching functions: extrema, nonzero elements, sorted insertion, selection."""

from typing import Any

from dualflow._core import Tensor
from dualflow.array_api.arrays import array, axes_of
from dualflow.dtypes import bool_, int64, uint8
from dualflow.errors import InvalidArgumentError
from dualflow.ops.array.join import unstack
from dualflow.ops.array.shape import expand_dims, reshape
from dualflow.ops.elementwise import compare
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.indexing.gather import gather
from dualflow.ops.reduction import norm, reduce_arg
from dualflow.ops.sorting import sort
from dualflow.ops.types import Axis, TensorLike

__all__ = ["argmax", "argmin", "count_nonzero", "nonzero", "searchsorted", "where"]


def argmax(x: TensorLike, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the index of the first largest element along `axis`, or of the first NaN.

    Parameters
    ----------
    x : array, any number dtype
    axis : int, optional
        None returns the index in the flat `x`, in row-major order.
    keepdims : bool
        Whether to keep the axes with size 1.

    Returns
    -------
    array, int64

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.argmax(df.constant([[1, 5], [7, 2]])).item()
    2
    """
    return _place(reduce_arg.argmax, "argmax", x, axis, keepdims)


def argmin(x: TensorLike, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the index of the first smallest element of `x` along `axis`, or of the first NaN.

    `keepdims` and the dtype are as in `argmax`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.argmin(df.constant([[1, 5], [7, 2]]), axis=1).tolist()
    [0, 1]
    """
    return _place(reduce_arg.argmin, "argmin", x, axis, keepdims)


def _place(op: Any, caller: str, x: TensorLike, axis: int | None, keepdims: bool) -> Tensor:
    y = array(x, caller)
    y = cast(y, uint8) if y.dtype.is_bool else y
    if axis is not None:
        found = op(y, axis)
        return expand_dims(found, axis) if keepdims else found
    found = op(reshape(y, (-1,)), 0)
    return reshape(found, (1,) * y.ndim) if keepdims else found


def count_nonzero(x: TensorLike, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the number of elements along `axis` that are not 0.

    Parameters
    ----------
    x : array, any dtype
    axis : int or tuple of int, optional
        By default all axes.
    keepdims : bool
        Whether to keep these axes with size 1.

    Returns
    -------
    array, int64

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.count_nonzero(df.constant([[0, 2], [3, 4]])).item()
    3
    """
    return norm.count_nonzero(array(x, "count_nonzero"), axes_of(axis), keepdims)


def nonzero(x: TensorLike, /) -> tuple[Tensor, ...]:
    """Return the indices of elements that are not 0.

    Parameters
    ----------
    x : array, any dtype, 1 dimension or more

    Returns
    -------
    tuple of arrays, int64, one for each dimension of `x`

    Examples
    --------
    >>> import dualflow as df
    >>> [i.tolist() for i in df.array_api.nonzero(df.constant([[0, 2], [3, 0]]))]
    [[0, 1], [1, 0]]
    """
    y = array(x, "nonzero")
    if y.ndim == 0:
        raise InvalidArgumentError("nonzero: x has shape (), expected 1 or more dimensions")
    return tuple(unstack(compare.where(cast(y, bool_)), y.ndim, axis=1))


def searchsorted(x1: TensorLike, x2: TensorLike, /, *, side: str = "left",
                 sorter: TensorLike | None = None) -> Tensor:
    """Return the indices at which inserting elements of `x2` into `x1` preserves its order.

    Parameters
    ----------
    x1 : array, any number dtype, shape (n,), ascending
    x2 : array, any shape
    side : {"left", "right"}
        Insert before or after equal elements.
    sorter : array of integers, optional
        The indices that sort `x1`, from `argsort`.

    Returns
    -------
    array, int64, shape of `x2`

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.searchsorted(df.constant([1, 3, 5]), df.constant([3, 6])).tolist()
    [1, 3]
    """
    row = array(x1, "searchsorted")
    if row.ndim != 1:
        raise InvalidArgumentError(f"searchsorted: x1 has shape {row.shape}, expected 1 dimension")
    if sorter is not None:
        row = gather(row, cast(sorter, int64))
    return sort.searchsorted(row, x2, side, int64)


def where(condition: TensorLike, x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return `x1` where `condition`, bool, is true, else `x2`; shapes broadcast.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.where(df.constant([True, False]), df.constant([1, 2]), 0).tolist()
    [1, 0]
    """
    return compare.where(condition, x1, x2)
