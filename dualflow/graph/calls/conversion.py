"""Tracing with conversion of Python control flow that needs the value of a traced tensor.

`function.py` records each trace by `Conversion.run`. `autograph` must be imported only when the
first value is needed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from types import CodeType

from dualflow._core import PushedItem, Symbol, unobserved
from dualflow._util.locks import ThreadLocal
from dualflow.graph.trace.trace import Trace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_local = ThreadLocal()


def _stack() -> list[bool]:
    if not hasattr(_local, "stack"):
        _local.stack = []
    stack: list[bool] = _local.stack
    return stack


def converting(wanted: bool) -> PushedItem:
    """Return a context in which control flow is converted, or not."""
    return PushedItem(_stack(), wanted)


class Conversion:
    """The code that was found to need conversion while a function was traced.

    Parameters
    ----------
    function : callable
    wanted : bool
        Whether to convert anything.
    """

    def __init__(self, function: Callable[..., Any], wanted: bool) -> None:
        self.function = function
        self.wanted = wanted
        self.made_variables: bool = False         # whether any attempt created variables
        self._replaced: Any = None
        self._again = False     # whether this attempt follows one with generators that are kept

    def through(self, call: Callable[..., Any], *args: Any) -> Any:
        """Call the function: once, or for each path through it if its code has no source."""
        ways = self._replaced and self._replaced.ways
        if ways is None:
            return call(self.function, *args)
        return ways.run(lambda: call(self.function, *args))

    def run(self, trace: Trace, record: Callable[[], None]) -> bool:
        """Record a trace. Return False if it must be recorded again: with more code converted, or
        with random generators that it created and Python keeps, as `self.g` or a global. They then
        continue at each run, as in eager mode, while others start again."""
        @unobserved
        def question(test: Symbol | None) -> str | bool:
            if not _stack()[-1]:
                return ""
            demand = import_module("dualflow.autograph.demand")
            if self._replaced is None:
                self._replaced = demand.Replacements(self.function)
            says: str | bool = self._replaced.ask(
                sys._getframe(2), Conversion.run.__code__, test)
            return says

        def converted(code: CodeType) -> bool:
            return self._replaced is not None and bool(self._replaced.is_converted(code))

        if self._replaced is not None and self._replaced.ways is not None:
            self._replaced.ways = type(self._replaced.ways)()
        trace.outliner.question = question
        trace.outliner.converted = converted
        with converting(self.wanted):
            try:
                if self._replaced is None:
                    record()
                else:
                    with self._replaced:
                        record()
            except BaseException as error:
                if trace.outliner.refusal is not None and not isinstance(error, KeyboardInterrupt):
                    raise trace.outliner.refusal.with_traceback(error.__traceback__) from None
                if not trace.outliner.left or isinstance(error, KeyboardInterrupt):
                    raise
            finally:
                trace.outliner.converted = None
                trace.outliner.question = None      # other traces may continue this one later
                trace.outliner.conditions = None
        if not trace.outliner.left:
            caught = trace.outliner.refusal or trace.outliner.escaped
            if caught is not None:
                raise caught
        self.made_variables |= bool(trace.made_variables)
        kept = [g for g in [made() for made in trace.generators] if g is not None]
        for generator in kept:
            generator.start_outside()
        self._again = bool(kept) and not self._again
        return not trace.outliner.left and not self._again
