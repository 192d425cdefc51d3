"""Indexing of graph tensors with slice bounds that may be tensors."""

from __future__ import annotations

from typing import Any

import dualflow as df
from dualflow._core import Dim, Symbol, Tensor, as_tensor
from dualflow.compat.v1.value_sizes import SizedTrace
from dualflow.dtypes import int32
from dualflow.graph.ir import CONSTANT
from dualflow.graph.trace.as_dims import known_dims
from dualflow.graph.trace.dynamic import DependsOnData


def element(x: Any, key: Any) -> Any:
    """Return x[key]; slice bounds may be tensors."""
    keys = list(key) if isinstance(key, tuple) else [key]
    at = 0
    for k, part in enumerate(keys):
        if part is Ellipsis:
            at = x.ndim - sum([n_dims(other) for other in keys[k + 1:]])
            continue
        if isinstance(part, slice) and type(part.step) is not Symbol:
            start, stop = number(part.start), number(part.stop)
            keys[k] = slice(start, stop, part.step)
            if isinstance(start, Symbol) or isinstance(stop, Symbol):
                x = taken(x, rows_between(x, at, start, stop, part.step or 1), at)
                keys[k] = slice(None)
        at += n_dims(part)
    return x[tuple(keys) if isinstance(key, tuple) else keys[0]]


def n_dims(key: Any) -> int:
    """Return the number of dimensions of x that one part of a key indexes."""
    if key is None:
        return 0
    return key.ndim if isinstance(key, Tensor) and key.dtype.is_bool else 1


def number(x: Any) -> Any:
    """Return a bound as an int or Dim, or as an int32 tensor if it depends on data."""
    if x is None or type(x) in (int, Dim):
        return x
    x = as_tensor(x)
    if not isinstance(x, Symbol):
        return int(x)
    if x.node.op is CONSTANT:
        return int(x.node.data)
    if isinstance(x.graph, SizedTrace):
        found = x.graph.static_elements(x)
        if found is not None and found[0] is not None:
            return found[0]
    try:
        return known_dims(x.graph, x)[0]
    except DependsOnData:
        return df.cast(x, int32)


def numbers(x: Any, n: int) -> list[Any]:
    """Return n bounds, one per dimension."""
    if not isinstance(x, list | tuple):
        x = as_tensor(x)
        if not isinstance(x, Symbol):
            x = x.tolist()
        elif x.node.op is CONSTANT:
            x = x.node.data.tolist()
        else:
            x = [x[k] for k in range(n)]
    return [number(item) for item in x]


def rows_between(x: Any, axis: int, start: Any, stop: Any, step: int) -> Any:
    """Return the indices of x[start:stop:step] along an axis, with Python's rules for bounds."""
    n = df.shape(x)[axis]
    low, high = (0, n) if step > 0 else (-1, n - 1)

    def place(bound: Any, default: Any) -> Any:
        if bound is None:
            return default
        bound = df.where(df.less(bound, 0), df.add(bound, n), bound)
        return df.minimum(df.maximum(bound, low), high)

    first, last = (low, high) if step > 0 else (high, low)
    return df.range(place(start, first), place(stop, last), step)


def taken(x: Any, rows: Any, axis: int) -> Any:
    """Return rows of a tensor along an axis; the gradient is dense for any axis."""
    if axis:
        return df.gather(x, rows, axis=axis)
    return df.squeeze(df.gather(df.expand_dims(x, 0), rows, axis=1), axis=0)
