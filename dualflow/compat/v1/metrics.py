"""`tf.metrics`: streaming metrics. Each is a pair of the current value and an update operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dualflow as df
from dualflow import linalg, math
from dualflow._core import as_tensor
from dualflow.compat.v1.assign import assign_add
from dualflow.compat.v1.default_graph import default_graph, recorded
from dualflow.compat.v1.graph_keys import GraphKeys
from dualflow.compat.v1.groups import name_scope
from dualflow.compat.v1.ops import as_tensors, convert
from dualflow.compat.v1.variables import Variable

__all__ = ["accuracy", "auc", "false_negatives", "false_positives", "mean",
           "mean_absolute_error", "mean_iou", "mean_per_class_accuracy", "mean_squared_error",
           "precision", "recall", "root_mean_squared_error", "true_negatives", "true_positives"]


@recorded
def mean(values: Any, weights: Any = None, metrics_collections: Any = None,
         updates_collections: Any = None, name: str | None = None) -> tuple[Any, Any]:
    """Return the mean of all values seen.

    Parameters
    ----------
    values : Tensor
    weights : Tensor, optional
        Weight of each element.
    metrics_collections : list of str, optional
        Collections to which the value is added.
    updates_collections : list of str, optional
        Collections to which the operation is added.

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
        weight = weights_of(weights, x)
        sums = [total("total", df.reduce_sum(x * weight)), total("count", df.reduce_sum(weight))]
        return measured(sums, math.divide_no_nan, metrics_collections, updates_collections)


def weights_of(weights: Any, x: Any) -> Any:
    """Return the weights broadcast to the shape of x; ones if None."""
    if weights is None:
        return df.ones_like(x, df.float32)
    return df.broadcast_to(df.cast(convert(weights), df.float32), x.shape)


def total(name: str, value: Any) -> tuple[Any, Any]:
    """Return a variable that sums values, and the operation that adds `value` and returns the
    sum."""
    where = [GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES]
    zeros = df.zeros([int(n) for n in value.shape], value.dtype)
    variable = Variable(zeros, False, where, name=name)
    return as_tensor(variable.slot), assign_add(variable, value)


def measured(sums: list[tuple[Any, Any]], measure: Callable[..., Any], metrics_collections: Any,
             updates_collections: Any) -> tuple[Any, Any]:
    """Return `measure` of the sums before and after an update."""
    value = df.identity(measure(*[now for now, _ in sums]), name="value")
    update = df.identity(measure(*[after for _, after in sums]), name="update_op")
    return published(value, update, metrics_collections, updates_collections)


def published(value: Any, update: Any, metrics_collections: Any,
              updates_collections: Any) -> tuple[Any, Any]:
    """Add the value and the update operation to collections and return both."""
    for names, tensor in ((metrics_collections, value), (updates_collections, update)):
        if names is not None:
            default_graph().add_to_collections(names, tensor)
    return value, update


