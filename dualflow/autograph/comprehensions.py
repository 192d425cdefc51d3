"""List comprehensions whose length is known only when the graph runs: loops with stacked results.
Python runs all other comprehensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dualflow import nest
from dualflow._core import as_tensor, current_graph, unwrapped
from dualflow.autograph.items import Items, items_of, over
from dualflow.autograph.list_append import Rows
from dualflow.autograph.replacements import call, data_dependent_shape
from dualflow.autograph.values import described, is_number, is_tensor, is_traced, shape_of
from dualflow.errors import InvalidArgumentError


def unrolled(function: Any, /, *args: Any, **keywords: Any) -> Any:
    """`range`, `enumerate`, `zip` or `reversed` as the iterable of a comprehension: graph items if
    the length is known only when the graph runs, else the builtin's result."""
    if any([isinstance(x, Items) or data_dependent_shape(x) for x in args]) or (
            function is range and any(map(is_traced, args))):
        return over(function, *[x.tensor if isinstance(x, Rows) else x for x in args], **keywords)
    return call(function, *args, **keywords)


def comprehension(iterable: Any, function: Callable[[Any], list[Any]]) -> Any:
    """`[... for ... in iterable]`; `function` returns a list with the result for an item."""
    if isinstance(iterable, Items) or data_dependent_shape(iterable):
        x = iterable.tensor if isinstance(iterable, Rows) else iterable
        items = items_of(x)
        assert items is not None
        return _looped(items, function)
    return [function(x)[0] for x in iterable]


def _looped(items: Items, function: Callable[[Any], list[Any]]) -> Rows:
    """Record a loop that stacks the results of `function`."""
    loop = current_graph().loop_builder(items.count, False)
    start = [as_tensor(unwrapped(x)) for x, _ in items.counters]
    counters, rows = loop.open(start, items.rows, [shape_of(x) for x in start])
    try:
        made = function(items.item(rows, counters))[0]
        if nest.is_nested(made) or not (is_tensor(made) or is_number(made)):
            raise InvalidArgumentError(
                "a comprehension whose length is known only when the graph runs must produce a "
                f"tensor or a number in each iteration, got {described(made)}: use one "
                "comprehension for each part")
        row = as_tensor(unwrapped(made))
        steps = [x + step for x, (_, step) in zip(counters, items.counters, strict=True)]
    except BaseException:
        loop.body.drop()
        raise
    loop.body.close()
    _, stacked = loop.finish(None, None, steps, [], [row])
    return Rows(stacked[0])
