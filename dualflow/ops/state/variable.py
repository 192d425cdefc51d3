"""Partial assignment of variables: ``v[key].assign(value)`` and the scatter methods."""

from __future__ import annotations

from dualflow._core import TensorBase, Variable, as_tensor, bind_methods, operand
from dualflow._util.arguments import REFUSED, shown
from dualflow.errors import DTypeError, ShapeError
from dualflow.ops.array.creation import range as numbers
from dualflow.ops.array.shape import broadcast_to, expand_dims, product, reshape, static_shape
from dualflow.ops.indexing.gather import (
    tensor_scatter_nd_add,
    tensor_scatter_nd_max,
    tensor_scatter_nd_min,
    tensor_scatter_nd_sub,
    tensor_scatter_nd_update,
)
from dualflow.ops.indexing.indexed_slices import IndexedSlices
from dualflow.ops.indexing.indexing import getitem, n_addressed
from dualflow.ops.indexing.scatter import tensor_scatter_nd_mul

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from dualflow.ops.types import TensorLike

__all__ = ["VariableMethods", "assign_slice"]

Scatter: TypeAlias = "Callable[[Any, Any, Any], Any]"


def assign_slice(v: Variable, key: Any, value: TensorLike) -> Variable:
    """Assign `value` to the elements that `key` selects; of repeated elements the last one counts.

    Only the dimensions that `key` indexes are enumerated, so that a row is written as a whole.
    """
    n = n_addressed(v, key)
    picked, rest = v.shape[:n], v.shape[n:]
    places = getitem(reshape(numbers(product(picked)), picked), key)
    x = _like(v, value, "assign")
    try:
        x = broadcast_to(x, (*static_shape(places), *rest))
    except REFUSED as error:
        raise ShapeError(f"assign: the value has shape {x.shape}, the part of the variable "
                         f"{(*places.shape, *rest)}, expected the same or one that broadcasts"
                         ) from error
    if places.ndim != 1:        # a one-dimensional size may depend on data, so skip the reshape
        count = product(places.shape)
        places, x = reshape(places, (count,)), reshape(x, (count, *rest))
    flat = tensor_scatter_nd_update(reshape(v, (product(picked), *rest)),
                                    expand_dims(places, 1), x)
    return v.assign(reshape(flat, v.shape))


def _like(v: Variable, value: TensorLike, op: str) -> TensorBase:
    """Convert a value to a tensor and check that it has the dtype of a variable."""
    x: TensorBase = operand(v, value, op)
    if x.dtype != v.dtype:
        raise DTypeError(f"{op}: the variable is {v.dtype} {v.shape}, the value {x.dtype} "
                         f"{x.shape}, expected the same dtype")
    return x


# --- rows and slices by index -------------------------------------------------------------------

def _scatter_rows(function: Scatter, v: Variable, sparse_delta: Any, op: str) -> Variable:
    if not isinstance(sparse_delta, IndexedSlices):
        raise DTypeError(f"{op}: sparse_delta is {shown(sparse_delta)}, expected IndexedSlices")
    indices = as_tensor(sparse_delta.indices, None, op)
    values = _like(v, sparse_delta.values, op)
    return v.assign(function(v, expand_dims(indices, -1),
                             broadcast_to(values, (*static_shape(indices), *v.shape[1:]))))


def _scatter_parts(function: Scatter, v: Variable, indices: TensorLike, updates: TensorLike,
                   op: str) -> Variable:
    return v.assign(function(v, indices, _like(v, updates, op)))


