"""Selection of elements by integer indices along an axis."""

from dualflow._core import Tensor
from dualflow._util.arguments import integer
from dualflow.array_api.arrays import array
from dualflow.array_api.manipulation import moveaxis
from dualflow.dtypes import int32, int64
from dualflow.errors import InvalidArgumentError
from dualflow.ops.array.shape import broadcast_to, static_shape
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.indexing.gather import gather
from dualflow.ops.types import TensorLike

__all__ = ["take", "take_along_axis"]


def _places(indices: TensorLike, caller: str) -> Tensor:
    """Convert indices to a dtype that `gather` accepts."""
    y = array(indices, caller)
    return y if y.dtype in (int32, int64) else cast(y, int64)


def take(x: TensorLike, indices: TensorLike, /, *, axis: int | None = None) -> Tensor:
    """Return the elements of `x` at `indices` along an axis.

    Parameters
    ----------
    x : array, any dtype
    indices : array of integers
        Negative ones count from the end.
    axis : int
        Optional if `x` has one dimension.

    Returns
    -------
    array, shape of `x` with the shape of `indices` replacing the axis

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.take(df.constant([[1, 2], [3, 4]]), df.constant([1]), axis=1).tolist()
    [[2], [4]]
    """
    y = array(x, "take")
    if axis is None and y.ndim != 1:
        raise InvalidArgumentError(f"take: x has shape {y.shape}, expected 1 dimension or an axis")
    return gather(y, _places(indices, "take"), axis=axis or 0)


def take_along_axis(x: TensorLike, indices: TensorLike, /, *, axis: int = -1) -> Tensor:
    """Return the elements of `x` at `indices` along an axis, with separate indices for each row.

    Parameters
    ----------
    x : array, any dtype
    indices : array of integers
        Of the rank of `x`; the dimensions other than the axis broadcast.
    axis : int

    Returns
    -------
    array, dtype of `x`

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.constant([[3, 1], [2, 4]])
    >>> df.array_api.take_along_axis(x, df.array_api.argsort(x)).tolist()
    [[1, 3], [2, 4]]
    """
    y, places = array(x, "take_along_axis"), _places(indices, "take_along_axis")
    axis = integer(axis, "take_along_axis: axis")
    if y.ndim != places.ndim or not -y.ndim <= axis < y.ndim:
        raise InvalidArgumentError(f"take_along_axis: x has shape {y.shape}, indices "
                                   f"{places.shape} and axis is {axis}, expected equal "
                                   "ranks and a valid axis")
    y, places = moveaxis(y, axis, -1), moveaxis(places, axis, -1)
    *batch, n = static_shape(y)
    *batch_of_places, m = static_shape(places)
    batch = [b if isinstance(a, int) and a == 1 else a
             for a, b in zip(batch, batch_of_places, strict=True)]
    found = gather(broadcast_to(y, (*batch, n)), broadcast_to(places, (*batch, m)),
                   axis=y.ndim - 1, batch_dims=y.ndim - 1)
    return moveaxis(found, -1, axis)
