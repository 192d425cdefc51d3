"""Partitioning, stitching, reversing and permuting rows; diagonals of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import dualflow as df
from dualflow import linalg
from dualflow.compat.v1.array_ops import stack
from dualflow.compat.v1.default_graph import recorded
from dualflow.compat.v1.dtypes import as_dtype
from dualflow.compat.v1.ops import as_tensors, convert, either
from dualflow.dtypes import int32

__all__ = [
    "ListDiff", "batch_gather", "cross", "diag_part", "dynamic_partition", "dynamic_stitch",
    "invert_permutation", "matrix_set_diag", "matrix_transpose", "parallel_stack",
    "reverse_sequence", "setdiff1d", "unravel_index",
]


@recorded
def dynamic_partition(data: Any, partitions: Any, num_partitions: int,
                      name: str | None = None) -> list[Any]:
    """Partition the rows of a tensor: rows with 0 in `partitions`, rows with 1, and so on.

    Parameters
    ----------
    data : Tensor, shape ``partitions.shape + (...)``
    partitions : Tensor, int32
    num_partitions : int

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.dynamic_partition([1., 2., 3.], [0, 1, 0], 2)))
    [array([1., 3.], dtype=float32), array([2.], dtype=float32)]
    """
    x, parts = convert(data), convert(partitions, int32)
    return [df.boolean_mask(x, df.equal(parts, k), name=name or "DynamicPartition")
            for k in range(num_partitions)]


@recorded
def dynamic_stitch(indices: Sequence[Any], data: Sequence[Any], name: str | None = None) -> Any:
    """Write rows of several tensors to the positions in `indices`. The last row wins if a position
    repeats; positions without a row are 0.

    Parameters
    ----------
    indices : list of Tensor, int32
    data : list of Tensor, shapes ``indices[k].shape + (...)``

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.dynamic_stitch([[0, 2], [1]], [[1., 3.], [2.]])))
    [1. 2. 3.]
    """
    at = [convert(x, int32) for x in indices]
    rows = [df.reshape(x, [-1, *x.shape[k.ndim:]])
            for k, x in zip(at, as_tensors(*data), strict=True)]
    places = df.concat([df.reshape(k, [-1]) for k in at], 0)
    values = df.concat(rows, 0)
    n = df.range(df.reduce_max(places) + 1)
    blank = df.zeros_like(df.gather(df.stop_gradient(values), df.zeros_like(n)))
    return df.tensor_scatter_nd_update(blank, df.expand_dims(places, 1), values,
                                       name=name or "DynamicStitch")


@recorded
def reverse_sequence(input: Any, seq_lengths: Any, seq_axis: int | None = None,
                     batch_axis: int | None = None, name: str | None = None,
                     seq_dim: int | None = None, batch_dim: int | None = None) -> Any:
    """Reverse each sequence of a batch within its length.

    Parameters
    ----------
    input : Tensor
    seq_lengths : Tensor, int32 or int64, shape (batch,)
    seq_axis : int
        The dimension of time.
    batch_axis : int, default 0
    seq_dim, batch_dim
        Older names of `seq_axis` and `batch_axis`.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.reverse_sequence([[1, 2, 3], [4, 5, 6]], [2, 3], seq_axis=1)))
    [[2 1 3]
     [6 5 4]]
    """
    x, lengths = convert(input), convert(seq_lengths)
    time = either(seq_axis, seq_dim, "'seq_axis' and 'seq_dim'")
    batch = either(batch_axis, batch_dim, "'batch_axis' and 'batch_dim'") or 0
    if time is None:
        raise ValueError("reverse_sequence: seq_axis is needed")
    time, batch = time % x.ndim, batch % x.ndim
    order = [batch, time, *[k for k in range(x.ndim) if k not in (batch, time)]]
    step = df.cast(df.range(df.shape(x)[time]), lengths.dtype)
    n = df.expand_dims(lengths, 1)
    at = df.where(df.less(step, n), n - 1 - step, df.add(step, df.zeros_like(n)))
    turned = df.gather(df.transpose(x, order), at, axis=1, batch_dims=1)
    back = [order.index(k) for k in range(x.ndim)]
    return df.transpose(turned, back, name=name or "ReverseSequence")


@recorded
def invert_permutation(x: Any, name: str | None = None) -> Any:
    """Return the inverse of a permutation.

    Parameters
    ----------
    x : Tensor, int32 or int64, shape (n,)

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.invert_permutation([2, 0, 1])))
    [1 2 0]
    """
    p = convert(x)
    return df.tensor_scatter_nd_update(
        df.zeros_like(p), df.expand_dims(p, 1), df.cast(df.range(df.shape(p)[0]), p.dtype),
        name=name or "InvertPermutation")


class ListDiff(NamedTuple):
    """The result of `setdiff1d`: elements and their indices."""

    out: Any
    idx: Any


@recorded
def setdiff1d(x: Any, y: Any, index_dtype: Any = int32, name: str | None = None) -> ListDiff:
    """Return the elements of x that are not in y, and their indices in x.

    Parameters
    ----------
    x, y : Tensor, of one dimension
    index_dtype : dtype, default int32

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.setdiff1d([1, 2, 3], [2]).out))
    [1 3]
    """
    a, b = as_tensors(x, y)
    is_missing = df.reduce_all(df.not_equal(df.expand_dims(a, 1), df.expand_dims(b, 0)), 1)
    places = df.cast(df.range(df.shape(a)[0]), as_dtype(index_dtype))
    return ListDiff(df.boolean_mask(a, is_missing, name=name or "ListDiff"),
                    df.boolean_mask(places, is_missing))


@recorded
def unravel_index(indices: Any, dims: Any, name: str | None = None) -> Any:
    """Convert flat indices to coordinates in a shape, one column per index.

    Parameters
    ----------
    indices : Tensor, int32 or int64, shape () or (n,)
    dims : sequence of int

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.unravel_index([5], [2, 3])))
    [[1]
     [2]]
    """
    left, sizes = convert(indices), convert(dims)
    found = []
    for k in reversed(range(sizes.shape[0])):
        found.append(df.math.floormod(left, sizes[k]))
        left = df.math.floordiv(left, sizes[k])
    return df.stack(found[::-1], name=name or "UnravelIndex")


@recorded
def batch_gather(params: Any, indices: Any, name: str | None = None) -> Any:
    """Gather rows in each element of a batch.

    Parameters
    ----------
    params : Tensor, shape (batch ..., n, ...)
    indices : Tensor, int32 or int64, shape (batch ..., m)

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.batch_gather([[1, 2], [3, 4]], [[1], [0]])))
    [[2]
     [3]]
    """
    at = convert(indices)
    return df.gather(convert(params), at, axis=at.ndim - 1, batch_dims=at.ndim - 1,
                     name=name or "BatchGather")


def parallel_stack(values: Any, name: str = "parallel_stack") -> Any:
    """Stack tensors of one shape along a new first dimension.

    Parameters
    ----------
    values : list of Tensor

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.parallel_stack([1, 2])))
    [1 2]
    """
    return stack(values, 0, name)


# --- diagonals ------------------------------------------------------------------------------------

@recorded
def diag_part(input: Any, name: str | None = None) -> Any:
    """Return the diagonal of a matrix; for a tensor of rank 2k a tensor of rank k.

    Parameters
    ----------
    input : Tensor

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.diag_part([[1, 2], [3, 4]])))
    [1 4]
    """
    x = convert(input)
    half = x.shape[:x.ndim // 2]
    if x.ndim % 2 or x.ndim == 0 or not df.ops.array.shape.same_shape(half, x.shape[x.ndim // 2:]):
        raise ValueError(f"Input shape must be of the form (d1, ..., dk, d1, ..., dk), but is "
                         f"{x.shape}")
    if x.ndim == 2:
        return linalg.diag_part(x, name=name or "DiagPart")
    n = df.ops.array.shape.product(half)
    return df.reshape(linalg.diag_part(df.reshape(x, [n, n])), half, name=name or "DiagPart")


@recorded
def matrix_set_diag(input: Any, diagonal: Any, name: str | None = None) -> Any:
    """Replace the diagonal of matrices.

    Parameters
    ----------
    input : Tensor, shape (..., m, n)
    diagonal : Tensor, shape (..., min(m, n))

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.matrix_set_diag([[1, 2], [3, 4]], [8, 9])))
    [[8 2]
     [3 9]]
    """
    x, d = as_tensors(input, diagonal)
    rows, columns = df.range(df.shape(x)[-2]), df.range(df.shape(x)[-1])
    on = df.equal(df.expand_dims(rows, 1), columns)
    last = df.shape(d)[-1] - 1
    return df.where(on, df.gather(d, df.minimum(columns, last), axis=d.ndim - 1)[..., None, :], x,
                    name=name or "set_diag")


@recorded
def matrix_transpose(a: Any, name: str = "matrix_transpose", conjugate: bool = False) -> Any:
    """Exchange the last two dimensions of a tensor.

    Parameters
    ----------
    a : Tensor, shape (..., m, n)
    conjugate : ignored

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     print(tf.matrix_transpose(tf.ones([5, 2, 3])).shape)
    (5, 3, 2)
    """
    x = convert(a)
    if x.ndim < 2:
        raise ValueError(f"Argument `a` should be a (batch) matrix with rank >= 2.  Received `a` = "
                         f"{x!r} with shape: {x.shape}")
    return df.transpose(x, [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2], name=name)


@recorded
def cross(a: Any, b: Any, name: str | None = None) -> Any:
    """Return the cross product of vectors with three components.

    Parameters
    ----------
    a, b : Tensor, shape (..., 3)

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.cross([1., 0., 0.], [0., 1., 0.])))
    [0. 0. 1.]
    """
    x, y = as_tensors(a, b)

    def turned(z: Any, k: int) -> Any:
        return df.roll(z, -k, z.ndim - 1)

    return df.subtract(turned(x, 1) * turned(y, 2), turned(x, 2) * turned(y, 1),
                       name=name or "Cross")
