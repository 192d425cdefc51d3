"""Imports of modules while a program runs.

The cyclic garbage collector is suspended until they end: its collections would free nothing, and
take a third of the time. Forks of other threads wait: in the child, the lock of a module that a
thread of the parent was loading would stay held.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from _thread import RLock, get_ident
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

PATIENCE = 2.           # seconds that a fork waits for imports of other threads

# Free-threaded Python has no generations, and `gc.freeze` visits all objects there.
HAS_GENERATIONS: bool = hasattr(gc, "freeze") and (
    not hasattr(sys, "_is_gil_enabled") or sys._is_gil_enabled())

_gate = RLock()         # held by a thread that forks, and by others to begin an import
_loading: set[int] = set()          # the threads that import modules


def import_modules(*paths: str) -> ModuleType:
    """Import modules, in this order, and return the last one.

    Ctrl-C at any time leaves neither the collector suspended nor forks waiting. So nothing is
    undone in a function or a context manager of Python: Python checks for signals where its
    functions begin, before their first instruction.
    """
    thread = get_ident()
    enabled, nested = gc.isenabled(), thread in _loading
    try:
        gc.disable()
        if not nested:      # a fork that closed the gate may be waiting for this thread
            with _gate:
                _loading.add(thread)
        for path in paths:
            module = import_module(path)
        if enabled and HAS_GENERATIONS and not gc.get_freeze_count():
            # All objects join the oldest generation, as if they had survived collections.
            # Otherwise the next collections would visit every function and class of the modules.
            try:
                gc.freeze()
            finally:
                gc.unfreeze()
        return module
    finally:
        try:
            if not nested:
                _loading.discard(thread)
        finally:
            if enabled:
                gc.enable()


def _close_gate() -> None:
    """Wait until no other thread is importing, and let none begin."""
    end = time.monotonic() + PATIENCE
    _gate.acquire()
    while _loading - {get_ident()} and time.monotonic() < end:
        _gate.release()
        time.sleep(.0005)
        _gate.acquire()


def _open_gate_in_child() -> None:
    _loading.intersection_update([get_ident()])
    _gate.release()


os.register_at_fork(before=_close_gate, after_in_parent=_gate.release,
                    after_in_child=_open_gate_in_child)
