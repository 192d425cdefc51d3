"""Determinants, inverses, powers and linear systems."""

from typing import Any, NamedTuple

from dualflow._core import Tensor
from dualflow.array_api.arrays import array, of_one_dtype
from dualflow.array_api.linear_algebra import matmul
from dualflow.array_api.manipulation import broadcast_shape
from dualflow.ops.array.creation import eye
from dualflow.ops.array.shape import broadcast_to, expand_dims, squeeze, static_shape
from dualflow.ops.linalg import inverse, solve as equations
from dualflow.ops.types import TensorLike

__all__ = ["det", "inv", "matrix_power", "slogdet", "solve"]


class Slogdet(NamedTuple):
    """The result of `slogdet`."""

    sign: Tensor
    logabsdet: Tensor


def det(x: TensorLike, /) -> Tensor:
    """Return the determinants of square matrices `x`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.linalg.det(df.constant([[2., 0.], [0., 3.]])).item()
    6.0
    """
    return inverse.det(x)


def inv(x: TensorLike, /) -> Tensor:
    """Return the inverses of square matrices `x`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.linalg.inv(df.constant([[2., 0.], [0., 4.]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    return inverse.inv(x)


def matrix_power(x: TensorLike, n: int, /) -> Tensor:
    """Return square matrices `x` to the power `n`; a negative `n` inverts them first.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.linalg.matrix_power(df.constant([[1., 1.], [0., 1.]]), 3).tolist()
    [[1.0, 3.0], [0.0, 1.0]]
    """
    y = array(x, "matrix_power")
    if n < 0:
        y, n = inv(y), -n
    size = static_shape(y)[-1]
    if n == 0:
        return eye(size, batch_shape=static_shape(y)[:-2], dtype=y.dtype)
    found: Any = None
    while n:
        if n % 2:
            found = y if found is None else matmul(found, y)
        n //= 2
        y = matmul(y, y) if n else y
    return array(found, "matrix_power")


def slogdet(x: TensorLike, /) -> Slogdet:
    """Return the sign, and the logarithm of the absolute value, of determinants of `x`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.linalg.slogdet(df.constant([[-1.]])).sign.item()
    -1.0
    """
    return Slogdet(*inverse.slogdet(x))


def solve(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Solve ``x1 @ y == x2`` for y.

    Parameters
    ----------
    x1 : array, floating or complex, shape (..., n, n)
    x2 : array, floating or complex, shape (n,) or (..., n, k)

    Returns
    -------
    array, shape of `x2`; other dimensions broadcast

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.linalg.solve(df.constant([[2.]]), df.constant([4.])).tolist()
    [2.0]
    """
    a, b = of_one_dtype("solve", x1, x2)
    vector = b.ndim == 1
    b = expand_dims(b, -1) if vector else b
    batch = broadcast_shape("solve", static_shape(a)[:-2], static_shape(b)[:-2])
    a, b = [broadcast_to(x, batch + static_shape(x)[-2:]) for x in (a, b)]
    found = equations.solve(a, b)
    return squeeze(found, -1) if vector else found
