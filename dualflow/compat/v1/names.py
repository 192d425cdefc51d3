"""Names of operations as TensorFlow makes them different."""

from __future__ import annotations

import re

from dualflow._core import OnTop
from dualflow.graph.trace.names import Names

# What operators call their operations, where that is not the name of dualflow's op.
OPERATORS = {"subtract": "sub", "multiply": "mul", "divide": "truediv", "negative": "Neg",
             "floormod": "mod", "abs": "Abs", "less": "Less", "less_equal": "LessEqual",
             "greater": "Greater", "greater_equal": "GreaterEqual", "equal": "Equal",
             "not_equal": "NotEqual", "constant": "Const", "parameter": "Placeholder",
             "cast": "Cast"}


NODE = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*\Z")
INNER_SCOPE = re.compile(r"[A-Za-z0-9_.\\/>-]*\Z")


def allowed(name: str) -> str:
    """A name with other characters in the place of those that names of nodes cannot have."""
    return re.sub(r"[^A-Za-z0-9_.\\/>-]", ".", name).lstrip("_/>-\\") or "."


class ScopedNames(Names):
    """Names that differ in more than capitals; a scope that ends with a slash is one that exists,
    and no name at all is the outermost."""

    def scope(self, name: str | None) -> OnTop:
        if not name:
            return OnTop(self._scopes, "", "")
        if not (INNER_SCOPE if self.current else NODE).match(name):
            raise ValueError(f"{name!r} is not a valid scope name")
        scope = name[:-1] if name.endswith("/") else self.unique(name)
        return OnTop(self._scopes, scope, f"{scope}/")

    @property
    def current(self) -> str:
        """The scope that new names begin with."""
        return self._scopes[-1] if self._scopes else ""

    def unique(self, name: str, take: bool = True) -> str:
        if name.endswith("/"):          # a scope's own name, which is taken already
            return name[:-1]
        if self.current:
            name = f"{self.current}/{name}"
        key = name.lower()
        n = self._taken.get(key, 0)
        if take:
            self._taken[key] = n + 1
        if n == 0:
            return name
        while f"{key}_{n}" in self._taken:
            n += 1
        if take:
            self._taken[key], self._taken[f"{key}_{n}"] = n + 1, 1
        return f"{name}_{n}"
