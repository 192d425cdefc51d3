"""Iterators over datasets in a graph.

A run that needs the next element fetches it before it starts and feeds it, so programs are
compiled for the sizes of the element. The position of an iterator belongs to the session, like the
values of variables.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from dualflow.compat.v1 import errors
from dualflow.compat.v1.default_graph import default_graph
from dualflow.compat.v1.dtypes import string
from dualflow.compat.v1.operation import HostTensor
from dualflow.compat.v1.shapes import TensorShape
from dualflow.data.dataset import specs_of
from dualflow.data.structure import flatten, map_leaves, pack
from dualflow.ops.string_tensor import as_bytes

__all__ = ["Iterator"]

TEXT = str, bytes       # specs of text

UNINITIALIZED = ("GetNext() failed because the iterator has not been initialized. Ensure that you "
                 "have run the initializer operation for this iterator before getting the next "
                 "element.")


class Iterator:
    """Iterates over a dataset; each run that needs an element consumes one.

    Parameters
    ----------
    spec : structure of TensorSpec
        Dtypes and shapes of an element.
    begin : callable, optional
        Returns the dataset for sessions that use the iterator without an initializer.

    Attributes
    ----------
    output_types, output_shapes : structures of DType and of TensorShape

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.data.Dataset.range(2).make_one_shot_iterator().get_next()
    ...     print(sess.run(x), sess.run(x))
    0 1
    """

    def __init__(self, spec: Any, begin: Callable[[], Any] | None = None) -> None:
        self.element_spec = spec
        self._begin = begin
        self._first: HostTensor | None = None

    @staticmethod
    def from_structure(output_types: Any, output_shapes: Any = None,
                       shared_name: str | None = None, output_classes: Any = None) -> Iterator:
        """Return an iterator for several datasets; `make_initializer` binds one of them."""
        return Iterator(specs_of(output_types, output_shapes))

    @property
    def output_types(self) -> Any:
        """The dtypes of an element."""
        return map_leaves(lambda s: string if s in TEXT else s.dtype, self.element_spec)

    @property
    def output_shapes(self) -> Any:
        """The shapes of an element."""
        return map_leaves(lambda s: TensorShape([] if s in TEXT else s.shape), self.element_spec)

    @property
    def initializer(self) -> HostTensor:
        """The operation that restarts the iterator."""
        if self._first is None:
            raise ValueError("Iterator does not have an initializer.")
        return self._first

    def make_initializer(self, dataset: Any, name: str | None = None) -> HostTensor:
        """Return an operation that restarts the iterator with a dataset."""

        def begin(runner: Any, *values: Any) -> None:
            runner.iterators[self] = Place(dataset.made_with(values))

        return HostTensor(default_graph(), "MakeIterator", name or "MakeIterator", string,
                          dataset.symbols, begin)

    def with_initializer(self, dataset: Any) -> Iterator:
        """Create the initializer for one dataset and return self."""
        self._first = self.make_initializer(dataset)
        return self

    def get_next(self, name: str | None = None) -> Any:
        """Return the next element as tensors that each run draws from the dataset; at its end a run
        raises OutOfRangeError."""
        graph, name = default_graph(), name or "IteratorGetNext"
        outputs: list[Any] = [
            HostTensor(graph, "IteratorGetNext", name, string) if spec in TEXT
            else graph.placeholder(spec.shape, spec.dtype, name)
            for spec in flatten(self.element_spec)]
        graph.drawn.append(Drawn(self, outputs))
        return pack(self.element_spec, outputs)

    def place(self, runner: Any) -> Place:
        """Return the position of the iterator in a session."""
        found: Place | None = runner.iterators.get(self)
        if found is None:
            if self._begin is None:
                raise errors.FailedPreconditionError(UNINITIALIZED)
            found = runner.iterators.setdefault(self, Place(self._begin()))
        return found


class Place:
    """The position of an iterator in one session; `next` is thread-safe."""

    def __init__(self, dataset: Any) -> None:
        self._iterator = iter(dataset)
        self._lock = threading.Lock()

    def next(self) -> list[Any]:
        """Return the leaves of the next element."""
        with self._lock:
            for element in self._iterator:
                return [as_bytes(x) if isinstance(x, str) else x for x in flatten(element)]
        raise errors.OutOfRangeError("End of sequence")


class Drawn:
    """The element of an iterator that one `get_next` call reads in each run.

    Attributes
    ----------
    outputs : list of Symbol or HostTensor
    """

    iterator: Iterator
    outputs: list[Any]
    needs: frozenset[Any] = frozenset()

    def __init__(self, iterator: Iterator, outputs: Sequence[Any]) -> None:
        self.iterator, self.outputs = iterator, list(outputs)

    def values(self, runner: Any, given: Any) -> list[Any]:
        """Return the values of the outputs for one run."""
        return self.iterator.place(runner).next()
