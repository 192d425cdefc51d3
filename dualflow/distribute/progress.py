"""One collective after another, in the order in which this rank asks for them.

What is started and waited for later is done by a thread, which exists once there is such a thing.
"""

from __future__ import annotations

import queue
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Task:
    """Something that is done, or will be."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self._done = threading.Event()
        self._result: Any = None
        self._error: BaseException | None = None

    def do(self) -> None:
        try:
            self._result = self._work()
        except BaseException as error:
            self._error = error
        del self._work              # and memory that it was lent
        self._done.set()

    def result(self) -> Any:
        """Waits for it; signals are handled meanwhile."""
        while not self._done.wait(0.1):
            pass
        if self._error is not None:
            raise self._error
        return self._result


class _Thread:
    tasks: queue.SimpleQueue[Task] | None = None
    waiting = 0                     # tasks that were started and are not done
    lock = threading.Lock()         # of the two
    turn = threading.Lock()         # held by what is being done


def _serve() -> None:
    assert _Thread.tasks is not None
    while True:
        task = _Thread.tasks.get()
        with _Thread.turn:
            task.do()
        del task
        with _Thread.lock:
            _Thread.waiting -= 1


def start(work: Callable[[], Any]) -> Task:
    """Has something done after all that was started before."""
    task = Task(work)
    with _Thread.lock:
        if _Thread.tasks is None:
            _Thread.tasks = queue.SimpleQueue()
            threading.Thread(target=_serve, name="dualflow.distribute", daemon=True).start()
        _Thread.waiting += 1
        _Thread.tasks.put(task)
    return task


def run(work: Callable[[], Any]) -> Any:
    """Does something after all that was started before: at once, if that is done."""
    with _Thread.lock:
        idle = _Thread.waiting == 0
    if not idle:
        return start(work).result()
    with _Thread.turn:
        return work()
