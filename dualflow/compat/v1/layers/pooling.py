"""Pooling layers for images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dualflow import nn
from dualflow.compat.v1.layers.base import Layer, shape_of

__all__ = ["AveragePooling2D", "MaxPooling2D", "average_pooling2d", "max_pooling2d"]

FORMATS = {"channels_last": "NHWC", "channels_first": "NCHW"}


def pair(value: Any, name: str) -> list[int]:
    """Return two ints, one per dimension of images."""
    found = [value] * 2 if isinstance(value, int) else list(value)
    if len(found) != 2 or not all([isinstance(n, int) for n in found]):
        raise ValueError(f"The `{name}` argument must be a tuple of 2 integers. Received: {value}")
    return found


def format_of(data_format: str) -> str:
    """Convert ``channels_last`` to ``NHWC``."""
    if data_format not in FORMATS:
        raise ValueError("The `data_format` argument must be one of \"channels_first\", "
                         f"\"channels_last\". Received: {data_format}")
    return FORMATS[data_format]


def padding_of(padding: str) -> str:
    """Convert ``same`` to ``SAME``."""
    if str(padding).lower() not in ("same", "valid"):
        raise ValueError("The `padding` argument must be one of \"valid\", \"same\". Received: "
                         f"{padding}")
    return padding.upper()


class Pooling2D(Layer):
    """Base class of pooling layers for images."""

    pool: Callable[..., Any]
    pool_size: list[int]
    strides: list[int]
    padding: str
    data_format: str

    def __init__(self, pool_size: Any, strides: Any, padding: str = "valid",
                 data_format: str = "channels_last", name: str | None = None,
                 **options: Any) -> None:
        super().__init__(name=name, **options)
        self.pool_size, self.strides = pair(pool_size, "pool_size"), pair(strides, "strides")
        self.padding, self.data_format = padding_of(padding), format_of(data_format)

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the output of the layer."""
        self.check_rank(shape_of(inputs), 4)
        return type(self).pool(inputs, self.pool_size, self.strides, self.padding,
                               self.data_format)


class MaxPooling2D(Pooling2D):
    """Maximum of each window; see `max_pooling2d`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     print(tf.layers.MaxPooling2D(2, 2)(tf.ones([1, 4, 4, 3])).shape)
    (1, 2, 2, 3)
    """

    pool: Callable[..., Any] = staticmethod(nn.max_pool2d)


class AveragePooling2D(Pooling2D):
    """Mean of each window; see `average_pooling2d`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     print(tf.layers.AveragePooling2D(2, 2)(tf.ones([1, 4, 4, 3])).shape)
    (1, 2, 2, 3)
    """

    pool: Callable[..., Any] = staticmethod(nn.avg_pool2d)


def max_pooling2d(inputs: Any, pool_size: Any, strides: Any, padding: str = "valid",
                  data_format: str = "channels_last", name: str | None = None) -> Any:
    """Return the largest element of each window of images.

    Parameters
    ----------
    inputs : Tensor, floating, shape (batch, height, width, channels)
    pool_size : int or pair of int
        Window size.
    strides : int or pair of int
        Distance between windows.
    padding : {"valid", "same"}
    data_format : {"channels_last", "channels_first"}

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.reshape(tf.range(4.), [1, 2, 2, 1])
    ...     print(sess.run(tf.layers.max_pooling2d(x, 2, 2)).ravel())
    [3.]
    """
    return MaxPooling2D(pool_size, strides, padding, data_format, name)(inputs)


def average_pooling2d(inputs: Any, pool_size: Any, strides: Any, padding: str = "valid",
                      data_format: str = "channels_last", name: str | None = None) -> Any:
    """Return the mean of each window of images.

    Parameters
    ----------
    inputs : Tensor, floating, shape (batch, height, width, channels)
    pool_size : int or pair of int
        Window size.
    strides : int or pair of int
        Distance between windows.
    padding : {"valid", "same"}
    data_format : {"channels_last", "channels_first"}

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.reshape(tf.range(4.), [1, 2, 2, 1])
    ...     print(sess.run(tf.layers.average_pooling2d(x, 2, 2)).ravel())
    [1.5]
    """
    return AveragePooling2D(pool_size, strides, padding, data_format, name)(inputs)
