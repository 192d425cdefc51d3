"""Convolutions, pooling, and moves of pixels between space and channels."""

import math
from typing import Any

from keras.src.backend.common.backend_utils import (
    compute_conv_transpose_output_shape,
    compute_conv_transpose_padding_args_for_jax,
)
from keras.src.backend.config import standardize_data_format

import dualflow as df
from dualflow.keras.src.ops.convert import convert_to_tensor

FORMATS = {"channels_last": ("NWC", "NHWC", "NDHWC"), "channels_first": ("NCW", "NCHW", "NCDHW")}


def _format(data_format: Any, n: int) -> str:
    """Return the layout name for `n` spatial dimensions."""
    return FORMATS[standardize_data_format(data_format)][n - 1]


def _channels(x: Any, data_format: Any) -> Any:
    return x.shape[-1 if standardize_data_format(data_format) == "channels_last" else 1]


def _check_channels(x: df.Tensor, wanted: Any, data_format: Any) -> None:
    if _channels(x, data_format) != wanted:
        raise ValueError("The number of input channels must match the kernel's input channels. "
                         f"Received: input channels={_channels(x, data_format)}, kernel input "
                         f"channels={wanted}, data_format={data_format!r}.")


# --- convolutions ---

def conv(inputs: Any, kernel: Any, strides: Any = 1, padding: Any = "valid",
         data_format: Any = None, dilation_rate: Any = 1) -> Any:
    kernel = convert_to_tensor(kernel)
    x = convert_to_tensor(inputs, kernel.dtype)
    channels = _channels(x, data_format)
    if channels % kernel.shape[-2]:
        raise ValueError("The number of input channels must be evenly divisible by kernel's "
                         f"in_channels. Received input channels {channels} and kernel in_channels "
                         f"{kernel.shape[-2]}. ")
    made = _convolution(x, kernel, strides, padding, data_format, dilation_rate)
    if made.size == 0 and x.size:
        raise ValueError("The convolution operation resulted in an empty output. This can happen "
                         "if the input is too small for the given kernel size, strides, dilation "
                         "rate, and padding mode. Please check the input shape and convolution "
                         "parameters.")
    return made


def _convolution(x: df.Tensor, kernel: df.Tensor, strides: Any, padding: Any, data_format: Any,
                 dilation_rate: Any) -> df.Tensor:
    return df.nn.convolution(x, kernel, strides, padding.upper(), _format(data_format, x.ndim - 2),
                             dilation_rate)


def depthwise_conv(inputs: Any, kernel: Any, strides: Any = 1, padding: Any = "valid",
                   data_format: Any = None, dilation_rate: Any = 1) -> Any:
    x, kernel = convert_to_tensor(inputs), convert_to_tensor(kernel)
    _check_channels(x, kernel.shape[-2], data_format)
    *sizes, channels, multiplier = kernel.shape
    grouped = df.reshape(kernel, (*sizes, 1, channels * multiplier))
    return _convolution(x, grouped, strides, padding, data_format, dilation_rate)


def separable_conv(inputs: Any, depthwise_kernel: Any, pointwise_kernel: Any, strides: Any = 1,
                   padding: Any = "valid",
                   data_format: Any = None, dilation_rate: Any = 1) -> Any:
    made = depthwise_conv(inputs, depthwise_kernel, strides, padding, data_format, dilation_rate)
    return conv(made, pointwise_kernel, 1, "valid", data_format)


def conv_transpose(inputs: Any, kernel: Any, strides: Any = 1, padding: Any = "valid",
                   output_padding: Any = None,
                   data_format: Any = None, dilation_rate: Any = 1) -> Any:
    x, kernel = convert_to_tensor(inputs), convert_to_tensor(kernel)
    layout = standardize_data_format(data_format)
    _check_channels(x, kernel.shape[-1], layout)
    shape = compute_conv_transpose_output_shape(
        list(x.shape), kernel.shape[:-2], kernel.shape[-2], strides, padding, output_padding,
        layout, dilation_rate)
    paddings, zeros = padding.upper(), None
    if output_padding is not None:
        pairs = compute_conv_transpose_padding_args_for_jax(
            x.shape, kernel.shape, strides, padding, output_padding, dilation_rate)
        paddings, zeros = _crops(pairs, kernel.shape[:-2], strides, dilation_rate, layout)
        shape = [n - after for n, (_, after) in zip(shape, zeros, strict=True)]
    made = df.nn.conv_transpose(x, kernel, shape, strides, paddings, _format(layout, x.ndim - 2),
                                dilation_rate)
    return made if zeros is None or not any(map(any, zeros)) else df.pad(made, zeros)


