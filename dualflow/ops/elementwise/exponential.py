"""Exponentials, logarithms, powers and roots, with their gradients."""

from __future__ import annotations

from dualflow._core import Tensor, apply_binary, apply_unary
from dualflow.gradient_registry import gradient
from dualflow.ops.elementwise.arithmetic import multiply_no_nan
from dualflow.ops.elementwise.compare import equal, not_equal, where
from dualflow.ops.elementwise.complex import conj

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import TensorLike

__all__ = [
    "exp",
    "expm1",
    "log",
    "log1p",
    "pow",
    "rsqrt",
    "sqrt",
]


def exp(x: TensorLike, name: str | None = None) -> Tensor:
    """Return e**x, elementwise.

    Parameters
    ----------
    x : Tensor, floating or complex

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    Within 2 ulp in float32, and 3 ulp of the larger part of complex results; special values are
    those of C11, Annex G. Overflows to inf; NaN returns NaN. The gradient is ``g * conj(exp(x))``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.exp([0., 1.]).numpy().round(4)
    array([1.    , 2.7183], dtype=float32)
    """
    return apply_unary("exp", x, name)


@gradient("exp", saves="output")
def _(g, y, x):
    return g * conj(y)


def expm1(x: TensorLike, name: str | None = None) -> Tensor:
    """Return e**x - 1, elementwise, without loss of digits near 0.

    Parameters
    ----------
    x : Tensor, floating or complex

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    Within 2 ulp in float32, and 3 ulp of the larger part of complex results. The gradient is
    ``g * conj(exp(x))``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.expm1([0., 1.]).numpy().round(4)
    array([0.    , 1.7183], dtype=float32)
    """
    return apply_unary("expm1", x, name)


@gradient("expm1", saves="inputs")
def _(g, y, x):
    return g * conj(exp(x))


def log(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the natural logarithm of x, elementwise.

    Parameters
    ----------
    x : Tensor, floating or complex

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    Within 2 ulp in float32. log(0) is -inf; negative floats give NaN. Of complex numbers, the
    logarithm has an imaginary part from -pi to pi; it is cut along the negative real axis, where
    the sign of a zero imaginary part selects the side. Within 2 ulp of the larger part, with the
    special values of C11, Annex G. The gradient is ``g / conj(x)``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.log([1., 10.]).numpy().round(4)
    array([0.    , 2.3026], dtype=float32)
    """
    return apply_unary("log", x, name)


@gradient("log", saves="inputs")
def _(g, y, x):
    return g / conj(x)


def log1p(x: TensorLike, name: str | None = None) -> Tensor:
    """Return log(1 + x), elementwise, without loss of digits near 0.

    Parameters
    ----------
    x : Tensor, floating or complex

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    Within 2 ulp in float32. -inf at -1, NaN below. Of complex numbers, within 4 ulp of the larger
    part, cut along the real axis below -1. The gradient is ``g / conj(1 + x)``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.log1p([0., 1.]).numpy().round(4)
    array([0.    , 0.6931], dtype=float32)
    """
    return apply_unary("log1p", x, name)


@gradient("log1p", saves="inputs")
def _(g, y, x):
    return g / conj(1 + x)


def sqrt(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the square root of x, elementwise.

    Parameters
    ----------
    x : Tensor, floating or complex

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    Correctly rounded; NaN for negative floats. Of complex numbers, the root whose real part is not
    negative, cut along the negative real axis: within 2 ulp of the larger part, with the special
    values of C11, Annex G. The gradient is ``g / (2 * conj(sqrt(x)))``, inf at 0.

    Examples
    --------
    >>> import dualflow as df
    >>> df.sqrt([4., 9.]).numpy().tolist()
    [2.0, 3.0]
    """
    return apply_unary("sqrt", x, name)


@gradient("sqrt", saves="output")
def _(g, y, x):
    return g * 0.5 / conj(y)


def rsqrt(x: TensorLike, name: str | None = None) -> Tensor:
    """Return 1 / sqrt(x), elementwise.

    Parameters
    ----------
    x : Tensor, floating or complex

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    Within 1 ulp; inf at 0, NaN for negative floats. Of complex numbers, within 5 ulp of the larger
    part, cut as `sqrt`. The gradient is ``-g * conj(rsqrt(x))**3 / 2``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.rsqrt([4., 0.25]).numpy().tolist()
    [0.5, 2.0]
    """
    return apply_unary("rsqrt", x, name)


@gradient("rsqrt", saves="output")
def _(g, y, x):
    y = conj(y)
    return g * (-0.5 * y) * (y * y)


def pow(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x**y, elementwise.

    Parameters
    ----------
    x, y : Tensor, any number dtype, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Raises
    ------
    InvalidArgumentError
        If the exponent of an integer is negative.

    Notes
    -----
    Within 2 ulp in float32, with the special cases of C's pow. For -2, -1, -0.5, 0.5 and 1 to 4 by
    products, quotients and roots. Integers wrap around.
    Of complex numbers, ``exp(y * log(x))``, cut along the negative real axis of x. Integer
    exponents from -64 to 64 are products and their reciprocals. Other powers of complex64 are
    computed in complex128 and rounded; in complex128 their error is about ``2 * |y * log(x)|`` ulp.
    x**0 is 1; as in NumPy, 0**y is 0 for real y > 0, and otherwise NaN.

    The gradient is ``g * conj(y * x**(y - 1))`` to x, and ``g * conj(x**y * log(x))`` to y; real
    operands of complex results have the real part. If x is not positive, or a complex x is 0, the
    logarithm counts as 0: the gradient to y is 0 of either sign, or NaN if x**y is not finite. A
    factor of 0 gives 0 even if the other is infinite. See docs/numerics.md.

    Examples
    --------
    >>> import dualflow as df
    >>> df.pow([2, 3], 3).numpy().tolist()
    [8, 27]
    """
    return apply_binary("pow", x, y, name)


@gradient("pow", saves="both")
def _(g, out, x, y):
    def to_x():
        p = pow(x, y - 1)
        return g * conj(where(equal(p, 0), 0, multiply_no_nan(p, y)))

    def to_y():
        counts = not_equal(x, 0) if x.dtype.is_complex else x > 0
        log_x = where(counts, log(where(counts, x, 1)), 0)
        return g * conj(multiply_no_nan(log_x, out))

    return to_x, to_y
