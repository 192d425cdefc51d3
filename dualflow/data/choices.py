"""Random numbers, and choices that depend on them or on a dataset of indices: random,
sample_from_datasets, choose_from_datasets, rejection_resample.

A random number is a function of the seed, the number of the pass, and its index in the pass, so
that a state holds an index.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import reduce
from itertools import accumulate
from typing import Any

from dualflow._core import TensorSpec, constant
from dualflow._util.cached import cached_property
from dualflow.data.calls import UserFunction
from dualflow.data.order import Seeded, mixed
from dualflow.data.sources import first_spec
from dualflow.data.stage import INFINITE, UNKNOWN, Cursor, Stage
from dualflow.data.structure import as_element, common
from dualflow.dtypes import int64
from dualflow.errors import InvalidArgumentError


class Random(Seeded):
    """Random int64 numbers in [0, 2**32)."""

    vary: bool

    def __init__(self, seed: int | None, vary: bool, *inputs: Stage) -> None:
        super().__init__(seed, *inputs)
        self.vary = vary                        # whether passes differ

    def options(self) -> dict[str, Any]:
        return {"seed": self.given, "rerandomize": self.vary}

    @property
    def size(self) -> int:
        return INFINITE

    @cached_property
    def spec(self) -> Any:
        return TensorSpec((), int64)

    @property
    def is_cheap(self) -> bool:
        return True

    def cursor(self, epoch: int) -> Cursor:
        return RandomCursor(self, epoch)


class RandomCursor(Cursor):
    stage: Random
    epoch: int
    place: int

    def __init__(self, stage: Random, epoch: int) -> None:
        self.stage, self.epoch, self.place = stage, epoch if stage.vary else 0, 0
        self.seed: Any = stage.seed

    def draw(self) -> int:
        """Return the next random integer below 2**32."""
        key = mixed(self.seed) ^ mixed(self.epoch)
        self.place += 1
        return mixed(mixed(key) + self.place) >> 32

    def __next__(self) -> Any:
        return constant(self.draw(), int64)

    def advance(self, n: int) -> int:
        self.place += n
        return n

    def state(self) -> Any:
        return {"seed": self.seed, "place": self.place}

    def restore(self, state: Any) -> None:
        self.seed, self.place = self.stage.state_seed(state), state["place"]


class Draws(Random):
    """Random indices of weighted alternatives, as Python ints; if there is an input stage, its
    elements are the weights of each draw."""

    n: int
    weights: Sequence[float]

    def __init__(self, seed: int | None, vary: bool, n: int, weights: Sequence[float],
                 *inputs: Stage) -> None:
        super().__init__(seed, vary, *inputs)
        self.n, self.weights = n, weights

    def options(self) -> dict[str, Any]:
        return {**super().options(), "weights": list(self.weights)}

    @property
    def size(self) -> int:
        return self.inputs[0].size if self.inputs else INFINITE

    def cursor(self, epoch: int) -> Cursor:
        return WeightedCursor(self, epoch) if self.inputs else DrawsCursor(self, epoch)


class DrawsCursor(RandomCursor):
    stage: Draws

    def __init__(self, stage: Draws, epoch: int) -> None:
        super().__init__(stage, epoch)
        self.bounds: list[float] = list(accumulate(stage.weights))

    def __next__(self) -> Any:
        return self.drawn(self.bounds)

    def drawn(self, bounds: list[float]) -> int:
        return min(bisect_right(bounds, self.draw() / 2**32 * bounds[-1]), len(bounds) - 1)


class WeightedCursor(DrawsCursor):
    inner: Cursor

    def __init__(self, stage: Draws, epoch: int) -> None:
        super().__init__(stage, epoch)
        self.inner = stage.source.cursor(epoch)

    def __next__(self) -> Any:
        return self.drawn(list(accumulate(as_weights(next(self.inner), self.stage.n))))

    def advance(self, n: int) -> int:
        return super().advance(self.inner.advance(n))

    def state(self) -> Any:
        return {**super().state(), "inner": self.inner.state()}

    def restore(self, state: Any) -> None:
        super().restore(state)
        self.inner.restore(state["inner"])


def as_weights(weights: Any, n: int) -> list[float]:
    """Return `n` weights as Python floats; raise an error if they are not weights."""
    caller = "sample_from_datasets"
    found = as_element(weights, caller).tolist()
    if not isinstance(found, list) or len(found) != n:
        raise InvalidArgumentError(f"{caller}: weights are {found}, expected one weight for each "
                                   f"of {n} datasets")
    if not all([0 <= w < float("inf") for w in found]) or not any(found):
        raise InvalidArgumentError(f"{caller}: weights are {found}, expected finite weights of 0 "
                                   "or more, at least one above 0")
    return list(map(float, found))


class Chosen(Stage):
    """Elements of several stages; the first input has the index of the stage for each element."""

    stop: bool
    caller: str

    def __init__(self, choices: Stage, sources: Sequence[Stage], stop_on_empty: bool,
                 caller: str) -> None:
        super().__init__(choices, *sources)
        self.stop, self.caller = stop_on_empty, caller

    def options(self) -> dict[str, Any]:
        return {"stop_on_empty_dataset": self.stop}

    @property
    def size(self) -> int:
        sizes = {x.size for x in self.inputs}
        return INFINITE if sizes == {INFINITE} else UNKNOWN

    @cached_property
    def spec(self) -> Any:
        return reduce(lambda a, b: common(a, b, self.caller), [x.spec for x in self.inputs[1:]])

    def cursor(self, epoch: int) -> Cursor:
        return ChosenCursor(self, epoch)


class ChosenCursor(Cursor):
    stage: Chosen
    inner: list[Cursor]

    def __init__(self, stage: Chosen, epoch: int) -> None:
        self.stage, self.inner = stage, [x.cursor(epoch) for x in stage.inputs]
        self.ended: Any = [False] * len(self.inner)

    def __next__(self) -> Any:
        while not (self.ended[0] or all(self.ended[1:])):
            number = self.choice()
            for element in self.inner[number] if number else ():
                return element
            self.ended[number] = True
            if self.stage.stop:
                self.ended[0] = True
        raise StopIteration

    def choice(self) -> int:
        """Return the index of the next cursor to read, which is not 0; 0 after the last choice."""
        n = len(self.inner) - 1
        for chosen in self.inner[0]:
            index = int(chosen)
            if not 0 <= index < n:
                raise InvalidArgumentError(f"{self.stage.caller}: an element of choice_dataset is "
                                           f"{index}, expected 0 to {n - 1}, the index of a "
                                           "dataset")
            return index + 1
        return 0

    def state(self) -> Any:
        return {"ended": list(self.ended), "inner": [x.state() for x in self.inner]}

    def restore(self, state: Any) -> None:
        self.ended = list(state["ended"])
        for cursor, place in zip(self.inner, state["inner"], strict=True):
            cursor.restore(place)


class Resampled(Random):
    """Pairs of a class and an element, some of them dropped so that the classes have a given
    distribution. Without the distribution of the source it is estimated from the elements."""

    function: UserFunction
    target: Sequence[float]
    initial: Sequence[float] | None
    spec_runs_python = True

    def __init__(self, source: Stage, function: UserFunction, target: Sequence[float],
                 initial: Sequence[float] | None, seed: int | None) -> None:
        super().__init__(seed, True, source)
        self.function, self.target, self.initial = function, target, initial

    def options(self) -> dict[str, Any]:
        return {"seed": self.given, "target": list(self.target),
                "initial": self.initial and list(self.initial)}

    @property
    def size(self) -> int:
        return self.source.size if self.source.size <= 0 else UNKNOWN

    @cached_property
    def spec(self) -> Any:
        return first_spec(self, self.function.caller)[0], self.source.spec

    def cursor(self, epoch: int) -> Cursor:
        return ResampledCursor(self, epoch)


class ResampledCursor(RandomCursor):
    stage: Resampled
    inner: Cursor

    def __init__(self, stage: Resampled, epoch: int) -> None:
        super().__init__(stage, epoch)
        self.inner = stage.source.cursor(epoch)
        self.counts: list[int] = [1] * len(stage.target)

    def __next__(self) -> Any:
        target = self.stage.target
        for element in self.inner:
            label = as_element(self.stage.function.of(element), self.stage.function.caller)
            number = int(label)
            if not 0 <= number < len(target):
                raise InvalidArgumentError(f"rejection_resample: the class of an element is "
                                           f"{number}, expected 0 to {len(target) - 1}")
            self.counts[number] += 1
            initial = self.stage.initial or self.counts
            ratios = [t / p if p else 0. for t, p in zip(target, initial, strict=True)]
            if self.draw() / 2**32 * max(ratios) < ratios[number]:
                return label, element
        raise StopIteration

    def advance(self, n: int) -> int:
        return Cursor.advance(self, n)

    def state(self) -> Any:
        return {**super().state(), "counts": list(self.counts), "inner": self.inner.state()}

    def restore(self, state: Any) -> None:
        super().restore(state)
        self.counts = list(state["counts"])
        self.inner.restore(state["inner"])
