"""Unique names of operations by TensorFlow's rules."""

from __future__ import annotations

import re

from dualflow._core import PushedItem
from dualflow.graph.trace.names import Names

# Names of the operations of Python operators, if they differ from the name of dualflow's op.
OPERATORS = {"subtract": "sub", "multiply": "mul", "divide": "truediv", "negative": "Neg",
             "floormod": "mod", "abs": "Abs", "less": "Less", "less_equal": "LessEqual",
             "greater": "Greater", "greater_equal": "GreaterEqual", "equal": "Equal",
             "not_equal": "NotEqual", "constant": "Const", "parameter": "Placeholder",
             "cast": "Cast"}


NODE = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*\Z")
INNER_SCOPE = re.compile(r"[A-Za-z0-9_.\\/>-]*\Z")


def allowed(name: str) -> str:
    """Return a name with the characters that node names cannot contain replaced by dots."""
    return re.sub(r"[^A-Za-z0-9_.\\/>-]", ".", name).lstrip("_/>-\\") or "."


class ScopedNames(Names):
    """Names that differ by more than case. A scope name that ends with a slash re-enters a scope;
    an empty name is the outermost scope."""

    def scope(self, name: str | None) -> PushedItem:
        if not name:
            return PushedItem(self._scopes, "", "")
        if not (INNER_SCOPE if self.current else NODE).match(name):
            raise ValueError(f"{name!r} is not a valid scope name")
        scope = name[:-1] if name.endswith("/") else self.unique(name)
        return PushedItem(self._scopes, scope, f"{scope}/")

    @property
    def current(self) -> str:
        """The prefix of new names."""
        return self._scopes[-1] if self._scopes else ""

    def unique(self, name: str, take: bool = True) -> str:
        if name.endswith("/"):          # the name of a scope, registered already
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
