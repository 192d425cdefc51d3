"""Transformations that carry a state from element to element: scan, unique, ignore_errors,
group_by_window, rebatch."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from dualflow._core import Tensor, constant
from dualflow._util.arguments import integer
from dualflow._util.cached import cached_property
from dualflow.data.calls import UserFunction
from dualflow.data.json_state import LazyElements, decode, held_in, raw
from dualflow.data.mapping import traced_spec
from dualflow.data.selection import Zip
from dualflow.data.sources import first_spec
from dualflow.data.stage import UNKNOWN, Cursor, Stage
from dualflow.data.structure import as_element, flatten, same_structure, spec_of, with_first
from dualflow.data.windows import Elements
from dualflow.dtypes import int64
from dualflow.errors import DTypeError, InvalidArgumentError


class Scan(Stage):
    """The second results of a function of a state and an element; the first is the next state."""

    spec_runs_python = True

    def __init__(self, source: Stage, initial: Any, function: UserFunction) -> None:
        super().__init__(source)
        self.initial, self.function = initial, function

    @property
    def size(self) -> int:
        return self.source.size

    @cached_property
    def spec(self) -> Any:
        traced = traced_spec(self.function, (spec_of(self.initial), self.source.spec))
        return first_spec(self, "scan") if traced is None else traced[1]

    def cursor(self, epoch: int) -> Cursor:
        return ScanCursor(self, epoch)


class ScanCursor(Cursor):
    stage: Scan
    inner: Cursor

    def __init__(self, stage: Scan, epoch: int) -> None:
        self.stage, self.inner, self.carry = stage, stage.source.cursor(epoch), stage.initial

    def __next__(self) -> Any:
        function = self.stage.function
        found = function(self.carry, next(self.inner))
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise function.noted(InvalidArgumentError(
                "scan: scan_func returned one value, expected a pair of a state and an element"))
        carry = as_element(found[0], "scan")
        have, want = spec_of(carry), spec_of(self.stage.initial)
        if not same_structure(have, want) or any(
                [getattr(a, "dtype", a) is not getattr(b, "dtype", b)
                 for a, b in zip(flatten(have), flatten(want), strict=True)]):
            raise function.noted(DTypeError(f"scan: scan_func returned the state {have}, expected "
                                            f"the structure and dtypes of initial_state, {want}"))
        self.carry = carry
        return as_element(found[1], "scan")

    def state(self) -> Any:
        return {"inner": self.inner.state(), "carry": LazyElements([self.carry])}

    def restore(self, state: Any) -> None:
        self.inner.restore(state["inner"])
        held = state["carry"]
        self.carry = (held.elements[0] if isinstance(held, LazyElements)
                      else decode(self.stage.initial, held[0]))


class Unique(Stage):
    """The elements that differ from all elements before them."""

    @property
    def size(self) -> int:
        return 0 if self.source.size == 0 else UNKNOWN

    def cursor(self, epoch: int) -> Cursor:
        return UniqueCursor(self, epoch)


class UniqueCursor(Cursor):
    stage: Unique
    inner: Cursor

    def __init__(self, stage: Unique, epoch: int) -> None:
        self.stage, self.inner = stage, stage.source.cursor(epoch)
        self.given: dict[Any, Any] = {}         # elements by key

    def __next__(self) -> Any:
        for element in self.inner:
            key = key_of(element)
            if key not in self.given:
                self.given[key] = element
                return element
        raise StopIteration

    def state(self) -> Any:
        return {"inner": self.inner.state(), "given": LazyElements(list(self.given.values()))}

    def restore(self, state: Any) -> None:
        self.inner.restore(state["inner"])
        self.given = {key_of(x): x for x in held_in(state["given"], self.stage)}


def key_of(element: Any) -> Any:
    """Return a value that equal elements share; numbers are compared by their bytes."""
    return tuple([(x.dtype.name, x.shape, raw(x)) if isinstance(x, Tensor)
                  else str(x) if isinstance(x, list) else x for x in flatten(element)])


class IgnoreErrors(Stage):
    """The elements whose computation raises no error."""

    log: bool

    def __init__(self, source: Stage, log: bool) -> None:
        super().__init__(source)
        self.log = log

    @property
    def size(self) -> int:
        return self.source.size if self.source.size <= 0 else UNKNOWN

    @cached_property
    def spec(self) -> Any:
        try:
            return self.source.spec
        except Exception:               # the first element may be one that raises
            return first_spec(self, "ignore_errors")

    def cursor(self, epoch: int) -> Cursor:
        return IgnoreErrorsCursor(self, epoch)


class IgnoreErrorsCursor(Cursor):
    stage: IgnoreErrors
    inner: Cursor

    def __init__(self, stage: IgnoreErrors, epoch: int) -> None:
        self.stage, self.inner = stage, stage.source.cursor(epoch)

    def __next__(self) -> Any:
        place: Any = None
        while True:
            try:
                return next(self.inner)
            except StopIteration:
                raise
            except Exception as error:
                before, place = place, self.inner.state()
                if place == before:     # a source that does not advance raises for ever
                    raise
                if self.stage.log:
                    warnings.warn(f"ignore_errors: {type(error).__name__}: {error}", stacklevel=2)

    def state(self) -> Any:
        return self.inner.state()

    def restore(self, state: Any) -> None:
        self.inner.restore(state)


class GroupByWindow(Stage):
    """The elements of the datasets that a function returns for groups of elements with one key.

    Parameters
    ----------
    window_size : callable
        Returns the number of elements of a group for a key.
    wrap : callable
        Returns a dataset for a stage.
    unwrap : callable
        Returns the stage of a function's result.
    """

    spec_runs_python = True

    key: UserFunction
    reduce: UserFunction
    window_size: UserFunction

    def __init__(self, source: Stage, key: UserFunction, reduce: UserFunction,
                 window_size: UserFunction, wrap: Callable[[Stage], Any],
                 unwrap: Callable[[Any, str], Stage]) -> None:
        super().__init__(source)
        self.key, self.reduce, self.window_size = key, reduce, window_size
        self.wrap, self.unwrap = wrap, unwrap

    @property
    def size(self) -> int:
        return 0 if self.source.size == 0 else UNKNOWN

    @cached_property
    def spec(self) -> Any:
        return first_spec(self, "group_by_window")

    def cursor(self, epoch: int) -> Cursor:
        return GroupCursor(self, epoch)

    def reduced(self, key: int, elements: Sequence[Any]) -> Stage:
        """Return the stage of the dataset for a group."""
        columns = zip(*map(flatten, elements), strict=True)
        group = Zip([Elements(list(column)) for column in columns], elements[0])
        return self.unwrap(self.reduce(constant(key, int64), self.wrap(group)), "group_by_window")


class GroupCursor(Cursor):
    stage: GroupByWindow
    epoch: int
    inner: Cursor

    def __init__(self, stage: GroupByWindow, epoch: int) -> None:
        self.stage, self.epoch, self.inner = stage, epoch, stage.source.cursor(epoch)
        self.groups: dict[int, list[Any]] = {}
        self.key = 0                            # the group whose dataset is open
        self.held: list[Any] = []
        self.opened: Cursor | None = None

    def __next__(self) -> Any:
        while True:
            for element in self.opened or ():
                return element
            self.opened = None
            if not self.next_group():
                raise StopIteration
            self.open()

    def next_group(self) -> bool:
        """Move the next complete group to `held`; after the last element, the group of the
        smallest key. Return False if there is none."""
        for element in self.inner:
            key = integer(self.stage.key.of(element), "group_by_window: the result of key_func")
            held = self.groups.setdefault(key, [])
            held.append(element)
            size = integer(self.stage.window_size(constant(key, int64)),
                           "group_by_window: the window size")
            if size < 1:
                raise InvalidArgumentError(f"group_by_window: the window size of key {key} is "
                                           f"{size}, expected 1 or more")
            if len(held) >= size:
                break
        else:
            if not self.groups:
                return False
            key = min(self.groups)
        self.key, self.held = key, self.groups.pop(key)
        return True

    def open(self) -> None:
        self.opened = self.stage.reduced(self.key, self.held).cursor(self.epoch)

    def state(self) -> Any:
        return {"inner": self.inner.state(), "key": self.key,
                "groups": [[key, LazyElements(x)] for key, x in self.groups.items()],
                "held": LazyElements(self.held if self.opened else ()),
                "opened": self.opened and self.opened.state()}

    def restore(self, state: Any) -> None:
        source = self.stage.source
        self.inner.restore(state["inner"])
        self.groups = {key: held_in(x, source) for key, x in state["groups"]}
        self.key, self.held = state["key"], held_in(state["held"], source)
        if self.held:
            self.open()
            assert self.opened is not None
            self.opened.restore(state["opened"])


class Rebatch(Stage):
    """Batches whose sizes repeat a list, of the elements of a source."""

    sizes: Sequence[int]
    drop: bool

    def __init__(self, source: Stage, sizes: Sequence[int], drop_remainder: bool) -> None:
        super().__init__(source)
        self.sizes, self.drop = sizes, drop_remainder

    def options(self) -> dict[str, Any]:
        return {"batch_sizes": list(self.sizes), "drop_remainder": self.drop}

    @property
    def size(self) -> int:
        return self.source.size if self.source.size <= 0 else UNKNOWN

    @cached_property
    def spec(self) -> Any:
        return with_first(self.source.spec, None)

    def cursor(self, epoch: int) -> Cursor:
        return RebatchCursor(self, epoch)


class RebatchCursor(Cursor):
    stage: Rebatch
    inner: Cursor
    turn: int

    def __init__(self, stage: Rebatch, epoch: int) -> None:
        self.stage, self.inner, self.turn = stage, stage.source.cursor(epoch), 0

    def __next__(self) -> Any:
        n = self.stage.sizes[self.turn]
        count, block = self.inner.many(n, n if self.stage.drop else 1)
        if not count or (self.stage.drop and count < n):
            raise StopIteration
        self.turn = (self.turn + 1) % len(self.stage.sizes)
        return block

    def state(self) -> Any:
        return {"inner": self.inner.state(), "turn": self.turn}

    def restore(self, state: Any) -> None:
        self.inner.restore(state["inner"])
        self.turn = state["turn"]
