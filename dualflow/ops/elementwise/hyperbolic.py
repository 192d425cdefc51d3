"""Hyperbolic functions and their inverses, with gradients."""

from __future__ import annotations

from dualflow._core import Tensor, apply_ordered, apply_unary, get_op
from dualflow.gradient_registry import gradient
from dualflow.ops.elementwise.arithmetic import abs
from dualflow.ops.elementwise.compare import where
from dualflow.ops.elementwise.complex import complex, conj, imag, real
from dualflow.ops.elementwise.exponential import rsqrt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import TensorLike

__all__ = [
    "acosh",
    "asinh",
    "atanh",
    "cosh",
    "sinh",
    "tanh",
    "tanh_grad",
]

TANH_GRAD = get_op("tanh_grad")


def sinh(x: TensorLike, name: str | None = None) -> Tensor:
    """Return (e**x - e**-x) / 2, elementwise.

    Parameters
    ----------
    x : Tensor, floating or complex

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    Within 2 ulp in float32, and 3 ulp of the larger part of complex results; special values are
    those of C11, Annex G. The gradient is ``g * conj(cosh(x))``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.sinh([0., 1.]).numpy().round(4)
    array([0.    , 1.1752], dtype=float32)
    """
    return apply_unary("sinh", x, name)


@gradient("sinh", saves="inputs")
def _(g, y, x):
    return g * conj(cosh(x))


def cosh(x: TensorLike, name: str | None = None) -> Tensor:
    """Return (e**x + e**-x) / 2, elementwise.

    Parameters
    ----------
    x : Tensor, floating or complex

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    Within 2 ulp in float32, and 3 ulp of the larger part of complex results; special values are
    those of C11, Annex G. The gradient is ``g * conj(sinh(x))``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.cosh([0., 1.]).numpy().round(4)
    array([1.    , 1.5431], dtype=float32)
    """
    return apply_unary("cosh", x, name)


@gradient("cosh", saves="inputs")
def _(g, y, x):
    return g * conj(sinh(x))


def tanh(x: TensorLike, name: str | None = None) -> Tensor:
    """Return sinh(x) / cosh(x), elementwise.

    Parameters
    ----------
    x : Tensor, floating or complex

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    Within 2 ulp in float32, and 5 ulp of the larger part of complex results; special values are
    those of C11, Annex G. The gradient is ``g / conj(cosh(x)**2)``; of floats it is one op of x.
    Computed from the result as 1 - y**2, the gradient would be 0 wherever y rounds to 1.

    Examples
    --------
    >>> import dualflow as df
    >>> df.tanh([0., 1.]).numpy().round(4)
    array([0.    , 0.7616], dtype=float32)
    """
    return apply_unary("tanh", x, name)


@gradient("tanh", saves="inputs")
def _(g, y, x):
    if x.dtype.is_complex:
        return g * conj(sech_squared(x))
    return tanh_grad(g, x)


def sech_squared(x: Tensor) -> Tensor:
    """Return 1 / cosh(x)**2 of complex numbers; cosh itself would overflow."""
    x = x + x
    return 4 * (apply_unary("sigmoid", x) * apply_unary("sigmoid", -x))


def tanh_grad(g: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return g / cosh(x)**2: the gradient of tanh(x).

    Parameters
    ----------
    g, x : Tensor, floating, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    Accurate to about 4 ulp, also for tiny results. The gradient of g is this op again; the gradient
    of x is -2 times the result times ``tanh(x)`` times the incoming gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.ops.elementwise.hyperbolic.tanh_grad([1., 2.], 0.).numpy().tolist()
    [1.0, 2.0]
    """
    return apply_ordered(TANH_GRAD, (g, x), (), name)


@gradient("tanh_grad", saves="inputs")
def _(gg, out, g, x):
    return lambda: tanh_grad(gg, x), lambda: -2 * tanh_grad(gg * g, x) * tanh(x)


def times_i(x: Tensor) -> Tensor:
    """Return x times the imaginary unit; a product would change signs of zeros."""
    return complex(-imag(x), real(x))


def inverse_root(x: Tensor) -> Tensor:
    """Return 1 / sqrt(1 - x**2) of complex numbers, continuous off the branch cuts of asin.

    Along the cuts the sign of a zero selects the side, which ``1 - x`` and ``x + 1`` would lose:
    the imaginary part of 1 is 0.
    """
    return rsqrt(-(x - 1)) * rsqrt(x - -1)


def asinh(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the inverse of sinh, elementwise.

    Parameters
    ----------
    x : Tensor, floating or complex

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    Within 2 ulp in float32. Of complex numbers, cut along the imaginary axis outside [-i, i],
    within 4 ulp of the larger part in complex128 (complex64: 1 ulp). The gradient is
    ``g / conj(sqrt(1 + x**2))``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.asinh([0., 1.]).numpy().round(4)
    array([0.    , 0.8814], dtype=float32)
    """
    return apply_unary("asinh", x, name)


_FAR = 1e9     # from here on 1 + x**2 rounds to x**2, which is far from overflow


@gradient("asinh", saves="inputs")
def _(g, y, x):
    if x.dtype.is_complex:
        return g * conj(inverse_root(times_i(x)))
    far = abs(x) > _FAR
    near = where(far, 1, x)
    return g * where(far, 1 / abs(x), rsqrt(1 + near * near))


def acosh(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the non-negative inverse of cosh, elementwise.

    Parameters
    ----------
    x : Tensor, floating or complex

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    Within 2 ulp in float32. NaN for floats below 1. Of complex numbers, cut along the real axis
    below 1, within 5 ulp of the larger part in complex128 (complex64: 1 ulp). The gradient is
    ``g / conj(sqrt(x - 1) * sqrt(x + 1))``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.acosh([1., 2.]).numpy().round(4)
    array([0.   , 1.317], dtype=float32)
    """
    return apply_unary("acosh", x, name)


@gradient("acosh", saves="inputs")
def _(g, y, x):
    if x.dtype.is_complex:
        return g * conj(rsqrt(x - 1) * rsqrt(x - -1))
    return g * (rsqrt(x - 1) * rsqrt(x + 1))        # the product of x - 1 and x + 1 would overflow


def atanh(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the inverse of tanh, elementwise.

    Parameters
    ----------
    x : Tensor, floating or complex

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    Within 2 ulp in float32. Infinite at -1 and 1, NaN for floats outside [-1, 1]. Of complex
    numbers, cut along the real axis outside [-1, 1], within 5 ulp of the larger part in complex128
    (complex64: 1 ulp). The gradient is ``g / conj(1 - x**2)``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.atanh([0., 0.5]).numpy().round(4)
    array([0.    , 0.5493], dtype=float32)
    """
    return apply_unary("atanh", x, name)


@gradient("atanh", saves="inputs")
def _(g, y, x):
    if x.dtype.is_complex:          # the product could overflow
        return g / conj(1 - x) / conj(1 + x)
    return g / ((1 - x) * (1 + x))
