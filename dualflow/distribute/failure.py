"""Failure handling: a rank that fails ends the whole job, so that no other rank waits for it."""

from __future__ import annotations

import atexit
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, NoReturn


class Watch:
    """Intercepts the end of Python, from `begin` to `end`.

    Parameters
    ----------
    rank : int
    abort : callable (code)
        Kills all processes of the job.
    leave : callable ()
        Waits until all ranks have reached their end.
    """

    def __init__(self, rank: int, abort: Callable[[int], Any], leave: Callable[[], None]) -> None:
        self._rank, self._abort, self._leave = rank, abort, leave
        self._code = 0

    def begin(self) -> None:
        """Install the hooks."""
        self._before = sys.excepthook, sys.exit
        sys.excepthook, sys.exit = self._raised, self._exit
        atexit.register(self._ended)

    def end(self) -> None:
        """Restore the original hooks."""
        sys.excepthook, sys.exit = self._before
        atexit.unregister(self._ended)

    def _raised(self, kind: type[BaseException], error: BaseException,
                trace: TracebackType | None) -> None:
        self._before[0](kind, error, trace)
        self._stop(1, f"an uncaught {kind.__name__}")

    def _exit(self, status: Any = None, /) -> NoReturn:
        self._code = status if isinstance(status, int) else int(status is not None)
        self._before[1](status)

    def _ended(self) -> None:
        """At exit, end the job if the exit code is not 0; otherwise wait for the other ranks."""
        if self._code:
            self._stop(self._code, f"sys.exit({self._code})")
        try:
            self._leave()
        except BaseException as error:
            self._stop(1, repr(error))

    def _stop(self, code: int, why: str) -> None:
        print(f"dualflow: rank {self._rank} ends the job: {why}", file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        time.sleep(0.2)                     # lets the launcher forward the output
        self._abort(code)
