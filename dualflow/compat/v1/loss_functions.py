"""Losses with the weighting and reduction of TensorFlow 1."""

from __future__ import annotations

from typing import Any

import dualflow as df
from dualflow import math
from dualflow.compat.v1 import nn_ops
from dualflow.compat.v1.default_graph import default_graph, recorded
from dualflow.compat.v1.graph_keys import GraphKeys
from dualflow.compat.v1.groups import name_scope
from dualflow.compat.v1.ops import as_tensors, convert

__all__ = ["Reduction", "absolute_difference", "compute_weighted_loss", "cosine_distance",
           "hinge_loss", "huber_loss", "log_loss", "mean_squared_error", "sigmoid_cross_entropy",
           "softmax_cross_entropy", "sparse_softmax_cross_entropy"]


class Reduction:
    """Names of the reductions of losses to a scalar.

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
    """Reduce losses times weights to a scalar, by default the mean over nonzero weights.

    Parameters
    ----------
    losses : Tensor
    weights : float or Tensor, default 1.0
        One weight per loss, or per row of losses.
    scope : str, optional
        Name scope of the operations.
    loss_collection : str or None
        Collection to which the loss is added.
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
            default_graph().add_to_collection(loss_collection, made)
        return made


def reduced(weighted: Any, weight: Any, reduction: str) -> Any:
    """Reduce weighted losses to a scalar, or return them unchanged if `reduction` is NONE."""
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
    """Return the mean of (predictions - labels)**2.

    Parameters
    ----------
    labels : Tensor
    predictions : Tensor
    weights : float or Tensor, default 1.0
        One weight per loss, or per row of losses.
    scope : str, optional
        Name scope of the operations.
    loss_collection : str or None
        Collection to which the loss is added.
    reduction : str
        See `Reduction`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.losses.mean_squared_error([1., 2.], [1., 4.])))
    2.0
    """
    x, y = as_tensors(predictions, labels)
    return compute_weighted_loss(math.squared_difference(x, df.cast(y, x.dtype)), weights,
                                 scope or "mean_squared_error", loss_collection, reduction)


@recorded
def absolute_difference(labels: Any, predictions: Any, weights: Any = 1.0,
                        scope: str | None = None, loss_collection: str | None = GraphKeys.LOSSES,
                        reduction: str = BY_NONZERO) -> Any:
    """Return the mean of abs(predictions - labels).

    Parameters
    ----------
    labels : Tensor
    predictions : Tensor
    weights : float or Tensor, default 1.0
        One weight per loss, or per row of losses.
    scope : str, optional
        Name scope of the operations.
    loss_collection : str or None
        Collection to which the loss is added.
    reduction : str
        See `Reduction`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.losses.absolute_difference([1., 2.], [1., 4.])))
    1.0
    """
    x, y = as_tensors(predictions, labels)
    return compute_weighted_loss(df.abs(x - df.cast(y, x.dtype)), weights,
                                 scope or "absolute_difference", loss_collection, reduction)


@recorded
def huber_loss(labels: Any, predictions: Any, weights: Any = 1.0, delta: float = 1.0,
               scope: str | None = None, loss_collection: str | None = GraphKeys.LOSSES,
               reduction: str = BY_NONZERO) -> Any:
    """Return the mean Huber loss: quadratic up to `delta`, linear beyond.

    Parameters
    ----------
    labels : Tensor
    predictions : Tensor
    weights : float or Tensor, default 1.0
        One weight per loss, or per row of losses.
    delta : float, default 1.0
        Error at which the loss becomes linear.
    scope : str, optional
        Name scope of the operations.
    loss_collection : str or None
        Collection to which the loss is added.
    reduction : str
        See `Reduction`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.losses.huber_loss([0., 0.], [1., 3.])))
    1.5
    """
    x, y = as_tensors(predictions, labels)
    error = df.abs(x - df.cast(y, x.dtype))
    small = df.minimum(error, delta)
    return compute_weighted_loss(0.5 * small * small + delta * (error - small), weights,
                                 scope or "huber_loss", loss_collection, reduction)


