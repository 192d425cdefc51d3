"""What op functions accept."""

from typing import Any, TypeAlias

from dualflow._core import Tensor, Variable
from dualflow.dtypes import DType

# A tensor, a variable, or anything `convert_to_tensor` turns into one: numbers, nested lists,
# arrays. (Buffers have no type of their own before Python 3.12.)
TensorLike: TypeAlias = Tensor | Variable | bool | int | float | list | tuple | Any
DTypeLike: TypeAlias = DType | str | type | Any
Axis: TypeAlias = int | list[int] | tuple[int, ...] | None
