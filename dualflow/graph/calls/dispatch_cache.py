"""Entries of the dispatch cache: patterns that recognise calls like one that ran.

`function.py` adds the entry after a call. A pattern must match only calls for which the program of
the entry is valid.
"""

from __future__ import annotations

from collections.abc import Iterator

from dualflow._core import ArgumentGuard, CacheEntry, container_guard, leaf_guard
from dualflow.graph.calls.arguments import LEAF, Arguments, Key, StaticLeaf
from dualflow.graph.calls.concrete import ConcreteFunction
from dualflow.graph.calls.held import BoundCall
from dualflow.graph.program.compile import Compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def cache_entry(arguments: Arguments, args: tuple[Any, ...], kwargs: dict[str, Any],
                call: BoundCall, concrete: ConcreteFunction, compiled: Compiled,
                ) -> CacheEntry | None:
    """What later calls like this one may run at once; None where only Python can recognise them:
    where arguments were converted, or are objects that Python takes apart."""
    if not concrete.lasting:
        return None
    by_position: dict[Any, ArgumentGuard] = {}
    defaults: list[tuple[Any, ArgumentGuard]] = []
    treedef, leaves = call.treedef, call.leaves
    rest = enumerate(leaves)
    for position, value, part in arguments.sources(len(args), list(kwargs), treedef):
        guard = guard_for(part, rest, concrete.numbers)
        if guard is None:
            return None
        if position is None:
            defaults.append((value, guard))
        else:
            by_position[position] = guard
    held = [(position, leaf_guard(k, value, False))
            for position, (k, value) in zip(call.held, rest, strict=True)]
    n = len(leaves)
    if not kwargs and not held and all([part is LEAF for part in treedef]) and all(
            [isinstance(kind, StaticLeaf) for kind in concrete.leaves[len(args):]]):
        n, defaults = len(args), []     # no program reads them, and they cannot change
    found = CacheEntry(compiled.executable, n, [by_position[k] for k in range(len(args))],
                       {name: by_position[name] for name in kwargs}, defaults,
                       bool(concrete.numbers), *concrete.remember(compiled), concrete.places, held)
    again = found.leaves(args, kwargs)
    same = again is not None and all([a is b for a, b in zip(again, leaves, strict=False)])
    return found if same else None


def guard_for(treedef: Any, leaves: Iterator[tuple[int, Any]],
              numbers: list[int]) -> ArgumentGuard | None:
    """Return the pattern of structures with this skeleton and leaves like these; None if the core
    cannot take such a structure apart."""
    if treedef is LEAF:
        k, value = next(leaves)
        return leaf_guard(k, value, k in numbers)
    kind = treedef[0]
    parts = []
    for s in treedef[-1]:
        part = guard_for(s, leaves, numbers)
        if part is None:
            return None
        parts.append(part)
    if kind is dict:
        _, names, order, _ = treedef
        return container_guard(dict, [parts[k] for k in order],
                               [n.value if type(n) is Key else n for n in names])
    if kind is list or (issubclass(kind, tuple) and kind.__iter__ is tuple.__iter__):
        return container_guard(kind, parts)
    return None
