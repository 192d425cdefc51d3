"""Conversion of argument and result structures to and from JSON: lists, tuples, dicts, and ragged,
sparse and text tensors."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from dualflow.errors import UnimplementedError
from dualflow.graph.calls.arguments import LEAF, Key
from dualflow.ops.ragged.ragged_tensor import RaggedTensor
from dualflow.ops.sparse.sparse_tensor import SparseTensor
from dualflow.ops.string_tensor import StringTensor

VALUES = bool, int, float, str, type(None)
COMPOSITES: dict[str, Any] = {"ragged": RaggedTensor, "sparse": SparseTensor, "text": StringTensor}
TEXT = StringTensor, ("_handles",), (LEAF,)         # the skeleton of text


def saved_skeleton(treedef: Any, caller: str) -> Any:
    """Return a skeleton (graph/calls/arguments.py) as JSON: {"list": parts}, {"tuple": parts},
    {"dict": [keys, the index of each key's part, parts]}, a name of `COMPOSITES` with parts, or
    None for a leaf."""
    if treedef is LEAF:
        return None
    kind, inner = treedef[0], [saved_skeleton(s, caller) for s in treedef[-1]]
    if kind is list or kind is tuple:
        return {kind.__name__: inner}
    if kind is dict:
        keys = [key.value if isinstance(key, Key) else key for key in treedef[1]]
        return {"dict": [[plain(key, caller) for key in keys], list(treedef[-2]), inner]}
    for name, composite in COMPOSITES.items():
        if kind is composite:
            return {name: inner}
    raise UnimplementedError(f"{caller} takes or returns a {kind.__name__}, expected lists, "
                             "tuples, dicts, and dense, sparse, ragged and text tensors: loading "
                             "does not run the code of a class")


def loaded(saved: Any, leaf: Callable[[], Any]) -> Any:
    """Return the structure around leaves; `leaf` returns the leaves in the saved order."""
    if saved is None:
        return leaf()
    (kind, inner), = saved.items()
    if kind == "dict":
        keys, places, inner = inner
        parts = [loaded(part, leaf) for part in inner]
        return {key: parts[place] for key, place in zip(keys, places, strict=True)}
    parts = [loaded(part, leaf) for part in inner]
    if kind in COMPOSITES:
        return COMPOSITES[kind]._made(*parts)
    return parts if kind == "list" else tuple(parts)


def saved_parameter(p: inspect.Parameter, caller: str) -> Any:
    """Return a parameter of a function as JSON: its name, kind and default."""
    if p.default is p.empty:
        return [p.name, int(p.kind)]
    if type(p.default) in VALUES:
        return [p.name, int(p.kind), p.default]
    raise UnimplementedError(f"{caller}: the default of {p.name} is {p.default!r}, expected "
                             "None, a number or a string")


def signature_of(saved: Sequence[Any]) -> Any:
    """Return a function with the saved parameters, for its signature only."""
    parameters = [inspect.Parameter(name, inspect._ParameterKind(kind), default=(
        default[0] if default else inspect.Parameter.empty)) for name, kind, *default in saved]

    def function() -> None:
        """Unused body."""

    function.__signature__ = inspect.Signature(parameters)      # type: ignore[attr-defined]
    return function


def plain(value: Any, caller: str) -> Any:
    """Return a value if JSON preserves it; raise otherwise."""
    if type(value) not in VALUES:
        raise UnimplementedError(f"{caller}: {value!r} is a {type(value).__name__}, expected None, "
                                 "a number or a string")
    return value
