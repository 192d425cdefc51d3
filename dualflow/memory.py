"""Memory of tensors: how much is in use, and what is kept for reuse.

Freed memory goes to a free list, because a fresh page costs more than most kernels. The list is
bounded by 1 GiB or a quarter of the machine's memory, whichever is less; beyond that, sizes that
are no longer in use leave first. Blocks from 4 MB on come from huge pages where the system has
them. Programs of traced functions share scratch memory, at most four pieces when none runs.
"""

from __future__ import annotations

from dualflow import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["reset_peak", "stats", "trim"]


def stats() -> dict[str, Any]:
    """Bytes of tensor memory, arrays that were wrapped without a copy left out.

    Returns
    -------
    dict
        ``in_use``: by tensors, variables and programs that run; ``peak``: the most there was in use
        since the start or `reset_peak`; ``cached``: kept for reuse; ``by_thread``: what is in use
        by the thread that asked for it, whoever frees it, as a dict by `threading.get_native_id`.

    Notes
    -----
    Threads that ended and left nothing are not listed. More than 63 at once share the number 0.

    Examples
    --------
    >>> import dualflow as df
    >>> before = df.memory.stats()["in_use"]
    >>> x = df.zeros([256, 1024])
    >>> df.memory.stats()["in_use"] - before
    1048576
    >>> sorted(df.memory.stats())
    ['by_thread', 'cached', 'in_use', 'peak']
    """
    found = _core.memory_stats()
    return {"in_use": found["live"], "peak": found["peak"], "cached": found["cached"],
            "by_thread": _core.memory_by_thread()}


def reset_peak() -> None:
    """Restarts the peak of `stats` from what is in use now.

    Examples
    --------
    >>> import dualflow as df
    >>> df.memory.reset_peak()
    """
    _core.reset_peak_memory()


def trim() -> None:
    """Returns the memory kept for reuse to the system, including that for runs of functions.

    Examples
    --------
    >>> import dualflow as df
    >>> df.memory.trim()
    >>> df.memory.stats()["cached"]
    0
    """
    _core.trim_memory()


def __dir__() -> list[str]:
    return __all__
