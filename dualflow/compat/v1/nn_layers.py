"""Convolutions and pooling in one to three dimensions, and less common layers of `tf.nn`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dualflow as df
from dualflow import nn
from dualflow.compat.v1.default_graph import recorded
from dualflow.compat.v1.ops import as_tensors, convert, either, wrapped

atrous_conv2d_transpose: Callable[..., Any] = wrapped(nn.atrous_conv2d_transpose,
                                                      "conv2d_transpose")
avg_pool1d: Callable[..., Any] = wrapped(nn.avg_pool1d, "AvgPool1d", value="input")
avg_pool2d: Callable[..., Any] = wrapped(nn.avg_pool2d, "AvgPool", value="input")
avg_pool3d: Callable[..., Any] = wrapped(nn.avg_pool3d, "AvgPool3D", value="input")
conv1d_transpose: Callable[..., Any] = wrapped(nn.conv1d_transpose, "conv1d_transpose")
conv2d_backprop_filter: Callable[..., Any] = wrapped(nn.conv2d_backprop_filter,
                                                     "Conv2DBackpropFilter")
conv2d_backprop_input: Callable[..., Any] = wrapped(nn.conv2d_backprop_input, "Conv2DBackpropInput",
                                filter="filters")
conv3d: Callable[..., Any] = wrapped(nn.conv3d, "Conv3D", filter="filters")
conv3d_transpose: Callable[..., Any] = wrapped(nn.conv3d_transpose, "conv3d_transpose",
                                               value="input",
                           filter="filters")
depthwise_conv2d_native: Callable[..., Any] = wrapped(nn.depthwise_conv2d, "DepthwiseConv2dNative")
max_pool1d: Callable[..., Any] = wrapped(nn.max_pool1d, "MaxPool1d")
max_pool2d: Callable[..., Any] = wrapped(nn.max_pool2d, "MaxPool")
max_pool3d: Callable[..., Any] = wrapped(nn.max_pool3d, "MaxPool3D")
max_pool_with_argmax: Callable[..., Any] = wrapped(nn.max_pool_with_argmax, "MaxPoolWithArgmax",
                               Targmax="output_dtype")


@recorded
def conv1d(value: Any = None, filters: Any = None, stride: Any = None, padding: Any = None,
           use_cudnn_on_gpu: bool | None = None, data_format: str | None = None,
           name: str | None = None, input: Any = None, dilations: Any = None) -> Any:
    """Convolve sequences with filters.

    Parameters
    ----------
    value : Tensor, floating, shape (batch, width, channels)
    filters : Tensor, shape (width, channels, channels of the result)
    stride : int
    padding : {"SAME", "VALID"}
    use_cudnn_on_gpu : ignored
    data_format : {"NWC", "NCW"}, optional
    input
        Alias of `value`.
    dilations : int, optional

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     print(tf.nn.conv1d(tf.ones([1, 5, 2]), tf.ones([3, 2, 4]), 1, "VALID").shape)
    (1, 3, 4)
    """
    x, w = as_tensors(either(value, input, "'value' and 'input'"), filters)
    return nn.conv1d(x, w, 1 if stride is None else stride, padding, data_format or "NWC",
                     dilations, name=name or "conv1d")


@recorded
def convolution(input: Any, filter: Any = None, padding: Any = "VALID", strides: Any = None,
                dilation_rate: Any = None, name: str | None = None, data_format: str | None = None,
                filters: Any = None, dilations: Any = None) -> Any:
    """Convolve over one, two or three dimensions, according to the rank of the filters.

    Parameters
    ----------
    input : Tensor, floating
    filter : Tensor
    padding : {"VALID", "SAME"}
    strides, dilation_rate : int or sequence of int, optional
    data_format : str, optional
    filters, dilations
        Aliases of `filter` and `dilation_rate`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     print(tf.nn.convolution(tf.ones([1, 5, 2]), tf.ones([3, 2, 4]), "SAME").shape)
    (1, 5, 4)
    """
    x, w = as_tensors(input, either(filter, filters, "'filter' and 'filters'"))
    rate = either(dilation_rate, dilations, "'dilation_rate' and 'dilations'")
    return nn.convolution(x, w, strides, padding, data_format, rate, name=name or "convolution")


@recorded
def pool(input: Any, window_shape: Any, pooling_type: str, padding: Any,
         dilation_rate: Any = None, strides: Any = None, name: str | None = None,
         data_format: str | None = None, dilations: Any = None) -> Any:
    """Apply "AVG" or "MAX" pooling.

    Parameters
    ----------
    input : Tensor, floating
    window_shape : sequence of int
    pooling_type : {"AVG", "MAX"}
    padding : {"VALID", "SAME"}
    dilation_rate, strides : sequence of int, optional
    data_format : str, optional
    dilations
        Alias of `dilation_rate`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     print(tf.nn.pool(tf.ones([1, 4, 2]), [2], "MAX", "VALID", strides=[2]).shape)
    (1, 2, 2)
    """
    rate = either(dilation_rate, dilations, "'dilation_rate' and 'dilations'")
    return nn.pool(convert(input), window_shape, pooling_type, 1 if strides is None else strides,
                   padding, data_format, 1 if rate is None else rate, name=name or "pool")


@recorded
def silu(features: Any, beta: float = 1.0) -> Any:
    """Return x * sigmoid(beta * x).

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.nn.silu([0., 1.])).round(4))
    [0.     0.7311]
    """
    x = convert(features)
    return nn.silu(x) if beta == 1.0 else df.multiply(x, df.sigmoid(x * beta), name="swish")


@recorded
def crelu(features: Any, name: str | None = None, axis: int = -1) -> Any:
    """Concatenate relu(x) and relu(-x).

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.nn.crelu([-1., 2.])))
    [0. 2. 1. 0.]
    """
    x = convert(features)
    return nn.relu(df.concat([x, -x], axis), name=name or "CRelu")


@recorded
def relu_layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Any:
    """Return relu(x weights + biases).

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.nn.relu_layer([[1., 2.]], [[3.], [4.]], [-1.])))
    [[10.]]
    """
    a, w, b = as_tensors(x, weights, biases)
    return nn.relu(nn.bias_add(df.matmul(a, w), b), name=name or "relu_layer")


@recorded
def weighted_moments(x: Any, axes: Any, frequency_weights: Any, name: str | None = None,
                     keep_dims: bool | None = None, keepdims: bool | None = None) -> Any:
    """Return the weighted mean and variance over dimensions.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.nn.weighted_moments([1., 2., 5.], [0], [1., 1., 0.])))
    (np.float32(1.5), np.float32(0.25))
    """
    keep = bool(either(keepdims, keep_dims, "'keepdims' and 'keep_dims'"))
    a, w = as_tensors(x, frequency_weights)
    w = df.add(w, df.zeros_like(a))
    n = df.reduce_sum(w, axes, True)
    mean = df.reduce_sum(a * w, axes, True) / n
    variance = df.reduce_sum(df.square(a - mean) * w, axes, True) / n
    if not keep:
        axes = [axes] if isinstance(axes, int) else list(axes)
        return df.squeeze(mean, axes), df.squeeze(variance, axes)
    return mean, variance


@recorded
def log_poisson_loss(targets: Any, log_input: Any, compute_full_loss: bool = False,
                     name: str | None = None) -> Any:
    """Return exp(c) - z c, the negative log likelihood of z for the expected count exp(c); the full
    loss adds Stirling's approximation of log(z!).

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.nn.log_poisson_loss([2.], [0.])))
    [1.]
    """
    z, c = as_tensors(targets, log_input)
    loss = df.exp(c) - c * z
    if compute_full_loss:
        rest = z * df.log(z) - z + 0.5 * df.log(2 * PI * z)
        between = df.logical_and(df.greater_equal(z, 0), df.less_equal(z, 1))
        loss = loss + df.where(between, df.zeros_like(z), rest)
    return df.identity(loss, name=name or "log_poisson_loss")


PI = 3.141592653589793


@recorded
def batch_norm_with_global_normalization(
        t: Any = None, m: Any = None, v: Any = None, beta: Any = None, gamma: Any = None,
        variance_epsilon: Any = None, scale_after_normalization: bool | None = None,
        name: str | None = None, input: Any = None, mean: Any = None,
        variance: Any = None) -> Any:
    """Normalise a batch like `batch_normalization`; older name.

    Parameters
    ----------
    t, m, v : Tensor
        The images, their mean and their variance; also `input`, `mean`, `variance`.
    beta, gamma : Tensor
    variance_epsilon : float
    scale_after_normalization : bool
        Whether to use `gamma`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     y = tf.nn.batch_norm_with_global_normalization([3.], [1.], [4.], [0.], [1.], 0., True)
    ...     print(sess.run(y))
    [1.]
    """
    x = either(t, input, "'t' and 'input'")
    middle, spread = either(m, mean, "'m' and 'mean'"), either(v, variance, "'v' and 'variance'")
    return nn.batch_normalization(convert(x), middle, spread, beta,
                                  gamma if scale_after_normalization else None, variance_epsilon,
                                  name=name or "batchnorm")
