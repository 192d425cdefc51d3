"""Sparse tensors under the names of TensorFlow 1."""

from __future__ import annotations

from typing import Any

from dualflow import sparse
from dualflow._core import as_tensor
from dualflow.compat.v1.creation import placeholder
from dualflow.compat.v1.default_graph import of_the_graph, recorded
from dualflow.compat.v1.fetches import SparseTensorValue
from dualflow.dtypes import int64
from dualflow.ops.array.creation import fill
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.indexing.gather import tensor_scatter_nd_update
from dualflow.ops.sparse.sparse_tensor import SparseTensor

__all__ = ["SparseTensor", "SparseTensorValue", "sparse_add", "sparse_concat",
           "sparse_placeholder", "sparse_reduce_max", "sparse_reduce_sum", "sparse_reorder",
           "sparse_reshape", "sparse_retain", "sparse_slice", "sparse_softmax",
           "sparse_tensor_dense_matmul", "sparse_tensor_to_dense", "sparse_to_dense",
           "sparse_transpose"]

sparse_reorder = recorded(sparse.reorder)
sparse_reshape = recorded(sparse.reshape)
sparse_retain = recorded(sparse.retain)
sparse_slice = recorded(sparse.slice)
sparse_softmax = recorded(sparse.softmax)
sparse_tensor_dense_matmul = recorded(sparse.sparse_dense_matmul)
sparse_transpose = recorded(sparse.transpose)


def sparse_placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> SparseTensor:
    """Return a sparse tensor that each run feeds.

    Parameters
    ----------
    dtype : dtype
    shape : sequence of int or int64 tensor, optional
        Without it, a matrix of any size.
    name : str, optional

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> x = tf.sparse_placeholder(tf.float32)
    >>> y = tf.sparse_tensor_dense_matmul(x, tf.ones([2, 1]))
    >>> with tf.Session() as session:
    ...     value = tf.SparseTensorValue([[0, 1]], [5.], [3, 2])
    ...     print(session.run(y, {x: value}).tolist())
    [[5.0], [0.0], [0.0]]
    """
    rank = 2 if shape is None else shape.shape[0] if hasattr(shape, "shape") else len(shape)
    base = name or "sparse"
    return SparseTensor(placeholder(int64, [None, rank], f"{base}/indices"),
                        placeholder(dtype, [None], f"{base}/values"),
                        placeholder(int64, [rank], f"{base}/shape"))


@recorded
def sparse_add(a: Any, b: Any, threshold: float | None = None, thresh: float | None = None) -> Any:
    """Return the sum of two sparse tensors, or of a sparse and a dense one, as
    `dualflow.sparse.add` does.

    Parameters
    ----------
    a, b : SparseTensor or tensor
    threshold, thresh : float, optional
        Elements of a sparse sum with a smaller absolute value are left out.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> x = tf.SparseTensor([[0, 1], [2, 0]], [5., 7.], [3, 2])
    >>> with tf.Session() as session:
    ...     print(session.run(tf.sparse_add(x, x)).values)
    [10. 14.]
    """
    return sparse.add(a, b, thresh if threshold is None and thresh is not None else threshold or 0)


@recorded
def sparse_concat(axis: int, sp_inputs: Any, name: str | None = None,
                  expand_nonconcat_dim: bool = False, concat_dim: int | None = None,
                  expand_nonconcat_dims: bool | None = None) -> SparseTensor:
    """Join sparse tensors along an axis, as `dualflow.sparse.concat` does.

    Parameters
    ----------
    axis, concat_dim : int
    sp_inputs : list of SparseTensor
    expand_nonconcat_dim, expand_nonconcat_dims : bool
        If True, the other sizes may differ; the largest counts.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> x = tf.SparseTensor([[0, 1], [2, 0]], [5., 7.], [3, 2])
    >>> with tf.Session() as session:
    ...     print(session.run(tf.sparse_concat(0, [x, x])).dense_shape)
    [6 2]
    """
    return sparse.concat(axis if concat_dim is None else concat_dim, sp_inputs,
                         bool(expand_nonconcat_dims or expand_nonconcat_dim), name)


@recorded
def sparse_reduce_sum(sp_input: SparseTensor, axis: Any = None, keepdims: bool | None = None,
                      reduction_axes: Any = None, keep_dims: bool | None = None) -> Any:
    """Return sums of a sparse tensor along axes.

    Parameters
    ----------
    sp_input : SparseTensor
    axis, reduction_axes : int or ints, optional
        All axes by default.
    keepdims, keep_dims : bool, default False

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> x = tf.SparseTensor([[0, 1], [2, 0]], [5., 7.], [3, 2])
    >>> with tf.Session() as session:
    ...     print(session.run(tf.sparse_reduce_sum(x, 1)))
    [5. 0. 7.]
    """
    return sparse.reduce_sum(sp_input, reduction_axes if axis is None else axis,
                             keep_dims if keepdims is None else keepdims)


@recorded
def sparse_reduce_max(sp_input: SparseTensor, axis: Any = None, keepdims: bool | None = None,
                      reduction_axes: Any = None, keep_dims: bool | None = None) -> Any:
    """Return the largest stored elements of a sparse tensor along axes.

    Parameters
    ----------
    sp_input : SparseTensor
    axis, reduction_axes : int or ints, optional
        All axes by default.
    keepdims, keep_dims : bool, default False

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> x = tf.SparseTensor([[0, 1], [2, 0]], [5., 7.], [3, 2])
    >>> with tf.Session() as session:
    ...     print(session.run(tf.sparse_reduce_max(x)))
    7.0
    """
    return sparse.reduce_max(sp_input, reduction_axes if axis is None else axis,
                             keep_dims if keepdims is None else keepdims)


@recorded
def sparse_tensor_to_dense(sp_input: SparseTensor, default_value: Any = None,
                           validate_indices: bool = True, name: str | None = None) -> Any:
    """Return a sparse tensor as a dense one, as `dualflow.sparse.to_dense` does.

    Parameters
    ----------
    sp_input : SparseTensor
    default_value : scalar, default 0
    validate_indices : bool
        Accepted for compatibility with TensorFlow; no effect.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> x = tf.SparseTensor([[0, 1], [2, 0]], [5., 7.], [3, 2])
    >>> with tf.Session() as session:
    ...     print(session.run(tf.sparse_tensor_to_dense(x)).tolist())
    [[0.0, 5.0], [0.0, 0.0], [7.0, 0.0]]
    """
    return sparse.to_dense(sp_input, default_value, validate_indices, name)


@recorded
def sparse_to_dense(sparse_indices: Any, output_shape: Any, sparse_values: Any,
                    default_value: Any = 0, validate_indices: bool = True,
                    name: str | None = None) -> Any:
    """Return a dense tensor with values at some positions.

    Parameters
    ----------
    sparse_indices : integer tensor, shape (n, rank), (n,) for a vector, or () for one element
    output_shape : ints
    sparse_values : tensor, shape (n,) or ()
    default_value : scalar, default 0
    validate_indices : bool
        Accepted for compatibility with TensorFlow; no effect.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Session() as session:
    ...     print(session.run(tf.sparse_to_dense([1, 3], [4], 9)).tolist())
    [0, 9, 0, 9]
    """
    values = as_tensor(sparse_values)
    indices = cast(sparse_indices, int64)
    while indices.ndim < 2:
        indices = indices[..., None] if indices.ndim else indices[None]
    if not values.ndim:
        values = fill([indices.shape[0]], values)
    return of_the_graph(tensor_scatter_nd_update(
        fill(output_shape, cast(default_value, values.dtype)), indices, values, name=name))
