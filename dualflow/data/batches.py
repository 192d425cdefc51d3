"""Batching: batch, padded_batch, unbatch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from dualflow import nest
from dualflow._core import Tensor, TensorSpec, constant
from dualflow._util.cached import cached_property
from dualflow.data.pieces import gathered
from dualflow.data.stage import Cursor, Stage, stages
from dualflow.data.structure import (
    as_rows,
    flatten,
    is_dense,
    is_leaf,
    map_leaves,
    pack,
    paths,
    rows,
    stack,
    unsized,
    with_first,
    without_first,
)
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.ops import ragged
from dualflow.ops.array.padding import pad


class Batch(Stage):
    """Elements stacked in groups of `n`."""

    n: int
    drop: bool

    def __init__(self, source: Stage, n: int, drop_remainder: bool) -> None:
        super().__init__(source)
        self.n, self.drop = n, drop_remainder

    def options(self) -> dict[str, Any]:
        return {"batch_size": self.n, "drop_remainder": self.drop}

    @property
    def size(self) -> int:
        n = self.source.size
        return n if n < 0 else n // self.n if self.drop else -(-n // self.n)

    @cached_property
    def spec(self) -> Any:
        return with_first(self.source.spec, self.n if self.drop else None)

    @property
    def is_cheap(self) -> bool:
        return self.source.is_cheap

    def row_spec(self) -> Any:
        """Return the spec of an element if it decides how elements are stacked, otherwise None. No
        function of the user runs unless a source contains ragged tensors."""
        found = [x for x in stages(self.source) if not x.spec_runs_python]
        whole = len(found) == len(list(stages(self.source)))
        if whole or any([has_rows(x.spec) for x in found if not x.inputs]):
            return self.source.spec if has_rows(self.source.spec) else None
        return None

    def cursor(self, epoch: int) -> Cursor:
        return BatchCursor(self, epoch)


def has_rows(spec: Any) -> bool:
    return any(map(is_dense, flatten(spec)))


class RaggedBatch(Batch):
    """Elements stacked as ragged tensors, if their spec has unknown sizes."""

    @cached_property
    def spec(self) -> Any:
        return with_first(self.row_spec(), self.n if self.drop else None)

    def row_spec(self) -> Any:
        return map_leaves(ragged_spec, self.source.spec)


def ragged_spec(s: Any) -> Any:
    """Return the spec of a tensor as the spec of a row, ragged up to the last unknown size."""
    if not isinstance(s, TensorSpec) or s.ndim is None or None not in s.shape:
        return s
    unknown = [axis for axis, size in enumerate(s.shape) if size is None]
    return ragged.spec.RaggedTensorSpec(s.shape, s.dtype, unknown[-1])


class BatchCursor(Cursor):
    n: int
    least: int

    def __init__(self, stage: Batch, epoch: int) -> None:
        self.n, self.least = stage.n, stage.n if stage.drop else 1
        self.inner: Cursor = stage.source.cursor(epoch)
        self.row_spec: Any = stage.row_spec()

    def __next__(self) -> Any:
        if self.row_spec is not None:
            elements = list(islice(self.inner, self.n))
            if len(elements) < self.least:
                raise StopIteration
            return stack(elements, "batch", self.row_spec)
        count, block = self.inner.many(self.n, self.least)
        if count < self.least:
            raise StopIteration
        return block

    def advance(self, n: int) -> int:
        passed = self.inner.advance(n * self.n)
        return passed // self.n + (passed % self.n >= self.least)

    def state(self) -> Any:
        return self.inner.state()

    def restore(self, state: Any) -> None:
        self.inner.restore(state)


class PaddedBatch(Batch):
    """Elements padded to a common shape and stacked.

    Parameters
    ----------
    shapes : list of (tuple of int or None, or None)
        For each leaf; None is the largest size in the batch.
    values : list
        The padding value for each leaf.
    """

    def __init__(self, source: Stage, n: int, shapes: Any, values: Any,
                 drop_remainder: bool) -> None:
        super().__init__(source, n, drop_remainder)
        self.padding: Padding = Padding(shapes, values)

    def options(self) -> dict[str, Any]:
        return super().options() | {"padded_shapes": self.padding.shown()}

    @cached_property
    def spec(self) -> Any:
        spec = self.source.spec
        n = self.n if self.drop else None
        shapes = self.padding.shapes_for(spec)
        padded = [s if not isinstance(s, TensorSpec) else unsized(s) if shape is None
                  else TensorSpec(shape, s.dtype)
                  for s, shape in zip(flatten(spec), shapes, strict=True)]
        return with_first(pack(spec, padded), n)

    @property
    def is_cheap(self) -> bool:
        return False

    def cursor(self, epoch: int) -> Cursor:
        return PaddedCursor(self, epoch)


class PaddedCursor(BatchCursor):
    def __init__(self, stage: PaddedBatch, epoch: int) -> None:
        super().__init__(stage, epoch)
        self.padding: Padding = stage.padding

    def __next__(self) -> Any:
        elements = list(islice(self.inner, self.n))
        if len(elements) < self.least:
            raise StopIteration
        return self.padding.batch(elements, "padded_batch")


class Padding:
    """The padded shapes and padding values, in the form that users pass."""

    shapes: Any
    values: Any

    def __init__(self, shapes: Any, values: Any) -> None:
        self.shapes, self.values = shapes, values

    def shown(self) -> Any:
        return None if self.shapes is None else str(self.shapes)

    def shapes_for(self, element: Any) -> list[Any]:
        """Return a shape for each leaf, or None."""
        leaves = flatten(element)
        if self.shapes is None:
            return [None] * len(leaves)
        if is_leaf(element):
            return [as_shape(self.shapes)]
        return [as_shape(s) for s in nest.flatten_up_to(element, self.shapes)]

    def values_for(self, element: Any) -> list[Any]:
        """Return the padding value of each leaf."""
        n = len(flatten(element))
        if self.values is None or is_leaf(self.values):
            return [self.values] * n
        return list(nest.flatten_up_to(element, self.values))

    def batch(self, elements: Sequence[Any], caller: str) -> Any:
        """Return elements padded to one shape and stacked."""
        first = elements[0]
        columns = zip(*map(flatten, elements), strict=True)
        parts = zip(columns, self.shapes_for(first), self.values_for(first), paths(first),
                    strict=True)
        padded = [padded_column(column, shape, value, f"{caller}{path}")
                  for column, shape, value, path in parts]
        return stack([pack(first, leaves) for leaves in zip(*padded, strict=True)], caller)


def as_shape(given: Any) -> tuple[int | None, ...] | None:
    """Return a shape that a user passes: [None, 3], () or a TensorSpec; -1 becomes None."""
    if given is None:
        return None
    given = given.shape if isinstance(given, TensorSpec) else given
    return tuple([None if d is None or d == -1 else int(d) for d in given])


def padded_column(column: Sequence[Any], shape: tuple[int | None, ...] | None, value: Any,
                  caller: str) -> Sequence[Any]:
    if not isinstance(column[0], Tensor):
        return column
    rank = column[0].ndim if shape is None else len(shape)
    for x in column:
        if x.ndim != rank:
            raise ShapeError(f"{caller}: got shape {x.shape}, expected {rank} dimensions")
    wanted = (None,) * rank if shape is None else shape
    sizes = [max([x.shape[d] for x in column]) if want is None else want
             for d, want in enumerate(wanted)]
    return [padded(x, sizes, value, caller) for x in column]


def padded(x: Tensor, sizes: Sequence[int], value: Any, caller: str) -> Tensor:
    missing = [want - d for d, want in zip(x.shape, sizes, strict=True)]
    if not any(missing):
        return x
    if min(missing) < 0:
        raise ShapeError(f"{caller}: got shape {x.shape}, which exceeds {tuple(sizes)}")
    value = 0 if value is None else constant(value, x.dtype, caller).item()
    return pad(x, [[0, n] for n in missing], constant_values=value)


class Unbatch(Stage):
    """The rows of each element."""

    @property
    def size(self) -> int:
        n = self.source.size
        spec = flatten(self.source.spec) if n > 0 else []
        if n > 0 and spec and isinstance(spec[0], TensorSpec) and spec[0].ndim:
            rows_ = spec[0].shape[0]
            return -2 if rows_ is None else n * rows_
        return n if n <= 0 else -2

    @cached_property
    def spec(self) -> Any:
        return without_first(self.source.spec)

    @property
    def is_cheap(self) -> bool:
        return self.source.is_cheap

    def cursor(self, epoch: int) -> Cursor:
        return UnbatchCursor(self, epoch)


class UnbatchCursor(Cursor):
    place: int
    n: int

    def __init__(self, stage: Unbatch, epoch: int) -> None:
        self.inner: Cursor = stage.source.cursor(epoch)
        self.before: Any = self.inner.state()    # before the element whose rows are returned
        self.element: Any = None
        self.place = self.n = 0

    def enter(self) -> bool:
        """Advance to an element that has rows left; return False at the end."""
        while self.place == self.n:
            self.before = self.inner.state()
            self.place = self.n = 0
            for element in self.inner:
                self.element = map_leaves(as_rows, element)
                self.n = common_rows(self.element)
                break
            else:
                return False
        return True

    def __next__(self) -> Any:
        if not self.enter():
            raise StopIteration
        place = self.place
        self.place = place + 1
        return map_leaves(lambda x: x[place], self.element)

    def many(self, n: int, least: int = 1) -> tuple[int, Any]:
        total, blocks = 0, []
        while total < n and self.enter():
            end = min(self.n, self.place + n - total)
            blocks.append(rows(self.element, self.place, end))
            total += end - self.place
            self.place = end
        return total, gathered(blocks, total, least)

    def state(self) -> Any:
        return {"inner": self.before, "place": self.place}

    def restore(self, state: Any) -> None:
        self.inner.restore(state["inner"])
        if state["place"]:
            self.enter()
            self.place = state["place"]


def common_rows(element: Any) -> int:
    leaves, lengths = flatten(element), set()
    for x, path in zip(leaves, paths(element), strict=True):
        if not isinstance(x, list) and not getattr(x, "ndim", 0):
            raise ShapeError(f"unbatch: got a scalar{path}, expected at least 1 dimension")
        lengths.add(len(x))
    if len(lengths) != 1:
        raise InvalidArgumentError(f"unbatch: lengths differ: {sorted(lengths)}")
    return lengths.pop()
