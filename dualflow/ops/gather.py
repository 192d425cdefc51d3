"""Picking and writing by index, with gradients. Indices are int32 or int64; negative ones count
from the end as in Python, and one out of range raises `OutOfRangeError` naming it."""

from __future__ import annotations

from dualflow._core import Tensor, TensorBase, apply, as_tensor
from dualflow.arguments import integer
from dualflow.errors import DTypeError, ShapeError
from dualflow.gradient_registry import gradient, no_gradient
from dualflow.ops.array import ints, same_shape, static_shape
from dualflow.ops.cast import cast
from dualflow.ops.compare import where
from dualflow.ops.indexed_slices import rows_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dualflow.ops.types import TensorLike

__all__ = [
    "boolean_mask",
    "gather",
    "gather_nd",
    "scatter_nd",
    "tensor_scatter_nd_add",
    "tensor_scatter_nd_max",
    "tensor_scatter_nd_min",
    "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update",
]


def _tensor(value: TensorLike, op: str) -> TensorBase:
    return value if isinstance(value, TensorBase) else as_tensor(value, None, op)


def gather(params: TensorLike, indices: TensorLike, validate_indices: bool | None = None,
           axis: int | None = None, batch_dims: int = 0, name: str | None = None) -> Tensor:
    """Slices of `params` along `axis`: ``y[..., j, ...] = params[..., indices[j], ...]``.

    Parameters
    ----------
    params : Tensor, any dtype, at least 1 dimension
    indices : Tensor, int32 or int64, any shape
        Between ``-n`` and ``n - 1``, where n is the size of the axis.
    validate_indices : bool, optional
        Changes nothing: indices are always checked.
    axis : int, optional
        Default: `batch_dims`.
    batch_dims : int
        How many leading dimensions `params` and `indices` share: each slice along them is gathered
        with its own indices; negative: counted from the end of `indices`.

    Returns
    -------
    Tensor, of shape ``params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1:]``

    Raises
    ------
    OutOfRangeError
        If an index is out of range; all are checked before anything is read.

    Notes
    -----
    The gradient adds up what flows to each slice, in the order of the indices. Along the first axis
    it is `IndexedSlices`, which names rows, if `params` has at least 32 bits per number.

    Examples
    --------
    >>> import dualflow as df
    >>> df.gather([10, 11, 12, 13], [3, 0, -1]).numpy().tolist()
    [13, 10, 13]
    >>> df.gather([[1, 2], [3, 4]], [[1], [0]], batch_dims=1).numpy().tolist()
    [[2], [3]]
    """
    if batch_dims < 0:
        indices = _tensor(indices, "gather")
        batch_dims += indices.ndim
    if axis is None:
        axis = batch_dims
    return apply("gather", params, indices, name=name, axis=axis, batch_dims=batch_dims)


@gradient("gather", saves=(1,))
def _(g, y, params, indices, axis, batch_dims):
    shape = static_shape(params)
    # Sums of narrower numbers would depend on where they become dense, which rounds.
    if axis in (0, -len(shape)) and batch_dims == 0 and g.dtype.itemsize >= 4:
        return rows_of(g, indices, shape), None
    return gather_grad(g, indices, shape, axis, batch_dims), None


def gather_grad(g: TensorLike, indices: TensorLike, shape: Sequence[int], axis: int,
                batch_dims: int) -> Tensor:
    """What flows back through `gather`: zeros of `shape` with `g` added at `indices`."""
    return apply("gather_grad", g, indices, shape=shape, axis=axis, batch_dims=batch_dims)


@gradient("gather_grad", saves=(1,))
def _(gg, y, g, indices, shape, axis, batch_dims):
    return gather(gg, indices, axis=axis, batch_dims=batch_dims), None


def gather_nd(params: TensorLike, indices: TensorLike, batch_dims: int = 0,
              name: str | None = None) -> Tensor:
    """Slices of `params` named by whole indices: ``y[j] = params[tuple(indices[j])]``.

    Parameters
    ----------
    params : Tensor, any dtype
    indices : Tensor, int32 or int64, shape (..., depth)
        The last dimension holds the position in the first `depth` dimensions after the batch.
    batch_dims : int
        How many leading dimensions `params` and `indices` share.

    Returns
    -------
    Tensor, of shape ``indices.shape[:-1] + params.shape[batch_dims + depth:]``

    Raises
    ------
    OutOfRangeError
        If an index is out of range.

    Notes
    -----
    The gradient is a `scatter_nd`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.gather_nd([[1, 2], [3, 4]], [[0, 1], [1, 0]]).numpy().tolist()
    [2, 3]
    """
    return _gather_nd(params, indices, batch_dims, batch_dims, name)


