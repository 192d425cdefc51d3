"""Which code must be converted: found when a traced tensor is asked for what only a run knows."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, FunctionType
from typing import Any

from dualflow._core import Symbol
from dualflow.autograph.convert import converted, is_converted, plain
from dualflow.autograph.replay import Ways
from dualflow.autograph.source import Missing, NoSource
from dualflow.autograph.values import begin_anew
from dualflow.frames import COMPREHENSIONS, PACKAGE
from dualflow.locks import reentrant_lock

HOLDERS = "python_function", "__func__", "func", "__wrapped__", "fget", "__call__"
DEPTH = 6           # to which functions are looked for in what others hold
_left: dict[int, CodeType] = {}
_lock = reentrant_lock()


def leave(function: Any) -> None:
    """Never converts a function, nor what it calls."""
    code = plain(function).__code__
    _left[id(code)] = code


class Replacements:
    """Functions and the code that they have while something is traced.

    Parameters
    ----------
    root : callable
        What is traced.
    """

    def __init__(self, root: Callable[..., Any]) -> None:
        self.root = root
        self.ways: Ways | None = None       # through code without source
        self.codes: dict[FunctionType, CodeType] = {}
        self.asked: dict[CodeType, int] = {}

    def is_converted(self, code: CodeType) -> bool:
        """Whether a code object is what conversion made."""
        return is_converted(code)

    # --- while it is traced ---

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
        """Notes that the code of a frame must be converted, and begins anew; otherwise returns
        what a message should add, if anything. Tracing began in code `stop`. The truth of `test`,
        if that is what is asked, may be answered at once."""
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
                self.ways = Ways()
                begin_anew()
            answer = self.ways.ask(test, f"{code.co_filename}:{frame.f_lineno}")
            return f"{error}; {answer}" if isinstance(answer, str) else answer
        except NoSource as error:
            return str(error)
        times = self.asked[code] = self.asked.get(code, 0) + 1
        found = times <= 2 and self.replace(frame, frames, code, made, times == 2)
        if not found:
            return f"the function whose code is {code.co_qualname} was not found"
        begin_anew()

    # --- which functions ---

    def replace(self, frame: FrameType, frames: list[FrameType], code: CodeType, made: CodeType,
                everywhere: bool) -> bool:
        """Plans to replace a code object in the functions that have it, and in the code that makes
        such functions while it is traced."""
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
        """The same, in all functions there are."""
        found = False
        for x in gc.get_objects():
            if type(x) is FunctionType:
                now = x.__code__
                if now is code:
                    self.codes[x] = made
                    found = True
                elif _holds(now, code):
                    self.codes[x] = _with(now, code, made)
                    found = True
        return found


_active: dict[FunctionType, list[Any]] = {}


def _function_of(frame: FrameType) -> FrameType:
    """The frame of the function that a comprehension is part of."""
    while frame.f_code.co_name in COMPREHENSIONS and frame.f_back is not None and any(
            [x is frame.f_code for x in frame.f_back.f_code.co_consts]):
        frame = frame.f_back
    return frame


def _frames(frame: FrameType | None, stop: CodeType) -> Iterator[FrameType]:
    """The frames of what is traced, the innermost first."""
    while frame is not None and frame.f_code is not stop:
        yield frame
        frame = frame.f_back


def _holds(outer: CodeType, code: CodeType) -> bool:
    return any([x is code or (type(x) is CodeType and _holds(x, code)) for x in outer.co_consts])


def _with(outer: CodeType, code: CodeType, made: CodeType) -> CodeType:
    """A code object with another one in place of one in it."""
    return outer.replace(co_consts=tuple([
        made if x is code else _with(x, code, made) if type(x) is CodeType and _holds(x, code)
        else x for x in outer.co_consts]))


def _near(root: Any, frame: FrameType, frames: list[FrameType]) -> Iterator[FunctionType]:
    """Functions that may be the one a frame runs, the likely ones first."""
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
    """What the module has under the qualified name of the code."""
    first, *rest = frame.f_code.co_qualname.split(".")
    found = frame.f_globals.get(first)
    for name in rest:
        found = vars(found).get(name) if isinstance(found, type) else None
    return found


def _inside(x: Any, depth: int, seen: set[int] | None = None) -> Iterator[FunctionType]:
    """A function, and those it is made of: what it wraps, and what it holds by name."""
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
    except Exception:               # whatever a property of the user's raises
        return None
