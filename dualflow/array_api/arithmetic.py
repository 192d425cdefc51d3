"""Elementwise functions, part 1 of 4: arithmetic and rounding."""

from dualflow._core import Tensor, TensorBase
from dualflow.array_api.arrays import array, floats, whole
from dualflow.array_api.comparison import signbit
from dualflow.ops.array.creation import zeros_like
from dualflow.ops.elementwise import arithmetic, bitcast, complex, division, limits, rounding
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import where
from dualflow.ops.types import TensorLike

__all__ = ["abs", "add", "ceil", "clip", "conj", "copysign", "divide", "floor", "floor_divide",
           "imag", "multiply", "negative", "nextafter", "positive", "real", "reciprocal",
           "remainder", "round", "sign", "square", "subtract", "trunc"]


def abs(x: TensorLike, /) -> Tensor:
    """Return the absolute value of each element of `x`, any number dtype.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.abs(df.constant([-2, 3])).tolist()
    [2, 3]
    """
    return arithmetic.abs(x)


def add(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return ``x1 + x2``, any number dtype; shapes broadcast.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.add(df.constant([1, 2]), df.constant([10])).tolist()
    [11, 12]
    """
    return arithmetic.add(x1, x2)


def ceil(x: TensorLike, /) -> Tensor:
    """Return the smallest integer not less than each element of `x`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.ceil(df.constant([1.2, -1.2])).tolist()
    [2.0, -1.0]
    """
    return whole("ceil", x, rounding.ceil)


def clip(x: TensorLike, /, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor:
    """Clip the elements of `x` to the range from `min` to `max`.

    Parameters
    ----------
    x : array, any number dtype
    min, max : number or array of the dtype of `x`, optional
        Shapes broadcast.

    Returns
    -------
    array, dtype of `x`

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.clip(df.constant([-2, 0, 7]), 0, 5).tolist()
    [0, 0, 5]
    """
    y = array(x, "clip")
    for bound, op in ((min, limits.maximum), (max, limits.minimum)):
        if bound is not None:
            y = op(y, cast(bound, y.dtype) if isinstance(bound, TensorBase) else bound)
    return y


def conj(x: TensorLike, /) -> Tensor:
    """Return the complex conjugate of each element of `x`; real numbers unchanged.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.conj(df.constant([1.+2.j])).tolist()
    [(1-2j)]
    """
    return complex.conj(array(x, "conj"))


def copysign(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return the magnitude of `x1` with the sign of `x2`, floating; shapes broadcast.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.copysign(df.constant([1., 2.]), df.constant([-0., 3.])).tolist()
    [-1.0, 2.0]
    """
    a, b = floats("copysign", x1, x2)
    size = arithmetic.abs(a)
    return where(signbit(b), -size, size)


def divide(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return ``x1 / x2``; 64-bit integers become float64, other integers float32.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.divide(df.constant([1., 3.]), df.constant([2., 4.])).tolist()
    [0.5, 0.75]
    """
    return division.divide(x1, x2)


def floor(x: TensorLike, /) -> Tensor:
    """Return the largest integer not greater than each element of `x`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.floor(df.constant([1.8, -1.2])).tolist()
    [1.0, -2.0]
    """
    return whole("floor", x, rounding.floor)


def floor_divide(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return ``x1 // x2``, rounded down; shapes broadcast. Integer division by 0 is an error.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.floor_divide(df.constant([7, -7]), df.constant([2])).tolist()
    [3, -4]
    """
    return division.floordiv(x1, x2)


def imag(x: TensorLike, /) -> Tensor:
    """Return the imaginary part of each element of `x`; 0 for real numbers.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.imag(df.constant([1.+2.j])).tolist()
    [2.0]
    """
    y = array(x, "imag")
    return complex.imag(y) if y.dtype.is_complex else zeros_like(y)


def multiply(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return ``x1 * x2``, any number dtype; shapes broadcast.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.multiply(df.constant([2, 3]), df.constant([10])).tolist()
    [20, 30]
    """
    return arithmetic.multiply(x1, x2)


def negative(x: TensorLike, /) -> Tensor:
    """Return ``-x``, any number dtype; integers wrap around.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.negative(df.constant([1, -2])).tolist()
    [-1, 2]
    """
    return arithmetic.negative(x)


def nextafter(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return the next representable number after `x1` towards `x2`, floating; shapes broadcast.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.nextafter(df.constant([1.]), df.constant([2.])).tolist()
    [1.0000001192092896]
    """
    a, b = floats("nextafter", x1, x2)
    return bitcast.nextafter(a, b)


def positive(x: TensorLike, /) -> Tensor:
    """Return ``+x``, which is `x`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.positive(df.constant([1, -2])).tolist()
    [1, -2]
    """
    return array(x, "positive")


def real(x: TensorLike, /) -> Tensor:
    """Return the real part of each element of `x`; real numbers unchanged.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.real(df.constant([1.+2.j])).tolist()
    [1.0]
    """
    return complex.real(array(x, "real"))


def reciprocal(x: TensorLike, /) -> Tensor:
    """Return ``1 / x``, floating.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.reciprocal(df.constant([2., 4.])).tolist()
    [0.5, 0.25]
    """
    return division.reciprocal(x)


def remainder(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return ``x1 % x2``, with the sign of `x2`; shapes broadcast.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.remainder(df.constant([7, -7]), df.constant([3])).tolist()
    [1, 2]
    """
    return division.floormod(x1, x2)


def round(x: TensorLike, /) -> Tensor:
    """Return the nearest integer to each element of `x`, or to each part of complex numbers, ties
    to even.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.round(df.constant([0.5, 1.5, 2.6])).tolist()
    [0.0, 2.0, 3.0]
    """
    y = array(x, "round")
    if y.dtype.is_complex:
        return complex.complex(rounding.round(complex.real(y)), rounding.round(complex.imag(y)))
    return rounding.round(y)


def sign(x: TensorLike, /) -> Tensor:
    """Return -1, 0 or 1 for each element of `x`; NaN for NaN.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.sign(df.constant([-2., 0., 5.])).tolist()
    [-1.0, 0.0, 1.0]
    """
    return arithmetic.sign(x)


def square(x: TensorLike, /) -> Tensor:
    """Return ``x * x``, any number dtype.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.square(df.constant([2, -3])).tolist()
    [4, 9]
    """
    return arithmetic.square(x)


def subtract(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return ``x1 - x2``, any number dtype; shapes broadcast.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.subtract(df.constant([1, 2]), df.constant([10])).tolist()
    [-9, -8]
    """
    return arithmetic.subtract(x1, x2)


def trunc(x: TensorLike, /) -> Tensor:
    """Return each element of `x` rounded towards zero.

    Examples
    --------
    >>> import dualflow as df
    >>> df.array_api.trunc(df.constant([1.8, -1.8])).tolist()
    [1.0, -1.0]
    """
    return whole("trunc", x, rounding.trunc)
