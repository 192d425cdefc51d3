"""Inspection of the namespace."""

from typing import Any

from dualflow import dtypes
from dualflow.array_api.data_types import isdtype
from dualflow.array_api.device import DEVICE, check_device
from dualflow.dtypes import DType

__all__ = ["__array_namespace_info__"]

# The supported dtypes of the standard: all.
STANDARD = {name: dtypes.as_dtype(name) for name in (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32",
    "float64", "complex64", "complex128")}
MOST_DIMENSIONS = 254


class NamespaceInfo:
    """Capabilities, devices and dtypes of the namespace."""

    def capabilities(self) -> dict[str, Any]:
        """Return the capabilities of the namespace.

        Examples
        --------
        >>> import dualflow as df
        >>> df.array_api.__array_namespace_info__().capabilities()["boolean indexing"]
        True
        """
        return {"boolean indexing": True, "data-dependent shapes": True,
                "max dimensions": MOST_DIMENSIONS}

    def default_device(self) -> str:
        """Return the device on which arrays are created."""
        return DEVICE

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """Return the dtypes of Python numbers and of indices."""
        check_device(device, "default_dtypes")
        return {"real floating": dtypes.float32, "complex floating": dtypes.complex64,
                "integral": dtypes.int32, "indexing": dtypes.int64}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, DType]:
        """Return the supported dtypes of the standard by name, optionally only of a kind."""
        check_device(device, "dtypes")
        return {name: dtype for name, dtype in STANDARD.items()
                if kind is None or isdtype(dtype, kind)}

    def devices(self) -> list[str]:
        """Return the available devices."""
        return [DEVICE]


def __array_namespace_info__() -> NamespaceInfo:
    """Return the capabilities, devices and dtypes of the namespace.

    Examples
    --------
    >>> import dualflow as df
    >>> info = df.array_api.__array_namespace_info__()
    >>> "complex64" in info.dtypes(), info.default_dtypes()["integral"]
    (True, dualflow.int32)
    """
    return NamespaceInfo()
