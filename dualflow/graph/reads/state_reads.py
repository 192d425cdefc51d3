"""The Python state that user code reads while it is traced, as guards of the trace
(`_core.StateGuards`).

`calls` creates a `StateReads` for each trace. When a user function is entered during tracing, the
access paths of its bytecode (`paths.py`) are resolved on the current objects. Code of this package,
of the standard library and of installed packages is skipped. Resolution must not run user code.
"""

from __future__ import annotations

import functools
import os
import sys
import weakref
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, MethodType, ModuleType

from dualflow._core import Dispatcher, FrameObserver, StateGuards, Symbol, Tensor, Variable
from dualflow._util.frames import FROZEN, is_installed, is_users
from dualflow.graph.reads.paths import ATTRIBUTE, EACH, FREE, GLOBAL, Path, Reads, reads_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Functions that return random numbers or the time.
DRAWS = ("random", "uniform", "normal", "randn", "rand", "randint", "choice", "shuffle", "sample",
         "permutation", "gauss", "randrange", "standard_normal")
CLOCKS = "time", "perf_counter", "monotonic", "time_ns", "perf_counter_ns", "process_time"
UNREPEATED = {"random": DRAWS, "numpy.random": DRAWS, "time": CLOCKS}
MOST_ITEMS = 4096       # limit of items of a container that are compared
# Iterators whose `__reduce__` returns the iterated container.
ITERATORS: tuple[type, ...] = type(iter([])), type(iter(()))
HOLDERS: tuple[type, ...] = FunctionType, MethodType, functools.partial, Dispatcher
INSIDE = "__func__", "__wrapped__", "func"      # attributes of holders with the inner function
CONTAINERS: tuple[type, ...] = list, dict, tuple
PLAIN: tuple[type, ...] = int, float, str, bool, type(None)
DEEP = 4                # limit of nested containers and functions
_reads: weakref.WeakKeyDictionary[CodeType, Reads] = weakref.WeakKeyDictionary()


