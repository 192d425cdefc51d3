"""One collective after another, in the order in which this rank asks for them.

What is started is done by whoever waits for it, or by a thread before that: where collectives are
waiting for a network, and not where they would take a core from the program.
"""

from __future__ import annotations

import threading
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_tasks: deque[Task] = deque()           # started, in their order, and not begun
_turn = threading.Lock()                # held while tasks are taken and done
_there = threading.Semaphore(0)         # counts what the thread may do
_making = threading.Lock()              # of the thread


class Task:
    """Something that is done, or will be."""

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
            if not isinstance(error, Exception):        # Ctrl-C is for whoever waits here
                raise
        finally:
            del self._work              # and memory that it was lent
            self._done = True

    def result(self) -> Any:
        """Waits for it, or does it; signals are handled meanwhile."""
        while not self._done:
            with _turn:
                if not self._done:
                    _tasks.popleft().do()
        if self._error is not None:
            raise self._error
        return self._result


class Beside:
    """Whether a thread does what was started, and which."""

    wanted = False
    thread: threading.Thread | None = None

    @classmethod
    def here(cls) -> bool:
        """Whether this is that thread, beside which the program computes."""
        return threading.current_thread() is cls.thread


def _serve() -> None:
    while True:
        _there.acquire()
        with _turn:
            if _tasks:
                _tasks.popleft().do()


def start(work: Callable[[], Any]) -> Task:
    """Has something done after all that was started before."""
    task = Task(work)
    _tasks.append(task)
    if Beside.wanted:
        with _making:
            if Beside.thread is None:
                Beside.thread = threading.Thread(target=_serve, name="dualflow.distribute",
                                                 daemon=True)
                Beside.thread.start()
        _there.release()
    return task


def run(work: Callable[[], Any]) -> Any:
    """Does something after all that was started before."""
    with _turn:
        while _tasks:
            _tasks.popleft().do()
        return work()
