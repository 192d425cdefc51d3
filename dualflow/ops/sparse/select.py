"""Functions that select, reorder or move the elements of sparse tensors."""

from __future__ import annotations

from dualflow._core import Dim, as_tensor
from dualflow.dtypes import int64
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.ops.array.creation import fill
from dualflow.ops.array.join import concat, stack
from dualflow.ops.array.shape import ints
from dualflow.ops.elementwise.arithmetic import add, multiply, subtract
from dualflow.ops.elementwise.compare import greater_equal, less
from dualflow.ops.elementwise.division import floordiv, mod
from dualflow.ops.elementwise.limits import maximum, minimum
from dualflow.ops.indexing.gather import boolean_mask, gather
from dualflow.ops.reduction.reduce import reduce_all
from dualflow.ops.sorting.sort import argsort
from dualflow.ops.sparse.convert import sparse
from dualflow.ops.sparse.sparse_tensor import SparseTensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["expand_dims", "reorder", "reset_shape", "reshape", "retain", "slice", "transpose"]


def positions(indices: Any, sizes: Sequence[Any], axes: Sequence[int]) -> Any:
    """Return the number of each element in the order of rows, in a tensor of the dimensions `axes`
    only."""
    at = as_tensor(0, int64) if not axes else indices[:, axes[0]]
    for d in axes[1:]:
        at = add(multiply(at, as_tensor(sizes[d], int64)), indices[:, d])
    return at if axes else multiply(indices[:, 0], at)


