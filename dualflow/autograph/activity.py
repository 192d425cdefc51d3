"""The names that code reads and assigns: the variables that branches and iterations carry."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from dualflow._util.named_tuple import NamedTuple

MUTATORS = frozenset({"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse",
                      "update", "setdefault", "popitem", "add", "discard"})
SCOPES = ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef
COMPREHENSIONS = ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp


class Names:
    """The uses of names in a piece of code.

    Attributes
    ----------
    reads : set of str
        Variables that may be read before the code assigns them.
    usual_reads : set of str
        The subset of `reads` that may be read if no exception is caught.
    sets : set of str
        Variables assigned on every path.
    usual_sets : set of str
        Variables assigned on every path without a caught exception.
    writes : set of str
        Variables that may be assigned or deleted.
    drops : set of str
        Variables that may be left without a value.
    attributes : dict of str to None
        Attributes that may be assigned, as `self.x`, in order.
    mutable_containers : dict of str to None
        Containers that may be changed in place: `ys`, `self.ys`.
    appends : set of str
        Lists that an append statement appends to.
    """

    __slots__ = (
        "appends",
        "attributes",
        "drops",
        "mutable_containers",
        "reads",
        "sets",
        "usual_reads",
        "usual_sets",
        "writes",
    )

    def __init__(self) -> None:
        self.reads: set[str] = set()
        self.usual_reads: set[str] = set()
        self.sets: set[str] = set()
        self.usual_sets: set[str] = set()
        self.writes: set[str] = set()
        self.drops: set[str] = set()
        self.attributes: dict[str, None] | None = None
        self.mutable_containers: dict[str, None] | None = None
        self.appends: set[str] | None = None

    def read(self, name: str) -> None:
        if name not in self.sets:
            self.reads.add(name)
        if name not in self.usual_sets:
            self.usual_reads.add(name)

    def write(self, name: str, certain: bool = True) -> None:
        self.writes.add(name)
        if certain:
            self.sets.add(name)
            self.usual_sets.add(name)
            self.drops.discard(name)

    def delete(self, name: str) -> None:
        self.read(name)
        self.writes.add(name)
        self.drops.add(name)

    def change(self, path: str) -> None:
        """Record that a container is changed in place."""
        self.mutable_containers = self._more(self.mutable_containers, {path: None})

    def assign_attribute(self, path: str) -> None:
        self.attributes = self._more(self.attributes, {path: None})

    def _more(self, held: dict[str, None] | None, paths: dict[str, None]) -> dict[str, None]:
        """Return `held` with further paths, except those rooted at a variable assigned here."""
        return {**(held or {}), **{x: None for x in paths if root(x) not in self.sets}}

    def then(self, other: Names, certain: bool = True, usual: bool = False) -> None:
        """Append code that runs always (`certain`), unless an exception is caught (`usual`), or
        possibly."""
        self.reads |= other.reads - self.sets
        self.usual_reads |= other.usual_reads - self.usual_sets
        self.writes |= other.writes
        if other.attributes:
            self.attributes = self._more(self.attributes, other.attributes)
        if other.mutable_containers:
            self.mutable_containers = self._more(self.mutable_containers, other.mutable_containers)
        if other.appends:
            self.appends = (self.appends or set()) | other.appends
        if certain:
            self.sets |= other.sets
            self.drops -= other.sets
        if certain or usual:
            self.usual_sets |= other.usual_sets
        self.drops |= other.drops

    def either(self, first: Names, second: Names) -> None:
        """Append two branches, only one of them taken."""
        self.then(first, False)
        self.then(second, False)
        self.sets |= first.sets & second.sets
        self.usual_sets |= first.usual_sets & second.usual_sets
        self.drops -= (first.sets - first.drops) & (second.sets - second.drops)


class Live(NamedTuple):
    """The live variables: those that are read later, before anything assigns them.

    Attributes
    ----------
    every : set of str
        Variables that may be read.
    usual : set of str
        Variables that may be read if no exception is caught.
    """

    every: set[str]
    usual: set[str]

    def before(self, does: Names) -> Live:
        """Return the variables that are live before some code."""
        return Live(does.reads | (self.every - does.sets),
                    does.usual_reads | (self.usual - does.usual_sets))

    def __or__(self, other: Any) -> Live:
        return Live(self.every | other.every, self.usual | other.usual)


def only_appended(names: Names, body: Sequence[ast.stmt]) -> list[str]:
    """Return the lists that a block uses only in statements `x.append(...)`."""
    found = []
    for word in sorted((names.appends or set()) - names.writes):
        mentions = [x for s in body for x in ast.walk(s)
                    if isinstance(x, ast.Name) and x.id == word]
        appends = [x for s in body for x in ast.walk(s) if appended_to(x) == word]
        if len(mentions) == len(appends):
            found.append(word)
    return found


def appended_to(s: ast.AST) -> str:
    """Return the variable of a statement `x.append(...)`, or ""."""
    value = s.value if isinstance(s, ast.Expr) else None
    if (isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute)
            and value.func.attr == "append" and isinstance(value.func.value, ast.Name)):
        return value.func.value.id
    return ""


def path(node: ast.expr) -> str:
    """Return `self.a[].b` for `self.a[k].b`, and "" for other expressions."""
    node = getattr(node, "subscript", node)     # of the call that replaces it
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute | ast.Subscript):
        base = path(node.value)
        step = f".{node.attr}" if isinstance(node, ast.Attribute) else "[]"
        return base and base + step
    return ""


def root(path: str) -> str:
    """Return the variable at the start of a path."""
    return path.partition(".")[0].partition("[")[0]


def bound_in(node: ast.AST) -> set[str]:
    """Return the parameters of a function, or the targets of a comprehension."""
    if isinstance(node, COMPREHENSIONS):
        return {x.id for g in node.generators for x in ast.walk(g.target)
                if isinstance(x, ast.Name)}
    args: Any = getattr(node, "args", None)
    if args is None:
        return set()
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    return {x.arg for x in every if x is not None}


def reads_of_scope(node: ast.AST) -> tuple[set[str], set[str]]:
    """Return the names that a nested scope may read from outside, and its nonlocal names."""
    read: set[str] = set()
    assigned: set[str] = set()
    local = bound_in(node)
    for x in ast.walk(node):
        if isinstance(x, ast.Name):
            read.add(x.id)
        elif isinstance(x, ast.Nonlocal):
            assigned.update(x.names)
    return read - local, assigned
