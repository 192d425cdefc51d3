"""Dims as expressions: their leaves, and their value for given leaves. Knows no graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dualflow._core import Dim, dim_value


def dim_now(dim: Dim, leaf: Callable[[Dim], Any]) -> Any:
    """The value of a Dim when `leaf` gives those of sizes, arguments and elements."""
    values: dict[int, Any] = {}
    pending: list[Any] = [dim]
    while pending:
        d = pending[-1]
        if id(d) in values:
            pending.pop()
            continue
        if d.kind in ("size", "argument", "element"):
            values[id(d)] = leaf(d)
            continue
        waiting = [x for x in d.args if isinstance(x, Dim) and id(x) not in values]
        if waiting:
            pending.extend(waiting)
            continue
        values[id(d)] = dim_value(d.kind, *[values[id(x)] if isinstance(x, Dim) else x
                                          for x in d.args])
    return values[id(dim)]


def leaves(dim: Dim) -> list[Dim]:
    """Sizes, arguments and elements a Dim is computed from."""
    found, pending = [], [dim]
    while pending:
        d = pending.pop()
        if d.kind in ("size", "argument", "element"):
            found.append(d)
        else:
            pending.extend(x for x in d.args if isinstance(x, Dim))
    return found
