"""The items of a `for` over traced tensors: rows of tensors, counters, and the trip count."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

from dualflow._core import Dim, TensorBase, as_tensor, unwrapped
from dualflow.autograph.replacements import traced
from dualflow.autograph.values import in_run, is_number, is_traced
from dualflow.dtypes import int64
from dualflow.errors import InvalidArgumentError
from dualflow.ops.array.join import stack
from dualflow.ops.array.shape import identity, shape
from dualflow.ops.array.slicing import reverse
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.limits import maximum, minimum

Count = Any             # trip count: an int, or an int64 Symbol of shape ()


class Items:
    """A sequence of items that are traced tensors.

    Attributes
    ----------
    count : int or Symbol
    rows : list of Tensor
        Tensors; each iteration reads one row of each.
    counters : list of (Tensor or number, Tensor or number)
        The start and the step of each counter.
    size : Dim or None
        The count, if it is a size.
    """

    size: Any = None

    def __init__(self, count: Count, rows: Sequence[Any] = (),
                 counters: Sequence[tuple[Any, Any]] = (),
                 item: Callable[[list[Any], list[Any]], Any] = lambda rows, counters: rows[0],
                 ) -> None:
        self.count = count
        self.rows: list[Any] = list(rows)
        self.counters: list[tuple[Any, Any]] = list(counters)
        self.item = item            # returns an item from one row of each tensor and the counters

    def reversed(self) -> Items:
        """Return the items in reverse order."""
        counters = [(start + (self.count - 1) * step, -step) for start, step in self.counters]
        return Items(self.count, [reverse(x, [0]) for x in self.rows], counters, self.item)

    def first(self) -> Any:
        """Return the first item."""
        return self.item([x[0] for x in self.rows],
                         [as_tensor(start) for start, _ in self.counters])

    def rest(self) -> Items:
        """Return all items but the first, which must exist."""
        counters = [(start + step, step) for start, step in self.counters]
        return Items(self.count - 1, [x[1:] for x in self.rows], counters, self.item)


def items_of(x: Any) -> Items | None:
    """Return the items of a loop over `x`, or None if Python is to iterate over `x`."""
    if isinstance(x, Items):
        return x
    if not is_traced(x):
        return None
    x = as_tensor(unwrapped(x))
    if x.ndim == 0:
        raise TypeError("iteration over a tensor with shape ()")
    n = x.known_shape[0]
    # Eager mode unpacks x before the loop, so that the cotangents of its rows are accumulated after
    # those of uses of x in the body. The identity op reproduces that order.
    found = Items(cast(shape(x)[0], int64) if n is None else n, [identity(x)])
    if n is None and not x.data_dependent_shape:
        found.size = x.shape[0]
    return found


def over(function: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
    """`range`, `enumerate`, `zip`, `reversed` or `map` as the iterable of a loop."""
    taken = TAKEN_APART.get(function) if callable(function) else None
    if function is builtins.enumerate and args and hasattr(type(args[0]), "__df_elements__"):
        return args[0].enumerate(*args[1:], **keywords)         # a dataset
    if taken is None or not any([isinstance(x, Items) or is_traced(x) for x in args]):
        return function(*[_whole(x) for x in args], **keywords)
    return taken(*map(in_run, args), **keywords)


def _whole(x: Any) -> Any:
    if isinstance(x, Items):
        raise InvalidArgumentError("range, enumerate, zip, reversed and map of traced tensors can "
                                   "be arguments of each other only")
    return x


def _range(*args: Any) -> Items:
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    given = [as_tensor(unwrapped(x)) for x in (start, stop, step) if not is_number(x)]
    for x in given:
        if x.ndim or not x.dtype.is_integer:
            raise TypeError(f"range expected integers, got a tensor of {x.dtype} {x.shape}")
    dtype = given[0].dtype if len({x.dtype for x in given}) == 1 else int64
    first, last, by = [x if is_number(x) else cast(unwrapped(x), int64)
                       for x in (start, stop, step)]
    rounds = last - first if is_number(step) and step == 1 else -((first - last) // by)
    count = maximum(rounds, as_tensor(0, int64))
    begin, each = [as_tensor(x, dtype) if is_number(x) else cast(unwrapped(x), dtype)
                   for x in (start, step)]
    return Items(count, (), [(begin, each)], lambda rows, counters: counters[0])


def _enumerate(x: Any, start: Any = 0) -> Items:
    inner = items_of(x)
    assert inner is not None
    found = Items(inner.count, inner.rows, [*inner.counters, (start, 1)],
                  lambda rows, counters: (counters[-1], inner.item(rows, counters[:-1])))
    found.size = inner.size
    return found


def _zip(*args: Any, strict: bool = False) -> Items:
    parts = [_part(x) for x in args]
    counts = [x.count for x in parts]
    known = [n for n in counts if isinstance(n, int) and not isinstance(n, Dim)]
    if strict and len(known) == len(counts) and len(set(known)) > 1:
        raise ValueError("zip() arguments have different lengths")
    count: Any = min(known) if known else counts[0]
    for n in counts:
        if not isinstance(n, int):
            count = minimum(as_tensor(count, None if not isinstance(count, int) else int64), n)
    rows = [x if isinstance(count, int) and x.known_shape[0] == count else x[:count]
            for part in parts for x in part.rows]
    counters = [c for part in parts for c in part.counters]

    def item(rows: list[Any], counters: list[Any]) -> Any:
        found, r, c = [], 0, 0
        for part in parts:
            n, m = len(part.rows), len(part.counters)
            found.append(part.item(rows[r:r + n], counters[c:c + m]))
            r, c = r + n, c + m
        return tuple(found)

    return Items(count, rows, counters, item)


def _part(x: Any) -> Items:
    """Return the items of one argument of a zip of which another argument is traced."""
    found = items_of(x)
    if found is not None:
        return found
    if isinstance(x, range):
        return Items(len(x), (), [(x.start, x.step)], lambda rows, counters: counters[0])
    if isinstance(x, TensorBase):
        return Items(x.shape[0], [as_tensor(x)])
    if isinstance(x, list | tuple) and x:
        return Items(len(x), [stack(x)])
    raise InvalidArgumentError(f"zip of a traced tensor and a {type(x).__name__}, whose items are "
                               "not tensors of one shape: stack them beforehand")


def _map(function: Any, *args: Any) -> Items:
    found = _zip(*args)
    taken = found.item
    found.item = lambda rows, counters: traced(function)(*taken(rows, counters))
    return found


def _reversed(x: Any) -> Items:
    found = items_of(x)
    assert found is not None
    return found.reversed()


TAKEN_APART: dict[Any, Callable[..., Items]] = {
    builtins.range: _range, builtins.enumerate: _enumerate, builtins.zip: _zip,
    builtins.reversed: _reversed, builtins.map: _map,
}
