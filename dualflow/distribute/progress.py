"""Runs collectives one at a time, in the order in which this rank starts them.

A started collective is run by the thread that waits for it, or earlier by a progress thread. The
progress thread exists only where a core is free: if collectives wait for a network, or if the ranks
of the machine use fewer threads than it has cores.
"""

from __future__ import annotations

import threading
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_tasks: deque[Task] = deque()           # started tasks that do not run yet, in order
_turn = threading.Lock()                # held while a task is popped and run
_there = threading.Semaphore(0)         # counts tasks for the progress thread
_making = threading.Lock()              # for the creation of that thread


class Task:
    """A collective that has been started, and its result."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self._done = False
        self._result: Any = None
        self._error: BaseException | None = None

    def do(self) -> None:
        try:
            self._result = self._work()
        except BaseException as error:
            self._error = error
            if not isinstance(error, Exception):        # Ctrl-C is raised in the waiting thread
                raise
        finally:
            del self._work              # and its references to borrowed buffers
            self._done = True

    def result(self) -> Any:
        """Wait for the task, or run it; signals are handled during the wait."""
        while not self._done:
            with _turn:
                if not self._done:
                    _tasks.popleft().do()
        if self._error is not None:
            raise self._error
        return self._result


class ProgressThread:
    """The progress thread, and whether to use one."""

    wanted = False
    thread: threading.Thread | None = None

    @classmethod
    def here(cls) -> bool:
        """Return True if the calling thread is the progress thread."""
        return threading.current_thread() is cls.thread


def _run_tasks() -> None:
    while True:
        _there.acquire()
        with _turn:
            if _tasks:
                _tasks.popleft().do()


def start(work: Callable[[], Any]) -> Task:
    """Queue work to be run after all tasks that were started before."""
    task = Task(work)
    _tasks.append(task)
    if ProgressThread.wanted:
        with _making:
            if ProgressThread.thread is None:
                ProgressThread.thread = threading.Thread(target=_run_tasks,
                                                         name="dualflow.distribute",
                                                         daemon=True)
                ProgressThread.thread.start()
        _there.release()
    return task


def run(work: Callable[[], Any]) -> Any:
    """Run work after all tasks that were started before."""
    with _turn:
        while _tasks:
            _tasks.popleft().do()
        return work()
