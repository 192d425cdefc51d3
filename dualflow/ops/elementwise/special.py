"""Sigmoid, softplus, x log y, the error functions and relatives, with gradients."""

from __future__ import annotations

from dualflow._core import Tensor, apply_binary, apply_unary
from dualflow.gradient_registry import gradient
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import not_equal
from dualflow.ops.elementwise.complex import conj
from dualflow.ops.elementwise.exponential import exp
from dualflow.ops.elementwise.hyperbolic import tanh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import TensorLike

__all__ = ["erf", "erfc", "log_sigmoid", "sigmoid", "sigmoid_grad", "softplus", "xdivy", "xlog1py",
           "xlogy"]


def sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """Return 1 / (1 + e**-x), elementwise.

    Parameters
    ----------
    x : Tensor, floating or complex

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    Within 2 ulp in float32, and 10 ulp of the larger part of complex results, which have poles at
    odd multiples of pi i. Never overflows. The gradient is ``g * conj(sigmoid(x) * sigmoid(-x))``;
    of floats it is one op of x. Computed from the result, it would be 0 wherever the result rounds
    to 1.

    Examples
    --------
    >>> import dualflow as df
    >>> df.sigmoid([-1., 0., 1.]).numpy().round(4)
    array([0.2689, 0.5   , 0.7311], dtype=float32)
    """
    return apply_unary("sigmoid", x, name)


@gradient("sigmoid", saves="inputs")
def _(g, y, x):
    if x.dtype.is_complex:
        return g * conj(sigmoid(x) * sigmoid(-x))
    return sigmoid_grad(g, x)


def sigmoid_grad(g: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return g * sigmoid(x) * sigmoid(-x): the gradient of sigmoid(x).

    Parameters
    ----------
    g, x : Tensor, floating, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    Accurate to about 4 ulp, also for tiny results. The gradient of g is this op again; the gradient
    of x is minus the result times ``tanh(x / 2)`` times the incoming gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.ops.elementwise.special.sigmoid_grad([1., 2.], 0.).numpy().tolist()
    [0.25, 0.5]
    """
    return apply_binary("sigmoid_grad", g, x, name)


@gradient("sigmoid_grad", saves="inputs")
def _(gg, out, g, x):
    return lambda: sigmoid_grad(gg, x), lambda: -sigmoid_grad(gg * g, x) * tanh(0.5 * x)


def softplus(features: TensorLike, name: str | None = None) -> Tensor:
    """Return log(1 + e**x), elementwise.

    Parameters
    ----------
    features : Tensor, floating
        The x of the formula.

    Returns
    -------
    Tensor, same shape and dtype as `features`

    Notes
    -----
    Within 2 ulp in float32. Never overflows. The gradient is ``g * sigmoid(x)``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.softplus([-1., 0., 1.]).numpy().round(4)
    array([0.3133, 0.6931, 1.3133], dtype=float32)
    """
    return apply_unary("softplus", features, name)


@gradient("softplus", saves="inputs")
def _(g, y, x):
    return g * sigmoid(x)


def log_sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """Return log(sigmoid(x)) = -softplus(-x), elementwise.

    Parameters
    ----------
    x : Tensor, floating

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    Within 2 ulp in float32. The gradient is ``g * sigmoid(-x)``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.log_sigmoid([-1., 0., 1.]).numpy().round(4)
    array([-1.3133, -0.6931, -0.3133], dtype=float32)
    """
    return apply_unary("log_sigmoid", x, name)


@gradient("log_sigmoid", saves="inputs")
def _(g, y, x):
    return g * sigmoid(-x)


def xlogy(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x * log(y), elementwise, or 0 where x is 0.

    Parameters
    ----------
    x, y : Tensor, floating or complex, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    The gradient is ``g * conj(log(y))`` to x, 0 where x is 0, and ``g * conj(x / y)`` to y.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.xlogy([0., 2.], [0., 3.]).numpy().round(4)
    array([0.    , 2.1972], dtype=float32)
    """
    return apply_binary("xlogy", x, y, name)


@gradient("xlogy", saves="inputs")
def _(g, out, x, y):
    return (
        lambda: g * conj(xlogy(cast(not_equal(x, 0), x.dtype), y)),
        lambda: g * conj(xdivy(x, y)),
    )


def xlog1py(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x * log(1 + y), elementwise, or 0 where x is 0.

    Parameters
    ----------
    x, y : Tensor, floating or complex, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    The gradient is ``g * conj(log1p(y))`` to x, 0 where x is 0, and ``g * conj(x / (1 + y))`` to y.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.xlog1py([0., 2.], [-1., 2.]).numpy().round(4)
    array([0.    , 2.1972], dtype=float32)
    """
    return apply_binary("xlog1py", x, y, name)


@gradient("xlog1py", saves="inputs")
def _(g, out, x, y):
    return (
        lambda: g * conj(xlog1py(cast(not_equal(x, 0), x.dtype), y)),
        lambda: g * conj(xdivy(x, 1 + y)),
    )


def xdivy(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x / y, elementwise, or 0 where x is 0.

    Parameters
    ----------
    x, y : Tensor, floating or complex, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    The gradient is ``g / conj(y)`` to x, 0 where x is 0, and ``-g * conj(x / y**2)`` to y.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.xdivy([0., 2.], [0., 4.]).numpy().round(4)
    array([0. , 0.5], dtype=float32)
    """
    return apply_binary("xdivy", x, y, name)


@gradient("xdivy", saves="inputs")
def _(g, out, x, y):
    return (
        lambda: g * conj(xdivy(cast(not_equal(x, 0), x.dtype), y)),
        lambda: g * conj(xdivy(-xdivy(x, y), y)),
    )


_TWO_BY_ROOT_PI = 1.1283791670955126


def erf(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the error function 2 / sqrt(pi) * integral of e**-t**2 from 0 to x, elementwise.

    Parameters
    ----------
    x : Tensor, floating

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    Within 2 ulp in float32. The gradient is ``g * 2 / sqrt(pi) * exp(-x**2)``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.erf([0., 1.]).numpy().round(4)
    array([0.    , 0.8427], dtype=float32)
    """
    return apply_unary("erf", x, name)


@gradient("erf", saves="inputs")
def _(g, y, x):
    return g * (_TWO_BY_ROOT_PI * exp(-(x * x)))


def erfc(x: TensorLike, name: str | None = None) -> Tensor:
    """Return 1 - erf(x), elementwise, without cancellation where it is small.

    Parameters
    ----------
    x : Tensor, floating

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Notes
    -----
    Within 2 ulp in float32. The gradient is ``-g * 2 / sqrt(pi) * exp(-x**2)``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.math.erfc([0., 1.]).numpy().round(4)
    array([1.    , 0.1573], dtype=float32)
    """
    return apply_unary("erfc", x, name)


@gradient("erfc", saves="inputs")
def _(g, y, x):
    return g * (-_TWO_BY_ROOT_PI * exp(-(x * x)))
