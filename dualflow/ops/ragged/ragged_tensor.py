"""RaggedTensor: a tensor with dimensions whose rows have different lengths."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dualflow._core import Dim, Symbol, Tensor, TensorBase
from dualflow._util.arguments import shown
from dualflow.dtypes import int64
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError
from dualflow.nest import Composite
from dualflow.ops import ragged
from dualflow.ops.array.creation import constant
from dualflow.ops.array.join import concat, stack
from dualflow.ops.array.shape import ints, same_size, static_shape
from dualflow.ops.elementwise.arithmetic import add, multiply, subtract
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.indexing.gather import gather
from dualflow.ops.ragged import partition
from dualflow.ops.ragged.operators import Operators
from dualflow.ops.string_tensor import StringTensor
from dualflow.ops.tensor_shape import TensorShape

__all__ = ["RaggedTensor"]


class RaggedTensor(Operators, Composite):
    """A tensor with ragged dimensions: rows that may have different lengths.

    Create ragged tensors with the class methods `from_row_splits` and others, or with
    `df.ragged.constant`. Row i consists of the values from ``row_splits[i]`` to
    ``row_splits[i + 1]``.

    Parameters
    ----------
    values : Tensor or RaggedTensor, shape (n, ...)
        The concatenated rows. If the values are ragged, there are several ragged dimensions.
    row_splits : int64 Tensor, shape (nrows + 1,)

    Attributes
    ----------
    values : Tensor or RaggedTensor
    row_splits : Tensor, int64
    flat_values : Tensor
        The innermost values.
    nested_row_splits : tuple of Tensor
        The splits of each ragged dimension, outermost first.
    ragged_rank : int
        The number of partitioned dimensions.
    uniform_row_length : int or None
        The length of all rows, if it was given to `from_uniform_row_length`.
    shape : TensorShape
        With None for ragged dimensions.
    dtype : DType

    Notes
    -----
    `df.nest` flattens ragged tensors, so traced functions, loops and branches accept and return
    them. Elementwise functions and operators, and the functions listed on the page of `df.ragged`,
    accept ragged tensors in place of tensors. Gradients are those with respect to `flat_values`.

    Text (`StringTensor`) as values can be stored, indexed, joined and converted.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.RaggedTensor.from_row_splits([3, 1, 4, 1, 5], row_splits=[0, 2, 2, 5])
    >>> x
    <dualflow.RaggedTensor [[3, 1], [], [4, 1, 5]]>
    >>> (x * 10)[2], x[:, :1].to_list(), df.reduce_sum(x, axis=1).tolist()
    (<dualflow.Tensor shape=(3,) dtype=int32
    [40 10 50]>, [[3], [], [4]], [4, 0, 10])
    """

    __slots__ = ("_uniform", "row_splits", "values")
    _fields = ("values", "row_splits")
    __array_priority__ = 1000           # NumPy arrays defer operators to this class
    values: Any
    row_splits: Any

    def __init__(self, values: Any, row_splits: Any, uniform_row_length: Any = None) -> None:
        self.values = values if isinstance(values, RaggedTensor | TensorBase | StringTensor) else (
            constant(values))
        self.row_splits = partition.vector(row_splits, "RaggedTensor: row_splits")
        self._uniform = uniform_row_length

    @classmethod
    def _made(cls, values: Any, row_splits: Any, uniform: Any = None) -> RaggedTensor:
        """Return an instance with these parts, which are not converted or checked."""
        made = cls.__new__(cls)
        made.values, made.row_splits, made._uniform = values, row_splits, uniform
        return made

    def _remade(self, values: Sequence[Any]) -> Any:
        inner, splits = values
        if splits is None:              # a gradient: splits have none
            return inner if inner is None else self._made(inner, self.row_splits, self._uniform)
        return self._made(inner, splits)

    def _apply_op(self, op: str, inputs: tuple[Any, ...], attrs: dict[str, Any],
                  name: str | None) -> Any:
        return ragged.dispatch.apply_op(op, inputs, attrs, name)

    # --- constructors ---

    @classmethod
    def from_row_splits(cls, values: Any, row_splits: Any, name: str | None = None,
                        validate: bool = True) -> RaggedTensor:
        """Return the rows ``values[row_splits[i]:row_splits[i + 1]]``.

        Raise ShapeError if splits that are known do not begin with 0, decrease, or do not end with
        the number of values.
        """
        made = cls(values, row_splits)
        if validate:
            partition.check_splits(made.row_splits, length(made.values), "RaggedTensor: row_splits")
        return made

    @classmethod
    def from_row_lengths(cls, values: Any, row_lengths: Any, name: str | None = None,
                         validate: bool = True) -> RaggedTensor:
        """Return rows of the given lengths."""
        lengths = partition.vector(row_lengths, "RaggedTensor: row_lengths")
        return cls.from_row_splits(values, partition.splits_of(lengths), name, validate)

    @classmethod
    def from_row_starts(cls, values: Any, row_starts: Any, name: str | None = None,
                        validate: bool = True) -> RaggedTensor:
        """Return rows that begin at the given values; the last row ends with the values."""
        made = cls(values, [0])
        starts = partition.vector(row_starts, "RaggedTensor: row_starts")
        end = partition.vector([length(made.values)], "RaggedTensor: number of values")
        return cls.from_row_splits(made.values, concat([starts, end], 0), name, validate)

    @classmethod
    def from_row_limits(cls, values: Any, row_limits: Any, name: str | None = None,
                        validate: bool = True) -> RaggedTensor:
        """Return rows that end before the given values; the first row begins with the values."""
        limits = partition.vector(row_limits, "RaggedTensor: row_limits")
        splits = concat([partition.vector([0], "row_limits"), limits], 0)
        return cls.from_row_splits(values, splits, name, validate)

    @classmethod
    def from_value_rowids(cls, values: Any, value_rowids: Any, nrows: Any = None,
                          name: str | None = None, validate: bool = True) -> RaggedTensor:
        """Return rows of the values with equal `value_rowids`, which must not decrease. By default,
        `nrows` is the last row number plus one."""
        rows = partition.vector(value_rowids, "RaggedTensor: value_rowids")
        n = partition.size_of(partition.largest(add(rows, 1)) if nrows is None else nrows)
        if validate and partition.is_known(rows):
            found = rows.tolist()
            if found and (found != sorted(found) or found[0] < 0 or found[-1] >= n):
                raise InvalidArgumentError(f"RaggedTensor: value_rowids are {shown(found)}, "
                                           f"expected row numbers below {n} that do not decrease")
        return cls.from_row_splits(values, partition.splits_of_rows(rows, n), name, validate)

    @classmethod
    def from_uniform_row_length(cls, values: Any, uniform_row_length: Any, nrows: Any = None,
                                validate: bool = True, name: str | None = None) -> RaggedTensor:
        """Return rows of one length. `nrows` is needed if the length is 0."""
        each = ints(uniform_row_length, "RaggedTensor: uniform_row_length")[0]
        made = cls(values, [0])
        n = length(made.values)
        if nrows is None:
            rows = n // each if each else 0
        else:
            rows = ints(nrows, "RaggedTensor: nrows")[0]
        if type(n) is int and type(rows) is int and type(each) is int and rows * each != n:
            raise ShapeError(f"RaggedTensor: {n} values in rows of {each}" + (
                "" if nrows is None else f", expected {rows} rows"))
        splits = multiply(partition.iota(rows + 1), each)
        return cls._made(made.values, splits, each)

    @classmethod
    def from_nested_row_splits(cls, flat_values: Any, nested_row_splits: Sequence[Any],
                               name: str | None = None, validate: bool = True) -> RaggedTensor:
        """Return a ragged tensor with the splits of each ragged dimension, outermost first."""
        return _nested(cls.from_row_splits, flat_values, nested_row_splits, validate)

    @classmethod
    def from_nested_row_lengths(cls, flat_values: Any, nested_row_lengths: Sequence[Any],
                                name: str | None = None, validate: bool = True) -> RaggedTensor:
        """Return a ragged tensor with the row lengths of each ragged dimension, outermost first."""
        return _nested(cls.from_row_lengths, flat_values, nested_row_lengths, validate)

    @classmethod
    def from_nested_value_rowids(cls, flat_values: Any, nested_value_rowids: Sequence[Any],
                                 nested_nrows: Sequence[Any] | None = None,
                                 name: str | None = None, validate: bool = True) -> RaggedTensor:
        """Return a ragged tensor with the row numbers of each ragged dimension, outermost
        first."""
        made = flat_values
        counts = [None] * len(nested_value_rowids) if nested_nrows is None else nested_nrows
        for ids, n in reversed(list(zip(nested_value_rowids, counts, strict=True))):
            made = cls.from_value_rowids(made, ids, n, None, validate)
        return made

    @classmethod
    def from_tensor(cls, tensor: Any, lengths: Any = None, padding: Any = None,
                    ragged_rank: int = 1, name: str | None = None,
                    row_splits_dtype: Any = int64) -> RaggedTensor:
        """Return a tensor of rank 2 or higher as a ragged tensor. Each row ends after `lengths`
        elements, or before trailing elements that equal `padding`."""
        return ragged.convert.from_tensor(tensor, lengths, padding, ragged_rank)

    @classmethod
    def from_sparse(cls, st_input: Any, name: str | None = None,
                    row_splits_dtype: Any = int64) -> RaggedTensor:
        """Return a sparse matrix whose rows have no gaps as a ragged tensor."""
        return ragged.convert.from_sparse(st_input)

    # --- parts ---

    @property
    def flat_values(self) -> Any:
        made = self.values
        while isinstance(made, RaggedTensor):
            made = made.values
        return made

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        return tuple([level.row_splits for level in levels(self)])

    def nested_row_lengths(self, name: str | None = None) -> tuple[Tensor, ...]:
        """Return the row lengths of each ragged dimension, outermost first."""
        return tuple([level.row_lengths() for level in levels(self)])

    def nested_value_rowids(self, name: str | None = None) -> tuple[Tensor, ...]:
        """Return the row numbers of the values of each ragged dimension, outermost first."""
        return tuple([level.value_rowids() for level in levels(self)])

    @property
    def ragged_rank(self) -> int:
        return len(levels(self))

    @property
    def uniform_row_length(self) -> Any:
        return self._uniform

    @property
    def dtype(self) -> Any:
        return self.flat_values.dtype

    @property
    def ndim(self) -> int:
        n: int = self.values.ndim + 1
        return n

    @property
    def shape(self) -> TensorShape:
        return self.get_shape()

    def get_shape(self) -> TensorShape:
        """Return the shape, with None for ragged dimensions and sizes that depend on data."""
        dims = [length(self), self._uniform, *self.values.shape[1:]]
        return TensorShape([None if type(n) is Dim and n.data_dependent else n for n in dims])

    def nrows(self, out_type: Any = int64, name: str | None = None) -> Tensor:
        """Return the number of rows."""
        return cast(length(self), out_type or int64)

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """Return the length of each row; of an inner ragged dimension, as a ragged tensor."""
        if axis == 0:
            return self.nrows()
        if axis == 1:
            return subtract(self.row_splits[1:], self.row_splits[:-1])
        if not isinstance(self.values, RaggedTensor):
            raise InvalidArgumentError(f"row_lengths: axis {axis} of {self.ragged_rank} ragged "
                                       "dimensions")
        return self.with_values(self.values.row_lengths(axis - 1))

    def row_starts(self, name: str | None = None) -> Tensor:
        """Return the index of the first value of each row."""
        made: Tensor = self.row_splits[:-1]
        return made

    def row_limits(self, name: str | None = None) -> Tensor:
        """Return the index after the last value of each row."""
        made: Tensor = self.row_splits[1:]
        return made

    def value_rowids(self, name: str | None = None) -> Tensor:
        """Return the row of each value."""
        return partition.rows_of(self.row_splits, length(self.values))

    def bounding_shape(self, axis: Any = None, name: str | None = None,
                       out_type: Any = None) -> Tensor:
        """Return the smallest dense shape that holds all elements, or the sizes along `axis`."""
        inner = [constant(n, int64) for n in static_shape(self.flat_values)[1:]]
        made = stack([self.nrows(), *[partition.largest(n) for n in self.nested_row_lengths()],
                      *inner])
        return cast(made if axis is None else gather(made, axis), out_type or int64)

    def with_values(self, new_values: Any) -> RaggedTensor:
        """Return a ragged tensor with the same splits and other values."""
        new = new_values if isinstance(new_values, RaggedTensor | StringTensor) else (
            constant(new_values))
        if not same_size(length(new), length(self.values)):
            raise ShapeError(f"RaggedTensor: {length(new)} new values, expected "
                             f"{length(self.values)}")
        return self._made(new, self.row_splits, self._uniform)

    def with_flat_values(self, new_values: Any) -> RaggedTensor:
        """Return a ragged tensor with the same nested splits and other flat values."""
        made = new_values
        for level in reversed(levels(self)):
            made = level.with_values(made)
        return made

    def with_row_splits_dtype(self, dtype: Any) -> RaggedTensor:
        """Return the ragged tensor itself: splits are int64."""
        return self

    def merge_dims(self, outer_axis: int, inner_axis: int) -> Any:
        """Return a tensor in which the dimensions from `outer_axis` to `inner_axis` are one."""
        return ragged.convert.merge_dims(self, outer_axis, inner_axis)

    # --- conversions ---

    def to_tensor(self, default_value: Any = None, name: str | None = None,
                  shape: Any = None) -> Any:
        """Return a dense tensor, in which short rows end with `default_value`, 0 by default. Sizes
        in `shape` that are not None cut or extend a dimension."""
        return ragged.convert.to_tensor(self, default_value, shape)

    def to_sparse(self, name: str | None = None) -> Any:
        """Return a sparse tensor with these elements."""
        return ragged.convert.to_sparse(self)

    def to_list(self) -> list[Any]:
        """Return nested lists of Python values."""
        values = self.values
        rows = values.to_list() if isinstance(values, RaggedTensor) else values.numpy().tolist()
        splits = self.row_splits.tolist()
        return [rows[a:b] for a, b in zip(splits[:-1], splits[1:], strict=True)]

    tolist = to_list

    def numpy(self) -> Any:
        """Return an array; an array of rows if their lengths differ."""
        import numpy as np

        rows = [row.numpy() for row in self]
        if rows and all([row.shape == rows[0].shape and row.dtype != object for row in rows]):
            return np.stack(rows)
        made = np.empty(len(rows), object)
        for k, row in enumerate(rows):
            made[k] = row
        return made

    # --- protocols ---

    def __len__(self) -> int:
        return operator.index(length(self))

    def __getitem__(self, key: Any) -> Any:
        return ragged.indexing.item(self, key)

    def __iter__(self) -> Iterator[Any]:
        return iter([ragged.indexing.row(self, k) for k in range(len(self))])

    def __bool__(self) -> bool:
        raise DTypeError("the truth value of a RaggedTensor is not defined")

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        if any([isinstance(x, Symbol) for x in (self.flat_values, *self.nested_row_splits)]):
            return f"dualflow.RaggedTensor(values={self.values!r}, row_splits={self.row_splits!r})"
        return f"<dualflow.RaggedTensor {self.to_list()}>"


def length(x: Any) -> Any:
    """Return the number of rows of a tensor, an int or a traced size."""
    if isinstance(x, RaggedTensor):
        return static_shape(x.row_splits)[0] - 1
    return static_shape(x)[0]


def levels(x: Any) -> list[RaggedTensor]:
    """Return a ragged tensor, its values and so on as far as they are ragged."""
    found = []
    while isinstance(x, RaggedTensor):
        found.append(x)
        x = x.values
    return found


def _nested(constructor: Callable[..., Any], flat_values: Any, parts: Sequence[Any],
            validate: bool) -> Any:
    made = flat_values
    for part in reversed(list(parts)):
        made = constructor(made, part, None, validate)
    return made
