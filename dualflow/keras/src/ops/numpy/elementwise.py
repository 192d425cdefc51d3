"""Elementwise functions: arithmetic, powers, trigonometry, rounding, complex parts."""

import math
from collections.abc import Callable
from typing import Any

from keras.src.backend.common.dtypes import result_type
from keras.src.backend.config import floatx

import dualflow as df
from dualflow import array_api
from dualflow.keras.src.ops.convert import (
    convert_to_tensor,
    dtype_of,
    float_of,
    floating,
    tensors,
    to_dtype,
)

# --- arithmetic ---


def _arithmetic(op: Callable[[Any, Any], df.Tensor], x1: Any, x2: Any) -> df.Tensor:
    """Apply `op` to two operands; bools count as 0 and 1."""
    x1, x2 = tensors(x1, x2)
    if x1.dtype.is_bool:
        return df.cast(op(df.cast(x1, df.int32), df.cast(x2, df.int32)), df.bool_)
    return op(x1, x2)


def add(x1: Any, x2: Any) -> Any:
    return _arithmetic(df.add, x1, x2)


def subtract(x1: Any, x2: Any) -> Any:
    return _arithmetic(df.subtract, x1, x2)


def multiply(x1: Any, x2: Any) -> Any:
    return _arithmetic(df.multiply, x1, x2)


def divide(x1: Any, x2: Any) -> Any:
    return df.divide(*tensors(x1, x2, dtype=_float_of_all(x1, x2)))


true_divide = divide


def divide_no_nan(x1: Any, x2: Any) -> Any:
    return df.math.divide_no_nan(*tensors(x1, x2, dtype=_float_of_all(x1, x2)))


def _float_of_all(*xs: Any) -> str:
    xs = tuple(convert_to_tensor(x) if isinstance(x, list | tuple) else x for x in xs)
    return result_type(*map(dtype_of, xs), float)


def _whole(x1: Any, x2: Any) -> Any:
    """Return the operands of a division with remainder; bools become integers."""
    x1, x2 = tensors(x1, x2)
    return [df.cast(x, df.int32) for x in (x1, x2)] if x1.dtype.is_bool else [x1, x2]


def floor_divide(x1: Any, x2: Any) -> Any:
    return df.math.floordiv(*_whole(x1, x2))


def mod(x1: Any, x2: Any) -> Any:
    return df.math.floormod(*_whole(x1, x2))


def fmod(x1: Any, x2: Any) -> Any:
    x1, x2 = _whole(x1, x2)
    if not x1.dtype.is_floating:
        rest = df.math.floormod(df.abs(x1), df.abs(x2))
        return df.where(x1 < 0, -rest, rest) if x1.dtype.name[0] != "u" else rest
    rest = df.math.floormod(df.abs(x1), df.abs(x2))
    return df.where(x1 < 0, -rest, rest)


def power(x1: Any, x2: Any) -> Any:
    return df.pow(*_whole(x1, x2))


def negative(x: Any) -> Any:
    return df.negative(convert_to_tensor(x))


def absolute(x: Any) -> Any:
    x = convert_to_tensor(x)
    return x if x.dtype.is_bool else df.abs(x)


abs = absolute


def fabs(x: Any) -> Any:
    return df.abs(floating(x))


def sign(x: Any) -> Any:
    return df.sign(convert_to_tensor(x))


def square(x: Any) -> Any:
    x = convert_to_tensor(x)
    return df.square(df.cast(x, df.int32) if x.dtype.is_bool else x)


def reciprocal(x: Any) -> Any:
    return df.math.reciprocal(floating(x))


def heaviside(x1: Any, x2: Any) -> Any:
    x1, x2 = tensors(x1, x2, dtype=_float_of_all(x1, x2))
    step = df.where(x1 < 0, df.zeros_like(x1), df.ones_like(x1))
    return df.where(df.equal(x1, 0), x2, df.where(df.math.is_nan(x1), x1, step))


def hypot(x1: Any, x2: Any) -> Any:
    return array_api.hypot(*tensors(x1, x2, dtype=_float_of_all(x1, x2)))


