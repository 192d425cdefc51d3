"""Creation functions: constants, ranges, triangles, windows."""

import math
from typing import Any

from keras.src.backend.common.dtypes import result_type
from keras.src.backend.config import floatx

import dualflow as df
from dualflow.keras.src.ops.convert import (
    cast,
    convert_to_tensor,
    dtype_of,
    floating,
    to_dtype,
)


def _wanted(dtype: Any) -> df.DType:
    return to_dtype(dtype or floatx())


def array(x: Any, dtype: Any = None) -> Any:
    return df.identity(convert_to_tensor(x, dtype))


def copy(x: Any) -> Any:
    return df.identity(convert_to_tensor(x))


def zeros(shape: Any, dtype: Any = None) -> Any:
    return full(shape, 0, dtype)


def ones(shape: Any, dtype: Any = None) -> Any:
    return full(shape, 1, dtype)


def empty(shape: Any, dtype: Any = None) -> Any:
    return full(shape, 0, dtype)


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    shape = (shape,) if isinstance(shape, int) else shape
    return df.broadcast_to(convert_to_tensor(fill_value, _wanted(dtype)), shape)


def zeros_like(x: Any, dtype: Any = None) -> Any:
    return full_like(x, 0, dtype)


def ones_like(x: Any, dtype: Any = None) -> Any:
    return full_like(x, 1, dtype)


def empty_like(x: Any, dtype: Any = None) -> Any:
    return full_like(x, 0, dtype)


def full_like(x: Any, fill_value: Any, dtype: Any = None) -> Any:
    x = convert_to_tensor(x)
    value = convert_to_tensor(fill_value, dtype or x.dtype)
    return df.broadcast_to(value, x.shape)


def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = None) -> Any:
    rows, columns = df.range(int(N)), df.range(int(N if M is None else M))
    there = df.equal(df.expand_dims(columns, 0), df.expand_dims(rows, 1) + int(k))
    return cast(there, _wanted(dtype))


def identity(n: Any, dtype: Any = None) -> Any:
    return eye(n, dtype=dtype)


def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = None) -> Any:
    return cast(_below(N, N if M is None else M, k), _wanted(dtype))


def _below(n: Any, m: Any, k: Any) -> df.Tensor:
    """Return True for the positions on or below the k-th diagonal."""
    return df.expand_dims(df.range(m), 0) <= df.expand_dims(df.range(n), 1) + k


def tril(x: Any, k: Any = 0) -> Any:
    x = convert_to_tensor(x)
    return df.where(_below(x.shape[-2], x.shape[-1], k), x, df.zeros_like(x))


def triu(x: Any, k: Any = 0) -> Any:
    x = convert_to_tensor(x)
    return df.where(_below(x.shape[-2], x.shape[-1], k - 1), df.zeros_like(x), x)


def vander(x: Any, N: Any = None, increasing: Any = False) -> Any:
    x = convert_to_tensor(x)
    n = x.shape[0] if N is None else N
    x = convert_to_tensor(x, result_type(x.dtype.name))
    columns = [df.ones_like(x)]
    for _ in range(n - 1):
        columns.append(columns[-1] * x)
    columns = columns[:n]
    if not columns:
        return df.zeros((x.shape[0], 0), x.dtype)
    return df.stack(columns if increasing else columns[::-1], 1)


# --- ranges ---

def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> Any:
    given = [x for x in (start, stop, step) if x is not None]
    wanted = to_dtype(result_type(*map(dtype_of, given)) if dtype is None else dtype)
    if stop is None:
        start, stop = 0, start
    if wanted.is_complex:
        raise ValueError(f"arange: `dtype` is {wanted.name}, expected a real dtype")
    if not wanted.is_floating:
        computed = df.int64 if wanted is df.int64 else df.int32
        first, last, by = [x if isinstance(x, int) else convert_to_tensor(x, computed)
                           for x in (start, stop, 1 if step is None else step)]
        made = df.range(first, last, by, dtype=computed)
        return df.cast(made, wanted)
    computed = df.float64 if wanted is df.float64 else df.float32
    if all(isinstance(x, int | float) for x in given):  # k * step + start: rounding does not add up
        step = 1 if step is None else step
        n = max(0, math.ceil((stop - start) / step))
        made = df.cast(df.cast(df.range(n), df.float64) * step + start, computed)
    else:
        first, last, by = [convert_to_tensor(x, computed)
                           for x in (start, stop, 1 if step is None else step)]
        made = df.range(first, last, by)
    return df.cast(made, wanted)


