"""Sparse gradients of tables: rows of a tensor with their indices."""

from __future__ import annotations

import functools

from dualflow._core import Tensor, TensorBase, apply, as_tensor
from dualflow.dtypes import DType
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.gradient_registry import gradient
from dualflow.nest import Composite
from dualflow.ops.array.shape import expand_dims, product, reshape, same_shape
from dualflow.ops.elementwise.arithmetic import add, multiply, negative, subtract
from dualflow.ops.elementwise.division import divide

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["IndexedSlices", "merge_rows"]


class IndexedSlices(Composite):
    """A tensor that is zero except for rows: ``values[j]`` is added to row ``indices[j]``.

    `GradientTape.gradient` returns IndexedSlices for a source that is only read by `gather` along
    its first axis or by `nn.embedding_lookup`, so that no tensor of the size of the table is
    created. Optimizers update the variable bit-identically to the dense gradient.

    Parameters
    ----------
    values : Tensor, shape (n, ...)
    indices : Tensor, int32 or int64, shape (n,)
        Indices may be repeated; negative ones count from the end.
    dense_shape : sequence of int, optional
        Shape of the dense tensor, ``(rows, ...)``, required to convert to it.

    Attributes
    ----------
    values, indices : Tensor
    dense_shape, shape : tuple of int, or None
    dtype : DType

    Notes
    -----
    Ops, operators, `df.convert_to_tensor` and `numpy()` convert IndexedSlices to the dense tensor.
    The sum of two IndexedSlices and the product with a scalar are IndexedSlices, as are the results
    of `df.clip_by_norm` and `df.clip_by_global_norm`. `df.nest` flattens them, so traced functions
    accept and return them.

    Rows with equal indices are added in order, starting from zeros.

    Examples
    --------
    >>> import dualflow as df
    >>> table = df.Variable([[1., 2.], [3., 4.], [5., 6.]])
    >>> with df.GradientTape() as tape:
    ...     loss = df.reduce_sum(df.nn.embedding_lookup(table, [2, 0, 2]))
    >>> g = tape.gradient(loss, table)
    >>> g.indices.numpy().tolist(), g.values.shape
    ([2, 0, 2], (3, 2))
    >>> df.convert_to_tensor(g).numpy().tolist()
    [[1.0, 1.0], [0.0, 0.0], [2.0, 2.0]]
    """

    __slots__ = ("_dense_shape", "_indices", "_parts", "_values")
    _fields = ("values", "indices", "dense_shape")
    __array_priority__ = 1000           # NumPy arrays defer operators to this class

    def __init__(self, values: TensorLike | None, indices: TensorLike | None,
                 dense_shape: Sequence[int] | None = None) -> None:
        self._values: Any = values
        self._indices: Any = indices
        self._dense_shape = None if dense_shape is None else tuple(dense_shape)
        # The two summands, until `write_out` concatenates their rows.
        self._parts: tuple[IndexedSlices, IndexedSlices] | None = None

    @property
    def values(self) -> Any:
        self.write_out()
        return self._values

    @property
    def indices(self) -> Any:
        self.write_out()
        return self._indices

    @property
    def dense_shape(self) -> tuple[Any, ...] | None:
        return self._dense_shape

    @property
    def shape(self) -> tuple[Any, ...]:
        if self._dense_shape is None:
            raise InvalidArgumentError("IndexedSlices: dense_shape was not given, so the shape of "
                                       "the dense tensor is unknown")
        return self._dense_shape

    @property
    def dtype(self) -> DType:
        values = self._values if self._parts is None else leftmost(self)._values
        return values.dtype if isinstance(values, TensorBase) else as_tensor(values).dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def write_out(self) -> None:
        """Concatenate the rows of all summands at once."""
        if self._parts is None:
            return
        pieces = []
        pending = [self]
        while pending:
            piece = pending.pop()
            if piece._parts is None:
                pieces.append(piece)
            else:
                pending += reversed(piece._parts)
        indices = [piece._indices for piece in pieces]
        if any(i.dtype is not indices[0].dtype for i in indices):
            indices = [apply("cast", i, dtype="int64") for i in indices]
        self._values = apply("concat", *[piece._values for piece in pieces], axis=0)
        self._indices = apply("concat", *indices, axis=0)
        self._parts = None

    def __df_tensor__(self) -> Tensor:
        return apply("gather_grad", self.values, self.indices, shape=self.shape, axis=0,
                     batch_dims=0)

    def numpy(self) -> Any:
        """Return the dense tensor as an array."""
        return as_tensor(self).numpy()

    def tolist(self) -> Any:
        """Return the dense tensor as nested lists."""
        return as_tensor(self).tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        found = self.numpy()
        return found if dtype is None else found.astype(dtype)

    def __add__(self, other: Any) -> Any:
        return plus(self, other) if isinstance(other, IndexedSlices) else add(self, other)

    def __radd__(self, other: Any) -> Any:
        return add(other, self)

    def __sub__(self, other: Any) -> Any:
        return plus(self, -other) if isinstance(other, IndexedSlices) else subtract(self, other)

    def __rsub__(self, other: Any) -> Any:
        return subtract(other, self)

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(negative(self.values), self.indices, self.dense_shape)

    def __mul__(self, other: Any) -> Any:
        return self._scaled(multiply, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._scaled(divide, other)

    def _scaled(self, op: Any, factor: Any) -> Any:
        """Scale row by row if the factor is a scalar; otherwise convert to a dense tensor."""
        one = isinstance(factor, bool | int | float) or (
            not isinstance(factor, IndexedSlices) and as_tensor(factor).ndim == 0)
        if not one:
            return op(self, factor)
        return IndexedSlices(op(self.values, factor), self.indices, self.dense_shape)

    def __repr__(self) -> str:
        return (f"IndexedSlices(values={self.values!r}, indices={self.indices!r}, "
                f"dense_shape={self.dense_shape!r})")


def leftmost(slices: IndexedSlices) -> IndexedSlices:
    """Return the first summand of a nested sum."""
    while slices._parts is not None:
        slices = slices._parts[0]
    return slices


def rows_of(g: Any, indices: Any, shape: tuple[Any, ...]) -> IndexedSlices:
    """Return the gradient of ``gather(params, indices)`` as rows of `params`."""
    if indices.ndim == 1:
        return IndexedSlices(g, indices, shape)
    return IndexedSlices(reshape(g, (product(indices.shape), *shape[1:])),
                         reshape(indices, (-1,)), shape)


def plus(a: Any, b: Any) -> Any:
    """Return a + b, either of which may be IndexedSlices; if both are, so is the sum.

    Rows are added to a dense tensor one by one, in order. A chain of sums from left to right is
    therefore bit-identical wherever it becomes dense.
    """
    if not isinstance(b, IndexedSlices):
        return as_tensor(a) + b
    if not isinstance(a, IndexedSlices):
        return apply("tensor_scatter_nd_add", a, expand_dims(b.indices, -1), b.values)
    if a.dense_shape and b.dense_shape and not same_shape(a.dense_shape, b.dense_shape):
        raise ShapeError(f"IndexedSlices: dense shapes {a.dense_shape} and {b.dense_shape}, "
                         "expected the same to add them")
    made = IndexedSlices(None, None, a.dense_shape or b.dense_shape)
    made._parts = (a, b)
    return made


def add_up(parts: Sequence[Any]) -> Any:
    """Return the sum from left to right of tensors and IndexedSlices."""
    return functools.reduce(plus, parts)


def merged(slices: IndexedSlices) -> IndexedSlices:
    """Add rows with equal indices at the position of the first; the other rows become zeros."""
    return IndexedSlices(merge_rows(slices.values, slices.indices, slices.shape[0]),
                         slices.indices, slices.dense_shape)


def merge_rows(rows: TensorLike, indices: TensorLike, n: int, spread: bool = False,
               name: str | None = None) -> Tensor:
    """Add rows with equal indices at the position of the first; the other rows become zeros.

    Parameters
    ----------
    rows : Tensor, floating, shape (k, ...)
    indices : Tensor, int32 or int64, shape (k,)
        Between -n and n - 1.
    n : int
    spread : bool, default False
        Compute the transpose: copy the first row of each index to all rows with that index.

    Returns
    -------
    Tensor, like `rows`

    Raises
    ------
    OutOfRangeError
        If an index is out of range.

    Examples
    --------
    >>> from dualflow.ops.indexing.indexed_slices import merge_rows
    >>> merge_rows([[1.], [2.], [3.]], [1, 0, 1], 2).numpy().tolist()
    [[4.0], [2.0], [0.0]]
    """
    return apply("merge_rows", rows, indices, name=name, n=n, spread=spread)


@gradient("merge_rows", saves=(1,))
def _(g, y, rows, indices, n, spread):
    return merge_rows(g, indices, n, not spread), None
