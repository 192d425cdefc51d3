"""Elementwise functions, part 3 of 4: powers and logarithms."""

import math

from dualflow._core import Tensor
from dualflow.array_api.arrays import array, floats
from dualflow.dtypes import float64
from dualflow.ops.array.shape import stop_gradient
from dualflow.ops.elementwise import arithmetic, division, exponential, limits
from dualflow.ops.elementwise.bitwise import logical_and, logical_or
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import equal, where
from dualflow.ops.elementwise.rounding import is_finite, rint
from dualflow.ops.types import TensorLike

__all__ = ["exp", "expm1", "hypot", "log", "log1p", "log2", "log10", "logaddexp", "pow", "sqrt"]


def exp(x: TensorLike, /) -> Tensor:
    """Return e to the power of each element of `x`, floating.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.exp(df.constant([0., 1.])).tolist()
    [1.0, 2.7182817459106445]
    """
    return exponential.exp(x)


def expm1(x: TensorLike, /) -> Tensor:
    """Return ``exp(x) - 1``, exact for `x` near 0, floating.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.expm1(df.constant([0., 1e-5])).tolist()
    [0.0, 1.0000049769587349e-05]
    """
    return exponential.expm1(x)


def hypot(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return the root of ``x1**2 + x2**2``, which overflows only if the result does; floating,
    shapes broadcast.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.hypot(df.constant([3.]), df.constant([4.])).tolist()
    [5.0]
    """
    a, b = floats("hypot", x1, x2)
    a, b = arithmetic.abs(a), arithmetic.abs(b)
    high, low = limits.maximum(a, b), limits.minimum(a, b)
    share = division.divide_no_nan(low, high)
    root = high * exponential.sqrt(1 + share * share)
    endless = logical_or(equal(a, math.inf), equal(b, math.inf))    # inf even if the other is NaN
    return where(endless, math.inf, root)


def log(x: TensorLike, /) -> Tensor:
    """Return the natural logarithm of each element of `x`, floating.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.log(df.constant([1., 0.])).tolist()
    [0.0, -inf]
    """
    return exponential.log(x)


def log10(x: TensorLike, /) -> Tensor:
    """Return the logarithm of `x` to base 10, floating.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.log10(df.constant([1., 1000.])).tolist()
    [0.0, 3.0]
    """
    return _logarithm("log10", x, 10)


def log1p(x: TensorLike, /) -> Tensor:
    """Return ``log(1 + x)``, exact for `x` near 0, floating.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.log1p(df.constant([0., 1e-5])).tolist()
    [0.0, 9.999949725170154e-06]
    """
    return exponential.log1p(x)


def log2(x: TensorLike, /) -> Tensor:
    """Return the logarithm of `x` to base 2, floating.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.log2(df.constant([1., 8.])).tolist()
    [0.0, 3.0]
    """
    return _logarithm("log2", x, 2)


def logaddexp(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return ``log(exp(x1) + exp(x2))`` without overflow; floating, shapes broadcast.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.logaddexp(df.constant([0.]), df.constant([0.])).tolist()
    [0.6931471824645996]
    """
    a, b = floats("logaddexp", x1, x2)
    high = limits.maximum(a, b)
    apart = arithmetic.abs(where(equal(a, b), 0, a - b))        # both may be infinite
    return high + exponential.log1p(exponential.exp(-apart))


def pow(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return ``x1 ** x2``, any number dtype; shapes broadcast. Integer exponents must be 0 or more.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.pow(df.constant([2, 3]), df.constant([3])).tolist()
    [8, 27]
    """
    return exponential.pow(x1, x2)


def sqrt(x: TensorLike, /) -> Tensor:
    """Return the square root of each element of `x`, floating.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.sqrt(df.constant([4., 9.])).tolist()
    [2.0, 3.0]
    """
    return exponential.sqrt(x)


def _logarithm(caller: str, x: TensorLike, base: int) -> Tensor:
    """Return the logarithm to a base, computed in float64. For a power of the base it is the exact
    integer, to which narrower dtypes round anyway."""
    y = array(x, caller)
    if y.dtype.is_complex:
        return exponential.log(y) / math.log(base)
    wide = cast(y, float64) if y.dtype.is_floating else y
    found = exponential.log(wide) / math.log(base)
    if y.dtype.is_floating and y.dtype != float64:
        return cast(found, y.dtype)
    nearest = rint(found)
    exact = logical_and(equal(exponential.pow(base, nearest), wide), is_finite(found))
    return cast(found + stop_gradient(where(exact, nearest - found, 0)), y.dtype)
