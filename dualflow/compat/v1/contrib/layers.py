"""`tf.contrib.layers`: initializers, regularizers, `flatten`, `fully_connected`, `conv2d` and
`layer_norm`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import dualflow as df
from dualflow import nn
from dualflow.compat.v1.creation import constant
from dualflow.compat.v1.default_graph import default_graph, of_the_graph, recorded
from dualflow.compat.v1.dtypes import float32
from dualflow.compat.v1.get_variable import get_variable
from dualflow.compat.v1.graph_keys import GraphKeys
from dualflow.compat.v1.groups import name_scope
from dualflow.compat.v1.init_ops import (
    glorot_normal_initializer,
    glorot_uniform_initializer,
    ones_initializer,
    variance_scaling_initializer as scaled,
)
from dualflow.compat.v1.layers.base import ZEROS, known, shape_of
from dualflow.compat.v1.layers.core import flatten as own_flatten
from dualflow.compat.v1.math_ops import add_n
from dualflow.compat.v1.ops import convert
from dualflow.compat.v1.scopes import variable_scope

__all__ = ["apply_regularization", "conv2d", "convolution2d", "flatten", "fully_connected",
           "l1_regularizer", "l2_regularizer", "layer_norm", "variance_scaling_initializer",
           "xavier_initializer"]


def xavier_initializer(uniform: bool = True, seed: int | None = None, dtype: Any = float32) -> Any:
    """Return Glorot's initializer.

    Parameters
    ----------
    uniform : bool, default True
        If False, normally distributed.
    seed : int, optional
    dtype : dtype

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     w = tf.get_variable("w", [3, 2], initializer=tf.contrib.layers.xavier_initializer())
    """
    kind = glorot_uniform_initializer if uniform else glorot_normal_initializer
    return kind(seed=seed, dtype=dtype)


def variance_scaling_initializer(factor: float = 2.0, mode: str = "FAN_IN", uniform: bool = False,
                                 seed: int | None = None, dtype: Any = float32) -> Any:
    """Return an initializer whose variance is `factor` over fan_in, fan_out or their mean.

    Parameters
    ----------
    factor : float, default 2.0
    mode : {"FAN_IN", "FAN_OUT", "FAN_AVG"}
    uniform : bool, default False
    seed : int, optional
    dtype : dtype

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     he = tf.contrib.layers.variance_scaling_initializer()
    ...     w = tf.get_variable("w", [3, 2], initializer=he)
    """
    return scaled(factor, mode.lower(), "uniform" if uniform else "truncated_normal", seed, dtype)


def l2_regularizer(scale: float, scope: str | None = None) -> Callable[[Any], Any]:
    """Return a function that computes `scale` times half the sum of squares.

    Parameters
    ----------
    scale : float
    scope : str, optional
        Name scope of the operations.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.contrib.layers.l2_regularizer(0.5)([2.])))
    1.0
    """
    return regularizer(scale, scope, "l2_regularizer", nn.l2_loss)


def l1_regularizer(scale: float, scope: str | None = None) -> Callable[[Any], Any]:
    """Return a function that computes `scale` times the sum of absolute values.

    Parameters
    ----------
    scale : float
    scope : str, optional
        Name scope of the operations.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.contrib.layers.l1_regularizer(0.5)([2., -4.])))
    3.0
    """
    return regularizer(scale, scope, "l1_regularizer", lambda w: df.reduce_sum(df.abs(w)))


def regularizer(scale: Any, scope: str | None, name: str,
                loss: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function of a variable that returns the penalty, or None if `scale` is 0."""
    if isinstance(scale, bool | int) or scale < 0:
        raise ValueError(f"{name}: scale is {scale}, expected a float of 0 or more")

    @recorded
    def of(weights: Any) -> Any:
        with name_scope(scope, name):
            return df.multiply(loss(convert(weights)), scale, name=name)

    return of if scale else lambda weights: None


def flatten(inputs: Any, outputs_collections: Any = None, scope: str | None = None) -> Any:
    """Flatten all dimensions after the first.

    Parameters
    ----------
    inputs : Tensor
    outputs_collections : str or list of str, optional
        Collections to which the result is added.
    scope : str, optional
        Name scope of the operations.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     print(tf.contrib.layers.flatten(tf.ones([2, 3, 4])).shape)
    (2, 12)
    """
    return collected(own_flatten(inputs, scope), outputs_collections)


def collected(made: Any, names: Any) -> Any:
    """Add a tensor to collections and return it."""
    if names is not None:
        default_graph().add_to_collections(names, made)
    return made


