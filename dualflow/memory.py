"""Memory of tensors: the amount in use, and the cache of freed blocks.

Freed memory goes to a free list, because a fresh page costs more than most kernels. The list is
bounded by 1 GiB or a quarter of the machine's memory, whichever is less; beyond that, blocks of
sizes that are no longer in use are freed first. Blocks of 4 MB or more use huge pages if the system
has them. Programs of traced functions share scratch memory, at most four pieces when none runs.
"""

from __future__ import annotations

from dualflow import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["reset_peak", "stats", "trim"]


def stats() -> dict[str, Any]:
    """Return the tensor memory in bytes, without arrays that were wrapped without a copy.

    Returns
    -------
    dict
        ``in_use``: by tensors, variables and running programs; ``peak``: the maximum of ``in_use``
        since the start or `reset_peak`; ``cached``: freed and cached; ``by_thread``: memory in use
        by the thread that allocated it, as a dict by `threading.get_native_id`.

    Notes
    -----
    Ended threads without memory in use are not listed. Threads beyond 63 at once share the id 0.

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
    """Reset the peak of `stats` to the memory in use now.

    Examples
    --------
    >>> import dualflow as df
    >>> df.memory.reset_peak()
    """
    _core.reset_peak_memory()


def trim() -> None:
    """Return cached memory to the system, including the scratch memory of functions.

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
