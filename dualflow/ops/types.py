"""What op functions accept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex, TypeAlias, Union

if TYPE_CHECKING:
    from dualflow._core import TensorBase
    from dualflow.dtypes import DType


class SupportsArray(Protocol):
    """What NumPy makes an array of: arrays and scalars of its own and of other libraries."""

    def __array__(self) -> Any: ...


class SupportsBuffer(Protocol):
    """Memory that is shared: ``array.array``, ``memoryview``."""

    def __buffer__(self, flags: int, /) -> memoryview: ...


class Named(Protocol):
    """A dtype of NumPy or another library, known by its name."""

    @property
    def name(self) -> str: ...


# A tensor, a variable, or anything `convert_to_tensor` turns into one: numbers, nested lists,
# arrays. Not any sequence, which text is, too.
TensorLike: TypeAlias = Union["TensorBase", bool, float, SupportsIndex, SupportsArray,
                              SupportsBuffer, list[Any], tuple[Any, ...], Sequence[float]]
# A DType, its name, or a NumPy or Python type.
DTypeLike: TypeAlias = Union["DType", str, type, Named]
Axis: TypeAlias = int | list[int] | tuple[int, ...] | None