@recorded
def fully_connected(inputs: Any, num_outputs: int,
                    activation_fn: Callable[[Any], Any] | None = nn.relu,
                    normalizer_fn: Callable[..., Any] | None = None,
                    normalizer_params: dict[str, Any] | None = None,
                    weights_initializer: Any = None, weights_regularizer: Any = None,
                    biases_initializer: Any = ZEROS, biases_regularizer: Any = None,
                    reuse: bool | None = None, variables_collections: Any = None,
                    outputs_collections: Any = None, trainable: bool = True,
                    scope: Any = None) -> Any:
    """Return ``activation_fn(inputs @ weights + biases)``.

    Parameters
    ----------
    inputs : Tensor, floating, shape (..., n)
    num_outputs : int
        Size of the last dimension of the result.
    activation_fn : callable or None, default relu
    normalizer_fn : callable, optional
        Replaces the biases; called with `normalizer_params`.
    normalizer_params : dict, optional
    weights_initializer : Initializer, default `xavier_initializer`
    weights_regularizer, biases_regularizer : callable, optional
    biases_initializer : Initializer or None, default 0
        None for no biases.
    reuse : bool, optional
    variables_collections : list of str, optional
        Further collections to which the variables are added.
    outputs_collections : str or list of str, optional
        Collections to which the result is added.
    trainable : bool, default True
    scope : str or VariableScope, default "fully_connected"

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     y = tf.contrib.layers.fully_connected(tf.ones([4, 2]), 3)
    ...     print(y.shape, [v.name for v in tf.trainable_variables()])
    (4, 3) ['fully_connected/weights:0', 'fully_connected/biases:0']
    """
    with variable_scope(scope, "fully_connected", reuse=reuse):
        x = of_the_graph(convert(inputs))
        n = known(shape_of(x), -1, "fully_connected")
        return weighted(x, [n, num_outputs],
                        lambda w: df.matmul(x, w) if x.ndim == 2 else df.tensordot(x, w, 1),
                        "N...C", activation_fn, normalizer_fn, normalizer_params,
                        weights_initializer, weights_regularizer, biases_initializer,
                        biases_regularizer, variables_collections, outputs_collections, trainable)


@recorded
def conv2d(inputs: Any, num_outputs: int, kernel_size: Any, stride: Any = 1, padding: str = "SAME",
           data_format: str | None = None, rate: Any = 1,
           activation_fn: Callable[[Any], Any] | None = nn.relu,
           normalizer_fn: Callable[..., Any] | None = None,
           normalizer_params: dict[str, Any] | None = None, weights_initializer: Any = None,
           weights_regularizer: Any = None, biases_initializer: Any = ZEROS,
           biases_regularizer: Any = None, reuse: bool | None = None,
           variables_collections: Any = None, outputs_collections: Any = None,
           trainable: bool = True, scope: Any = None) -> Any:
    """Return ``activation_fn(convolution of inputs with weights + biases)``.

    Parameters
    ----------
    inputs : Tensor, floating, shape (batch, height, width, channels)
    num_outputs : int
        Number of output channels.
    kernel_size, stride, rate : int or pair of int
    padding : {"SAME", "VALID"}
    data_format : {"NHWC", "NCHW"}, optional
    activation_fn, normalizer_fn, normalizer_params, weights_initializer, weights_regularizer
        As for `fully_connected`.
    biases_initializer, biases_regularizer, reuse, variables_collections, outputs_collections
        As for `fully_connected`.
    trainable : bool, default True
    scope : str or VariableScope, default "Conv"

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     y = tf.contrib.layers.conv2d(tf.ones([1, 5, 5, 2]), 8, 3, stride=2)
    ...     print(y.shape, [v.name for v in tf.trainable_variables()])
    (1, 3, 3, 8) ['Conv/weights:0', 'Conv/biases:0']
    """
    layout = data_format or "NHWC"
    with variable_scope(scope, "Conv", reuse=reuse):
        x = of_the_graph(convert(inputs))
        n = known(shape_of(x), -1 if layout == "NHWC" else 1, "conv2d")
        return weighted(x, [*pair(kernel_size), n, num_outputs],
                        lambda w: nn.conv2d(x, w, pair(stride), padding, layout, pair(rate)),
                        layout, activation_fn, normalizer_fn, normalizer_params,
                        weights_initializer, weights_regularizer, biases_initializer,
                        biases_regularizer, variables_collections, outputs_collections, trainable)


convolution2d = conv2d


def pair(value: Any) -> list[int]:
    """Return a size for both dimensions of images."""
    return [value, value] if isinstance(value, int) else list(value)