def _gather_nd(params, indices, axis, batch_dims, name=None):
    return apply("gather_nd", params, indices, name=name, axis=axis, batch_dims=batch_dims)


@gradient("gather_nd", saves=(1,))
def _(g, y, params, indices, axis, batch_dims):
    return _scatter_nd(indices, g, static_shape(params), axis, batch_dims), None


def scatter_nd(indices: TensorLike, updates: TensorLike, shape: TensorLike,
               name: str | None = None) -> Tensor:
    """Zeros of `shape` with `updates` added: ``y[tuple(indices[j])] += updates[j]``.

    Parameters
    ----------
    indices : Tensor, int32 or int64, shape (..., depth)
    updates : Tensor, any number dtype, shape ``indices.shape[:-1] + shape[depth:]``
    shape : ints, or a Tensor of them

    Returns
    -------
    Tensor, of dtype of `updates`

    Raises
    ------
    OutOfRangeError
        If an index is out of range.

    Notes
    -----
    Updates to the same place are added in the order of the indices, on any number of threads. The
    gradient to `updates` is a `gather_nd`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.scatter_nd([[1], [3], [1]], [1, 2, 3], (4,)).numpy().tolist()
    [0, 4, 0, 2]
    """
    return _scatter_nd(indices, updates, shape, 0, 0, name)


def _scatter_nd(indices, updates, shape, axis, batch_dims, name=None):
    return apply("scatter_nd", indices, updates, name=name, shape=ints(shape, "scatter_nd: shape"),
                 axis=axis, batch_dims=batch_dims)


@gradient("scatter_nd", saves=(0,))
def _(g, y, indices, updates, shape, axis, batch_dims):
    return None, _gather_nd(g, indices, axis, batch_dims)


def tensor_scatter_nd_add(tensor: TensorLike, indices: TensorLike, updates: TensorLike,
                          name: str | None = None) -> Tensor:
    """`tensor` with `updates` added: ``y[tuple(indices[j])] += updates[j]``.

    Parameters
    ----------
    tensor : Tensor, any number dtype
    indices : Tensor, int32 or int64, shape (..., depth)
    updates : Tensor, shape ``indices.shape[:-1] + tensor.shape[depth:]``

    Returns
    -------
    Tensor, of the shape of `tensor`

    Raises
    ------
    OutOfRangeError
        If an index is out of range.

    Notes
    -----
    Added in the order of the indices. The gradient is g to `tensor` and ``gather_nd(g, indices)``
    to `updates`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.tensor_scatter_nd_add([1, 1, 1], [[0], [2], [0]], [5, 6, 7]).numpy().tolist()
    [13, 1, 7]
    """
    return apply("tensor_scatter_nd_add", tensor, indices, updates, name=name)


@gradient("tensor_scatter_nd_add", saves=(1,))
def _(g, y, tensor, indices, updates):
    return g, None, lambda: gather_nd(g, indices)


def tensor_scatter_nd_sub(tensor: TensorLike, indices: TensorLike, updates: TensorLike,
                          name: str | None = None) -> Tensor:
    """`tensor` with `updates` subtracted: ``y[tuple(indices[j])] -= updates[j]``.

    Arguments and notes as for `tensor_scatter_nd_add`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.tensor_scatter_nd_sub([9, 9], [[0], [0]], [5, 1]).numpy().tolist()
    [3, 9]
    """
    return apply("tensor_scatter_nd_sub", tensor, indices, updates, name=name)


@gradient("tensor_scatter_nd_sub", saves=(1,))
def _(g, y, tensor, indices, updates):
    return g, None, lambda: -gather_nd(g, indices)


def tensor_scatter_nd_update(tensor: TensorLike, indices: TensorLike, updates: TensorLike,
                             name: str | None = None) -> Tensor:
    """`tensor` with `updates` in place: ``y[tuple(indices[j])] = updates[j]``.

    Arguments as for `tensor_scatter_nd_add`; any dtype. Of updates to the same place the last one
    wins, and only that gets a gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> df.tensor_scatter_nd_update([1, 2, 3], [[1], [-1]], [7, 8]).numpy().tolist()
    [1, 7, 8]
    """
    return apply("tensor_scatter_nd_update", tensor, indices, updates, name=name)


