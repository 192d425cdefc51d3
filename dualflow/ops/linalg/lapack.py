"""Calls of LAPACK through NumPy and SciPy, which are imported at first use."""

from importlib import import_module
from typing import Any

from dualflow.errors import InvalidArgumentError

__all__ = ["lapack", "scipy"]


def lapack(op: str, function: str, *args: Any, **kwargs: Any) -> Any:
    """Call a function of `numpy.linalg`; its errors name the op."""
    import numpy as np

    try:
        return getattr(np.linalg, function)(*args, **kwargs)
    except np.linalg.LinAlgError as error:
        raise InvalidArgumentError(f"{op}: {str(error)[:1].lower()}{str(error)[1:]}") from None


def scipy(name: str, op: str) -> Any:
    """Import a module of SciPy at first use."""
    try:
        return import_module(f"scipy.{name}")
    except ImportError:
        raise ModuleNotFoundError(f"{op} needs SciPy: pip install dualflow[linalg]") from None
