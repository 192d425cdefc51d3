"""Stages of foreign iterables: generators, lists, PyTorch's DataLoader, Keras's PyDataset. They are
recognised by their methods; none of these packages is imported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

from dualflow._util.arguments import shown
from dualflow._util.cached import cached_property
from dualflow.data.sources import Iterated, first_spec
from dualflow.data.stage import INFINITE, MANY, UNKNOWN, Cursor, Stage
from dualflow.data.structure import as_element
from dualflow.errors import DTypeError, InvalidArgumentError


def stage_of(value: Any, caller: str) -> Stage:
    """Return the stage of a dataset, or a new stage of an iterable."""
    stage = getattr(value, "_stage", None)
    if isinstance(stage, Stage):
        return stage
    if hasattr(value, "on_epoch_end") and hasattr(value, "__getitem__"):
        return Numbered(value, caller)
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise DTypeError(f"{caller}: got {shown(value)}, expected a Dataset or an iterable")
    if isinstance(value, Iterator):
        return Foreign(Once(value, caller), UNKNOWN, None, caller)
    return Foreign(value.__iter__, length(value), None, caller)


def length(value: Any) -> int:
    """Return the length of an iterable, or UNKNOWN."""
    try:
        return len(value)
    except (TypeError, NotImplementedError):    # a DataLoader's `__len__` may raise
        return UNKNOWN


class Once:
    """An iterator, which supports one pass. Its first element can be inspected without loss."""

    iterator: Iterator[Any]
    caller: str

    def __init__(self, iterator: Iterator[Any], caller: str) -> None:
        self.iterator, self.caller = iterator, caller
        self.first: list[Any] = []
        self.used: bool = False

    def check(self) -> None:
        if self.used:
            raise InvalidArgumentError(
                f"{self.caller}: a {type(self.iterator).__name__} can be iterated only once, and "
                "was; "
                "for several passes pass a function that returns it to Dataset.from_generator")

    def __call__(self) -> Iterator[Any]:
        self.check()
        self.first = self.first or list(islice(self.iterator, 1))
        return chain(self.first, self.rest())

    def rest(self) -> Iterator[Any]:
        self.check()
        self.used = True
        yield from self.iterator


class Foreign(Iterated):
    """The elements of an iterable; lists of arrays become tuples, as from PyTorch's DataLoader."""

    def element(self, value: Any) -> Any:
        return as_element(tuples(value), self.caller)


def tuples(value: Any) -> Any:
    """Return the value with lists converted to tuples if they hold arrays or dicts."""
    if isinstance(value, list) and any([hasattr(x, "shape") or isinstance(x, dict)
                                        for x in value]):
        return tuple(map(tuples, value))
    if type(value) is tuple:
        return tuple(map(tuples, value))
    return value


class Numbered(Stage):
    """The batches of a Keras PyDataset, read by index."""

    value: Any
    caller: str
    spec_runs_python = True

    def __init__(self, value: Any, caller: str) -> None:
        super().__init__()
        self.value, self.caller = value, caller

    def options(self) -> dict[str, Any]:
        return {"n": self.size}

    @property
    def size(self) -> int:
        n = getattr(self.value, "num_batches", UNKNOWN)
        return INFINITE if n is None else len(self.value) if n == UNKNOWN else n

    @cached_property
    def spec(self) -> Any:
        return first_spec(self, self.caller)

    def cursor(self, epoch: int) -> Cursor:
        return NumberedCursor(self)


class NumberedCursor(Cursor):
    stage: Numbered
    place: int

    def __init__(self, stage: Numbered) -> None:
        self.stage, self.place = stage, 0
        self.size: int = MANY if stage.size == INFINITE else stage.size
        self.ended: Any = False

    def __next__(self) -> Any:
        stage = self.stage
        if self.place >= self.size:
            if not self.ended:
                self.ended = True
                stage.value.on_epoch_end()
            raise StopIteration
        element = as_element(tuples(stage.value[self.place]), stage.caller)
        self.place += 1
        return element

    def advance(self, n: int) -> int:
        n = min(n, self.size - self.place)
        self.place += n
        return n

    def state(self) -> Any:
        return {"place": self.place, "ended": self.ended}

    def restore(self, state: Any) -> None:
        self.place, self.ended = state["place"], state["ended"]
