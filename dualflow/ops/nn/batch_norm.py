"""Batch normalization of channels, and its gradients."""

from __future__ import annotations

from dualflow._core import Tensor, apply, as_tensor, larger
from dualflow._util.arguments import REFUSED, channels_first, named, not_floating
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.gradient_registry import gradient
from dualflow.ops.array.shape import reshape, stop_gradient, transpose
from dualflow.ops.elementwise.arithmetic import add, multiply
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.exponential import rsqrt
from dualflow.ops.nn.group_norm import channels_second_order
from dualflow.ops.nn.normalization import in_float

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["batch_normalization", "fused_batch_norm", "fused_batch_norm_grad", "normalize_by"]


def batch_normalization(x: TensorLike, mean: TensorLike, variance: TensorLike,
                        offset: TensorLike | None, scale: TensorLike | None,
                        variance_epsilon: float, name: str | None = None) -> Tensor:
    """Return (x - mean) / sqrt(variance + epsilon) * scale + offset.

    Parameters
    ----------
    x : Tensor, floating
    mean, variance : Tensor, shapes that broadcast with `x`
    offset, scale : Tensor or None
        None omits the term.
    variance_epsilon : float
        Keeps the divisor away from 0.

    Returns
    -------
    Tensor, shape of `x`

    Notes
    -----
    The elementwise part is one op, and the gradient of each argument is one op. The reciprocal of
    the divisor is computed first, on the smaller shape of `variance`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.batch_normalization([1., 5.], 3., 4., None, 10., 0.).numpy().tolist()
    [-10.0, 10.0]
    """
    x = as_tensor(x)
    if not x.dtype.is_floating:
        raise not_floating("batch_normalization: x", x.dtype)
    try:
        factor = rsqrt(add(variance, variance_epsilon))
        if scale is not None:
            factor = multiply(factor, scale)
        return normalize_by(x, mean, factor, 0. if offset is None else offset, name)
    except REFUSED as error:
        raise named(error, "batch_normalization", x=x, mean=mean, variance=variance,
                    offset=offset, scale=scale) from None


def normalize_by(x: TensorLike, mean: TensorLike, factor: TensorLike, offset: TensorLike,
                 name: str | None = None) -> Tensor:
    """Return (x - mean) * factor + offset, elementwise.

    Parameters
    ----------
    x, mean, factor, offset : Tensor, floating, shapes that broadcast

    Returns
    -------
    Tensor, of the promoted dtype and the broadcast shape

    Examples
    --------
    >>> import dualflow as df
    >>> df.ops.nn.batch_norm.normalize_by([1., 2.], 1., 3., 0.5).numpy().tolist()
    [0.5, 3.5]
    """
    return apply("normalize_by", x, mean, factor, offset, name=name)


@gradient("normalize_by", saves="inputs")
def _(g, y, x, mean, factor, offset):
    return lambda: g * factor, lambda: -(g * factor), lambda: g * (x - mean), lambda: g


