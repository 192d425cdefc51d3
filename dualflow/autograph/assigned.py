"""Variables that have a value on some paths only.

Where a traced tensor decides whether a variable is assigned, converted code holds a `Partial` in
its place, and reads such variables by `value`. So a variable is refused where it is read, and only
if the conditions of that place do not imply that it has a value. `operators.py` and `carried.py`
make Partials; none leaves the frame that owns the variable.
"""

from __future__ import annotations

import sys
import weakref
from types import CodeType
from typing import Any

from dualflow._core import current_graph
from dualflow.autograph.conditions import Formula, choice, conditions
from dualflow.autograph.values import UNDEFINED, Differ, Merge, begin_anew, filled
from dualflow.errors import InvalidArgumentError


class Partial:
    """The value of a variable that some paths do not assign.

    Attributes
    ----------
    word : str
        The name of the variable.
    value : object
        The value where there is one; UNDEFINED if no tensor can stand for it.
    when : Formula
        A condition under which `value` is the value of the variable.
    error : Exception
        What a read elsewhere raises.
    loop : (CodeType, int) or None
        A loop whose first iteration may be recorded apart, after which there is a value.
    """

    __slots__ = ("error", "loop", "value", "when", "word")

    def __init__(self, word: str, value: Any, when: Formula, error: Exception,
                 loop: tuple[CodeType, int] | None = None) -> None:
        self.word = word
        self.value = value
        self.when: Formula = False if value is UNDEFINED else when
        self.error = error
        self.loop = loop

    def __repr__(self) -> str:
        return f"a value of {self.word} on some paths"


class Refusal(BaseException):
    """Leaves a trace because a variable may have no value. No `except Exception` stops it."""


class Peeled:
    """Loops whose first iteration is recorded apart, by code and line."""

    def __init__(self) -> None:
        self._lines: weakref.WeakKeyDictionary[CodeType, set[int]] = weakref.WeakKeyDictionary()

    def add(self, place: tuple[CodeType, int]) -> None:
        self._lines.setdefault(place[0], set()).add(place[1])

    def __contains__(self, place: tuple[CodeType, int]) -> bool:
        return place[1] in self._lines.get(place[0], ())


peeled = Peeled()


def parts_of(x: Any) -> tuple[Any, Formula]:
    """The value of a variable, and a condition under which it has that."""
    if type(x) is Partial:
        return x.value, x.when
    return x, x is not UNDEFINED


def settled(x: Any) -> Any:
    """The value itself if the facts imply that the variable has it."""
    if type(x) is Partial and x.value is not UNDEFINED and conditions().implies(x.when):
        return x.value
    return x


def value(x: Any) -> Any:
    """Read a variable that may have no value."""
    if type(x) is not Partial:
        return x
    found = settled(x)
    if found is not x:
        return found
    if x.loop is not None and x.loop not in peeled:
        peeled.add(x.loop)
        begin_anew()
    frame = sys._getframe(1)
    where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
    error = type(x.error)(str(x.error).replace("read later", f"read at {where}"))
    enclosed = current_graph().enclosed
    if enclosed.question is None:           # nothing would catch the Refusal
        raise error
    enclosed.refusal = error
    raise Refusal


def joined(merge: Merge, word: str, test: Formula, a: Any, b: Any, error: Exception) -> Any:
    """What two branches make of a variable that one of them, at least, may leave without a value.
    `error`: what a read raises, unless the branches say more."""
    (x, first), (y, second) = parts_of(a), parts_of(b)
    errors = [z.error for z in (a, b) if type(z) is Partial]
    loops = [z.loop for z in (a, b) if type(z) is Partial]
    if errors and a is not UNDEFINED and b is not UNDEFINED:
        error = errors[0]
    made: Any = UNDEFINED
    if x is UNDEFINED or y is UNDEFINED:
        only = y if x is UNDEFINED else x
        if only is not UNDEFINED:
            made = merge.fill(only, y is UNDEFINED, numbers=False)
    else:
        n = len(merge.first)
        try:
            made = merge.add(x, y)
        except Differ as differ:
            del merge.first[n:], merge.second[n:]
            error = InvalidArgumentError(f"{word} differs between two branches that a traced "
                                         f"tensor decides, and is read later: {differ}")
    return Partial(word, made, choice(test, first, second), error, next(iter(loops), None))


def completed(x: Any, made: Any) -> Any:
    """A value of a branch with tensors for its slots."""
    if type(x) is not Partial:
        return filled(x, made)
    if x.value is UNDEFINED:
        return x
    return settled(Partial(x.word, filled(x.value, made), x.when, x.error, x.loop))