@recorded
def accuracy(labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None,
             updates_collections: Any = None, name: str | None = None) -> tuple[Any, Any]:
    """Return the fraction of predictions that equal the labels.

    Parameters
    ----------
    labels : Tensor
    predictions : Tensor
    weights : Tensor, optional
        Weight of each element.
    metrics_collections : list of str, optional
        Collections to which the value is added.
    updates_collections : list of str, optional
        Collections to which the operation is added.

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


def of_errors(name: str, error: Callable[[Any], Any], does: str,
              last: Callable[[Any], Any] | None = None) -> Callable[..., Any]:
    """Return a metric: the mean of `error(predictions - labels)`, passed through `last`."""
    def metric(labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None,
               updates_collections: Any = None, name: str | None = None) -> tuple[Any, Any]:
        y, x = as_tensors(labels, predictions)
        with name_scope(name, metric.__name__):
            x = df.cast(error(df.cast(x, df.float32) - df.cast(y, df.float32)), df.float32)
            weight = weights_of(weights, x)
            sums = [total("total", df.reduce_sum(x * weight)),
                    total("count", df.reduce_sum(weight))]

            def measure(a: Any, n: Any) -> Any:
                found = math.divide_no_nan(a, n)
                return found if last is None else last(found)

            return measured(sums, measure, metrics_collections, updates_collections)

    metric.__name__ = metric.__qualname__ = name
    metric.__doc__ = f"""The {does} over all values seen.

    Parameters
    ----------
    labels, predictions : Tensor
    weights, metrics_collections, updates_collections : as for `mean`

    Returns
    -------
    (value, update_op)

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     value, update = tf.metrics.{name}([0, 1], [1, 1])
    ...     sess.run(tf.local_variables_initializer())
    ...     found = sess.run(update)
    """
    return recorded(metric)


mean_absolute_error: Callable[..., Any] = of_errors("mean_absolute_error", df.abs,
                                                    "mean absolute error")
mean_squared_error: Callable[..., Any] = of_errors("mean_squared_error", df.square,
                                                   "mean squared error")
root_mean_squared_error: Callable[..., Any] = of_errors("root_mean_squared_error", df.square,
                                    "root of the mean squared error", df.sqrt)


# --- confusion counts -----------------------------------------------------------------------------

KINDS = {"true_positives": (True, True), "false_positives": (False, True),
         "true_negatives": (False, False), "false_negatives": (True, False)}


def counted(kind: str, labels: Any, predictions: Any, weights: Any) -> tuple[Any, Any]:
    """Return the total of one confusion count; `predictions` may have extra leading dimensions."""
    label, said = KINDS[kind]
    hit = df.logical_and(df.equal(df.cast(labels, df.bool_), label),
                         df.equal(df.cast(predictions, df.bool_), said))
    n = df.cast(hit, df.float32) * weights
    return total(kind, df.reduce_sum(n, list(range(n.ndim - labels.ndim, n.ndim))))


def of_kinds(name: str, kinds: list[str], measure: Callable[..., Any],
             does: str) -> Callable[..., Any]:
    """Return a metric computed from the totals of some confusion counts."""
    def metric(labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None,
               updates_collections: Any = None, name: str | None = None) -> tuple[Any, Any]:
        y, x = convert(labels), convert(predictions)
        with name_scope(name, metric.__name__):
            share = weights_of(weights, y)
            return measured([counted(kind, y, x, share) for kind in kinds], measure,
                            metrics_collections, updates_collections)

    metric.__name__ = metric.__qualname__ = name
    metric.__doc__ = f"""{does}, over all values seen.

    Parameters
    ----------
    labels, predictions : Tensor
        Nonzero values count as true.
    weights, metrics_collections, updates_collections : as for `mean`

    Returns
    -------
    (value, update_op)

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     value, update = tf.metrics.{name}([0, 1], [1, 1])
    ...     sess.run(tf.local_variables_initializer())
    ...     found = sess.run(update)
    """
    return recorded(metric)


def share(hits: Any, others: Any) -> Any:
    """Return hits / (hits + others), or 0 if both are 0."""
    return math.divide_no_nan(hits, hits + others)


true_positives: Callable[..., Any] = of_kinds("true_positives", ["true_positives"], df.identity,
                          "The number of true labels predicted as true")
false_positives: Callable[..., Any] = of_kinds("false_positives", ["false_positives"], df.identity,
                           "The number of false labels predicted as true")
true_negatives: Callable[..., Any] = of_kinds("true_negatives", ["true_negatives"], df.identity,
                          "The number of false labels predicted as false")
false_negatives: Callable[..., Any] = of_kinds("false_negatives", ["false_negatives"], df.identity,
                           "The number of true labels predicted as false")
precision: Callable[..., Any] = of_kinds("precision", ["true_positives", "false_positives"], share,
                     "The fraction of positive predictions that are correct")
recall: Callable[..., Any] = of_kinds("recall", ["true_positives", "false_negatives"], share,
                  "The fraction of true labels predicted as true")

TINY, SMALL = 1e-7, 1e-6


@recorded
def auc(labels: Any, predictions: Any, weights: Any = None, num_thresholds: int = 200,
        metrics_collections: Any = None, updates_collections: Any = None, curve: str = "ROC",
        name: str | None = None, summation_method: str = "trapezoidal",
        thresholds: Any = None) -> tuple[Any, Any]:
    """Return the area under the ROC or precision-recall curve, by the trapezoidal rule.

    Parameters
    ----------
    labels : Tensor
        Nonzero values count as true.
    predictions : Tensor, floating, from 0 to 1
    weights, metrics_collections, updates_collections : as for `mean`
    num_thresholds : int, default 200
    curve : {"ROC", "PR"}
        True-positive rate against false-positive rate, or precision against recall.
    summation_method : {"trapezoidal"}
    thresholds : list of float, optional
        Between 0 and 1; replaces the evenly spaced thresholds.

    Returns
    -------
    (value, update_op)

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     value, update = tf.metrics.auc([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    ...     sess.run(tf.local_variables_initializer())
    ...     print(sess.run(update).round(2))
    0.75
    """
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    if summation_method != "trapezoidal":
        raise ValueError(f"Invalid summation_method: {summation_method}")
    inner = thresholds if thresholds is not None else [
        (k + 1) / (num_thresholds - 1) for k in range(num_thresholds - 2)]
    limits = df.constant([0.0 - TINY, *inner, 1.0 + TINY], df.float32)
    y, x = [df.reshape(convert(z), [-1]) for z in (labels, predictions)]
    with name_scope(name, "auc"):
        counts = weights_of(None if weights is None else df.reshape(convert(weights), [-1]), y)
        said = df.greater(df.cast(x, df.float32), df.expand_dims(limits, 1))
        sums = [counted(kind, y, said, counts) for kind in (
            "true_positives", "false_negatives", "true_negatives", "false_positives")]

        def area(tp: Any, fn: Any, tn: Any, fp: Any) -> Any:
            found = (tp + SMALL) / (tp + fn + SMALL)
            if curve == "ROC":
                a, b = fp / (fp + tn + SMALL), found
            else:
                a, b = found, (tp + SMALL) / (tp + fp + SMALL)
            return df.reduce_sum((a[:-1] - a[1:]) * (b[:-1] + b[1:]) / 2.0)

        return measured(sums, area, metrics_collections, updates_collections)


def table(labels: Any, predictions: Any, num_classes: int, weights: Any,
          dtype: Any) -> tuple[Any, Any]:
    """Return the confusion matrix: entry (i, j) counts predictions of class j for label i."""
    y, x = [df.cast(df.reshape(convert(z), [-1]), df.int64) for z in (labels, predictions)]
    counts = weights_of(None if weights is None else df.reshape(convert(weights), [-1]), y)
    flat = math.unsorted_segment_sum(counts, y * num_classes + x, num_classes ** 2)
    return total("total_confusion_matrix",
                 df.cast(df.reshape(flat, [num_classes, num_classes]), dtype))


@recorded
def mean_iou(labels: Any, predictions: Any, num_classes: int, weights: Any = None,
             metrics_collections: Any = None, updates_collections: Any = None,
             name: str | None = None) -> tuple[Any, Any]:
    """Return the mean over classes of intersection over union; the update operation returns the
    confusion matrix.

    Parameters
    ----------
    labels, predictions : Tensor, integer
    num_classes : int
    weights, metrics_collections, updates_collections : as for `mean`

    Returns
    -------
    (value, update_op)

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     value, update = tf.metrics.mean_iou([0, 0, 1], [0, 1, 1], 2)
    ...     sess.run(tf.local_variables_initializer())
    ...     found = sess.run(update)
    ...     print(sess.run(value))
    0.5
    """
    with name_scope(name, "mean_iou"):
        matrix, update = table(labels, predictions, num_classes, weights, df.float64)
        now = df.cast(matrix, df.float32)
        right = linalg.diag_part(now)
        union = df.reduce_sum(now, 0) + df.reduce_sum(now, 1) - right
        return over_classes(right, union, update, metrics_collections, updates_collections)


@recorded
def mean_per_class_accuracy(labels: Any, predictions: Any, num_classes: int, weights: Any = None,
                            metrics_collections: Any = None, updates_collections: Any = None,
                            name: str | None = None) -> tuple[Any, Any]:
    """Return the mean over classes of the per-class accuracy.

    Parameters
    ----------
    labels, predictions : Tensor, integer
    num_classes : int
    weights, metrics_collections, updates_collections : as for `mean`

    Returns
    -------
    (value, update_op)

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     value, update = tf.metrics.mean_per_class_accuracy([0, 0, 1], [0, 1, 1], 2)
    ...     sess.run(tf.local_variables_initializer())
    ...     found = sess.run(update)
    ...     print(sess.run(value))
    0.75
    """
    with name_scope(name, "mean_accuracy"):
        now, update = table(labels, predictions, num_classes, weights, df.float32)
        share = math.divide_no_nan(linalg.diag_part(update), df.reduce_sum(update, 1))
        value = df.reduce_mean(math.divide_no_nan(linalg.diag_part(now), df.reduce_sum(now, 1)))
        return published(value, share, metrics_collections, updates_collections)


def over_classes(part: Any, whole: Any, update: Any, *collections: Any) -> tuple[Any, Any]:
    """Return the mean of part / whole over the classes that occur."""
    occur = df.reduce_sum(df.cast(df.not_equal(whole, 0), df.float32))
    shares = math.divide_no_nan(part, whole)
    return published(math.divide_no_nan(df.reduce_sum(shares), occur), update, *collections)


def __dir__() -> list[str]:
    return __all__
