"""Entries of the dispatch cache: patterns that recognise calls like one that ran.

`function.py` adds the entry after a call. A pattern must match only calls for which the program of
the entry is valid.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dualflow._core import KnownCall, Like, like_leaf, like_nest
from dualflow.graph.calls.arguments import LEAF, Arguments, Key, StaticLeaf
from dualflow.graph.calls.concrete import ConcreteFunction
from dualflow.graph.calls.held import BoundCall
from dualflow.graph.program.compile import Compiled


def known_call(arguments: Arguments, args: tuple[Any, ...], kwargs: dict[str, Any],
               call: BoundCall, concrete: ConcreteFunction, compiled: Compiled,
               ) -> KnownCall | None:
    """What later calls like this one may run at once; None where only Python can recognise them:
    where arguments were converted, or are objects that Python takes apart."""
    if not concrete.lasting:
        return None
    by_place: dict[Any, Like] = {}
    defaults: list[tuple[Any, Like]] = []
    skeleton, leaves = call.skeleton, call.leaves
    rest = enumerate(leaves)
    for place, value, part in arguments.sources(len(args), list(kwargs), skeleton):
        like = pattern(part, rest, concrete.numbers)
        if like is None:
            return None
        if place is None:
            defaults.append((value, like))
        else:
            by_place[place] = like
    held = [(place, like_leaf(k, value, False))
            for place, (k, value) in zip(call.held, rest, strict=True)]
    n = len(leaves)
    if not kwargs and not held and all([part is LEAF for part in skeleton]) and all(
            [isinstance(kind, StaticLeaf) for kind in concrete.leaves[len(args):]]):
        n, defaults = len(args), []     # no program reads them, and they cannot change
    found = KnownCall(compiled.executable, n, [by_place[k] for k in range(len(args))],
                      {name: by_place[name] for name in kwargs}, defaults,
                      bool(concrete.numbers), *concrete.remember(compiled), concrete.places, held)
    again = found.leaves(args, kwargs)
    same = again is not None and all([a is b for a, b in zip(again, leaves, strict=False)])
    return found if same else None


def pattern(skeleton: Any, leaves: Iterator[tuple[int, Any]], numbers: list[int]) -> Like | None:
    """Return the pattern of structures with this skeleton and leaves like these; None if the core
    cannot take such a structure apart."""
    if skeleton is LEAF:
        k, value = next(leaves)
        return like_leaf(k, value, k in numbers)
    kind = skeleton[0]
    parts = []
    for s in skeleton[-1]:
        part = pattern(s, leaves, numbers)
        if part is None:
            return None
        parts.append(part)
    if kind is dict:
        _, names, order, _ = skeleton
        return like_nest(dict, [parts[k] for k in order],
                         [n.value if type(n) is Key else n for n in names])
    if kind is list or (issubclass(kind, tuple) and kind.__iter__ is tuple.__iter__):
        return like_nest(kind, parts)
    return None
