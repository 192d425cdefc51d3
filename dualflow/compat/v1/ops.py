"""Helpers: TensorFlow 1's conversion to tensors, and arguments that have two names."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dualflow._core import Tensor, TensorBase, as_tensor, constant, unwrapped
from dualflow.compat.v1.default_graph import recorded
from dualflow.dtypes import DType


def convert(value: Any, dtype: Any = None) -> Tensor:
    """Return a value as a tensor. `dtype` applies to numbers, lists and arrays, not to tensors."""
    found = unwrapped(value)
    if isinstance(found, TensorBase):
        return as_tensor(found)
    return as_tensor(constant(value, dtype))


def as_tensors(*values: Any) -> list[Tensor]:
    """Return values as tensors; values that are not tensors take the dtype of the first tensor."""
    dtype = dtype_of(values)
    return [convert(x, dtype) for x in values]


def dtype_of(values: Any) -> DType | None:
    """Return the dtype of the first tensor among values, or None."""
    for x in values:
        found = unwrapped(x)
        if isinstance(found, TensorBase):
            dtype: DType = found.dtype
            return dtype
    return None


def either(first: Any, second: Any, names: str) -> Any:
    """Return the value of an argument that has two names; raise ValueError if both are given."""
    if first is not None and second is not None:
        raise ValueError(f"Cannot specify both {names}")
    return second if first is None else first


def wrapped(function: Callable[..., Any], name: str, **old: str) -> Callable[..., Any]:
    """Wrap a function of dualflow for TensorFlow 1: it records in the current graph, names its
    operation `name`, and accepts older argument names, ``old_name="name"``."""
    @functools.wraps(function)
    def in_graph(*args: Any, **kwargs: Any) -> Any:
        for old_name in old.keys() & kwargs.keys():
            value = kwargs.pop(old_name)
            if value is not None:
                new = old[old_name]
                kwargs[new] = either(kwargs.get(new), value, f"{new!r} and {old_name!r}")
        if kwargs.get("name") is None:
            kwargs["name"] = name
        given = [x.__df_tensor__() if hasattr(x, "slot") else x for x in args]
        return function(*given, **kwargs)

    in_graph.__module__ = function.__module__   # so that its doctests run there
    return recorded(in_graph)
