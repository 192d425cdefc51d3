"""Losses, weighted and reduced as in TensorFlow 1."""

from __future__ import annotations

from typing import Any

import dualflow as df
from dualflow import math
from dualflow.compat.v1 import nn_ops
from dualflow.compat.v1.graph_keys import GraphKeys
from dualflow.compat.v1.groups import name_scope
from dualflow.compat.v1.in_force import graph_in_force, recorded
from dualflow.compat.v1.ops import alike, convert

__all__ = ["Reduction", "absolute_difference", "compute_weighted_loss", "cosine_distance",
           "hinge_loss", "huber_loss", "log_loss", "mean_squared_error", "sigmoid_cross_entropy",
           "softmax_cross_entropy", "sparse_softmax_cross_entropy"]


class Reduction:
    """How losses become one number.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.losses.Reduction.SUM
    'weighted_sum'
    """

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS


BY_NONZERO = Reduction.SUM_BY_NONZERO_WEIGHTS


@recorded
def compute_weighted_loss(losses: Any, weights: Any = 1.0, scope: str | None = None,
                          loss_collection: str | None = GraphKeys.LOSSES,
                          reduction: str = BY_NONZERO) -> Any:
    """Losses times weights as one number, by default the mean over weights that are not 0.

    Parameters
    ----------
    losses : Tensor
    weights : float or Tensor, default 1.0
        One for each loss, or for each of its rows.
    scope : str, optional
        Of the operations.
    loss_collection : str or None
        Where the loss is added.
    reduction : str
        See `Reduction`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.losses.compute_weighted_loss([1., 2.], [1., 0.])))
    1.0
    """
    with name_scope(scope, "weighted_loss"):
        x = convert(losses)
        weight = convert(weights, x.dtype)
        if 0 < weight.ndim < x.ndim:
            weight = df.reshape(weight, [*weight.shape, *[1] * (x.ndim - weight.ndim)])
        weighted = x * df.cast(weight, x.dtype)
        made = reduced(weighted, weight, reduction)
        if loss_collection is not None:
            graph_in_force().add_to_collection(loss_collection, made)
        return made


def reduced(weighted: Any, weight: Any, reduction: str) -> Any:
    """Weighted losses as one number."""
    if reduction == Reduction.NONE:
        return weighted
    total = df.reduce_sum(weighted)
    if reduction == Reduction.SUM:
        return total
    everywhere = df.ones_like(weighted) * df.cast(weight, weighted.dtype)
    if reduction == Reduction.SUM_OVER_BATCH_SIZE:
        everywhere = df.ones_like(weighted)
    elif reduction == BY_NONZERO:
        everywhere = df.cast(df.not_equal(everywhere, 0.0), weighted.dtype)
    return math.divide_no_nan(total, df.reduce_sum(everywhere), name="value")


@recorded
def mean_squared_error(labels: Any, predictions: Any, weights: Any = 1.0, scope: str | None = None,
                       loss_collection: str | None = GraphKeys.LOSSES,
                       reduction: str = BY_NONZERO) -> Any:
    """The mean of (predictions - labels)**2.

    Parameters
    ----------
    labels : Tensor
    predictions : Tensor
    weights : float or Tensor, default 1.0
        One for each loss, or for each of its rows.
    scope : str, optional
        Of the operations.
    loss_collection : str or None
        Where the loss is added.
    reduction : str
        See `Reduction`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.losses.mean_squared_error([1., 2.], [1., 4.])))
    2.0
    """
    x, y = alike(predictions, labels)
    return compute_weighted_loss(math.squared_difference(x, df.cast(y, x.dtype)), weights,
                                 scope or "mean_squared_error", loss_collection, reduction)


@recorded
def absolute_difference(labels: Any, predictions: Any, weights: Any = 1.0,
                        scope: str | None = None, loss_collection: str | None = GraphKeys.LOSSES,
                        reduction: str = BY_NONZERO) -> Any:
    """The mean of abs(predictions - labels).

    Parameters
    ----------
    labels : Tensor
    predictions : Tensor
    weights : float or Tensor, default 1.0
        One for each loss, or for each of its rows.
    scope : str, optional
        Of the operations.
    loss_collection : str or None
        Where the loss is added.
    reduction : str
        See `Reduction`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.losses.absolute_difference([1., 2.], [1., 4.])))
    1.0
    """
    x, y = alike(predictions, labels)
    return compute_weighted_loss(df.abs(x - df.cast(y, x.dtype)), weights,
                                 scope or "absolute_difference", loss_collection, reduction)


