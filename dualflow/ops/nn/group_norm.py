"""Group and instance normalization of channels, per image, and their gradients."""

from __future__ import annotations

from dualflow._core import Tensor, apply, as_tensor
from dualflow._util.arguments import REFUSED, channels_first, integer, named
from dualflow.gradient_registry import gradient
from dualflow.ops.array.creation import ones_like, zeros_like
from dualflow.ops.array.shape import product, reshape
from dualflow.ops.elementwise.exponential import rsqrt
from dualflow.ops.nn.normalization import in_float, second_order
from dualflow.ops.reduction.reduce import reduce_sum
from dualflow.ops.reduction.reduce_moments import reduce_variance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["group_norm", "group_norm_grad", "instance_norm"]


def channels_second_order(back: Any, z: Any, gg: Any, g: Any, x: Any, scale: Any, groups: int,
                          channels_first: bool, epsilon: float, batch: bool = False) -> Any:
    """Return the gradients of second_order with arguments reshaped to (n, positions, groups,
    channels) or, with channels first, (n, groups, channels, positions)."""
    n, c = x.shape[0], x.shape[1 if channels_first else -1]
    groups, each = (c, 1) if groups == -1 else (groups, c // groups)
    places = product(x.shape[2:] if channels_first else x.shape[1:-1])
    shape = (n, groups, each, places) if channels_first else (n, places, groups, each)
    axes = (0,) * batch + ((2, 3) if channels_first else (1, 3))
    of_channels = (groups, each, 1) if channels_first else (groups, each)

    def seen(v):
        return reshape(v, shape)

    def grouped_back(v):
        return seen(back(reshape(v, x.shape)))

    h = (seen(gg[0]), *[reshape(v, of_channels) for v in gg[1:]])
    rate = rsqrt(reduce_variance(seen(x), axes, True) + epsilon)
    to_g, to_x, *to_scale = second_order(
        grouped_back, h, seen(g), seen(z), rate, [reshape(s, of_channels) for s in scale], axes)
    over = (0, 3) if channels_first else (0, 1)
    return (lambda: reshape(to_g(), x.shape), lambda: reshape(to_x(), x.shape),
            *[lambda f=f: reshape(reduce_sum(f(), over), (c,)) for f in to_scale])


def group_norm(x: TensorLike, groups: int, scale: TensorLike | None = None,
               offset: TensorLike | None = None, epsilon: float = 1e-5, data_format: str = "NHWC",
               name: str | None = None) -> Tensor:
    """Normalize each group of channels of each image to mean 0 and variance 1, then multiply by
    `scale` and add `offset`.

    Parameters
    ----------
    x : Tensor, floating, two dimensions or more
    groups : int
        Number of groups of consecutive channels; -1 for one group per channel.
    scale, offset : Tensor, a number per channel, or None
        None omits the term.
    epsilon : float
        Added to the variance.
    data_format : "NHWC" or "NCHW" (or "N...C", "NC...")
        Whether channels are the last dimension or the second.

    Returns
    -------
    Tensor, like `x`

    Raises
    ------
    InvalidArgumentError
        If `groups` does not divide the number of channels, or `data_format` is unknown.
    ShapeError
        If `x` has fewer than two dimensions, or `scale` or `offset` is not one value per channel.

    Notes
    -----
    One op with one gradient op. Source: Wu and He, Group Normalization (2018).

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.group_norm([[1., 3., 2., 6.]], 2, epsilon=0.).numpy().tolist()
    [[-1.0, 1.0, -1.0, 1.0]]
    """
    first = channels_first(data_format, "group_norm")
    given = [as_tensor(p) for p in (scale, offset) if p is not None]
    if given:
        given = [ones_like(given[0]) if scale is None else given[0],
                 zeros_like(given[0]) if offset is None else given[-1]]
    return apply("group_norm", x, *given, name=name, groups=integer(groups, "group_norm: groups"),
                 channels_first=first, epsilon=epsilon)


@gradient("group_norm", saves=(0, 1))
def _(g, y, x, *parameters, channels_first, epsilon, groups):
    return group_norm_grad(g, x, *parameters[:1], groups=groups, channels_first=channels_first,
                           epsilon=epsilon)


def group_norm_grad(g: TensorLike, x: TensorLike, *scale: TensorLike, groups: int = -1,
                    channels_first: bool = False, epsilon: float = 1e-5) -> tuple[Tensor, ...]:
    """Return the gradients of group_norm, given the gradient g of its result.

    Parameters
    ----------
    g, x : Tensor, floating, same shape
    scale : Tensor, a number per channel, optional

    Returns
    -------
    tuple of Tensor
        The gradient of x; if there is a scale, also the gradients of scale and offset.

    Examples
    --------
    >>> import dualflow as df
    >>> from dualflow.ops.nn.group_norm import group_norm_grad
    >>> group_norm_grad([[1., 0.]], [[1., 3.]], groups=1, epsilon=0.)[0].numpy().tolist()
    [[0.0, 0.0]]
    """
    return apply("group_norm_grad", g, x, *scale, groups=groups,
                 channels_first=bool(channels_first), epsilon=epsilon)


@gradient("group_norm_grad", saves="inputs")
@in_float
def _(gg, out, g, x, *scale, channels_first, epsilon, groups):
    attrs = {"groups": groups, "channels_first": channels_first, "epsilon": epsilon}

    def back(v):
        return group_norm_grad(v, x, **attrs)[0]

    z = apply("group_norm", x, **attrs)
    return channels_second_order(back, z, gg, g, x, scale, groups, channels_first, epsilon)


def instance_norm(x: TensorLike, scale: TensorLike | None = None,
                  offset: TensorLike | None = None, epsilon: float = 1e-5,
                  data_format: str = "NHWC", name: str | None = None) -> Tensor:
    """Normalize each channel of each image to mean 0 and variance 1, then scale and add `offset`.

    Parameters
    ----------
    x : Tensor, floating, two dimensions or more
    scale, offset : Tensor, a number per channel, or None
        None omits the term.
    epsilon : float
        Added to the variance.
    data_format : "NHWC" or "NCHW" (or "N...C", "NC...")
        Whether channels are the last dimension or the second.

    Returns
    -------
    Tensor, like `x`

    Raises
    ------
    InvalidArgumentError
        If `data_format` is unknown.
    ShapeError
        If `x` has fewer than two dimensions, or `scale` or `offset` is not one value per channel.

    Notes
    -----
    `group_norm` with one group per channel.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.instance_norm([[[1.], [3.]], [[2.], [6.]]], epsilon=0.).numpy().ravel().tolist()
    [-1.0, 1.0, -1.0, 1.0]
    """
    try:
        return group_norm(x, -1, scale, offset, epsilon, data_format, name)
    except REFUSED as error:
        raise named(error, "instance_norm") from None
