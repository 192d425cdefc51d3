"""Rectifiers of neural networks, and their gradients."""

from __future__ import annotations

from dualflow._core import Tensor, apply, apply_binary, apply_ordered, apply_unary, get_op
from dualflow.gradient_registry import gradient

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import TensorLike

__all__ = ["leaky_relu", "leaky_relu_grad", "relu", "relu6", "relu6_grad", "relu_grad"]

RELU = get_op("relu")


def relu(features: TensorLike, name: str | None = None) -> Tensor:
    """Return max(x, 0), elementwise.

    Parameters
    ----------
    features : Tensor, any number dtype

    Returns
    -------
    Tensor, same shape and dtype as `features`

    Notes
    -----
    NaN returns NaN. The gradient is g where x > 0, else 0; one op.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.relu([-1., 0., 2.]).numpy().tolist()
    [0.0, 0.0, 2.0]
    """
    return apply_ordered(RELU, (features,), (), name)


@gradient("relu", saves="output")
def _(g, y, features):
    return relu_grad(g, y)


def relu_grad(g: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return g where y > 0, else 0: the gradient of y = relu(x).

    Parameters
    ----------
    g, y : Tensor, floating, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    The gradient to g is this op again; y has no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.ops.elementwise.relu.relu_grad([1., 2.], [0., 3.]).numpy().tolist()
    [0.0, 2.0]
    """
    return apply_binary("relu_grad", g, y, name)


@gradient("relu_grad", saves=(1,))
def _(gg, out, g, y):
    return relu_grad(gg, y), None


def relu6(features: TensorLike, name: str | None = None) -> Tensor:
    """Return min(max(x, 0), 6), elementwise.

    Parameters
    ----------
    features : Tensor, any number dtype

    Returns
    -------
    Tensor, same shape and dtype as `features`

    Notes
    -----
    NaN returns NaN. The gradient is g where 0 < x < 6, else 0; one op.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.relu6([-1., 2., 7.]).numpy().tolist()
    [0.0, 2.0, 6.0]
    """
    return apply_unary("relu6", features, name)


@gradient("relu6", saves="output")
def _(g, y, features):
    return relu6_grad(g, y)


def relu6_grad(g: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return g where 0 < y < 6, else 0: the gradient of y = relu6(x).

    Parameters
    ----------
    g, y : Tensor, floating, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    The gradient to g is this op again; y has no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.ops.elementwise.relu.relu6_grad([1., 2.], [3., 6.]).numpy().tolist()
    [1.0, 0.0]
    """
    return apply_binary("relu6_grad", g, y, name)


@gradient("relu6_grad", saves=(1,))
def _(gg, out, g, y):
    return relu6_grad(gg, y), None


def leaky_relu(features: TensorLike, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """Return x where x > 0, else alpha * x, elementwise.

    Parameters
    ----------
    features : Tensor, floating
    alpha : float, default 0.2

    Returns
    -------
    Tensor, same shape and dtype as `features`

    Notes
    -----
    NaN returns NaN. The gradient is g where x > 0, else ``alpha * g``; one op.

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
    """Return g where x > 0, else alpha * g: the gradient of leaky_relu(x).

    Parameters
    ----------
    g, x : Tensor, floating, shapes that broadcast
    alpha : float, default 0.2

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Notes
    -----
    The gradient to g is this op again; x has no gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.ops.elementwise.relu.leaky_relu_grad([1., 2.], [-1., 3.], alpha=0.5).numpy().tolist()
    [0.5, 2.0]
    """
    return apply("leaky_relu_grad", g, x, name=name, alpha=alpha)


@gradient("leaky_relu_grad", saves=(1,))
def _(gg, out, g, x, alpha):
    return leaky_relu_grad(gg, x, alpha), None
