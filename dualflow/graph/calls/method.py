"""Traced functions as methods of instances; copying and pickling of traced functions.

Used by `function.py`. A traced method must not keep its instance alive if a weak reference can.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable

from dualflow._util.generic import Generic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")

MAX_STRONG = 64           # instances without weak references; the oldest is dropped


class Instances(Generic["T"]):
    """A map from instances to objects that live as long as the instances.

    Instances whose class has `__slots__` without `__weakref__` are kept alive, at most
    `MAX_STRONG`.
    """

    def __init__(self, by_id: dict[int, tuple[Callable[[], Any], T]]) -> None:
        self.by_id = by_id
        self.strong_ids: list[int] = []

    def get(self, instance: Any, make: Callable[[Callable[[], Any]], T]) -> T:
        """Return the object of an instance; if there is none, create it by ``make(alive)``, where
        ``alive()`` returns the instance."""
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
            self.strong_ids.append(id(instance))
            if len(self.strong_ids) > MAX_STRONG:
                self.by_id.pop(self.strong_ids.pop(0), None)
            return lambda: instance


def reduced(function: Any, made_of: tuple[Any, ...]) -> Any:
    """Return the `__reduce__` value of a traced function: its name if its module has it under that
    name, like a Python function, else a constructor call with the same parts, without traces."""
    path = getattr(function, "__qualname__", "")
    try:
        found = functools.reduce(getattr, path.split("."), sys.modules[function.__module__])
    except (AttributeError, KeyError):
        found = None
    return path if found is function else (type(function), made_of)
