"""Python's built-in functions on traced values.

Converted code calls them by `call`, whose first argument is the function that a name stands for
there. Where a traced tensor decides, the replacement records what Python's own function computes
from values; everything else is left to Python's own function.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType
from typing import Any, NoReturn

from dualflow import nest
from dualflow._core import Symbol, TensorBase, as_tensor, current_graph, unwrapped
from dualflow.autograph.choices import and_, chosen, or_, where_of
from dualflow.autograph.rows import Rows
from dualflow.autograph.values import (
    described,
    is_number,
    is_tensor,
    is_traced,
    same,
    scalar,
    shape_of,
    tensor,
    truth,
)
from dualflow.dtypes import float32, float64, int32, int64, uint8, uint32, uint64
from dualflow.errors import InvalidArgumentError, TracedValueError
from dualflow.frames import user_frame
from dualflow.ops.array import shape, stop_gradient
from dualflow.ops.bitwise import logical_not
from dualflow.ops.cast import cast
from dualflow.ops.compare import not_equal
from dualflow.ops.gather import gather
from dualflow.ops.host import host_call
from dualflow.ops.join import stack, unstack
from dualflow.ops.reduce import reduce_all, reduce_any
from dualflow.ops.scan import foldl
from dualflow.ops.slicing import reverse as reversed_along
from dualflow.ops.sort import argsort

LARGEST_RANGE = 4096        # numbers of a `range` that a traced one is compared with one by one


def call(function: Any, /, *args: Any, **keywords: Any) -> Any:
    """`function(*args, **keywords)`, where the name of the function is that of a builtin."""
    return traced(function)(*args, **keywords)


def traced(function: Any) -> Any:
    """The function itself, or what takes the place of a builtin while a graph is recorded."""
    if isinstance(function, BuiltinFunctionType | type) and current_graph() is not None:
        return REPLACEMENTS.get(function, function)
    return function


def _where() -> str:
    """The line of the user's code that calls a builtin."""
    frame, _ = user_frame(1)
    return "" if frame is None else where_of(frame)


def _refuse(what: str, x: Any, why: str) -> NoReturn:
    raise TracedValueError(f"{what} of a traced tensor ({described(x)}) {why}")


# --- iteration -----------------------------------------------------------------------------------

def sized_by_data(x: Any) -> bool:
    """Return True if the number of rows of a tensor is known only when the graph runs."""
    inner = unwrapped(x.tensor if isinstance(x, Rows) else x)
    return isinstance(inner, Symbol) and inner.ndim > 0 and inner.known_shape[0] is None and (
        bool(inner.sized_by_data))


def _iterable(x: Any, what: str) -> Any:
    """What a builtin iterates over. The number of rows of a tensor must be known."""
    if isinstance(x, Rows):
        x = x.tensor
    if sized_by_data(x):
        _refuse(what, x, "whose number of rows depends on data iterates when the graph runs only: "
                "use a `for` statement, dualflow.map_fn, dualflow.foldl, or an op on the whole "
                "tensor")
    return x


def _over_first(function: Any) -> Callable[..., Any]:
    """A builtin that iterates over its first argument."""
    def replacement(*args: Any, **keywords: Any) -> Any:
        if args:
            args = _iterable(args[0], f"{function.__name__}()"), *args[1:]
        return function(*args, **keywords)

    return replacement


def _sum(iterable: Any, /, start: Any = 0) -> Any:
    x = _vector(iterable)
    if x is None or not sized_by_data(x):
        return sum(_iterable(iterable, "sum()"), start)
    first = as_tensor(unwrapped(start)) if is_tensor(start) else tensor(start, x.dtype)
    return foldl(lambda total, v: total + v, x, first + as_tensor(0, x.dtype))


def _zip(*args: Any, **keywords: Any) -> Any:
    return zip(*[_iterable(x, "zip()") for x in args], **keywords)      # noqa: B905


def _map(function: Any, *args: Any) -> Any:
    return map(traced(function), *[_iterable(x, "map()") for x in args])


def _filter(function: Any, iterable: Any) -> Iterator[Any]:
    test = bool if function is None else traced(function)
    return _kept(test, iter(_iterable(iterable, "filter()")))


def _kept(test: Callable[[Any], Any], items: Iterator[Any]) -> Iterator[Any]:
    for x in items:
        wanted = x if test is bool else test(x)
        if is_traced(wanted):
            _refuse("filter() by the truth", wanted, "has a length only when the graph runs: use "
                    "dualflow.boolean_mask(x, condition), or dualflow.where(condition, x, other)")
        if wanted:
            yield x


