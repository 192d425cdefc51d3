"""Elements in the states of iterators and in files: conversion to JSON and back."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from dualflow._core import Tensor, rebuild
from dualflow._util.arguments import shown
from dualflow.data.structure import flatten, pack
from dualflow.data.text import ByteString, wrapped
from dualflow.errors import UnimplementedError


class LazyElements:
    """Elements in a state, converted to JSON only if the state is requested."""

    __slots__ = ("elements",)

    def __init__(self, elements: Sequence[Any]) -> None:
        self.elements: tuple[Any, ...] = tuple(elements)


def as_json(state: Any) -> Any:
    """Return a state as plain dicts, lists, strings and numbers."""
    if isinstance(state, LazyElements):
        return [encode(x) for x in state.elements]
    if isinstance(state, dict):
        return {key: as_json(x) for key, x in state.items()}
    return [as_json(x) for x in state] if isinstance(state, list) else state


def held_in(state: Any, stage: Any) -> list[Any]:
    """Return the elements of a stage in a state, encoded or not."""
    if isinstance(state, LazyElements):
        return list(state.elements)
    return [decode(stage.spec, x) for x in state]


def encode(element: Any) -> list[Any]:
    """Return the leaves of an element as lists, strings and numbers."""
    return [encode_leaf(x) for x in flatten(element)]


def raw(x: Tensor) -> bytes:
    """Return the bytes of a tensor, as in its pickle."""
    reduced: Any = x.__reduce_ex__(4)
    return bytes(reduced[1][2])


def encode_leaf(x: Any) -> Any:
    if isinstance(x, Tensor):
        return {"dtype": x.dtype.name, "shape": list(x.shape),
                "data": base64.b64encode(raw(x)).decode()}
    if isinstance(x, bytes):
        return {"bytes": base64.b64encode(x).decode()}
    if isinstance(x, list):
        return [encode_leaf(y) for y in x]
    if x is None or isinstance(x, str):
        return x
    raise UnimplementedError(f"an iterator's state cannot hold {shown(x)}, which a transformation "
                             "has buffered: only tensors and strings are supported")


def decode(spec: Any, leaves: Sequence[Any]) -> Any:
    """Return the element with the structure of `spec` from the result of `encode`."""
    return pack(spec, [decode_leaf(x) for x in leaves])


def decode_leaf(x: Any) -> Any:
    if isinstance(x, list):
        return wrapped([decode_leaf(y) for y in x])
    if not isinstance(x, dict):
        return wrapped(x)
    if "bytes" in x:
        return ByteString(base64.b64decode(x["bytes"]))
    return rebuild(x["dtype"], tuple(x["shape"]), base64.b64decode(x["data"]))
