"""Counts of integers and histograms."""

from __future__ import annotations

from typing import Any

import dualflow as df
from dualflow import math
from dualflow.compat.v1.default_graph import recorded
from dualflow.compat.v1.dtypes import as_dtype
from dualflow.compat.v1.ops import convert
from dualflow.dtypes import float32, int32

__all__ = ["bincount", "histogram_fixed_width", "histogram_fixed_width_bins"]


@recorded
def bincount(arr: Any, weights: Any = None, minlength: int | None = None,
             maxlength: int | None = None, dtype: Any = int32, name: str | None = None) -> Any:
    """Count the occurrences of each integer from 0, or sum their weights.

    Parameters
    ----------
    arr : Tensor, int32 or int64, not negative
    weights : Tensor, optional
    minlength, maxlength : int, optional
        Bounds on the length of the result.
    dtype : dtype, default int32
        Dtype of the counts.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.bincount([1, 3, 1])))
    [0 2 0 1]
    """
    found, wanted = convert(arr), as_dtype(dtype)
    if weights is not None:
        return math.bincount(found, convert(weights), minlength, maxlength, name=name)
    counts = math.bincount(found, None, minlength, maxlength, name=name or "bincount")
    return df.cast(counts, wanted)


@recorded
def histogram_fixed_width_bins(values: Any, value_range: Any, nbins: int = 100,
                               dtype: Any = int32, name: str | None = None) -> Any:
    """Return the index of the equal-width bin of each value; values outside go to the end bins.

    Parameters
    ----------
    values : Tensor
    value_range : pair of float
        Lower edge of the first bin and upper edge of the last bin.
    nbins : int, default 100
    dtype : dtype, default int32

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.histogram_fixed_width_bins([-1., 0., 1.5, 9.], [0., 5.], 5)))
    [0 0 1 4]
    """
    x = convert(values, float32)
    low, high = df.unstack(convert(value_range, x.dtype))
    share = (x - low) / (high - low)
    at = df.floor(share * df.cast(nbins, x.dtype))
    return df.cast(df.clip_by_value(at, 0, nbins - 1), as_dtype(dtype),
                   name or "histogram_fixed_width_bins")


@recorded
def histogram_fixed_width(values: Any, value_range: Any, nbins: int = 100, dtype: Any = int32,
                          name: str | None = None) -> Any:
    """Count the values in each of `nbins` equal-width bins; see `histogram_fixed_width_bins`.

    Parameters
    ----------
    values : Tensor
    value_range : pair of float
    nbins : int, default 100
    dtype : dtype, default int32

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.histogram_fixed_width([-1., 0., 1.5, 9.], [0., 5.], 5)))
    [2 1 0 0 1]
    """
    at = df.reshape(histogram_fixed_width_bins(values, value_range, nbins), [-1])
    return math.unsorted_segment_sum(df.ones_like(at, as_dtype(dtype)), at, nbins,
                                     name=name or "histogram_fixed_width")
