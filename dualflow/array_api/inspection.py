"""What the namespace tells about itself."""

from typing import Any

from dualflow import dtypes
from dualflow.array_api.data_types import isdtype
from dualflow.array_api.device import DEVICE, check_device
from dualflow.dtypes import DType

__all__ = ["__array_namespace_info__"]

# The element types of the standard that there are: complex64 and complex128 are not.
STANDARD = {name: dtypes.as_dtype(name) for name in (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32",
    "float64")}
MOST_DIMENSIONS = 254


class NamespaceInfo:
    """Capabilities, devices and dtypes of the namespace."""

    def capabilities(self) -> dict[str, Any]:
        """What the namespace can do.

        Examples
        --------
        >>> import dualflow as df
        >>> df.array_api.__array_namespace_info__().capabilities()["boolean indexing"]
        True
        """
        return {"boolean indexing": True, "data-dependent shapes": True,
                "max dimensions": MOST_DIMENSIONS}

    def default_device(self) -> str:
        """Where arrays are made."""
        return DEVICE

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """What Python's numbers become, and the dtype of places; there is no complex one."""
        check_device(device, "default_dtypes")
        return {"real floating": dtypes.float32, "integral": dtypes.int32,
                "indexing": dtypes.int64}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, DType]:
        """The dtypes of the standard that there are, all or those of a kind, by name."""
        check_device(device, "dtypes")
        return {name: dtype for name, dtype in STANDARD.items()
                if kind is None or isdtype(dtype, kind)}

    def devices(self) -> list[str]:
        """The devices there are."""
        return [DEVICE]


def __array_namespace_info__() -> NamespaceInfo:
    """What the namespace can do, its devices and its dtypes.

    Examples
    --------
    >>> import dualflow as df
    >>> info = df.array_api.__array_namespace_info__()
    >>> "complex64" in info.dtypes(), info.default_dtypes()["integral"]
    (False, dualflow.int32)
    """
    return NamespaceInfo()
