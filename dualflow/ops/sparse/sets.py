"""Set operations: each row of the last dimension is a set of numbers. The results are sparse
tensors whose rows are sorted.

A pair (row, value) is one int64 key: the row times the number of values, plus the rank of the value
among all values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dualflow._core import as_tensor
from dualflow.dtypes import int32, int64
from dualflow.errors import DTypeError, ShapeError
from dualflow.ops.array.creation import range as numbers
from dualflow.ops.array.join import concat, stack
from dualflow.ops.array.shape import reshape, size as size_of
from dualflow.ops.array.slicing import repeat
from dualflow.ops.elementwise.bitwise import logical_not
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import equal
from dualflow.ops.indexing.gather import boolean_mask, gather, scatter_nd
from dualflow.ops.reduction.reduce import reduce_max
from dualflow.ops.sorting.sort import searchsorted, sort, unique
from dualflow.ops.sparse.sparse_tensor import SparseTensor

if TYPE_CHECKING:
    from dualflow._core import Tensor

__all__ = ["difference", "intersection", "size", "union"]


def union(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """Return the distinct elements of each row of `a` or `b`.

    Parameters
    ----------
    a, b : Tensor or SparseTensor, of one dtype, shapes (..., n) and (..., m)
    validate_indices : ignored

    Returns
    -------
    SparseTensor
        Shape (..., k), where k is the size of the largest set; each row is sorted.

    Raises
    ------
    ShapeError
        If the shapes differ before the last dimension.
    DTypeError
        If the dtypes differ.

    Examples
    --------
    >>> import dualflow as df
    >>> df.sparse.to_dense(df.sets.union([[3, 1, 1], [5, 5, 5]], [[2], [5]])).tolist()
    [[1, 2, 3], [5, 0, 0]]
    """
    pairs = Pairs(a, b, "union")
    return pairs.sets(distinct(concat([pairs.a, pairs.b], 0)))


def intersection(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """Return the distinct elements of each row of `a` that the row of `b` contains.

    Parameters
    ----------
    a, b : Tensor or SparseTensor, of one dtype, shapes (..., n) and (..., m)
    validate_indices : ignored

    Returns
    -------
    SparseTensor
        Shape (..., k), where k is the size of the largest set; each row is sorted.

    Raises
    ------
    ShapeError
        If the shapes differ before the last dimension.
    DTypeError
        If the dtypes differ.

    Examples
    --------
    >>> import dualflow as df
    >>> df.sparse.to_dense(df.sets.intersection([[3, 1, 2]], [[2, 4, 3]])).tolist()
    [[2, 3]]
    """
    pairs = Pairs(a, b, "intersection")
    keys = distinct(pairs.a)
    return pairs.sets(boolean_mask(keys, contained(keys, pairs.b)))


def difference(a: Any, b: Any, aminusb: bool = True, validate_indices: bool = True) -> SparseTensor:
    """Return the distinct elements of each row of `a` that the row of `b` does not contain.

    Parameters
    ----------
    a, b : Tensor or SparseTensor, of one dtype, shapes (..., n) and (..., m)
    aminusb : bool, default True
        If False, the elements of `b` that `a` does not contain.
    validate_indices : ignored

    Returns
    -------
    SparseTensor
        Shape (..., k), where k is the size of the largest set; each row is sorted.

    Raises
    ------
    ShapeError
        If the shapes differ before the last dimension.
    DTypeError
        If the dtypes differ.

    Examples
    --------
    >>> import dualflow as df
    >>> df.sparse.to_dense(df.sets.difference([[3, 1, 2]], [[2, 4, 3]])).tolist()
    [[1]]
    """
    pairs = Pairs(a, b, "difference")
    first, other = (pairs.a, pairs.b) if aminusb else (pairs.b, pairs.a)
    keys = distinct(first)
    return pairs.sets(boolean_mask(keys, logical_not(contained(keys, other))))


def size(a: SparseTensor, validate_indices: bool = True) -> Tensor:
    """Return the number of distinct elements of each row.

    Parameters
    ----------
    a : SparseTensor, shape (..., n)
    validate_indices : ignored

    Returns
    -------
    Tensor, int32, shape (...)

    Examples
    --------
    >>> import dualflow as df
    >>> df.sets.size(df.sparse.from_dense([[1, 2, 2], [0, 4, 0]])).tolist()
    [2, 1]
    """
    pairs = Pairs(a, a, "size")
    rows = distinct(pairs.a) // pairs.n
    counts = scatter_nd(reshape(rows, [-1, 1]), cast(rows * 0 + 1, int32), [pairs.n_rows])
    return reshape(counts, pairs.leading)


class Pairs:
    """The keys of two operands.

    Attributes
    ----------
    a, b : Tensor, int64
        A key for each element.
    n : Tensor, int64
        The number of values, at least 1.
    leading : tuple of int
        The shape of the operands without the last dimension.
    """

    def __init__(self, a: Any, b: Any, caller: str) -> None:
        rows, values = zip(*[parts(x, caller) for x in (a, b)], strict=True)
        self.leading: Any = leading(a)
        if self.leading != leading(b):
            raise ShapeError(f"{caller}: a and b have the shapes {tuple(shape_of(a))} and "
                             f"{tuple(shape_of(b))}, expected equal sizes before the last "
                             "dimension")
        if values[0].dtype is not values[1].dtype:
            raise DTypeError(f"{caller}: a is {values[0].dtype} and b {values[1].dtype}, expected "
                             "one dtype")
        self.n_rows = 1
        for n in self.leading:
            self.n_rows *= n
        self.values: Tensor = sort(concat(values, 0))
        self.n: Tensor = cast(size_of(self.values), int64)
        self.a, self.b = [row * self.n + cast(searchsorted(self.values, x), int64)
                          for row, x in zip(rows, values, strict=True)]

    def sets(self, keys: Tensor) -> SparseTensor:
        """Return the sets of sorted and distinct keys."""
        rows = keys // self.n
        place = numbers(size_of(keys), dtype=int64) - cast(searchsorted(rows, rows), int64)
        found, rest = [place], rows
        for n in reversed(self.leading):
            found, rest = [rest % n, *found], rest // n
        longest = reduce_max(concat([place, [-1]], 0)) + 1
        return SparseTensor(stack(found, 1), gather(self.values, keys % self.n),
                            stack([*self.leading, longest], 0))


def parts(x: Any, caller: str) -> tuple[Tensor, Tensor]:
    """Return the row and the value of each element."""
    shape = shape_of(x)
    if not len(shape):
        raise ShapeError(f"{caller}: got a scalar, expected at least one dimension")
    if not isinstance(x, SparseTensor):
        tensor = as_tensor(x, None, caller)
        n_rows = 1
        for n in shape[:-1]:
            n_rows *= n
        return repeat(numbers(n_rows, dtype=int64), shape[-1]), reshape(tensor, [-1])
    rows = x.indices[:, 0] * 0
    for axis, n in enumerate(shape[:-1]):
        rows = rows * n + x.indices[:, axis]
    return rows, x.values


def shape_of(x: Any) -> Any:
    return x.shape if isinstance(x, SparseTensor) else as_tensor(x, None, "sets").shape


def leading(x: Any) -> Any:
    return tuple(shape_of(x)[:-1])


def distinct(keys: Tensor) -> Tensor:
    return unique(sort(keys))[0]


def contained(keys: Tensor, others: Tensor) -> Tensor:
    """Return, for each key, True if `others` contains it."""
    ordered = sort(others)
    padded = concat([ordered, [-1]], 0)         # keys are 0 or more
    return equal(gather(padded, searchsorted(ordered, keys)), keys)
