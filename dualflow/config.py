"""Resources of the process: threads, SIMD level, memory.

Environment variables choose the number of threads, ``DUALFLOW_NUM_THREADS``, the SIMD level,
``DUALFLOW_ISA`` ("baseline", "avx2", "avx512", "neon"), and how products of bfloat16 are computed
at AVX-512, ``DUALFLOW_BFLOAT16`` ("tiles", "pairs", "float32"; docs/numerics.md).
"""

from dualflow import _core
from dualflow.devices import (
    LogicalDevice as LogicalDevice,
    LogicalDeviceConfiguration as LogicalDeviceConfiguration,
    PhysicalDevice as PhysicalDevice,
    get_logical_device_configuration as get_logical_device_configuration,
    get_soft_device_placement as get_soft_device_placement,
    get_visible_devices as get_visible_devices,
    list_logical_devices as list_logical_devices,
    list_physical_devices as list_physical_devices,
    set_logical_device_configuration as set_logical_device_configuration,
    set_soft_device_placement as set_soft_device_placement,
    set_visible_devices as set_visible_devices,
)
from dualflow.switches import Switches

__all__ = [
    "LogicalDevice",
    "LogicalDeviceConfiguration",
    "PhysicalDevice",
    "compiled_gradients",
    "cpu_cores",
    "exact_convolutions",
    "functions_run_eagerly",
    "get_logical_device_configuration",
    "get_soft_device_placement",
    "get_visible_devices",
    "isa",
    "list_logical_devices",
    "list_physical_devices",
    "memory_stats",
    "num_threads",
    "reset_peak_memory",
    "run_functions_eagerly",
    "set_exact_convolutions",
    "set_logical_device_configuration",
    "set_num_threads",
    "set_soft_device_placement",
    "set_visible_devices",
    "trim_memory",
]


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Switches whether every `dualflow.function` runs as plain Python, to be stepped through.

    Parameters
    ----------
    run_eagerly : bool

    Examples
    --------
    >>> import dualflow as df
    >>> df.config.run_functions_eagerly(True)
    >>> df.config.functions_run_eagerly()
    True
    >>> df.config.run_functions_eagerly(False)
    """
    Switches.functions_run_eagerly = bool(run_eagerly)
    _core.set_fast_calls(not run_eagerly)


def functions_run_eagerly() -> bool:
    """Whether functions run as plain Python.

    Examples
    --------
    >>> import dualflow as df
    >>> df.config.functions_run_eagerly()
    False
    """
    return Switches.functions_run_eagerly


def compiled_gradients(compiled: bool | None = None) -> bool:
    """Switches whether tapes may run a compiled program where they would walk back through records
    that repeat from step to step; the bits of gradients are the same (docs/compiled_gradients.md).

    Parameters
    ----------
    compiled : bool, optional
        False: every gradient is computed record by record, and what was compiled is dropped. None:
        nothing changes.

    Returns
    -------
    bool
        Whether they may, from now on.

    Examples
    --------
    >>> import dualflow as df
    >>> df.config.compiled_gradients(False)
    False
    >>> df.config.compiled_gradients(True)
    True
    """
    logs = _core.repeated_logs()
    if compiled is not None:
        logs.on = bool(compiled)
        if not compiled:
            logs.clear()
    return logs.on


def set_exact_convolutions(exact: bool) -> None:
    """Switches whether convolutions are sums of all their products.

    Otherwise those with filters of 3 x 3 or 5 x 5 at stride 1 are computed in float32 by Winograd's
    method where that is faster: with a quarter or a third of the multiplications, and errors
    several times as large (docs/numerics.md says how large). A function that is already traced
    keeps what was set then.

    Parameters
    ----------
    exact : bool

    Examples
    --------
    >>> import dualflow as df
    >>> df.config.set_exact_convolutions(True)
    >>> df.config.exact_convolutions()
    True
    >>> df.config.set_exact_convolutions(False)
    """
    Switches.exact_convolutions = bool(exact)


def exact_convolutions() -> bool:
    """Whether convolutions are sums of all their products.

    Examples
    --------
    >>> import dualflow as df
    >>> df.config.exact_convolutions()
    False
    """
    return Switches.exact_convolutions


def isa() -> str:
    """The SIMD level in use: the best of this build that the CPU has, unless one was forced.

    Returns
    -------
    str

    Examples
    --------
    >>> import dualflow as df
    >>> df.config.isa() in ("baseline", "avx2", "avx512", "neon")
    True
    """
    return _core.isa()


def cpu_cores() -> int:
    """How many cores this process may use, given its affinity and its control group's quota.

    Returns
    -------
    int

    Examples
    --------
    >>> import dualflow as df
    >>> df.config.cpu_cores() >= 1
    True
    """
    return _core.cpu_cores()


def num_threads() -> int:
    """How many threads large ops are split among.

    Returns
    -------
    int

    Examples
    --------
    >>> import dualflow as df
    >>> df.config.num_threads() >= 1
    True
    """
    return _core.num_threads()


def set_num_threads(n: int) -> None:
    """Splits large ops among `n` threads from now on; results do not depend on it.

    Parameters
    ----------
    n : int, at least 1

    Returns
    -------
    None

    Raises
    ------
    InvalidArgumentError
        If `n` is out of range.

    Examples
    --------
    >>> import dualflow as df
    >>> before = df.config.num_threads()
    >>> df.config.set_num_threads(1)
    >>> df.config.num_threads()
    1
    >>> df.config.set_num_threads(before)
    """
    _core.set_num_threads(n)


def memory_stats() -> dict[str, int]:
    """Bytes of tensor memory: in use, peak use, and kept for reuse; and how often some was taken.

    Returns
    -------
    dict
        ``live``, ``peak`` and ``cached``, in bytes; ``allocations``, since the process began.

    Examples
    --------
    >>> import dualflow as df
    >>> sorted(df.config.memory_stats())
    ['allocations', 'cached', 'live', 'peak']
    """
    return _core.memory_stats()


def reset_peak_memory() -> None:
    """Restarts the peak of `memory_stats` from what is in use now.

    Returns
    -------
    None

    Examples
    --------
    >>> import dualflow as df
    >>> df.config.reset_peak_memory()
    """
    _core.reset_peak_memory()


def trim_memory() -> None:
    """Returns the memory kept for reuse to the system, including that for runs of functions.

    Returns
    -------
    None

    Examples
    --------
    >>> import dualflow as df
    >>> df.config.trim_memory()
    >>> df.config.memory_stats()["cached"]
    0
    """
    _core.trim_memory()


def __dir__() -> list[str]:
    return __all__
