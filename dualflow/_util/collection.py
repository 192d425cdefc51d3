"""Suspension of the cyclic garbage collector while code allocates objects that all stay alive: its
collections would free nothing, and take a third of the time."""

from __future__ import annotations

import gc
import sys

from dualflow._util.import_gate import begin_import, end_import

__all__ = ["collector_suspended", "loading_modules"]

# Free-threaded Python has no generations, and `gc.freeze` visits all objects there.
HAS_GENERATIONS: bool = hasattr(gc, "freeze") and (
    not hasattr(sys, "_is_gil_enabled") or sys._is_gil_enabled())


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


class loading_modules(collector_suspended):
    """A context in which modules are loaded. Forks of other threads wait until it ends.

    On exit, all objects join the oldest generation of the collector, as if they had survived
    collections. Otherwise the next collections would visit every function and class of the modules.
    Do not use it for work that is repeated: its garbage would stay until a full collection.
    """

    def __enter__(self) -> None:
        begin_import()
        super().__enter__()

    def __exit__(self, *error: object) -> None:
        end_import()
        if self.enabled and HAS_GENERATIONS and not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
        super().__exit__(*error)
