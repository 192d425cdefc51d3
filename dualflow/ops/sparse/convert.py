"""Conversions between sparse and dense tensors."""

from __future__ import annotations

from dualflow import dtypes
from dualflow._core import Operand, Tensor, as_tensor
from dualflow._util.arguments import shown
from dualflow.dtypes import float32
from dualflow.errors import DTypeError
from dualflow.ops.array.creation import fill, ones, range
from dualflow.ops.array.join import stack
from dualflow.ops.array.shape import broadcast_to, static_shape
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import not_equal, where
from dualflow.ops.indexing.gather import gather_nd, scatter_nd, tensor_scatter_nd_update
from dualflow.ops.sparse.sparse_tensor import SparseTensor
from dualflow.ops.string_tensor import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dualflow.ops.types import DTypeLike, TensorLike

__all__ = ["eye", "from_dense", "map_values", "to_dense"]


def sparse(x: Any, caller: str) -> SparseTensor:
    """Return an argument that must be a sparse tensor."""
    if not isinstance(x, SparseTensor):
        raise DTypeError(f"sparse.{caller}: got {shown(x)}, expected a SparseTensor")
    return x


def from_dense(tensor: TensorLike, name: str | None = None) -> SparseTensor:
    """Return the elements of a tensor that are not zero as a sparse tensor.

    Parameters
    ----------
    tensor : Tensor

    Returns
    -------
    SparseTensor
        In the order of rows.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.sparse.from_dense([[0, 3], [4, 0]])
    >>> x.indices.tolist(), x.values.tolist()
    ([[0, 1], [1, 0]], [3, 4])
    """
    x = as_tensor(tensor, None, "sparse.from_dense")
    indices = where(not_equal(x, cast(0, x.dtype)))
    return SparseTensor._made(indices, gather_nd(x, indices), static_shape(x))


def to_dense(sp_input: SparseTensor, default_value: TensorLike | None = None,
             validate_indices: bool = True, name: str | None = None) -> Tensor:
    """Return a sparse tensor as a dense tensor.

    Parameters
    ----------
    sp_input : SparseTensor
    default_value : scalar, optional
        The other elements; by default 0, or "" for text.
    validate_indices : bool
        Accepted for compatibility with TensorFlow: positions outside of the shape always raise, and
        the values of equal positions are added (with a default value, the last one counts).

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.SparseTensor([[1]], [5], [3])
    >>> df.sparse.to_dense(x).tolist(), df.sparse.to_dense(x, -1).tolist()
    ([0, 5, 0], [-1, 5, -1])
    """
    x = sparse(sp_input, "to_dense")
    if isinstance(x.values, Operand):
        empty = text("" if default_value is None else default_value, "to_dense: default_value")
        return tensor_scatter_nd_update(broadcast_to(empty, x.sizes), x.indices, x.values, name)
    if default_value is None or (isinstance(default_value, int | float) and not default_value):
        return scatter_nd(x.indices, x.values, x.sizes, name=name)
    dense = fill(x.sizes, as_tensor(default_value, x.dtype))
    return tensor_scatter_nd_update(dense, x.indices, x.values, name=name)


def map_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> SparseTensor:
    """Return a sparse tensor with the values ``op(*args)``, where sparse tensors among the
    arguments stand for their values and have the same positions.

    Parameters
    ----------
    op : callable
    *args, **kwargs
        At least one is a SparseTensor.

    Returns
    -------
    SparseTensor

    Examples
    --------
    >>> import dualflow as df
    >>> df.sparse.map_values(df.square, df.SparseTensor([[1]], [5.], [3])).values.tolist()
    [25.0]
    """
    found = [x for x in (*args, *kwargs.values()) if isinstance(x, SparseTensor)]
    if not found:
        raise DTypeError("sparse.map_values: no argument is a SparseTensor")

    def values(x: Any) -> Any:
        return x.values if isinstance(x, SparseTensor) else x

    made = op(*[values(x) for x in args], **{key: values(x) for key, x in kwargs.items()})
    return found[0].with_values(made)


def eye(num_rows: int, num_columns: int | None = None, dtype: DTypeLike = float32,
        name: str | None = None) -> SparseTensor:
    """Return a sparse matrix with ones on the diagonal.

    Parameters
    ----------
    num_rows : int
    num_columns : int, optional
        `num_rows` by default.
    dtype : dtype, default float32

    Returns
    -------
    SparseTensor

    Examples
    --------
    >>> import dualflow as df
    >>> df.sparse.eye(2, 3).indices.tolist()
    [[0, 0], [1, 1]]
    """
    columns = num_rows if num_columns is None else num_columns
    n = min(num_rows, columns)
    at = range(n, dtype=dtypes.int64)
    return SparseTensor(stack([at, at], 1), ones([n], dtype), (num_rows, columns))
