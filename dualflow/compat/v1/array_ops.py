"""Array operations under the names of TensorFlow 1: shapes, slices, joins, fills and masks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dualflow as df
from dualflow import linalg
from dualflow.compat.v1.default_graph import recorded
from dualflow.compat.v1.dtypes import as_dtype
from dualflow.compat.v1.ops import as_tensors, convert, wrapped
from dualflow.compat.v1.shapes import TensorShape
from dualflow.dtypes import float32, int32

boolean_mask: Callable[..., Any] = wrapped(df.boolean_mask, "boolean_mask")
broadcast_to: Callable[..., Any] = wrapped(df.broadcast_to, "BroadcastTo")
depth_to_space: Callable[..., Any] = wrapped(df.nn.depth_to_space, "DepthToSpace")
expand_dims: Callable[..., Any] = wrapped(df.expand_dims, "ExpandDims", dim="axis")
batch_to_space_nd: Callable[..., Any] = wrapped(df.batch_to_space, "BatchToSpaceND")
gather_nd: Callable[..., Any] = wrapped(df.gather_nd, "GatherNd")
matrix_band_part: Callable[..., Any] = wrapped(linalg.band_part, "MatrixBandPart")
matrix_diag: Callable[..., Any] = wrapped(linalg.diag, "MatrixDiag")
matrix_diag_part: Callable[..., Any] = wrapped(linalg.diag_part, "MatrixDiagPart")
pad: Callable[..., Any] = wrapped(df.pad, "Pad")
range: Callable[..., Any] = wrapped(df.range, "range")
rank: Callable[..., Any] = wrapped(df.rank, "Rank")
reverse: Callable[..., Any] = wrapped(df.reverse, "ReverseV2")
scatter_nd: Callable[..., Any] = wrapped(df.scatter_nd, "ScatterNd")
size: Callable[..., Any] = wrapped(df.size, "Size")
sort: Callable[..., Any] = wrapped(df.sort, "sort")
space_to_batch_nd: Callable[..., Any] = wrapped(df.space_to_batch, "SpaceToBatchND")
space_to_depth: Callable[..., Any] = wrapped(df.nn.space_to_depth, "SpaceToDepth")
split: Callable[..., Any] = wrapped(df.split, "split", split_dim="axis")
squeeze: Callable[..., Any] = wrapped(df.squeeze, "Squeeze", squeeze_dims="axis")
stop_gradient: Callable[..., Any] = wrapped(df.stop_gradient, "StopGradient")
strided_slice: Callable[..., Any] = wrapped(df.strided_slice, "StridedSlice")
tile: Callable[..., Any] = wrapped(df.tile, "Tile")
ensure_shape: Callable[..., Any] = wrapped(df.ensure_shape, "EnsureShape")
repeat: Callable[..., Any] = wrapped(df.repeat, "repeat")
roll: Callable[..., Any] = wrapped(df.roll, "Roll")
searchsorted: Callable[..., Any] = wrapped(df.searchsorted, "searchsorted")
tensor_scatter_nd_add: Callable[..., Any] = wrapped(df.tensor_scatter_nd_add, "TensorScatterAdd")
tensor_scatter_nd_max: Callable[..., Any] = wrapped(df.tensor_scatter_nd_max, "TensorScatterMax")
tensor_scatter_nd_min: Callable[..., Any] = wrapped(df.tensor_scatter_nd_min, "TensorScatterMin")
tensor_scatter_nd_sub: Callable[..., Any] = wrapped(df.tensor_scatter_nd_sub, "TensorScatterSub")
tensor_scatter_nd_update: Callable[..., Any] = wrapped(df.tensor_scatter_nd_update,
                                                       "TensorScatterUpdate")
tensor_scatter_add = tensor_scatter_nd_add
tensor_scatter_sub = tensor_scatter_nd_sub
tensor_scatter_update = tensor_scatter_nd_update
unique: Callable[..., Any] = wrapped(df.unique, "Unique")
unique_with_counts: Callable[..., Any] = wrapped(df.unique_with_counts, "UniqueWithCounts")

reverse_v2 = reverse


@recorded
def concat(values: Any, axis: int, name: str = "concat") -> Any:
    """Concatenate tensors along a dimension.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.concat([[1, 2], [3]], 0)))
    [1 2 3]
    """
    values = as_tensors(*values) if isinstance(values, list | tuple) else values
    return df.concat(values, axis, name)


@recorded
def stack(values: Any, axis: int = 0, name: str = "stack") -> Any:
    """Stack tensors of one shape along a new dimension.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.stack([tf.constant(1), 2])))
    [1 2]
    """
    return df.stack(as_tensors(*values) if isinstance(values, list | tuple) else values, axis, name)


@recorded
def reshape(tensor: Any, shape: Any, name: str | None = None) -> Any:
    """Return the elements of a tensor in another shape; one size may be -1.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.reshape([1, 2, 3, 4], [-1, 2])))
    [[1 2]
     [3 4]]
    """
    return df.reshape(convert(tensor), shape, name or "Reshape")


@recorded
def transpose(a: Any, perm: Any = None, name: str = "transpose", conjugate: bool = False) -> Any:
    """Permute the dimensions of a tensor; by default they are reversed.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.transpose([[1, 2], [3, 4]])))
    [[1 3]
     [2 4]]
    """
    return df.transpose(convert(a), perm, name=name)


@recorded
def shape(input: Any, name: str | None = None, out_type: Any = int32) -> Any:
    """Return the sizes of a tensor at run time.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.shape([[1, 2, 3]])))
    [1 3]
    """
    return df.shape(convert(input), as_dtype(out_type), name or "Shape")


@recorded
def gather(params: Any, indices: Any, validate_indices: bool | None = None,
           name: str | None = None, axis: int | None = None, batch_dims: int = 0) -> Any:
    """Return the rows of a tensor at the given indices.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.gather([5, 6, 7], [2, 0])))
    [7 5]
    """
    return df.gather(convert(params), indices, None, axis, batch_dims, name or "GatherV2")


@recorded
def one_hot(indices: Any, depth: Any, on_value: Any = None, off_value: Any = None,
            axis: int | None = None, dtype: Any = None, name: str | None = None) -> Any:
    """Return one-hot vectors: `on_value` at each index, `off_value` at all other positions.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.one_hot([0, 2], 3)))
    [[1. 0. 0.]
     [0. 0. 1.]]
    """
    return df.one_hot(convert(indices), depth, on_value, off_value, -1 if axis is None else axis,
                      None if dtype is None else as_dtype(dtype), name or "one_hot")


@recorded
def zeros(shape: Any, dtype: Any = float32, name: str | None = None) -> Any:
    """Return a tensor of zeros.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.zeros([2])))
    [0. 0.]
    """
    return filled(df.zeros, shape, dtype, name or "zeros")


@recorded
def ones(shape: Any, dtype: Any = float32, name: str | None = None) -> Any:
    """Return a tensor of ones.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.ones([2])))
    [1. 1.]
    """
    return filled(df.ones, shape, dtype, name or "ones")


def filled(make: Any, shape: Any, dtype: Any, name: str) -> Any:
    """Return `make(shape, dtype, name)`; `shape` is a TensorShape, an int, or a list that may hold
    tensors."""
    if isinstance(shape, TensorShape):
        shape = shape.as_list()
    if isinstance(shape, int):
        shape = [shape]
    return make(shape, as_dtype(dtype), name)


@recorded
def zeros_like(tensor: Any, dtype: Any = None, name: str | None = None,
               optimize: bool = True) -> Any:
    """Return zeros in the shape of another tensor.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.zeros_like([1, 2])))
    [0 0]
    """
    return df.zeros_like(convert(tensor), None if dtype is None else as_dtype(dtype),
                         name or "zeros_like")


@recorded
def ones_like(tensor: Any, dtype: Any = None, name: str | None = None,
              optimize: bool = True) -> Any:
    """Return ones in the shape of another tensor.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.ones_like([1, 2])))
    [1 1]
    """
    return df.ones_like(convert(tensor), None if dtype is None else as_dtype(dtype),
                        name or "ones_like")


@recorded
def fill(dims: Any, value: Any, name: str | None = None) -> Any:
    """Return a tensor filled with one value.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.fill([2], 7)))
    [7 7]
    """
    return df.fill(dims, convert(value), name or "Fill")


@recorded
def eye(num_rows: int, num_columns: int | None = None, batch_shape: Any = None,
        dtype: Any = float32, name: str | None = None) -> Any:
    """Return an identity matrix.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.eye(2)))
    [[1. 0.]
     [0. 1.]]
    """
    return df.eye(num_rows, num_columns, batch_shape or (), as_dtype(dtype), name or "eye")


@recorded
def meshgrid(*args: Any, indexing: str = "xy", name: str = "meshgrid") -> list[Any]:
    """Return the coordinates of a grid, one tensor for each dimension.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.meshgrid([1, 2], [3]))[0])
    [[1 2]]
    """
    return df.meshgrid(*args, indexing=indexing, name=name)


@recorded
def diag(diagonal: Any, name: str | None = None) -> Any:
    """Return a matrix with the given diagonal.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.diag([1, 2])))
    [[1 0]
     [0 2]]
    """
    return linalg.diag(convert(diagonal), name=name or "Diag")


@recorded
def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """Select from x where `condition` is true, from y otherwise; without x and y, return the
    indices of the true elements.

    Parameters
    ----------
    condition : Tensor, bool
        The shape of x and y, or one element for each of their rows.
    x, y : Tensor, of one shape

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.where([True, False], [[1, 2], [3, 4]], [[5, 6], [7, 8]])))
    [[1 2]
     [7 8]]
    """
    if (x is None) != (y is None):
        raise ValueError("x and y must both be non-None or both be None.")
    chosen = convert(condition)
    if x is None:
        return df.where(chosen, name=name or "Where")
    a, b = as_tensors(x, y)
    if chosen.ndim == 1 and a.ndim > 1:
        chosen = df.reshape(chosen, [-1, *[1] * (a.ndim - 1)])
    return df.where(chosen, a, b, name or "Select")


@recorded
def sequence_mask(lengths: Any, maxlen: Any = None, dtype: Any = df.bool_,
                  name: str | None = None) -> Any:
    """Return a mask whose row i is True in the first `lengths[i]` positions.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.sequence_mask([1, 2], 3, tf.int32)))
    [[1 0 0]
     [1 1 0]]
    """
    n = convert(lengths)
    longest = df.reduce_max(n) if maxlen is None else convert(maxlen, n.dtype)
    mask = df.less(df.cast(df.range(longest), n.dtype), df.expand_dims(n, -1))
    return df.cast(mask, as_dtype(dtype), name or "SequenceMask")


def shape_n(input: Any, out_type: Any = int32, name: str | None = None) -> list[Any]:
    """Return the sizes of each of several tensors.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.shape_n([[1, 2], [3]])))
    [array([2], dtype=int32), array([1], dtype=int32)]
    """
    return [shape(x, name, out_type) for x in input]


@recorded
def space_to_batch(input: Any, paddings: Any, block_size: int, name: str | None = None) -> Any:
    """Move blocks of a padded image into the batch dimension.

    Parameters
    ----------
    input : Tensor, shape (batch, height, width, depth)
    paddings : 2 pairs of int
    block_size : int
    name : str, optional

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.space_to_batch(tf.ones([1, 2, 2, 1]), [[0, 0], [0, 0]], 2)).shape
    (4, 1, 1, 1)
    """
    return df.space_to_batch(convert(input), [block_size] * 2, paddings,
                             name=name or "SpaceToBatch")


@recorded
def batch_to_space(input: Any, crops: Any, block_size: int, name: str | None = None) -> Any:
    """Undo `space_to_batch`.

    Parameters
    ----------
    input : Tensor, shape (batch, height, width, depth)
    crops : 2 pairs of int
    block_size : int
    name : str, optional

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.batch_to_space(tf.ones([4, 1, 1, 1]), [[0, 0], [0, 0]], 2)).shape
    (1, 2, 2, 1)
    """
    return df.batch_to_space(convert(input), [block_size] * 2, crops, name=name or "BatchToSpace")
