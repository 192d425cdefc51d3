"""Training steps as traced functions.

A step captures variables by reference. Its arguments are flat tensors, so that calls take the fast
path of the dispatcher; the structure of the batch selects the trace.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from keras.src import tree

import dualflow as df
from dualflow.keras.src.ops.convert import convert_to_tensor

LEAF = object()


def _flat(data: Any, leaves: list[Any]) -> Any:
    """Return the hashable structure of nested data; arrays are appended to `leaves`."""
    if data is None:
        return None
    kind = type(data)
    if kind is tuple or kind is list:
        return kind, *[_flat(x, leaves) for x in data]
    if isinstance(data, dict):
        return dict, *[(key, _flat(data[key], leaves)) for key in data]
    if isinstance(data, tuple) and hasattr(kind, "_fields"):
        return kind._make, *[_flat(x, leaves) for x in data]
    if tree.is_nested(data):
        raise TypeError(f"a batch holds a {kind.__name__}, expected tuples, lists, dicts "
                        "and arrays")
    leaves.append(data)
    return LEAF


def _nested(arrangement: Any, leaves: Any) -> Any:
    """Rebuild nested data from its structure and an iterator of leaves."""
    if arrangement is None:
        return None
    if arrangement is LEAF:
        return next(leaves)
    kind, *parts = arrangement
    if kind is dict:
        return {key: _nested(part, leaves) for key, part in parts}
    return kind(_nested(part, leaves) for part in parts)


def _tensor(x: Any) -> df.Tensor:
    return df.constant(x) if type(x) is np.ndarray else convert_to_tensor(x)


class Step:
    """A function of a batch, traced for each structure of its arrays."""

    def __init__(self, function: Callable[[Any], Any], eager: bool) -> None:
        self._function, self._eager = function, eager
        self._traced: dict[Any, Traced] = {}

    def __call__(self, data: Any) -> Any:
        leaves: list[Any] = []
        arrangement = _flat(data, leaves)
        tensors = [_tensor(x) for x in leaves]
        if self._eager:
            return self._function(_nested(arrangement, iter(tensors)))
        traced = self._traced.get(arrangement)
        if traced is None:
            traced = self._traced[arrangement] = Traced(self._function, arrangement)
        return traced(tensors)


class Traced:
    """A traced function of flat tensors; its results are packed outside the trace."""

    def __init__(self, function: Callable[[Any], Any], arrangement: Any) -> None:
        self._result: Any = None
        self._names: list[str] | None = None

        def step(*tensors: Any) -> Any:
            made: list[Any] = []
            self._names = None
            self._result = _flat(function(_nested(arrangement, iter(tensors))), made)
            return tuple(made)

        self.function = df.function(step, name=getattr(function, "__name__", "step"))

    def __call__(self, tensors: list[Any]) -> Any:
        made = self.function(*tensors)
        names = self._names
        if names is None:
            result = self._result
            plain = result[0] is dict and all([part is LEAF for _, part in result[1:]]) \
                if isinstance(result, tuple) else False
            names = self._names = [name for name, _ in result[1:]] if plain else []
        if names:                               # a dict of logs, the usual result
            return dict(zip(names, made, strict=True))
        return _nested(self._result, iter(made))
