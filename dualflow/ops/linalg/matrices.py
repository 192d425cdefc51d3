"""Arguments and results of functions of matrices, the last two dimensions."""

from __future__ import annotations

from dualflow import dtypes
from dualflow._core import Tensor, TensorBase, as_tensor
from dualflow.errors import DTypeError, ShapeError
from dualflow.ops.array.shape import same_size, transpose
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.complex import conj

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dualflow.ops.types import TensorLike

__all__ = ["like", "matrices", "turned"]


def matrices(op: str, x: TensorLike, square: bool = False) -> Tensor:
    """Check matrices and return them as float32, float64, complex64 or complex128."""
    a = as_tensor(x, None, op)
    dtype = a.dtype
    if dtype.kind != "float" and dtype.kind != "complex":
        raise DTypeError(f"{op}: {dtype.name}, expected a floating or complex dtype")
    if a.ndim < 2 or (square and not same_size(a.shape[-1], a.shape[-2])):
        wanted = "square matrices" if square else "matrices, the last two dimensions"
        raise ShapeError(f"{op}: shape {tuple(a.shape)}, expected {wanted}")
    return cast(a, dtypes.float32) if dtype.itemsize == 2 else a


def like(result: Any, x: TensorLike) -> Any:
    """Cast real results to the dtype of an input that is real."""
    if isinstance(result, tuple):
        return tuple([like(y, x) for y in result])
    given = x.dtype if isinstance(x, TensorBase) else as_tensor(x).dtype
    return cast(result, given) if given.is_floating and given is not result.dtype else result


def turned(x: Tensor) -> Tensor:
    """Return the adjoint of each matrix: the conjugate of its transpose."""
    n = x.ndim
    return conj(transpose(x, [*range(n - 2), n - 1, n - 2]))
