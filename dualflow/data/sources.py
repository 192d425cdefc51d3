"""Sources: tensors, integer ranges, and Python iterators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from dualflow import nest
from dualflow._core import Tensor, TensorSpec, constant, evaluate, gather_rows, get_op, make_attrs
from dualflow._util.cached import cached_property
from dualflow.data.stage import INFINITE, MANY, UNKNOWN, Cursor, Stage
from dualflow.data.structure import (
    as_dtype_of,
    as_element,
    as_rows,
    fitted,
    flatten,
    is_leaf,
    leaf_spec,
    map_leaves,
    pack,
    packer,
    paths,
    spec_of,
    stack,
    unsized,
    without_first,
)
from dualflow.data.text import wrapped
from dualflow.dtypes import DType, int64
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.ops.array.creation import range as tensor_range

CAST = get_op("cast")


class Single(Stage):
    """A single element."""

    addressable = True

    def __init__(self, element: Any) -> None:
        super().__init__()
        self.element = element

    def options(self) -> dict[str, Any]:
        return {"spec": spec_text(spec_of(self.element))}

    @property
    def size(self) -> int:
        return 1

    @cached_property
    def spec(self) -> Any:
        return spec_of(self.element)

    @property
    def is_cheap(self) -> bool:
        return True

    def at(self, i: int) -> Any:
        return self.element

    def span(self, begin: int, end: int) -> Any:
        return stack([self.element], "batch")

    def gather(self, order: Tensor, begin: int, end: int) -> Any:
        return stack([self.element] * (end - begin), "batch")


class Slices(Stage):
    """The rows of tensors, and of lists of other objects."""

    addressable = True

    def __init__(self, element: Any, caller: str) -> None:
        super().__init__()
        self.columns: list[Any] = [as_rows(x) for x in flatten(element)]
        self.n: int = common_length(element, self.columns, caller)
        self.all_tensors: bool = all([isinstance(x, Tensor) for x in self.columns])
        self.pack: Callable[[Sequence[Any]], Any] = packer(element)
        self.template = element

    def options(self) -> dict[str, Any]:
        return {"n": self.n, "spec": spec_text(self.spec)}

    @property
    def size(self) -> int:
        return self.n

    @cached_property
    def spec(self) -> Any:
        return map_leaves(lambda x: str if isinstance(x, list) and not x
                          else without_first(leaf_spec(x)), self.template)

    @property
    def is_cheap(self) -> bool:
        return True

    def at(self, i: int) -> Any:
        return self.pack([x[i] for x in self.columns])

    def span(self, begin: int, end: int) -> Any:
        return self.pack([x[begin:end] for x in self.columns])

    def gather(self, order: Tensor, begin: int, end: int) -> Any:
        if self.all_tensors:
            return self.pack(gather_rows(self.columns, order, begin, end))
        at = order[begin:end]
        return self.pack([gather_rows([x], order, begin, end)[0] if isinstance(x, Tensor)
                          else wrapped([x[i] for i in at.tolist()]) if isinstance(x, list)
                          else x.take(at) for x in self.columns])


def common_length(element: Any, columns: Sequence[Any], caller: str) -> int:
    """Return the number of rows that all columns have. Raise an error that names them if not."""
    places = paths(element)
    for x, path in zip(columns, places, strict=True):
        if isinstance(x, Tensor) and x.ndim == 0:
            raise ShapeError(f"{caller}: got a scalar{path}, expected at least 1 dimension")
        if not isinstance(x, list) and not getattr(x, "ndim", 0):
            raise InvalidArgumentError(f"{caller}: got {x!r}{path}, expected tensors or lists, "
                                       "whose "
                                       "rows are the elements")
    lengths = [len(x) for x in columns]
    if not lengths:
        raise InvalidArgumentError(f"{caller}: got nothing, expected at least one tensor")
    if len(set(lengths)) > 1:
        found = ", ".join(f"{n}{path}" for n, path in zip(lengths, places, strict=True))
        raise ShapeError(f"{caller}: lengths differ: {found}; expected equal numbers of rows")
    return lengths[0]


def spec_text(spec: Any) -> Any:
    """Return specs as JSON."""
    return [f"{s.dtype} {s.shape}" if isinstance(s, TensorSpec) else str(s) for s in flatten(spec)]


class Range(Stage):
    """Integers, `step` apart; infinitely many if `stop` is None."""

    addressable = True

    def __init__(self, start: int, stop: int | None, step: int, dtype: DType) -> None:
        super().__init__()
        self.endless: bool = stop is None
        end = start + (MANY if step > 0 else -MANY)
        self.numbers: range = range(start, end if stop is None else stop, step)
        self.dtype = dtype

    def options(self) -> dict[str, Any]:
        return {"start": self.numbers.start, "stop": self.numbers.stop,
                "step": self.numbers.step, "dtype": self.dtype.name}

    @property
    def size(self) -> int:
        if self.endless:
            return INFINITE
        numbers = self.numbers          # `len` is limited to 63 bits
        return min(max(-((numbers.start - numbers.stop) // numbers.step), 0), MANY)

    @cached_property
    def spec(self) -> Any:
        return TensorSpec((), self.dtype)

    @property
    def is_cheap(self) -> bool:
        return True

    def at(self, i: int) -> Any:
        return constant(self.numbers[i], self.dtype)

    def span(self, begin: int, end: int) -> Any:
        part = self.numbers[begin:end]
        return self.typed(tensor_range(part.start, part.stop, part.step, dtype=int64))

    def gather(self, order: Tensor, begin: int, end: int) -> Any:
        return self.typed(order[begin:end] * self.numbers.step + self.numbers.start)

    def typed(self, x: Tensor) -> Tensor:
        return x if self.dtype is int64 else evaluate(CAST, [x], make_attrs(
            CAST, dtype=self.dtype))[0]


class Iterated(Stage):
    """The elements of a Python iterable.

    Parameters
    ----------
    begin : callable
        Returns an iterator for a pass.
    size : int
        The declared number of elements; ending with fewer is an error.
    spec : structure of specs, optional
        The spec to which elements are converted.
    caller : str
        The caller's name for messages.
    noted : callable, optional
        Adds notes to an error of the iterator.
    """

    n: int
    given: Any
    caller: str

    def __init__(self, begin: Callable[[], Iterable[Any]], size: int, spec: Any, caller: str,
                 noted: Callable[[Exception], Exception] | None = None) -> None:
        super().__init__()
        self.begin: Callable[[], Iterable[Any]] = begin
        self.n, self.given, self.caller = size, spec, caller
        self.spec_runs_python = spec is None
        self.noted = noted

    def options(self) -> dict[str, Any]:
        return {"size": self.n, "spec": None if self.given is None else spec_text(self.given)}

    @property
    def size(self) -> int:
        return self.n

    @cached_property
    def spec(self) -> Any:
        return first_spec(self, self.caller) if self.given is None else self.given

    def cursor(self, epoch: int) -> Cursor:
        return IteratedCursor(self)

    def element(self, value: Any) -> Any:
        if self.given is None:
            return as_element(value, self.caller)
        return fitted(value, self.given, self.caller)


class Typed(Iterated):
    """The elements of a Python iterable that are converted to given dtypes; `spec` is the structure
    of specs whose shapes are ignored."""

    @cached_property
    def spec(self) -> Any:
        return first_spec(self, self.caller)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.spec_runs_python = True

    def element(self, value: Any) -> Any:
        if is_leaf(self.given):
            return as_dtype_of(self.given, value, self.caller)
        leaves = nest.flatten_up_to(self.given, value)
        return pack(self.given, [as_dtype_of(*pair, self.caller)
                                 for pair in zip(flatten(self.given), leaves, strict=True)])


def first_spec(stage: Stage, caller: str) -> Any:
    """Return the spec of the first element without sizes, which may differ between elements."""
    for element in stage.cursor(0):
        return map_leaves(unsized, spec_of(element))
    raise nothing_said(caller)


def nothing_said(caller: str) -> Exception:
    return InvalidArgumentError(f"{caller}: the spec is unknown, since there are no elements")


class IteratedCursor(Cursor):
    stage: Iterated
    place: int

    def __init__(self, stage: Iterated) -> None:
        self.stage, self.place = stage, 0
        self.iterator: Iterator[Any] | None = None
        self.ended: bool = False

    def __next__(self) -> Any:
        return self.stage.element(self.pull())

    def pull(self) -> Any:
        if self.ended:
            raise StopIteration
        if self.iterator is None:
            self.iterator = iter(self.stage.begin())
        try:
            value = next(self.iterator)
        except StopIteration:
            self.ended = True
            self.check_end()
            raise
        except Exception as error:
            if self.stage.noted:
                self.stage.noted(error)
            raise
        self.place += 1
        return value

    def check_end(self) -> None:
        """Raise an error if there were fewer elements than declared."""
        want = self.stage.size
        if want != UNKNOWN and self.place < want:
            raise InvalidArgumentError(f"{self.stage.caller}: ended after {self.place} elements, "
                                       f"expected {want}")

    def advance(self, n: int) -> int:
        for k in range(n):
            try:
                self.pull()
            except StopIteration:
                return k
        return n

    def state(self) -> Any:
        return {"place": self.place, "ended": self.ended}

    def restore(self, state: Any) -> None:
        """Advance a new iterator to the position: a Python iterator has no other state."""
        if state["ended"]:
            self.place, self.ended = state["place"], True
        elif self.advance(state["place"]) < state["place"]:
            raise InvalidArgumentError(f"{self.stage.caller}: ended after {self.place} elements, "
                                       f"before position {state['place']} of the state")
