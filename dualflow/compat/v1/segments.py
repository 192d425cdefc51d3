"""Segment reductions: sums, means and extremes over rows with equal segment ids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dualflow as df
from dualflow import math
from dualflow.compat.v1.default_graph import recorded
from dualflow.compat.v1.ops import convert, wrapped

__all__ = ["segment_max", "segment_mean", "segment_min", "segment_sum", "unsorted_segment_max",
           "unsorted_segment_mean", "unsorted_segment_min", "unsorted_segment_sqrt_n",
           "unsorted_segment_sum"]

segment_sum: Callable[..., Any] = wrapped(math.segment_sum, "SegmentSum")
unsorted_segment_sum: Callable[..., Any] = wrapped(math.unsorted_segment_sum, "UnsortedSegmentSum")


def counts(x: Any, ids: Any, total: Callable[[Any], Any]) -> Any:
    """Return the number of rows per segment, at least 1, in a shape that broadcasts to the sums."""
    n = df.maximum(total(df.ones_like(ids, x.dtype)), 1)
    return df.reshape(n, [-1, *[1] * (x.ndim - ids.ndim)])


@recorded
def segment_mean(data: Any, segment_ids: Any, name: str | None = None) -> Any:
    """Return the means of rows with equal segment ids; ids are sorted.

    Parameters
    ----------
    data : Tensor
    segment_ids : Tensor, int32 or int64, sorted

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.segment_mean([1., 3., 5.], [0, 0, 1])))
    [2. 5.]
    """
    x, ids = convert(data), convert(segment_ids)
    n = counts(x, ids, lambda ones: math.segment_sum(ones, ids))
    return df.divide(math.segment_sum(x, ids), n, name=name or "SegmentMean")


@recorded
def unsorted_segment_mean(data: Any, segment_ids: Any, num_segments: int,
                          name: str | None = None) -> Any:
    """Return the means of rows with equal segment ids.

    Parameters
    ----------
    data : Tensor
    segment_ids : Tensor, int32 or int64
    num_segments : int

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.unsorted_segment_mean([1., 5., 3.], [1, 0, 1], 2)))
    [5. 2.]
    """
    x, ids = convert(data), convert(segment_ids)
    n = counts(x, ids, lambda ones: math.unsorted_segment_sum(ones, ids, num_segments))
    return df.divide(math.unsorted_segment_sum(x, ids, num_segments), n,
                     name=name or "UnsortedSegmentMean")


@recorded
def unsorted_segment_sqrt_n(data: Any, segment_ids: Any, num_segments: int,
                            name: str | None = None) -> Any:
    """Return the sums of rows with equal segment ids, divided by the root of their count.

    Parameters
    ----------
    data : Tensor
    segment_ids : Tensor, int32 or int64
    num_segments : int

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.unsorted_segment_sqrt_n([1.] * 4, [0] * 4, 1)))
    [2.]
    """
    x, ids = convert(data), convert(segment_ids)
    n = counts(x, ids, lambda ones: math.unsorted_segment_sum(ones, ids, num_segments))
    return df.divide(math.unsorted_segment_sum(x, ids, num_segments), df.sqrt(n),
                     name=name or "UnsortedSegmentSqrtN")


def extreme(update: Callable[..., Any], x: Any, ids: Any, base: Any, name: str) -> Any:
    """Return the extremes of segments and a base."""
    return update(base, df.expand_dims(ids, -1), x, name=name)


def of_sorted(update: Callable[..., Any], data: Any, segment_ids: Any, which: int,
              name: str) -> Any:
    """Return the extremes of rows with equal sorted segment ids; 0 for empty segments."""
    x, ids = convert(data), convert(segment_ids)
    n = math.segment_sum(df.ones_like(ids), ids)
    base = df.zeros_like(df.gather(df.stop_gradient(x), df.zeros_like(n)))
    found = extreme(update, x, ids, base + df.cast(x.dtype.limits[which], x.dtype), name)
    return df.where(df.reshape(df.equal(n, 0), [-1, *[1] * (x.ndim - 1)]), base, found)


def of_unsorted(update: Callable[..., Any], data: Any, segment_ids: Any, num_segments: int,
                which: int, name: str) -> Any:
    """Return the extremes of rows with equal segment ids."""
    x, ids = convert(data), convert(segment_ids)
    base = df.fill([num_segments, *x.shape[ids.ndim:]],
                   df.constant(x.dtype.limits[which], x.dtype))
    return extreme(update, x, ids, base, name)


@recorded
def segment_max(data: Any, segment_ids: Any, name: str | None = None) -> Any:
    """Return the maximum of rows with equal segment ids, 0 for empty segments; ids are sorted.

    Parameters
    ----------
    data : Tensor
    segment_ids : Tensor, int32 or int64, sorted

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.segment_max([1., 3., -5.], [0, 0, 2])))
    [ 3.  0. -5.]
    """
    return of_sorted(df.tensor_scatter_nd_max, data, segment_ids, 0, name or "SegmentMax")


@recorded
def segment_min(data: Any, segment_ids: Any, name: str | None = None) -> Any:
    """Return the minimum of rows with equal segment ids, 0 for empty segments; ids are sorted.

    Parameters
    ----------
    data : Tensor
    segment_ids : Tensor, int32 or int64, sorted

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.segment_min([1., 3., 5.], [0, 0, 1])))
    [1. 5.]
    """
    return of_sorted(df.tensor_scatter_nd_min, data, segment_ids, 1, name or "SegmentMin")


@recorded
def unsorted_segment_max(data: Any, segment_ids: Any, num_segments: int,
                         name: str | None = None) -> Any:
    """Return the maximum of rows with equal segment ids; the lowest value if a segment is empty.

    Parameters
    ----------
    data : Tensor
    segment_ids : Tensor, int32 or int64
    num_segments : int

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.unsorted_segment_max([1., 5., 3.], [1, 0, 1], 2)))
    [5. 3.]
    """
    return of_unsorted(df.tensor_scatter_nd_max, data, segment_ids, num_segments, 0,
                       name or "UnsortedSegmentMax")


@recorded
def unsorted_segment_min(data: Any, segment_ids: Any, num_segments: int,
                         name: str | None = None) -> Any:
    """Return the minimum of rows with equal segment ids; the highest value if a segment is empty.

    Parameters
    ----------
    data : Tensor
    segment_ids : Tensor, int32 or int64
    num_segments : int

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.unsorted_segment_min([1., 5., 3.], [1, 0, 1], 2)))
    [5. 1.]
    """
    return of_unsorted(df.tensor_scatter_nd_min, data, segment_ids, num_segments, 1,
                       name or "UnsortedSegmentMin")
