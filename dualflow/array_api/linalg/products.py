"""Products of vectors, and diagonals."""

from dualflow._core import Tensor
from dualflow.array_api.arrays import array
from dualflow.array_api.manipulation import broadcast_arrays
from dualflow.array_api.statistical import sum
from dualflow.errors import InvalidArgumentError
from dualflow.ops.array.diagonal import diag_part
from dualflow.ops.array.join import stack, unstack
from dualflow.ops.array.shape import expand_dims
from dualflow.ops.types import DTypeLike, TensorLike

__all__ = ["cross", "diagonal", "outer", "trace"]


def cross(x1: TensorLike, x2: TensorLike, /, *, axis: int = -1) -> Tensor:
    """Return the cross product of vectors of 3 elements along `axis`; other dimensions broadcast.

    Parameters
    ----------
    x1, x2 : array, any number dtype
    axis : int

    Returns
    -------
    array, of the common dtype

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.linalg.cross(df.constant([1, 0, 0]), df.constant([0, 1, 0])).tolist()
    [0, 0, 1]
    """
    a, b = broadcast_arrays(x1, x2)
    if not -a.ndim <= axis < a.ndim or a.shape[axis] != 3:
        raise InvalidArgumentError(f"cross: shapes broadcast to {a.shape} and axis is {axis}, "
                                   "expected 3 elements along it")
    (a0, a1, a2), (b0, b1, b2) = unstack(a, axis=axis), unstack(b, axis=axis)
    return stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis)


def diagonal(x: TensorLike, /, *, offset: int = 0) -> Tensor:
    """Return a diagonal of each matrix.

    Parameters
    ----------
    x : array, any dtype, shape (..., m, n)
    offset : int
        The diagonal: 0 is the main one, positive numbers are above it, negative ones below.

    Returns
    -------
    array, dtype of `x`

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.linalg.diagonal(df.constant([[1, 2], [3, 4]]), offset=1).tolist()
    [2]
    """
    y = array(x, "diagonal")
    if y.ndim < 2:
        raise InvalidArgumentError(f"diagonal: x has shape {y.shape}, expected 2 or more "
                                   "dimensions")
    return diag_part(y[..., :, offset:] if offset >= 0 else y[..., -offset:, :])


def outer(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return the products of each element of vector `x1` with each element of vector `x2`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.linalg.outer(df.constant([1, 2]), df.constant([3, 4])).tolist()
    [[3, 4], [6, 8]]
    """
    a, b = array(x1, "outer"), array(x2, "outer")
    if a.ndim != 1 or b.ndim != 1:
        raise InvalidArgumentError(f"outer: shapes {a.shape} and {b.shape}, expected 1 dimension "
                                   "each")
    return expand_dims(a, 1) * b


def trace(x: TensorLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Tensor:
    """Return the sum of a diagonal of each matrix.

    Parameters
    ----------
    x : array, any number dtype, shape (..., m, n)
    offset : int
        The diagonal: 0 is the main one, positive numbers are above it, negative ones below.
    dtype : dtype, optional
        By default integers narrower than int32 are widened to int32 or uint32.

    Returns
    -------
    array, shape (...)

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.linalg.trace(df.constant([[1, 2], [3, 4]])).item()
    5
    """
    return sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)
