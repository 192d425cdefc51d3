"""A traced function as a method of an instance; how functions are copied and pickled."""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

MAX_KEPT = 64             # instances that cannot have a weak reference; the oldest is dropped

T = TypeVar("T")


class Instances(Generic[T]):
    """Something for each instance, which lives as long as the instance does.

    An instance whose class has `__slots__` without `__weakref__` is kept alive, up to a bounded
    number of them.
    """

    def __init__(self, by_id: dict[int, tuple[Callable[[], Any], T]]) -> None:
        self.by_id = by_id
        self.kept: list[int] = []

    def get(self, instance: Any, make: Callable[[Callable[[], Any]], T]) -> T:
        """What belongs to an instance, made if need be by ``make(a function that returns it)``."""
        found = self.by_id.get(id(instance))
        if found is None:
            alive = self._reference(instance)
            found = self.by_id[id(instance)] = alive, make(alive)
        return found[1]

    def _reference(self, instance: Any) -> Callable[[], Any]:
        gone = functools.partial(self.by_id.pop, id(instance))
        try:
            return weakref.ref(instance, lambda _: gone(None))
        except TypeError:
            self.kept.append(id(instance))
            if len(self.kept) > MAX_KEPT:
                self.by_id.pop(self.kept.pop(0), None)
            return lambda: instance


def reduced(function: Any, made_of: tuple[Any, ...]) -> Any:
    """What pickle and copy make of a traced function: its name if its module has it under that
    name, as with Python's functions; otherwise a new one from the same parts, without traces."""
    path = getattr(function, "__qualname__", "")
    try:
        found = functools.reduce(getattr, path.split("."), sys.modules[function.__module__])
    except (AttributeError, KeyError):
        found = None
    return path if found is function else (type(function), made_of)
