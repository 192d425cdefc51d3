"""Random numbers of a micro-batch that do not depend on the rank that computes it."""

from __future__ import annotations

from dualflow._util.arguments import integer
from dualflow.ops.random.key_context import Shard

__all__ = ["shard"]


def shard(step: int, number: int) -> Shard:
    """Return a context in which random ops draw keys by a step and a micro-batch number.

    Parameters
    ----------
    step : int
        The training step.
    number : int
        The number of the micro-batch among all ranks' micro-batches in this step.

    Returns
    -------
    context manager

    Notes
    -----
    A key depends on the generator's seed, `step`, `number`, and the count of keys drawn before in
    the block. `df.random.set_seed` must therefore have been called with one seed on all ranks.
    Counts of generators do not change in the block. A branch or a loop of a graph draws by the
    generator's count.

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
