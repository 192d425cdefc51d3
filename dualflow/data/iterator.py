"""Iterators: passes through a dataset whose state can be saved and restored."""

from __future__ import annotations

import json
from typing import Any, Generic, TypeVar

from dualflow._core import TensorBase, current_graph
from dualflow._util.arguments import shown
from dualflow._util.late_binding import late
from dualflow._util.notebook import card
from dualflow.data.json_state import as_json
from dualflow.data.order import Seeded
from dualflow.data.stage import Stage, stages
from dualflow.data.structure import map_leaves
from dualflow.errors import DTypeError, InvalidArgumentError, OutOfRangeError, UnimplementedError
from dualflow.tracebacks import hide_frames

T = TypeVar("T", covariant=True)
FORMAT = "dualflow.data.iterator/1"


class Iterator(Generic[T]):
    """One pass through a dataset, returned by ``iter(dataset)``.

    Examples
    --------
    >>> import dualflow as df
    >>> dataset = df.data.Dataset.range(6).shuffle(6, seed=1).batch(2)
    >>> it = iter(dataset)
    >>> _, state = next(it), it.state()
    >>> rest = [x.tolist() for x in it]
    >>> other = iter(dataset)
    >>> other.restore(state)
    >>> [x.tolist() for x in other] == rest
    True
    """

    def __init__(self, stage: Stage) -> None:
        if not isinstance(stage, Stage):
            raise DTypeError(f"Iterator: got {shown(stage)}; iter(dataset) returns an Iterator")
        refuse_trace()
        seeded = [x for x in stages(stage) if isinstance(x, Seeded)]
        self._stage, self._epoch = stage, max([x.passes for x in seeded], default=0)
        for x in seeded:
            x.passes = self._epoch + 1
        self._cursor = stage.cursor(self._epoch)
        self._next = self._cursor.__next__

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        try:
            if current_graph() is not None:
                made: T = late("traced_dataset").next_element(self._cursor, self._stage.spec)
                return made
            element: T = self._next()
            return element
        except Exception as error:
            if not isinstance(error, StopIteration):
                hide_frames(error)
            raise

    def __repr__(self) -> str:
        return f"<dualflow.data.Iterator, pass {self._epoch}, of {self._stage.text()}>"

    def _repr_html_(self) -> str:
        chain, _, spec = self._stage.text().partition(", element_spec: ")
        return card("Iterator", [("pass", self._epoch), ("stages", chain), ("element_spec", spec)])

    def next(self) -> T:
        """Return the next element, as `next(iterator)` does."""
        return self.__next__()

    def get_next(self) -> Any:
        """Return the next element. Raise OutOfRangeError at the end."""
        for element in self:
            return element
        raise OutOfRangeError("get_next: the dataset has no more elements")

    @property
    def element_spec(self) -> Any:
        """Dtypes and shapes of an element."""
        return self._stage.spec

    def state(self) -> dict[str, Any]:
        """Return the position in the pass as plain dicts, lists, strings and numbers, which can be
        pickled or written as JSON. Prefetched elements that were not consumed come after it."""
        return {"format": FORMAT, "pipeline": self._stage.describe(), "epoch": self._epoch,
                "place": as_json(self._cursor.state())}

    def restore(self, state: dict[str, Any]) -> None:
        """Move to a position that an iterator of the same pipeline had. Iterators created later
        start the passes after that one.

        Parameters
        ----------
        state : dict
            The result of `state()`, in this process or another.

        Raises
        ------
        InvalidArgumentError
            If the state is of another pipeline. The iterator is then unchanged.
        """
        self._check(state)
        cursor = self._stage.cursor(state["epoch"])
        cursor.restore(state["place"])
        self._epoch, self._cursor, self._next = state["epoch"], cursor, cursor.__next__
        for x in stages(self._stage):
            if isinstance(x, Seeded):
                x.passes = self._epoch + 1

    def _check(self, state: Any) -> None:
        if not isinstance(state, dict) or state.get("format") != FORMAT:
            raise InvalidArgumentError(f"restore: got {shown(state)}, expected the result of an "
                                       "iterator's state()")
        own = json.loads(json.dumps(self._stage.describe()))    # converts tuples to lists
        other = json.loads(json.dumps(state["pipeline"]))
        if own != other:
            raise InvalidArgumentError("restore: the state is of another pipeline: it has "
                                       f"{difference(other, own)}")


def refuse_trace() -> None:
    if current_graph() is not None:
        raise UnimplementedError(
            "a dataset is iterated while a function is traced, where its elements would become "
            "constants: iterate outside, and call the function with each element")


def line(described: Any) -> list[str]:
    """Return a description of each stage of a pipeline, the last stage first."""
    found, pending = [], [described]
    while pending:
        name, options, *inputs = pending.pop()
        options_text = ", ".join(f"{key}={value}" for key, value in options.items())
        found.append(f"{name}({options_text})")
        pending.extend(reversed(inputs))
    return found


def difference(state: Any, own: Any) -> str:
    """Describe the first difference between two pipelines, starting at their sources."""
    a, b = line(state)[::-1], line(own)[::-1]
    for x, y in zip(a, b, strict=False):
        if x != y:
            return f"{x} where this one has {y}"
    if len(a) > len(b):
        return f"{a[len(b)]} after the last stage of this one"
    return f"nothing where this one has {b[len(a)]}"


class NumpyIterator:
    """The elements of a dataset with arrays in place of tensors; see
    `Dataset.as_numpy_iterator`."""

    def __init__(self, dataset: Any) -> None:
        self._elements = iter(dataset)

    def __iter__(self) -> NumpyIterator:
        return self

    def __next__(self) -> Any:
        return map_leaves(lambda x: x.numpy()[()] if isinstance(x, TensorBase) else x,
                          next(self._elements))

    def next(self) -> Any:
        """Return the next element, as `next(iterator)` does."""
        return self.__next__()
