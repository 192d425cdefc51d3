"""Replacements of Python's builtins in converted code: the builtins that iterate, and the names of
all replaced builtins."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from typing import Any

from dualflow._core import as_tensor, unwrapped
from dualflow.autograph.list_append import Rows
from dualflow.autograph.ordering import CONDITIONAL, vector
from dualflow.autograph.replacements import (
    REPLACEMENTS,
    data_dependent_shape,
    iterable_of,
    refuse,
    replaces,
    traced,
)
from dualflow.autograph.values import is_tensor, is_traced, tensor
from dualflow.ops.array.shape import shape
from dualflow.ops.control_flow.scan import foldl


def _over_first(function: Any) -> Callable[..., Any]:
    """Return the replacement of a builtin that iterates over its first argument."""
    def replacement(*args: Any, **keywords: Any) -> Any:
        if args:
            args = iterable_of(args[0], f"{function.__name__}()"), *args[1:]
        return function(*args, **keywords)

    return replacement


@replaces(builtins.sum)
def _sum(iterable: Any, /, start: Any = 0) -> Any:
    x = vector(iterable)
    if x is None or not data_dependent_shape(x):
        return sum(iterable_of(iterable, "sum()"), start)
    first = as_tensor(unwrapped(start)) if is_tensor(start) else tensor(start, x.dtype)
    return foldl(lambda total, v: total + v, x, first + as_tensor(0, x.dtype))


@replaces(builtins.zip)
def _zip(*args: Any, **keywords: Any) -> Any:
    return zip(*[iterable_of(x, "zip()") for x in args], **keywords)      # noqa: B905


@replaces(builtins.map)
def _map(function: Any, *args: Any) -> Any:
    return map(traced(function), *[iterable_of(x, "map()") for x in args])


@replaces(builtins.filter)
def _filter(function: Any, iterable: Any) -> Iterator[Any]:
    test = bool if function is None else traced(function)
    return _selected(test, iter(iterable_of(iterable, "filter()")))


def _selected(test: Callable[[Any], Any], items: Iterator[Any]) -> Iterator[Any]:
    for x in items:
        wanted = x if test is bool else test(x)
        if is_traced(wanted):
            refuse("filter() by the truth", wanted, "has a length known only when the graph runs: "
                    "use dualflow.boolean_mask(x, cond), or dualflow.where(cond, x, other)")
        if wanted:
            yield x


def condition(test: Any) -> bool:
    """Return the truth value of the `if` of a comprehension; raise if it is traced."""
    if is_traced(test):
        refuse("the `if` of a comprehension: the truth", test, "decides how many items there are, "
                "which is known only when the graph runs: use dualflow.boolean_mask(x, condition), "
                "dualflow.where(condition, x, other), or a `for` statement")
    return bool(test)


@replaces(builtins.range)
def _range(*args: Any) -> range:
    for x in args:
        if is_traced(x):
            refuse("range()", x, "is known only when the graph runs: use it in a `for` statement "
                   "or a list comprehension, or dualflow.range(n), a tensor")
    return range(*args)


@replaces(builtins.len)
def _len(x: Any) -> Any:
    x = x.tensor if isinstance(x, Rows) else x
    return shape(unwrapped(x))[0] if data_dependent_shape(x) else len(x)


def call_conditional(function: Any, items: Any, /, *args: Any, **keywords: Any) -> Any:
    """Return ``function(items, ...)`` for a generator expression with conditions. An item of
    `items` has a value and a condition."""
    replacement = CONDITIONAL.get(function) if traced(function) is not function else None
    if replacement is None:
        return function((x.value() for x in items if condition(x.wanted)), *args, **keywords)
    return replacement(items, *args, **keywords)


for f in (builtins.list, builtins.tuple, builtins.set, builtins.enumerate, builtins.reversed):
    replaces(f)(_over_first(f))

NAMES: frozenset[str] = frozenset({f.__name__ for f in REPLACEMENTS})
PASSED = "max", "min", "any", "all", "sorted"       # also replaced if passed as arguments
CONDITIONAL_NAMES: frozenset[str] = frozenset({f.__name__ for f in CONDITIONAL})
