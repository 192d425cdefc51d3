"""Types of the arguments of op functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex, TypeAlias, Union

if TYPE_CHECKING:
    from dualflow._core import Operand, TensorBase
    from dualflow.dtypes import DType


class SupportsArray(Protocol):
    """An object that NumPy converts to an array: arrays and scalars of any library."""

    def __array__(self) -> Any: ...


class SupportsBuffer(Protocol):
    """An object with the buffer protocol, such as ``array.array`` or ``memoryview``."""

    def __buffer__(self, flags: int, /) -> memoryview: ...


class Named(Protocol):
    """A dtype of NumPy or another library, identified by its name."""

    @property
    def name(self) -> str: ...


# A tensor, a variable, a ragged tensor, or a value that `convert_to_tensor` accepts: numbers,
# nested lists, arrays. Not every sequence, because text is one.
TensorLike: TypeAlias = Union["TensorBase", "Operand", bool, float, complex, SupportsIndex,
                              SupportsArray, SupportsBuffer, list[Any], tuple[Any, ...],
                              Sequence[float]]
# A DType, its name, or a NumPy or Python type.
DTypeLike: TypeAlias = Union["DType", str, type, Named]
Axis: TypeAlias = int | list[int] | tuple[int, ...] | None
