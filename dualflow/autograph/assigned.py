"""Variables that have a value on some paths only.

If a traced tensor decides whether a variable is assigned, converted code stores a `Partial` in the
variable and reads the variable by `value`. A read raises only if the conditions at the read do not
imply that the variable has a value. `operators.py` and `carried.py` create Partials; a Partial
never leaves the frame that owns the variable.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Sequence
from types import CodeType
from typing import Any

from dualflow._core import current_graph
from dualflow.autograph.conditions import Formula, choice, conditions
from dualflow.autograph.values import UNDEFINED, Differ, Merge, filled, restart_trace

MOST = 4            # distinct values of one variable


class Partial:
    """The value of a variable that some paths do not assign, or to which paths assign values that
    cannot be merged into one tensor.

    Attributes
    ----------
    word : str
        The name of the variable.
    cases : list of (object, Formula)
        Values, each with the condition under which the variable has it.
    error : Exception
        Raised by a read if no condition is known to hold.
    loop : (CodeType, int) or None
        A loop whose first iteration may be peeled, after which the variable has a value.
    """

    __slots__ = ("cases", "error", "loop", "word")

    def __init__(self, word: str, cases: Sequence[tuple[Any, Formula]], error: Exception,
                 loop: tuple[CodeType, int] | None = None) -> None:
        self.word = word
        self.cases = cases
        self.error = error
        self.loop = loop

    def __repr__(self) -> str:
        return f"a value of {self.word} on some paths"


class Refusal(BaseException):
    """Leaves a trace because a variable may have no value. `except Exception` does not catch it."""


class Peeled:
    """Loops whose first iteration is recorded separately, by code and line."""

    def __init__(self) -> None:
        self._lines: weakref.WeakKeyDictionary[CodeType, set[int]] = weakref.WeakKeyDictionary()

    def add(self, place: tuple[CodeType, int]) -> None:
        self._lines.setdefault(place[0], set()).add(place[1])

    def __contains__(self, place: tuple[CodeType, int]) -> bool:
        return place[1] in self._lines.get(place[0], ())


peeled = Peeled()


def cases_of(x: Any) -> Sequence[tuple[Any, Formula]]:
    """Return the values of a variable, each with the condition under which the variable has it."""
    if type(x) is Partial:
        return x.cases
    return [] if x is UNDEFINED else [(x, True)]


def parts_of(x: Any) -> tuple[Any, Formula]:
    """Return the only value of a variable and its condition, or (UNDEFINED, False)."""
    cases = cases_of(x)
    return cases[0] if len(cases) == 1 else (UNDEFINED, False)


def settled(x: Any) -> Any:
    """Return the value itself if the known facts imply that the variable has it."""
    if type(x) is Partial:
        for found, when in x.cases:
            if conditions().implies(when):
                return found
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
        restart_trace()
    frame = sys._getframe(1)
    where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
    error = type(x.error)(str(x.error).replace("read later", f"read at {where}"))
    outliner = current_graph().outliner
    if outliner.question is None:           # no caller catches the Refusal
        raise error
    outliner.refusal = error
    raise Refusal


def joined(merge: Merge, word: str, test: Formula, a: Any, b: Any, error: Exception) -> Any:
    """Merge the values of a variable at the end of two branches, if a branch has several values or
    may have none. `error` is raised by a read, unless a branch has a more specific error."""
    given = [x for x in (a, b) if type(x) is Partial]
    if given and a is not UNDEFINED and b is not UNDEFINED:
        error = given[0].error
    cases: list[tuple[Any, Formula]] = []
    others = list(cases_of(b))
    for x, first in cases_of(a):
        for k, (y, second) in enumerate(others):
            n = len(merge.first)
            try:
                made = merge.add(x, y)
            except Differ:
                del merge.first[n:], merge.second[n:]
                continue
            cases.append((made, choice(test, first, second)))
            del others[k]
            break
        else:
            cases.append((merge.fill(x, True, numbers=False), choice(test, first, False)))
    for y, second in others:
        cases.append((merge.fill(y, False, numbers=False), choice(test, False, second)))
    return Partial(word, cases[:MOST], error, next((x.loop for x in given if x.loop), None))


def completed(x: Any, made: Any) -> Any:
    """Return a value of a branch with tensors in place of its slots."""
    if type(x) is not Partial:
        return filled(x, made)
    cases = [(filled(y, made), when) for y, when in x.cases]
    return settled(Partial(x.word, cases, x.error, x.loop))
