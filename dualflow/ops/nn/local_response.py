"""Local response normalization and its gradient."""

from __future__ import annotations

from dualflow._core import Tensor, apply
from dualflow.gradient_registry import gradient
from dualflow.ops.array.creation import ones
from dualflow.ops.array.diagonal import band_part
from dualflow.ops.array.shape import product, reshape
from dualflow.ops.elementwise.exponential import pow
from dualflow.ops.linalg.matmul import matmul
from dualflow.ops.nn.normalization import in_float

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["local_response_normalization", "local_response_normalization_grad"]


def local_response_normalization(input: TensorLike, depth_radius: int = 5, bias: float = 1.0,
                                 alpha: float = 1.0, beta: float = 0.5,
                                 name: str | None = None) -> Tensor:
    """Return `input` / (bias + alpha * s)**beta, s the sum of squares of neighbouring channels.

    Parameters
    ----------
    input : Tensor, floating, shape (batch, height, width, channels)
    depth_radius : int
        Number of neighbouring channels on each side.
    bias, alpha, beta : float

    Returns
    -------
    Tensor, like `input`

    Raises
    ------
    ShapeError
        If `input` does not have four dimensions.
    InvalidArgumentError
        If `depth_radius` is negative.

    Notes
    -----
    One op with one gradient op. Source: Krizhevsky, Sutskever and Hinton, ImageNet Classification
    with Deep Convolutional Neural Networks (2012).

    Examples
    --------
    >>> import dualflow as df
    >>> x = [[[[1., 1., 1.]]]]
    >>> df.nn.local_response_normalization(x, 1, beta=1.).numpy().ravel().round(2).tolist()
    [0.33000001311302185, 0.25, 0.33000001311302185]
    """
    return apply("local_response_normalization", input, name=name, depth_radius=depth_radius,
                 bias=bias, alpha=alpha, beta=beta)


@gradient("local_response_normalization", saves="inputs")
def _(g, y, x, depth_radius, bias, alpha, beta):
    return local_response_normalization_grad(g, x, depth_radius, bias, alpha, beta)


lrn = local_response_normalization      # TensorFlow has both names


def local_response_normalization_grad(g: TensorLike, x: TensorLike, depth_radius: int = 5,
                                      bias: float = 1.0, alpha: float = 1.0,
                                      beta: float = 0.5) -> Tensor:
    """Return the gradient of local_response_normalization, given the gradient g of its result.

    Examples
    --------
    >>> import dualflow as df
    >>> from dualflow.ops.nn.local_response import local_response_normalization_grad
    >>> local_response_normalization_grad([[[[4.]]]], [[[[1.]]]], beta=1.).numpy().ravel().tolist()
    [0.0]
    """
    return apply("local_response_normalization_grad", g, x, depth_radius=depth_radius, bias=bias,
                 alpha=alpha, beta=beta)


def _window(v: Any, radius: int) -> Tensor:
    """Sum over neighbouring channels: a product with a band of ones."""
    c = v.shape[-1]
    band = band_part(ones([c, c], v.dtype), radius, radius)
    return reshape(matmul(reshape(v, [product(v.shape[:-1]), c]), band), v.shape)


@gradient("local_response_normalization_grad", saves="inputs")
@in_float
def _(gg, out, g, x, depth_radius, bias, alpha, beta):
    """Differentiate g s^-beta - 2 alpha beta x w(g x s^(-beta - 1)), where w sums over windows and
    s = bias + alpha w(x^2)."""
    h, = gg
    twice = 2 * alpha * beta

    def w(v):
        return _window(v, depth_radius)

    def to_g():
        s = bias + alpha * w(x * x)
        return h * pow(s, -beta) - twice * x * pow(s, -beta - 1) * w(h * x)

    def to_x():
        s = bias + alpha * w(x * x)
        q, a = pow(s, -beta - 1), w(h * x)
        direct = x * w(h * g * q) + h * w(g * x * q) + a * g * q
        return twice * (2 * alpha * (beta + 1) * x * w(a * g * x * q / s) - direct)

    return to_g, to_x