def _crops(pairs: Any, sizes: Any, strides: Any, dilations: Any, layout: str) -> tuple[Any, Any]:
    """Return the padding of the transposed convolution, and the zeros to append to its result.

    `pairs` are Keras' paddings of the input, dilated by the stride. A full transposed convolution
    has ``size - 1`` elements on either side. Fewer elements crop the result. More elements extend
    it: by up to ``stride - 1`` through the output shape, by any number through appended zeros.
    """
    paddings, zeros = [], []
    for (before, after), size, stride, dilation in zip(
            pairs, sizes, _each(strides, sizes), _each(dilations, sizes), strict=True):
        most = (size - 1) * dilation
        excess = max(after - most, 0)
        paddings.append([most - before, max(most - after, 0)])
        zeros.append([0, excess if excess >= stride else 0])
    outer = ([[0, 0]], [[0, 0]]) if layout == "channels_last" else ([[0, 0]] * 2, [])
    return outer[0] + paddings + outer[1], outer[0] + zeros + outer[1]


def _each(given: Any, sizes: Any) -> Any:
    """Return an option for each spatial dimension."""
    return [given] * len(sizes) if isinstance(given, int) else given


# --- pooling ---

def max_pool(inputs: Any, pool_size: Any, strides: Any = None, padding: Any = "valid",
             data_format: Any = None) -> Any:
    x = convert_to_tensor(inputs)
    return df.nn.max_pool(x, pool_size, pool_size if strides is None else strides,
                          padding.upper(), _format(data_format, x.ndim - 2))


def average_pool(inputs: Any, pool_size: Any, strides: Any = None, padding: Any = "valid",
                 data_format: Any = None) -> Any:
    x = convert_to_tensor(inputs)
    return df.nn.avg_pool(x, pool_size, pool_size if strides is None else strides,
                          padding.upper(), _format(data_format, x.ndim - 2))


def adaptive_average_pool(inputs: Any, output_size: Any, data_format: Any = None) -> Any:
    x = convert_to_tensor(inputs)
    return df.nn.adaptive_avg_pool(x, output_size, _format(data_format, x.ndim - 2))


def adaptive_max_pool(inputs: Any, output_size: Any, data_format: Any = None) -> Any:
    x = convert_to_tensor(inputs)
    return df.nn.adaptive_max_pool(x, output_size, _format(data_format, x.ndim - 2))


# --- pixels and channels ---

def depth_to_space(x: Any, block_size: Any, data_format: Any = "channels_last") -> Any:
    return df.nn.depth_to_space(convert_to_tensor(x), block_size, _format(data_format, 2))


def space_to_depth(x: Any, block_size: Any, data_format: Any = "channels_last") -> Any:
    return df.nn.space_to_depth(convert_to_tensor(x), block_size, _format(data_format, 2))


def _pair(x: Any) -> tuple[int, int]:
    return (x, x) if isinstance(x, int) else tuple(x)


def unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0,
           stride: Any = 1) -> Any:
    x = convert_to_tensor(input)
    k, d, p, s = map(_pair, (kernel_size, dilation, padding, stride))
    x = df.pad(x, [[0, 0], [0, 0], [p[0]] * 2, [p[1]] * 2])
    rows, columns = [_starts(x.shape[a + 2], k[a], d[a], s[a]) for a in (0, 1)]
    x = df.gather(df.gather(x, rows, axis=2), columns, axis=4)      # n c kh oh kw ow
    x = df.transpose(x, (0, 1, 2, 4, 3, 5))
    n, c, kh, kw, oh, ow = x.shape
    return df.reshape(x, (n, c * kh * kw, oh * ow))


def _starts(size: Any, kernel: int, dilation: int, stride: int) -> df.Tensor:
    """Return positions along a dimension: a row per kernel element, a column per window."""
    count = (size - dilation * (kernel - 1) - 1) // stride + 1
    return df.expand_dims(df.range(kernel) * dilation, 1) + df.range(count) * stride


def fold(x: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0,
         stride: Any = 1) -> Any:
    x = convert_to_tensor(x)
    out, k, d, p, s = map(_pair, (output_size, kernel_size, dilation, padding, stride))
    sizes = [out[a] + 2 * p[a] for a in (0, 1)]
    rows, columns = [_starts(sizes[a], k[a], d[a], s[a]) for a in (0, 1)]
    n, c = x.shape[0], x.shape[1] // math.prod(k)
    x = df.reshape(x, (n, c, *k, rows.shape[1], columns.shape[1]))
    x = df.transpose(x, (2, 4, 3, 5, 0, 1))                          # kh oh kw ow n c
    flat = (df.reshape(rows, (-1, 1)) * sizes[1] + df.reshape(columns, (1, -1)))
    total = df.math.unsorted_segment_sum(df.reshape(x, (-1, n, c)), df.reshape(flat, (-1,)),
                                         sizes[0] * sizes[1])
    made = df.transpose(df.reshape(total, (*sizes, n, c)), (2, 3, 0, 1))
    return made[:, :, p[0]:sizes[0] - p[0], p[1]:sizes[1] - p[1]]
