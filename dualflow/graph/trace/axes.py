"""Axes that depend on data: a `cond` with one branch for each possible choice of axes.

The core calls `by_axes`, composed ops call `choose` (`ops/axes.py`). In a branch the axes are
Python integers, so the rank of the result and the path through a gradient rule are static.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod

from dualflow._core import Attrs, Dim, Op, Symbol, apply, as_tensor, map_attrs
from dualflow.dtypes import ALL as DTYPES, int32, int64
from dualflow.errors import DualflowError, UnimplementedError
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import where
from dualflow.ops.indexing.gather import gather

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST = 120          # limit of branches: all orders of five dimensions


def by_axes(trace: Any, op: Op, inputs: Sequence[Symbol], attrs: Attrs, axes: Sequence[Dim],
            name: str | None) -> Any:
    """Apply an op of whose attributes `axes` depend on data."""
    def with_axes(values: Sequence[int]) -> Attrs:
        found = dict(zip(map(id, axes), values, strict=True))
        return map_attrs(op, attrs, lambda d: found.get(id(d), d))

    def branch(values: Sequence[int]) -> Any:
        packed: Any = with_axes(values).values
        given: dict[str, Any] = {attr: DTYPES[v] if kind == "dtype" else v for attr, kind, v in zip(
            op.attrs, op.attr_types, packed, strict=True)}
        return apply(op.name, *inputs, **given)

    ndim = max([x.ndim for x in inputs], default=0)
    if len(axes) == 1 and _is_possible(trace, branch, (ndim,)):
        ndim += 1               # the op adds a dimension
    return choose(trace, axes, [ndim] * len(axes), branch, name or op.name)


def _is_possible(trace: Any, branch: Callable[[Sequence[int]], Any], values: Sequence[int]) -> bool:
    """Return True if `branch` can be traced with these axes."""
    def try_it() -> None:
        branch(values)

    try:
        trace.trace_and_discard(try_it)
    except DualflowError:
        return False
    return True


def choose(trace: Any, axes: Sequence[Dim], choices: Sequence[int],
           branch: Callable[[Sequence[int]], Any], name: str) -> Any:
    """Record a `cond` over the values of `axes` and return its result.

    Parameters
    ----------
    trace : Trace
    axes : sequence of Dim
    choices : sequence of int
        The number of values of each axis; negative values count from the end.
    branch : callable (tuple of int)
        Returns the result for these axes. If it raises, a run with these axes raises.
    name : str
    """
    places: dict[tuple[int, ...], int] = {}
    table = []
    if prod(choices) > 16 * MOST:
        raise _too_many(name, axes)
    for values in product(*map(range, choices)):
        if _is_possible(trace, branch, values):
            places[values] = len(places)
        table.append(places.get(values, -1))
    if len(places) > MOST:
        raise _too_many(name, axes)
    if not places:
        return branch((0,) * len(axes))         # raises the reason
    code: Any = as_tensor(0, int64)
    for axis, ndim in zip(axes, choices, strict=True):
        x = as_tensor(axis, int64)
        x = where(x < 0, x + ndim, x)
        _want(trace, x, "ge", 0)
        _want(trace, x, "lt", ndim)
        code = code * ndim + x
    index = code
    if table != list(range(len(table))):
        index = gather(as_tensor(table, int64), code)
        _want(trace, index, "ge", 0)
    branches = [lambda values=values: branch(values) for values in places]
    if len(branches) == 1:
        return branches[0]()
    return trace.cond(cast(index, int32), branches, name, name)


def _want(trace: Any, x: Any, op: str, limit: int) -> None:
    """Add a guard that compares an integer with a limit in each run."""
    trace.guard(op, (trace.dim_of(x), limit), True)


def _too_many(name: str, axes: Sequence[Dim]) -> UnimplementedError:
    return UnimplementedError(f"{name}: {len(axes)} axes that are known only when the program runs "
                              "have too many orders; use Python integers")
