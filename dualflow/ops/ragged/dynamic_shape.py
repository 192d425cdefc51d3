"""DynamicRaggedShape: the sizes of a ragged tensor as a value, and its row partitions."""

from __future__ import annotations

from dualflow._core import Operand, Tensor, as_tensor
from dualflow._util.arguments import shown
from dualflow.dtypes import int64
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError
from dualflow.ops.array.creation import fill, zeros
from dualflow.ops.array.shape import broadcast_to, ints, reshape, static_shape
from dualflow.ops.elementwise.arithmetic import multiply
from dualflow.ops.ragged.elementwise import on_flat_values
from dualflow.ops.ragged.partition import (
    check_splits,
    iota,
    is_known,
    largest,
    size_of,
    splits_of,
    splits_of_rows,
    vector,
)
from dualflow.ops.ragged.ragged_tensor import RaggedTensor, length, levels
from dualflow.ops.ragged.rows import convertible
from dualflow.ops.tensor_shape import TensorShape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["DynamicRaggedShape", "RowPartition"]


class RowPartition:
    """A partition of values into rows. Create it with a class method.

    Examples
    --------
    >>> import dualflow as df
    >>> rows = df.experimental.RowPartition.from_row_lengths([2, 0, 1])
    >>> rows.row_splits().tolist(), rows.nvals().item()
    ([0, 2, 2, 3], 3)
    """

    def __init__(self, row_splits: Any, uniform_row_length: Any = None) -> None:
        splits = vector(row_splits, "RowPartition: row_splits")
        check_splits(splits, None, "RowPartition: row_splits")
        self._rows: RaggedTensor = RaggedTensor._made(
            iota(size_of(splits[-1])), splits, uniform_row_length)

    @classmethod
    def from_row_splits(cls, row_splits: Any) -> RowPartition:
        """Return the rows that begin and end at the given values."""
        return cls(row_splits)

    @classmethod
    def from_row_lengths(cls, row_lengths: Any) -> RowPartition:
        """Return rows of the given lengths."""
        return cls(splits_of(vector(row_lengths, "RowPartition: row_lengths")))

    @classmethod
    def from_value_rowids(cls, value_rowids: Any, nrows: Any = None) -> RowPartition:
        """Return rows of the values with equal row numbers, which must not decrease."""
        rows = vector(value_rowids, "RowPartition: value_rowids")
        return cls(splits_of_rows(rows, size_of(largest(rows + 1) if nrows is None else nrows)))

    @classmethod
    def from_uniform_row_length(cls, uniform_row_length: Any, nrows: Any) -> RowPartition:
        """Return `nrows` rows of one length."""
        each, n = [ints(x, "RowPartition: a size")[0] for x in (uniform_row_length, nrows)]
        return cls(multiply(iota(n + 1), each), each)

    def row_splits(self) -> Tensor:
        """Return the positions at which rows begin and end."""
        splits: Tensor = self._rows.row_splits
        return splits

    def row_lengths(self) -> Any:
        """Return the length of each row."""
        return self._rows.row_lengths()

    def value_rowids(self) -> Tensor:
        """Return the row of each value."""
        return self._rows.value_rowids()

    def nrows(self) -> Tensor:
        """Return the number of rows."""
        return self._rows.nrows()

    def nvals(self) -> Tensor:
        """Return the number of values."""
        return as_tensor(length(self._rows.values), int64)

    @property
    def uniform_row_length(self) -> Any:
        """The length of all rows, or None if it is not declared."""
        return self._rows.uniform_row_length

    def __repr__(self) -> str:
        return f"RowPartition(row_splits={shown(self.row_splits())})"


