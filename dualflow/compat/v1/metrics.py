"""Measures that are updated from run to run: each is a value and the operation that updates it."""

from __future__ import annotations

from typing import Any

import dualflow as df
from dualflow import math
from dualflow.compat.v1.assign import assign_add
from dualflow.compat.v1.graph_keys import GraphKeys
from dualflow.compat.v1.groups import name_scope
from dualflow.compat.v1.in_force import graph_in_force, recorded
from dualflow.compat.v1.ops import convert
from dualflow.compat.v1.variables import Variable

__all__ = ["accuracy", "mean"]


@recorded
def mean(values: Any, weights: Any = None, metrics_collections: Any = None,
         updates_collections: Any = None, name: str | None = None) -> tuple[Any, Any]:
    """The mean of all that was seen.

    Parameters
    ----------
    values : Tensor
    weights : Tensor, optional
        How much each counts.
    metrics_collections : list of str, optional
        Where the value is added.
    updates_collections : list of str, optional
        Where the operation is added.

    Returns
    -------
    (value, update_op)

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     value, update = tf.metrics.mean(tf.constant([1., 2.]))
    ...     sess.run(tf.local_variables_initializer())
    ...     print(sess.run(update), sess.run(value))
    1.5 1.5
    """
    with name_scope(name, "mean"):
        x = df.cast(convert(values), df.float32)
        weight = df.ones_like(x) if weights is None else df.broadcast_to(
            df.cast(convert(weights), df.float32), x.shape)
        where = [GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES]
        total = Variable(0.0, False, where, name="total")
        count = Variable(0.0, False, where, name="count")
        value = math.divide_no_nan(total.slot, count.slot, name="value")
        update = math.divide_no_nan(assign_add(total, df.reduce_sum(x * weight)),
                                    assign_add(count, df.reduce_sum(weight)), name="update_op")
    for names, tensor in ((metrics_collections, value), (updates_collections, update)):
        if names is not None:
            graph_in_force().add_to_collections(names, tensor)
    return value, update


@recorded
def accuracy(labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None,
             updates_collections: Any = None, name: str | None = None) -> tuple[Any, Any]:
    """How often predictions were the labels.

    Parameters
    ----------
    labels : Tensor
    predictions : Tensor
    weights : Tensor, optional
        How much each counts.
    metrics_collections : list of str, optional
        Where the value is added.
    updates_collections : list of str, optional
        Where the operation is added.

    Returns
    -------
    (value, update_op)

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     value, update = tf.metrics.accuracy(labels=[1, 2], predictions=[1, 1])
    ...     sess.run(tf.local_variables_initializer())
    ...     print(sess.run(update), sess.run(value))
    0.5 0.5
    """
    y, x = convert(labels), convert(predictions)
    return mean(df.equal(x, df.cast(y, x.dtype)), weights, metrics_collections,
                updates_collections, name or "accuracy")
