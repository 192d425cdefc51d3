"""Names of nodes: scopes, and numbers appended to names that are taken."""

from __future__ import annotations

from dualflow._core import OnTop


class Names:
    """The names given so far, and the scope that new ones begin with."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}
        self._scopes: list[str] = []

    def scope(self, name: str | None) -> OnTop:
        """Names given inside the block begin with the scope's, which it yields with a slash."""
        scope = self.unique(str(name))
        return OnTop(self._scopes, scope, f"{scope}/")

    def again(self, name: str) -> OnTop:
        """The same, of a scope that may have been there before: its name gets no number."""
        scope = "/".join([*self._scopes[-1:], name])
        return OnTop(self._scopes, scope, f"{scope}/")

    def unique(self, name: str) -> str:
        """`name` in the scope, with a number appended if it has been given before."""
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
