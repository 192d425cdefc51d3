"""Batches of composite tensors, and the rows of such batches: the methods `_batched`, `_join`,
`_as_rows` and `_map_specs` of `ExtensionType`, field by field. `df.data` calls them.

A tensor is stacked, joined or sliced; a composite field by its own method; all values of a static
field must be equal.
"""

from __future__ import annotations

from typing import Any

from dualflow import nest
from dualflow._core import Tensor, TensorBase, TensorSpec
from dualflow._util.arguments import shown
from dualflow.errors import DTypeError, ShapeError
from dualflow.ops.array.join import concat, stack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _batched(first: Any, items: Sequence[Any]) -> Any:
    """Return composites stacked along a new first dimension."""
    return combined(items, lambda xs: stack(xs, 0), lambda xs: xs[0]._batched(xs))


def _join(first: Any, items: Sequence[Any]) -> Any:
    """Return batches of composites joined along the first dimension."""
    return combined(items, lambda xs: concat(xs, 0), lambda xs: xs[0]._join(xs))


def _as_rows(whole: Any) -> Rows:
    """Return the rows of a batch, a sequence of composites."""
    return Rows(whole)


def _map_specs(spec: Any, function: Callable[..., Any], *others: Any) -> Any:
    """Return a spec with a function applied to the specs of tensors; `others` have its type."""
    def one(x: Any, *more: Any) -> Any:
        if isinstance(x, nest.Composite):
            return x._map_specs(function, *more)
        return function(x, *more) if isinstance(x, TensorSpec) else x

    return with_leaves(spec, list(map(one, leaves(spec), *map(leaves, others))))


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
        return with_leaves(self.whole, [x[k] if isinstance(x, CUT) else x for x in self.leaves])


def leaves(composite: Any) -> list[Any]:
    """Return the leaves of the fields; composites among them are leaves."""
    found: list[Any] = []
    for part in nest.parts(composite):
        nest.rebuild(part, found.append, nest.is_composite)
    return found


def with_leaves(composite: Any, values: Sequence[Any]) -> Any:
    """Return the composite with other leaves."""
    rest = iter(values)
    return composite._remade([nest.rebuild(part, lambda _: next(rest), nest.is_composite)
                              for part in nest.parts(composite)])


def combined(items: Sequence[Any], of_tensors: Callable[[list[Any]], Any],
             of_composites: Callable[[list[Any]], Any]) -> Any:
    first = items[0]

    def one(column: Sequence[Any]) -> Any:
        if isinstance(column[0], TensorBase):
            return of_tensors(list(column))
        if isinstance(column[0], nest.Composite):
            return of_composites(list(column))
        for x in column:
            if x != column[0]:
                raise DTypeError(f"{type(first).__name__}: static fields are {shown(column[0])} "
                                 f"and {shown(x)}, expected equal ones in a batch")
        return column[0]

    return with_leaves(first, [one(x) for x in zip(*map(leaves, items), strict=True)])