def linspace(start: Any, stop: Any, num: Any = 50, endpoint: Any = True, retstep: Any = False,
             dtype: Any = None, axis: Any = 0) -> Any:
    if num < 0:
        raise ValueError(f"`num` must be a non-negative integer. Received: num={num}")
    wanted = to_dtype(dtype or result_type(dtype_of(start), dtype_of(stop), float))
    computed = wanted if wanted in (df.float32, df.float64) or wanted.is_complex else df.float32
    low, high = convert_to_tensor(start, computed), convert_to_tensor(stop, computed)
    gaps = num - 1 if endpoint else num
    step = (high - low) / gaps if gaps > 0 else high * float("nan")
    share = df.cast(df.range(num), computed) / max(gaps, 1)
    shape = df.broadcast_to(low + high, (low + high).shape).shape
    share = df.reshape(share, (num, *[1] * len(shape)))
    made = low * (1 - share) + high * share
    if not wanted.is_inexact:
        made = df.floor(made)
    made = df.cast(made, wanted)
    if axis:
        order = [*range(1, made.ndim)]
        order.insert(axis % made.ndim, 0)
        made = df.transpose(made, order)
    return (made, step) if retstep else made


def logspace(start: Any, stop: Any, num: Any = 50, endpoint: Any = True, base: Any = 10,
             dtype: Any = None, axis: Any = 0) -> Any:
    wanted = to_dtype(dtype or result_type(dtype_of(start), dtype_of(stop), float))
    computed = wanted if wanted in (df.float32, df.float64) else df.float32
    powers = linspace(start, stop, num, endpoint, dtype=computed, axis=axis)
    return df.cast(df.pow(convert_to_tensor(base, computed), powers), wanted)


def geomspace(start: Any, stop: Any, num: Any = 50, endpoint: Any = True, dtype: Any = None,
              axis: Any = 0) -> Any:
    wanted = to_dtype(dtype or result_type(dtype_of(start), dtype_of(stop), float))
    computed = wanted if wanted in (df.float32, df.float64) else df.float32
    low, high = convert_to_tensor(start, computed), convert_to_tensor(stop, computed)
    powers = linspace(df.zeros_like(low), df.log(high / low), num, endpoint, dtype=computed,
                      axis=axis)
    first = df.expand_dims(low, axis) if low.ndim else low
    return df.cast(first * df.exp(powers), wanted)


def meshgrid(*x: Any, indexing: Any = "xy") -> Any:
    xs = [df.reshape(convert_to_tensor(e), (-1,)) for e in x]
    return df.meshgrid(*xs, indexing=indexing)


# --- windows ---

def _turns(x: Any, last: int = 1) -> tuple[int, df.Tensor]:
    """Return the number of points, and the position of each in [0, 1]."""
    n = int(convert_to_tensor(x).item())
    places = df.cast(df.range(max(n, 0)), to_dtype(floatx()))
    return n, places / max(n - 1, 1)


def _cosines(x: Any, *weights: float) -> df.Tensor:
    n, share = _turns(x)
    if n <= 1:
        return df.ones((max(n, 0),), to_dtype(floatx()))
    made = df.fill(share.shape, convert_to_tensor(weights[0], floatx()))
    for k, weight in enumerate(weights[1:], 1):
        made = made + weight * df.cos(2 * math.pi * k * share)
    return made


def hamming(x: Any) -> Any:
    return _cosines(x, 0.54, -0.46)


def hanning(x: Any) -> Any:
    return _cosines(x, 0.5, -0.5)


def blackman(x: Any) -> Any:
    return _cosines(x, 0.42, -0.5, 0.08)


def bartlett(x: Any) -> Any:
    n, share = _turns(x)
    return 1 - df.abs(2 * share - 1) if n > 1 else df.ones((max(n, 0),), to_dtype(floatx()))


def kaiser(x: Any, beta: Any) -> Any:
    n, share = _turns(x)
    if n <= 1:
        return df.ones((max(n, 0),), to_dtype(floatx()))
    beta = convert_to_tensor(beta, floatx())
    apart = 2 * share - 1
    return i0(beta * df.sqrt(df.maximum(1 - apart * apart, 0.0))) / i0(beta)


def i0(x: Any) -> Any:
    """Return the modified Bessel function of order 0 (Abramowitz and Stegun 9.8.1, 9.8.2)."""
    x = floating(x)
    wide = df.abs(df.cast(x, df.float32) if x.dtype.itemsize == 2 else x)
    small, large = df.minimum(wide, 3.75) / 3.75, 3.75 / df.maximum(wide, 3.75)
    low = _polynomial(small * small, (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768,
                                      0.0045813))
    high = _polynomial(large, (0.39894228, 0.01328592, 0.00225319, -0.00157565, 0.00916281,
                               -0.02057706, 0.02635537, -0.01647633, 0.00392377))
    far = df.maximum(wide, 3.75)
    return df.cast(df.where(wide < 3.75, low, df.exp(far) / df.sqrt(far) * high), x.dtype)


def _polynomial(x: df.Tensor, coefficients: tuple[float, ...]) -> Any:
    total: Any = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = total * x + c
    return total
