"""Random numbers of a micro-batch: the same ones whichever rank computes it."""

from __future__ import annotations

from dualflow.arguments import integer
from dualflow.ops.draws import Shard

__all__ = ["shard"]


def shard(step: int, number: int) -> Shard:
    """A block in which random ops draw by the numbers of a step and a micro-batch.

    Parameters
    ----------
    step : int
        Of the training.
    number : int
        Of the micro-batch, among those of all ranks in this step.

    Returns
    -------
    context manager

    Notes
    -----
    Keys are made of the generator's seed, `step`, `number`, and how many keys the block has drawn
    before; so `df.random.set_seed` must have been called with one seed on all ranks. Generators
    count nothing meanwhile. A branch or a loop of a graph draws by the generator's own count.

    Examples
    --------
    >>> import dualflow as df
    >>> df.random.set_seed(1)
    >>> def noise(number):
    ...     with df.distribute.shard(0, number):
    ...         return df.random.normal([2]).tolist()
    >>> noise(3) == noise(3), noise(3) == noise(4)
    (True, False)
    """
    return Shard(integer(step, "shard: step"), integer(number, "shard: number"))
