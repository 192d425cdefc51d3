"""Metrics averaged over all ranks at the end of an epoch."""

from __future__ import annotations

from dualflow.distribute.objects import allgather_object
from dualflow.distribute.world import ProcessSet, check_set, global_process_set

__all__ = ["MetricAverage"]


class MetricAverage:
    """The mean of a metric over the batches of all ranks.

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
        """Discard all values."""
        self._sum, self._n = 0., 0.

    def update(self, value: float, n: float = 1) -> None:
        """Add a mean of `n` examples, without communication."""
        self._sum += float(value) * n
        self._n += n

    def result(self) -> float:
        """Return the mean over all ranks, which must all call it; nan without any values."""
        by_rank = allgather_object((self._sum, self._n), process_set=self._group)
        n = sum([n for _, n in by_rank])
        mean: float = sum([total for total, _ in by_rank]) / n if n else float("nan")
        return mean
