"""Unique names: scopes, and numbers appended to names that are taken.

Used by traces, the ONNX writer and `compat.v1`, where users see the names.
"""

from __future__ import annotations

from dualflow._core import PushedItem


class Names:
    """The names in use, and the stack of open scopes."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}
        self._scopes: list[str] = []

    def scope(self, name: str | None) -> PushedItem:
        """A context in which names begin with a new unique scope; it yields the scope with a slash.
        """
        scope = self.unique(str(name))
        return PushedItem(self._scopes, scope, f"{scope}/")

    def again(self, name: str) -> PushedItem:
        """A context like `scope` for a scope that may exist already: its name gets no number."""
        scope = "/".join([*self._scopes[-1:], name])
        return PushedItem(self._scopes, scope, f"{scope}/")

    def unique(self, name: str) -> str:
        """Return `name` in the current scope, with a number appended if it is taken."""
        if self._scopes:
            name = f"{self._scopes[-1]}/{name}"
        n = self._taken.get(name, 0)
        self._taken[name] = n + 1
        if n == 0:
            return name
        fresh = f"{name}_{n}"
        while fresh in self._taken:
            n += 1
            fresh = f"{name}_{n}"
        self._taken[name] = n + 1
        self._taken[fresh] = 1
        return fresh
