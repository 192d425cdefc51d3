"""Selection, repetition and combination of stages: take, skip, shard, repeat, concatenate, zip,
assert_cardinality."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dualflow._core import Tensor
from dualflow._util.cached import cached_property
from dualflow.data.pieces import Loose, Pieces, first_rows, gathered, single
from dualflow.data.stage import INFINITE, UNKNOWN, Cursor, Places, Stage
from dualflow.data.structure import common, pack, packer
from dualflow.errors import InvalidArgumentError
from dualflow.ops.array.creation import range as tensor_range


class Selection(Stage):
    """The elements of a source with indices `start`, `start + step`, ... below `stop`, if given."""

    start: int
    stop: int | None
    step: int

    def __init__(self, source: Stage, start: int, stop: int | None, step: int) -> None:
        super().__init__(source)
        self.start, self.stop, self.step = start, stop, step
        self.addressable: bool = source.addressable

    def options(self) -> dict[str, Any]:
        return {"start": self.start, "stop": self.stop, "step": self.step}

    @property
    def size(self) -> int:
        n = self.source.size
        if n == UNKNOWN or (n == INFINITE and self.stop is None):
            return n
        stop = self.stop if n == INFINITE else n if self.stop is None else min(self.stop, n)
        return len(range(self.start, stop, self.step))          # type: ignore[arg-type]

    @property
    def is_cheap(self) -> bool:
        return self.source.is_cheap

    def cursor(self, epoch: int) -> Cursor:
        return Places(self) if self.addressable else SelectionCursor(self, epoch)

    def at(self, i: int) -> Any:
        return self.source.at(self.start + i * self.step)

    def span(self, begin: int, end: int) -> Any:
        if self.step == 1:
            return self.source.span(self.start + begin, self.start + end)
        return self.gather(tensor_range(begin, end, dtype="int64"), 0, end - begin)

    def gather(self, order: Tensor, begin: int, end: int) -> Any:
        return self.source.gather(order[begin:end] * self.step + self.start, 0, end - begin)


class SelectionCursor(Cursor):
    stage: Selection
    inner: Cursor

    def __init__(self, stage: Selection, epoch: int) -> None:
        self.stage, self.inner = stage, stage.source.cursor(epoch)
        self.passed: int = 0                     # elements of the source read or skipped

    def next_wanted(self) -> bool:
        """Advance to the next selected element; return False if there is none."""
        stage = self.stage
        behind = self.passed - stage.start
        wanted = stage.start if behind < 0 else stage.start - -behind // stage.step * stage.step
        if stage.stop is not None and wanted >= stage.stop:
            return False
        self.passed += self.inner.advance(wanted - self.passed)
        return self.passed == wanted

    def __next__(self) -> Any:
        if not self.next_wanted():
            raise StopIteration
        element = next(self.inner)
        self.passed += 1
        return element

    def many(self, n: int, least: int = 1) -> tuple[int, Any]:
        if self.stage.step > 1:
            return super().many(n, least)
        if not self.next_wanted():
            return 0, None
        left = n if self.stage.stop is None else min(n, self.stage.stop - self.passed)
        count, block = self.inner.many(left, least)
        self.passed += count
        return count, block

    def advance(self, n: int) -> int:
        if self.stage.step > 1 or not self.next_wanted():
            return super().advance(n)
        left = n if self.stage.stop is None else min(n, self.stage.stop - self.passed)
        count = self.inner.advance(left)
        self.passed += count
        return count

    def state(self) -> Any:
        return {"passed": self.passed, "inner": self.inner.state()}

    def restore(self, state: Any) -> None:
        self.passed = state["passed"]
        self.inner.restore(state["inner"])


class Repeat(Stage):
    """Consecutive passes through a source; infinitely many if the count is None."""

    def __init__(self, source: Stage, count: int | None) -> None:
        super().__init__(source)
        self.count = count

    def options(self) -> dict[str, Any]:
        return {"count": self.count}

    @property
    def size(self) -> int:
        n = self.source.size
        if n == 0 or self.count == 0:
            return 0
        if self.count is None:
            return INFINITE
        return n * self.count if n > 0 else n

    @property
    def is_cheap(self) -> bool:
        return self.source.is_cheap

    def cursor(self, epoch: int) -> Cursor:
        return RepeatCursor(self, epoch)


class RepeatCursor(Cursor):
    stage: Repeat
    epoch: int
    round: int
    given: int

    def __init__(self, stage: Repeat, epoch: int) -> None:
        self.stage, self.epoch = stage, epoch
        self.begin(0)

    def begin(self, round_: int) -> None:
        """Begin a repetition, which is an epoch of the source. The epochs of a second iteration
        follow all epochs of the first."""
        count = self.stage.count
        self.round, self.given = round_, 0          # `given`: elements of this repetition
        self.inner: Cursor = self.stage.source.cursor(
            self.epoch * (1 << 32 if count is None else count) + round_)

    def next_round(self) -> bool:
        """Begin the next repetition; return False after the last, or if this one was empty."""
        count = self.stage.count
        if not self.given or (count is not None and self.round + 1 >= count):
            return False
        self.begin(self.round + 1)
        return True

    def __next__(self) -> Any:
        while self.stage.count != 0:
            for element in self.inner:
                self.given += 1
                return element
            if not self.next_round():
                break
        raise StopIteration

    def many(self, n: int, least: int = 1) -> tuple[int, Any]:
        total, pieces = 0, []
        while self.stage.count != 0:
            count, part = self.inner.many(n - total, n - total)
            self.given += count
            total += count
            pieces += Pieces.of(part)
            if total == n or not (count or self.next_round()):
                break
        return total, gathered(pieces, total, least)

    def advance(self, n: int) -> int:
        total = 0
        while self.stage.count != 0:
            count = self.inner.advance(n - total)
            self.given += count
            total += count
            if total == n or not (count or self.next_round()):
                break
        return total

    def state(self) -> Any:
        return {"round": self.round, "given": self.given, "inner": self.inner.state()}

    def restore(self, state: Any) -> None:
        self.begin(state["round"])
        self.given = state["given"]
        self.inner.restore(state["inner"])


class Concatenate(Stage):
    """Several stages, one after another."""

    @property
    def size(self) -> int:
        sizes = [x.size for x in self.inputs]
        return INFINITE if INFINITE in sizes else UNKNOWN if UNKNOWN in sizes else sum(sizes)

    @cached_property
    def spec(self) -> Any:
        return common(self.inputs[0].spec, self.inputs[1].spec, "concatenate")

    @property
    def is_cheap(self) -> bool:
        return all([x.is_cheap for x in self.inputs])

    def cursor(self, epoch: int) -> Cursor:
        return ConcatenateCursor(self, epoch)


class ConcatenateCursor(Cursor):
    stage: Concatenate
    epoch: int
    part: int
    inner: Cursor

    def __init__(self, stage: Concatenate, epoch: int) -> None:
        self.stage, self.epoch = stage, epoch
        self.begin(0)

    def begin(self, part: int) -> None:
        self.part, self.inner = part, self.stage.inputs[part].cursor(self.epoch)

    def next_part(self) -> bool:
        if self.part + 1 == len(self.stage.inputs):
            return False
        self.begin(self.part + 1)
        return True

    def __next__(self) -> Any:
        while True:
            for element in self.inner:
                return element
            if not self.next_part():
                raise StopIteration

    def many(self, n: int, least: int = 1) -> tuple[int, Any]:
        total, pieces = 0, []
        while True:
            count, part = self.inner.many(n - total, n - total)
            total += count
            pieces += Pieces.of(part)
            if total == n or not (count or self.next_part()):
                return total, gathered(pieces, total, least)

    def advance(self, n: int) -> int:
        total = 0
        while True:
            total += self.inner.advance(n - total)
            if total == n or not self.next_part():
                return total

    def state(self) -> Any:
        return {"part": self.part, "inner": self.inner.state()}

    def restore(self, state: Any) -> None:
        self.begin(state["part"])
        self.inner.restore(state["inner"])


class Zip(Stage):
    """Structures of one element of each stage; ends with the shortest stage."""

    template: Any

    def __init__(self, inputs: list[Stage], template: Any) -> None:
        super().__init__(*inputs)
        self.template = template
        self.pack: Callable[[Sequence[Any]], Any] = packer(template)
        self.addressable: bool = all([x.addressable for x in inputs])

    @property
    def size(self) -> int:
        sizes = [x.size for x in self.inputs if x.size != INFINITE]
        return INFINITE if not sizes else UNKNOWN if UNKNOWN in sizes else min(sizes)

    @cached_property
    def spec(self) -> Any:
        return pack(self.template, [x.spec for x in self.inputs])

    @property
    def is_cheap(self) -> bool:
        return all([x.is_cheap for x in self.inputs])

    def cursor(self, epoch: int) -> Cursor:
        return Places(self) if self.addressable else ZipCursor(self, epoch)

    def at(self, i: int) -> Any:
        return self.pack([x.at(i) for x in self.inputs])

    def span(self, begin: int, end: int) -> Any:
        return self.pack([x.span(begin, end) for x in self.inputs])

    def gather(self, order: Tensor, begin: int, end: int) -> Any:
        return self.pack([x.gather(order, begin, end) for x in self.inputs])


class ZipCursor(Cursor):
    stage: Zip
    inner: list[Cursor]

    def __init__(self, stage: Zip, epoch: int) -> None:
        self.stage, self.inner = stage, [x.cursor(epoch) for x in stage.inputs]
        self.ended: Any = False

    def __next__(self) -> Any:
        if self.ended:
            raise StopIteration
        try:
            return self.stage.pack([next(x) for x in self.inner])
        except StopIteration:
            self.ended = True
            raise

    def many(self, n: int, least: int = 1) -> tuple[int, Any]:
        if self.ended:
            return 0, None
        found = [x.many(n, n + 1) for x in self.inner]      # unstacked: others may be shorter
        count = min([k for k, _ in found])
        self.ended = count < n
        if not count:
            return 0, None
        columns = [first_rows(Pieces.of(part), count) for _, part in found]
        if count >= least or all([len(c) == 1 and type(c[0]) is not Loose for c in columns]):
            block = self.stage.pack([gathered(c, count, 1) for c in columns])
            return count, block if count >= least else Pieces([block])
        elements = zip(*map(single, columns), strict=True)
        return count, Pieces([Loose([self.stage.pack(list(x)) for x in elements])])

    def state(self) -> Any:
        return {"ended": self.ended, "inner": [x.state() for x in self.inner]}

    def restore(self, state: Any) -> None:
        self.ended = state["ended"]
        for cursor, place in zip(self.inner, state["inner"], strict=True):
            cursor.restore(place)


class AssertCardinality(Stage):
    """A source with a declared number of elements."""

    def __init__(self, source: Stage, size: int) -> None:
        super().__init__(source)
        self.n = size

    @property
    def size(self) -> int:
        return self.n

    def cursor(self, epoch: int) -> Cursor:
        return PromisedCursor(self, epoch)


class PromisedCursor(Cursor):
    stage: AssertCardinality
    inner: Cursor
    given: int

    def __init__(self, stage: AssertCardinality, epoch: int) -> None:
        self.stage, self.inner, self.given = stage, stage.source.cursor(epoch), 0
        self.ended: Any = False

    def __next__(self) -> Any:
        try:
            element = next(self.inner)
        except StopIteration:
            ended, self.ended = self.ended, True        # the error is raised once
            if not ended and self.stage.n != UNKNOWN and self.given != self.stage.n:
                raise self.broken("only ") from None
            raise
        self.given += 1
        if 0 <= self.stage.n < self.given:
            raise self.broken("at least ")
        return element

    def broken(self, how: str) -> Exception:
        want = "infinitely many" if self.stage.n == INFINITE else self.stage.n
        return InvalidArgumentError(f"assert_cardinality: the dataset was expected to have {want} "
                                    f"elements and has {how}{self.given}")

    def state(self) -> Any:
        return {"given": self.given, "inner": self.inner.state()}

    def restore(self, state: Any) -> None:
        self.given = state["given"]
        self.inner.restore(state["inner"])