def condition(test: Any) -> bool:
    """The truth of the `if` of a comprehension, which Python must decide."""
    if is_traced(test):
        _refuse("the `if` of a comprehension: the truth", test, "decides how many items there are, "
                "which is known only when the graph runs: use dualflow.boolean_mask(x, condition), "
                "dualflow.where(condition, x, other), or a `for` statement")
    return bool(test)


def _range(*args: Any) -> range:
    for x in args:
        if is_traced(x):
            _refuse("range()", x, "is known only when the graph runs: use it in a `for` statement, "
                    "or dualflow.range(n), a tensor")
    return range(*args)


def _len(x: Any) -> Any:
    x = x.tensor if isinstance(x, Rows) else x
    return shape(unwrapped(x))[0] if sized_by_data(x) else len(x)


# --- numbers -------------------------------------------------------------------------------------

def _bool(*args: Any) -> Any:
    return truth(args[0]) if len(args) == 1 and is_traced(args[0]) else bool(*args)


def _int(*args: Any, **keywords: Any) -> Any:
    """A traced integer, rounded toward zero: int32, as Python's numbers are if they fit, or int64
    for dtypes with larger numbers. NaN, infinities and numbers that do not fit raise."""
    if len(args) != 1 or keywords or not is_traced(args[0]):
        return int(*args, **keywords)
    x = scalar(args[0], "int()")
    dtype = int64 if x.dtype in (int64, uint32, uint64, float64) else int32
    if x.dtype.is_floating or x.dtype is uint64:
        bound = 1 << (63 if dtype is int64 else 31)

        def check(value: Any) -> None:
            if not -bound <= int(value) < bound:
                raise OverflowError(f"int() of a traced {x.dtype}: {int(value)} does not fit in "
                                    f"{dtype}; use dualflow.cast(x, dtype)")

        host_call(check, [x], "int")
    return cast(stop_gradient(x), dtype)


def _float(*args: Any) -> Any:
    """A traced number without a gradient, like Python's: float64 of float64, else float32."""
    if len(args) != 1 or not is_traced(args[0]):
        return float(*args)
    x = scalar(args[0], "float()")
    return stop_gradient(cast(x, float64 if x.dtype is float64 else float32))


# --- comparisons ---------------------------------------------------------------------------------

def _max(*args: Any, **keywords: Any) -> Any:
    return _extreme(builtins.max, lambda a, b: a > b, args, **keywords)


def _min(*args: Any, **keywords: Any) -> Any:
    return _extreme(builtins.min, lambda a, b: a < b, args, **keywords)


def _extreme(function: Any, better: Callable[[Any, Any], Any], args: Any, key: Any = None,
             **keywords: Any) -> Any:
    """max() and min(): the first of the best items."""
    what = f"{function.__name__}()"
    if not args or set(keywords) - {"default"} or (len(args) > 1 and keywords):
        return function(*args, key=key, **keywords)     # an error of Python's
    x = _vector(args[0]) if len(args) == 1 else None
    if x is not None and sized_by_data(x) and not keywords:
        return _extreme_row(x, better, traced(key or _itself), what)
    items = list(_iterable(args[0], what)) if len(args) == 1 else list(args)
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
    """The first of the best rows, of which a run knows the number; without any it fails."""
    def choose(best: Any, row: Any) -> Any:
        new = row, as_tensor(key(row))
        return _better(better(new[1], best[1]), new, best, what)

    return foldl(choose, x[1:], (x[0], as_tensor(key(x[0]))))[0]


def _better(test: Any, a: Any, b: Any, what: str) -> Any:
    if not is_traced(test):
        return a if test else b
    return chosen(truth(test), lambda: a, lambda: b, what, _where())


def _any(iterable: Any, /) -> Any:
    x = _vector(iterable)
    return _first(iterable, or_, True, "any()") if x is None else reduce_any(not_equal(x, 0))


def _all(iterable: Any, /) -> Any:
    x = _vector(iterable)
    return _first(iterable, and_, False, "all()") if x is None else reduce_all(not_equal(x, 0))


def _vector(x: Any) -> Any:
    """A traced tensor of shape (n,), or None."""
    x = x.tensor if isinstance(x, Rows) else x
    if is_traced(x):
        inner = as_tensor(unwrapped(x))
        if inner.ndim == 1:
            return cast(inner, int32) if inner.dtype.is_bool else inner
    return None


