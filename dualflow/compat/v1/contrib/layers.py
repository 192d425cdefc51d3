"""`tf.contrib.layers`: initializers, regularizers, `flatten` and `fully_connected`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dualflow as df
from dualflow import nn
from dualflow.compat.v1.default_graph import default_graph, of_the_graph, recorded
from dualflow.compat.v1.dtypes import float32
from dualflow.compat.v1.get_variable import get_variable
from dualflow.compat.v1.graph_keys import GraphKeys
from dualflow.compat.v1.groups import name_scope
from dualflow.compat.v1.init_ops import (
    glorot_normal_initializer,
    glorot_uniform_initializer,
    variance_scaling_initializer as scaled,
)
from dualflow.compat.v1.layers.base import ZEROS, known, shape_of
from dualflow.compat.v1.layers.core import flatten as own_flatten
from dualflow.compat.v1.ops import convert
from dualflow.compat.v1.scopes import variable_scope

__all__ = ["flatten", "fully_connected", "l1_regularizer", "l2_regularizer",
           "variance_scaling_initializer", "xavier_initializer"]


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
        names = [GraphKeys.GLOBAL_VARIABLES, *(variables_collections or ())]

        def variable(name: str, shape: list[int], initializer: Any, penalty: Any) -> Any:
            return get_variable(name, shape, x.dtype, initializer, penalty, trainable,
                                [*names, GraphKeys.MODEL_VARIABLES])

        n = known(shape_of(x), -1, "fully_connected")
        weights = variable("weights", [n, num_outputs],
                           weights_initializer or xavier_initializer(), weights_regularizer)
        y = df.matmul(x, weights) if x.ndim == 2 else df.tensordot(x, weights, 1)
        if normalizer_fn is not None:
            y = normalizer_fn(y, **(normalizer_params or {}))
        elif biases_initializer is not None:
            y = nn.bias_add(y, variable("biases", [num_outputs], biases_initializer,
                                        biases_regularizer))
        return collected(y if activation_fn is None else activation_fn(y), outputs_collections)


def __dir__() -> list[str]:
    return __all__
