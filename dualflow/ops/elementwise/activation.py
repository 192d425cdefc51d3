"""Smooth activation functions of neural networks, and their gradients."""

from __future__ import annotations

from dualflow._core import Tensor, apply, apply_binary, apply_unary, as_tensor
from dualflow.gradient_registry import gradient
from dualflow.ops.elementwise.arithmetic import abs, multiply
from dualflow.ops.elementwise.compare import where
from dualflow.ops.elementwise.exponential import exp
from dualflow.ops.elementwise.special import sigmoid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import TensorLike

__all__ = [
    "elu",
    "elu_grad",
    "gelu",
    "gelu_grad",
    "selu",
    "selu_grad",
    "silu",
    "silu_grad",
    "softsign",
    "swish",
]


def elu(features: TensorLike, name: str | None = None) -> Tensor:
    """Return x where x > 0, else e**x - 1, elementwise.

    Parameters
    ----------
    features : Tensor, floating

    Returns
    -------
    Tensor, same shape and dtype as `features`

    Notes
    -----
    Within 2 ulp in float32. The gradient is g where x > 0, else ``g * e**x``, computed by one op.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.elu([-1., 0., 2.]).numpy().round(4)
    array([-0.6321,  0.    ,  2.    ], dtype=float32)
    """
    return apply_unary("elu", features, name)


@gradient("elu", saves="inputs")
def _(g, y, features):
    return elu_grad(g, features)


