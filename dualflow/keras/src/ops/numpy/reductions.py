"""Reductions along axes: sums, means, extremes, order statistics, and cumulative sums."""

from collections.abc import Callable
from typing import Any

from keras.src.backend.common import standardize_dtype
from keras.src.backend.common.dtypes import result_type

import dualflow as df
from dualflow.keras.src.ops.convert import convert_to_tensor, float_of, floating, to_dtype

# Dtypes in which sums of narrow integers are computed.
WIDER = {"bool": "int32", "int8": "int32", "int16": "int32", "int64": "int32",
         "uint8": "uint32", "uint16": "uint32", "uint64": "uint32"}


def _axes(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis


def _wide(x: Any, dtype: Any = None) -> df.Tensor:
    """Return `x` in the dtype of its sum."""
    x = convert_to_tensor(x)
    name = standardize_dtype(x.dtype if dtype is None else dtype)
    return convert_to_tensor(x, name if dtype is not None else WIDER.get(name, name))


def sum(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return df.reduce_sum(_wide(x), _axes(axis), keepdims)


def prod(x: Any, axis: Any = None, keepdims: Any = False, dtype: Any = None) -> Any:
    return df.reduce_prod(_wide(x, dtype), _axes(axis), keepdims)


def mean(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    x = convert_to_tensor(x)
    if not x.dtype.is_inexact:
        x = df.cast(x, to_dtype(result_type(x.dtype.name, "float32")))
    return df.reduce_mean(x, _axes(axis), keepdims)


def var(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    x = convert_to_tensor(x)
    found = df.math.reduce_variance(df.cast(x, to_dtype(result_type(x.dtype.name, "float32"))),
                                    _axes(axis), keepdims)
    return df.cast(found, to_dtype(result_type(x.dtype.real_dtype.name, float)))


def std(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return df.math.reduce_std(floating(x), _axes(axis), keepdims)


def average(x: Any, axis: Any = None, weights: Any = None) -> Any:
    x = convert_to_tensor(x)
    if weights is None:
        return mean(df.cast(x, to_dtype(result_type(x.dtype.name, float))), axis)
    weights = convert_to_tensor(weights)
    dtype = to_dtype(result_type(x.dtype.name, weights.dtype.name, float))
    x, weights = df.cast(x, dtype), df.cast(weights, dtype)
    if weights.ndim == 1 and x.ndim > 1 and axis is not None:
        sizes = [1] * x.ndim
        sizes[axis] = -1
        weights = df.reshape(weights, sizes)
    weights = df.broadcast_to(weights, x.shape)
    return df.reduce_sum(x * weights, _axes(axis)) / df.reduce_sum(weights, _axes(axis))


# --- extremes ---

def _extreme(reduce: Callable[..., df.Tensor], pick: Callable[[Any, Any], df.Tensor], x: Any,
             axis: Any, keepdims: bool, initial: Any) -> df.Tensor:
    x = convert_to_tensor(x)
    dtype = x.dtype
    if dtype.is_bool:
        x = df.cast(x, df.uint8)
    axes = _axes(axis)
    over = range(x.ndim) if axes is None else [axes] if isinstance(axes, int) else axes
    if initial is not None and 0 in [x.shape[a] for a in over]:
        found = df.fill(df.reduce_sum(x, axes, keepdims).shape, convert_to_tensor(initial, x.dtype))
    else:
        found = reduce(x, axes, keepdims)
        if initial is not None:
            found = pick(found, convert_to_tensor(initial, x.dtype))
    return df.cast(found, dtype)


def max(x: Any, axis: Any = None, keepdims: Any = False, initial: Any = None) -> Any:
    return _extreme(df.reduce_max, df.maximum, x, axis, keepdims, initial)


def min(x: Any, axis: Any = None, keepdims: Any = False, initial: Any = None) -> Any:
    return _extreme(df.reduce_min, df.minimum, x, axis, keepdims, initial)


def amax(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return max(x, axis, keepdims)


def amin(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return min(x, axis, keepdims)


def ptp(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return max(x, axis, keepdims) - min(x, axis, keepdims)


def _place(find: Callable[..., df.Tensor], x: Any, axis: Any, keepdims: bool) -> df.Tensor:
    x = convert_to_tensor(x)
    if x.dtype.is_bool:
        x = df.cast(x, df.uint8)
    if axis is None:
        found = find(df.reshape(x, (-1,)), 0, df.int32)
        return df.reshape(found, (1,) * x.ndim) if keepdims else found
    found = find(x, axis, df.int32)
    return df.expand_dims(found, axis) if keepdims else found


def argmax(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return _place(df.argmax, x, axis, keepdims)


def argmin(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return _place(df.argmin, x, axis, keepdims)


# --- truth ---

def all(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return df.reduce_all(convert_to_tensor(x, "bool"), _axes(axis), keepdims)


def any(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return df.reduce_any(convert_to_tensor(x, "bool"), _axes(axis), keepdims)


def count_nonzero(x: Any, axis: Any = None) -> Any:
    return df.reduce_sum(df.cast(convert_to_tensor(x, "bool"), df.int32), _axes(axis))


# --- cumulative sums and products ---

def _so_far(op: Callable[..., df.Tensor], x: Any, axis: Any, dtype: Any) -> df.Tensor:
    x = convert_to_tensor(x)
    name = standardize_dtype(x.dtype if dtype is None else dtype)
    if name in ("bool", "int64", "uint64", "float64") and dtype is None:
        name = {"bool": "int32", "int64": "int32", "float64": "float32"}.get(name, "uint32")
    computed = "int32" if name == "bool" else name
    x = convert_to_tensor(x, computed)
    found = op(df.reshape(x, (-1,)), 0) if axis is None else op(x, axis)
    return convert_to_tensor(found, name)


def cumsum(x: Any, axis: Any = None, dtype: Any = None) -> Any:
    return _so_far(df.cumsum, x, axis, dtype)


def cumprod(x: Any, axis: Any = None, dtype: Any = None) -> Any:
    return _so_far(df.math.cumprod, x, axis, dtype)


# --- order statistics ---

def median(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return quantile(x, 0.5, axis, keepdims=keepdims)


def percentile(x: Any, q: Any, axis: Any = None, method: Any = "linear",
               keepdims: Any = False) -> Any:
    return quantile(x, convert_to_tensor(q, "float32") / 100, axis, method, keepdims)


def quantile(x: Any, q: Any, axis: Any = None, method: Any = "linear",
             keepdims: Any = False) -> Any:
    """Return quantiles over the elements of all reduced axes; the dimensions of q come first."""
    x = convert_to_tensor(x)
    dtype = to_dtype(float_of(x.dtype))
    row, kept_shape = in_rows(df.cast(x, dtype), axis)
    count = row.shape[-1]
    ordered = df.sort(row)
    q = convert_to_tensor(q)
    place = df.cast(q, df.float64) * (count - 1)
    found = _between(ordered, place, method, dtype)
    holes = df.reduce_any(df.math.is_nan(row), -1)
    found = df.where(holes, convert_to_tensor(float("nan"), dtype), found)
    if not keepdims:
        return found
    return df.reshape(found, (*q.shape, *kept_shape))


def in_rows(x: Any, axis: Any) -> Any:
    """Merge the axes to reduce into the last axis; also return the shape with size 1 for them."""
    axes = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    reduced = sorted(a % x.ndim for a in axes)
    rest = [a for a in range(x.ndim) if a not in reduced]
    kept_shape = [1 if a in reduced else x.shape[a] for a in range(x.ndim)]
    count = 1
    for a in reduced:
        count = count * x.shape[a]
    moved = df.transpose(x, rest + reduced)
    return df.reshape(moved, [*[x.shape[a] for a in rest], count]), kept_shape


def _between(ordered: df.Tensor, place: df.Tensor, method: str, dtype: df.DType) -> df.Tensor:
    """Interpolate elements of the last axis at fractional positions, which become the first
    dimensions of the result."""
    low, high = df.floor(place), df.math.ceil(place)

    def at(where: df.Tensor) -> df.Tensor:
        found = df.gather(ordered, df.cast(where, df.int32), axis=ordered.ndim - 1)
        n = ordered.ndim - 1                            # move their dimensions from last to first
        return df.transpose(found, [*range(n, found.ndim), *range(n)])

    if method in ("lower", "higher", "nearest"):
        return at({"lower": low, "higher": high, "nearest": df.round(place)}[method])
    if method == "midpoint":
        return (at(low) + at(high)) / 2
    if method != "linear":
        raise ValueError(f"quantile: method is {method!r}, expected 'linear', 'lower', 'higher', "
                         "'midpoint' or 'nearest'")
    share = df.reshape(df.cast(place - low, dtype), [*place.shape, *[1] * (ordered.ndim - 1)])
    return mixed(at(low), at(high), share)


def mixed(low: Any, high: Any, share: Any) -> Any:
    """Interpolate between two values; one may be infinite."""
    return df.where(df.equal(low, high), low, low * (1 - share) + high * share)
