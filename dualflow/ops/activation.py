"""Activations of neural networks, and what flows back through them."""

from dualflow._core import Tensor, apply
from dualflow.gradients import gradient
from dualflow.ops.arithmetic import abs
from dualflow.ops.compare import where
from dualflow.ops.exponential import exp
from dualflow.ops.special import sigmoid
from dualflow.ops.types import TensorLike

__all__ = [
    "elu",
    "elu_grad",
    "gelu",
    "gelu_grad",
    "leaky_relu",
    "leaky_relu_grad",
    "relu",
    "relu6",
    "relu6_grad",
    "relu_grad",
    "selu",
    "selu_grad",
    "silu",
    "silu_grad",
    "softsign",
    "swish",
]


def relu(features: TensorLike, name: str | None = None) -> Tensor:
    """max(x, 0), elementwise.

    Parameters
    ----------
    features : Tensor, any number dtype

    Returns
    -------
    Tensor, same shape and dtype as `features`

    Notes
    -----
    NaN stays NaN. The gradient is g where x > 0, else 0; one op.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.relu([-1., 0., 2.]).numpy().tolist()
    [0.0, 0.0, 2.0]
    """
    return apply("relu", features, name=name)


@gradient("relu", saves="output")
def _(g, y, features):
    return relu_grad(g, y)


