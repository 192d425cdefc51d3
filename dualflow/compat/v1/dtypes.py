"""Dtypes under TensorFlow's names. `string` exists only in Python: kernels do not support it."""

from __future__ import annotations

from typing import Any

from dualflow import dtypes as own
from dualflow.dtypes import (
    DType as DType,
    bfloat16 as bfloat16,
    complex64 as complex64,
    complex128 as complex128,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
)
from dualflow.ops.string_tensor import StringType, string as string

__all__ = ["as_dtype", "bool", "double", "half", "string"]


bool: DType = own.bool_
double: DType = own.float64
half: DType = own.float16
ALIASES: dict[Any, Any] = {"float": own.float32, "double": own.float64, "half": own.float16,
                           "string": string, str: string, bytes: string, string: string}

# Names of dtypes in TensorFlow's messages.
MESSAGE_NAMES = {"float32": "float", "float64": "double", "float16": "half"}


def as_dtype(type_value: Any) -> Any:
    """Return the dtype for a dtype, type or name; "float" is float32 and str is `string`.

    Parameters
    ----------
    type_value : dtype, type or str

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.as_dtype("float"), tf.as_dtype(str)
    (dualflow.float32, dualflow.string)
    """
    if isinstance(type_value, str | type | StringType) and type_value in ALIASES:
        return ALIASES[type_value]
    return own.as_dtype(type_value)