class DynamicRaggedShape(Operand):
    """The shape of a ragged tensor with its row lengths, the result of ``df.shape(ragged)``.

    `df.reshape`, `broadcast_to`, `zeros`, `ones` and `fill` take it as a shape. It is a value of
    the function that computes it: traced functions neither take nor return it.

    Parameters
    ----------
    row_partitions : sequence of RowPartition
        Outermost first.
    inner_shape : ints
        The shape of the flat values.

    Attributes
    ----------
    row_partitions : tuple of RowPartition
    inner_shape : Tensor, int64
    num_row_partitions, rank : int
    static_shape : TensorShape

    Raises
    ------
    ShapeError
        If a partition has another number of rows than the outer one has values.

    Examples
    --------
    >>> import dualflow as df
    >>> shape = df.shape(df.ragged.constant([[1], [2, 3, 4], []]))
    >>> shape
    <DynamicRaggedShape lengths=[3, (1, 3, 0)] num_row_partitions=1>
    >>> df.broadcast_to([[1], [2], [3]], shape), shape[0].item(), shape.is_uniform(1)
    (<dualflow.RaggedTensor [[1], [2, 2, 2], []]>, 3, False)
    """

    dtype = int64

    def __init__(self, row_partitions: Sequence[RowPartition], inner_shape: Any, dtype: Any = None,
                 validate: bool = False, static_inner_shape: Any = None) -> None:
        self.row_partitions: tuple[RowPartition, ...] = tuple(row_partitions)
        self._inner: tuple[Any, ...] = ints(inner_shape, "DynamicRaggedShape: inner_shape")
        counts = [length(x._rows.values) for x in self.row_partitions]
        rows = [length(x._rows) for x in self.row_partitions[1:]] + list(self._inner[:1])
        for n, expected in zip(rows, counts, strict=False):
            if type(n) is int is type(expected) and n != expected:
                raise ShapeError(f"DynamicRaggedShape: {n} rows, expected {expected}, the number "
                                 "of values of the outer partition")

    @classmethod
    def from_tensor(cls, t: Any, dtype: Any = None) -> DynamicRaggedShape:
        """Return the shape of a tensor."""
        x = convertible(t)
        parts = [RowPartition(level.row_splits, level._uniform) for level in levels(x)]
        return cls(parts, static_shape(x.flat_values if parts else x))

    @classmethod
    def from_lengths(cls, lengths: Sequence[Any], num_row_partitions: int | None = None,
                     dtype: Any = None) -> DynamicRaggedShape:
        """Return a shape from an int for each uniform dimension, and a sequence of row lengths for
        each ragged one."""
        given = list(lengths)
        last = max([k for k, n in enumerate(given) if not isinstance(n, int)], default=0)
        last = last if num_row_partitions is None else num_row_partitions
        if not given or not isinstance(given[0], int) or last >= len(given):
            raise InvalidArgumentError(f"from_lengths: lengths are {shown(given)}, expected the "
                                       "number of rows first")
        n, parts = given[0], []
        for one in given[1:last + 1]:
            if not isinstance(one, int) and len(one) != n:
                raise ShapeError(f"from_lengths: {len(one)} row lengths, expected {n}")
            parts.append(RowPartition.from_uniform_row_length(one, n) if isinstance(one, int)
                         else RowPartition.from_row_lengths(one))
            n = n * one if isinstance(one, int) else sum(one)
        return cls(parts, [n, *given[last + 1:]])

    @property
    def inner_shape(self) -> Tensor:
        return as_tensor(list(self._inner), int64)

    @property
    def num_row_partitions(self) -> int:
        return len(self.row_partitions)

    @property
    def rank(self) -> int:
        return len(self.row_partitions) + len(self._inner)

    @property
    def static_shape(self) -> TensorShape:
        made = self._wrapped(fill(self._inner, 0))
        return made.shape if self.row_partitions else TensorShape(self._inner)

    def is_uniform(self, axis: int) -> bool:
        """Return True if all rows of a dimension have one length by declaration."""
        if not 0 <= axis < self.rank:
            raise InvalidArgumentError(f"is_uniform: axis {axis} of {self.rank} dimensions")
        return not 0 < axis <= self.num_row_partitions or (
            self.row_partitions[axis - 1].uniform_row_length is not None)

    def __getitem__(self, key: Any) -> Any:
        parts, n = self.row_partitions, self.num_row_partitions
        if isinstance(key, slice):
            start, stop, step = key.indices(self.rank)
            if step != 1 or 0 < start <= n:
                raise InvalidArgumentError(f"DynamicRaggedShape[{key}]: expected dimensions from "
                                           f"the first on, or after {n}, without a step")
            if start > 0 or not parts:
                return DynamicRaggedShape([], self._inner[max(start - n, 0):max(stop - n, 0)])
            if stop > n:
                return DynamicRaggedShape(parts, self._inner[:stop - n])
            rows = [length(x._rows) for x in parts]
            return DynamicRaggedShape(parts[:max(stop - 1, 0)], rows[stop - 1:stop])
        axis = key + self.rank if key < 0 else key
        if not self.is_uniform(axis):
            raise InvalidArgumentError(f"DynamicRaggedShape[{key}]: the dimension is ragged")
        size = length(parts[0]._rows) if parts and axis == 0 else (
            parts[axis - 1].uniform_row_length if 0 < axis <= n else self._inner[axis - n])
        return as_tensor(size, int64)

    def _wrapped(self, flat: Any) -> Any:
        """Return flat values in the rows of this shape."""
        for one in reversed(self.row_partitions):
            flat = RaggedTensor._made(flat, one.row_splits(), one.uniform_row_length)
        return flat

    def _reshaped(self, x: Any) -> Any:
        given = convertible(x)
        flat = given.flat_values if isinstance(given, RaggedTensor) else given
        return self._wrapped(reshape(flat, self._inner))

    def _broadcast(self, x: Any) -> Any:
        like = self._wrapped(zeros(self._inner))
        if not isinstance(like, RaggedTensor):
            return broadcast_to(x, self._inner)
        return on_flat_values("broadcast_to", [x, like],
                              lambda flat: broadcast_to(flat[0], self._inner))

    def _apply_op(self, op: str, inputs: tuple[Any, ...], attrs: dict[str, Any],
                  name: str | None) -> Any:
        if op == "cast":
            return self
        method = {"reshape": self._reshaped, "broadcast_to": self._broadcast}.get(op)
        return NotImplemented if method is None else method(*inputs)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DynamicRaggedShape):
            return NotImplemented
        if self._inner != other._inner or len(self.row_partitions) != len(other.row_partitions):
            return False
        return all([x.row_splits().tolist() == y.row_splits().tolist() for x, y in zip(
            self.row_partitions, other.row_partitions, strict=True)])

    __hash__ = None                 # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise DTypeError("the truth value of a DynamicRaggedShape is not defined")

    def __repr__(self) -> str:
        parts = self.row_partitions
        sizes: list[Any] = [length(x._rows) for x in parts[:1]]
        for x in parts:
            sizes.append(x.uniform_row_length if x.uniform_row_length is not None else (
                tuple(x.row_lengths().tolist()) if is_known(x.row_splits()) else None))
        sizes += self._inner[1 if parts else 0:]
        return f"<DynamicRaggedShape lengths={sizes} num_row_partitions={len(parts)}>"