def reorder(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """Return a sparse tensor with its elements in the order of rows.

    Parameters
    ----------
    sp_input : SparseTensor

    Returns
    -------
    SparseTensor

    Examples
    --------
    >>> import dualflow as df
    >>> df.sparse.reorder(df.SparseTensor([[1, 0], [0, 1]], [1, 2], [2, 2])).values.tolist()
    [2, 1]
    """
    x = sparse(sp_input, "reorder")
    order = argsort(positions(x.indices, x.sizes, range(x.ndim)), stable=True)
    return SparseTensor._made(gather(x.indices, order), gather(x.values, order), x._dims)


def retain(sp_input: SparseTensor, to_retain: TensorLike) -> SparseTensor:
    """Return a sparse tensor with some of the elements.

    Parameters
    ----------
    sp_input : SparseTensor
    to_retain : bool Tensor, shape (n,)
        True for each element that is retained.

    Returns
    -------
    SparseTensor

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.SparseTensor([[0], [2]], [1, 2], [3])
    >>> df.sparse.retain(x, [False, True]).indices.tolist()
    [[2]]
    """
    x = sparse(sp_input, "retain")
    mask = as_tensor(to_retain)
    return SparseTensor._made(boolean_mask(x.indices, mask), boolean_mask(x.values, mask), x._dims)


def slice(sp_input: SparseTensor, start: TensorLike, size: TensorLike,
          name: str | None = None) -> SparseTensor:
    """Return a block of a sparse tensor.

    Parameters
    ----------
    sp_input : SparseTensor
    start, size : ints
        The first position and the size, per dimension; the block ends at the end of the tensor.

    Returns
    -------
    SparseTensor

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.SparseTensor([[0, 0], [1, 2]], [1, 2], [2, 3])
    >>> df.sparse.to_dense(df.sparse.slice(x, [1, 1], [1, 5])).tolist()
    [[0, 2]]
    """
    x = sparse(sp_input, "slice")
    first, sizes = ints(start, "sparse.slice: start"), ints(size, "sparse.slice: size")
    if not len(first) == len(sizes) == x.ndim:
        raise ShapeError(f"sparse.slice: start {first} and size {sizes} of {x.ndim} dimensions")
    wanted = [_larger(_smaller(b + s, n) - b, 0)
              for b, s, n in zip(first, sizes, x.sizes, strict=True)]
    low = as_tensor(list(first), int64)
    high = as_tensor([b + n for b, n in zip(first, wanted, strict=True)], int64)
    inside = reduce_all(greater_equal(x.indices, low) & less(x.indices, high), 1)
    kept = retain(x, inside)
    return SparseTensor._made(subtract(kept.indices, low), kept.values, tuple(wanted))


def transpose(sp_input: SparseTensor, perm: Sequence[int] | None = None,
              name: str | None = None) -> SparseTensor:
    """Return a sparse tensor with permuted dimensions, in the order of rows.

    Parameters
    ----------
    sp_input : SparseTensor
    perm : ints, optional
        By default, the dimensions are reversed.

    Returns
    -------
    SparseTensor

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.SparseTensor([[0, 2], [1, 0]], [1, 2], [2, 3])
    >>> df.sparse.transpose(x).indices.tolist()
    [[0, 1], [2, 0]]
    """
    x = sparse(sp_input, "transpose")
    axes = tuple(reversed(range(x.ndim))) if perm is None else ints(perm, "sparse.transpose: perm")
    if sorted([a % x.ndim for a in axes]) != list(range(x.ndim)):
        raise InvalidArgumentError(f"sparse.transpose: perm is {axes}, expected a permutation of "
                                   f"{x.ndim} dimensions")
    return reorder(SparseTensor._made(gather(x.indices, list(axes), axis=1), x.values,
                                      tuple([x.sizes[a] for a in axes])))


def reshape(sp_input: SparseTensor, shape: TensorLike, name: str | None = None) -> SparseTensor:
    """Return a sparse tensor with the same elements in another shape.

    Parameters
    ----------
    sp_input : SparseTensor
    shape : ints
        One may be -1, which is computed from the others.

    Returns
    -------
    SparseTensor

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.SparseTensor([[0, 2], [1, 0]], [1, 2], [2, 3])
    >>> df.sparse.reshape(x, [-1]).indices.tolist()
    [[2], [3]]
    """
    x = sparse(sp_input, "reshape")
    sizes, total = list(ints(shape, "sparse.reshape: shape")), product(x.sizes)
    if -1 in sizes:
        k = sizes.index(-1)
        rest = product([n for i, n in enumerate(sizes) if i != k])
        sizes[k] = total // _larger(rest, 1)
    if differ(product(sizes), total):
        raise ShapeError(f"sparse.reshape: shape {tuple(x.sizes)} to {tuple(sizes)}")
    at = positions(x.indices, x.sizes, range(x.ndim))
    columns: list[Any] = []
    for n in reversed(sizes):
        columns.insert(0, mod(at, as_tensor(_larger(n, 1), int64)))
        at = floordiv(at, as_tensor(_larger(n, 1), int64))
    return SparseTensor._made(stack(columns, 1), x.values, tuple(sizes))


def differ(n: Any, m: Any) -> bool:
    """Return True if two sizes are known to differ."""
    return _is_known(n) and _is_known(m) and bool(n != m)


def _is_known(n: Any) -> bool:
    return type(n) is int or (type(n) is Dim and not n.data_dependent
                              and not getattr(n.graph, "for_any_size", False))


def _larger(n: Any, m: int) -> Any:
    """Return the larger of two sizes, as a tensor if it depends on data."""
    return max(n, m) if _is_known(n) else maximum(as_tensor(n, int64), as_tensor(m, int64))


def _smaller(n: Any, m: Any) -> Any:
    """Return the smaller of two sizes, as a tensor if it depends on data."""
    if _is_known(n) and _is_known(m):
        return min(n, m)
    return minimum(as_tensor(n, int64), as_tensor(m, int64))


def product(sizes: Sequence[Any]) -> Any:
    """Return the product of sizes."""
    made = 1
    for n in sizes:
        made = made * n
    return made


def expand_dims(sp_input: SparseTensor, axis: int | None = None,
                name: str | None = None) -> SparseTensor:
    """Return a sparse tensor with a new dimension of size 1.

    Parameters
    ----------
    sp_input : SparseTensor
    axis : int, default -1

    Returns
    -------
    SparseTensor

    Examples
    --------
    >>> import dualflow as df
    >>> df.sparse.expand_dims(df.SparseTensor([[1]], [5], [3]), 0).indices.tolist()
    [[0, 1]]
    """
    x = sparse(sp_input, "expand_dims")
    given = -1 if axis is None else axis
    if not -x.ndim - 1 <= given <= x.ndim:
        raise InvalidArgumentError(f"sparse.expand_dims: axis {given} of {x.ndim} dimensions")
    at, sizes = given % (x.ndim + 1), list(x.sizes)
    zero = fill([x.indices.shape[0], 1], as_tensor(0, int64))
    made = concat([x.indices[:, :at], zero, x.indices[:, at:]], 1)
    return SparseTensor._made(made, x.values, tuple([*sizes[:at], 1, *sizes[at:]]))


def reset_shape(sp_input: SparseTensor, new_shape: TensorLike | None = None) -> SparseTensor:
    """Return a sparse tensor with the same elements in a larger shape.

    Parameters
    ----------
    sp_input : SparseTensor
    new_shape : ints, optional
        At least the present size in each dimension; by default, the smallest shape that holds the
        elements, which must be known.

    Returns
    -------
    SparseTensor

    Examples
    --------
    >>> import dualflow as df
    >>> df.sparse.reset_shape(df.SparseTensor([[1]], [5], [3])).shape.as_list()
    [2]
    """
    x = sparse(sp_input, "reset_shape")
    if new_shape is None:
        rows: Any = x.indices.numpy()
        sizes = tuple([int(n) + 1 for n in rows.max(0)]) if len(rows) else (0,) * x.ndim
    else:
        sizes = ints(new_shape, "sparse.reset_shape: new_shape")
        if len(sizes) != x.ndim or any([n < m for n, m in zip(sizes, x.sizes, strict=True)]):
            raise InvalidArgumentError(f"sparse.reset_shape: new_shape is {sizes}, expected at "
                                       f"least {tuple(x.sizes)}")
    return SparseTensor._made(x.indices, x.values, sizes)