def fused_batch_norm(x: TensorLike, scale: TensorLike, offset: TensorLike,
                     mean: TensorLike | None = None, variance: TensorLike | None = None,
                     epsilon: float = 0.001, data_format: str = "NHWC", is_training: bool = True,
                     name: str | None = None,
                     exponential_avg_factor: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    """Normalize each channel of `x`, multiply by `scale`, add `offset`; also return the moments.

    Parameters
    ----------
    x : Tensor, floating, two dimensions or more
    scale, offset : Tensor, one value per channel
    mean, variance : Tensor, one value per channel, optional
        Inference: the moments used to normalize `x`. Training: the current moving averages,
        required unless `exponential_avg_factor` is 1.
    epsilon : float
        Added to the variance.
    data_format : "NHWC" or "NCHW" (or "N...C", "NC...")
        Whether channels are the last dimension or the second.
    is_training : bool
        Whether to normalize with the moments of `x`.
    exponential_avg_factor : float
        The weight of the moments of `x` in the new moving averages.

    Returns
    -------
    y : Tensor, like `x`
    mean, variance : Tensor, one value per channel
        Training: the new moving averages, ``(1 - factor) * old + factor * new``. The variance in
        the averages divides the sum of squares by n - 1, the variance used for `y` divides by n.
        Inference: the arguments `mean` and `variance`.

    Raises
    ------
    InvalidArgumentError
        If `mean` or `variance` is missing, or `data_format` is unknown.
    ShapeError
        If `x` has fewer than two dimensions, or another argument is not one value per channel.

    Notes
    -----
    One op with one gradient op, for `x`, `scale` and `offset`; the averages have no gradient. The
    moments are combined from the moments of blocks of `x`, which avoids cancellation. The blocks
    depend on the shape alone, so the result is independent of the thread count. An `x` of 16-bit
    floats may have float32 moments. Unlike in TensorFlow, `epsilon` has no minimum. Source: Ioffe
    and Szegedy, Batch Normalization (2015).

    Examples
    --------
    >>> import dualflow as df
    >>> x = [[1., 0.], [3., 4.]]
    >>> y, mean, variance = df.nn.fused_batch_norm(x, [1., 1.], [0., 0.], epsilon=0.)
    >>> y.numpy().tolist(), mean.numpy().tolist(), variance.numpy().tolist()
    ([[-1.0, -1.0], [1.0, 1.0]], [2.0, 2.0], [2.0, 8.0])
    """
    x, scale, offset = as_tensor(x), as_tensor(scale), as_tensor(offset)
    first = channels_first(data_format, "fused_batch_norm")
    new_only = is_training and exponential_avg_factor == 1
    if not new_only and (mean is None or variance is None):
        raise InvalidArgumentError(
            "fused_batch_norm: mean and variance are required unless is_training, with an "
            "exponential_avg_factor of 1")
    narrow = x.dtype if x.dtype.is_reduced_float and scale.dtype is not x.dtype else None
    if not is_training:
        y = _normalize_with_moments(x, mean, variance, offset, scale, epsilon, first)
        return (y if narrow is None else cast(y, narrow)), as_tensor(mean), as_tensor(variance)
    y, new_mean, new_variance = _normalize_and_measure(x, scale, offset, epsilon, first, name)
    n = _count(x, first)
    new_mean, new_variance = stop_gradient(new_mean), stop_gradient(new_variance)
    new_variance = new_variance * (n / larger(n - 1, 1))
    if not new_only:
        decay = 1 - exponential_avg_factor
        new_mean = as_tensor(mean) * decay + new_mean * exponential_avg_factor
        new_variance = as_tensor(variance) * decay + new_variance * exponential_avg_factor
    return (y if narrow is None else cast(y, narrow)), new_mean, new_variance


def _normalize_and_measure(x: Any, scale: Any, offset: Any, epsilon: float, first: bool,
                           name: str | None) -> Any:
    """Return `x` normalized with its own moments, and these.

    As for convolutions, the kernel runs on channels last: both orders of dimensions give the same
    bits, and graphs drop the transposes between the two.
    """
    if not first or x.ndim <= 2:
        return apply("fused_batch_norm", x, scale, offset, name=name, channels_first=False,
                     epsilon=epsilon)
    n = x.ndim
    last = transpose(x, [0, *range(2, n), 1])
    try:
        y, mean, variance = apply("fused_batch_norm", last, scale, offset, channels_first=False,
                                  epsilon=epsilon)
    except REFUSED:                     # raise the error with the shape of the argument
        apply("fused_batch_norm", x, scale, offset, channels_first=True, epsilon=epsilon)
        raise
    return transpose(y, [0, n - 1, *range(1, n - 1)], name=name), mean, variance


def _count(x: Any, first: bool) -> Any:
    """Return the number of elements per channel."""
    n = 1
    for d, size in enumerate(x.shape):
        if d != (1 if first else x.ndim - 1):
            n = n * size
    return n


def _normalize_with_moments(x: Any, mean: Any, variance: Any, offset: Any, scale: Any,
                            epsilon: float, first: bool) -> Tensor:
    """Return `x` normalized with `mean` and `variance`, which have one value per channel, like
    `scale` and `offset`."""
    def per_channel(v):
        v = as_tensor(v)
        if x.ndim < 2 or v.ndim != 1:
            raise ShapeError(f"fused_batch_norm: x has shape {x.shape}, and got shape {v.shape}, "
                             "expected one value per channel")
        return reshape(v, (-1, *(1,) * (x.ndim - 2))) if first else v

    try:
        return batch_normalization(x, per_channel(mean), per_channel(variance),
                                   per_channel(offset), per_channel(scale), epsilon)
    except REFUSED as error:
        raise named(error, "fused_batch_norm") from None


@gradient("fused_batch_norm", saves=(0, 1))
def _(g, y, x, *parameters, channels_first, epsilon):
    return fused_batch_norm_grad(g[0], x, *parameters[:1], channels_first=channels_first,
                                 epsilon=epsilon)


def fused_batch_norm_grad(g: TensorLike, x: TensorLike, *scale: TensorLike,
                          channels_first: bool = False,
                          epsilon: float = 0.001) -> tuple[Tensor, ...]:
    """Return the gradients of fused_batch_norm, given the gradient g of its y.

    Parameters
    ----------
    g, x : Tensor, floating, same shape
    scale : Tensor, one value per channel, optional

    Returns
    -------
    tuple of Tensor
        The gradient of x; if there is a scale, also the gradients of scale and offset.

    Examples
    --------
    >>> import dualflow as df
    >>> from dualflow.ops.nn.batch_norm import fused_batch_norm_grad
    >>> [d.numpy().tolist() for d in fused_batch_norm_grad([[1.], [0.]], [[1.], [3.]], [1.],
    ...                                                    epsilon=0.)]
    [[[0.0], [0.0]], [-1.0], [1.0]]
    """
    return apply("fused_batch_norm_grad", g, x, *scale, channels_first=bool(channels_first),
                 epsilon=epsilon)


@gradient("fused_batch_norm_grad", saves="inputs")
@in_float
def _(gg, out, g, x, *scale, channels_first, epsilon):
    def back(v):
        return fused_batch_norm_grad(v, x, channels_first=channels_first, epsilon=epsilon)[0]

    z = apply("fused_batch_norm", x, channels_first=channels_first, epsilon=epsilon)[0]
    return channels_second_order(back, z, gg, g, x, scale, -1, channels_first, epsilon,
                                 batch=True)
