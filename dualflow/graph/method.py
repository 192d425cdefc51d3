"""A traced function as a method of an instance."""

from __future__ import annotations

from typing import Any


class Method:
    """A Function bound to an instance."""

    __slots__ = ("__self__", "function")

    def __init__(self, bound: Any, instance: Any) -> None:
        self.function = bound
        self.__self__ = instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.function, name)