def relu_grad(g: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """g where y > 0, else 0: what flows back through y = relu(x).

    Parameters
    ----------
    g, y : Tensor, floating, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    Of the gradient the same flows to g, and none to y.

    Examples
    --------
    >>> import dualflow as df
    >>> df.ops.activation.relu_grad([1., 2.], [0., 3.]).numpy().tolist()
    [0.0, 2.0]
    """
    return apply("relu_grad", g, y, name=name)


@gradient("relu_grad", saves=(1,))
def _(gg, out, g, y):
    return relu_grad(gg, y), None


def relu6(features: TensorLike, name: str | None = None) -> Tensor:
    """min(max(x, 0), 6), elementwise.

    Parameters
    ----------
    features : Tensor, any number dtype

    Returns
    -------
    Tensor, same shape and dtype as `features`

    Notes
    -----
    NaN stays NaN. The gradient is g where 0 < x < 6, else 0; one op.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.relu6([-1., 2., 7.]).numpy().tolist()
    [0.0, 2.0, 6.0]
    """
    return apply("relu6", features, name=name)


@gradient("relu6", saves="output")
def _(g, y, features):
    return relu6_grad(g, y)


def relu6_grad(g: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """g where 0 < y < 6, else 0: what flows back through y = relu6(x).

    Parameters
    ----------
    g, y : Tensor, floating, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    Of the gradient the same flows to g, and none to y.

    Examples
    --------
    >>> import dualflow as df
    >>> df.ops.activation.relu6_grad([1., 2.], [3., 6.]).numpy().tolist()
    [1.0, 0.0]
    """
    return apply("relu6_grad", g, y, name=name)


@gradient("relu6_grad", saves=(1,))
def _(gg, out, g, y):
    return relu6_grad(gg, y), None


def leaky_relu(features: TensorLike, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """x where x > 0, else alpha * x, elementwise.

    Parameters
    ----------
    features : Tensor, floating
    alpha : float, default 0.2

    Returns
    -------
    Tensor, same shape and dtype as `features`

    Notes
    -----
    NaN stays NaN. The gradient is g where x > 0, else ``alpha * g``; one op.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.leaky_relu([-1., 0., 2.], alpha=0.5).numpy().tolist()
    [-0.5, 0.0, 2.0]
    """
    return apply("leaky_relu", features, alpha=alpha, name=name)


@gradient("leaky_relu", saves="inputs")
def _(g, y, features, alpha):
    return leaky_relu_grad(g, features, alpha)


def leaky_relu_grad(
    g: TensorLike, x: TensorLike, alpha: float = 0.2, name: str | None = None
) -> Tensor:
    """g where x > 0, else alpha * g: what flows back through leaky_relu(x).

    Parameters
    ----------
    g, x : Tensor, floating, shapes that broadcast
    alpha : float, default 0.2

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    Of the gradient the same flows to g, and none to x.

    Examples
    --------
    >>> import dualflow as df
    >>> df.ops.activation.leaky_relu_grad([1., 2.], [-1., 3.], alpha=0.5).numpy().tolist()
    [0.5, 2.0]
    """
    return apply("leaky_relu_grad", g, x, name=name, alpha=alpha)


@gradient("leaky_relu_grad", saves=(1,))
def _(gg, out, g, x, alpha):
    return leaky_relu_grad(gg, x, alpha), None


def elu(features: TensorLike, name: str | None = None) -> Tensor:
    """x where x > 0, else e**x - 1, elementwise.

    Parameters
    ----------
    features : Tensor, floating

    Returns
    -------
    Tensor, same shape and dtype as `features`

    Notes
    -----
    Within 2 ulp in float32. The gradient is g where x > 0, else ``g * e**x``; one op.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.elu([-1., 0., 2.]).numpy().round(4)
    array([-0.6321,  0.    ,  2.    ], dtype=float32)
    """
    return apply("elu", features, name=name)


@gradient("elu", saves="inputs")
def _(g, y, features):
    return elu_grad(g, features)


def elu_grad(g: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """g where x > 0, else g * e**x: what flows back through elu(x).

    Parameters
    ----------
    g, x : Tensor, floating, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    The gradient is the same to g, and where x is not positive to x.

    Examples
    --------
    >>> import dualflow as df
    >>> df.ops.activation.elu_grad([1., 2.], [0., 3.]).numpy().tolist()
    [1.0, 2.0]
    """
    return apply("elu_grad", g, x, name=name)


@gradient("elu_grad", saves="inputs")
def _(gg, out, g, x):
    return lambda: elu_grad(gg, x), lambda: where(x > 0, 0, elu_grad(gg * g, x))


def selu(features: TensorLike, name: str | None = None) -> Tensor:
    """scale * (x where x > 0, else alpha * (e**x - 1)), elementwise.

    Parameters
    ----------
    features : Tensor, floating

    Returns
    -------
    Tensor, same shape and dtype as `features`

    Notes
    -----
    scale = 1.0507..., alpha = 1.6732... are those of Klambauer et al., Self-Normalizing Neural
    Networks (2017). The gradient is one op.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.selu([-1., 0., 2.]).numpy().round(4)
    array([-1.1113,  0.    ,  2.1014], dtype=float32)
    """
    return apply("selu", features, name=name)


@gradient("selu", saves="inputs")
def _(g, y, features):
    return selu_grad(g, features)


def selu_grad(g: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """g * scale where x > 0, else g * scale * alpha * e**x: what flows back through selu(x).

    Parameters
    ----------
    g, x : Tensor, floating, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    The gradient is the same to g, and where x is not positive to x.

    Examples
    --------
    >>> import dualflow as df
    >>> df.ops.activation.selu_grad([1., 2.], [0., 3.]).numpy().round(4)
    array([1.7581, 2.1014], dtype=float32)
    """
    return apply("selu_grad", g, x, name=name)


@gradient("selu_grad", saves="inputs")
def _(gg, out, g, x):
    return lambda: selu_grad(gg, x), lambda: where(x > 0, 0, selu_grad(gg * g, x))


def gelu(features: TensorLike, approximate: bool = False, name: str | None = None) -> Tensor:
    """x * P(X <= x) for a standard normal X: x * (1 + erf(x / sqrt(2))) / 2, elementwise.

    Parameters
    ----------
    features : Tensor, floating
    approximate : bool, default False
        x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2 instead.

    Returns
    -------
    Tensor, same shape and dtype as `features`

    Notes
    -----
    To about 5 ulp, by tanh 2, however far below 0. -inf gives 0. The gradient is one op. Source:
    Hendrycks and Gimpel, Gaussian Error Linear Units (2016).

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


# Constants of gelu: 1 / sqrt(2 pi); 2u = _A x + _B x^3 for the form by tanh, which is
# x sigmoid(2u).
_DENSITY = 0.3989422804014327
_A = 1.5957691216057308
_B = _A * 0.044715


def gelu_grad(
    g: TensorLike, x: TensorLike, approximate: bool = False, name: str | None = None
) -> Tensor:
    """g times the derivative of gelu at x: what flows back through gelu(x).

    Parameters
    ----------
    g, x : Tensor, floating, shapes that broadcast
    approximate : bool, default False

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    The gradient is the same to g, and ``g * gelu''(x)`` times what comes in to x.

    Examples
    --------
    >>> import dualflow as df
    >>> df.ops.activation.gelu_grad([1., 2.], 0.).numpy().tolist()
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


def silu(features: TensorLike, name: str | None = None) -> Tensor:
    """x * sigmoid(x), elementwise.

    Parameters
    ----------
    features : Tensor, floating

    Returns
    -------
    Tensor, same shape and dtype as `features`

    Notes
    -----
    -inf gives 0. The gradient is one op.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.silu([-1., 0., 2.]).numpy().round(4)
    array([-0.2689,  0.    ,  1.7616], dtype=float32)
    """
    return apply("silu", features, name=name)


@gradient("silu", saves="inputs")
def _(g, y, features):
    return silu_grad(g, features)


def silu_grad(g: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """g * s * (1 + x * (1 - s)) with s = sigmoid(x): what flows back through silu(x).

    Parameters
    ----------
    g, x : Tensor, floating, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    The gradient is the same to g, and ``g * silu''(x)`` times what comes in to x.

    Examples
    --------
    >>> import dualflow as df
    >>> df.ops.activation.silu_grad([1., 2.], 0.).numpy().tolist()
    [0.5, 1.0]
    """
    return apply("silu_grad", g, x, name=name)


@gradient("silu_grad", saves="inputs")
def _(gg, out, g, x):
    def to_x():
        s = sigmoid(x)
        return gg * g * (s * (1 - s) * (2 + x * (1 - 2 * s)))

    return lambda: silu_grad(gg, x), to_x


def swish(features: TensorLike, name: str | None = None) -> Tensor:
    """x * sigmoid(x), elementwise: another name of `silu`.

    Parameters
    ----------
    features : Tensor, floating

    Returns
    -------
    Tensor, same shape and dtype as `features`

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.swish([-1., 0., 2.]).numpy().round(4)
    array([-0.2689,  0.    ,  1.7616], dtype=float32)
    """
    return silu(features, name=name)


def softsign(features: TensorLike, name: str | None = None) -> Tensor:
    """``x / (1 + |x|)``, elementwise.

    Parameters
    ----------
    features : Tensor, floating

    Returns
    -------
    Tensor, same shape and dtype as `features`

    Notes
    -----
    1 and -1 at the infinities. The gradient is ``g / (1 + |x|)**2``.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.softsign([-1., 0., 3.]).numpy().tolist()
    [-0.5, 0.0, 0.75]
    """
    return apply("softsign", features, name=name)


@gradient("softsign", saves="inputs")
def _(g, y, features):
    d = 1 + abs(features)
    return g / d / d            # the square would overflow
