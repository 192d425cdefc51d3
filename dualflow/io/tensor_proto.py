"""Tensors as bytes in the format of TensorFlow's message TensorProto.

Source: tensorflow/core/framework/tensor.proto and types.proto, for the numbers of fields
and dtypes.
"""

from __future__ import annotations

from math import prod
from typing import Any

from dualflow._core import TensorBase, as_tensor, constant, memory_of, rebuild
from dualflow._util.arguments import shown
from dualflow._util.wire_format import Malformed, message_types, read, varint, written
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.io.features import dtype_of, string_tensor
from dualflow.io.parsing import scalar
from dualflow.ops.array.shape import reshape
from dualflow.ops.string_tensor import StringTensor, is_text, string, text
from dualflow.ops.types import DTypeLike

__all__ = ["parse_tensor", "serialize_tensor"]

NUMBERS = {"float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "string": 7,
           "complex64": 8, "int64": 9, "bool": 10, "bfloat16": 14, "uint16": 17, "complex128": 18,
           "float16": 19, "uint32": 22, "uint64": 23}
NAMES = {number: name for name, number in NUMBERS.items()}
# The fields of values by dtype, for tensors that are not stored as bytes.
LISTS = {"float32": "float_val", "float64": "double_val", "int32": "int_val", "uint8": "int_val",
         "int16": "int_val", "int8": "int_val", "uint16": "int_val", "int64": "int64_val",
         "bool": "bool_val", "uint32": "uint32_val", "uint64": "uint64_val",
         "complex64": "scomplex_val", "complex128": "dcomplex_val"}
TENSOR = message_types({
    "Tensor": {
        "dtype": (1, "int"), "tensor_shape": (2, "Shape"), "tensor_content": (4, "copy"),
        "float_val": (5, "float*"), "double_val": (6, "double*"), "int_val": (7, "int*"),
        "string_val": (8, "copy*"), "scomplex_val": (9, "float*"), "int64_val": (10, "int*"),
        "bool_val": (11, "int*"), "dcomplex_val": (12, "double*"),
        "uint32_val": (16, "int*"), "uint64_val": (17, "int*")},
    "Shape": {"dim": (2, "Dim*"), "unknown_rank": (3, "int")},
    "Dim": {"size": (1, "int")}})["Tensor"]


def serialize_tensor(tensor: Any, name: str | None = None) -> StringTensor:
    """Return a tensor as bytes, which `parse_tensor` reads.

    Parameters
    ----------
    tensor : Tensor, StringTensor, or Python value

    Returns
    -------
    StringTensor
        A scalar: the message TensorProto of TensorFlow.

    Raises
    ------
    TracedValueError
        If the tensor is traced.

    Examples
    --------
    >>> import dualflow as df
    >>> df.io.serialize_tensor(1).numpy()
    b'\\x08\\x03\\x12\\x00"\\x04\\x01\\x00\\x00\\x00'
    """
    if not isinstance(tensor, TensorBase) and is_text(tensor):
        x: Any = text(tensor, "serialize_tensor")
        values = b"".join([written(8, one) for one in x._array.ravel().tolist()])
    else:
        x = as_tensor(tensor, None, "serialize_tensor")
        x.numpy()                   # raises the error for a traced tensor
        values = written(4, bytes(memory_of(x))) if x.size else b""
    dims = b"".join([written(2, b"\x08" + varint(n) if n else b"") for n in x.shape])
    return StringTensor(b"\x08" + varint(NUMBERS[x.dtype.name]) + written(2, dims) + values)


def parse_tensor(serialized: Any, out_type: DTypeLike, name: str | None = None) -> Any:
    """Return the tensor in bytes of `serialize_tensor`.

    Parameters
    ----------
    serialized : bytes, or scalar StringTensor
    out_type : dtype
        The dtype of the serialized tensor.

    Returns
    -------
    Tensor or StringTensor

    Raises
    ------
    InvalidArgumentError
        If the bytes are not a tensor, or the number of values does not match the shape.
    DTypeError
        If the tensor has a different or unsupported dtype.

    Examples
    --------
    >>> import dualflow as df
    >>> df.io.parse_tensor(df.io.serialize_tensor([1.5, 2.5]), df.float32).tolist()
    [1.5, 2.5]
    """
    dtype, data = dtype_of(out_type), scalar(serialized, "parse_tensor")
    try:
        message = read(TENSOR, data)
    except Malformed:
        raise InvalidArgumentError("parse_tensor: the bytes are not a tensor: "
                                   f"{shown(data)}") from None
    found = NAMES.get(message.dtype)
    if found != dtype.name:
        raise DTypeError(f"parse_tensor: the tensor has dtype {found or message.dtype}, expected "
                         f"{dtype.name}")
    shape = tuple([d.size for d in message.tensor_shape.dim])
    if any([n < 0 for n in shape]) or message.tensor_shape.unknown_rank:
        raise InvalidArgumentError(f"parse_tensor: the shape {shape} is invalid")
    size, content = prod(shape), message.tensor_content
    if dtype is string or not content:
        values = (message.string_val if dtype is string
                  else getattr(message, LISTS[found]) if found in LISTS else ())
        if dtype.is_complex:                        # pairs of real and imaginary parts
            values = [*map(complex, values[::2], values[1::2])]
        if len(values) != size:
            raise InvalidArgumentError(f"parse_tensor: the tensor has {len(values)} values, "
                                       f"expected {size} for shape {shape}")
        if dtype is string:
            return string_tensor(list(values), shape)
        if found in ("uint32", "uint64"):           # the wire format is read as signed integers
            values = [x % (1 << 64) for x in values]
        return reshape(constant(list(values), dtype, "parse_tensor"), shape)
    if len(content) != size * dtype.itemsize:
        raise InvalidArgumentError(f"parse_tensor: the tensor has {len(content)} bytes, expected "
                                   f"{size * dtype.itemsize} for shape {shape}")
    if found == "bool":
        content = content.translate(bytes([0]) + bytes([1]) * 255)
    return rebuild(dtype.name, shape, content)
