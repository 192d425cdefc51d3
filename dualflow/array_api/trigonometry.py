"""Elementwise functions, part 4 of 4: trigonometric and hyperbolic functions."""

from dualflow._core import Tensor
from dualflow.array_api.arrays import floats
from dualflow.ops.elementwise import hyperbolic, trigonometric
from dualflow.ops.types import TensorLike

__all__ = ["acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "sin", "sinh",
           "tan", "tanh"]


def acos(x: TensorLike, /) -> Tensor:
    """Return the arc cosine of each element of `x`, floating.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.acos(df.constant([1.])).tolist()
    [0.0]
    """
    return trigonometric.acos(x)


def acosh(x: TensorLike, /) -> Tensor:
    """Return the inverse hyperbolic cosine of each element of `x`, floating.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.acosh(df.constant([1.])).tolist()
    [0.0]
    """
    return hyperbolic.acosh(x)


def asin(x: TensorLike, /) -> Tensor:
    """Return the arc sine of each element of `x`, floating.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.asin(df.constant([0.])).tolist()
    [0.0]
    """
    return trigonometric.asin(x)


def asinh(x: TensorLike, /) -> Tensor:
    """Return the inverse hyperbolic sine of each element of `x`, floating.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.asinh(df.constant([0.])).tolist()
    [0.0]
    """
    return hyperbolic.asinh(x)


def atan(x: TensorLike, /) -> Tensor:
    """Return the arc tangent of each element of `x`, floating.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.atan(df.constant([0.])).tolist()
    [0.0]
    """
    return trigonometric.atan(x)


def atan2(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return the angle of the point (`x2`, `x1`), from -pi to pi; floating, shapes broadcast.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.atan2(df.constant([0.]), df.constant([1.])).tolist()
    [0.0]
    """
    a, b = floats("atan2", x1, x2)
    return trigonometric.atan2(a, b)


def atanh(x: TensorLike, /) -> Tensor:
    """Return the inverse hyperbolic tangent of each element of `x`, floating.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.atanh(df.constant([0.])).tolist()
    [0.0]
    """
    return hyperbolic.atanh(x)


def cos(x: TensorLike, /) -> Tensor:
    """Return the cosine of each element of `x`, floating.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.cos(df.constant([0.])).tolist()
    [1.0]
    """
    return trigonometric.cos(x)


def cosh(x: TensorLike, /) -> Tensor:
    """Return the hyperbolic cosine of each element of `x`, floating.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.cosh(df.constant([0.])).tolist()
    [1.0]
    """
    return hyperbolic.cosh(x)


def sin(x: TensorLike, /) -> Tensor:
    """Return the sine of each element of `x`, floating.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.sin(df.constant([0.])).tolist()
    [0.0]
    """
    return trigonometric.sin(x)


def sinh(x: TensorLike, /) -> Tensor:
    """Return the hyperbolic sine of each element of `x`, floating.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.sinh(df.constant([0.])).tolist()
    [0.0]
    """
    return hyperbolic.sinh(x)


def tan(x: TensorLike, /) -> Tensor:
    """Return the tangent of each element of `x`, floating.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.tan(df.constant([0.])).tolist()
    [0.0]
    """
    return trigonometric.tan(x)


def tanh(x: TensorLike, /) -> Tensor:
    """Return the hyperbolic tangent of each element of `x`, floating.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.tanh(df.constant([0.])).tolist()
    [0.0]
    """
    return hyperbolic.tanh(x)
