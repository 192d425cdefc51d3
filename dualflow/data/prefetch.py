"""Prefetching and parallel map.

Worker threads are owned by a cursor and stop when it is collected; they reference the shared queue,
not the cursor, so that it can be. A forked process has no worker threads and starts new ones at the
cursor's position. Each element is queued with the state after it, so that a state never includes
elements that were prefetched but not consumed.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from dualflow._core import cpu_cores
from dualflow.data.mapping import Map
from dualflow.data.stage import Cursor, Stage

AUTOTUNE = -1
READY = 4               # elements that prefetch(AUTOTUNE) prefetches


class Prefetch(Stage):
    """Prefetching of a source by a thread, unless passing elements between threads takes longer."""

    def __init__(self, source: Stage, n: int) -> None:
        super().__init__(source)
        self.n = n

    def describe(self) -> list[Any]:
        return self.source.describe()

    @property
    def size(self) -> int:
        return self.source.size

    @property
    def is_cheap(self) -> bool:
        return self.source.is_cheap

    def cursor(self, epoch: int) -> Cursor:
        if not self.n or self.source.is_cheap:
            return self.source.cursor(epoch)
        return AheadCursor(self.source, epoch, READY if self.n == AUTOTUNE else self.n)


class PrefetchQueue:
    """A bounded queue of prefetched elements: (element, error or None, the state after it)."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.items: deque[tuple[Any, BaseException | None, Any]] = deque()
        self.changed: threading.Condition = threading.Condition()
        self.stopped: bool = False
        self.process: int = os.getpid()

    def stop(self) -> None:
        if self.process == os.getpid():     # in a forked process the lock may be held forever
            with self.changed:
                self.stopped = True
                self.changed.notify_all()

    def wait_for_room(self) -> bool:
        """Wait until the queue has room; return False if the consumer is gone."""
        with self.changed:
            while len(self.items) >= self.n and not self.stopped:
                self.changed.wait()
            return not self.stopped

    def put(self, element: Any, error: BaseException | None, state: Any) -> None:
        with self.changed:
            self.items.append((element, error, state))
            self.changed.notify_all()

    def take(self) -> tuple[Any, BaseException | None, Any]:
        with self.changed:
            while not self.items:
                self.changed.wait()
            item = self.items.popleft()
            self.changed.notify_all()
            return item


def prepare(shelf: PrefetchQueue, cursor: Cursor) -> None:
    """Fill the queue; the worker thread's function."""
    while shelf.wait_for_room():
        element, error = None, None
        try:
            element = next(cursor)
        except BaseException as caught:     # raised again in the consumer
            error = caught
        ended = isinstance(error, StopIteration)
        shelf.put(element, error, cursor.state())
        if ended:
            return


class AheadCursor(Cursor):
    source: Stage
    epoch: int
    n: int

    def __init__(self, source: Stage, epoch: int, n: int) -> None:
        self.source, self.epoch, self.n = source, epoch, n
        self.place: Any = source.cursor(epoch).state()   # after the last consumed element
        self.shelf: PrefetchQueue | None = None
        self.ended: bool = False

    def begin(self) -> PrefetchQueue:
        """Start a worker thread at the position."""
        cursor = self.source.cursor(self.epoch)
        cursor.restore(self.place)
        shelf = PrefetchQueue(self.n)
        weakref.finalize(self, shelf.stop)
        threading.Thread(target=prepare, args=(shelf, cursor), name="dualflow.data",
                         daemon=True).start()
        self.shelf = shelf
        return shelf

    def __next__(self) -> Any:
        if self.ended:
            raise StopIteration
        shelf = self.shelf
        if shelf is None or shelf.process != os.getpid():
            shelf = self.begin()
        element, error, self.place = shelf.take()
        if error is None:
            return element
        if isinstance(error, StopIteration):
            self.ended = True
            raise StopIteration
        raise error

    def state(self) -> Any:
        return self.place

    def restore(self, state: Any) -> None:
        self.place = state


def end(calls: ThreadPoolExecutor, process: int) -> None:
    """Shut down a thread pool without waiting for running calls."""
    if process == os.getpid():
        calls.shutdown(wait=False, cancel_futures=True)


class ParallelMap(Map):
    """The results of a function for each element, computed by several threads at a time."""

    def __init__(self, source: Stage, function: Any, n: int, ordered: bool) -> None:
        super().__init__(source, function)
        self.n: int = cpu_cores() if n == AUTOTUNE else n
        self.ordered = ordered

    def describe(self) -> list[Any]:
        return ["Map", self.options(), self.source.describe()]

    def cursor(self, epoch: int) -> Cursor:
        return ParallelCursor(self, epoch)


class ParallelCursor(Cursor):
    """The consumer submits calls, `n` in advance. `running` holds, for each element after the
    position of the state, in order: the state after the element, and its call, or None once the
    result has been returned."""

    stage: ParallelMap
    epoch: int
    place: Any
    early: list[int]

    def __init__(self, stage: ParallelMap, epoch: int) -> None:
        self.stage, self.epoch = stage, epoch
        self.begin(stage.source.cursor(epoch).state(), [])

    def begin(self, place: Any, given: list[int]) -> None:
        self.place, self.early = place, given
        self.running: deque[list[Any]] = deque()
        self.calls: ThreadPoolExecutor | None = None
        self.process: int = os.getpid()
        self.ended: bool = False                  # the source is exhausted

    def start(self) -> ThreadPoolExecutor:
        self.inner: Cursor = self.stage.source.cursor(self.epoch)
        self.inner.restore(self.place)
        calls = self.calls = ThreadPoolExecutor(self.stage.n, "dualflow.data")
        weakref.finalize(self, end, calls, self.process)
        for number in range(max(self.early, default=-1) + 1):
            self.submit(calls, number in self.early)
        self.early = []
        return calls

    def submit(self, calls: ThreadPoolExecutor, given: bool = False) -> None:
        """Submit the call for the next element, unless its result has been returned already."""
        failed: Future[Any] = Future()
        call: Future[Any] | None = failed
        try:
            element = next(self.inner)
        except StopIteration:
            self.ended = True
            return
        except Exception as error:          # raised when the consumer reaches this element
            failed.set_exception(error)
        else:
            call = None if given else calls.submit(self.stage.function.element, element)
        self.running.append([self.inner.state(), call])

    def __next__(self) -> Any:
        if self.process != os.getpid():
            self.begin(*self.here())
        calls = self.calls or self.start()
        waiting = [item for item in self.running if item[1]]
        while len(waiting) < self.stage.n and not self.ended:
            self.submit(calls)
            waiting = [item for item in self.running if item[1]]
        if not waiting:
            raise StopIteration
        chosen = waiting[0] if self.stage.ordered else self.first_done(waiting)
        call: Future[Any] = chosen[1]
        wait([call])
        chosen[1] = None
        while self.running and self.running[0][1] is None:
            self.place = self.running.popleft()[0]
        return call.result()

    def first_done(self, waiting: list[list[Any]]) -> list[Any]:
        done = wait([item[1] for item in waiting], return_when=FIRST_COMPLETED).done
        return next(item for item in waiting if item[1] in done)

    def here(self) -> tuple[Any, list[int]]:
        """Return the position, and the offsets after it of results that have been returned."""
        given = [k for k, item in enumerate(self.running) if item[1] is None]
        return self.place, given or self.early

    def state(self) -> Any:
        place, given = self.here()
        return {"inner": place, "given": given}

    def restore(self, state: Any) -> None:
        self.begin(state["inner"], state["given"])
