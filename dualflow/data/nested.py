"""Flattening of nested datasets: flat_map, interleave.

As in tf.data, `cycle` datasets are open at a time. Each in turn yields a block of elements; an
exhausted dataset is replaced by the next one. flat_map has a cycle of one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dualflow._util.cached import cached_property
from dualflow.data.calls import UserFunction
from dualflow.data.prefetch import AheadCursor
from dualflow.data.sources import nothing_said
from dualflow.data.stage import UNKNOWN, Cursor, Stage
from dualflow.data.structure import map_leaves, unsized


class Interleave(Stage):
    """The elements of the datasets that a function returns for each element.

    Parameters
    ----------
    unwrap : callable
        Returns the stage of the function's result.
    ahead : int
        Number of elements that a thread per open dataset prefetches; 0 for no threads.
    """

    spec_runs_python = True

    function: UserFunction
    cycle: int
    block: int
    ahead: int

    def __init__(self, source: Stage, function: UserFunction, cycle: int, block: int, ahead: int,
                 unwrap: Callable[[Any, str], Stage]) -> None:
        super().__init__(source)
        self.function, self.cycle, self.block, self.ahead = function, cycle, block, ahead
        self.unwrap = unwrap

    def options(self) -> dict[str, Any]:
        return {"cycle_length": self.cycle, "block_length": self.block}

    @property
    def size(self) -> int:
        return 0 if self.source.size == 0 else UNKNOWN

    @cached_property
    def spec(self) -> Any:
        for element in self.source.cursor(0):
            made = self.unwrap(self.function.of(element), self.function.caller)
            return map_leaves(unsized, made.spec)       # sizes may differ between the datasets
        raise nothing_said(self.function.caller)

    def cursor(self, epoch: int) -> Cursor:
        return InterleaveCursor(self, epoch)


class Opened:
    """An open dataset of the cycle: the source's state before its element, and its cursor."""

    def __init__(self, stage: Interleave, source: Cursor, epoch: int, before: Any) -> None:
        self.before = before
        made = stage.unwrap(stage.function.of(next(source)), stage.function.caller)
        is_cheap = made.is_cheap or not stage.ahead
        self.cursor: Cursor = made.cursor(epoch) if is_cheap else AheadCursor(made, epoch,
                                                                              stage.ahead)


class InterleaveCursor(Cursor):
    stage: Interleave
    epoch: int
    inner: Cursor
    turn: int
    given: int

    def __init__(self, stage: Interleave, epoch: int) -> None:
        self.stage, self.epoch, self.inner = stage, epoch, stage.source.cursor(epoch)
        self.cycle: list[Opened | None] = [None] * stage.cycle
        self.turn = self.given = 0          # index in the cycle, and elements taken of its block
        self.ended: Any = False                  # the source is exhausted

    def __next__(self) -> Any:
        while not self.ended or any(self.cycle):
            opened = self.cycle[self.turn]
            if opened is None:
                self.open()
                continue
            for element in opened.cursor:
                self.given += 1
                if self.given == self.stage.block:
                    self.pass_on()
                return element
            self.cycle[self.turn] = None
            self.pass_on()
        raise StopIteration

    def pass_on(self) -> None:
        self.turn, self.given = (self.turn + 1) % len(self.cycle), 0

    def open(self) -> None:
        """Open the next dataset at the current index; if there is none, advance the index."""
        if not self.ended:
            try:
                self.cycle[self.turn] = Opened(self.stage, self.inner, self.epoch,
                                               self.inner.state())
                return
            except StopIteration:
                self.ended = True
        self.pass_on()

    def state(self) -> Any:
        return {"inner": self.inner.state(), "turn": self.turn, "given": self.given,
                "ended": self.ended,
                "cycle": [x and {"before": x.before, "inner": x.cursor.state()}
                          for x in self.cycle]}

    def restore(self, state: Any) -> None:
        self.inner.restore(state["inner"])
        self.turn, self.given, self.ended = state["turn"], state["given"], state["ended"]
        for k, saved in enumerate(state["cycle"]):
            if saved:
                source = self.stage.source.cursor(self.epoch)
                source.restore(saved["before"])
                opened = Opened(self.stage, source, self.epoch, saved["before"])
                opened.cursor.restore(saved["inner"])
                self.cycle[k] = opened