@gradient("tensor_scatter_nd_update", saves=(1,))
def _(g, y, tensor, indices, updates):
    kept, written = apply("scatter_update_grad", g, indices)
    return kept, None, written


@gradient("scatter_update_grad", saves=(1,))
def _(gg, y, g, indices):
    return tensor_scatter_nd_update(gg[0], indices, gg[1]), None


def tensor_scatter_nd_min(tensor: TensorLike, indices: TensorLike, updates: TensorLike,
                          name: str | None = None) -> Tensor:
    """`tensor` where `updates` are not smaller: ``y[i] = min(y[i], updates[j])``.

    `indices` as for `tensor_scatter_nd_add`; a NaN stays. If several operands are equal to the
    result at a place, each of them gets the gradient divided by their number.

    Examples
    --------
    >>> import dualflow as df
    >>> df.tensor_scatter_nd_min([5, 5], [[0], [0]], [7, 2]).numpy().tolist()
    [2, 5]
    """
    return apply("tensor_scatter_nd_min", tensor, indices, updates, name=name)


@gradient("tensor_scatter_nd_min", saves="both")
def _(g, y, tensor, indices, updates):
    return _share(g, y, tensor, indices, updates)


def tensor_scatter_nd_max(tensor: TensorLike, indices: TensorLike, updates: TensorLike,
                          name: str | None = None) -> Tensor:
    """`tensor` where `updates` are not larger: ``y[i] = max(y[i], updates[j])``.

    `indices` and gradient as for `tensor_scatter_nd_min`.

    Examples
    --------
    >>> import dualflow as df
    >>> df.tensor_scatter_nd_max([5, 5], [[0], [0]], [7, 2]).numpy().tolist()
    [7, 5]
    """
    return apply("tensor_scatter_nd_max", tensor, indices, updates, name=name)


@gradient("tensor_scatter_nd_max", saves="both")
def _(g, y, tensor, indices, updates):
    return _share(g, y, tensor, indices, updates)


def _share(g, y, tensor, indices, updates):
    """The gradient of an extreme: g, shared equally by the operands that equal the result."""
    held, held_by = y == tensor, gather_nd(y, indices) == updates
    share = g / (held + scatter_nd(indices, cast(held_by, y.dtype), static_shape(y)))
    return where(held, share, 0), None, lambda: where(held_by, gather_nd(share, indices), 0)


# What `where` with one argument applies.
no_gradient("where_indices", why="integer result")


def boolean_mask(tensor: TensorLike, mask: TensorLike, axis: int | None = None,
                 name: str | None = None) -> Tensor:
    """The slices of `tensor` where `mask` is true.

    Parameters
    ----------
    tensor : Tensor, any dtype
    mask : Tensor, bool, at least 1 dimension
        Its shape is that of `tensor` from `axis` on.
    axis : int, optional
        The dimension of `tensor` with which `mask` begins; default 0.

    Returns
    -------
    Tensor, of shape ``tensor.shape[:axis] + (n_true,) + tensor.shape[axis + mask.ndim:]``

    Raises
    ------
    ShapeError
        If the mask is a scalar or does not fit.

    Notes
    -----
    The gradient goes to the slices taken, zeros to the others.

    Examples
    --------
    >>> import dualflow as df
    >>> df.boolean_mask([[1, 2], [3, 4], [5, 6]], [True, False, True]).numpy().tolist()
    [[1, 2], [5, 6]]
    """
    tensor, mask = _tensor(tensor, "boolean_mask"), _tensor(mask, "boolean_mask")
    at = integer(axis or 0, "boolean_mask: axis")
    if at < 0:
        at += tensor.ndim
    if mask.ndim == 0 or at < 0 or not same_shape(mask.shape, tensor.shape[at:at + mask.ndim]):
        raise ShapeError(f"boolean_mask: mask has shape {mask.shape}, want that of the tensor, "
                         f"{tensor.shape}, from axis {axis or 0} on")
    if not mask.dtype.is_bool:
        raise DTypeError(f"boolean_mask: mask is {mask.dtype}, want bool")
    return _gather_nd(tensor, where(mask), at, 0, name)
