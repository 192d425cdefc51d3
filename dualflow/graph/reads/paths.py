"""Access paths in bytecode: the names, attributes and items that a function reads.

    self.net.rate * CFG["k"]     ->     self .net .rate,  CFG ["k"]

`watch` calls `reads_of`. A path starts at a global name, a free variable or a parameter, followed
by attributes and by items with constant keys. A local variable that is assigned once is an alias of
its path; a loop variable denotes the items of the iterated path. Branches are not distinguished: a
path counts as read if any branch reads it. An unknown instruction must end the current path, and so
must the target of a jump. Attributes of a value without a path are listed by name: the value may be
any object that the function can reach by its paths.
"""

from __future__ import annotations

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
LOADS_ATTRIBUTE = "LOAD_ATTR", "LOAD_METHOD", "LOAD_ATTR_METHOD"
PASSED_OVER = "PUSH_NULL", "PRECALL", "NOP", "EXTENDED_ARG", "CACHE", "RESUME", "NOT_TAKEN"
LOCALS = "LOAD_FAST_BORROW", "LOAD_FAST", "STORE_FAST"  # instructions that others combine in pairs
CLEAR = "LOAD_FAST_AND_CLEAR"               # of a variable of a comprehension, Python 3.12 on
# Instructions between the iterator of a comprehension and its first iteration; the iterator stays
# on top. Python 3.13 calls iter() a second time.
STARTS_RESULT = "SWAP", "BUILD_LIST", "BUILD_SET", "BUILD_MAP", "GET_ITER"
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
    attributes : dict of str to int
        From the name of an attribute of a value without a path to the line of the first read.
    """

    paths: dict[Path, int]
    in_locals: bool
    attributes: dict[str, int]


def reads_of(code: CodeType) -> Reads:
    """Return the access paths of a code object, without nested functions."""
    scan = _Scan(code)
    found = scan.run()
    return Reads(found, any([path.root[0] != GLOBAL for path in found]), scan.attributes)


class _Instruction(NamedTuple):
    name: str
    value: Any
    line: int | None
    is_target: bool = False             # of a jump


def _instructions(code: CodeType) -> list[_Instruction]:
    """Return the instructions of a code object, as if of Python 3.11: pairs are split, integers are
    constants, items are read by BINARY_SUBSCR, and the iterator of a comprehension is on top of the
    stack."""
    import dis  # slow import, for functions of the user only

    found: list[_Instruction] = []
    for x in dis.get_instructions(code):
        name, value = x.opname, x.argval
        line = None if x.positions is None else x.positions.lineno
        if name in PASSED_OVER or (name in STARTS_RESULT and found and found[-1].name == CLEAR):
            continue
        if isinstance(value, tuple) and name.startswith(LOCALS):
            first, = [each for each in LOCALS if name.startswith(f"{each}_")][:1]
            found += [_Instruction(first, value[0], line, x.is_jump_target),
                      _Instruction(name[len(first) + 1:], value[1], line)]
            continue
        if name == "LOAD_SMALL_INT":
            name = "LOAD_CONST"
        elif name == "BINARY_OP" and x.argrepr == "[]":
            name = "BINARY_SUBSCR"
        found.append(_Instruction(name, value, line, x.is_jump_target and name != "FOR_ITER"))
    return found


class _Scan:
    """A linear scan of instructions.

    Attributes
    ----------
    now : Path or None
        The path of the value on top of the stack.
    key : tuple or None
        A constant that was loaded after that value, in a tuple.
    below : Path or None
        The path of the value below the top of the stack, if it was loaded just before.
    """

    def __init__(self, code: CodeType) -> None:
        self.instructions = _instructions(code)
        n = code.co_argcount + code.co_kwonlyargcount + sum(
            [bool(code.co_flags & flag) for flag in PARAMETER_FLAGS])
        stored = Counter([x.value for x in self.instructions
                          if x.name.startswith(("STORE_FAST", "DELETE_FAST", "STORE_DEREF"))
                          and isinstance(x.value, str)])
        for x in self.instructions:
            if x.name == CLEAR:             # restored at the end, and if there is an exception
                stored[x.value] -= 2
        self.known: dict[str, Path] = {name: Path((LOCAL, name)) for name in code.co_varnames[:n]
                                       if not stored[name]}
        self.once: set[str] = {name for name, times in stored.items() if times == 1}
        self.free: frozenset[str] = frozenset(code.co_freevars)
        self.found: dict[Path, int] = {}
        self.attributes: dict[str, int] = {}
        self.line = code.co_firstlineno
        self.now: Path | None = None
        self.key: tuple[Any, ...] | None = None
        self.below: Path | None = None
        self.asks = False

    def run(self) -> dict[Path, int]:
        for x in self.instructions:
            if x.line is not None:
                self.line = x.line
            if x.is_target:             # the value on top may be of another branch
                self.begin(None)
                self.below = None
            self.step(x.name, x.value)
        self.begin(None)
        return self.found

    def begin(self, path: Path | None) -> None:
        """End the current path and start another one."""
        if self.now is not None:
            self.asks = self.now.root in [(GLOBAL, name) for name in ASKS] and not self.now.steps
            if self.now.steps or self.now.root[0] != LOCAL:
                self.found.setdefault(self.now, self.line)
        self.now, self.key = path, None

    def load(self, path: Path | None) -> None:
        below = None if self.key else self.now
        self.begin(path)
        self.below = below

    def step(self, name: str, value: Any) -> None:
        below, self.below = self.below, None
        if name in ("LOAD_GLOBAL", "LOAD_NAME"):
            self.load(Path((GLOBAL, value)))
        elif name == "LOAD_DEREF" or name.startswith("LOAD_CLASSDEREF"):
            self.load(Path((FREE, value)) if value in self.free else self.known.get(value))
        elif name in LOADS_LOCAL:
            self.load(self.known.get(value))
        elif name == "SWAP" and value == 2 and below is not None and not self.key:
            self.now, self.below = below, self.now
        elif name in LOADS_ATTRIBUTE and (self.now is None or self.key):
            self.begin(None)
            self.attributes.setdefault(value, self.line)
        elif name in LOADS_ATTRIBUTE and self.now is not None:
            self.now = self.now.to(ATTRIBUTE, value)
        elif name == "LOAD_CONST" and self.now is not None and type(value) is not slice:
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
        elif name == CLEAR or (name == "COPY" and value == 1):     # of an augmented assignment
            pass
        elif name == "FOR_ITER" and self.now is not None:
            if self.now == Path((LOCAL, ITERATOR)):
                self.now = self.now.to(EACH)
        elif name == "STORE_FAST" and value in self.once and self.now is not None and not self.key:
            path = self.now
            self.begin(None)
            self.known[value] = path
            self.now = below            # `a, b = x, y` stores two values
        else:
            self.begin(None)
            self.asks = False
