"""Dense, dropout and flatten layers, and the base class of layers with a kernel."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import dualflow as df
from dualflow import nn
from dualflow.compat.v1 import nn_ops
from dualflow.compat.v1.control_flow import cond, condition
from dualflow.compat.v1.layers.base import ZEROS, Layer, known, shape_of
from dualflow.compat.v1.ops import convert
from dualflow.compat.v1.variables import Variable

__all__ = ["Dense", "Dropout", "Flatten", "dense", "dropout", "flatten"]

Activation = Callable[[Any], Any] | None


class WithKernel(Layer):
    """Base class of layers with a kernel, a bias and an activation."""

    use_bias: bool

    def __init__(self, activation: Activation, use_bias: bool, kernel_initializer: Any,
                 bias_initializer: Any, kernel_regularizer: Any, bias_regularizer: Any,
                 activity_regularizer: Any, kernel_constraint: Any, bias_constraint: Any,
                 trainable: bool, name: str | None, **options: Any) -> None:
        super().__init__(trainable, name, **options)
        self.use_bias = use_bias
        self.activation: Any = activation
        self.activity_regularizer = activity_regularizer
        self._kernel = kernel_initializer, kernel_regularizer, kernel_constraint
        self._bias = bias_initializer, bias_regularizer, bias_constraint
        self.bias: Any = None

    def make(self, kernel: list[int], bias: int) -> None:
        """Create the variables with these shapes."""
        self.kernel: Variable = self.add_weight("kernel", kernel, *self._kernel)
        if self.use_bias:
            self.bias = self.add_weight("bias", [bias], *self._bias)

    def finished(self, x: Any, data_format: str = "NHWC") -> Any:
        """Add the bias and apply the activation and the activity regularizer."""
        if self.bias is not None:
            x = nn.bias_add(x, self.bias, data_format, name="BiasAdd")
        if self.activation is not None:
            x = self.activation(x)
        if self.activity_regularizer is not None:
            self.add_loss(self.activity_regularizer(x))
        return x


class Dense(WithKernel):
    """``activation(inputs @ kernel + bias)``; see `dense`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     layer = tf.layers.Dense(3)
    ...     y, z = layer(tf.ones([4, 2])), layer(tf.zeros([5, 2]))
    ...     print(y.shape, [v.name for v in layer.variables])
    (4, 3) ['dense/kernel:0', 'dense/bias:0']
    """

    def __init__(self, units: int, activation: Activation = None, use_bias: bool = True,
                 kernel_initializer: Any = None, bias_initializer: Any = ZEROS,
                 kernel_regularizer: Any = None, bias_regularizer: Any = None,
                 activity_regularizer: Any = None, kernel_constraint: Any = None,
                 bias_constraint: Any = None, trainable: bool = True, name: str | None = None,
                 **options: Any) -> None:
        super().__init__(activation, use_bias, kernel_initializer, bias_initializer,
                         kernel_regularizer, bias_regularizer, activity_regularizer,
                         kernel_constraint, bias_constraint, trainable, name, **options)
        self.units: int = int(units)

    def build(self, input_shape: Any) -> None:
        """Create the variables."""
        self.make([known(input_shape, -1, "Dense"), self.units], self.units)

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the output of the layer."""
        if inputs.ndim <= 2:
            return self.finished(df.matmul(inputs, self.kernel, name="MatMul"))
        return self.finished(df.tensordot(inputs, self.kernel, 1, name="Tensordot"))


def dense(inputs: Any, units: int, activation: Activation = None, use_bias: bool = True,
          kernel_initializer: Any = None, bias_initializer: Any = ZEROS,
          kernel_regularizer: Any = None, bias_regularizer: Any = None,
          activity_regularizer: Any = None, kernel_constraint: Any = None,
          bias_constraint: Any = None, trainable: bool = True, name: str | None = None,
          reuse: bool | None = None) -> Any:
    """Return ``activation(inputs @ kernel + bias)``.

    Parameters
    ----------
    inputs : Tensor, floating, shape (..., n)
    units : int
        Size of the last dimension of the result.
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
        Name of the variable scope, by default "dense" with a unique suffix.
    reuse : bool, optional
        Whether to use the variables of an earlier layer of this name.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     y = tf.layers.dense(tf.ones([4, 2]), 3, tf.nn.relu, name="fc")
    ...     print(y.shape, [v.name for v in tf.trainable_variables()])
    (4, 3) ['fc/kernel:0', 'fc/bias:0']
    """
    return Dense(units, activation, use_bias, kernel_initializer, bias_initializer,
                 kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint,
                 bias_constraint, trainable, name, _scope=name, _reuse=reuse)(inputs)


