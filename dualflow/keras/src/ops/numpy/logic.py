"""Comparisons, logic and bitwise operations."""

from collections.abc import Callable
from typing import Any

from keras.src.backend.common import standardize_dtype

import dualflow as df
from dualflow.keras.src.ops.convert import convert_to_tensor, tensors
from dualflow.keras.src.ops.numpy.elementwise import isfinite, isnan

# --- comparisons ---


def _compare(op: Callable[[Any, Any], df.Tensor], x1: Any, x2: Any) -> df.Tensor:
    x1, x2 = tensors(x1, x2)
    return op(x1, x2)


def equal(x1: Any, x2: Any) -> Any:
    return _compare(df.equal, x1, x2)


def not_equal(x1: Any, x2: Any) -> Any:
    return _compare(df.not_equal, x1, x2)


def less(x1: Any, x2: Any) -> Any:
    return _compare(df.less, x1, x2)


def less_equal(x1: Any, x2: Any) -> Any:
    return _compare(df.less_equal, x1, x2)


def greater(x1: Any, x2: Any) -> Any:
    return _compare(df.greater, x1, x2)


def greater_equal(x1: Any, x2: Any) -> Any:
    return _compare(df.greater_equal, x1, x2)


def isclose(x1: Any, x2: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: Any = False) -> Any:
    x1, x2 = tensors(x1, x2, dtype=None)
    if not x1.dtype.is_inexact:
        x1, x2 = df.cast(x1, df.float32), df.cast(x2, df.float32)
    near = df.abs(x1 - x2) <= atol + rtol * df.abs(x2)
    finite = df.logical_and(isfinite(x1), isfinite(x2))
    close = df.where(finite, near, df.equal(x1, x2))
    return df.logical_or(close, df.logical_and(isnan(x1), isnan(x2))) if equal_nan else close


def allclose(x1: Any, x2: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: Any = False) -> Any:
    return df.reduce_all(isclose(x1, x2, rtol, atol, equal_nan))


def isin(x1: Any, x2: Any, assume_unique: Any = False, invert: Any = False) -> Any:
    x1, x2 = tensors(x1, x2)
    if x1.dtype.is_bool:
        x1, x2 = df.cast(x1, df.int32), df.cast(x2, df.int32)
    if x2.size == 0:
        found = df.zeros_like(x1, df.bool_)
    else:
        row = df.reshape(x2, (1,) * x1.ndim + (-1,))
        found = df.reduce_any(df.equal(df.expand_dims(x1, -1), row), -1)
    return df.logical_not(found) if invert else found


# --- logic ---

def _truth(x: Any) -> df.Tensor:
    return convert_to_tensor(x, "bool")


def logical_and(x1: Any, x2: Any) -> Any:
    return df.logical_and(_truth(x1), _truth(x2))


def logical_or(x1: Any, x2: Any) -> Any:
    return df.logical_or(_truth(x1), _truth(x2))


def logical_xor(x1: Any, x2: Any) -> Any:
    return df.not_equal(_truth(x1), _truth(x2))


def logical_not(x: Any) -> Any:
    return df.logical_not(_truth(x))


# --- bits ---

def bitwise_and(x: Any, y: Any) -> Any:
    return df.bitwise.bitwise_and(*tensors(x, y))


def bitwise_or(x: Any, y: Any) -> Any:
    return df.bitwise.bitwise_or(*tensors(x, y))


def bitwise_xor(x: Any, y: Any) -> Any:
    return df.bitwise.bitwise_xor(*tensors(x, y))


def bitwise_not(x: Any) -> Any:
    return df.bitwise.bitwise_not(convert_to_tensor(x))


bitwise_invert = bitwise_not


def _shift(op: Callable[[Any, Any], df.Tensor], x: Any, y: Any) -> df.Tensor:
    x, y = tensors(x, y)
    if standardize_dtype(x.dtype) == "bool":
        x, y = df.cast(x, df.int32), df.cast(y, df.int32)
    return op(x, y)


def left_shift(x: Any, y: Any) -> Any:
    return _shift(df.bitwise.left_shift, x, y)


bitwise_left_shift = left_shift


def right_shift(x: Any, y: Any) -> Any:
    return _shift(df.bitwise.right_shift, x, y)


bitwise_right_shift = right_shift
