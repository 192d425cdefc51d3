"""Conversion of the arguments of the standard's functions."""

from collections.abc import Callable
from typing import Any

from dualflow._core import Tensor, as_tensor
from dualflow.array_api.data_types import NUMBERS, astype, result_type
from dualflow.dtypes import DType, as_dtype
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.types import DTypeLike, TensorLike


def array(x: TensorLike, caller: str) -> Tensor:
    """Convert `x` to a tensor; a variable to its value."""
    return as_tensor(x, None, caller)


def of_one_dtype(caller: str, *xs: TensorLike) -> list[Tensor]:
    """Convert arrays and Python numbers to tensors of their common dtype."""
    if not xs:
        raise InvalidArgumentError(f"{caller}: got no arrays, expected one or more")
    given = [x if isinstance(x, NUMBERS) else array(x, caller) for x in xs]
    dtype = result_type(*given)
    return [astype(x, dtype) if isinstance(x, Tensor) else cast(x, dtype) for x in given]


def floats(caller: str, *xs: TensorLike) -> list[Tensor]:
    """Convert arrays and numbers to their common dtype, which must be floating."""
    given = of_one_dtype(caller, *xs)
    if not given[0].dtype.is_floating:
        raise DTypeError(f"{caller}: got {given[0].dtype}, expected a floating dtype")
    return given


def whole(caller: str, x: TensorLike, op: Callable[[Tensor], Tensor]) -> Tensor:
    """Apply `op`, which rounds floats; return integers unchanged."""
    y = array(x, caller)
    return y if y.dtype.is_integer else op(y)


def given_dtype(dtype: DTypeLike | None, default: DType) -> DType:
    """Return the given dtype, or the default."""
    return default if dtype is None else as_dtype(dtype)


def axes_of(axis: Any) -> Any:
    """Convert an axis or axes to the form of the ops; integer arrays become ints."""
    return axis if axis is None or isinstance(axis, int) else tuple(axis)
