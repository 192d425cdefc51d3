"""Tensor methods required by the Python array API standard, besides operators."""

from __future__ import annotations

from dualflow._core import Tensor, TensorBase, as_tensor, bind
from dualflow._util.late_binding import late
from dualflow.errors import InvalidArgumentError, ShapeError
from dualflow.ops.array.shape import transpose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# All versions are accepted: later ones only add to earlier ones.
EDITIONS = ("2021.12", "2022.12", "2023.12", "2024.12")


def array_namespace(api_version: str | None) -> Any:
    """Implement ``x.__array_namespace__()``: return the array API module, which is a higher layer
    than ops and is imported on first use."""
    if api_version is not None and api_version not in EDITIONS:
        raise InvalidArgumentError(f"__array_namespace__: api_version is {api_version!r}, expected "
                                   f"one of {', '.join(EDITIONS)}")
    return late("array_api")


def to_device(x: TensorBase, device: Any, stream: Any) -> TensorBase:
    """Implement ``x.to_device(device)``: there is one device, so return the tensor."""
    if device not in (x.device, "cpu") or stream is not None:
        raise InvalidArgumentError(f"to_device: device {device!r} and stream {stream!r}, expected "
                                   f"{x.device!r} or 'cpu' and no stream")
    return x


def matrix_transpose(x: TensorBase) -> Tensor:
    """Implement ``x.mT``: swap the last two dimensions."""
    y = as_tensor(x)
    if y.ndim < 2:
        raise ShapeError(f"mT: {y.dtype} {y.shape}, expected 2 dimensions or more")
    return transpose(y, [*range(y.ndim - 2), y.ndim - 1, y.ndim - 2])


bind(array_namespace=array_namespace, to_device=to_device, matrix_transpose=matrix_transpose)
