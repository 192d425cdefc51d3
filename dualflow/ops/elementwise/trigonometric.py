"""Trigonometric functions and their inverses, in radians, with gradients."""

from __future__ import annotations

from dualflow._core import Tensor, apply_binary, apply_unary
from dualflow.gradient_registry import gradient
from dualflow.ops.array.shape import stop_gradient
from dualflow.ops.elementwise.arithmetic import abs
from dualflow.ops.elementwise.complex import conj
from dualflow.ops.elementwise.exponential import rsqrt
from dualflow.ops.elementwise.hyperbolic import inverse_root, sech_squared, times_i
from dualflow.ops.elementwise.limits import maximum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import TensorLike

__all__ = [
    "acos",
    "asin",
    "atan",
    "atan2",
    "cos",
    "sin",
    "tan",
]


def sin(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the sine of x, elementwise.

    Parameters
    ----------
    x : Tensor, floating or complex

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    Within 2 ulp in float32, and 3 ulp of the larger part of complex results; special values are
    those of C11, Annex G. NaN at infinities. The gradient is ``g * conj(cos(x))``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.sin([0., 1.]).numpy().round(4)
    array([0.    , 0.8415], dtype=float32)
    """
    return apply_unary("sin", x, name)


@gradient("sin", saves="inputs")
def _(g, y, x):
    return g * conj(cos(x))


def cos(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the cosine of x, elementwise.

    Parameters
    ----------
    x : Tensor, floating or complex

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    Within 2 ulp in float32, and 3 ulp of the larger part of complex results; special values are
    those of C11, Annex G. NaN at infinities. The gradient is ``-g * conj(sin(x))``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.cos([0., 1.]).numpy().round(4)
    array([1.    , 0.5403], dtype=float32)
    """
    return apply_unary("cos", x, name)


@gradient("cos", saves="inputs")
def _(g, y, x):
    return -g * conj(sin(x))


def tan(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the tangent of x, elementwise.

    Parameters
    ----------
    x : Tensor, floating or complex

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    Within 2 ulp in float32, and 7 ulp of the larger part in complex128 (complex64: 1 ulp). NaN at
    infinities. The gradient is ``g * conj(1 + tan(x)**2)``; of complex numbers it is computed from
    x, without cancellation.

    Examples
    --------
    >>> import dualflow as df
    >>> df.tan([0., 1.]).numpy().round(4)
    array([0.    , 1.5574], dtype=float32)
    """
    return apply_unary("tan", x, name)


@gradient("tan", saves="both")
def _(g, y, x):
    if x.dtype.is_complex:
        return g * conj(sech_squared(times_i(x)))
    return g * (1 + y * y)


def asin(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the inverse sine of x, elementwise, from -pi/2 to pi/2.

    Parameters
    ----------
    x : Tensor, floating or complex

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    Within 2 ulp in float32. NaN for floats outside [-1, 1]. Of complex numbers, cut along the real
    axis outside [-1, 1], within 4 ulp of the larger part in complex128 (complex64: 1 ulp). The
    gradient is ``g / conj(sqrt(1 - x**2))``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.asin([0., 1.]).numpy().round(4)
    array([0.    , 1.5708], dtype=float32)
    """
    return apply_unary("asin", x, name)


@gradient("asin", saves="inputs")
def _(g, y, x):
    if x.dtype.is_complex:
        return g * conj(inverse_root(x))
    return g * rsqrt((1 - x) * (1 + x))


def acos(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the inverse cosine of x, elementwise, from 0 to pi.

    Parameters
    ----------
    x : Tensor, floating or complex

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    Within 2 ulp in float32. NaN for floats outside [-1, 1]. Of complex numbers, cut along the real
    axis outside [-1, 1], within 5 ulp of the larger part in complex128 (complex64: 1 ulp). The
    gradient is ``-g / conj(sqrt(1 - x**2))``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.acos([0., 1.]).numpy().round(4)
    array([1.5708, 0.    ], dtype=float32)
    """
    return apply_unary("acos", x, name)


@gradient("acos", saves="inputs")
def _(g, y, x):
    if x.dtype.is_complex:
        return -g * conj(inverse_root(x))
    return -g * rsqrt((1 - x) * (1 + x))


def atan(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the inverse tangent of x, elementwise, from -pi/2 to pi/2.

    Parameters
    ----------
    x : Tensor, floating or complex

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    Within 2 ulp in float32. Of complex numbers, cut along the imaginary axis outside [-i, i],
    within 5 ulp of the larger part in complex128 (complex64: 1 ulp). The gradient is
    ``g / conj(1 + x**2)``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.atan([0., 1.]).numpy().round(4)
    array([0.    , 0.7854], dtype=float32)
    """
    return apply_unary("atan", x, name)


@gradient("atan", saves="inputs")
def _(g, y, x):
    if x.dtype.is_complex:          # 1 + x**2 would lose digits near i and overflow
        return g / conj(x - 1j) / conj(x + 1j)
    return g / (1 + x * x)


def atan2(y: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return the angle of the point (x, y), elementwise, from -pi to pi.

    Parameters
    ----------
    y, x : Tensor, floating, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    Within 2 ulp in float32, with the special cases of C's atan2. The gradient is ``g * x /
    (x**2 + y**2)`` to y and ``-g * y / (x**2 + y**2)`` to x.

    Examples
    --------
    >>> import dualflow as df
    >>> df.atan2([1., -1.], [0., -1.]).numpy().round(4)
    array([ 1.5708, -2.3562], dtype=float32)
    """
    return apply_binary("atan2", y, x, name)


@gradient("atan2", saves="inputs")
def _(g, out, y, x):
    # Scaled, because the squares of the coordinates could over- or underflow.
    size = stop_gradient(maximum(abs(x), abs(y)))
    x, y = x / size, y / size
    scaled = g / size / (x * x + y * y)
    return lambda: scaled * x, lambda: -scaled * y
