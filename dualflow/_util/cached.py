"""Properties that are computed once, without a lock. `functools.cached_property` of Python 3.11
has one lock for all objects of a class, which stays held in the child of a fork."""

from __future__ import annotations

from dualflow._util.generic import Generic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self, TypeVar, overload

    T = TypeVar("T")

__all__ = ["cached_property"]


class cached_property(Generic["T"]):
    """A property whose value is stored in the object's ``__dict__`` at the first access. Threads
    may compute it concurrently; the first result is stored.

    Parameters
    ----------
    compute : callable
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    if TYPE_CHECKING:
        @overload
        def __get__(self, owner: None, kind: type | None = None) -> Self: ...
        @overload
        def __get__(self, owner: object, kind: type | None = None) -> T: ...

    def __get__(self, owner: Any, kind: type | None = None) -> Self | T:
        if owner is None:
            return self
        value: T = owner.__dict__.setdefault(self.name, self.compute(owner))
        return value
