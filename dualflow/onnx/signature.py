"""Specs of the inputs and outputs of models, and checks of input values."""

from __future__ import annotations

from dualflow._core import TensorBase, TensorSpec, as_tensor
from dualflow._util.named_tuple import NamedTuple
from dualflow.dtypes import DType
from dualflow.errors import InvalidArgumentError, UnimplementedError
from dualflow.onnx.narrow import NarrowType, from_array
from dualflow.onnx.package import dtype_of, name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class ValueSpec(NamedTuple):
    """An input or output that a TensorSpec cannot describe: of unknown rank (`shape` is None), of a
    narrow dtype, a sequence (a list of tensors), or optional."""

    name: str
    dtype: DType | NarrowType
    shape: tuple[int | None, ...] | None = None
    is_sequence: bool = False
    is_optional: bool = False


Spec = TensorSpec | ValueSpec


def spec_of(info: Any) -> Spec:
    """Return the spec of an input or output of a file."""
    proto, kind = info.type, _kind(info.type)
    is_optional = kind == "optional_type"
    if is_optional:
        proto = proto.optional_type.elem_type
        kind = _kind(proto)
    is_sequence = kind == "sequence_type"
    if is_sequence:
        proto = proto.sequence_type.elem_type
        kind = _kind(proto)
    at = proto.tensor_type
    dtype = dtype_of(at.elem_type) if kind == "tensor_type" else None
    if dtype is None:
        what = kind if kind != "tensor_type" else name_of(at.elem_type)
        raise UnimplementedError(f"onnx.load: {info.name!r} is {what}, expected a tensor of a "
                                 "supported dtype")
    shape: Any = None
    if "shape" in vars(at):         # some exporters write -1 for an unknown size
        sizes = [vars(d).get("dim_value") for d in at.shape.dim]
        shape = tuple([None if n == -1 else n for n in sizes])
    if shape is None or is_sequence or is_optional or isinstance(dtype, NarrowType):
        return ValueSpec(info.name, dtype, shape, is_sequence, is_optional)
    return TensorSpec(shape, dtype, info.name)


def _kind(proto: Any) -> str | None:
    """Return the name of the field that a TypeProto has."""
    return next(iter(vars(proto)), None)


def fitted(owner: str, spec: Spec, value: Any) -> Any:
    """Return a value converted and checked for an input."""
    if isinstance(spec, ValueSpec):
        if spec.is_optional and value is None:
            return None
        if spec.is_sequence:
            if not isinstance(value, list | tuple):
                raise InvalidArgumentError(f"{owner}: {spec.name} is {type(value).__name__}, "
                                           "expected a list of tensors")
            return [_fitted(owner, spec, x) for x in value]
    return _fitted(owner, spec, value)


def _fitted(owner: str, spec: Spec, value: Any) -> Any:
    x: Any = from_array(value)
    if x is None:
        like = None if hasattr(value, "dtype") or isinstance(spec.dtype, NarrowType) else spec.dtype
        x = value if isinstance(value, TensorBase) else as_tensor(value, like)
    if x.dtype is not spec.dtype:
        raise InvalidArgumentError(f"{owner}: {spec.name} is {x.dtype}, expected {spec.dtype}")
    if spec.shape is not None and len(spec.shape) != x.ndim:
        raise InvalidArgumentError(f"{owner}: {spec.name} has shape {x.shape}, "
                                   f"expected {len(spec.shape)} dimensions")
    return x