@recorded
def log_loss(labels: Any, predictions: Any, weights: Any = 1.0, epsilon: float = 1e-7,
             scope: str | None = None, loss_collection: str | None = GraphKeys.LOSSES,
             reduction: str = BY_NONZERO) -> Any:
    """Return the mean cross entropy of labels and probabilities.

    Parameters
    ----------
    labels : Tensor
    predictions : Tensor
    weights : float or Tensor, default 1.0
        One weight per loss, or per row of losses.
    epsilon : float, default 1e-7
        Added before logarithms are computed.
    scope : str, optional
        Name scope of the operations.
    loss_collection : str or None
        Collection to which the loss is added.
    reduction : str
        See `Reduction`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.losses.log_loss([1.], [0.5])).round(4))
    0.6931
    """
    x, y = as_tensors(predictions, labels)
    y = df.cast(y, x.dtype)
    losses = -y * df.log(x + epsilon) - (1.0 - y) * df.log(1.0 - x + epsilon)
    return compute_weighted_loss(losses, weights, scope or "log_loss", loss_collection, reduction)


@recorded
def hinge_loss(labels: Any, logits: Any, weights: Any = 1.0, scope: str | None = None,
               loss_collection: str | None = GraphKeys.LOSSES, reduction: str = BY_NONZERO) -> Any:
    """Return the mean hinge loss: max(0, 1 - logits) for label 1, max(0, 1 + logits) for label 0.

    Parameters
    ----------
    labels : Tensor
    logits : Tensor
    weights : float or Tensor, default 1.0
        One weight per loss, or per row of losses.
    scope : str, optional
        Name scope of the operations.
    loss_collection : str or None
        Collection to which the loss is added.
    reduction : str
        See `Reduction`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.losses.hinge_loss([1., 0.], [0.5, 0.5])))
    1.0
    """
    x, y = as_tensors(logits, labels)
    losses = df.nn.relu(1.0 - (2.0 * df.cast(y, x.dtype) - 1.0) * x)
    return compute_weighted_loss(losses, weights, scope or "hinge_loss", loss_collection, reduction)


@recorded
def cosine_distance(labels: Any, predictions: Any, axis: int | None = None, weights: Any = 1.0,
                    scope: str | None = None, loss_collection: str | None = GraphKeys.LOSSES,
                    reduction: str = BY_NONZERO, dim: int | None = None) -> Any:
    """Return the mean of 1 minus the inner product of unit vectors.

    Parameters
    ----------
    labels : Tensor
    predictions : Tensor
    axis : int
        Dimension of the vectors.
    weights : float or Tensor, default 1.0
        One weight per loss, or per row of losses.
    scope : str, optional
        Name scope of the operations.
    loss_collection : str or None
        Collection to which the loss is added.
    reduction : str
        See `Reduction`.
    dim : int
        Older name of `axis`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.losses.cosine_distance([1., 0.], [0., 1.], 0)))
    1.0
    """
    x, y = as_tensors(predictions, labels)
    losses = 1.0 - df.reduce_sum(x * df.cast(y, x.dtype), dim if axis is None else axis, True)
    return compute_weighted_loss(losses, weights, scope or "cosine_distance_loss", loss_collection,
                                 reduction)


@recorded
def softmax_cross_entropy(onehot_labels: Any, logits: Any, weights: Any = 1.0,
                          label_smoothing: float = 0, scope: str | None = None,
                          loss_collection: str | None = GraphKeys.LOSSES,
                          reduction: str = BY_NONZERO) -> Any:
    """Return the mean cross entropy of one-hot labels and softmax(logits).

    Parameters
    ----------
    onehot_labels : Tensor, like `logits`
    logits : Tensor
    weights : float or Tensor, default 1.0
        One weight per loss, or per row of losses.
    label_smoothing : float, default 0
        Weight of the uniform distribution in the labels.
    scope : str, optional
        Name scope of the operations.
    loss_collection : str or None
        Collection to which the loss is added.
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
    """Return the mean cross entropy of class indices and softmax(logits).

    Parameters
    ----------
    labels : Tensor
    logits : Tensor
    weights : float or Tensor, default 1.0
        One weight per loss, or per row of losses.
    scope : str, optional
        Name scope of the operations.
    loss_collection : str or None
        Collection to which the loss is added.
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
    """Return the mean cross entropy of labels and sigmoid(logits).

    Parameters
    ----------
    multi_class_labels : Tensor, like `logits`
    logits : Tensor
    weights : float or Tensor, default 1.0
        One weight per loss, or per row of losses.
    label_smoothing : float, default 0
        Weight of 0.5 in the labels.
    scope : str, optional
        Name scope of the operations.
    loss_collection : str or None
        Collection to which the loss is added.
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
