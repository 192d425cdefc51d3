"""Suspension of the cyclic garbage collector while code allocates objects that all stay alive: its
collections would free nothing, and take a third of the time."""

from __future__ import annotations

import gc

__all__ = ["collector_suspended"]


class collector_suspended:
    """A context in which the collector is suspended in all threads, unless it is disabled already.

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

    def __enter__(self) -> None:
        self.enabled = gc.isenabled()
        gc.disable()

    def __exit__(self, *error: object) -> None:
        if self.enabled:
            gc.enable()
