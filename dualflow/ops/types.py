"""What op functions accept."""

from typing import Any, TypeAlias

# A tensor, a variable, or anything `convert_to_tensor` turns into one: numbers, nested lists,
# arrays. Buffers have no type of their own before Python 3.12, so it is Any; a union with Any in it
# would accept as much and make every use of an argument an error.
TensorLike: TypeAlias = Any
# A DType, its name, or a NumPy or Python type.
DTypeLike: TypeAlias = Any
Axis: TypeAlias = int | list[int] | tuple[int, ...] | None
