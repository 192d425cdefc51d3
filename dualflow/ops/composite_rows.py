"""Batches of composite tensors, and the rows of such batches: the methods `_batched`, `_join`,
`_as_rows` and `_map_specs` of `ExtensionType`, field by field. `df.data` calls them.

A tensor is stacked, joined or sliced; a composite field by its own method; all values of a static
field must be equal. A TensorShape gains or loses its first size.
"""

from __future__ import annotations

from typing import Any

from dualflow import nest
from dualflow._core import Tensor, TensorBase, TensorSpec
from dualflow._util.arguments import shown
from dualflow.errors import DTypeError, ShapeError
from dualflow.ops.array.join import concat, stack
from dualflow.ops.tensor_shape import TensorShape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _batched(first: Any, items: Sequence[Any]) -> Any:
    """Return composites stacked along a new first dimension."""
    return combined(items, lambda xs: stack(xs, 0), lambda xs: xs[0]._batched(xs),
                    lambda xs: TensorShape([len(xs), *xs[0]]))


def _join(first: Any, items: Sequence[Any]) -> Any:
    """Return batches of composites joined along the first dimension."""
    return combined(items, lambda xs: concat(xs, 0), lambda xs: xs[0]._join(xs),
                    lambda xs: TensorShape([sum([x[0] for x in xs]), *xs[0][1:]]))


def _as_rows(whole: Any) -> Rows:
    """Return the rows of a batch, a sequence of composites."""
    return Rows(whole)


def _map_specs(spec: Any, function: Callable[..., Any], *others: Any) -> Any:
    """Return a spec with a function applied to the specs of tensors; `others` have its type."""
    def one(x: Any, *more: Any) -> Any:
        if isinstance(x, nest.Composite):
            return x._map_specs(function, *more)
        if isinstance(x, TensorShape):
            return TensorShape(function(TensorSpec(x), *map(TensorSpec, more)).shape)
        return function(x, *more) if isinstance(x, TensorSpec) else x

    return with_leaves(spec, list(map(one, leaves(spec), *map(leaves, others))))


def map_shapes(structure: Any, function: Callable[[Any], Any]) -> Any:
    """Return a structure with a function applied to the TensorShapes in its composites."""
    return nest.rebuild(structure, lambda x: with_leaves(x, [
        function(y) if isinstance(y, TensorShape) else y for y in leaves(x)])
        if isinstance(x, nest.Composite) and x._has_static_fields else x, nest.is_composite)


class RowSequence:
    """Base class of sequences of rows, which are sliced like tensors."""

    ndim = 1

    def __len__(self) -> int:
        raise NotImplementedError

    def __getitem__(self, k: Any) -> Any:
        raise NotImplementedError

    def take(self, at: Tensor) -> Any:
        """Return the rows with the given numbers, stacked."""
        found = [self[k] for k in at.tolist()]
        return found[0]._batched(found)


CUT = Tensor, RowSequence


class Rows(RowSequence):
    """The rows of a composite, field by field."""

    def __init__(self, whole: Any) -> None:
        self.whole = whole
        self.leaves: list[Any] = [x._as_rows() if isinstance(x, nest.Composite) else x
                                  for x in leaves(whole)]

    def __len__(self) -> int:
        found = {len(x) for x in self.leaves if isinstance(x, CUT)}
        if len(found) != 1:
            raise ShapeError(f"{type(self.whole).__name__}: the fields have {sorted(found)} rows, "
                             "expected equally many")
        return found.pop()

    def __getitem__(self, k: Any) -> Any:
        return with_leaves(self.whole, [
            x[k] if isinstance(x, CUT) else sliced(x, k) if isinstance(x, TensorShape) else x
            for x in self.leaves])


def sliced(shape: TensorShape, k: Any) -> TensorShape:
    """Return the shape of a row, or of a slice, of a tensor of a shape."""
    n: Any = [len(range(shape[0])[k])] if isinstance(k, slice) else []
    return TensorShape([*n, *shape[1:]])


def is_leaf(x: Any) -> bool:
    return isinstance(x, nest.Composite | TensorShape)


def leaves(composite: Any) -> list[Any]:
    """Return the leaves of the fields; composites among them are leaves."""
    found: list[Any] = []
    for part in nest.parts(composite):
        nest.rebuild(part, found.append, is_leaf)
    return found


def with_leaves(composite: Any, values: Sequence[Any]) -> Any:
    """Return the composite with other leaves."""
    rest = iter(values)
    return composite._remade([nest.rebuild(part, lambda _: next(rest), is_leaf)
                              for part in nest.parts(composite)])


def combined(items: Sequence[Any], of_tensors: Callable[[list[Any]], Any],
             of_composites: Callable[[list[Any]], Any],
             of_shapes: Callable[[list[Any]], Any]) -> Any:
    first = items[0]

    def one(column: Sequence[Any]) -> Any:
        if isinstance(column[0], TensorBase):
            return of_tensors(list(column))
        if isinstance(column[0], nest.Composite):
            return of_composites(list(column))
        if isinstance(column[0], TensorShape):
            return of_shapes(list(column))
        for x in column:
            if x != column[0]:
                raise DTypeError(f"{type(first).__name__}: static fields are {shown(column[0])} "
                                 f"and {shown(x)}, expected equal ones in a batch")
        return column[0]

    return with_leaves(first, [one(x) for x in zip(*map(leaves, items), strict=True)])
