"""Shuffling: the order of a pass is a function of the seed and the number of the pass.

Elements are shuffled in consecutive windows of `buffer_size`; a window that holds all elements
gives a uniform shuffle. A position is the index of an element, so a state need not hold elements.
The state of tf.data's buffer, which emits a random element for each new one, would have to hold
them: an element can remain in that buffer for an unlimited time.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from dualflow._core import Tensor, TraceContext
from dualflow.data.stage import INFINITE, Cursor, Stage
from dualflow.ops.array.join import concat
from dualflow.ops.random.random import stateless_permutation
from dualflow.ops.random.random_generator import get_global_generator

WORD = 1 << 64


class Seeded(Stage):
    """A stage whose passes depend on a seed and on the number of the pass.

    Attributes
    ----------
    passes : int
        Number of passes that have begun; it determines the order of the next pass.
    """

    given: int | None

    def __init__(self, seed: int | None, *inputs: Stage) -> None:
        super().__init__(*inputs)
        self.given = seed
        self.seed: Any = drawn_seed() if seed is None else seed
        self.passes = 0

    def state_seed(self, state: Any) -> int:
        """Return the seed of a saved pass; a drawn seed is also used for later passes."""
        if self.given is None:
            self.seed = state["seed"]
        return self.seed


class Shuffle(Seeded):
    """A source in random order."""

    window: int
    reshuffle: bool

    def __init__(self, source: Stage, buffer_size: int, seed: int | None,
                 reshuffle: bool) -> None:
        super().__init__(seed, source)
        self.window, self.reshuffle = buffer_size, reshuffle

    def options(self) -> dict[str, Any]:
        return {"buffer_size": self.window, "seed": self.given, "reshuffle": self.reshuffle}

    @property
    def size(self) -> int:
        return self.source.size

    @property
    def is_cheap(self) -> bool:
        return self.source.is_cheap

    def cursor(self, epoch: int) -> Cursor:
        finite = self.source.addressable and self.source.size != INFINITE
        return PickedCursor(self, epoch) if finite else WindowCursor(self, epoch)

    def order(self, seed: int, epoch: int, window: int, n: int) -> Tensor:
        """Return the new order of a window, as indices relative to its first element."""
        epoch = epoch if self.reshuffle else 0
        return stateless_permutation(n, [signed(seed), signed(mixed(mixed(epoch) + window))])


def drawn_seed() -> int:
    """Return a seed from the global generator; in a traced function, when it is traced."""
    with TraceContext(None):
        seed, draw = get_global_generator().next_key().tolist()
    return mixed(mixed(seed) + draw)


def mixed(x: int) -> int:
    """Return a 64-bit number mixed by the output function of SplitMix64, a bijection (Steele, Lea,
    Flood, OOPSLA 2014)."""
    x = (x + 0x9E3779B97F4A7C15) % WORD
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % WORD
    x = (x ^ x >> 27) * 0x94D049BB133111EB % WORD
    return x ^ x >> 31


def signed(x: int) -> int:
    return (x + (WORD >> 1)) % WORD - (WORD >> 1)


class PickedCursor(Cursor):
    """A pass through an addressable source, which picks elements by index."""

    stage: Shuffle
    source: Stage
    epoch: int
    seed: Any
    size: int
    place: int
    begin: int
    end: int

    def __init__(self, stage: Shuffle, epoch: int) -> None:
        self.stage, self.source, self.epoch, self.seed = stage, stage.source, epoch, stage.seed
        self.size, self.place = stage.source.size, 0
        self.window: int = max(1, min(stage.window, self.size))
        self.numbers: list[int] | None = None       # `order` as Python ints
        self.begin = self.end = 0                   # bounds of the current window

    def enter(self) -> None:
        """Compute the order of the window that contains the position."""
        number = self.place // self.window
        self.begin = number * self.window
        self.end = min(self.begin + self.window, self.size)
        order = self.stage.order(self.seed, self.epoch, number, self.end - self.begin)
        self.order: Tensor | Any = order + self.begin if self.begin else order
        self.numbers = None

    def __next__(self) -> Any:
        if not self.begin <= self.place < self.end:
            if self.place >= self.size:
                raise StopIteration
            self.enter()
        if self.numbers is None:
            self.numbers = self.order.tolist()
        element = self.source.at(self.numbers[self.place - self.begin])
        self.place += 1
        return element

    def many(self, n: int, least: int = 1) -> tuple[int, Any]:
        begin, end = self.place, min(self.place + n, self.size)
        if not self.begin <= begin < self.end:
            if begin >= self.size:
                return 0, None
            self.enter()
        if end <= self.end:
            block = self.source.gather(self.order, begin - self.begin, end - self.begin)
        else:
            block = self.source.gather(self.across(end), 0, end - begin)
        self.place = end
        return end - begin, block

    def across(self, end: int) -> Tensor:
        """Return the indices from the position on, across several windows."""
        parts = []
        while self.place < end:
            if self.place >= self.end:
                self.enter()
            stop = min(end, self.end)
            parts.append(self.order[self.place - self.begin:stop - self.begin])
            self.place = stop
        return concat(parts, 0)

    def advance(self, n: int) -> int:
        n = min(n, self.size - self.place)
        self.place += n
        return n

    def state(self) -> Any:
        return {"seed": self.seed, "place": self.place}

    def restore(self, state: Any) -> None:
        self.seed, self.place = self.stage.state_seed(state), state["place"]


class WindowCursor(Cursor):
    """A pass through any other source, with one window held in memory."""

    stage: Shuffle
    epoch: int
    seed: Any
    number: int
    place: int

    def __init__(self, stage: Shuffle, epoch: int) -> None:
        self.stage, self.epoch, self.seed = stage, epoch, stage.seed
        self.inner: Cursor = stage.source.cursor(epoch)
        self.number, self.place = -1, 0             # index of the window, and position in it
        self.elements: list[Any] = []
        self.before: Any = None                     # the state of `inner` before the window

    def enter(self) -> None:
        """Read the next window."""
        self.before = self.inner.state()
        self.elements = list(islice(self.inner, self.stage.window))
        self.number, self.place = self.number + 1, 0
        n = len(self.elements)
        self.order: Any = self.stage.order(self.seed, self.epoch, self.number, n).tolist()

    def __next__(self) -> Any:
        if self.place == len(self.elements):
            self.enter()
            if not self.elements:
                raise StopIteration
        at = self.order[self.place]
        element, self.elements[at] = self.elements[at], None
        self.place += 1
        return element

    def state(self) -> Any:
        before = self.inner.state() if self.number < 0 else self.before
        return {"seed": self.seed, "window": self.number, "place": self.place, "inner": before}

    def restore(self, state: Any) -> None:
        self.seed = self.stage.state_seed(state)
        self.inner.restore(state["inner"])
        if state["window"] >= 0:
            self.number = state["window"] - 1
            self.enter()
            self.place = state["place"]


