"""The compiled core: Tensor, Variable storage, the one `apply`, the tape's records.

It knows no op by name, except that Python's operators apply the ops they stand for.
"""

from dualflow._core._core import (
    Op,
    Record,
    RecordLog,
    Tensor,
    TensorBase,
    TensorSpec,
    Variable,
    apply,
    as_tensor,
    bind,
    constant,
    cpu_cores,
    current_log,
    get_op,
    isa,
    memory_stats,
    num_threads,
    ops,
    reset_peak_memory,
    set_num_threads,
    tensor_id,
    trim_memory,
)

__all__ = [
    "Op",
    "Record",
    "RecordLog",
    "Tensor",
    "TensorBase",
    "TensorSpec",
    "Variable",
    "apply",
    "as_tensor",
    "bind",
    "constant",
    "cpu_cores",
    "current_log",
    "get_op",
    "isa",
    "memory_stats",
    "num_threads",
    "ops",
    "reset_peak_memory",
    "set_num_threads",
    "tensor_id",
    "trim_memory",
]
