"""`unique`: sort rows and keep each row that differs from the previous one."""

import functools
import operator
from typing import Any

from keras.src.backend.common.backend_utils import canonicalize_axis

import dualflow as df
from dualflow.keras.src.ops.convert import convert_to_tensor


def _order(rows: df.Tensor) -> df.Tensor:
    """Return the indices that sort rows of shape (n, k) stably."""
    def by(order: df.Tensor, column: df.Tensor) -> Any:
        place = df.argsort(df.gather(column, order), stable=True)
        return df.gather(order, place), ()

    order, _ = df.scan(by, df.range(rows.shape[0]), df.transpose(rows), reverse=True)
    return order


def _first(rows: df.Tensor) -> df.Tensor:
    """Return True for each sorted row that differs from the previous one. A NaN always differs."""
    n = rows.shape[0]
    differ = df.reduce_any(df.not_equal(rows[1:], rows[:-1]), 1)
    return df.concat([df.ones((1,), df.bool_), differ], 0)[:n]


def _filling(x: df.Tensor, axis: int, fill_value: Any) -> df.Tensor:
    if fill_value is None:
        return df.reduce_min(x, axis, True)
    return convert_to_tensor(fill_value, x.dtype)


def unique(x: Any, sorted: Any = True, return_index: Any = False, return_inverse: Any = False,
           return_counts: Any = False,
           axis: Any = None, size: Any = None, fill_value: Any = None) -> Any:
    x = convert_to_tensor(x)
    if x.dtype.is_bool:
        found = unique(df.cast(x, df.uint8), sorted, return_index, return_inverse, return_counts,
                       axis, size, fill_value)
        return ((df.cast(found[0], df.bool_), *found[1:]) if isinstance(found, tuple)
                else df.cast(found, df.bool_))
    flat = df.reshape(x, (-1,)) if axis is None else x
    along = canonicalize_axis(axis or 0, flat.ndim)
    n = flat.shape[along]
    others = [a for a in range(flat.ndim) if a != along]
    width = functools.reduce(operator.mul, [flat.shape[a] for a in others], 1)
    rows = df.reshape(df.transpose(flat, [along, *others]), (n, width))
    order = _order(rows)
    first = _first(df.gather(rows, order))
    group = df.cumsum(df.cast(first, df.int32)) - 1
    # Start and end of each group in `order`; n for groups that do not exist.
    begin = df.boolean_mask(df.range(n), first) if size is None else df.searchsorted(
        group, df.range(size))
    end = df.searchsorted(group, df.range(begin.shape[0]), "right")
    places = df.gather(order, df.minimum(begin, n - 1))
    values = df.gather(flat, places, axis=along)
    if size is not None:
        there = begin < n
        beside = df.reshape(there, [-1 if a == along else 1 for a in range(flat.ndim)])
        values = df.where(beside, values, _filling(flat, along, fill_value))
        places = df.where(there, places, places[0])
    found = [values]
    if return_index:
        found.append(places)
    if return_inverse:
        inverse = df.gather(group, df.argsort(order))
        found.append(df.reshape(inverse, x.shape) if axis is None else inverse)
    if return_counts:
        found.append(end - begin)
    return tuple(found) if len(found) > 1 else values