class StateReads:
    """The Python state that one trace reads.

    Attributes
    ----------
    places : StateGuards
    unrepeated : list of str
        Calls of random number generators and clocks.
    """

    def __init__(self, function: Any) -> None:
        self.places = StateGuards()
        self.unrepeated: list[str] = []
        # by id; objects are kept alive until `settle`
        self._done: dict[int, Any] = {}
        self._captured: dict[int, Any] = {}     # values of free variables that are compared
        self._asked: dict[tuple[int, int], Any] = {}    # by code and object, for `_attributes`
        self._root = function

    def watching(self) -> FrameObserver:
        """Return a context that records what the code of this thread reads."""
        self._function(self._root, "", 0)
        return FrameObserver(self._entered)

    def settle(self) -> list[tuple[str, str]]:
        """End the recording. Return the places that the traced code changed itself, and how; such
        places are not compared later."""
        self._done.clear()
        self._captured.clear()
        self._asked.clear()
        self._root = None
        changed: list[tuple[str, str]] = self.places.settle()
        return changed

    # --- frames ---

    def _entered(self, code: CodeType, frame: FrameType) -> bool | None:
        if not is_users(frame) or is_installed(code.co_filename):
            return None
        found = _reads.get(code)
        if found is None:
            found = _reads[code] = reads_of(code)
        file = os.path.basename(code.co_filename)
        reached: dict[int, Any] = {}
        for path, line in found.paths.items():
            self._follow(path, frame, f"{file}:{line}", reached)
        if found.attributes:
            self._attributes(code, found.attributes, [*reached.values()], file)
        return found.in_locals

    def _follow(self, path: Path, frame: FrameType, line: str, reached: dict[int, Any]) -> None:
        """Record the steps of a path, and add the objects along the path to `reached`."""
        kind, name = path.root
        if kind == GLOBAL:
            where = f"{name} ({line})"
            found = self.places.name(frame.f_globals, frame.f_builtins, name, where)
        else:
            found = (frame.f_locals[name],) if name in frame.f_locals else ()
        if not found:
            return
        values = [found[0]]
        held = id(found[0]) in self._captured or id(found[0]) in self._done
        text, loose = name, kind != GLOBAL and not held
        if not loose or not isinstance(found[0], CONTAINERS):
            reached[id(found[0])] = found[0]
        for k, (step, key) in enumerate(path.steps):
            text = str(Path(path.root, path.steps[:k + 1]))
            values = [y for x in values for y in self._step(x, step, key, f"{text} ({line})",
                                                             loose and not k)]
            reached.update([(id(y), y) for y in values])
        if path.steps or kind != FREE:
            for x in values:
                self._value(x, f"{text} ({line})", 0, loose and not path.steps)

    def _step(self, x: Any, step: str, key: Any, text: str, loose: bool) -> list[Any]:
        """Return the objects one step further. `loose`: x is a value of the frame, whose contents
        may differ in each call, unless x is an object with attributes."""
        if isinstance(x, Tensor | Variable | Symbol) or type(x) in (int, float, str, bool):
            return []
        if step == ATTRIBUTE:
            if isinstance(x, list | dict | tuple):          # a method, which may read the contents
                self._value(x, text, 0, loose)
                return []
            if isinstance(x, ModuleType) and is_installed(getattr(x, "__file__", None) or FROZEN):
                self._look(x.__name__, key, text)
                name = f"{x.__name__}.{key}"    # NumPy imports some submodules on first access
                inner = getattr(x, key, None) if name in UNREPEATED else sys.modules.get(name)
                return [] if inner is None else [inner]
            found = self.places.attribute(x, key, text)
            return [] if not found else [_plain(found[0])]
        if step == EACH and type(x) in ITERATORS:
            x, loose = x.__reduce__()[1][0], False
        if loose or not isinstance(x, list | dict | tuple):
            return []
        if step == EACH:
            self._value(x, text, 0, False)
            return list(x)[:MOST_ITEMS] if not isinstance(x, dict) else []
        if isinstance(x, tuple):
            return [x[key]] if type(key) is int and -len(x) <= key < len(x) else []
        found = self.places.item(x, key, text)
        return [found[0]] if found else []

    def _attributes(self, code: CodeType, names: dict[str, int], objects: list[Any],
                    file: str) -> None:
        """Record the attributes of these names that user objects among `objects` have, and objects
        in their containers and attributes: the code reads the attributes from a value that may be
        any of them."""
        for _ in range(DEEP):
            inner: list[Any] = []
            for x in objects[:MOST_ITEMS]:
                if type(x) in PLAIN or (id(code), id(x)) in self._asked:
                    continue
                self._asked[id(code), id(x)] = x
                if isinstance(x, CONTAINERS):
                    items: Any = x.values() if isinstance(x, dict) else x
                    inner += list(items)[:MOST_ITEMS]
                elif is_users_object(x):
                    for name, line in names.items():
                        if has_attribute(x, name):
                            inner += self._step(x, ATTRIBUTE, name,
                                                f".{name} of a {type(x).__name__} ({file}:{line})",
                                                False)
            objects = inner

    def _look(self, module: str, name: str, text: str) -> None:
        """Record a function if its results differ from call to call; runs do not repeat calls."""
        if name in UNREPEATED.get(module, ()):
            self.unrepeated.append(text)

    # --- values ---

    def _value(self, x: Any, text: str, depth: int, loose: bool) -> None:
        """Record the contents of a value: items of containers, closures and defaults of functions.
        """
        if loose or depth > DEEP:
            return
        if isinstance(x, list | dict):
            self._items(x, text, depth)
        elif isinstance(x, tuple):
            for y in x[:MOST_ITEMS]:
                self._value(y, text, depth + 1, False)
        elif isinstance(x, BuiltinFunctionType):
            self._look(getattr(x, "__module__", None) or "random", x.__name__, text)
        elif isinstance(x, HOLDERS):
            self._function(x, text, depth)

    def _items(self, x: Any, text: str, depth: int) -> None:
        if type(x) not in (list, dict) or id(x) in self._done:
            return
        self._done[id(x)] = x
        self.places.items(x, text)
        for k in list(x if isinstance(x, dict) else range(len(x)))[:MOST_ITEMS]:
            found = self.places.item(x, k, f"{text}[{k!r}]")
            if found:
                self._value(found[0], f"{text}[{k!r}]", depth + 1, False)

    def _function(self, x: Any, text: str, depth: int) -> None:
        """Record the defaults and the free variables of a user function."""
        while not isinstance(x, FunctionType) or is_installed(x.__code__.co_filename):
            inner = next((y for y in [getattr(x, name, None) for name in INSIDE] if y), None)
            if inner is None or inner is x:
                return
            x = inner
        if id(x) in self._done:
            return
        self._done[id(x)] = x
        name = x.__name__
        for y in (*(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values()):
            self._value(y, f"a default of {name}", depth + 1, False)
        for variable, cell in zip(x.__code__.co_freevars, x.__closure__ or (), strict=True):
            where = f"{variable} of {name} ({line_of(x.__code__)})"
            found = self.places.cell(cell, where)
            if found:
                self._captured[id(found[0])] = found[0]
                self._value(found[0], where, depth + 1, False)


def is_users_object(x: Any) -> bool:
    """Return True if the class of an object is not of this or another installed package."""
    if isinstance(x, Tensor | Variable | Symbol | ModuleType | type):
        return False
    name = type(x).__module__
    path = getattr(sys.modules.get(name), "__file__", None)
    if name.startswith("dualflow.") or path is None:
        return name == "__main__"
    return not is_installed(path)


def has_attribute(x: Any, name: str) -> bool:
    """Return True if an object has an attribute; runs no code of the object."""
    return name in getattr(x, "__dict__", ()) or any([name in c.__dict__ for c in type(x).__mro__])


def line_of(code: CodeType) -> str:
    """Return the file and first line of a function."""
    return f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}"


def _plain(x: Any) -> Any:
    """Return the function of a static or class method; other objects are returned as they are."""
    return x.__func__ if isinstance(x, staticmethod | classmethod) else x

