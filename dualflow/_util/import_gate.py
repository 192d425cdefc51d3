"""Forks wait for imports of other threads: in the child, the lock of a module that a thread of the
parent was loading would stay held."""

from __future__ import annotations

import os
import time
from _thread import RLock, get_ident

PATIENCE = 2.           # seconds that a fork waits for imports of other threads

_gate = RLock()         # held by a thread that forks, and by others to begin an import
_loading: dict[int, int] = {}       # by thread: the number of nested imports


def begin_import() -> None:
    """Register that this thread imports modules; `end_import` ends it."""
    thread = get_ident()
    if thread in _loading:
        _loading[thread] += 1           # without the gate: a fork may be waiting for this thread
    else:
        with _gate:
            _loading[thread] = 1


def end_import() -> None:
    """Unregister the import that `begin_import` registered."""
    thread = get_ident()
    _loading[thread] -= 1
    if not _loading[thread]:
        del _loading[thread]


def _close_gate() -> None:
    """Wait until no other thread is importing, and let none begin."""
    end = time.monotonic() + PATIENCE
    _gate.acquire()
    while not _loading.keys() <= {get_ident()} and time.monotonic() < end:
        _gate.release()
        time.sleep(.0005)
        _gate.acquire()


def _open_gate_in_child() -> None:
    for thread in [thread for thread in _loading if thread != get_ident()]:
        del _loading[thread]
    _gate.release()


os.register_at_fork(before=_close_gate, after_in_parent=_gate.release,
                    after_in_child=_open_gate_in_child)
