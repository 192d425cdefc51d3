"""Convolution and pooling layers for sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dualflow import nn
from dualflow.compat.v1.layers.base import ZEROS, Layer, known, shape_of
from dualflow.compat.v1.layers.core import Activation, WithKernel
from dualflow.compat.v1.layers.pooling import format_of, padding_of

__all__ = ["AveragePooling1D", "Conv1D", "MaxPooling1D", "average_pooling1d", "conv1d",
           "max_pooling1d"]


def single(value: Any, name: str) -> int:
    """Return an int, given itself or in a list of one."""
    found = [value] if isinstance(value, int) else list(value)
    if len(found) != 1 or not isinstance(found[0], int):
        raise ValueError(f"The `{name}` argument must be a tuple of 1 integers. Received: {value}")
    return found[0]


def sequence_format(data_format: str) -> str:
    """Convert ``channels_last`` to ``NWC``."""
    return format_of(data_format).replace("H", "")


class Conv1D(WithKernel):
    """Convolution of sequences with filters; see `conv1d`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     layer = tf.layers.Conv1D(8, 3)
    ...     print(layer(tf.ones([1, 5, 2])).shape, layer.kernel.shape)
    (1, 3, 8) (3, 2, 8)
    """

    padding: str
    data_format: str

    def __init__(self, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid",
                 data_format: str = "channels_last", dilation_rate: Any = 1,
                 activation: Activation = None, use_bias: bool = True,
                 kernel_initializer: Any = None, bias_initializer: Any = ZEROS,
                 kernel_regularizer: Any = None, bias_regularizer: Any = None,
                 activity_regularizer: Any = None, kernel_constraint: Any = None,
                 bias_constraint: Any = None, trainable: bool = True, name: str | None = None,
                 **options: Any) -> None:
        super().__init__(activation, use_bias, kernel_initializer, bias_initializer,
                         kernel_regularizer, bias_regularizer, activity_regularizer,
                         kernel_constraint, bias_constraint, trainable, name, **options)
        self.filters: int = int(filters)
        self.kernel_size: int = single(kernel_size, "kernel_size")
        self.strides: int = single(strides, "strides")
        self.dilation_rate: int = single(dilation_rate, "dilation_rate")
        self.padding, self.data_format = padding_of(padding), sequence_format(data_format)

    def build(self, input_shape: Any) -> None:
        """Create the variables."""
        self.check_rank(input_shape, 3)
        channels = known(input_shape, self.data_format.index("C"), type(self).__name__)
        self.make([self.kernel_size, channels, self.filters], self.filters)

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the output of the layer."""
        y = nn.conv1d(inputs, self.kernel, self.strides, self.padding, self.data_format,
                      self.dilation_rate, name="conv1d")
        return self.finished(y, self.data_format)


class Pooling1D(Layer):
    """Base class of pooling layers for sequences."""

    pool: Callable[..., Any]
    pool_size: int
    strides: int
    padding: str
    data_format: str

    def __init__(self, pool_size: Any, strides: Any, padding: str = "valid",
                 data_format: str = "channels_last", name: str | None = None,
                 **options: Any) -> None:
        super().__init__(name=name, **options)
        self.pool_size, self.strides = single(pool_size, "pool_size"), single(strides, "strides")
        self.padding, self.data_format = padding_of(padding), sequence_format(data_format)

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the output of the layer."""
        self.check_rank(shape_of(inputs), 3)
        return type(self).pool(inputs, self.pool_size, self.strides, self.padding,
                               self.data_format)


class MaxPooling1D(Pooling1D):
    """Maximum of each window; see `max_pooling1d`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     print(tf.layers.MaxPooling1D(2, 2)(tf.ones([1, 4, 3])).shape)
    (1, 2, 3)
    """

    pool: Callable[..., Any] = staticmethod(nn.max_pool1d)


class AveragePooling1D(Pooling1D):
    """Mean of each window; see `average_pooling1d`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     print(tf.layers.AveragePooling1D(2, 2)(tf.ones([1, 4, 3])).shape)
    (1, 2, 3)
    """

    pool: Callable[..., Any] = staticmethod(nn.avg_pool1d)


def conv1d(inputs: Any, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid",
           data_format: str = "channels_last", dilation_rate: Any = 1,
           activation: Activation = None, use_bias: bool = True, kernel_initializer: Any = None,
           bias_initializer: Any = ZEROS, kernel_regularizer: Any = None,
           bias_regularizer: Any = None, activity_regularizer: Any = None,
           kernel_constraint: Any = None, bias_constraint: Any = None, trainable: bool = True,
           name: str | None = None, reuse: bool | None = None) -> Any:
    """Convolve sequences with filters, add a bias, and apply an activation.

    Parameters
    ----------
    inputs : Tensor, floating, shape (batch, length, channels)
    filters : int
        Number of output channels.
    kernel_size, strides, dilation_rate : int
    padding : {"valid", "same"}
    data_format : {"channels_last", "channels_first"}
    activation : callable, optional
    use_bias : bool, default True
    kernel_initializer, bias_initializer : Initializer, optional
    kernel_regularizer, bias_regularizer, activity_regularizer : callable, optional
    kernel_constraint, bias_constraint : callable, optional
    trainable : bool, default True
    name : str, optional
        Name of the variable scope, by default "conv1d" with a unique suffix.
    reuse : bool, optional
        Whether to use the variables of an earlier layer of this name.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     y = tf.layers.conv1d(tf.ones([1, 5, 2]), 8, 3, padding="same")
    ...     print(y.shape, [v.name for v in tf.trainable_variables()])
    (1, 5, 8) ['conv1d/kernel:0', 'conv1d/bias:0']
    """
    return Conv1D(filters, kernel_size, strides, padding, data_format, dilation_rate, activation,
                  use_bias, kernel_initializer, bias_initializer, kernel_regularizer,
                  bias_regularizer, activity_regularizer, kernel_constraint, bias_constraint,
                  trainable, name, _scope=name, _reuse=reuse)(inputs)


def max_pooling1d(inputs: Any, pool_size: Any, strides: Any, padding: str = "valid",
                  data_format: str = "channels_last", name: str | None = None) -> Any:
    """Return the largest element of each window of sequences.

    Parameters
    ----------
    inputs : Tensor, floating, shape (batch, length, channels)
    pool_size, strides : int
    padding : {"valid", "same"}
    data_format : {"channels_last", "channels_first"}

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.reshape(tf.range(4.), [1, 4, 1])
    ...     print(sess.run(tf.layers.max_pooling1d(x, 2, 2)).ravel())
    [1. 3.]
    """
    return MaxPooling1D(pool_size, strides, padding, data_format, name)(inputs)


def average_pooling1d(inputs: Any, pool_size: Any, strides: Any, padding: str = "valid",
                      data_format: str = "channels_last", name: str | None = None) -> Any:
    """Return the mean of each window of sequences.

    Parameters
    ----------
    inputs : Tensor, floating, shape (batch, length, channels)
    pool_size, strides : int
    padding : {"valid", "same"}
    data_format : {"channels_last", "channels_first"}

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.reshape(tf.range(4.), [1, 4, 1])
    ...     print(sess.run(tf.layers.average_pooling1d(x, 2, 2)).ravel())
    [0.5 2.5]
    """
    return AveragePooling1D(pool_size, strides, padding, data_format, name)(inputs)
