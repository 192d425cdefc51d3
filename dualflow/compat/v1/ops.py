"""What functions here share: conversion as TensorFlow 1 does it, arguments with two names."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dualflow._core import Tensor, TensorBase, as_tensor, constant, unwrapped
from dualflow.compat.v1.in_force import recorded
from dualflow.dtypes import DType


def convert(value: Any, dtype: Any = None) -> Tensor:
    """A value as a tensor; numbers, lists and arrays take the dtype, tensors keep theirs."""
    found = unwrapped(value)
    if isinstance(found, TensorBase):
        return as_tensor(found)
    return as_tensor(constant(value, dtype))


def alike(*values: Any) -> list[Tensor]:
    """Values as tensors; what is none yet takes the dtype of the first that is."""
    beside = dtype_of(values)
    return [convert(x, beside) for x in values]


def dtype_of(values: Any) -> DType | None:
    """The dtype of the first tensor among values, if there is one."""
    for x in values:
        found = unwrapped(x)
        if isinstance(found, TensorBase):
            dtype: DType = found.dtype
            return dtype
    return None


def either(first: Any, second: Any, names: str) -> Any:
    """An argument that has two names."""
    if first is not None and second is not None:
        raise ValueError(f"Cannot specify both {names}")
    return second if first is None else first


def wrapped(function: Callable[..., Any], name: str, **old: str) -> Callable[..., Any]:
    """A function of dualflow as one of TensorFlow 1: it records in the graph in force, calls its
    operation `name`, and takes arguments by older names, ``old_name="name"``."""
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

    in_graph.__module__ = function.__module__   # where its examples are tested
    return recorded(in_graph)