def elu_grad(g: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return g where x > 0, else g * e**x: the gradient of elu(x).

    Parameters
    ----------
    g, x : Tensor, floating, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    The gradient of g is this op again; the gradient of x is the result times the incoming gradient,
    or 0 if x > 0.

    Examples
    --------
    >>> import dualflow as df
    >>> df.ops.elementwise.activation.elu_grad([1., 2.], [0., 3.]).numpy().tolist()
    [1.0, 2.0]
    """
    return apply_binary("elu_grad", g, x, name)


@gradient("elu_grad", saves="inputs")
def _(gg, out, g, x):
    return lambda: elu_grad(gg, x), lambda: where(x > 0, 0, elu_grad(gg * g, x))


def selu(features: TensorLike, name: str | None = None) -> Tensor:
    """Return scale * (x where x > 0, else alpha * (e**x - 1)), elementwise.

    Parameters
    ----------
    features : Tensor, floating

    Returns
    -------
    Tensor, same shape and dtype as `features`

    Notes
    -----
    scale = 1.0507... and alpha = 1.6732... are from Klambauer et al., Self-Normalizing Neural
    Networks (2017). The gradient is one op.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.selu([-1., 0., 2.]).numpy().round(4)
    array([-1.1113,  0.    ,  2.1014], dtype=float32)
    """
    return apply_unary("selu", features, name)


@gradient("selu", saves="inputs")
def _(g, y, features):
    return selu_grad(g, features)


def selu_grad(g: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return g * scale where x > 0, else g * scale * alpha * e**x: the gradient of selu(x).

    Parameters
    ----------
    g, x : Tensor, floating, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    The gradient of g is this op again; the gradient of x is the result times the incoming gradient,
    or 0 if x > 0.

    Examples
    --------
    >>> import dualflow as df
    >>> df.ops.elementwise.activation.selu_grad([1., 2.], [0., 3.]).numpy().round(4)
    array([1.7581, 2.1014], dtype=float32)
    """
    return apply_binary("selu_grad", g, x, name)


@gradient("selu_grad", saves="inputs")
def _(gg, out, g, x):
    return lambda: selu_grad(gg, x), lambda: where(x > 0, 0, selu_grad(gg * g, x))


def gelu(features: TensorLike, approximate: bool = False, name: str | None = None) -> Tensor:
    """Return x * P(X <= x) for a standard normal X: x * (1 + erf(x / sqrt(2))) / 2, elementwise.

    Parameters
    ----------
    features : Tensor, floating
    approximate : bool, default False
        Compute x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2 instead.

    Returns
    -------
    Tensor, same shape and dtype as `features`

    Notes
    -----
    Accurate to about 5 ulp (2 ulp with tanh), also far below 0. -inf gives 0. The gradient is one
    op. Source: Hendrycks and Gimpel, Gaussian Error Linear Units (2016).

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.gelu([-1., 0., 2.]).numpy().round(4)
    array([-0.1587,  0.    ,  1.9545], dtype=float32)
    """
    return apply("gelu", features, approximate=approximate, name=name)


@gradient("gelu", saves="inputs")
def _(g, y, features, approximate):
    return gelu_grad(g, features, bool(approximate))


# Constants of gelu: 1 / sqrt(2 pi); 2u = _A x + _B x^3 for the tanh form, which equals
# x sigmoid(2u).
_DENSITY = 0.3989422804014327
_A = 1.5957691216057308
_B = _A * 0.044715


def gelu_grad(
    g: TensorLike, x: TensorLike, approximate: bool = False, name: str | None = None
) -> Tensor:
    """Return g times the derivative of gelu at x: the gradient of gelu(x).

    Parameters
    ----------
    g, x : Tensor, floating, shapes that broadcast
    approximate : bool, default False

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    The gradient of g is this op again; the gradient of x is ``g * gelu''(x)`` times the incoming
    gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.ops.elementwise.activation.gelu_grad([1., 2.], 0.).numpy().tolist()
    [0.5, 1.0]
    """
    return apply("gelu_grad", g, x, name=name, approximate=approximate)


@gradient("gelu_grad", saves="inputs")
def _(gg, out, g, x, approximate):
    def to_x():
        if not approximate:
            return gg * g * ((2 - x * x) * (_DENSITY * exp(-0.5 * x * x)))
        s = sigmoid(_A * x + _B * (x * x * x))
        slope, curvature = _A + 3 * _B * (x * x), 6 * _B * x
        inner = 2 * slope + x * curvature + x * (slope * slope) * (1 - 2 * s)
        return gg * g * (s * (1 - s) * inner)

    return lambda: gelu_grad(gg, x, approximate), to_x


def silu(features: TensorLike, beta: float = 1.0, name: str | None = None) -> Tensor:
    """Return x * sigmoid(beta * x), elementwise.

    Parameters
    ----------
    features : Tensor, floating
    beta : float or Tensor

    Returns
    -------
    Tensor, same shape and dtype as `features`

    Notes
    -----
    -inf gives 0. The gradient is one op if `beta` is 1.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.silu([-1., 0., 2.]).numpy().round(4)
    array([-0.2689,  0.    ,  1.7616], dtype=float32)
    """
    if isinstance(beta, float | int) and beta == 1:
        return apply_unary("silu", features, name)
    x = as_tensor(features, None, "silu")
    return multiply(x, sigmoid(x * beta), name=name)


@gradient("silu", saves="inputs")
def _(g, y, features):
    return silu_grad(g, features)


def silu_grad(g: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return g * s * (1 + x * (1 - s)) with s = sigmoid(x): the gradient of silu(x).

    Parameters
    ----------
    g, x : Tensor, floating, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    The gradient of g is this op again; the gradient of x is ``g * silu''(x)`` times the incoming
    gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.ops.elementwise.activation.silu_grad([1., 2.], 0.).numpy().tolist()
    [0.5, 1.0]
    """
    return apply_binary("silu_grad", g, x, name)


@gradient("silu_grad", saves="inputs")
def _(gg, out, g, x):
    def to_x():
        s = sigmoid(x)
        return gg * g * (s * (1 - s) * (2 + x * (1 - 2 * s)))

    return lambda: silu_grad(gg, x), to_x


def swish(features: TensorLike, beta: float = 1.0, name: str | None = None) -> Tensor:
    """Return x * sigmoid(beta * x), elementwise. An alias of `silu`.

    Parameters
    ----------
    features : Tensor, floating
    beta : float or Tensor

    Returns
    -------
    Tensor, same shape and dtype as `features`

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.swish([-1., 0., 2.]).numpy().round(4)
    array([-0.2689,  0.    ,  1.7616], dtype=float32)
    """
    return silu(features, beta, name)


def softsign(features: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x / (1 + |x|)``, elementwise.

    Parameters
    ----------
    features : Tensor, floating

    Returns
    -------
    Tensor, same shape and dtype as `features`

    Notes
    -----
    The limits at plus and minus infinity are 1 and -1. The gradient is ``g / (1 + |x|)**2``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.softsign([-1., 0., 3.]).numpy().tolist()
    [-0.5, 0.0, 0.75]
    """
    return apply_unary("softsign", features, name)


@gradient("softsign", saves="inputs")
def _(g, y, features):
    d = 1 + abs(features)
    return g / d / d            # the square would overflow
