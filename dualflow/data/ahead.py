"""Work ahead of who consumes it: prefetch, map with num_parallel_calls.

Threads belong to a cursor and end with it: they hold what they share with it, never itself. A
process that was forked has none of them, and makes its own at the place that the cursor had. Each
element comes with the state behind it, so what was prepared and not consumed is not in a state.
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
READY = 4               # elements that prefetch(AUTOTUNE) prepares


class Ahead(Stage):
    """The same elements, prepared by a thread; not where handing them over takes longer."""

    def __init__(self, source: Stage, n: int) -> None:
        super().__init__(source)
        self.n = n

    def describe(self) -> list[Any]:
        return self.source.describe()

    @property
    def size(self) -> int:
        return self.source.size

    @property
    def quick(self) -> bool:
        return self.source.quick

    def cursor(self, epoch: int) -> Cursor:
        if not self.n or self.source.quick:
            return self.source.cursor(epoch)
        return AheadCursor(self.source, epoch, READY if self.n == AUTOTUNE else self.n)


class Shelf:
    """What a thread has prepared: (element, error or None, the state behind it)."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.items: deque[tuple[Any, BaseException | None, Any]] = deque()
        self.changed: threading.Condition = threading.Condition()
        self.stopped: bool = False
        self.process: int = os.getpid()

    def stop(self) -> None:
        if self.process == os.getpid():     # in a fork the lock may be held, by nobody
            with self.changed:
                self.stopped = True
                self.changed.notify_all()

    def wait_for_room(self) -> bool:
        """False if nobody wants any more."""
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


def prepare(shelf: Shelf, cursor: Cursor) -> None:
    """What the thread does."""
    while shelf.wait_for_room():
        element, error = None, None
        try:
            element = next(cursor)
        except BaseException as caught:     # is raised where the element is wanted
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
        self.place: Any = source.cursor(epoch).state()   # behind what was consumed
        self.shelf: Shelf | None = None
        self.ended: bool = False

    def begin(self) -> Shelf:
        """Starts a thread at the place."""
        cursor = self.source.cursor(self.epoch)
        cursor.restore(self.place)
        shelf = Shelf(self.n)
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
    """Lets threads go, where they are."""
    if process == os.getpid():
        calls.shutdown(wait=False, cancel_futures=True)


class ParallelMap(Map):
    """What a function makes of each element, computed by several threads at a time."""

    def __init__(self, source: Stage, function: Any, n: int, ordered: bool) -> None:
        super().__init__(source, function)
        self.n: int = cpu_cores() if n == AUTOTUNE else n
        self.ordered = ordered

    def describe(self) -> list[Any]:
        return ["Map", self.options(), self.source.describe()]

    def cursor(self, epoch: int) -> Cursor:
        return ParallelCursor(self, epoch)


class ParallelCursor(Cursor):
    """Calls are begun by the consumer, `n` ahead. `running` has those from the place of the state
    on, in order: the state behind each, and the call; None once its element was given."""

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
        self.ended: bool = False                  # the source has

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
        """Begins the call for the next element of the source, unless it was given before."""
        failed: Future[Any] = Future()
        call: Future[Any] | None = failed
        try:
            element = next(self.inner)
        except StopIteration:
            self.ended = True
            return
        except Exception as error:          # it is raised in its turn
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
        """The place, and what was given of what comes behind it."""
        given = [k for k, item in enumerate(self.running) if item[1] is None]
        return self.place, given or self.early

    def state(self) -> Any:
        place, given = self.here()
        return {"inner": place, "given": given}

    def restore(self, state: Any) -> None:
        self.begin(state["inner"], state["given"])
