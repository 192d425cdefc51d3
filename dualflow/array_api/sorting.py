"""Sorting functions; NaN is sorted last in either direction."""

from dualflow._core import Tensor
from dualflow.array_api.arrays import array
from dualflow.dtypes import int64
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.sorting import sort as ops
from dualflow.ops.types import TensorLike

__all__ = ["argsort", "sort"]


def argsort(x: TensorLike, /, *, axis: int = -1, descending: bool = False,
            stable: bool = True) -> Tensor:
    """Return the indices that sort the elements along an axis.

    Parameters
    ----------
    x : array, any number dtype
    axis : int
    descending : bool
        Whether to sort in descending order.
    stable : bool
        Ignored: sorting is always stable.

    Returns
    -------
    array, int64, shape of `x`

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.argsort(df.constant([3, 1, 2])).tolist()
    [1, 2, 0]
    """
    return cast(ops.argsort(array(x, "argsort"), axis, _direction(descending), stable), int64)


def sort(x: TensorLike, /, *, axis: int = -1, descending: bool = False,
         stable: bool = True) -> Tensor:
    """Sort the elements of `x` in ascending order along `axis`; `descending` and `stable` are as in
    `argsort`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.sort(df.constant([3, 1, 2]), descending=True).tolist()
    [3, 2, 1]
    """
    return ops.sort(array(x, "sort"), axis, _direction(descending))


def _direction(descending: bool) -> str:
    return "DESCENDING" if descending else "ASCENDING"