@recorded
def huber_loss(labels: Any, predictions: Any, weights: Any = 1.0, delta: float = 1.0,
               scope: str | None = None, loss_collection: str | None = GraphKeys.LOSSES,
               reduction: str = BY_NONZERO) -> Any:
    """Squares of small errors, halved, and absolute values of large ones.

    Parameters
    ----------
    labels : Tensor
    predictions : Tensor
    weights : float or Tensor, default 1.0
        One for each loss, or for each of its rows.
    delta : float, default 1.0
        Where errors begin to be large.
    scope : str, optional
        Of the operations.
    loss_collection : str or None
        Where the loss is added.
    reduction : str
        See `Reduction`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.losses.huber_loss([0., 0.], [1., 3.])))
    1.5
    """
    x, y = alike(predictions, labels)
    error = df.abs(x - df.cast(y, x.dtype))
    small = df.minimum(error, delta)
    return compute_weighted_loss(0.5 * small * small + delta * (error - small), weights,
                                 scope or "huber_loss", loss_collection, reduction)


@recorded
def log_loss(labels: Any, predictions: Any, weights: Any = 1.0, epsilon: float = 1e-7,
             scope: str | None = None, loss_collection: str | None = GraphKeys.LOSSES,
             reduction: str = BY_NONZERO) -> Any:
    """The mean cross entropy of labels and probabilities.

    Parameters
    ----------
    labels : Tensor
    predictions : Tensor
    weights : float or Tensor, default 1.0
        One for each loss, or for each of its rows.
    epsilon : float, default 1e-7
        Added before logarithms are taken.
    scope : str, optional
        Of the operations.
    loss_collection : str or None
        Where the loss is added.
    reduction : str
        See `Reduction`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.losses.log_loss([1.], [0.5])).round(4))
    0.6931
    """
    x, y = alike(predictions, labels)
    y = df.cast(y, x.dtype)
    losses = -y * df.log(x + epsilon) - (1.0 - y) * df.log(1.0 - x + epsilon)
    return compute_weighted_loss(losses, weights, scope or "log_loss", loss_collection, reduction)


@recorded
def hinge_loss(labels: Any, logits: Any, weights: Any = 1.0, scope: str | None = None,
               loss_collection: str | None = GraphKeys.LOSSES, reduction: str = BY_NONZERO) -> Any:
    """The mean of max(0, 1 - logits) where labels are 1, and max(0, 1 + logits) where they are 0.

    Parameters
    ----------
    labels : Tensor
    logits : Tensor
    weights : float or Tensor, default 1.0
        One for each loss, or for each of its rows.
    scope : str, optional
        Of the operations.
    loss_collection : str or None
        Where the loss is added.
    reduction : str
        See `Reduction`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.losses.hinge_loss([1., 0.], [0.5, 0.5])))
    1.0
    """
    x, y = alike(logits, labels)
    losses = df.nn.relu(1.0 - (2.0 * df.cast(y, x.dtype) - 1.0) * x)
    return compute_weighted_loss(losses, weights, scope or "hinge_loss", loss_collection, reduction)


@recorded
def cosine_distance(labels: Any, predictions: Any, axis: int | None = None, weights: Any = 1.0,
                    scope: str | None = None, loss_collection: str | None = GraphKeys.LOSSES,
                    reduction: str = BY_NONZERO, dim: int | None = None) -> Any:
    """The mean of 1 - the product of unit vectors.

    Parameters
    ----------
    labels : Tensor
    predictions : Tensor
    axis : int
        The dimension.
    weights : float or Tensor, default 1.0
        One for each loss, or for each of its rows.
    scope : str, optional
        Of the operations.
    loss_collection : str or None
        Where the loss is added.
    reduction : str
        See `Reduction`.
    dim : int
        An older name of `axis`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.losses.cosine_distance([1., 0.], [0., 1.], 0)))
    1.0
    """
    x, y = alike(predictions, labels)
    losses = 1.0 - df.reduce_sum(x * df.cast(y, x.dtype), dim if axis is None else axis, True)
    return compute_weighted_loss(losses, weights, scope or "cosine_distance_loss", loss_collection,
                                 reduction)


