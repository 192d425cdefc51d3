"""Decisions of code whose source is missing: the function is traced once for each way through it.

Python runs until a traced tensor is asked for its truth. There the graph branches, and in each
branch Python runs from the start again, with that answer given. This needs nothing but the
function, and makes two ways of each decision, so there may only be a few.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from dualflow._core import Symbol, current_graph
from dualflow.autograph.choices import chosen
from dualflow.autograph.values import truth

MOST = 16           # ways through a function


class Fork(BaseException):
    """Leaves a way at a decision that is new. No `except Exception` stops it."""


class Ways:
    """The ways through a function that is traced."""

    place: int
    mark: Any
    depth: Any

    def __init__(self) -> None:
        self.count: int = 1
        self.answers: tuple[bool, ...] = ()
        self.place = self.mark = self.depth = 0
        self.test: Symbol | None = None     # of the decision at which this way ended
        self.where: str = ""

    def ask(self, test: Symbol, where: str) -> bool | str:
        """The answer on this way, or why there is none. Raises Fork at a new decision."""
        if self.place < len(self.answers):
            self.place += 1
            return self.answers[self.place - 1]
        if self.count == MOST:
            return f"without it, at most {MOST} ways through a function are traced"
        if len(current_graph().bodies) != self.depth:
            return "without it, nothing may be decided in a branch or a loop of the graph"
        if any([node.writes or node.effect for node in current_graph().nodes[self.mark:]]):
            return "without it, nothing may be written, drawn or printed before a decision"
        self.test, self.where = test, where
        raise Fork

    def run(self, call: Callable[[], Any], *answers: bool) -> Any:
        """What a function returns, on all ways that begin with some answers."""
        trace = current_graph()
        self.answers, self.place = answers, 0
        self.mark, self.depth = trace.mark, len(trace.bodies)
        with suppress(Fork):
            result = call()
        if self.test is None:
            return result
        test, where, self.test = self.test, self.where, None
        self.count += 1
        return chosen(truth(test), lambda: self.run(call, *answers, True),
                      lambda: self.run(call, *answers, False), "what the function returns", where)
