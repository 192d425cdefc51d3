"""Elementwise functions, part 2 of 4: comparisons, bitwise and logical functions."""

from dualflow._core import Tensor
from dualflow.array_api.arrays import array
from dualflow.dtypes import bool_
from dualflow.ops.array.creation import ones_like, zeros_like
from dualflow.ops.elementwise import bitcast, bitwise, compare, limits, rounding
from dualflow.ops.types import TensorLike

__all__ = ["bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or",
           "bitwise_right_shift", "bitwise_xor", "equal", "greater", "greater_equal", "isfinite",
           "isinf", "isnan", "less", "less_equal", "logical_and", "logical_not", "logical_or",
           "logical_xor", "maximum", "minimum", "not_equal", "signbit"]


def equal(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return ``x1 == x2``, any dtype; shapes broadcast.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.equal(df.constant([1, 2]), df.constant([1, 3])).tolist()
    [True, False]
    """
    return compare.equal(x1, x2)


def greater(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return ``x1 > x2``, any number dtype; shapes broadcast.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.greater(df.constant([1, 2]), df.constant([1])).tolist()
    [False, True]
    """
    return compare.greater(x1, x2)


def greater_equal(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return ``x1 >= x2``, any number dtype; shapes broadcast.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.greater_equal(df.constant([1, 2]), df.constant([2])).tolist()
    [False, True]
    """
    return compare.greater_equal(x1, x2)


def isfinite(x: TensorLike, /) -> Tensor:
    """Return True where an element of `x` is neither infinite nor NaN.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.isfinite(df.constant([1., float("inf")])).tolist()
    [True, False]
    """
    y = array(x, "isfinite")
    return rounding.is_finite(y) if y.dtype.is_inexact else ones_like(y, bool_)


def isinf(x: TensorLike, /) -> Tensor:
    """Return True where an element of `x` is infinite.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.isinf(df.constant([1., float("inf")])).tolist()
    [False, True]
    """
    y = array(x, "isinf")
    return rounding.is_inf(y) if y.dtype.is_inexact else zeros_like(y, bool_)


def isnan(x: TensorLike, /) -> Tensor:
    """Return True where an element of `x` is NaN.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.isnan(df.constant([1., float("nan")])).tolist()
    [False, True]
    """
    y = array(x, "isnan")
    return rounding.is_nan(y) if y.dtype.is_inexact else zeros_like(y, bool_)


def less(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return ``x1 < x2``, any number dtype; shapes broadcast.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.less(df.constant([1, 2]), df.constant([2])).tolist()
    [True, False]
    """
    return compare.less(x1, x2)


def less_equal(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return ``x1 <= x2``, any number dtype; shapes broadcast.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.less_equal(df.constant([1, 2]), df.constant([1])).tolist()
    [True, False]
    """
    return compare.less_equal(x1, x2)


def maximum(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return the larger of `x1` and `x2`; NaN if one is NaN; shapes broadcast.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.maximum(df.constant([1, 5]), df.constant([3])).tolist()
    [3, 5]
    """
    return limits.maximum(x1, x2)


def minimum(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return the smaller of `x1` and `x2`; NaN if one is NaN; shapes broadcast.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.minimum(df.constant([1, 5]), df.constant([3])).tolist()
    [1, 3]
    """
    return limits.minimum(x1, x2)


def not_equal(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return ``x1 != x2``, any dtype; shapes broadcast.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.not_equal(df.constant([1, 2]), df.constant([1, 3])).tolist()
    [False, True]
    """
    return compare.not_equal(x1, x2)


def signbit(x: TensorLike, /) -> Tensor:
    """Return True where the sign bit of an element of `x` is set, including -0.0.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.signbit(df.constant([-0., 1.])).tolist()
    [True, False]
    """
    y = array(x, "signbit")
    if y.dtype.is_unsigned or y.dtype.is_bool:
        return zeros_like(y, bool_)
    if y.dtype.is_floating:
        y = bitcast.bitcast(y, bitcast.BITS[y.dtype.itemsize])
    return compare.less(y, 0)


def bitwise_and(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return ``x1 & x2``, integers or bool; shapes broadcast.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.bitwise_and(df.constant([6, 3]), df.constant([2])).tolist()
    [2, 2]
    """
    return bitwise.bitwise_and(x1, x2)


def bitwise_invert(x: TensorLike, /) -> Tensor:
    """Return ``~x``, integers or bool.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.bitwise_invert(df.constant([0, 5])).tolist()
    [-1, -6]
    """
    return ~array(x, "bitwise_invert")


def bitwise_left_shift(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return ``x1 << x2``, integers; shapes broadcast.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.bitwise_left_shift(df.constant([1, 3]), df.constant([2])).tolist()
    [4, 12]
    """
    return bitwise.left_shift(x1, x2)


def bitwise_or(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return ``x1 | x2``, integers or bool; shapes broadcast.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.bitwise_or(df.constant([6, 3]), df.constant([1])).tolist()
    [7, 3]
    """
    return bitwise.bitwise_or(x1, x2)


def bitwise_right_shift(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return ``x1 >> x2``, integers, preserving the sign; shapes broadcast.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.bitwise_right_shift(df.constant([-8, 8]), df.constant([2])).tolist()
    [-2, 2]
    """
    return bitwise.right_shift(x1, x2)


def bitwise_xor(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return ``x1 ^ x2``, integers or bool; shapes broadcast.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.bitwise_xor(df.constant([6, 3]), df.constant([2])).tolist()
    [4, 1]
    """
    return bitwise.bitwise_xor(x1, x2)


def logical_and(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return True where both `x1` and `x2` are true, bool; shapes broadcast.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.logical_and(df.constant([True, True]), df.constant([True, False])).tolist()
    [True, False]
    """
    return bitwise.logical_and(x1, x2)


def logical_not(x: TensorLike, /) -> Tensor:
    """Return True where `x`, bool, is false.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.logical_not(df.constant([True, False])).tolist()
    [False, True]
    """
    return bitwise.logical_not(x)


def logical_or(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return True where `x1` or `x2` is true, bool; shapes broadcast.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.logical_or(df.constant([True, False]), df.constant([False, False])).tolist()
    [True, False]
    """
    return bitwise.logical_or(x1, x2)


def logical_xor(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return True where exactly one of `x1` and `x2` is true, bool; shapes broadcast.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.logical_xor(df.constant([True, True]), df.constant([True, False])).tolist()
    [False, True]
    """
    return bitwise.logical_xor(x1, x2)
