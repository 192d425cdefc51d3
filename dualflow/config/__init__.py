"""Resources of the process: threads, SIMD level, memory.

Environment variables: ``DUALFLOW_NUM_THREADS``, or else ``OMP_NUM_THREADS``, sets the number of
threads, ``DUALFLOW_ISA`` the SIMD level ("baseline", "avx2", "avx512", "neon"), and
``DUALFLOW_BFLOAT16`` the method for bfloat16 products at AVX-512 ("tiles", "pairs", "float32";
docs/numerics.md). ``import dualflow`` raises if one of its variables has another value.
"""

from dualflow import _core
from dualflow._util.flags import Switches
from dualflow.config import optimizer as optimizer
from dualflow.config.devices import (
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
    "optimizer",
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
    """Set whether every `dualflow.function` runs as plain Python, for debugging.

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
    """Return True if functions run as plain Python.

    Examples
    --------
    >>> import dualflow as df
    >>> df.config.functions_run_eagerly()
    False
    """
    return Switches.functions_run_eagerly


def compiled_gradients(compiled: bool | None = None) -> bool:
    """Set whether tapes may run compiled backward passes for tapes that repeat from step to step.
    The gradients are bit-identical either way (docs/compiled_gradients.md).

    Parameters
    ----------
    compiled : bool, optional
        False: interpret every backward pass, and drop the compiled ones. None: only return the
        setting.

    Returns
    -------
    bool
        The new setting.

    Examples
    --------
    >>> import dualflow as df
    >>> df.config.compiled_gradients(False)
    False
    >>> df.config.compiled_gradients(True)
    True
    """
    logs = _core.get_tape_cache()
    if compiled is not None:
        logs.on = bool(compiled)
        if not compiled:
            logs.clear()
    return logs.on


def set_exact_convolutions(exact: bool) -> None:
    """Set whether convolutions are computed directly, as sums of products.

    By default, float32 convolutions with filters of 3 x 3 or 5 x 5 at stride 1 use Winograd's
    method if that is faster. It needs a quarter or a third of the multiplications, and its errors
    are several times as large (docs/numerics.md). A function that is already traced is not
    affected.

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
    """Return True if convolutions are computed directly, as sums of products.

    Examples
    --------
    >>> import dualflow as df
    >>> df.config.exact_convolutions()
    False
    """
    return Switches.exact_convolutions


def isa() -> str:
    """Return the SIMD level in use: the best of this build that the CPU supports, unless forced.

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
    """Return the number of cores available to this process, by affinity and control-group quota.

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
    """Return the number of threads that share the work of a large op.

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
    """Set the number of threads that share the work of a large op; it does not change results.

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
    """Return the tensor memory in use, its peak, the cached memory, and the allocation count.

    Returns
    -------
    dict
        ``live``, ``peak`` and ``cached`` in bytes; ``allocations`` since the process started.

    Examples
    --------
    >>> import dualflow as df
    >>> sorted(df.config.memory_stats())
    ['allocations', 'cached', 'live', 'peak']
    """
    return _core.memory_stats()


def reset_peak_memory() -> None:
    """Reset the peak of `memory_stats` to the memory in use now.

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
    """Return cached memory to the system, including the scratch memory of functions.

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
