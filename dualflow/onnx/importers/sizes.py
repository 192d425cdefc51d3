"""Operators on object arrays of Python numbers: sizes that may change, while Python is traced."""

from __future__ import annotations

from dualflow._core import TensorBase
from dualflow.onnx.importers.registry import ON_SIZES, Node, ints

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def numbers(listed: list[Any]) -> Any:
    """Return an object array of Python numbers, without evaluating Dims."""
    import numpy as np

    made = np.empty(len(listed), object)
    for k, n in enumerate(listed):
        made[k] = n
    return made


def shape_operator(*names: str) -> Any:
    def add(function: Any) -> Any:
        for name in names:
            ON_SIZES[name] = _numbers(function)
        return function
    return add


def _numbers(function: Any) -> Any:
    """Wrap a function of arrays of numbers so that it accepts tensors."""
    def run(node: Node, *inputs: Any) -> Any:
        import numpy as np

        listed = [np.asarray(x.numpy()).astype(object)          # to Python numbers
                  if isinstance(x, TensorBase) else x for x in inputs]
        made = function(node, *listed)
        return made if isinstance(made, np.ndarray) else numbers([made]).reshape(())
    return run


@shape_operator("Identity", "Cast")
def _(node: Node, x):
    return x


@shape_operator("Gather")
def _(node: Node, x, indices):
    return x.take(indices.astype("int64"), node("axis", 0))


@shape_operator("Concat")
def _(node: Node, *xs):
    import numpy as np

    return np.concatenate(xs)


@shape_operator("Slice")
def _(node: Node, x, starts=None, ends=None, axes=None, steps=None):
    first, last = node.given("starts", starts), node.given("ends", ends)
    return x[first[0]:last[0]:1 if steps is None else ints(steps)[0]]


@shape_operator("Squeeze")
def _(node: Node, x, axes=None):
    return x.reshape(())  if x.size == 1 and x.ndim == 1 else x.squeeze()


@shape_operator("Unsqueeze")
def _(node: Node, x, axes=None):
    import numpy as np

    return np.expand_dims(x, tuple(node.given("axes", axes)))


@shape_operator("Reshape")
def _(node: Node, x, shape):
    return x.reshape(ints(shape))


@shape_operator("Add")
def _(node: Node, a, b):
    return a + b


@shape_operator("Sub")
def _(node: Node, a, b):
    return a - b


@shape_operator("Mul")
def _(node: Node, a, b):
    return a * b


@shape_operator("Div")
def _(node: Node, a, b):
    return a // b                       # sizes are nonnegative


@shape_operator("ReduceProd")
def _(node: Node, x, axes=None):
    total = x.ravel().tolist()[0] if x.size else 1
    for n in x.ravel().tolist()[1:]:
        total = total * n
    return numbers([total]) if node("keepdims", 1) else total
