"""The builtins max(), min(), sorted(), any(), all() and `in` for traced tensors."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from dualflow import nest
from dualflow._core import TensorBase, as_tensor, unwrapped
from dualflow.autograph.choices import and_, chosen, not_, or_
from dualflow.autograph.list_append import Rows
from dualflow.autograph.numbers import stands_for_number
from dualflow.autograph.replacements import (
    data_dependent_shape,
    iterable_of,
    refuse,
    replaces,
    traced,
    user_line,
)
from dualflow.autograph.values import column, is_number, is_tensor, is_traced, same, scalar, truth
from dualflow.dtypes import int32, int64, uint8
from dualflow.errors import InvalidArgumentError
from dualflow.ops.array.join import unstack
from dualflow.ops.array.slicing import reverse as reversed_along
from dualflow.ops.control_flow.scan import foldl
from dualflow.ops.elementwise.bitwise import logical_and, logical_not
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import not_equal
from dualflow.ops.indexing.gather import gather
from dualflow.ops.reduction.reduce import reduce_all, reduce_any
from dualflow.ops.sorting.sort import argsort


@replaces(builtins.max)
def _max(*args: Any, **keywords: Any) -> Any:
    return _extreme(builtins.max, lambda a, b: a > b, args, **keywords)


@replaces(builtins.min)
def _min(*args: Any, **keywords: Any) -> Any:
    return _extreme(builtins.min, lambda a, b: a < b, args, **keywords)


def _extreme(function: Any, better: Callable[[Any, Any], Any], args: Any, key: Any = None,
             **keywords: Any) -> Any:
    """Return the first of the best items, for max() and min()."""
    what = f"{function.__name__}()"
    if not args or set(keywords) - {"default"} or (len(args) > 1 and keywords):
        return function(*args, key=key, **keywords)     # raises Python's own error
    x = vector(args[0]) if len(args) == 1 else None
    if x is not None and data_dependent_shape(x) and not keywords:
        return _extreme_row(x, better, traced(key or _itself), what)
    items = list(iterable_of(args[0], what)) if len(args) == 1 else list(args)
    if not items:
        return function((), **keywords)
    best = items[0]
    if key is None:
        for x in items[1:]:
            best = _better(better(x, best), x, best, what)
        return best
    key = traced(key)
    mark = key(best)
    for x in items[1:]:
        new = key(x)
        best, mark = _better(better(new, mark), (x, new), (best, mark), what)
    return best


def _itself(x: Any) -> Any:
    return x


def _extreme_row(x: Any, better: Callable[[Any, Any], Any], key: Callable[[Any], Any],
                 what: str) -> Any:
    """Return the first of the best rows of a data-dependent number; no rows fail at run time."""
    def choose(best: Any, row: Any) -> Any:
        new = row, as_tensor(key(row))
        return _better(better(new[1], best[1]), new, best, what)

    return foldl(choose, x[1:], (x[0], as_tensor(key(x[0]))))[0]


def _better(test: Any, a: Any, b: Any, what: str) -> Any:
    if not is_traced(test):
        return a if test else b
    return chosen(truth(test), lambda: a, lambda: b, what, user_line())


@replaces(builtins.any)
def _any(iterable: Any, /) -> Any:
    x = vector(iterable)
    return _first(iterable, or_, True, "any()") if x is None else reduce_any(not_equal(x, 0))


@replaces(builtins.all)
def _all(iterable: Any, /) -> Any:
    x = vector(iterable)
    return _first(iterable, and_, False, "all()") if x is None else reduce_all(not_equal(x, 0))


def vector(x: Any) -> Any:
    """Return a traced tensor of shape (n,), or None."""
    x = x.tensor if isinstance(x, Rows) else x
    if is_traced(x):
        inner = as_tensor(unwrapped(x))
        if inner.ndim == 1:
            return cast(inner, int32) if inner.dtype.is_bool else inner
    return None


def _first(iterable: Any, join: Callable[..., Any], decisive: bool, what: str) -> Any:
    """Evaluate any() or all(): an item is tested only if no earlier item was decisive."""
    items = iter(iterable_of(iterable, what))
    n_asked = 0

    def ask() -> Any:
        nonlocal n_asked
        n_asked += 1
        x = next(items)
        return truth(x) if is_traced(x) else bool(x)

    found: Any = not decisive
    try:
        while True:
            before = n_asked
            found = join(found, ask) if is_traced(found) else ask()
            if found is decisive or n_asked == before:      # the conditions around decide `found`
                return found
    except StopIteration:
        return found


def in_(item: Any, box: Any) -> Any:
    """`item in box`"""
    box = box.tensor if isinstance(box, Rows) else box
    if is_traced(box):
        found = as_tensor(unwrapped(box)) == item
        return reduce_any(found) if isinstance(found, TensorBase) else False
    if isinstance(box, range) and is_traced(item):
        return _in_range(scalar(item, "`in`"), box)
    if not isinstance(box, list | tuple):
        if not isinstance(box, set | frozenset | dict) or not stands_for_number(item):
            return item in box
        box = [x for x in box if is_number(x)]
    if not any([is_traced(x) for x in (item, *box)]):
        return item in box
    equal: list[Any] = []
    for x in box:
        equal.append(x is item or _are_equal(x, item))
        if x is item:               # as in Python, which compares no later items
            break
    return _any(equal)


def _in_range(x: Any, box: range) -> Any:
    n = cast(x, int64)
    low, high = (box.start, box.stop) if box.step > 0 else (box[-1], box[0] + 1) if box else (0, 0)
    inside = logical_and(n >= low, n < high)
    return logical_and(cast(n, x.dtype) == x, logical_and(inside, (n - low) % abs(box.step) == 0))


def not_in(item: Any, box: Any) -> Any:
    """`item not in box`"""
    found = in_(item, box)
    return logical_not(found) if is_traced(found) else not found


def _are_equal(a: Any, b: Any) -> Any:
    """Return a == b. Raise if the result is a tensor of several elements."""
    found = a == b
    if isinstance(found, TensorBase) and found.size != 1:
        raise InvalidArgumentError(f"`in`: the truth of {found.size} elements is ambiguous; use "
                                   "any(t is x for t in items) in place of x in items")
    return found


# --- sorted --------------------------------------------------------------------------------------

@replaces(builtins.sorted)
def _sorted(iterable: Any, /, *, key: Any = None, reverse: Any = False) -> list[Any]:
    """Sort stably. NaN comes last; in Python its position is undefined."""
    items = list(iterable_of(iterable, "sorted()"))
    keys = items if key is None else [*map(traced(key), items)]
    if not any(map(is_traced, keys)):
        order = sorted(range(len(keys)), key=keys.__getitem__, reverse=reverse)
        return [items[k] for k in order]
    marks = column([scalar(x, "sorted()") if is_tensor(x) else x for x in map(_value, keys)],
                    "sorted(): a key")
    if marks.dtype.is_bool:
        marks = cast(marks, uint8)
    if reverse:                     # equal items retain their order
        places = len(keys) - 1 - reversed_along(argsort(reversed_along(marks, [0]), stable=True),
                                                [0])
    else:
        places = argsort(marks, stable=True)
    parts = [nest.flatten(x) for x in items]
    if len({len(x) for x in parts}) > 1:
        refuse("sorted() by the truth", keys[0], "requires items of one structure")
    columns = [_ordered([*map(_value, values)], places) for values in zip(*parts, strict=True)]
    return [nest.pack_sequence_as(items[0], row) for row in zip(*columns, strict=True)]


def _value(x: Any) -> Any:
    """Return the current value of a variable; any other value unchanged."""
    x = unwrapped(x)
    return as_tensor(x) if isinstance(x, TensorBase) else x


def _ordered(values: list[Any], places: Any) -> Any:
    """Return values permuted by the indices `places`."""
    if all([same(x, values[0]) for x in values]):
        return values
    return unstack(gather(column(values, "sorted(): an item"), places))


# --- generator expressions with conditions -------------------------------------------------------

class Conditional:
    """An item of a generator expression with an `if`.

    Attributes
    ----------
    wanted : object
        Whether the item exists, which may be a traced tensor.
    value : callable () -> object
        Computes the item.
    """

    def __init__(self, wanted: Any, value: Callable[[], Any]) -> None:
        self.wanted = wanted
        self.value = value

    def truth(self) -> Any:
        """Return the truth value of the item."""
        return _condition(self.value())


def conditional_sum(items: Any, start: Any = 0) -> Any:
    """Return sum() of `Conditional` items."""
    total = start
    for x in items:
        total = _added(total, x)
    return total


def _added(total: Any, x: Conditional) -> Any:
    if not is_traced(x.wanted):
        return total + x.value() if x.wanted else total
    return chosen(truth(x.wanted), lambda: total + x.value(), lambda: total, "sum()", user_line())


def _condition(x: Any) -> Any:
    return truth(x) if is_traced(x) else bool(x)


def conditional_any(items: Any) -> Any:
    """Return any() of `Conditional` items."""
    return _any(and_(_condition(x.wanted), x.truth) for x in items)


def conditional_all(items: Any) -> Any:
    """Return all() of `Conditional` items."""
    return _all(or_(not_(_condition(x.wanted)), x.truth) for x in items)


CONDITIONAL: dict[Any, Callable[..., Any]] = {
    builtins.sum: conditional_sum, builtins.any: conditional_any, builtins.all: conditional_all,
}
