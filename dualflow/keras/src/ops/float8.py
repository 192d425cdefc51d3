"""Rounding to the values of float8, which Keras's quantisation casts to and back."""

import math
from typing import Any

import dualflow as df

# By dtype: stored bits of the mantissa, exponent of the smallest normal number, the largest
# number, and the result if the rounded number is larger.
FORMATS = {"float8_e4m3fn": (3, -6, 448., math.nan), "float8_e5m2": (2, -14, 57344., math.inf)}
EXPONENT = {"float32": ("int32", 0x7F800000), "float64": ("int64", 0x7FF0000000000000)}


def round_to_float8(x: Any, dtype: str) -> Any:
    """Return the nearest values of a float8 dtype, ties to even, in the floating dtype of `x`.

    float32 and float64 are rounded once. Infinities are NaN in float8_e4m3fn, which has none.
    """
    bits, least, most, beyond = FORMATS[dtype]
    wide = x if x.dtype.name in EXPONENT else df.cast(x, df.float32)
    integer, mask = EXPONENT[wide.dtype.name]
    power = df.bitcast(df.bitwise.bitwise_and(df.bitcast(wide, integer), mask), wide.dtype)
    step = df.maximum(power, 2. ** least) * 2. ** -bits
    rounded = df.math.rint(wide / step) * step
    larger = df.math.logical_or(df.abs(rounded) > most, df.math.is_inf(wide))
    found = df.where(df.math.is_nan(wide), wide,
                     df.where(larger, df.sign(wide) * beyond, rounded))
    return df.cast(found, x.dtype) if x.dtype.is_floating else found
