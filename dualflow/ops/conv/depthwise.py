"""Depthwise convolutions: `conv` with as many groups as channels."""

from __future__ import annotations

from dualflow._core import Tensor, TensorBase, apply, as_tensor
from dualflow._util.arguments import REFUSED, named
from dualflow.errors import ShapeError
from dualflow.ops.array.shape import reshape, same_size, static_shape
from dualflow.ops.conv.convolution import (
    Geometry,
    Padding,
    channels_first,
    conv_backprop_filter,
    conv_backprop_input,
    geometry,
    image_sizes,
    images,
    sizes_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["depthwise_conv2d", "depthwise_conv2d_backprop_filter",
           "depthwise_conv2d_backprop_input", "separable_conv2d"]


def _grouped(height: int, width: int, channels: int, outputs: int) -> tuple[int, ...]:
    """Return the shape that conv expects for filters (height, width, channels, outputs)."""
    return height, width, 1, channels * outputs if channels >= 0 and outputs >= 0 else -1


def _as_grouped(op: str, filter: TensorLike) -> TensorBase:
    w = as_tensor(filter, None, op)
    if w.ndim != 4:
        raise ShapeError(f"{op}: filter has shape {w.shape}, expected (height, width, channels, "
                         "outputs of a channel)")
    return reshape(w, _grouped(*static_shape(w)))


def _may_be_same(a: int | None, b: int | None) -> bool:
    return a is None or b is None or same_size(a, b)


def _check_channels(op: str, shape: tuple[Any, ...], filter: tuple[Any, ...]) -> None:
    """Check that an input with channels last has one filter per channel."""
    if not _may_be_same(shape[3], filter[2]):
        raise ShapeError(f"{op}: input with channels last has shape {shape} and filter {filter}, "
                         f"expected one filter for each of {shape[3]} channels")


def _depthwise(op: str, x: TensorBase, filter: TensorLike, given: Geometry,
               name: str | None = None) -> Tensor:
    w = as_tensor(filter, None, op)
    grouped = _as_grouped(op, w)
    _check_channels(op, x.shape, w.shape)
    try:
        return apply("conv", x, grouped, name=name, **given.attrs)
    except REFUSED as error:
        raise named(error, op, filter=w) from None


def depthwise_conv2d(input: TensorLike, filter: TensorLike, strides: TensorLike, padding: Padding,
                     data_format: str | None = None, dilations: TensorLike | None = None,
                     name: str | None = None) -> Tensor:
    """Convolve each channel of images with its own filters.

    ``y[b, i, j, c * outputs + m] = sum over k, l of x[b, i * stride + k, j * stride + l, c]
    filter[k, l, c, m]``, where x is `input` with zeros around it.

    Parameters
    ----------
    input : Tensor, floating, shape (batch, height, width, channels)
    filter : Tensor, same dtype, shape (height, width, channels, outputs of a channel)
    strides : int or ints
        Step between windows: one number, one per spatial dimension, or one for each dimension.
    padding : "SAME", "VALID" or a pair (zeros before, zeros after) for each of 4 dimensions
    data_format : "NHWC" or "NCHW"
        Whether channels are the last dimension of images, the default, or the second.
    dilations : int or ints, optional
        Step between the input elements that neighbouring filter elements multiply; as strides.

    Returns
    -------
    Tensor, shape (batch, rows, columns, channels * outputs), in `data_format`

    Raises
    ------
    ShapeError
        If there is not one filter per channel, or filters are larger than the padded image.
    InvalidArgumentError
        If a stride or a dilation is less than 1, or the padding is not one of these.

    Notes
    -----
    This is `conv2d` with as many groups as channels and filters of shape (height, width, 1,
    channels * outputs). The kernel computes it directly, without patches. The gradients are
    `depthwise_conv2d_backprop_input` and `depthwise_conv2d_backprop_filter`.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.constant([[[[1., 10.], [2., 20.], [3., 30.]]]])
    >>> w = df.reshape(df.constant([1., 2., 1., -1.]), (1, 2, 2, 1))
    >>> df.nn.depthwise_conv2d(x, w, 1, "VALID").numpy().tolist()
    [[[[3.0, 0.0], [5.0, 10.0]]]]
    """
    op = "depthwise_conv2d"
    given = geometry(op, 2, strides, padding, data_format, dilations)
    return channels_first(_depthwise(op, images(op, "input", input, 2, given), filter, given, name),
                          given)


def depthwise_conv2d_backprop_input(input_sizes: TensorLike, filter: TensorLike,
                                    out_backprop: TensorLike, strides: TensorLike | None,
                                    padding: Padding, data_format: str = "NHWC",
                                    dilations: TensorLike | None = None,
                                    name: str | None = None) -> Tensor:
    """Return the gradient of `depthwise_conv2d` with respect to its input.

    Parameters
    ----------
    input_sizes : ints
        The shape of the input.
    filter : Tensor, floating, shape (height, width, channels, outputs of a channel)
    out_backprop : Tensor, same dtype
        The gradient with respect to the output, in the output's shape.
    strides, padding, data_format, dilations
        Of the convolution.

    Returns
    -------
    Tensor, shape `input_sizes`

    Examples
    --------
    >>> import dualflow as df
    >>> w, g = df.ones((2, 2, 1, 1)), df.ones((1, 2, 2, 1))
    >>> dx = df.nn.depthwise_conv2d_backprop_input((1, 3, 3, 1), w, g, 1, "VALID")
    >>> dx[0, 1, :, 0].numpy().tolist()
    [2.0, 4.0, 2.0]
    """
    op = "depthwise_conv2d_backprop_input"
    given = geometry(op, 2, strides, padding, data_format, dilations)
    w, shape = as_tensor(filter, None, op), image_sizes(op, "input_sizes", input_sizes, 2, given)
    grouped = _as_grouped(op, w)
    _check_channels(op, shape, w.shape)
    g = images(op, "out_backprop", out_backprop, 2, given)
    try:
        return channels_first(conv_backprop_input(shape, grouped, g, given.attrs, name), given)
    except REFUSED as error:
        raise named(error, op, filter=w, out_backprop=g) from None


def depthwise_conv2d_backprop_filter(input: TensorLike, filter_sizes: TensorLike,
                                     out_backprop: TensorLike, strides: TensorLike | None,
                                     padding: Padding, data_format: str = "NHWC",
                                     dilations: TensorLike | None = None,
                                     name: str | None = None) -> Tensor:
    """Return the gradient of `depthwise_conv2d` with respect to its filter.

    Parameters
    ----------
    input : Tensor, floating, shape (batch, height, width, channels)
    filter_sizes : ints
        The shape of the filter: (height, width, channels, outputs of a channel).
    out_backprop : Tensor, same dtype
        The gradient with respect to the output, in the output's shape.
    strides, padding, data_format, dilations
        Of the convolution.

    Returns
    -------
    Tensor, shape `filter_sizes`

    Examples
    --------
    >>> import dualflow as df
    >>> x, g = df.ones((1, 3, 3, 1)), df.ones((1, 2, 2, 1))
    >>> dw = df.nn.depthwise_conv2d_backprop_filter(x, (2, 2, 1, 1), g, 1, "VALID")
    >>> dw.numpy().ravel().tolist()
    [4.0, 4.0, 4.0, 4.0]
    """
    op = "depthwise_conv2d_backprop_filter"
    given = geometry(op, 2, strides, padding, data_format, dilations)
    x, g = images(op, "input", input, 2, given), images(op, "out_backprop", out_backprop, 2, given)
    sizes = sizes_of(op, "filter_sizes", filter_sizes, 2)
    _check_channels(op, x.shape, sizes)
    try:
        return reshape(conv_backprop_filter(x, _grouped(*sizes), g, given.attrs), sizes, name)
    except REFUSED as error:
        raise named(error, op, input=x, out_backprop=g) from None


def separable_conv2d(input: TensorLike, depthwise_filter: TensorLike,
                     pointwise_filter: TensorLike, strides: TensorLike, padding: Padding,
                     data_format: str | None = None, dilations: TensorLike | None = None,
                     name: str | None = None) -> Tensor:
    """Compute `depthwise_conv2d`, then mix its channels by a 1 x 1 convolution.

    Parameters
    ----------
    input : Tensor, floating, shape (batch, height, width, channels)
    depthwise_filter : Tensor, same dtype, shape (height, width, channels, outputs of a channel)
    pointwise_filter : Tensor, same dtype, shape (1, 1, channels * outputs of a channel, outputs)
    strides, padding, data_format, dilations
        Of the depthwise convolution.

    Returns
    -------
    Tensor, shape (batch, rows, columns, outputs), in `data_format`

    Raises
    ------
    ShapeError
        If the filters are incompatible with the input or each other.

    Examples
    --------
    >>> import dualflow as df
    >>> x, depthwise = df.ones((1, 5, 5, 3)), df.ones((3, 3, 3, 2))
    >>> df.nn.separable_conv2d(x, depthwise, df.ones((1, 1, 6, 8)), 1, "SAME").shape
    (1, 5, 5, 8)
    """
    op = "separable_conv2d"
    given = geometry(op, 2, strides, padding, data_format, dilations)
    w, mix = as_tensor(depthwise_filter, None, op), as_tensor(pointwise_filter, None, op)
    if w.ndim != 4 or mix.ndim != 4 or not _mixes(mix.shape, w.shape):
        raise ShapeError(f"{op}: depthwise_filter has shape {w.shape} and pointwise_filter "
                         f"{mix.shape}, expected (height, width, channels, n) and (1, 1, channels "
                         "* n, outputs)")
    y = _depthwise(op, images(op, "input", input, 2, given), w, given)
    at = given.attrs | {"strides": [1, 1], "dilations": [1, 1], "same": True, "pads": []}
    return channels_first(apply("conv", y, mix, name=name, **at), given)


def _mixes(pointwise: tuple[Any, ...], depthwise: tuple[Any, ...]) -> bool:
    unknown = depthwise[2] is None or depthwise[3] is None
    channels = None if unknown else depthwise[2] * depthwise[3]
    return all(map(_may_be_same, pointwise[:3], (1, 1, channels)))
