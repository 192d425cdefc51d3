"""Elementwise and scalar functions composed of other ops, including their gradients."""

from __future__ import annotations

from functools import reduce

from dualflow._core import Tensor, as_tensor
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.ops.array.creation import ones_like, zeros_like
from dualflow.ops.array.shape import reshape
from dualflow.ops.elementwise.arithmetic import multiply
from dualflow.ops.elementwise.compare import less, less_equal
from dualflow.ops.elementwise.division import divide_no_nan
from dualflow.ops.elementwise.gamma import lgamma
from dualflow.ops.reduction.reduce import reduce_all, reduce_sum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dualflow.ops.types import TensorLike

__all__ = ["is_non_decreasing", "is_strictly_increasing", "lbeta", "polyval", "reciprocal_no_nan",
           "scalar_mul"]


def reciprocal_no_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """Return 1 / x, elementwise, or 0 where x is 0.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.reciprocal_no_nan([2., 0.]).tolist()
    [0.5, 0.0]
    """
    x = as_tensor(x, None, "reciprocal_no_nan")
    return divide_no_nan(ones_like(x), x, name=name)


def scalar_mul(scalar: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return `x` multiplied by the scalar `scalar`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.scalar_mul(2., [1., 3.]).tolist()
    [2.0, 6.0]
    """
    factor = as_tensor(scalar, as_tensor(x).dtype, "scalar_mul")
    if factor.ndim:
        raise ShapeError(f"scalar_mul: scalar has shape {tuple(factor.shape)}, expected ()")
    return multiply(factor, x, name=name)


def polyval(coeffs: Sequence[TensorLike], x: TensorLike, name: str | None = None) -> Tensor:
    """Evaluate ``coeffs[0] * x**(n-1) + ... + coeffs[n-1]`` by Horner's rule.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.polyval([1., 2., 3.], 10.).item()
    123.0
    """
    if not isinstance(coeffs, list | tuple):
        raise InvalidArgumentError(f"polyval: coeffs are a {type(coeffs).__name__}, expected a "
                                   "list")
    at = as_tensor(x, None, "polyval")
    if not coeffs:
        return zeros_like(at, name=name)
    made: Tensor = reduce(lambda sum, c: sum * at + c, coeffs[1:], as_tensor(coeffs[0], at.dtype))
    return made


def lbeta(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the logarithm of the beta function of n arguments, along the last dimension.

    Parameters
    ----------
    x : Tensor, floating, shape (..., n)

    Returns
    -------
    Tensor, shape (...)

    Examples
    --------
    >>> import dualflow as df
    >>> round(df.math.lbeta([2., 3.]).item(), 4)
    -2.4849
    """
    x = as_tensor(x, None, "lbeta")
    made: Tensor = reduce_sum(lgamma(x), -1) - lgamma(reduce_sum(x, -1))
    return made


def _in_order(x: TensorLike, op: str, name: str | None) -> Tensor:
    flat = reshape(x, [-1])
    return reduce_all((less if op == "<" else less_equal)(flat[:-1], flat[1:]), name=name)


def is_non_decreasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Return True if no element of `x` is less than the previous one, in row-major order.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.is_non_decreasing([1, 1, 2]).item()
    True
    """
    return _in_order(x, "<=", name)


def is_strictly_increasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Return True if each element of `x` is greater than the previous one, in row-major order.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.is_strictly_increasing([1, 1, 2]).item()
    False
    """
    return _in_order(x, "<", name)
