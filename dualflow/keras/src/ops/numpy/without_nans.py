"""Reductions that ignore NaN."""

from collections.abc import Callable
from typing import Any

import dualflow as df
from dualflow.keras.src.ops.convert import convert_to_tensor, float_of, floating, to_dtype
from dualflow.keras.src.ops.numpy import reductions
from dualflow.keras.src.ops.numpy.elementwise import isnan

INFINITY = float("inf")


def _filled(x: Any, value: float) -> df.Tensor:
    """Return `x` with NaN replaced by a value."""
    x = convert_to_tensor(x)
    if not x.dtype.is_inexact:
        return x
    return df.where(isnan(x), convert_to_tensor(value, x.dtype), x)


def nansum(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return reductions.sum(_filled(x, 0.0), axis, keepdims)


def nanprod(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return reductions.prod(_filled(x, 1.0), axis, keepdims)


def nancumsum(x: Any, axis: Any = None, dtype: Any = None) -> Any:
    return reductions.cumsum(_filled(x, 0.0), axis, dtype)


def nancumprod(x: Any, axis: Any = None, dtype: Any = None) -> Any:
    return reductions.cumprod(_filled(x, 1.0), axis, dtype)


def _extreme(reduce: Callable[..., df.Tensor], x: Any, axis: Any, keepdims: bool,
             beyond: float) -> df.Tensor:
    x = convert_to_tensor(x)
    found = reduce(_filled(x, beyond), axis, keepdims)
    if not x.dtype.is_floating:
        return found
    nothing = reductions.all(isnan(x), axis, keepdims)
    return df.where(nothing, convert_to_tensor(float("nan"), x.dtype), found)


def nanmax(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return _extreme(reductions.max, x, axis, keepdims, -INFINITY)


def nanmin(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return _extreme(reductions.min, x, axis, keepdims, INFINITY)


def _place(find: Callable[..., df.Tensor], x: Any, axis: Any, keepdims: bool,
           beyond: float) -> df.Tensor:
    x = convert_to_tensor(x)
    found = find(_filled(x, beyond), axis, keepdims)
    if not x.dtype.is_floating:
        return found
    nothing = reductions.all(isnan(x), axis, keepdims)
    return df.where(nothing, convert_to_tensor(-1, found.dtype), found)


def nanargmax(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return _place(reductions.argmax, x, axis, keepdims, -INFINITY)


def nanargmin(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return _place(reductions.argmin, x, axis, keepdims, INFINITY)


def _count(x: df.Tensor, axis: Any) -> df.Tensor:
    return reductions.sum(df.cast(df.logical_not(isnan(x)), df.float32), axis, True)


def nanmean(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    x = floating(x)
    wide = df.cast(x, df.float32) if x.dtype.itemsize == 2 else x
    total = reductions.sum(_filled(wide, 0.0), axis, True)
    return _without(df.cast(total / df.cast(_count(x, axis), wide.dtype), x.dtype), axis, keepdims)


def nanvar(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    x = floating(x)
    wide = df.cast(x, df.float32) if x.dtype.itemsize == 2 else x
    apart = _filled(wide - nanmean(wide, axis, True), 0.0)
    count = df.cast(_count(x, axis), wide.dtype)
    found = reductions.sum(apart * apart, axis, True) / count
    return _without(df.cast(found, x.dtype), axis, keepdims)


def nanstd(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return df.sqrt(nanvar(x, axis, keepdims))


def _without(x: df.Tensor, axis: Any, keepdims: bool) -> df.Tensor:
    if keepdims:
        return x
    axes = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    return df.squeeze(x, list(axes)) if len(axes) else x


def nanmedian(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return nanquantile(x, 0.5, axis, keepdims=keepdims)


def nanpercentile(x: Any, q: Any, axis: Any = None, method: Any = "linear",
                  keepdims: Any = False) -> Any:
    return nanquantile(x, convert_to_tensor(q, "float32") / 100, axis, method, keepdims)


def nanquantile(x: Any, q: Any, axis: Any = None, method: Any = "linear",
                keepdims: Any = False) -> Any:
    """Return quantiles per row: NaN is sorted last and not counted in positions."""
    x = convert_to_tensor(x)
    dtype = to_dtype(float_of(x.dtype))
    row, kept_shape = reductions.in_rows(df.cast(x, dtype), axis)
    holes = df.math.is_nan(row)
    ordered = df.sort(df.where(holes, convert_to_tensor(INFINITY, dtype), row))
    count = df.reduce_sum(df.cast(df.logical_not(holes), df.float32), -1)
    q = convert_to_tensor(q)
    flat = df.reshape(df.cast(q, df.float32), (-1, *[1] * count.ndim))
    place = flat * df.maximum(count - 1, 0.0)

    def at(where: df.Tensor) -> df.Tensor:
        index = df.cast(where, df.int32)
        many = df.broadcast_to(df.expand_dims(ordered, 0), (*index.shape[:1], *ordered.shape))
        found = df.gather(many, df.expand_dims(index, -1), axis=many.ndim - 1,
                          batch_dims=many.ndim - 1)
        return df.squeeze(found, -1)

    low, high = df.floor(place), df.math.ceil(place)
    if method == "linear":
        share = df.cast(place - low, dtype)
        found = reductions.mixed(at(low), at(high), share)
    elif method == "midpoint":
        found = (at(low) + at(high)) / 2
    else:
        found = at({"lower": low, "higher": high, "nearest": df.round(place)}[method])
    found = df.where(df.equal(count, 0), convert_to_tensor(float("nan"), dtype), found)
    sizes = [*q.shape, *(kept_shape if keepdims else row.shape[:-1])]
    return df.reshape(found, sizes)
