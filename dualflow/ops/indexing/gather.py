"""Gathering and scattering by index, with gradients. Indices are int32 or int64; negative indices
count from the end. An index out of range raises `OutOfRangeError`, which names it."""

from __future__ import annotations

from dualflow._core import Tensor, TensorBase, apply, as_tensor
from dualflow._util.arguments import integer
from dualflow.errors import DTypeError, ShapeError
from dualflow.gradient_registry import gradient, no_gradient
from dualflow.ops.array.shape import ints, same_shape, static_shape
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import where
from dualflow.ops.indexing.indexed_slices import rows_of

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
    """Gather slices along `axis`: ``y[..., j, ...] = params[..., indices[j], ...]``.

    Parameters
    ----------
    params : Tensor, any dtype, at least 1 dimension
    indices : Tensor, int32 or int64, any shape
        Between ``-n`` and ``n - 1``, where n is the size of the axis.
    validate_indices : bool, optional
        Ignored: indices are always checked.
    axis : int, optional
        Default: `batch_dims`.
    batch_dims : int
        Number of leading dimensions that `params` and `indices` share; each slice along them is
        gathered with its own indices. A negative number counts from the end of `indices`.

    Returns
    -------
    Tensor, of shape ``params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1:]``

    Raises
    ------
    OutOfRangeError
        If an index is out of range; all are checked before any element is read.

    Notes
    -----
    The gradient of each slice is summed in the order of the indices. Along the first axis it is
    `IndexedSlices` if the dtype of `params` has at least 32 bits.

    Examples
    --------
    >>> import dualflow as df
    >>> df.gather([10, 11, 12, 13], [3, 0, -1]).numpy().tolist()
    [13, 10, 13]
    >>> df.gather([[1, 2], [3, 4]], [[1], [0]], batch_dims=1).numpy().tolist()
    [[2], [3]]
    """
    batch_dims = integer(batch_dims, "gather: batch_dims")
    if batch_dims < 0:
        indices = _tensor(indices, "gather")
        batch_dims += indices.ndim
    if axis is None:
        axis = batch_dims
    return apply("gather", params, indices, name=name, axis=axis, batch_dims=batch_dims)


@gradient("gather", saves=(1,))
def _(g, y, params, indices, axis, batch_dims):
    shape = static_shape(params)
    # Sums of 16-bit floats would depend on where they become dense, which rounds.
    if axis in (0, -len(shape)) and batch_dims == 0 and g.dtype.itemsize >= 4:
        return rows_of(g, indices, shape), None
    return gather_grad(g, indices, shape, axis, batch_dims), None


def gather_grad(g: TensorLike, indices: TensorLike, shape: Sequence[int], axis: int,
                batch_dims: int) -> Tensor:
    """Return the gradient of `gather`: zeros of `shape` with `g` added at `indices`."""
    return apply("gather_grad", g, indices, shape=shape, axis=axis, batch_dims=batch_dims)


@gradient("gather_grad", saves=(1,))
def _(gg, y, g, indices, shape, axis, batch_dims):
    return gather(gg, indices, axis=axis, batch_dims=batch_dims), None


def gather_nd(params: TensorLike, indices: TensorLike, batch_dims: int = 0,
              name: str | None = None) -> Tensor:
    """Gather slices by index tuples: ``y[j] = params[tuple(indices[j])]``.

    Parameters
    ----------
    params : Tensor, any dtype
    indices : Tensor, int32 or int64, shape (..., depth)
        The last dimension is an index into the first `depth` dimensions after the batch.
    batch_dims : int
        Number of leading dimensions that `params` and `indices` share.

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
    """Return zeros of `shape` with `updates` added: ``y[tuple(indices[j])] += updates[j]``.

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
    Updates with equal indices are added in the order of the indices, for any thread count. The
    gradient of `updates` is a `gather_nd`.

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
    """Return `tensor` with `updates` added: ``y[tuple(indices[j])] += updates[j]``.

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
    Updates are added in the order of the indices. The gradient of `tensor` is g, the gradient of
    `updates` is ``gather_nd(g, indices)``.

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
    """Return `tensor` with `updates` subtracted: ``y[tuple(indices[j])] -= updates[j]``.

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
    """Return `tensor` with elements replaced: ``y[tuple(indices[j])] = updates[j]``.

    Arguments as for `tensor_scatter_nd_add`; any dtype. Of updates with equal indices, the last is
    written and receives the gradient.

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
    """Return the minimum of `tensor` and `updates`: ``y[i] = min(y[i], updates[j])``.

    `indices` as for `tensor_scatter_nd_add`; NaN propagates. If several operands equal the result
    of an element, its gradient is divided equally among them.

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
    """Return the maximum of `tensor` and `updates`: ``y[i] = max(y[i], updates[j])``.

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
    """Return the gradient of an extremum: g, divided equally among operands equal to the result."""
    held, held_by = y == tensor, gather_nd(y, indices) == updates
    share = g / (held + scatter_nd(indices, cast(held_by, y.dtype), static_shape(y)))
    return where(held, share, 0), None, lambda: where(held_by, gather_nd(share, indices), 0)


# `where` with one argument applies where_indices.
no_gradient("where_indices", why="integer result")


def boolean_mask(tensor: TensorLike, mask: TensorLike, axis: int | None = None,
                 name: str | None = None) -> Tensor:
    """Return the slices of `tensor` where `mask` is true.

    Parameters
    ----------
    tensor : Tensor, any dtype
    mask : Tensor, bool, at least 1 dimension
        Its shape equals the shape of `tensor` from `axis` on.
    axis : int, optional
        The dimension of `tensor` that matches the first of `mask`; default 0.

    Returns
    -------
    Tensor, of shape ``tensor.shape[:axis] + (n_true,) + tensor.shape[axis + mask.ndim:]``

    Raises
    ------
    ShapeError
        If the mask is a scalar or its shape does not match.

    Notes
    -----
    The gradient reaches the selected slices; the others get zeros.

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
        raise ShapeError(f"boolean_mask: mask has shape {mask.shape}, expected the shape of the "
                         f"tensor, {tensor.shape}, from axis {axis or 0} on")
    if not mask.dtype.is_bool:
        raise DTypeError(f"boolean_mask: mask is {mask.dtype}, expected bool")
    return _gather_nd(tensor, where(mask), at, 0, name)