def weighted(x: Any, shape: list[int], product: Callable[[Any], Any], layout: str,
             activation_fn: Any, normalizer_fn: Any, normalizer_params: Any,
             weights_initializer: Any, weights_regularizer: Any, biases_initializer: Any,
             biases_regularizer: Any, variables_collections: Any, outputs_collections: Any,
             trainable: bool) -> Any:
    """Return the activation of a product with weights of the given shape, plus biases."""
    variable = functools.partial(variable_of, x, trainable, variables_collections)
    y = product(variable("weights", shape, weights_initializer or xavier_initializer(),
                         weights_regularizer))
    if normalizer_fn is not None:
        y = normalizer_fn(y, **(normalizer_params or {}))
    elif biases_initializer is not None:
        y = nn.bias_add(y, variable("biases", shape[-1:], biases_initializer, biases_regularizer),
                        layout)
    return collected(y if activation_fn is None else activation_fn(y), outputs_collections)


def apply_regularization(regularizer: Callable[[Any], Any], weights_list: Any = None) -> Any:
    """Return the sum of the penalties of variables, which is added to ``REGULARIZATION_LOSSES``.

    Parameters
    ----------
    regularizer : callable
        Such as the result of `l2_regularizer`.
    weights_list : list of Variable, optional
        By default the collection ``WEIGHTS``.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     l2 = tf.contrib.layers.l2_regularizer(0.5)
    ...     print(sess.run(tf.contrib.layers.apply_regularization(l2, [[2.], [4.]])))
    5.0
    """
    if weights_list is None:
        weights_list = default_graph().get_collection("weights")
    found = [x for x in map(regularizer, weights_list) if x is not None]
    total = add_n(found) if found else constant(0.)
    default_graph().add_to_collection(GraphKeys.REGULARIZATION_LOSSES, total)
    return total


def variable_of(x: Any, trainable: bool, collections: Any, name: str, shape: list[int],
                initializer: Any, penalty: Any = None) -> Any:
    """Create a variable of a layer, or return the variable that is reused."""
    names = [GraphKeys.GLOBAL_VARIABLES, *(collections or ()), GraphKeys.MODEL_VARIABLES]
    return get_variable(name, shape, x.dtype, initializer, penalty, trainable, names)


@recorded
def layer_norm(inputs: Any, center: bool = True, scale: bool = True,
               activation_fn: Callable[[Any], Any] | None = None, reuse: bool | None = None,
               variables_collections: Any = None, outputs_collections: Any = None,
               trainable: bool = True, begin_norm_axis: int = 1, begin_params_axis: int = -1,
               scope: Any = None) -> Any:
    """Normalize each example to mean 0 and variance 1, then scale by gamma and add beta.

    Parameters
    ----------
    inputs : Tensor, floating, shape (batch, ..., n)
    center, scale : bool, default True
        Whether to add the variable ``beta``, and to multiply by the variable ``gamma``.
    activation_fn : callable, optional
    reuse : bool, optional
    variables_collections, outputs_collections : list of str, optional
        Further collections of the variables and of the result.
    trainable : bool, default True
    begin_norm_axis : int, default 1
        First of the axes over which the mean and the variance are taken, up to the last axis.
    begin_params_axis : int, default -1
        First axis of the variables.
    scope : str or VariableScope, default "LayerNorm"

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     y = tf.contrib.layers.layer_norm(tf.constant([[1., 3.]]))
    ...     sess.run(tf.global_variables_initializer())
    ...     print(sess.run(y).round(3), [v.name for v in tf.trainable_variables()])
    [[-1.  1.]] ['LayerNorm/beta:0', 'LayerNorm/gamma:0']
    """
    with variable_scope(scope, "LayerNorm", reuse=reuse):
        x = of_the_graph(convert(inputs))
        variable = functools.partial(variable_of, x, trainable, variables_collections)
        sizes = [known(shape_of(x), k, "layer_norm")
                 for k in range(begin_params_axis % x.ndim, x.ndim)]
        beta = variable("beta", sizes, ZEROS) if center else None
        gamma = variable("gamma", sizes, ones_initializer()) if scale else None
        axes = list(range(begin_norm_axis % x.ndim, x.ndim))
        mean, variance = nn.moments(x, axes, keepdims=True)
        y = nn.batch_normalization(x, mean, variance, beta, gamma, 1e-12)
        return collected(y if activation_fn is None else activation_fn(y), outputs_collections)


def __dir__() -> list[str]:
    return __all__
