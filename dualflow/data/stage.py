"""Stages of a pipeline, and cursors that iterate over them once.

A stage can have any number of cursors. A cursor can return its position as plain JSON and restore
it. The elements of a pass are determined by the stage and the number of the pass, the epoch.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from dualflow._core import Tensor
from dualflow._util.cached import cached_property
from dualflow.data.pieces import Loose, gathered
from dualflow.data.structure import map_leaves

INFINITE, UNKNOWN = -1, -2          # element counts, as in tf.data
MANY = 1 << 62                      # stands for an infinite count in comparisons


class Cursor:
    """A pass through a stage: an iterator that stays exhausted once it has ended."""

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        raise NotImplementedError

    def many(self, n: int, least: int = 1) -> tuple[int, Any]:
        """Return the number of the next elements, and the elements, stacked.

        There are `n`, or fewer at the end. Fewer than `least` are returned as `Pieces`, since
        elements that will be dropped need not stack. Without elements, the second value is None.
        """
        elements = list(islice(self, n))
        count = len(elements)
        return count, gathered([Loose(elements)], count, least)

    def advance(self, n: int) -> int:
        """Skip at most `n` elements; return how many were skipped."""
        return sum(1 for _ in islice(self, n))

    def state(self) -> Any:
        """Return the position as JSON."""
        raise NotImplementedError

    def restore(self, state: Any) -> None:
        """Move an unused cursor to the position of another cursor of its stage."""
        raise NotImplementedError


class Stage:
    """A source, or a transformation of other stages."""

    # Whether `at`, `span` and `gather` return elements by index, without the elements before them.
    addressable = False
    # Whether `spec` runs a function of the user, or takes an element from its iterable.
    spec_runs_python = False

    def __init__(self, *inputs: Stage) -> None:
        self.inputs = inputs

    @property
    def source(self) -> Stage:
        """The only input stage."""
        return self.inputs[0]

    def options(self) -> dict[str, Any]:
        """Return the settings on which a position in this stage depends, as JSON."""
        return {}

    def describe(self) -> list[Any]:
        """Return the pipeline as JSON. Pipelines with equal descriptions share positions."""
        return [type(self).__name__, self.options(), *[x.describe() for x in self.inputs]]

    @property
    def size(self) -> int:
        """The number of elements of a pass, INFINITE, or UNKNOWN."""
        return UNKNOWN

    @cached_property
    def spec(self) -> Any:
        """Dtypes and shapes of an element."""
        return self.source.spec

    def text(self) -> str:
        """Return the stages from the source to this one, and the spec. The spec is left out if its
        computation would run a Python function of the user."""
        chain: list[str] = []
        described: Any = self.describe()
        while described:
            chain.append(described[0])
            described = described[2] if len(described) > 2 else None
        runs = [x for x in stages(self) if x.spec_runs_python and "spec" not in vars(x)]
        spec = "not known yet" if runs and "spec" not in vars(self) else spec_repr(self.spec)
        return f"{' -> '.join(reversed(chain))}, element_spec: {spec}"

    @property
    def is_cheap(self) -> bool:
        """Whether computing an element takes less time than passing it between threads."""
        return False

    def cursor(self, epoch: int) -> Cursor:
        """Return a cursor for the pass with the given number."""
        return Places(self)

    def at(self, i: int) -> Any:
        """Return an element of an addressable stage."""
        raise NotImplementedError

    def span(self, begin: int, end: int) -> Any:
        """Return elements of an addressable stage, stacked."""
        raise NotImplementedError

    def gather(self, order: Tensor, begin: int, end: int) -> Any:
        """Return the elements with the int64 indices ``order[begin:end]``, stacked."""
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
    """Yield a stage and all stages that it depends on, each once."""
    pending, seen = [last], {last}
    while pending:
        stage = pending.pop()
        yield stage
        pending.extend({*stage.inputs} - seen)
        seen.update(stage.inputs)


def spec_repr(spec: Any) -> str:
    """Return the text of a spec, with `str` for text elements."""
    return repr(map_leaves(lambda x: _Bare(x.__name__ if isinstance(x, type) else repr(x)), spec))


class _Bare(str):
    """A text whose repr has no quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
