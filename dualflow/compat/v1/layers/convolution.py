"""Convolution layers for images."""

from __future__ import annotations

from typing import Any

from dualflow import nn
from dualflow.compat.v1.layers.base import ZEROS, known
from dualflow.compat.v1.layers.core import Activation, WithKernel
from dualflow.compat.v1.layers.pooling import format_of, padding_of, pair

__all__ = ["Conv2D", "Conv2DTranspose", "conv2d", "conv2d_transpose"]


class Conv2D(WithKernel):
    """Convolution of images with filters; see `conv2d`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     layer = tf.layers.Conv2D(8, 3)
    ...     print(layer(tf.ones([1, 5, 5, 2])).shape, layer.kernel.shape)
    (1, 3, 3, 8) (3, 3, 2, 8)
    """

    kernel_size: list[int]
    strides: list[int]
    padding: str
    data_format: str

    def __init__(self, filters: int, kernel_size: Any, strides: Any = (1, 1),
                 padding: str = "valid", data_format: str = "channels_last",
                 dilation_rate: Any = (1, 1), activation: Activation = None,
                 use_bias: bool = True, kernel_initializer: Any = None,
                 bias_initializer: Any = ZEROS, kernel_regularizer: Any = None,
                 bias_regularizer: Any = None, activity_regularizer: Any = None,
                 kernel_constraint: Any = None, bias_constraint: Any = None,
                 trainable: bool = True, name: str | None = None, **options: Any) -> None:
        super().__init__(activation, use_bias, kernel_initializer, bias_initializer,
                         kernel_regularizer, bias_regularizer, activity_regularizer,
                         kernel_constraint, bias_constraint, trainable, name, **options)
        self.filters: int = int(filters)
        self.kernel_size, self.strides = pair(kernel_size, "kernel_size"), pair(strides, "strides")
        self.dilation_rate: list[int] = pair(dilation_rate, "dilation_rate")
        self.padding, self.data_format = padding_of(padding), format_of(data_format)

    def build(self, input_shape: Any) -> None:
        """Create the variables."""
        self.check_rank(input_shape, 4)
        channels = known(input_shape, self.data_format.index("C"), type(self).__name__)
        self.make([*self.kernel_size, *self.of_kernel(channels)], self.filters)

    def of_kernel(self, channels: int) -> list[int]:
        """Return the last two sizes of the kernel."""
        return [channels, self.filters]

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the output of the layer."""
        y = nn.conv2d(inputs, self.kernel, self.strides, self.padding, self.data_format,
                      self.dilation_rate, name="Conv2D")
        return self.finished(y, self.data_format)


class Conv2DTranspose(Conv2D):
    """Transpose of a convolution, which enlarges images; see `conv2d_transpose`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     layer = tf.layers.Conv2DTranspose(8, 3, strides=2)
    ...     print(layer(tf.ones([1, 5, 5, 2])).shape, layer.kernel.shape)
    (1, 11, 11, 8) (3, 3, 8, 2)
    """

    def __init__(self, filters: int, kernel_size: Any, strides: Any = (1, 1),
                 padding: str = "valid", data_format: str = "channels_last", *args: Any,
                 **options: Any) -> None:
        super().__init__(filters, kernel_size, strides, padding, data_format, (1, 1), *args,
                         **options)

    def of_kernel(self, channels: int) -> list[int]:
        """Return the last two sizes of the kernel."""
        return [self.filters, channels]

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the output of the layer."""
        first = self.data_format == "NCHW"
        space = [self._enlarged(inputs.shape[d + (2 if first else 1)], d) for d in range(2)]
        sizes = [inputs.shape[0], *([self.filters, *space] if first else [*space, self.filters])]
        y = nn.conv2d_transpose(inputs, self.kernel, sizes, self.strides, self.padding,
                                self.data_format, name="conv2d_transpose")
        return self.finished(y, self.data_format)

    def _enlarged(self, n: Any, d: int) -> Any:
        """Return a spatial size of the result."""
        n = n * self.strides[d]
        return n if self.padding == "SAME" else n + max(self.kernel_size[d] - self.strides[d], 0)


