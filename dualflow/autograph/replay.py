"""Traced decisions in code whose source is missing: one trace of each path through the function.

Python runs until it needs the truth value of a traced tensor. The graph branches there, and in each
branch Python runs the function from its start again, with that truth value given. No source is
needed, but n decisions may need 2**n paths, so their number is limited.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from dualflow._core import Symbol, current_graph
from dualflow.autograph.choices import chosen
from dualflow.autograph.values import truth

MOST = 16           # paths through a function


class Fork(BaseException):
    """Leaves a path at a new decision. `except Exception` does not catch it."""


class PathExplorer:
    """Explores the paths through a traced function."""

    place: int
    mark: Any
    depth: Any

    def __init__(self) -> None:
        self.count: int = 1
        self.answers: tuple[bool, ...] = ()
        self.place = self.mark = self.depth = 0
        self.test: Symbol | None = None     # of the decision that ended this path
        self.where: str = ""

    def ask(self, test: Symbol, where: str) -> bool | str:
        """Return the truth value on this path, or an error text. Raise Fork at a new decision."""
        if self.place < len(self.answers):
            self.place += 1
            return self.answers[self.place - 1]
        if self.count == MOST:
            return f"without it, at most {MOST} paths through a function are traced"
        if len(current_graph().bodies) != self.depth:
            return "without it, nothing may be decided in a branch or a loop of the graph"
        if any([node.writes or node.effect for node in current_graph().nodes[self.mark:]]):
            return "without it, nothing may be written, drawn or printed before a decision"
        self.test, self.where = test, where
        raise Fork

    def run(self, call: Callable[[], Any], *answers: bool) -> Any:
        """Return the merged results of all paths that begin with the given answers."""
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
                      lambda: self.run(call, *answers, False), "the return value", where)
