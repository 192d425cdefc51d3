"""Functions applied to each element: map, filter, take_while."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

from dualflow._core import Symbol, TensorBase, TensorSpec
from dualflow._util.cached import cached_property
from dualflow.data.calls import UserFunction
from dualflow.data.sources import first_spec
from dualflow.data.stage import Cursor, Stage
from dualflow.data.structure import as_leaf, common, flatten, leaf_spec, map_leaves, pack
from dualflow.nest import Composite


class Map(Stage):
    """The results of a function for each element."""

    spec_runs_python = True

    def __init__(self, source: Stage, function: UserFunction) -> None:
        super().__init__(source)
        self.function = function

    @property
    def size(self) -> int:
        return self.source.size

    @cached_property
    def spec(self) -> Any:
        """The spec from a trace of the function or, if it cannot be traced, from its result for the
        first element, without sizes, which may differ between elements."""
        traced = traced_spec(self.function, self.source.spec)
        return first_spec(self, self.function.caller) if traced is None else traced

    def cursor(self, epoch: int) -> Cursor:
        return MapCursor(self, epoch)


def traced_spec(function: UserFunction, spec: Any) -> Any:
    """Return the spec of a function's results from a trace; None if it cannot be traced.

    A function that uses an unknown size as a number is traced for an example of it, too. A size is
    promised only if all traces have it.
    """
    found: list[Any] = []

    def call(*leaves: Any) -> Any:
        made = function.of(pack(spec, leaves))
        found.append(map_leaves(promised, made))
        return [x for x in flatten(made) if isinstance(x, TensorBase | Composite)]

    leaves = flatten(spec)
    if not all([isinstance(x, TensorSpec | Composite) for x in leaves]):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph_mode = import_module("dualflow.graph.calls.function")     # many modules
            graph_mode.Function(call, autograph=False).get_concrete_function(*leaves)
        made = found.pop()
        for other in found:
            made = common(made, other, "map")
    except Exception:       # untraceable code may raise anything
        return None
    return made


def promised(x: Any) -> Any:
    """Return the spec of a leaf of a trace."""
    if isinstance(x, Symbol):
        return TensorSpec(x.known_shape, x.dtype)
    return leaf_spec(as_leaf(x, "map"))


class MapCursor(Cursor):
    """Its state has the form of a parallel map's state, in which elements may have been returned
    out of order: `given` holds their indices, relative to the position of `inner`."""

    function: UserFunction
    inner: Cursor

    def __init__(self, stage: Map, epoch: int) -> None:
        self.function, self.inner = stage.function, stage.source.cursor(epoch)
        self.given: list[int] = []

    def __next__(self) -> Any:
        while self.given:
            ahead = self.given[0] == 0
            element = next(self.inner)
            self.given = [k - 1 for k in self.given[ahead:]]
            if not ahead:
                return self.function.element(element)
        return self.function.element(next(self.inner))

    def state(self) -> Any:
        return {"inner": self.inner.state(), "given": self.given}

    def restore(self, state: Any) -> None:
        self.inner.restore(state["inner"])
        self.given = state["given"]


class Filter(Stage):
    """The elements that satisfy a predicate; if `ends` is true, the elements before the first one
    that does not."""

    predicate: UserFunction
    ends: bool

    def __init__(self, source: Stage, predicate: UserFunction, ends: bool) -> None:
        super().__init__(source)
        self.predicate, self.ends = predicate, ends

    def options(self) -> dict[str, Any]:
        return {"ends": self.ends}

    def cursor(self, epoch: int) -> Cursor:
        return FilterCursor(self, epoch)


class FilterCursor(Cursor):
    stage: Filter
    inner: Cursor
    ended: Any

    def __init__(self, stage: Filter, epoch: int) -> None:
        self.stage, self.inner, self.ended = stage, stage.source.cursor(epoch), False

    def __next__(self) -> Any:
        for element in self.inner if not self.ended else ():
            if self.stage.predicate.truth(element):
                return element
            if self.stage.ends:
                self.ended = True
                break
        raise StopIteration

    def state(self) -> Any:
        return {"inner": self.inner.state(), "ended": self.ended}

    def restore(self, state: Any) -> None:
        self.inner.restore(state["inner"])
        self.ended = state["ended"]


