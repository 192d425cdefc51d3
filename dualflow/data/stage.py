"""Stages of a pipeline, and cursors that go through them once.

A stage never changes. Its cursors do: a cursor knows its place, can tell it as plain JSON, and can
be put there again. What a pass gives is determined by the stage and the number of the pass, the
epoch.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from dualflow._core import Tensor
from dualflow.cached import cached_property
from dualflow.data.pieces import Loose, gathered

INFINITE, UNKNOWN = -1, -2          # numbers of elements, as in tf.data
MANY = 1 << 62                      # more than anybody will take


class Cursor:
    """One pass: an iterator that stays at its end."""

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        raise NotImplementedError

    def many(self, n: int, least: int = 1) -> tuple[int, Any]:
        """Return the number of the next elements, and the elements, stacked.

        They are `n`, or fewer at the end. Fewer than `least` are returned as `Pieces`: elements
        that are dropped need not stack. None are returned as None.
        """
        elements = list(islice(self, n))
        count = len(elements)
        return count, gathered([Loose(elements)], count, least)

    def advance(self, n: int) -> int:
        """Leaves out at most `n` elements; how many."""
        return sum(1 for _ in islice(self, n))

    def state(self) -> Any:
        """The place, as JSON."""
        raise NotImplementedError

    def restore(self, state: Any) -> None:
        """Puts a cursor that has not been used to the place of another one of its stage."""
        raise NotImplementedError


class Stage:
    """A source, or a transformation of other stages."""

    # Elements are found by their number, without those before: `at`, `span` and `pick` give them.
    addressable = False

    def __init__(self, *inputs: Stage) -> None:
        self.inputs = inputs

    @property
    def source(self) -> Stage:
        """The one stage that is transformed."""
        return self.inputs[0]

    def options(self) -> dict[str, Any]:
        """What a place in this stage depends on, as JSON."""
        return {}

    def describe(self) -> list[Any]:
        """The pipeline up to here, as JSON: iterators have the same places if these are equal."""
        return [type(self).__name__, self.options(), *[x.describe() for x in self.inputs]]

    @property
    def size(self) -> int:
        """How many elements a pass has, or INFINITE, or UNKNOWN."""
        return UNKNOWN

    @cached_property
    def spec(self) -> Any:
        """Dtypes and shapes of an element."""
        return self.source.spec

    @property
    def quick(self) -> bool:
        """Whether an element takes less time than handing it from thread to thread."""
        return False

    def cursor(self, epoch: int) -> Cursor:
        """A pass, the one of a number."""
        return Places(self)

    def at(self, i: int) -> Any:
        """An element of an addressable stage."""
        raise NotImplementedError

    def span(self, begin: int, end: int) -> Any:
        """Elements of an addressable stage, stacked."""
        raise NotImplementedError

    def pick(self, order: Tensor, begin: int, end: int) -> Any:
        """The same for elements anywhere, those of the numbers ``order[begin:end]``, int64."""
        raise NotImplementedError


class Places(Cursor):
    """A pass through an addressable stage."""

    stage: Stage
    place: int

    def __init__(self, stage: Stage) -> None:
        self.stage, self.place = stage, 0
        self.size: int = MANY if stage.size == INFINITE else stage.size

    def __next__(self) -> Any:
        place = self.place
        if place >= self.size:
            raise StopIteration
        element = self.stage.at(place)
        self.place = place + 1
        return element

    def many(self, n: int, least: int = 1) -> tuple[int, Any]:
        begin = self.place
        end = min(begin + n, self.size)
        if begin >= end:
            return 0, None
        block = self.stage.span(begin, end)
        self.place = end
        return end - begin, block

    def advance(self, n: int) -> int:
        n = max(0, min(n, self.size - self.place))
        self.place += n
        return n

    def state(self) -> Any:
        return self.place

    def restore(self, state: Any) -> None:
        self.place = state


def stages(last: Stage) -> Iterator[Stage]:
    """A stage and all it is made of, each once."""
    pending, seen = [last], {last}
    while pending:
        stage = pending.pop()
        yield stage
        pending.extend({*stage.inputs} - seen)
        seen.update(stage.inputs)