class Dropout(Layer):
    """Sets random elements to 0 in training; see `dropout`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.layers.Dropout(0.5)(tf.ones([3]))))
    [1. 1. 1.]
    """

    rate: Any
    noise_shape: Any
    seed: int | None

    def __init__(self, rate: Any = 0.5, noise_shape: Any = None, seed: int | None = None,
                 name: str | None = None, **options: Any) -> None:
        super().__init__(name=name, **options)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def call(self, inputs: Any, *args: Any, training: Any = False, **kwargs: Any) -> Any:
        """Return the output of the layer."""
        training = args[0] if args else training
        if training is False:
            return df.identity(inputs)
        shape, rate = self.noise_shape, self.rate
        if shape is not None:
            shape = [inputs.shape[k] if n is None else n for k, n in enumerate(shape)]
        if not isinstance(training, bool | int):        # one program: a rate of 0 keeps all
            rate = df.where(flag(training), convert(rate, inputs.dtype), df.zeros([], inputs.dtype))
        return nn_ops.dropout(inputs, None, shape, self.seed, rate=rate)


def dropout(inputs: Any, rate: Any = 0.5, noise_shape: Any = None, seed: int | None = None,
            training: Any = False, name: str | None = None) -> Any:
    """In training, set elements to 0 with probability `rate` and divide the others by 1 - rate.

    Parameters
    ----------
    inputs : Tensor, floating
    rate : float or Tensor, default 0.5
    noise_shape : sequence of int or None, optional
        Shape of the random mask, broadcast to `inputs`; None for the size in `inputs`.
    seed : int, optional
    training : bool or Tensor, default False

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     training = tf.placeholder_with_default(False, [])
    ...     y = tf.layers.dropout(tf.ones([1000]), training=training)
    ...     print(set(sess.run(y).tolist()), sorted(set(sess.run(y, {training: True}).tolist())))
    {1.0} [0.0, 2.0]
    """
    return Dropout(rate, noise_shape, seed, name)(inputs, training=training)


def flag(training: Any) -> Any:
    """Return `training` as a bool tensor."""
    return df.cast(condition(training), df.bool_)


def chosen(training: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """Call one of two functions, now if `training` is a Python value, else when the graph runs."""
    if isinstance(training, bool | int):
        return then() if training else otherwise()
    return cond(flag(training), then, otherwise)


class Flatten(Layer):
    """Flattens all dimensions after the first; see `flatten`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     print(tf.layers.Flatten()(tf.ones([2, 3, 4])).shape)
    (2, 12)
    """

    def __init__(self, data_format: str | None = "channels_last", **options: Any) -> None:
        super().__init__(**options)
        self.data_format = data_format

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the output of the layer."""
        if self.data_format == "channels_first" and inputs.ndim > 2:
            inputs = df.transpose(inputs, [0, *range(2, inputs.ndim), 1])
        if not inputs.ndim:
            return df.reshape(inputs, [1, 1])
        sizes = shape_of(inputs).as_list()[1:]
        if None in sizes:
            return df.reshape(inputs, [inputs.shape[0], -1], name="Reshape")
        return df.reshape(inputs, [-1, math.prod(sizes)], name="Reshape")


def flatten(inputs: Any, name: str | None = None, data_format: str = "channels_last") -> Any:
    """Flatten all dimensions after the first.

    Parameters
    ----------
    inputs : Tensor
    data_format : {"channels_last", "channels_first"}
        "channels_first": move the channels to the last dimension first.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     print(tf.layers.flatten(tf.placeholder(tf.float32, [None, 3, 4])).shape)
    (?, 12)
    """
    return Flatten(data_format, name=name)(inputs)