def maximum(x1: Any, x2: Any) -> Any:
    return _arithmetic(df.maximum, x1, x2)


def minimum(x1: Any, x2: Any) -> Any:
    return _arithmetic(df.minimum, x1, x2)


def fmax(x1: Any, x2: Any) -> Any:
    return _that_is_a_number(maximum, x1, x2)


def fmin(x1: Any, x2: Any) -> Any:
    return _that_is_a_number(minimum, x1, x2)


def _that_is_a_number(op: Callable[[Any, Any], df.Tensor], x1: Any, x2: Any) -> df.Tensor:
    x1, x2 = tensors(x1, x2)
    if not x1.dtype.is_floating:
        return op(x1, x2)
    return df.where(df.math.is_nan(x1), x2, df.where(df.math.is_nan(x2), x1, op(x1, x2)))


def clip(x: Any, x_min: Any, x_max: Any) -> Any:
    x = convert_to_tensor(x)
    if x.dtype.is_bool:
        x = df.cast(x, df.int32)
    bounds = [b for b in (x_min, x_max) if b is not None]
    dtype = result_type(dtype_of(x), *[dtype_of(b) for b in bounds
                                       if not isinstance(b, list | tuple)])
    x = convert_to_tensor(x, dtype)
    if x_min is not None:
        x = df.maximum(x, convert_to_tensor(x_min, dtype))
    return x if x_max is None else df.minimum(x, convert_to_tensor(x_max, dtype))


