"""Access to the onnx package, and the mapping of its dtype codes."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from dualflow.dtypes import ALL, DType
from dualflow.onnx.narrow import BY_CODE, NarrowType

# The newest operator set that onnxruntime supports; https://onnx.ai/onnx/operators.
OPSET = 26

# Codes of TensorProto.DataType by dualflow's dtype names.
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
        raise ImportError("dualflow.onnx needs the onnx package: pip install 'dualflow[onnx]'"
                          ) from None


def code_of(dtype: DType | NarrowType) -> int:
    """Return the code of a dtype in files."""
    return dtype.code if isinstance(dtype, NarrowType) else _CODES[dtype.name]


def name_of(code: int) -> str:
    """Return the standard's name of a dtype code."""
    types = onnx().TensorProto.DataType
    return types.Name(code) if code in types.values() else f"dtype {code}"


def dtype_of(code: int) -> DType | NarrowType | None:
    """Return the dtype for a code, or None if it is not supported."""
    return _DTYPES.get(code)
