"""Access paths in bytecode: the names, attributes and items that a function reads.

    self.net.rate * CFG["k"]     ->     self .net .rate,  CFG ["k"]

`watch` calls `reads_of`. A path starts at a global name, a free variable or a parameter, followed
by attributes and by items with constant keys. A local variable that is assigned once is an alias of
its path; a loop variable denotes the items of the iterated path. Branches are not distinguished: a
path counts as read if any branch reads it. An unknown instruction must end the current path.
"""

from __future__ import annotations

import dis
from collections import Counter
from types import CodeType

from dualflow._util.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

GLOBAL, FREE, LOCAL = "global", "free", "local"
ATTRIBUTE, ITEM, EACH = "attribute", "item", "each"
ASKS = "getattr", "hasattr"                 # builtins that read an attribute by its name
LOADS_LOCAL = "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW"
PASSED_OVER = "PUSH_NULL", "PRECALL", "NOP", "EXTENDED_ARG", "CACHE", "RESUME"
ITERATOR = ".0"                             # the parameter of a comprehension
PARAMETER_FLAGS = 0x04, 0x08                # *args, **kwargs


class Path(NamedTuple):
    """An access path: a root and the steps after the root."""

    root: tuple[str, str]
    steps: tuple[tuple[str, Any], ...] = ()

    def to(self, kind: str, key: Any = None) -> Path:
        return Path(self.root, (*self.steps, (kind, key)))

    def __str__(self) -> str:
        text = self.root[1]
        for kind, key in self.steps:
            text += f".{key}" if kind == ATTRIBUTE else f"[{key!r}]" if kind == ITEM else "[...]"
        return text


class Reads(NamedTuple):
    """The access paths of a code object.

    Attributes
    ----------
    paths : dict of Path to int
        From a path to the line of the first read.
    in_locals : bool
        True if a path starts at a parameter or a free variable.
    """

    paths: dict[Path, int]
    in_locals: bool


def reads_of(code: CodeType) -> Reads:
    """Return the access paths of a code object, without nested functions."""
    found = _Scan(code).run()
    return Reads(found, any([path.root[0] != GLOBAL for path in found]))


class _Scan:
    """A linear scan of instructions.

    Attributes
    ----------
    now : Path or None
        The path of the value on top of the stack.
    key : tuple or None
        A constant that was loaded after that value, in a tuple.
    """

    def __init__(self, code: CodeType) -> None:
        self.instructions = [x for x in dis.get_instructions(code) if x.opname not in PASSED_OVER]
        n = code.co_argcount + code.co_kwonlyargcount + sum(
            [bool(code.co_flags & flag) for flag in PARAMETER_FLAGS])
        stored = Counter([x.argval for x in self.instructions
                          if x.opname.startswith(("STORE_FAST", "DELETE_FAST", "STORE_DEREF"))
                          and isinstance(x.argval, str)])
        self.known: dict[str, Path] = {name: Path((LOCAL, name)) for name in code.co_varnames[:n]
                                       if not stored[name]}
        self.once: set[str] = {name for name, times in stored.items() if times == 1}
        self.free: frozenset[str] = frozenset(code.co_freevars)
        self.found: dict[Path, int] = {}
        self.line = code.co_firstlineno
        self.now: Path | None = None
        self.key: tuple[Any, ...] | None = None
        self.asks = False

    def run(self) -> dict[Path, int]:
        for x in self.instructions:
            if x.positions is not None and x.positions.lineno is not None:
                self.line = x.positions.lineno
            self.step(x.opname, x.argval)
        self.begin(None)
        return self.found

    def begin(self, path: Path | None) -> None:
        """End the current path and start another one."""
        if self.now is not None:
            self.asks = self.now.root in [(GLOBAL, name) for name in ASKS] and not self.now.steps
            if self.now.steps or self.now.root[0] != LOCAL:
                self.found.setdefault(self.now, self.line)
        self.now, self.key = path, None

    def step(self, name: str, value: Any) -> None:
        if name in ("LOAD_GLOBAL", "LOAD_NAME"):
            self.begin(Path((GLOBAL, value)))
        elif name == "LOAD_DEREF" or name.startswith("LOAD_CLASSDEREF"):
            self.begin(Path((FREE, value)) if value in self.free else self.known.get(value))
        elif name in LOADS_LOCAL:
            self.begin(self.known.get(value))
        elif name in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_ATTR_METHOD") and self.now is not None:
            self.now, self.key = (None, None) if self.key else (
                self.now.to(ATTRIBUTE, value), None)
        elif name == "LOAD_CONST" and self.now is not None:
            if self.asks and isinstance(value, str):
                self.now = self.now.to(ATTRIBUTE, value)
                self.begin(None)
            else:
                self.key = (value,)
        elif name in ("BINARY_SUBSCR", "CONTAINS_OP") and self.now is not None and self.key:
            self.now, self.key = self.now.to(ITEM, self.key[0]), None
        elif name == "GET_ITER" and self.now is not None and not self.key:
            path = self.now.to(EACH)
            self.begin(path)
        elif name == "COPY" and value == 1:     # the target of an augmented assignment
            pass
        elif name == "FOR_ITER" and self.now is not None:
            if self.now == Path((LOCAL, ITERATOR)):
                self.now = self.now.to(EACH)
        elif name == "STORE_FAST" and value in self.once and self.now is not None and not self.key:
            path = self.now
            self.begin(None)
            self.known[value] = path
        else:
            self.begin(None)
            self.asks = False
