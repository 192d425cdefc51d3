"""Locks that are reset in the child of a fork if a thread that no longer exists held them, and
attributes with a value for each thread. `threading` takes longer to import than this module."""

from __future__ import annotations

import os
import weakref
from _thread import RLock, _local

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ThreadLocal = _local

_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def reentrant_lock() -> Any:
    """Return a `threading.RLock`."""
    made: Any = RLock()
    _locks.add(made)
    return made


def _open_locks() -> None:
    for lock in list(_locks):
        if lock.acquire(blocking=False):        # free, or held by the thread that forked
            lock.release()
        else:
            lock._at_fork_reinit()


os.register_at_fork(after_in_child=_open_locks)
