"""Suspension of the cyclic garbage collector while code allocates objects that all stay alive: its
collections would free nothing, and take a third of the time."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collector_suspended"]


@contextmanager
def collector_suspended() -> Iterator[None]:
    """Suspend the collector in all threads, unless it is disabled already.

    Examples
    --------
    >>> import gc
    >>> from dualflow._util.collection import collector_suspended
    >>> with collector_suspended():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