def nan_to_num(x: Any, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    x = convert_to_tensor(x)
    if x.dtype.is_complex:
        return df.complex(*[nan_to_num(part, nan, posinf, neginf)
                            for part in (df.math.real(x), df.math.imag(x))])
    if not x.dtype.is_floating:
        return x
    largest = x.dtype.max
    for found, value in ((df.math.is_nan(x), nan),
                         (isposinf(x), largest if posinf is None else posinf),
                         (isneginf(x), -largest if neginf is None else neginf)):
        x = df.where(found, convert_to_tensor(value, x.dtype), x)
    return x


# --- powers ---


def _exponent(x: Any) -> df.Tensor:
    x = convert_to_tensor(x)
    return x if x.dtype.is_inexact else df.cast(x, to_dtype(floatx()))


def exp(x: Any) -> Any:
    return df.exp(_exponent(x))


def exp2(x: Any) -> Any:
    x = _exponent(x)
    return df.pow(convert_to_tensor(2, x.dtype), x)


def expm1(x: Any) -> Any:
    return df.math.expm1(_exponent(x))


def log(x: Any) -> Any:
    return df.log(floating(x))


def log10(x: Any) -> Any:
    return array_api.log10(floating(x))


def log1p(x: Any) -> Any:
    return df.math.log1p(floating(x))


def log2(x: Any) -> Any:
    return array_api.log2(floating(x))


def logaddexp(x1: Any, x2: Any) -> Any:
    return array_api.logaddexp(*tensors(x1, x2, dtype=_float_of_all(x1, x2)))


def logaddexp2(x1: Any, x2: Any) -> Any:
    x1, x2 = tensors(x1, x2, dtype=_float_of_all(x1, x2))
    return logaddexp(x1 * math.log(2), x2 * math.log(2)) * (1 / math.log(2))


def sqrt(x: Any) -> Any:
    return df.sqrt(floating(x))


def cbrt(x: Any) -> Any:
    x = floating(x)
    return array_api.copysign(df.pow(df.abs(x), 1 / 3), x)


def ldexp(x1: Any, x2: Any) -> Any:
    x1, x2 = floating(x1), convert_to_tensor(x2)
    if not x2.dtype.is_integer:
        raise TypeError(f"ldexp exponent must be an integer type. Received: x2 dtype={x2.dtype}")
    return x1 * df.pow(convert_to_tensor(2, x1.dtype), df.cast(x2, x1.dtype))


# --- trigonometry ---

def sin(x: Any) -> Any:
    return df.sin(floating(x))


def cos(x: Any) -> Any:
    return df.cos(floating(x))


def tan(x: Any) -> Any:
    return df.tan(floating(x))


def sinh(x: Any) -> Any:
    return df.sinh(floating(x))


def cosh(x: Any) -> Any:
    return df.cosh(floating(x))


def tanh(x: Any) -> Any:
    return df.tanh(floating(x))


def arcsin(x: Any) -> Any:
    return df.asin(floating(x))


def arccos(x: Any) -> Any:
    return df.acos(floating(x))


def arctan(x: Any) -> Any:
    return df.atan(floating(x))


def arctan2(x1: Any, x2: Any) -> Any:
    return df.atan2(*tensors(x1, x2, dtype=_float_of_all(x1, x2)))


def arcsinh(x: Any) -> Any:
    return df.asinh(floating(x))


def arccosh(x: Any) -> Any:
    return df.acosh(floating(x))


def arctanh(x: Any) -> Any:
    return df.atanh(floating(x))


def deg2rad(x: Any) -> Any:
    return floating(x) * (math.pi / 180)


def rad2deg(x: Any) -> Any:
    return floating(x) * (180 / math.pi)


def sinc(x: Any) -> Any:
    x = floating(x) * math.pi
    zero = df.equal(x, 0)
    return df.where(zero, df.ones_like(x), df.sin(x) / df.where(zero, df.ones_like(x), x))


# --- rounding ---

def floor(x: Any) -> Any:
    return df.floor(floating(x))


def ceil(x: Any) -> Any:
    return df.math.ceil(floating(x))


def trunc(x: Any) -> Any:
    x = convert_to_tensor(x)
    return df.math.trunc(x) if x.dtype.is_inexact else x


def round(x: Any, decimals: Any = 0) -> Any:
    x = convert_to_tensor(x)
    if x.dtype.is_complex:
        return df.complex(round(df.math.real(x), decimals), round(df.math.imag(x), decimals))
    if x.dtype.is_floating:
        scale = 10.0**decimals
        return df.round(x) if decimals == 0 else df.round(x * scale) / scale
    if decimals >= 0:
        return df.cast(x, df.int32) if x.dtype.is_bool else x
    scale = 10.0**-decimals
    return df.cast(df.round(df.cast(x, to_dtype(floatx())) / scale) * scale, x.dtype)


# --- parts of complex numbers ---

def real(x: Any) -> Any:
    return df.math.real(convert_to_tensor(x))


def imag(x: Any) -> Any:
    x = convert_to_tensor(x)
    return df.math.imag(x) if x.dtype.is_complex else df.zeros_like(x)


def conjugate(x: Any) -> Any:
    return df.math.conj(convert_to_tensor(x))


conj = conjugate


def isreal(x: Any) -> Any:
    return df.equal(imag(x), 0)


def angle(x: Any) -> Any:
    x = convert_to_tensor(x)
    if x.dtype.is_complex:
        return df.math.angle(x)
    x = df.cast(x, to_dtype(float_of(x.dtype)))
    flat = df.where(x < 0, convert_to_tensor(math.pi, x.dtype), df.zeros_like(x))
    return df.where(df.math.is_nan(x), x, flat)


# --- classification ---

def isfinite(x: Any) -> Any:
    x = convert_to_tensor(x)
    return df.math.is_finite(x) if x.dtype.is_inexact else df.ones_like(x, df.bool_)


def isinf(x: Any) -> Any:
    x = convert_to_tensor(x)
    return df.math.is_inf(x) if x.dtype.is_inexact else df.zeros_like(x, df.bool_)


def isnan(x: Any) -> Any:
    x = convert_to_tensor(x)
    return df.math.is_nan(x) if x.dtype.is_inexact else df.zeros_like(x, df.bool_)


def isposinf(x: Any) -> Any:
    x = convert_to_tensor(x)
    return df.logical_and(isinf(x), x > 0) if x.dtype.is_inexact else isinf(x)


def isneginf(x: Any) -> Any:
    x = convert_to_tensor(x)
    return df.logical_and(isinf(x), x < 0) if x.dtype.is_inexact else isinf(x)


def signbit(x: Any) -> Any:
    return array_api.signbit(convert_to_tensor(x))
