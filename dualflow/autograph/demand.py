"""Conversion on demand: replaces the code that needs the concrete value of a traced tensor."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, FunctionType
from typing import Any

from dualflow._core import Symbol
from dualflow._util.frames import COMPREHENSIONS, PACKAGE
from dualflow._util.locks import reentrant_lock
from dualflow.autograph.convert import converted, is_converted, plain
from dualflow.autograph.replay import PathExplorer
from dualflow.autograph.source import Missing, NoSource
from dualflow.autograph.values import restart_trace

HOLDERS = "python_function", "__func__", "func", "__wrapped__", "fget", "__call__"
DEPTH = 6           # nesting depth of the search for functions inside other objects
_left: dict[int, CodeType] = {}
_lock = reentrant_lock()


def do_not_convert(function: Any) -> None:
    """Exempt a function, and the functions it calls, from conversion."""
    code = plain(function).__code__
    _left[id(code)] = code


class Replacements:
    """Functions and the code objects that replace their own during a trace.

    Parameters
    ----------
    root : callable
        The function to trace.
    """

    def __init__(self, root: Callable[..., Any]) -> None:
        self.root = root
        self.ways: PathExplorer | None = None  # paths through code without source
        self.codes: dict[FunctionType, CodeType] = {}
        self.attempts: dict[CodeType, int] = {}

    def is_converted(self, code: CodeType) -> bool:
        """Return True if a code object was produced by conversion."""
        return is_converted(code)

    # --- during a trace ---

    def __enter__(self) -> Replacements:
        self._now = dict(self.codes)
        with _lock:
            for function, code in self._now.items():
                held = _active.setdefault(function, [function.__code__, 0])
                held[1] += 1
                function.__code__ = code
        return self

    def __exit__(self, *error: object) -> None:
        with _lock:
            for function in self._now:
                held = _active[function]
                held[1] -= 1
                if not held[1]:
                    function.__code__ = _active.pop(function)[0]

    def ask(self, frame: FrameType, stop: CodeType, test: Symbol | None) -> str | bool:
        """Plan to convert the code of a frame and restart the trace. If that is impossible, return
        a text to add to the error message. Tracing began in code `stop`. `test` is the tensor whose
        truth value is requested, if any: the method may return that truth value instead."""
        if frame.f_code.co_filename.startswith(PACKAGE):
            return ""
        frame = _function_of(frame)
        code = frame.f_code
        frames = list(_frames(frame, stop))
        if is_converted(code) or any([id(f.f_code) in _left for f in frames]):
            return ""
        if code.co_name in ("<module>", *COMPREHENSIONS):
            return ""
        try:
            made = converted(code)
        except Missing as error:
            if test is None:
                return str(error)
            if self.ways is None:
                self.ways = PathExplorer()
                restart_trace()
            answer = self.ways.ask(test, f"{code.co_filename}:{frame.f_lineno}")
            return f"{error}; {answer}" if isinstance(answer, str) else answer
        except NoSource as error:
            return str(error)
        times = self.attempts[code] = self.attempts.get(code, 0) + 1
        found = times <= 2 and self.replace(frame, frames, code, made, times == 2)
        if not found:
            return f"the function whose code is {code.co_qualname} was not found"
        restart_trace()

    # --- search for functions ---

    def replace(self, frame: FrameType, frames: list[FrameType], code: CodeType, made: CodeType,
                everywhere: bool) -> bool:
        """Plan to replace a code object in the functions that have it, and in the code objects
        that create such functions during the trace."""
        found = False
        if not everywhere:
            for function in _near(self.root, frame, frames):
                if function.__code__ is code:
                    self.codes[function] = made
                    found = True
            for k, outer in enumerate(frames[1:], 1):
                if any([x is code for x in outer.f_code.co_consts]):
                    now = outer.f_code
                    return self.replace(outer, frames[k:], now, _with(now, code, made), False)
        return found or self._everywhere(code, made)

    def _everywhere(self, code: CodeType, made: CodeType) -> bool:
        """Plan the replacement in all live functions."""
        found = False
        for x in _live_functions():
            now = x.__code__
            if now is code:
                self.codes[x] = made
                found = True
            elif _holds(now, code):
                self.codes[x] = _with(now, code, made)
                found = True
        return found


def _live_functions() -> list[FunctionType]:
    """Return all functions, also those that the program has frozen (`gc.freeze`): the collector
    lists only objects that are not frozen."""
    frozen = gc.get_freeze_count() > 0
    try:
        if frozen:
            gc.unfreeze()
        return [x for x in gc.get_objects() if type(x) is FunctionType]
    finally:
        if frozen:
            gc.freeze()


_active: dict[FunctionType, list[Any]] = {}


def _function_of(frame: FrameType) -> FrameType:
    """Return the frame of the function that contains a comprehension."""
    while frame.f_code.co_name in COMPREHENSIONS and frame.f_back is not None and any(
            [x is frame.f_code for x in frame.f_back.f_code.co_consts]):
        frame = frame.f_back
    return frame


def _frames(frame: FrameType | None, stop: CodeType) -> Iterator[FrameType]:
    """Yield the frames of the traced functions, innermost first."""
    while frame is not None and frame.f_code is not stop:
        yield frame
        frame = frame.f_back


def _holds(outer: CodeType, code: CodeType) -> bool:
    return any([x is code or (type(x) is CodeType and _holds(x, code)) for x in outer.co_consts])


def _with(outer: CodeType, code: CodeType, made: CodeType) -> CodeType:
    """Return a code object with the nested code object `code` replaced by `made`."""
    return outer.replace(co_consts=tuple([
        made if x is code else _with(x, code, made) if type(x) is CodeType and _holds(x, code)
        else x for x in outer.co_consts]))


def _near(root: Any, frame: FrameType, frames: list[FrameType]) -> Iterator[FunctionType]:
    """Yield functions that may be the one that a frame runs, the likely ones first."""
    yield from _inside(_by_name(frame), DEPTH)
    yield from _inside(root, DEPTH)
    names = frame.f_code.co_varnames
    if names:
        kind = type(frame.f_locals.get(names[0]))
        yield from _inside(getattr(kind, frame.f_code.co_name, None), DEPTH)
    for outer in frames:
        for x in list(outer.f_locals.values()):
            yield from _inside(x, 2)


def _by_name(frame: FrameType) -> Any:
    """Return the module's value for the qualified name of the code."""
    first, *rest = frame.f_code.co_qualname.split(".")
    found = frame.f_globals.get(first)
    for name in rest:
        found = vars(found).get(name) if isinstance(found, type) else None
    return found


def _inside(x: Any, depth: int, seen: set[int] | None = None) -> Iterator[FunctionType]:
    """Yield a function and the functions inside it: wrapped ones and ones in known attributes."""
    seen = set() if seen is None else seen
    if x is None or not depth or id(x) in seen or isinstance(x, type):
        return
    seen.add(id(x))
    if isinstance(x, FunctionType):
        yield x
        inner: list[Any] = [x.__dict__.get("__wrapped__")]
        for cell in x.__closure__ or ():
            try:
                inner.append(cell.cell_contents)
            except ValueError:
                continue
    elif isinstance(x, list | tuple | dict):
        inner = list(x.values() if isinstance(x, dict) else x)[:20]
    elif callable(x) or isinstance(x, property | staticmethod | classmethod):
        inner = [_attribute(x, name) for name in HOLDERS]
    else:
        return
    for y in inner:
        yield from _inside(y, depth - 1, seen)


def _attribute(x: Any, name: str) -> Any:
    try:
        return getattr(x, name, None)
    except Exception:               # a user's property may raise anything
        return None
