"""Batch normalization with moving averages for inference."""

from __future__ import annotations

from typing import Any

import dualflow as df
from dualflow import nn
from dualflow.compat.v1.groups import name_scope
from dualflow.compat.v1.layers.base import ONES, ZEROS, Layer, known
from dualflow.compat.v1.layers.core import chosen, flag
from dualflow.compat.v1.variables import Variable

__all__ = ["BatchNormalization", "batch_normalization"]


class BatchNormalization(Layer):
    """Normalises each channel to mean 0 and variance 1, then scales and shifts it; see
    `batch_normalization`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     layer = tf.layers.BatchNormalization()
    ...     y = layer(tf.ones([4, 2]), training=True)
    ...     print(len(layer.variables), len(layer.updates))
    4 2
    """

    momentum: float
    epsilon: float
    center: bool
    scale: bool

    def __init__(self, axis: Any = -1, momentum: float = 0.99, epsilon: float = 1e-3,
                 center: bool = True, scale: bool = True,
                 beta_initializer: Any = ZEROS,
                 gamma_initializer: Any = ONES,
                 moving_mean_initializer: Any = ZEROS,
                 moving_variance_initializer: Any = ONES,
                 beta_regularizer: Any = None, gamma_regularizer: Any = None,
                 beta_constraint: Any = None, gamma_constraint: Any = None,
                 trainable: bool = True, fused: bool | None = None, name: str | None = None,
                 **options: Any) -> None:
        super().__init__(trainable, name, **options)
        self.axis: Any = axis[0] if isinstance(axis, list | tuple) and len(axis) == 1 else axis
        if not isinstance(self.axis, int):
            raise TypeError(f"batch_normalization: axis is {axis!r}, expected one dimension")
        self.momentum, self.epsilon, self.center, self.scale = momentum, epsilon, center, scale
        self.fused = fused
        self._beta = beta_initializer, beta_regularizer, beta_constraint
        self._gamma = gamma_initializer, gamma_regularizer, gamma_constraint
        self._moving = moving_mean_initializer, moving_variance_initializer

    def build(self, input_shape: Any) -> None:
        """Create the variables."""
        shape = [known(input_shape, self.axis, "BatchNormalization")]
        self.gamma: Variable | None = self.add_weight("gamma", shape,
                                                      *self._gamma) if self.scale else None
        self.beta: Variable | None = self.add_weight("beta", shape,
                                                     *self._beta) if self.center else None
        mean, variance = self._moving
        self.moving_mean: Variable = self.add_weight("moving_mean", shape, mean, trainable=False)
        self.moving_variance: Variable = self.add_weight("moving_variance", shape, variance,
                                                         trainable=False)

    def call(self, inputs: Any, *args: Any, training: Any = False, **kwargs: Any) -> Any:
        """Return the output of the layer."""
        training = args[0] if args else training
        axis = self.axis % inputs.ndim
        if axis in (1, inputs.ndim - 1):
            return self._normalized(inputs, training, axis)
        order = [d for d in range(inputs.ndim) if d != axis] + [axis]
        back = [order.index(d) for d in range(inputs.ndim)]
        last = self._normalized(df.transpose(inputs, order), training, inputs.ndim - 1)
        return df.transpose(last, back)

    def _normalized(self, x: Any, training: Any, axis: int) -> Any:
        n_channels = int(self.moving_mean.shape[0])
        gamma = df.ones([n_channels], x.dtype) if self.gamma is None else self.gamma
        beta = df.zeros([n_channels], x.dtype) if self.beta is None else self.beta
        form = "NHWC" if axis == x.ndim - 1 else "NCHW"

        def by(train: bool) -> Any:
            return nn.fused_batch_norm(
                x, gamma, beta, None if train else self.moving_mean.value(),
                None if train else self.moving_variance.value(), self.epsilon, form, train)

        y, mean, variance = chosen(training, lambda: by(True), lambda: by(False))
        if training is not False:
            if not (x.ndim == 4 if self.fused is None else self.fused):
                n = df.cast(df.size(x) // n_channels, x.dtype)  # unbiased to biased variance
                variance = variance * (df.maximum(n - 1, 1) / n)
            share: Any = 1 - self.momentum
            if not isinstance(training, bool | int):
                share = df.where(flag(training), share, 0.)
            self.add_update([self._moved(self.moving_mean, mean, share),
                             self._moved(self.moving_variance, variance, share)])
        return y

    def _moved(self, average: Any, value: Any, share: Any) -> Any:
        """Return the operation that updates a moving average."""
        with name_scope("AssignMovingAvg"):
            return average.assign_sub((average.value() - value) * share)


def batch_normalization(
        inputs: Any, axis: Any = -1, momentum: float = 0.99, epsilon: float = 1e-3,
        center: bool = True, scale: bool = True, beta_initializer: Any = ZEROS,
        gamma_initializer: Any = ONES,
        moving_mean_initializer: Any = ZEROS,
        moving_variance_initializer: Any = ONES, beta_regularizer: Any = None,
        gamma_regularizer: Any = None, beta_constraint: Any = None, gamma_constraint: Any = None,
        training: Any = False, trainable: bool = True, name: str | None = None,
        reuse: bool | None = None, renorm: bool = False, renorm_clipping: Any = None,
        renorm_momentum: float = 0.99, fused: bool | None = None,
        virtual_batch_size: int | None = None, adjustment: Any = None) -> Any:
    """Normalise each channel to mean 0 and variance 1, multiply by `gamma` and add `beta`.

    Parameters
    ----------
    inputs : Tensor, floating
    axis : int, default -1
        Dimension of the channels.
    momentum : float, default 0.99
        Weight of the old moving averages in the new ones.
    epsilon : float, default 1e-3
        Added to the variance.
    center, scale : bool, default True
        Whether to use `beta`, and `gamma`.
    beta_initializer, gamma_initializer : Initializer
        By default 0, and 1.
    moving_mean_initializer, moving_variance_initializer : Initializer
        By default 0, and 1.
    beta_regularizer, gamma_regularizer, beta_constraint, gamma_constraint : callable, optional
    training : bool or Tensor, default False
        Whether to use the moments of `inputs` instead of the moving averages. The updates of the
        averages are then in the collection ``UPDATE_OPS`` and must run with the training step.
    trainable : bool, default True
    name : str, optional
        Name of the variable scope, by default "batch_normalization" with a unique suffix.
    reuse : bool, optional
        Whether to use the variables of an earlier layer of this name.
    fused : bool, optional
        Whether the moving average of the variance is the unbiased one (over n - 1), TensorFlow's
        default for images. No other effect.
    renorm, renorm_clipping, renorm_momentum, virtual_batch_size, adjustment
        Must have their defaults.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     y = tf.layers.batch_normalization([[1.], [3.]], training=True, epsilon=0.)
    ...     updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    ...     sess.run(tf.global_variables_initializer())
    ...     print(sess.run([y, updates])[0].tolist())
    [[-1.0], [1.0]]
    """
    if renorm or virtual_batch_size is not None or adjustment is not None:
        raise NotImplementedError("batch_normalization: renorm, virtual_batch_size and adjustment "
                                  "are not supported")
    return BatchNormalization(
        axis, momentum, epsilon, center, scale, beta_initializer, gamma_initializer,
        moving_mean_initializer, moving_variance_initializer, beta_regularizer, gamma_regularizer,
        beta_constraint, gamma_constraint, trainable, fused, name, _scope=name,
        _reuse=reuse)(inputs, training=training)
