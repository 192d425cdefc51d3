"""Grouping by other rules than a fixed count: window, bucket_by_sequence_length."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from dualflow._core import TensorSpec
from dualflow._util.cached import cached_property
from dualflow.data.batches import Padding
from dualflow.data.calls import UserFunction
from dualflow.data.json_state import LazyElements, held_in
from dualflow.data.sources import Slices
from dualflow.data.stage import UNKNOWN, Cursor, Places, Stage
from dualflow.data.structure import flatten, map_leaves, pack, stack, with_first
from dualflow.errors import InvalidArgumentError


class Elements(Slices):
    """A sequence of leaves in memory, whose shapes may differ."""

    addressable = False                 # `span` and `gather` would stack elements a batch may drop

    def __init__(self, leaves: list[Any]) -> None:
        super().__init__(leaves, "window")

    def cursor(self, epoch: int) -> Cursor:
        return ElementsCursor(self)


class ElementsCursor(Places):
    many = Cursor.many


class Window(Stage):
    """Windows of consecutive elements: for each leaf of an element, a dataset.

    Parameters
    ----------
    wrap : callable
        Returns a dataset for a stage.
    """

    n: int
    shift: int
    stride: int
    drop: bool

    def __init__(self, source: Stage, n: int, shift: int, stride: int, drop_remainder: bool,
                 wrap: Callable[[Stage], Any]) -> None:
        super().__init__(source)
        self.n, self.shift, self.stride, self.drop = n, shift, stride, drop_remainder
        self.wrap = wrap

    def options(self) -> dict[str, Any]:
        return {"size": self.n, "shift": self.shift, "stride": self.stride,
                "drop_remainder": self.drop}

    @property
    def size(self) -> int:
        n = self.source.size
        if n < 0:
            return n
        span = (self.n - 1) * self.stride + 1
        return max(0, (n - span) // self.shift + 1) if self.drop else -(-n // self.shift)

    @cached_property
    def spec(self) -> Any:
        return map_leaves(DatasetSpec, self.source.spec)

    def cursor(self, epoch: int) -> Cursor:
        return WindowCursor(self, epoch)

    def windows(self, elements: Sequence[Any]) -> Any:
        """Return a dataset for each leaf."""
        columns = zip(*map(flatten, elements), strict=True)
        return pack(elements[0], [self.wrap(Elements(list(column))) for column in columns])


class DatasetSpec:
    """The spec of a dataset that is an element of another dataset.

    Parameters
    ----------
    element_spec : structure of TensorSpec
        The spec of its elements.
    """

    def __init__(self, element_spec: Any) -> None:
        self.element_spec = element_spec

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DatasetSpec) and self.element_spec == other.element_spec

    def __hash__(self) -> int:
        return hash(str(self.element_spec))

    def __repr__(self) -> str:
        return f"DatasetSpec({self.element_spec})"


class WindowCursor(Cursor):
    stage: Window
    inner: Cursor

    def __init__(self, stage: Window, epoch: int) -> None:
        self.stage, self.inner = stage, stage.source.cursor(epoch)
        self.held: list[Any] = []           # elements read for the next window
        self.skip: int = 0                       # elements to skip before the next window

    def __next__(self) -> Any:
        stage = self.stage
        self.skip -= self.inner.advance(self.skip)
        span = (stage.n - 1) * stage.stride + 1
        while not self.skip and len(self.held) < span:
            for element in self.inner:
                self.held.append(element)
                break
            else:
                break
        window = self.held[:span:stage.stride]
        if not window or (stage.drop and len(window) < stage.n):
            raise StopIteration
        self.skip = max(0, stage.shift - len(self.held))
        del self.held[:stage.shift]
        return stage.windows(window)

    def state(self) -> Any:
        return {"inner": self.inner.state(), "skip": self.skip, "held": LazyElements(self.held)}

    def restore(self, state: Any) -> None:
        self.inner.restore(state["inner"])
        self.skip = state["skip"]
        self.held = held_in(state["held"], self.stage.source)


class Bucketed(Stage):
    """Batches of elements of similar length."""

    length: UserFunction
    boundaries: Sequence[int]
    batch_sizes: Sequence[int]
    padding: Padding | None
    to_boundary: bool
    drop: bool

    def __init__(self, source: Stage, length: UserFunction, boundaries: Sequence[int],
                 batch_sizes: Sequence[int], padding: Padding | None, to_boundary: bool,
                 drop_remainder: bool) -> None:
        super().__init__(source)
        self.length, self.boundaries, self.batch_sizes = length, boundaries, batch_sizes
        self.padding, self.to_boundary, self.drop = padding, to_boundary, drop_remainder

    def options(self) -> dict[str, Any]:
        return {"boundaries": list(self.boundaries), "batch_sizes": list(self.batch_sizes),
                "drop_remainder": self.drop}

    @property
    def size(self) -> int:
        return self.source.size if self.source.size <= 0 else UNKNOWN

    @cached_property
    def spec(self) -> Any:
        batch = with_first(self.source.spec, None)
        if self.padding is None:
            return batch
        return map_leaves(lambda s: TensorSpec([None] * s.ndim, s.dtype), batch)

    def cursor(self, epoch: int) -> Cursor:
        return BucketCursor(self, epoch)

    def bucket(self, element: Any) -> int:
        return bisect_right(self.boundaries, int(self.length.of(element)))

    def batch(self, bucket: int, elements: Sequence[Any]) -> Any:
        if self.padding is None:
            return stack(elements, self.length.caller)
        padding = self.padding
        if self.to_boundary:
            if bucket == len(self.boundaries):
                raise InvalidArgumentError(
                    f"{self.length.caller}: pad_to_bucket_boundary, and an element is not shorter "
                    f"than the last boundary, {self.boundaries[-1]}")
            padding = self.bounded(padding, elements[0], self.boundaries[bucket] - 1)
        return padding.batch(elements, self.length.caller)

    def bounded(self, padding: Padding, element: Any, size: int) -> Padding:
        """Return the padding with unknown sizes replaced by `size`, the bucket's largest length."""
        shapes = [[None] * x.ndim if s is None else s for x, s in zip(
            flatten(element), padding.shapes_for(element), strict=True)]
        sized = [tuple([size if d is None else d for d in shape]) for shape in shapes]
        return Padding(pack(element, sized), padding.values)


class BucketCursor(Cursor):
    stage: Bucketed
    inner: Cursor

    def __init__(self, stage: Bucketed, epoch: int) -> None:
        self.stage, self.inner = stage, stage.source.cursor(epoch)
        self.buckets: list[list[Any]] = [[] for _ in stage.batch_sizes]
        self.next: int = 0                       # next bucket to flush after the last element

    def __next__(self) -> Any:
        stage = self.stage
        for element in self.inner:
            number = stage.bucket(element)
            held = self.buckets[number]
            held.append(element)
            if len(held) == stage.batch_sizes[number]:
                self.buckets[number] = []
                return stage.batch(number, held)
        while self.next < len(self.buckets) and not stage.drop:
            number, held = self.next, self.buckets[self.next]
            self.next += 1
            if held:
                self.buckets[number] = []
                return stage.batch(number, held)
        raise StopIteration

    def state(self) -> Any:
        return {"inner": self.inner.state(), "next": self.next,
                "buckets": [LazyElements(held) for held in self.buckets]}

    def restore(self, state: Any) -> None:
        self.inner.restore(state["inner"])
        self.next = state["next"]
        self.buckets = [held_in(held, self.stage.source) for held in state["buckets"]]
