"""Transposed convolutions, and the gradients of convolutions as public functions.

Both use the gradient ops: a transposed convolution is the gradient of a convolution with respect to
its input.
"""

from __future__ import annotations

from dualflow._core import Tensor, as_tensor
from dualflow._util.arguments import REFUSED, named
from dualflow.errors import ShapeError
from dualflow.ops.conv.convolution import (
    Padding,
    channels_first,
    conv_backprop_filter,
    conv_backprop_input,
    dimensions,
    geometry,
    image_sizes,
    images,
    sizes_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import TensorLike

__all__ = ["atrous_conv2d_transpose", "conv1d_transpose", "conv2d_backprop_filter",
           "conv2d_backprop_input", "conv2d_transpose", "conv3d_transpose", "conv_transpose"]


def _backprop_input(op: str, n: int, sizes: TensorLike, filters: TensorLike, g: TensorLike,
                    strides: TensorLike | None, padding: Padding, data_format: str | None,
                    dilations: TensorLike | None, name: str | None, what: str, of: str) -> Tensor:
    """Return the gradient of a convolution of `sizes`; `what` and `of` name `sizes` and `g`."""
    w, g = as_tensor(filters, None, op), as_tensor(g, None, op)
    given = geometry(op, n, strides, padding, data_format, dilations)
    shape = image_sizes(op, what, sizes, n, given)
    if w.ndim != n + 2:
        raise ShapeError(f"{op}: filters have shape {w.shape}, expected {n + 2} dimensions")
    last = images(op, of, g, n, given)
    try:
        y = conv_backprop_input(shape, w, last, given.attrs, name)
    except REFUSED as error:
        if what == "output_shape":
            raise named(error, op, **{"input, the gradient": g, "filters": w}) from None
        raise named(error, op, **({"out_backprop": g} if given.first else {})) from None
    return channels_first(y, given)


def conv1d_transpose(input: TensorLike, filters: TensorLike, output_shape: TensorLike,
                     strides: TensorLike, padding: Padding = "SAME", data_format: str = "NWC",
                     dilations: TensorLike | None = None, name: str | None = None) -> Tensor:
    """Return the transpose of `conv1d`: the sum of `filters` scaled by each element of `input`.

    Parameters
    ----------
    input : Tensor, floating, shape (batch, width, channels)
    filters : Tensor, same dtype, shape (width, outputs, channels)
    output_shape : ints
        The shape of the result; its convolution has the shape of `input`.
    strides, padding, data_format, dilations
        Of the transposed convolution.

    Returns
    -------
    Tensor, shape `output_shape`

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.reshape([1., 2.], (1, 2, 1))
    >>> w = df.reshape([1., 10.], (2, 1, 1))
    >>> df.nn.conv1d_transpose(x, w, (1, 4, 1), 2).numpy().ravel().tolist()
    [1.0, 10.0, 2.0, 20.0]
    """
    return _backprop_input("conv1d_transpose", 1, output_shape, filters, input, strides, padding,
                           data_format, dilations, name, "output_shape", "input")


def conv2d_transpose(input: TensorLike, filters: TensorLike, output_shape: TensorLike,
                     strides: TensorLike, padding: Padding = "SAME", data_format: str = "NHWC",
                     dilations: TensorLike | None = None, name: str | None = None) -> Tensor:
    """Return the transpose of `conv2d`: the sum of `filters` scaled by each pixel of `input`.

    Parameters
    ----------
    input : Tensor, floating, shape (batch, height, width, channels)
    filters : Tensor, same dtype, shape (height, width, outputs, channels)
        Outputs precede channels, as in the convolution that is transposed.
    output_shape : ints
        The shape of the result; its convolution has the shape of `input`.
    strides, padding, data_format, dilations
        Of the transposed convolution.

    Returns
    -------
    Tensor, shape `output_shape`

    Raises
    ------
    ShapeError
        If a convolution of `output_shape` does not have the shape of `input`.

    Examples
    --------
    >>> import dualflow as df
    >>> x, w = df.ones((1, 2, 2, 3)), df.ones((2, 2, 1, 3))
    >>> df.nn.conv2d_transpose(x, w, (1, 4, 4, 1), 2)[0, 0, :, 0].numpy().tolist()
    [3.0, 3.0, 3.0, 3.0]
    """
    return _backprop_input("conv2d_transpose", 2, output_shape, filters, input, strides, padding,
                           data_format, dilations, name, "output_shape", "input")


def conv3d_transpose(input: TensorLike, filters: TensorLike, output_shape: TensorLike,
                     strides: TensorLike, padding: Padding = "SAME", data_format: str = "NDHWC",
                     dilations: TensorLike | None = None, name: str | None = None) -> Tensor:
    """Return the transpose of `conv3d`: the sum of `filters` scaled by each element of `input`.

    Parameters
    ----------
    input : Tensor, floating, shape (batch, depth, height, width, channels)
    filters : Tensor, same dtype, shape (depth, height, width, outputs, channels)
    output_shape : ints
        The shape of the result; its convolution has the shape of `input`.
    strides, padding, data_format, dilations
        Of the transposed convolution.

    Returns
    -------
    Tensor, shape `output_shape`

    Examples
    --------
    >>> import dualflow as df
    >>> x, w = df.ones((1, 2, 2, 2, 3)), df.ones((2, 2, 2, 5, 3))
    >>> df.nn.conv3d_transpose(x, w, (1, 4, 4, 4, 5), 2).shape
    (1, 4, 4, 4, 5)
    """
    return _backprop_input("conv3d_transpose", 3, output_shape, filters, input, strides, padding,
                           data_format, dilations, name, "output_shape", "input")


def conv_transpose(input: TensorLike, filters: TensorLike, output_shape: TensorLike,
                   strides: TensorLike, padding: Padding = "SAME", data_format: str | None = None,
                   dilations: TensorLike | None = None, name: str | None = None) -> Tensor:
    """Compute `conv1d_transpose`, `conv2d_transpose` or `conv3d_transpose`, by the filters' rank.

    Parameters
    ----------
    input : Tensor, floating, shape (batch, sizes..., channels)
    filters : Tensor, same dtype, shape (sizes..., outputs, channels)
    output_shape : ints
        The shape of the result; its convolution has the shape of `input`.
    strides, padding, data_format, dilations
        Of the transposed convolution.

    Returns
    -------
    Tensor, shape `output_shape`

    Examples
    --------
    >>> import dualflow as df
    >>> df.nn.conv_transpose(df.ones((1, 2, 3)), df.ones((2, 4, 3)), (1, 4, 4), 2).shape
    (1, 4, 4)
    """
    w = as_tensor(filters, None, "conv_transpose")
    return _backprop_input("conv_transpose", dimensions("conv_transpose", w), output_shape, w,
                           input, strides, padding, data_format, dilations, name, "output_shape",
                           "input")


def atrous_conv2d_transpose(value: TensorLike, filters: TensorLike, output_shape: TensorLike,
                            rate: int, padding: Padding, name: str | None = None) -> Tensor:
    """Return the transpose of `atrous_conv2d`.

    Parameters
    ----------
    value : Tensor, floating, shape (batch, height, width, channels)
    filters : Tensor, same dtype, shape (height, width, outputs, channels)
    output_shape : ints
        The shape of the result; its convolution has the shape of `value`.
    rate : int
        The dilation of both dimensions.
    padding : "SAME", "VALID" or a pair (zeros before, zeros after) for each of 4 dimensions

    Returns
    -------
    Tensor, shape `output_shape`

    Examples
    --------
    >>> import dualflow as df
    >>> x, w = df.ones((1, 2, 2, 1)), df.ones((2, 2, 1, 1))
    >>> df.nn.atrous_conv2d_transpose(x, w, (1, 5, 5, 1), 3, "VALID")[0, 0, :, 0].numpy().tolist()
    [1.0, 1.0, 0.0, 1.0, 1.0]
    """
    return _backprop_input("atrous_conv2d_transpose", 2, output_shape, filters, value, 1, padding,
                           None, rate, name, "output_shape", "value")


def conv2d_backprop_input(input_sizes: TensorLike, filters: TensorLike, out_backprop: TensorLike,
                          strides: TensorLike | None, padding: Padding, data_format: str = "NHWC",
                          dilations: TensorLike | None = None, name: str | None = None) -> Tensor:
    """Return the gradient of `conv2d` with respect to its input.

    Parameters
    ----------
    input_sizes : ints
        The shape of the input.
    filters : Tensor, floating, shape (height, width, channels / groups, outputs)
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
    >>> df.nn.conv2d_backprop_input((1, 3, 3, 1), w, g, 1, "VALID")[0, 1, :, 0].numpy().tolist()
    [2.0, 4.0, 2.0]
    """
    return _backprop_input("conv2d_backprop_input", 2, input_sizes, filters, out_backprop, strides,
                           padding, data_format, dilations, name, "input_sizes",
                           "out_backprop")


def conv2d_backprop_filter(input: TensorLike, filter_sizes: TensorLike, out_backprop: TensorLike,
                           strides: TensorLike | None, padding: Padding, data_format: str = "NHWC",
                           dilations: TensorLike | None = None, name: str | None = None) -> Tensor:
    """Return the gradient of `conv2d` with respect to its filters.

    Parameters
    ----------
    input : Tensor, floating, shape (batch, height, width, channels)
    filter_sizes : ints
        The shape of the filters.
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
    >>> df.nn.conv2d_backprop_filter(x, (2, 2, 1, 1), g, 1, "VALID").numpy().ravel().tolist()
    [4.0, 4.0, 4.0, 4.0]
    """
    op = "conv2d_backprop_filter"
    given = geometry(op, 2, strides, padding, data_format, dilations)
    x, g = as_tensor(input, None, op), as_tensor(out_backprop, None, op)
    last = images(op, "input", x, 2, given), images(op, "out_backprop", g, 2, given)
    shape = sizes_of(op, "filter_sizes", filter_sizes, 2)
    try:
        return conv_backprop_filter(last[0], shape, last[1], given.attrs, name)
    except REFUSED as error:
        raise named(error, op, **({"input": x, "out_backprop": g} if given.first else {})) from None
