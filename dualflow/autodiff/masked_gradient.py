"""Gradients in graphs whose existence depends on data.

In eager mode a branch that was not taken gets no cotangent, nor does a carried value that is not
read after the loop; gradient rules of ops without a cotangent are not called. A missing cotangent
differs from zero: an optimizer does not update such a variable, and 0 times infinity is NaN. A
graph contains all rules, so a `MaskedGradient` pairs the value with a flag that is true if the
cotangent exists. Sums replace a missing value by -0.0, because x + -0.0 is x for every x.
"""

from __future__ import annotations

from dualflow._core import MaskedGradient, as_tensor, current_graph, record_function
from dualflow.ops.array.shape import expand_dims
from dualflow.ops.elementwise.bitwise import logical_and, logical_or
from dualflow.ops.elementwise.compare import where
from dualflow.ops.indexing.indexed_slices import IndexedSlices, plus
from dualflow.ops.reduction.reduce import reduce_any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

__all__ = ["MASKED", "add_masked", "clean", "flag_of", "resolve_flags", "with_flag", "zeroed"]

MASKED = "masked"       # the name of the gradient rule of `masked`


def clean(m: Any) -> Any:
    """Return the value, or -0.0 where the flag is false."""
    return m.value if m.clean else masked(m.value, m.flag, -0.0)


def zeroed(m: MaskedGradient) -> Any:
    """Return the value, or zeros where the flag is false."""
    return masked(m.value, m.flag, 0.0)


def masked(value: Any, flag: Any, fill: float) -> Any:
    """Return `value` where the flag is true, else `fill`. The gradient is a Maybe with the flag."""
    graph = current_graph()
    mark = graph.mark if graph is not None else None
    wide = flag
    for _ in range(value.ndim - flag.ndim if flag.ndim else 0):
        wide = expand_dims(wide, -1)
    chosen = where(wide, value, as_tensor(fill, value.dtype))

    def rule(g: tuple[Any, ...], y: Any, x: Any) -> list[Any]:
        return [MaskedGradient(g[0], flag)]

    return record_function(MASKED, rule, [value], [chosen], mark)[0]


def either(a: Any, b: Any) -> Any:
    """Return the disjunction of two flags, one per row if either has one per row."""
    if a is b:
        return a
    for _ in range(b.ndim - a.ndim):
        a = expand_dims(a, -1)
    for _ in range(a.ndim - b.ndim):
        b = expand_dims(b, -1)
    return logical_or(a, b)


def add_masked(parts: Sequence[Any]) -> Any:
    """Return the sum from left to right of gradients, some of which are Maybes."""
    found = parts[0]
    for g in parts[1:]:
        found = _plus(found, g)
    return found


def _plus(a: Any, b: Any) -> Any:
    if isinstance(a, MaskedGradient) and isinstance(b, MaskedGradient):
        return MaskedGradient(clean(a) + clean(b), either(a.flag, b.flag), True)
    if isinstance(a, MaskedGradient):
        return plus(zeroed(a) if isinstance(b, IndexedSlices) else clean(a), b)
    return as_tensor(a) + clean(b) if isinstance(b, MaskedGradient) else plus(a, b)


def resolve_flags(gs: Sequence[Any]) -> tuple[list[Any], Any]:
    """Return the cotangents to pass to a gradient rule, and a flag that is true if one exists, or
    None if one always exists. If others exist, missing ones become zeros, as in eager mode."""
    maybes = [g for g in gs if isinstance(g, MaskedGradient)]
    certain = any([g is not None and not isinstance(g, MaskedGradient) for g in gs])
    if len(maybes) == 1 and not certain and not maybes[0].flag.ndim:
        return [g.value if isinstance(g, MaskedGradient) else g for g in gs], maybes[0].flag
    flag = None
    if not certain:
        flag = flag_of(maybes[0])
        for m in maybes[1:]:
            flag = either(flag, flag_of(m))
    return [zeroed(g) if isinstance(g, MaskedGradient) else g for g in gs], flag


def flag_of(m: MaskedGradient) -> Any:
    """Return one flag that is true if the cotangent exists."""
    return reduce_any(m.flag) if m.flag.ndim else m.flag


def with_flag(unbroadcast: Callable[[Any, Any], Any], flag: Any, g: Any, x: Any) -> MaskedGradient:
    """Un-broadcast the result of a rule for x and attach the flag."""
    if isinstance(g, MaskedGradient):
        flag = g.flag if flag is None or flag is g.flag else logical_and(flag, g.flag)
        g = g.value
    return MaskedGradient(unbroadcast(g, x), flag)
