"""Operators on object arrays of Python numbers: sizes that may change, while Python is traced."""

from __future__ import annotations

from typing import Any

from dualflow._core import TensorBase
from dualflow.onnx.operators.registry import ON_SIZES, Node, ints


def numbers(listed: list[Any]) -> Any:
    """Return an object array of Python numbers, without evaluating Dims."""
    import numpy as np

    made = np.empty(len(listed), object)
    for k, n in enumerate(listed):
        made[k] = n
    return made


def on_sizes(*names: str) -> Any:
    def add(function: Any) -> Any:
        for name in names:
            ON_SIZES[name] = _numbers(function)
        return function
    return add


def _numbers(function: Any) -> Any:
    """Wrap a function of arrays of numbers so that it accepts tensors."""
    import numpy as np

    def listed(x: Any) -> Any:
        if isinstance(x, TensorBase):
            return np.asarray(x.numpy()).astype(object)     # to Python numbers
        return x

    def run(at: Node, *inputs: Any) -> Any:
        made = function(at, *[None if x is None else listed(x) for x in inputs])
        return made if isinstance(made, np.ndarray) else numbers([made]).reshape(())
    return run


@on_sizes("Identity", "Cast")
def _(at: Node, x):
    return x


@on_sizes("Gather")
def _(at: Node, x, indices):
    return x.take(indices.astype("int64"), at("axis", 0))


@on_sizes("Concat")
def _(at: Node, *xs):
    import numpy as np

    return np.concatenate(xs)


@on_sizes("Slice")
def _(at: Node, x, starts=None, ends=None, axes=None, steps=None):
    first, last = at.given("starts", starts), at.given("ends", ends)
    return x[first[0]:last[0]:1 if steps is None else ints(steps)[0]]


@on_sizes("Squeeze")
def _(at: Node, x, axes=None):
    return x.reshape(())  if x.size == 1 and x.ndim == 1 else x.squeeze()


@on_sizes("Unsqueeze")
def _(at: Node, x, axes=None):
    import numpy as np

    return np.expand_dims(x, tuple(at.given("axes", axes)))


@on_sizes("Reshape")
def _(at: Node, x, shape):
    return x.reshape(ints(shape))


@on_sizes("Add")
def _(at: Node, a, b):
    return a + b


@on_sizes("Sub")
def _(at: Node, a, b):
    return a - b


@on_sizes("Mul")
def _(at: Node, a, b):
    return a * b


@on_sizes("Div")
def _(at: Node, a, b):
    return a // b                       # sizes are nonnegative


@on_sizes("ReduceProd")
def _(at: Node, x, axes=None):
    total = x.ravel().tolist()[0] if x.size else 1
    for n in x.ravel().tolist()[1:]:
        total = total * n
    return numbers([total]) if at("keepdims", 1) else total