def conv2d(inputs: Any, filters: int, kernel_size: Any, strides: Any = (1, 1),
           padding: str = "valid", data_format: str = "channels_last",
           dilation_rate: Any = (1, 1), activation: Activation = None, use_bias: bool = True,
           kernel_initializer: Any = None, bias_initializer: Any = ZEROS,
           kernel_regularizer: Any = None, bias_regularizer: Any = None,
           activity_regularizer: Any = None, kernel_constraint: Any = None,
           bias_constraint: Any = None, trainable: bool = True, name: str | None = None,
           reuse: bool | None = None) -> Any:
    """Convolve images with filters, add a bias, and apply an activation.

    Parameters
    ----------
    inputs : Tensor, floating, shape (batch, height, width, channels)
    filters : int
        Number of output channels.
    kernel_size : int or pair of int
    strides : int or pair of int
    padding : {"valid", "same"}
    data_format : {"channels_last", "channels_first"}
    dilation_rate : int or pair of int
    activation : callable, optional
    use_bias : bool, default True
    kernel_initializer, bias_initializer : Initializer, optional
        Kernel: by default the initializer of the scope, or `glorot_uniform_initializer`. Bias:
        `zeros_initializer`.
    kernel_regularizer, bias_regularizer, activity_regularizer : callable, optional
        Functions of variable or result; the values are added to ``REGULARIZATION_LOSSES``.
    kernel_constraint, bias_constraint : callable, optional
        Stored with the variables.
    trainable : bool, default True
    name : str, optional
        Name of the variable scope, by default "conv2d" with a unique suffix.
    reuse : bool, optional
        Whether to use the variables of an earlier layer of this name.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     y = tf.layers.conv2d(tf.ones([1, 5, 5, 2]), 8, 3, padding="same")
    ...     print(y.shape, [v.name for v in tf.trainable_variables()])
    (1, 5, 5, 8) ['conv2d/kernel:0', 'conv2d/bias:0']
    """
    return Conv2D(filters, kernel_size, strides, padding, data_format, dilation_rate, activation,
                  use_bias, kernel_initializer, bias_initializer, kernel_regularizer,
                  bias_regularizer, activity_regularizer, kernel_constraint, bias_constraint,
                  trainable, name, _scope=name, _reuse=reuse)(inputs)


def conv2d_transpose(inputs: Any, filters: int, kernel_size: Any, strides: Any = (1, 1),
                     padding: str = "valid", data_format: str = "channels_last",
                     activation: Activation = None, use_bias: bool = True,
                     kernel_initializer: Any = None, bias_initializer: Any = ZEROS,
                     kernel_regularizer: Any = None, bias_regularizer: Any = None,
                     activity_regularizer: Any = None, kernel_constraint: Any = None,
                     bias_constraint: Any = None, trainable: bool = True,
                     name: str | None = None, reuse: bool | None = None) -> Any:
    """Apply the transpose of a convolution, which enlarges images, a bias and an activation.

    Parameters
    ----------
    inputs : Tensor, floating, shape (batch, height, width, channels)
    filters : int
        Number of output channels.
    kernel_size : int or pair of int
    strides : int or pair of int
        Factor by which the images grow.
    padding : {"valid", "same"}
    data_format : {"channels_last", "channels_first"}
    activation : callable, optional
    use_bias : bool, default True
    kernel_initializer, bias_initializer : Initializer, optional
    kernel_regularizer, bias_regularizer, activity_regularizer : callable, optional
    kernel_constraint, bias_constraint : callable, optional
    trainable : bool, default True
    name : str, optional
        Name of the variable scope, by default "conv2d_transpose" with a unique suffix.
    reuse : bool, optional
        Whether to use the variables of an earlier layer of this name.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     y = tf.layers.conv2d_transpose(tf.ones([1, 5, 5, 2]), 8, 3, 2, "same")
    ...     print(y.shape)
    (1, 10, 10, 8)
    """
    return Conv2DTranspose(
        filters, kernel_size, strides, padding, data_format, activation, use_bias,
        kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer,
        activity_regularizer, kernel_constraint, bias_constraint, trainable, name, _scope=name,
        _reuse=reuse)(inputs)
