"""Data-parallel training on many machines, over MPI, bit-identical for any number of ranks."""

from dualflow.distribute import controller as _meeting, elastic as elastic
from dualflow.distribute.collectives import (
    allgather as allgather,
    alltoall as alltoall,
    barrier as barrier,
    broadcast as broadcast,
    join as join,
    reducescatter as reducescatter,
)
from dualflow.distribute.metrics import MetricAverage as MetricAverage
from dualflow.distribute.objects import (
    allgather_object as allgather_object,
    broadcast_object as broadcast_object,
    broadcast_variables as broadcast_variables,
)
from dualflow.distribute.reductions import (
    allreduce as allreduce,
    grouped_allreduce as grouped_allreduce,
)
from dualflow.distribute.shards import shard as shard
from dualflow.distribute.training import (
    DistributedGradientTape as DistributedGradientTape,
    DistributedOptimizer as DistributedOptimizer,
)
from dualflow.distribute.world import (
    ProcessSet as ProcessSet,
    add_process_set as add_process_set,
    global_process_set as global_process_set,
    init as init,
    is_initialized as is_initialized,
    local_rank as local_rank,
    local_size as local_size,
    rank as rank,
    remove_process_set as remove_process_set,
    shutdown as shutdown,
    size as size,
)

# Seconds that a collective waits for other ranks; None waits indefinitely. The default is long
# since a late rank may be saving a checkpoint.
timeout: float | None = 600.
_meeting.read_timeout = lambda: timeout

__all__ = [
    "DistributedGradientTape",
    "DistributedOptimizer",
    "MetricAverage",
    "ProcessSet",
    "add_process_set",
    "allgather",
    "allgather_object",
    "allreduce",
    "alltoall",
    "barrier",
    "broadcast",
    "broadcast_object",
    "broadcast_variables",
    "elastic",
    "global_process_set",
    "grouped_allreduce",
    "init",
    "is_initialized",
    "join",
    "local_rank",
    "local_size",
    "rank",
    "reducescatter",
    "remove_process_set",
    "shard",
    "shutdown",
    "size",
    "timeout",
]


def __dir__() -> list[str]:
    return __all__
