"""Neural network functions composed of other ops, including their gradients."""

from __future__ import annotations

from dualflow._core import Tensor, TensorBase, as_tensor
from dualflow._util.arguments import LESS_THAN_ALL, REFUSED, channels_first, named, number
from dualflow.errors import ShapeError
from dualflow.ops.array.shape import reshape, same_size
from dualflow.ops.elementwise.arithmetic import add, multiply, square
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import greater_equal
from dualflow.ops.elementwise.complex import check_real
from dualflow.ops.random import random_samples
from dualflow.ops.reduction.reduce import reduce_sum
from dualflow.ops.reduction.reduce_moments import reduce_mean, reduce_variance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import Axis, TensorLike

__all__ = ["bias_add", "dropout", "l2_loss", "moments"]


def bias_add(value: TensorLike, bias: TensorLike, data_format: str = "NHWC",
             name: str | None = None) -> Tensor:
    """Add one bias per channel to `value`.

    Parameters
    ----------
    value : Tensor, any number dtype, two dimensions or more
    bias : Tensor, one dimension, one element per channel of `value`
    data_format : "NHWC" or "NCHW" (or "N...C", "NC...")
        Whether channels are the last dimension or the second.

    Returns
    -------
    Tensor, shape of `value`

    Raises
    ------
    ShapeError
        If the size of `bias` is not the number of channels.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.bias_add([[1., 2.], [3., 4.]], [10., 20.]).numpy().tolist()
    [[11.0, 22.0], [13.0, 24.0]]
    """
    value, bias = as_tensor(value), as_tensor(bias)
    first = channels_first(data_format, "bias_add")
    if value.ndim < 2 or bias.ndim != 1 or not same_size(bias.shape[0],
                                                         value.shape[1 if first else -1]):
        raise ShapeError(f"bias_add: value has shape {value.shape} and bias {bias.shape}, expected "
                         f"a bias per channel of {data_format}")
    if first:
        bias = reshape(bias, (-1,) + (1,) * (value.ndim - 2))
    return add(value, bias, name)


def moments(x: TensorLike, axes: Axis, shift: None = None, keepdims: bool = False,
            name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return the mean and variance of `x` along `axes`.

    Parameters
    ----------
    x : Tensor, floating
    axes : int or sequence of int
    shift : None
        Ignored; accepted for compatibility with TensorFlow.
    keepdims : bool
        Whether to keep these axes with size 1.

    Returns
    -------
    mean, variance : Tensor
        The variance of complex numbers is real.

    Examples
    --------
    >>> import dualflow as df
    >>> mean, variance = df.nn.moments([[1., 3.], [2., 6.]], axes=1)
    >>> mean.numpy().tolist(), variance.numpy().tolist()
    ([2.0, 4.0], [1.0, 4.0])
    """
    try:
        return reduce_mean(x, axes, keepdims), reduce_variance(x, axes, keepdims)
    except REFUSED as error:
        raise named(error, "moments") from None


def l2_loss(t: TensorLike, name: str | None = None) -> Tensor:
    """Return half the sum of the squares of all elements.

    Parameters
    ----------
    t : Tensor, floating

    Returns
    -------
    Tensor, shape ()

    Raises
    ------
    DTypeError
        If `t` is complex.

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.l2_loss([3., 4.]).numpy().item()
    12.5
    """
    x = t if isinstance(t, TensorBase) else as_tensor(t)
    return multiply(reduce_sum(square(check_real("l2_loss", x))), 0.5, name)


def dropout(x: TensorLike, rate: float, noise_shape: TensorLike | None = None,
            seed: int | None = None, name: str | None = None) -> Tensor:
    """Set a fraction `rate` of the elements to 0 and scale the others by 1 / (1 - rate).

    Parameters
    ----------
    x : Tensor, floating
    rate : float, from 0 to below 1
    noise_shape : ints, optional
        The shape of the random mask, which broadcasts with `x`: elements along a dimension of 1
        are kept or dropped together.
    seed : int, optional
        The same seed drops the same elements.

    Returns
    -------
    Tensor, same shape and dtype as `x`

    Raises
    ------
    InvalidArgumentError
        If `rate` is not in [0, 1).

    Examples
    --------
    >>> import dualflow as df
    >>> y = df.nn.dropout(df.ones([1000]), 0.5, seed=1)
    >>> sorted(set(y.numpy().tolist()))
    [0.0, 2.0]
    """
    x = as_tensor(x)
    number(rate, "dropout: rate", LESS_THAN_ALL)
    if rate == 0:
        return x
    shape: Any = x.shape if noise_shape is None else noise_shape
    drawn = random_samples.uniform(shape, seed=seed)
    mask = cast(greater_equal(drawn, rate), x.dtype)
    return multiply(x * (1 / (1 - rate)), mask, name)
