"""Calls of LAPACK through NumPy and SciPy, which are imported at first use.

Their OpenBLAS uses one thread during a call: its threads wait for each other in loops, which takes
a hundred times as long if another process uses a core, and with one thread results do not depend
on the number of cores. Other implementations of BLAS keep their threads.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from dualflow.errors import InvalidArgumentError

__all__ = ["lapack", "one_blas_thread", "scipy"]


def lapack(op: str, function: str, *args: Any, **kwargs: Any) -> Any:
    """Call a function of `numpy.linalg` on one thread; its errors name the op, and there are no
    warnings about NaN and infinities."""
    import numpy as np

    try:
        with one_blas_thread(), np.errstate(all="ignore"):
            return getattr(np.linalg, function)(*args, **kwargs)
    except np.linalg.LinAlgError as error:
        raise InvalidArgumentError(f"{op}: {str(error)[:1].lower()}{str(error)[1:]}") from None


def scipy(name: str, op: str) -> Any:
    """Import a module of SciPy at first use."""
    try:
        return import_module(f"scipy.{name}")
    except ImportError:
        raise ModuleNotFoundError(f"{op} needs SciPy: pip install dualflow[linalg]") from None


# --- threads -------------------------------------------------------------------------------------


class BlasThreads(NamedTuple):
    """The functions of an OpenBLAS that read and set its number of threads."""

    get: Callable[[], int]
    set: Callable[[int], None]


@cache
def blas_threads(module: str) -> BlasThreads | None:
    """Return the functions of the OpenBLAS of an extension module, or None if it has another."""
    import ctypes

    try:
        # Symbols are looked up in the extension module and in the libraries that it needs.
        library = ctypes.CDLL(import_module(module).__file__)
    except (ImportError, OSError, TypeError):
        return None
    for name in "scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads", \
            "openblas_{}_num_threads64_", "openblas_{}_num_threads":
        if hasattr(library, name.format("set")):
            return BlasThreads(getattr(library, name.format("get")),
                               getattr(library, name.format("set")))
    return None


class _Limit:
    """The number of calls in progress, and the numbers of threads before the first of them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.calls = 0
        self.before: dict[str, int] = {}        # by module, in the order of the limits

    def enter(self, modules: tuple[str, ...]) -> None:
        with self.lock:
            self.calls += 1
            for module in modules:
                blas = blas_threads(module)
                if blas and module not in self.before:
                    self.before[module] = blas.get()
                    blas.set(1)

    def leave(self) -> None:
        with self.lock:
            self.calls -= 1
            while not self.calls and self.before:
                module, count = self.before.popitem()
                blas = blas_threads(module)
                if blas:
                    blas.set(count)


_limit = _Limit()


@contextmanager
def one_blas_thread(*modules: str) -> Iterator[None]:
    """Limit the OpenBLAS of NumPy, and of other extension modules, to one thread. The limit holds
    for the whole process until the last concurrent call ends."""
    _limit.enter(("numpy.linalg._umath_linalg", *modules))
    try:
        yield
    finally:
        _limit.leave()