@recorded
def softmax_cross_entropy(onehot_labels: Any, logits: Any, weights: Any = 1.0,
                          label_smoothing: float = 0, scope: str | None = None,
                          loss_collection: str | None = GraphKeys.LOSSES,
                          reduction: str = BY_NONZERO) -> Any:
    """The mean cross entropy of one-hot labels and softmax(logits).

    Parameters
    ----------
    onehot_labels : Tensor, like `logits`
    logits : Tensor
    weights : float or Tensor, default 1.0
        One for each loss, or for each of its rows.
    label_smoothing : float, default 0
        How far labels are moved towards even ones.
    scope : str, optional
        Of the operations.
    loss_collection : str or None
        Where the loss is added.
    reduction : str
        See `Reduction`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.losses.softmax_cross_entropy([[1, 0]], [[0., 0.]])).round(4))
    0.6931
    """
    x = convert(logits)
    y = df.cast(convert(onehot_labels), x.dtype)
    if label_smoothing > 0:
        y = y * (1 - label_smoothing) + label_smoothing / y.shape[1]
    losses = nn_ops.softmax_cross_entropy_with_logits_v2(df.stop_gradient(y), x)
    return compute_weighted_loss(losses, weights, scope or "softmax_cross_entropy_loss",
                                 loss_collection, reduction)


@recorded
def sparse_softmax_cross_entropy(labels: Any, logits: Any, weights: Any = 1.0,
                                 scope: str | None = None,
                                 loss_collection: str | None = GraphKeys.LOSSES,
                                 reduction: str = BY_NONZERO) -> Any:
    """The mean cross entropy of class numbers and softmax(logits).

    Parameters
    ----------
    labels : Tensor
    logits : Tensor
    weights : float or Tensor, default 1.0
        One for each loss, or for each of its rows.
    scope : str, optional
        Of the operations.
    loss_collection : str or None
        Where the loss is added.
    reduction : str
        See `Reduction`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.losses.sparse_softmax_cross_entropy([1], [[0., 0.]])).round(4))
    0.6931
    """
    x, y = convert(logits), convert(labels)
    if y.ndim == x.ndim:                    # (batch, 1)
        y = df.squeeze(y, -1)
    losses = nn_ops.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x)
    return compute_weighted_loss(losses, weights, scope or "sparse_softmax_cross_entropy_loss",
                                 loss_collection, reduction)


@recorded
def sigmoid_cross_entropy(multi_class_labels: Any, logits: Any, weights: Any = 1.0,
                          label_smoothing: float = 0, scope: str | None = None,
                          loss_collection: str | None = GraphKeys.LOSSES,
                          reduction: str = BY_NONZERO) -> Any:
    """The mean cross entropy of labels and sigmoid(logits).

    Parameters
    ----------
    multi_class_labels : Tensor, like `logits`
    logits : Tensor
    weights : float or Tensor, default 1.0
        One for each loss, or for each of its rows.
    label_smoothing : float, default 0
        How far labels are moved towards even ones.
    scope : str, optional
        Of the operations.
    loss_collection : str or None
        Where the loss is added.
    reduction : str
        See `Reduction`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.losses.sigmoid_cross_entropy([[1.]], [[0.]])).round(4))
    0.6931
    """
    x = convert(logits)
    y = df.cast(convert(multi_class_labels), x.dtype)
    if label_smoothing > 0:
        y = y * (1 - label_smoothing) + 0.5 * label_smoothing
    losses = nn_ops.sigmoid_cross_entropy_with_logits(labels=y, logits=x)
    return compute_weighted_loss(losses, weights, scope or "sigmoid_cross_entropy_loss",
                                 loss_collection, reduction)
