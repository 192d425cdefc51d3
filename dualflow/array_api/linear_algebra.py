"""Products of matrices and vectors."""

from typing import Any

from dualflow._core import Tensor
from dualflow._util.arguments import integer
from dualflow.array_api.arrays import array, of_one_dtype
from dualflow.array_api.manipulation import moveaxis
from dualflow.errors import InvalidArgumentError
from dualflow.ops.array.shape import same_size
from dualflow.ops.elementwise.complex import conj
from dualflow.ops.linalg import einsum
from dualflow.ops.linalg.matmul import narrow_product
from dualflow.ops.reduction.reduce import reduce_sum
from dualflow.ops.types import TensorLike

__all__ = ["matmul", "matrix_transpose", "tensordot", "vecdot"]


def matmul(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return ``x1 @ x2``, the product of matrices, the last two dimensions; others broadcast.

    Parameters
    ----------
    x1, x2 : array, any number dtype
        A vector is a row on the left and a column on the right.

    Returns
    -------
    array, of the common dtype

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.matmul(df.constant([[1, 2], [3, 4]]), df.constant([1, 1])).tolist()
    [3, 7]
    """
    a, b = of_one_dtype("matmul", x1, x2)
    return a @ b


def matrix_transpose(x: TensorLike, /) -> Tensor:
    """Swap the last two dimensions of `x`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.matrix_transpose(df.constant([[1, 2], [3, 4]])).tolist()
    [[1, 3], [2, 4]]
    """
    return array(x, "matrix_transpose").mT


def tensordot(x1: TensorLike, x2: TensorLike, /, *, axes: Any = 2) -> Tensor:
    """Return the sum of products of ``x1`` and ``x2`` over pairs of dimensions.

    Parameters
    ----------
    x1, x2 : array, any number dtype
    axes : int, or two sequences of ints
        The number of last dimensions of `x1` to pair with the first of `x2`; or dimensions of `x1`
        and the dimensions of `x2` to pair them with.

    Returns
    -------
    array, of the common dtype

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.tensordot(df.constant([1, 2]), df.constant([3, 4]), axes=1).item()
    11
    """
    a, b = of_one_dtype("tensordot", x1, x2)
    return narrow_product(lambda a, b: einsum.tensordot(a, b, axes))(a, b)


def vecdot(x1: TensorLike, x2: TensorLike, /, *, axis: int = -1) -> Tensor:
    """Return the dot product of vectors along `axis`, of the complex conjugate of `x1` with `x2`.

    Other dimensions broadcast.

    Parameters
    ----------
    x1, x2 : array, any number dtype
    axis : int
        Must be negative unless both arrays have the same rank.

    Returns
    -------
    array, of the common dtype

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.vecdot(df.constant([[1, 2], [3, 4]]), df.constant([1, 1])).tolist()
    [3, 7]
    """
    a, b = of_one_dtype("vecdot", x1, x2)
    axis = integer(axis, "vecdot: axis")
    for x in (a, b):
        if not -x.ndim <= axis < x.ndim:
            raise InvalidArgumentError(f"vecdot: axis {axis} of an array of shape {x.shape}")
    if not same_size(a.shape[axis], b.shape[axis]):
        raise InvalidArgumentError(f"vecdot: x1 has shape {a.shape} and x2 {b.shape}, expected "
                                   f"vectors of one length along axis {axis}")
    return reduce_sum(conj(moveaxis(a, axis, -1)) * moveaxis(b, axis, -1), -1)