def _first(iterable: Any, join: Callable[..., Any], decisive: bool, what: str) -> Any:
    """any() and all(): an item is asked for only if none before it was decisive."""
    items = iter(_iterable(iterable, what))

    def ask() -> Any:
        x = next(items)
        return truth(x) if is_traced(x) else bool(x)

    found: Any = not decisive
    try:
        while True:
            found = join(found, ask) if is_traced(found) else ask()
            if found is decisive:
                return found
    except StopIteration:
        return found


def in_(item: Any, box: Any) -> Any:
    """`item in box`"""
    box = box.tensor if isinstance(box, Rows) else box
    if is_traced(box):
        found = as_tensor(unwrapped(box)) == item
        return reduce_any(found) if isinstance(found, TensorBase) else False
    if not isinstance(box, list | tuple) and not (
            isinstance(box, range) and len(box) <= LARGEST_RANGE):
        return item in box
    if not any([is_traced(x) for x in (item, *box)]):
        return item in box
    return _any([x is item or _are_equal(x, item) for x in box])


def not_in(item: Any, box: Any) -> Any:
    """`item not in box`"""
    found = in_(item, box)
    return logical_not(found) if is_traced(found) else not found


def _are_equal(a: Any, b: Any) -> Any:
    """What a list takes for equal: tensors of more or less than one element never are."""
    found = a == b
    return False if isinstance(found, TensorBase) and found.size != 1 else found


# --- sorted --------------------------------------------------------------------------------------

def _sorted(iterable: Any, /, *, key: Any = None, reverse: Any = False) -> list[Any]:
    """A stable sort. NaN comes last, while Python leaves its place to chance."""
    items = list(_iterable(iterable, "sorted()"))
    keys = items if key is None else [*map(traced(key), items)]
    if not any(map(is_traced, keys)):
        order = sorted(range(len(keys)), key=keys.__getitem__, reverse=reverse)
        return [items[k] for k in order]
    marks = _column([scalar(x, "sorted()") if is_tensor(x) else x for x in map(_value, keys)],
                    "keys")
    if marks.dtype.is_bool:
        marks = cast(marks, uint8)
    if reverse:                     # equal items keep their order
        places = len(keys) - 1 - reversed_along(argsort(reversed_along(marks, [0]), stable=True),
                                                [0])
    else:
        places = argsort(marks, stable=True)
    parts = [nest.flatten(x) for x in items]
    if len({len(x) for x in parts}) > 1:
        _refuse("sorted() by the truth", keys[0], "wants items of one structure")
    columns = [_ordered([*map(_value, column)], places) for column in zip(*parts, strict=True)]
    return [nest.pack_sequence_as(items[0], row) for row in zip(*columns, strict=True)]


def _value(x: Any) -> Any:
    """A tensor, which a variable is the current value of; or anything else."""
    x = unwrapped(x)
    return as_tensor(x) if isinstance(x, TensorBase) else x


def _ordered(column: list[Any], places: Any) -> Any:
    """Values in another order."""
    if all([same(x, column[0]) for x in column]):
        return column
    return unstack(gather(_column(column, "items"), places))


def _column(values: list[Any], what: str) -> Any:
    """Values as the rows of a tensor."""
    like = next((x.dtype for x in values if is_tensor(x)), None)
    if not all([is_tensor(x) or is_number(x) for x in values]):
        other = next(x for x in values if not is_tensor(x) and not is_number(x))
        raise InvalidArgumentError(f"sorted() by a traced tensor orders tensors and numbers, got "
                                   f"{described(other)} among the {what}")
    rows = [tensor(x, like) for x in values]
    if len({(x.dtype, shape_of(x)) for x in rows}) > 1:
        other = next(x for x in rows if (x.dtype, shape_of(x)) != (
            rows[0].dtype, shape_of(rows[0])))
        raise InvalidArgumentError(
            f"sorted() by a traced tensor wants {what} of one dtype and shape, got "
            f"{described(rows[0])} and {described(other)}: use dualflow.cast or dualflow.reshape")
    return stack(rows)


REPLACEMENTS: dict[Any, Callable[..., Any]] = {
    builtins.bool: _bool, builtins.int: _int, builtins.float: _float, builtins.len: _len,
    builtins.max: _max, builtins.min: _min, builtins.sorted: _sorted, builtins.any: _any,
    builtins.all: _all, builtins.range: _range, builtins.zip: _zip, builtins.map: _map,
    builtins.filter: _filter, builtins.sum: _sum,
    **{f: _over_first(f) for f in (builtins.list, builtins.tuple, builtins.set,
                                   builtins.enumerate, builtins.reversed)},
}
NAMES: frozenset[str] = frozenset({f.__name__ for f in REPLACEMENTS})
PASSED = "max", "min", "any", "all", "sorted"       # replaced where they are arguments, too