class VariableMethods:
    """Methods that write rows and slices of a variable."""

    def scatter_add(self: Any, sparse_delta: IndexedSlices, use_locking: bool = False,
                    name: str | None = None) -> Variable:
        """Add the rows of `IndexedSlices` and return the variable.

        Examples
        --------
        >>> import dualflow as df
        >>> v = df.Variable([1., 2., 3.])
        >>> v.scatter_add(df.IndexedSlices([10., 20., 30.], [0, 2, 2])).numpy().tolist()
        [11.0, 2.0, 53.0]
        """
        return _scatter_rows(tensor_scatter_nd_add, self, sparse_delta, "scatter_add")

    @property
    def constraint(self: Any) -> None:
        """None: the function that an optimizer applies to the variable after each update. Only
        Keras's variables have one."""

    def scatter_sub(self: Any, sparse_delta: IndexedSlices, use_locking: bool = False,
                    name: str | None = None) -> Variable:
        """Subtract the rows of `IndexedSlices` and return the variable."""
        return _scatter_rows(tensor_scatter_nd_sub, self, sparse_delta, "scatter_sub")

    def scatter_mul(self: Any, sparse_delta: IndexedSlices, use_locking: bool = False,
                    name: str | None = None) -> Variable:
        """Multiply by the rows of `IndexedSlices` and return the variable."""
        return _scatter_rows(tensor_scatter_nd_mul, self, sparse_delta, "scatter_mul")

    def scatter_max(self: Any, sparse_delta: IndexedSlices, use_locking: bool = False,
                    name: str | None = None) -> Variable:
        """Take the maximum with the rows of `IndexedSlices` and return the variable."""
        return _scatter_rows(tensor_scatter_nd_max, self, sparse_delta, "scatter_max")

    def scatter_min(self: Any, sparse_delta: IndexedSlices, use_locking: bool = False,
                    name: str | None = None) -> Variable:
        """Take the minimum with the rows of `IndexedSlices` and return the variable."""
        return _scatter_rows(tensor_scatter_nd_min, self, sparse_delta, "scatter_min")

    def scatter_update(self: Any, sparse_delta: IndexedSlices, use_locking: bool = False,
                       name: str | None = None) -> Variable:
        """Replace rows by the rows of `IndexedSlices`, for equal indices by the last, and return
        the variable."""
        return _scatter_rows(tensor_scatter_nd_update, self, sparse_delta, "scatter_update")

    def scatter_nd_add(self: Any, indices: TensorLike, updates: TensorLike,
                       name: str | None = None) -> Variable:
        """Add to elements or slices at indices, as `df.tensor_scatter_nd_add` does, and return the
        variable.

        Examples
        --------
        >>> import dualflow as df
        >>> v = df.Variable([[1., 2.], [3., 4.]])
        >>> v.scatter_nd_add([[0, 1], [1, 0]], [10., 20.]).numpy().tolist()
        [[1.0, 12.0], [23.0, 4.0]]
        """
        return _scatter_parts(tensor_scatter_nd_add, self, indices, updates, "scatter_nd_add")

    def scatter_nd_sub(self: Any, indices: TensorLike, updates: TensorLike,
                       name: str | None = None) -> Variable:
        """Subtract from elements or slices at indices and return the variable."""
        return _scatter_parts(tensor_scatter_nd_sub, self, indices, updates, "scatter_nd_sub")

    def scatter_nd_max(self: Any, indices: TensorLike, updates: TensorLike,
                       name: str | None = None) -> Variable:
        """Take the maximum with elements or slices at indices and return the variable."""
        return _scatter_parts(tensor_scatter_nd_max, self, indices, updates, "scatter_nd_max")

    def scatter_nd_min(self: Any, indices: TensorLike, updates: TensorLike,
                       name: str | None = None) -> Variable:
        """Take the minimum with elements or slices at indices and return the variable."""
        return _scatter_parts(tensor_scatter_nd_min, self, indices, updates, "scatter_nd_min")

    def scatter_nd_update(self: Any, indices: TensorLike, updates: TensorLike,
                          name: str | None = None) -> Variable:
        """Replace elements or slices at indices and return the variable."""
        return _scatter_parts(tensor_scatter_nd_update, self, indices, updates, "scatter_nd_update")


bind_methods(Variable, VariableMethods)
