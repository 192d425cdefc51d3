"""The operators that converted code calls: Python's semantics for Python values, and a branch, a
loop or a host call in the graph for traced tensors."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from dualflow._core import Symbol, current_graph, unobserved
from dualflow.autograph.assigned import (
    Partial,
    completed,
    joined,
    settled,
    value as value,
)
from dualflow.autograph.builtins import call_conditional as call_conditional, condition as condition
from dualflow.autograph.choices import (
    and_ as and_,
    if_exp as if_exp,
    merged,
    not_ as not_,
    or_ as or_,
    where_of,
)
from dualflow.autograph.comprehensions import (
    comprehension as comprehension,
    unrolled as unrolled,
)
from dualflow.autograph.conditions import Formula, choice, conditions, negation
from dualflow.autograph.errors import left_early, note_escape, one_branch
from dualflow.autograph.items import over as over
from dualflow.autograph.loops import for_ as for_, while_ as while_
from dualflow.autograph.numbers import get as get, item as item, shown as shown
from dualflow.autograph.ordering import Conditional as Conditional, in_ as in_, not_in as not_in
from dualflow.autograph.replacements import call as call, traced as traced
from dualflow.autograph.state import State
from dualflow.autograph.values import (
    UNDEFINED,
    Differ,
    Hole,
    Merge,
    is_traced,
    truth,
)
from dualflow.errors import DTypeError, InvalidArgumentError, TracedValueError
from dualflow.ops.control_flow.host import host_call
from dualflow.ops.control_flow.state import traced_text
from dualflow.ops.elementwise.bitwise import logical_not

# --- if ------------------------------------------------------------------------------------------

class PlainIf:
    """An `if` that Python decides."""

    traced = False

    def __init__(self, test: Any) -> None:
        self.first: bool = bool(test)
        self.second: bool = not self.first

    def __enter__(self) -> PlainIf:
        return self

    def __exit__(self, *error: object) -> None:
        pass


class If:
    """An `if` in the graph: both branches are recorded."""

    traced = first = second = True

    def __init__(self, frame: FrameType, test: Any, *words: str) -> None:
        self.where: str = where_of(frame)
        self.cond_builder: Any = current_graph().cond_builder(test)
        self.state: State = State(frame, *words)
        self.before: list[Any] = self.state.read(frame)
        self.results: list[list[Any]] = []
        self.open: Any = None
        self.test: Formula = conditions().of(self.cond_builder.chosen)
        self._facts: int = len(conditions().facts)

    def __enter__(self) -> If:
        self._begin(self.test)
        return self

    def _begin(self, fact: Formula) -> None:
        """Begin a branch in which a fact holds."""
        self.open = self.cond_builder.open()
        conditions().facts.append(fact)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self.open is not None:
            self.open.drop()
            self.open = None
            del conditions().facts[self._facts:]
            self.state.write(self.before)
            if kind is None:
                left_early("`if`")
            if issubclass(kind, Exception):
                note_escape(error, "`if`", self.where)
                error.add_note(f"This was raised while both branches of the `if` at {self.where} "
                               "were traced, which a traced tensor decides between; to raise only "
                               "if the condition holds at run time, use assert")

    def _close(self, frame: FrameType) -> None:
        self.results.append(list(map(settled, self.state.read(frame))))
        self.open.close()
        self.open = None
        del conditions().facts[self._facts:]

    @unobserved
    def begin_else(self) -> tuple[Any, ...]:
        """End the first branch; begin the second with the initial values of the variables."""
        self._close(sys._getframe(1))
        self._begin(negation(self.test))
        return self.state.write(self.before)

    @unobserved
    def done(self) -> tuple[Any, ...]:
        """End the second branch, which may be empty; return the merged values."""
        self._close(sys._getframe(1))
        if len(self.results) == 1:
            self.cond_builder.open().close()
            self.results.append(self.before)
        merge = Merge()
        values = [self._merged(merge, k, a, b)
                  for k, (a, b) in enumerate(zip(*self.results, strict=True))]
        made = self.cond_builder.finish(merge.first, merge.second)
        self._define(values, made)
        return self.state.write([completed(x, made) for x in values])

    def _define(self, values: list[Any], made: Any) -> None:
        """Store the formulas of the bools among the results."""
        known = conditions()
        for x, a, b in zip(values, *self.results, strict=True):
            if isinstance(x, Hole) and isinstance(made[x.place], Symbol) and (
                    made[x.place].dtype.is_bool and made[x.place].ndim == 0):
                known.define(made[x.place], choice(self.test, known.of(a), known.of(b)))

    def _merged(self, merge: Merge, k: int, a: Any, b: Any) -> Any:
        word = self.state.words[k]
        if a is b:
            return a
        if any([x is UNDEFINED or type(x) is Partial for x in (a, b)]):
            if word.startswith("ag_"):
                return merge.fill(b if a is UNDEFINED else a, b is UNDEFINED)
            if not self.state.is_needed(k):
                return UNDEFINED
            error = one_branch(word, a, b, self.where, Differ(""))
            if not self.state.is_owned(k):
                raise error
            return joined(merge, word, self.test, a, b, error)
        if type(a) is bool and type(b) is bool and a is not b:
            chosen = self.cond_builder.chosen
            return chosen if a else logical_not(chosen)
        n = len(merge.first)
        needed = self.state.is_needed(k) and not self.state.is_deferred(k)
        try:
            made = merged(merge, word, traced_text(a), traced_text(b), self.where)
            if not needed:          # it may belong to a nested branch that has ended
                current_graph().to_symbols(None, [*merge.first[n:], *merge.second[n:]])
            return made
        except (InvalidArgumentError, DTypeError, TracedValueError) as error:
            if needed:
                raise
            del merge.first[n:], merge.second[n:]
            if not self.state.is_deferred(k):
                return UNDEFINED
            return joined(merge, word, self.test, a, b, error)


def if_(test: Any, names: str = "", dead: str = "", flags: str = "", rows: str = "",
        mutable_containers: str = "", attributes: str = "") -> Any:
    """`if test:`; the other parameters are described at `State`."""
    if is_traced(test):
        test = truth(test)
        known = conditions().decided(test)
        if known is None:
            return If(sys._getframe(1), test, names, dead, mutable_containers, attributes)
        test = known
    return PlainIf(test)


# --- assert --------------------------------------------------------------------------------------

def assert_(test: Any, message: Callable[[], Any] | None = None) -> None:
    """`assert test, message`; a traced test is checked at each run of the graph."""
    if not is_traced(test):
        if not test:
            raise AssertionError(*([] if message is None else [message()]))
        return
    said = [] if message is None else [message()]
    host_call(functools.partial(check_assert, said), [truth(test)], "assert")


def check_assert(said: Sequence[Any], good: Any) -> None:
    """Raise AssertionError with the message `said` unless `good` is true."""
    if not good:
        raise AssertionError(*said)
