"""Numbers that are told at the end of an epoch, of all ranks."""

from __future__ import annotations

from dualflow.distribute.objects import allgather_object
from dualflow.distribute.world import ProcessSet, check_set, global_process_set

__all__ = ["MetricAverage"]


class MetricAverage:
    """The mean of numbers that all ranks have seen, each in its batches.

    Parameters
    ----------
    process_set : ProcessSet

    Examples
    --------
    >>> import dualflow as df
    >>> df.distribute.init()                # here one rank: started without mpiexec
    >>> accuracy = df.distribute.MetricAverage()
    >>> accuracy.update(0.5, 64)
    >>> accuracy.update(1., 64)
    >>> accuracy.result()
    0.75
    """

    def __init__(self, process_set: ProcessSet = global_process_set) -> None:
        check_set("MetricAverage", process_set)
        self._group = process_set
        self.reset()

    def reset(self) -> None:
        """Forgets what was seen."""
        self._sum, self._n = 0., 0.

    def update(self, value: float, n: float = 1) -> None:
        """Adds a mean of `n` examples; no rank waits."""
        self._sum += float(value) * n
        self._n += n

    def result(self) -> float:
        """The mean over all ranks, which all call it; nan where nobody has seen anything."""
        told = allgather_object((self._sum, self._n), process_set=self._group)
        n = sum([n for _, n in told])
        mean: float = sum([total for total, _ in told]) / n if n else float("nan")
        return mean
