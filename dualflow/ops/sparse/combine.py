"""Sums and reductions of sparse tensors. Gradients are those of the dense ops that they
are composed of."""

from __future__ import annotations

from dualflow._core import Tensor, as_tensor
from dualflow.dtypes import int64
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError
from dualflow.ops.array import join
from dualflow.ops.array.shape import ints, reshape
from dualflow.ops.elementwise.arithmetic import add as add_dense, subtract
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import greater_equal, not_equal
from dualflow.ops.elementwise.division import divide
from dualflow.ops.elementwise.exponential import exp
from dualflow.ops.indexing.gather import boolean_mask, gather, tensor_scatter_nd_add
from dualflow.ops.indexing.segment import unsorted_segment_sum
from dualflow.ops.indexing.segment_reductions import unsorted_segment_max
from dualflow.ops.reduction.cumulative import cumsum
from dualflow.ops.reduction.reduce import reduce_max as max_dense, reduce_sum as sum_dense
from dualflow.ops.sorting.sort import argsort
from dualflow.ops.sparse.convert import from_dense, sparse
from dualflow.ops.sparse.select import differ, positions, product, reorder, retain
from dualflow.ops.sparse.sparse_tensor import SparseTensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dualflow.ops.types import Axis

__all__ = ["add", "concat", "reduce_max", "reduce_sum", "softmax"]


def add(a: Any, b: Any, threshold: float = 0) -> Any:
    """Return the sum of two sparse tensors, or of a sparse and a dense tensor.

    Parameters
    ----------
    a, b : SparseTensor or Tensor
        Of equal shapes; at least one is sparse.
    threshold : float, default 0
        Elements of a sparse sum with a smaller absolute value are left out.

    Returns
    -------
    SparseTensor, in the order of rows, or Tensor if `a` or `b` is dense

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.SparseTensor([[0], [2]], [1, 2], [3])
    >>> df.sparse.add(x, df.SparseTensor([[2]], [5], [3])).values.tolist()
    [1, 7]
    >>> df.sparse.add(x, [10, 10, 10]).tolist()
    [11, 10, 12]
    """
    if not isinstance(a, SparseTensor):
        a, b = sparse(b, "add"), a
    if not isinstance(b, SparseTensor):
        dense = as_tensor(b, a.dtype)
        return tensor_scatter_nd_add(dense, a.indices, a.values)
    if len(a.sizes) != len(b.sizes) or any([differ(n, m) for n, m in zip(a.sizes, b.sizes,
                                                                        strict=True)]):
        raise ShapeError(f"sparse.add: shapes {tuple(a.sizes)} and {tuple(b.sizes)}, expected "
                         "equal shapes")
    if a.dtype is not b.dtype:
        raise DTypeError(f"sparse.add: {a.dtype} and {b.dtype}, expected one dtype")
    both = _merged(SparseTensor._made(join.concat([a.indices, b.indices], 0),
                                      join.concat([a.values, b.values], 0), a._dims))
    if not threshold:
        return both
    size: Any = abs(both.values)
    return retain(both, greater_equal(size, as_tensor(threshold, size.dtype)))


def _merged(x: SparseTensor) -> SparseTensor:
    """Return a sparse tensor in the order of rows with the sums of the elements of equal
    positions, which are added in their present order."""
    at = positions(x.indices, x.sizes, range(x.ndim))
    order = argsort(at, stable=True)
    at = gather(at, order)
    before = join.concat([as_tensor([-1], int64), at[:-1]], 0)[:at.shape[0]]
    first = not_equal(at, before)
    number = subtract(cumsum(cast(first, int64)), as_tensor(1, int64))
    indices = boolean_mask(gather(x.indices, order), first)
    values = unsorted_segment_sum(gather(x.values, order), number, indices.shape[0])
    return SparseTensor._made(indices, values, x._dims)


