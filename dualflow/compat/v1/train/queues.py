"""Queues of a graph, filled by operations or by Python before a run."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dualflow.compat.v1 import errors
from dualflow.compat.v1.default_graph import default_graph, of_the_graph, recorded
from dualflow.compat.v1.dtypes import as_dtype, int32, string
from dualflow.compat.v1.iterators import Drawn
from dualflow.compat.v1.operation import HostTensor
from dualflow.compat.v1.ops import convert
from dualflow.compat.v1.shapes import TensorShape
from dualflow.compat.v1.text_ops import text_of
from dualflow.compat.v1.text_values import output_of

__all__ = ["FIFOQueue", "RandomShuffleQueue"]

POLL = 0.05         # seconds between checks whether threads should stop


class Items:
    """The elements of a queue in one session."""

    def __init__(self, runner: Any, queue: Any) -> None:
        self.rows: list[Any] = []
        self.closed = False
        self.changed = threading.Condition()
        own = runner if isinstance(runner, weakref.ProxyType) else weakref.proxy(runner)
        self.source: Iterator[Any] | None = queue.fill(own)
        self.random: Any = queue.generator()

    def put(self, row: Any, capacity: int) -> None:
        """Add an element; wait while the queue is full."""
        with self.changed:
            while len(self.rows) >= capacity and not self.closed:
                self.changed.wait(POLL)
            if self.closed:
                raise errors.CancelledError("Enqueue: the queue is closed.")
            self.rows.append(row)
            self.changed.notify_all()

    def take(self, n: int, least: int, partial: bool) -> list[Any]:
        """Remove n elements; at least `least` others remain unless the queue is closed. Fewer than
        n elements are returned at the end if `partial`."""
        with self.changed:
            while len(self.rows) < n + least and not self.closed:
                if self.source is None:
                    self.changed.wait(POLL)
                    continue
                for row in self.source:
                    self.rows.append(row)
                    break
                else:
                    self.closed = True
            if len(self.rows) < n and not (partial and self.rows):
                raise errors.OutOfRangeError(
                    f"The queue is closed and has insufficient elements (requested {n}, current "
                    f"size {len(self.rows)})")
            found = [self.rows.pop(self.random.randint(len(self.rows)) if self.random else 0)
                     for _ in range(min(n, len(self.rows)))]
            self.changed.notify_all()
        return found


class FIFOQueue:
    """A queue of tuples of tensors; the elements belong to the session.

    Parameters
    ----------
    capacity : int
    dtypes : list of dtype
    shapes : list of shape, optional
        Needed by `dequeue_many` and `enqueue_many`.
    names : list of str, optional
        Elements are then dicts.
    shared_name : ignored
    name : str, default "fifo_queue"

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     queue = tf.FIFOQueue(3, [tf.int32], [[]])
    ...     sess.run(queue.enqueue_many([[1, 2, 3]]))
    ...     print(sess.run(queue.dequeue()), sess.run(queue.size()))
    1 2
    """

    least = 0       # elements that remain, unless the queue is closed
    _make: Callable[[Any], Iterator[Any]] | None = None

    def __init__(self, capacity: int, dtypes: Any, shapes: Any = None, names: Any = None,
                 shared_name: str | None = None, name: str = "fifo_queue") -> None:
        self.dtypes = [as_dtype(d) for d in (dtypes if isinstance(dtypes, list | tuple)
                                             else [dtypes])]
        if shapes is not None and (not shapes or not isinstance(shapes[0], list | tuple)):
            shapes = [shapes]
        self.shapes = [TensorShape(shape) for shape in (
            [None] * len(self.dtypes) if shapes is None else shapes)]
        self.names, self.name = names, name
        self.capacity = int(capacity)
        self.partial = False

    # --- in a session ---

    def fill(self, runner: Any) -> Iterator[Any] | None:
        """Return the elements that Python adds, or None."""
        return None if self._make is None else self._make(runner)

    def generator(self) -> Any:
        """Return the random numbers that choose elements, or None."""
        return None

    def items(self, runner: Any) -> Items:
        """Return the elements in a session."""
        found: Items | None = runner.iterators.get(self)
        return runner.iterators.setdefault(self, Items(runner, self)) if found is None else found

    # --- operations ---

    def _operation(self, kind: str, name: str | None, inputs: Sequence[Any],
                   act: Callable[..., Any], dtype: Any = string) -> HostTensor:
        return HostTensor(default_graph(), kind, name or f"{self.name}_{kind}", dtype, inputs,
                          lambda runner, *values: act(self.items(runner), *values))

    def _values(self, vals: Any) -> list[Any]:
        if isinstance(vals, dict):
            vals = [vals[name] for name in self.names]
        elif not isinstance(vals, list | tuple):
            vals = [vals]
        return [text_of(x) if dtype is string else of_the_graph(convert(x, dtype))
                for x, dtype in zip(vals, self.dtypes, strict=True)]

    @recorded
    def enqueue(self, vals: Any, name: str | None = None) -> Any:
        """Return an operation that adds one element."""
        return self._operation("enqueue", name, self._values(vals), lambda items, *row: items.put(
            list(row), self.capacity))

    @recorded
    def enqueue_many(self, vals: Any, name: str | None = None) -> Any:
        """Return an operation that adds the rows of tensors."""
        def act(items: Items, *columns: Any) -> None:
            for row in zip(*columns, strict=True):
                items.put(list(row), self.capacity)

        return self._operation("enqueue_many", name, self._values(vals), act)

    def _taken(self, n: int | None, partial: bool = False) -> Any:
        lead = [] if n is None else [None if partial else n]
        outputs = [output_of(dtype, [*lead, *shape] if shape.known_rank else None, "Dequeue")
                   for dtype, shape in zip(self.dtypes, self.shapes, strict=True)]
        default_graph().drawn.append(Taken(self, outputs, n, partial))
        if self.names:
            return dict(zip(self.names, outputs, strict=True))
        return outputs[0] if len(outputs) == 1 else outputs

    @recorded
    def dequeue(self, name: str | None = None) -> Any:
        """Return the next element; a run waits for it. OutOfRangeError after `close`."""
        return self._taken(None)

    @recorded
    def dequeue_many(self, n: int, name: str | None = None) -> Any:
        """Return the next n elements, stacked."""
        return self._taken(n)

    @recorded
    def dequeue_up_to(self, n: int, name: str | None = None) -> Any:
        """Return the next n elements, stacked; fewer at the end."""
        return self._taken(n, True)

    @recorded
    def size(self, name: str | None = None) -> Any:
        """Return the number of elements."""
        return self._operation("size", name, [], lambda items: len(items.rows), int32)

    @recorded
    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Any:
        """Return an operation after which no elements are added."""
        def act(items: Items) -> None:
            with items.changed:
                items.closed = True
                items.changed.notify_all()

        return self._operation("close", name, [], act)


class RandomShuffleQueue(FIFOQueue):
    """A queue whose elements are removed in random order.

    Parameters
    ----------
    capacity, dtypes, shapes, names, shared_name, name
        As for `FIFOQueue`.
    min_after_dequeue : int
        Number of elements that remain, unless the queue is closed.
    seed : int, optional

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     queue = tf.RandomShuffleQueue(9, 0, tf.int32, [])
    ...     sess.run(queue.enqueue_many([[1, 2, 3]]))
    ...     print(sorted(sess.run(queue.dequeue_many(3))))
    [np.int32(1), np.int32(2), np.int32(3)]
    """

    def __init__(self, capacity: int, min_after_dequeue: int, dtypes: Any, shapes: Any = None,
                 names: Any = None, seed: int | None = None, shared_name: str | None = None,
                 name: str = "random_shuffle_queue") -> None:
        super().__init__(capacity, dtypes, shapes, names, shared_name, name)
        self.least, self._seed = int(min_after_dequeue), seed

    def generator(self) -> Any:
        import numpy as np

        return np.random.RandomState(self._seed)


class Taken(Drawn):
    """The elements that one `dequeue` takes in each run."""

    def __init__(self, queue: FIFOQueue, outputs: Sequence[Any], n: int | None,
                 partial: bool) -> None:
        super().__init__(queue, outputs)        # type: ignore[arg-type]
        self._queue, self._n, self._partial = queue, n, partial

    def values(self, runner: Any, given: Any) -> list[Any]:
        queue = self._queue
        rows = queue.items(runner).take(self._n or 1, queue.least, self._partial)
        return list(rows[0]) if self._n is None else [stacked(c) for c in zip(*rows, strict=True)]


def stacked(rows: Sequence[Any]) -> Any:
    """Return arrays or texts as one array."""
    import numpy as np

    if isinstance(rows[0], bytes):
        return np.array(rows, object)
    return np.stack([np.asarray(row) for row in rows])
