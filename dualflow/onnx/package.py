"""Access to the onnx package, and the standard's codes of dtypes and attributes.

`save` needs the package. `load` reads files without it, and imports it only for operators that
the standard defines by a function of other operators and that have no function in dualflow.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from dualflow.dtypes import ALL, DType
from dualflow.onnx.narrow import BY_CODE, NarrowType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The newest operator set that onnxruntime supports; https://onnx.ai/onnx/operators.
OPSET = 26
# The newest versions that `load` supports.
NEWEST_OPSET, NEWEST_IR_VERSION = 28, 14
EXTERNAL = 1                        # TensorProto.DataLocation

# TensorProto.DataType by code.
NAMES = ["UNDEFINED", "FLOAT", "UINT8", "INT8", "UINT16", "INT16", "INT32", "INT64", "STRING",
         "BOOL", "FLOAT16", "DOUBLE", "UINT32", "UINT64", "COMPLEX64", "COMPLEX128", "BFLOAT16",
         "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "UINT4", "INT4",
         "FLOAT4E2M1", "FLOAT8E8M0", "UINT2", "INT2", "FLOAT6E2M3", "FLOAT6E3M2"]
# AttributeProto.AttributeType by code.
ATTRIBUTES = ["UNDEFINED", "FLOAT", "INT", "STRING", "TENSOR", "GRAPH", "FLOATS", "INTS", "STRINGS",
              "TENSORS", "GRAPHS", "SPARSE_TENSOR", "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS"]
# Codes of dtypes by dualflow's names.
_CODES = {"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7,
          "bool": 9, "float16": 10, "float64": 11, "uint32": 12, "uint64": 13, "bfloat16": 16}
_DTYPES: dict[int, DType | NarrowType] = {
    **{_CODES[d.name]: d for d in ALL if d.name in _CODES}, **BY_CODE}


@cache
def onnx(module: str = "") -> Any:
    """Import and return the package, or one of its modules."""
    try:
        return import_module(f"onnx.{module}" if module else "onnx")
    except ImportError:
        raise ImportError("df.onnx.save and composed operators need the onnx package: "
                          "pip install 'dualflow[onnx]'") from None


def code_of(dtype: DType | NarrowType) -> int:
    """Return the code of a dtype in files."""
    return dtype.code if isinstance(dtype, NarrowType) else _CODES[dtype.name]


def name_of(code: int) -> str:
    """Return the standard's name of a dtype code."""
    return NAMES[code] if 0 <= code < len(NAMES) else f"dtype {code}"


def attribute_name(code: int) -> str:
    """Return the standard's name of a code of an attribute's type."""
    return ATTRIBUTES[code] if 0 <= code < len(ATTRIBUTES) else f"type {code}"


def dtype_of(code: int) -> DType | NarrowType | None:
    """Return the dtype for a code, or None if it is not supported."""
    return _DTYPES.get(code)