def concat(axis: int, sp_inputs: Sequence[SparseTensor], expand_nonconcat_dims: bool = False,
           name: str | None = None) -> SparseTensor:
    """Join sparse tensors along an axis.

    Parameters
    ----------
    axis : int
    sp_inputs : list of SparseTensor
    expand_nonconcat_dims : bool, default False
        If True, the other sizes may differ; the largest counts.

    Returns
    -------
    SparseTensor
        In the order of rows.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.SparseTensor([[0, 1]], [5], [1, 2])
    >>> df.sparse.to_dense(df.sparse.concat(1, [x, x])).tolist()
    [[0, 5, 0, 5]]
    """
    xs = [sparse(x, "concat") for x in sp_inputs]
    if not xs:
        raise InvalidArgumentError("sparse.concat: no tensors")
    n = xs[0].ndim
    if not -n <= axis < n or any([x.ndim != n for x in xs]):
        raise ShapeError(f"sparse.concat: axis {axis} of tensors with {[x.ndim for x in xs]} "
                         "dimensions")
    axis %= n
    sizes = list(xs[0].sizes)
    for x in xs[1:]:
        for d, size in enumerate(x.sizes):
            if d == axis or not differ(size, sizes[d]):
                continue
            if not expand_nonconcat_dims:
                raise ShapeError(f"sparse.concat: shapes {[tuple(x.sizes) for x in xs]} differ in "
                                 f"dimension {d}")
            sizes[d] = max(sizes[d], size)
    offset: Any = 0
    indices = []
    for x in xs:
        shift = as_tensor([offset if d == axis else 0 for d in range(n)], int64)
        indices.append(add_dense(x.indices, shift))
        offset = offset + x.sizes[axis]
    sizes[axis] = offset
    return reorder(SparseTensor._made(join.concat(indices, 0),
                                      join.concat([x.values for x in xs], 0), tuple(sizes)))


def reduce_sum(sp_input: SparseTensor, axis: Axis = None, keepdims: bool | None = None,
               output_is_sparse: bool = False, name: str | None = None) -> Any:
    """Return sums of a sparse tensor along axes.

    Parameters
    ----------
    sp_input : SparseTensor
    axis : int or ints, optional
        All axes by default.
    keepdims : bool, default False
    output_is_sparse : bool, default False

    Returns
    -------
    Tensor, or SparseTensor if `output_is_sparse`

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.SparseTensor([[0, 0], [0, 2], [1, 1]], [1, 2, 3], [2, 3])
    >>> df.sparse.reduce_sum(x).item(), df.sparse.reduce_sum(x, 1).tolist()
    (6, [3, 3])
    """
    made = _reduced(sparse(sp_input, "reduce_sum"), axis, keepdims, unsorted_segment_sum, sum_dense)
    return from_dense(made) if output_is_sparse else made


def reduce_max(sp_input: SparseTensor, axis: Axis = None, keepdims: bool | None = None,
               output_is_sparse: bool = False, name: str | None = None) -> Any:
    """Return the largest stored elements of a sparse tensor along axes; elements that are not
    stored do not count.

    Parameters
    ----------
    sp_input : SparseTensor
    axis : int or ints, optional
        All axes by default.
    keepdims : bool, default False
    output_is_sparse : bool, default False

    Returns
    -------
    Tensor, or SparseTensor if `output_is_sparse`
        Without an element, the smallest number of the dtype.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.SparseTensor([[0, 0], [0, 2], [1, 1]], [-1, -2, 3], [2, 3])
    >>> df.sparse.reduce_max(x, 1).tolist()
    [-1, 3]
    """
    made = _reduced(sparse(sp_input, "reduce_max"), axis, keepdims, unsorted_segment_max, max_dense)
    return from_dense(made) if output_is_sparse else made


def _reduced(x: SparseTensor, axis: Axis, keepdims: bool | None, by_segment: Callable[..., Any],
             of_all: Callable[..., Any]) -> Tensor:
    given = range(x.ndim) if axis is None else ints(axis, "sparse: axis")
    if any([not -x.ndim <= a < x.ndim for a in given]):
        raise InvalidArgumentError(f"sparse: axis {axis} of {x.ndim} dimensions")
    axes = {a % x.ndim for a in given}
    kept = [d for d in range(x.ndim) if d not in axes]
    shape = [1 if d in axes else n for d, n in enumerate(x.sizes) if keepdims or d not in axes]
    if not kept:
        made: Tensor = reshape(of_all(x.values), shape)
        return made
    sizes = product([x.sizes[d] for d in kept])
    found: Tensor = by_segment(x.values, positions(x.indices, x.sizes, kept), sizes)
    return reshape(found, shape)


def softmax(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """Return the softmax of the stored elements along the last dimension: the others count as
    minus infinity.

    Parameters
    ----------
    sp_input : SparseTensor

    Returns
    -------
    SparseTensor

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.SparseTensor([[0, 0], [0, 2], [1, 1]], [1., 1., 5.], [2, 3])
    >>> df.sparse.softmax(x).values.tolist()
    [0.5, 0.5, 1.0]
    """
    x = sparse(sp_input, "softmax")
    rows = positions(x.indices, x.sizes, range(x.ndim - 1))
    n = product(x.sizes[:-1])
    largest = gather(unsorted_segment_max(x.values, rows, n), rows)
    e = exp(subtract(x.values, largest))
    return x.with_values(divide(e, gather(unsorted_segment_sum(e, rows, n), rows)))
