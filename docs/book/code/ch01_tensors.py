"""The code of docs/book/ch01_tensors.md, from which docs/ext/book.py writes this file."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Tensor:
    """An array of float32 elements."""

    def __init__(self, data):
        self.data = np.array(data, np.float32)
        self.shape = self.data.shape

    def __repr__(self):
        return f"Tensor({self.data.tolist()})"

    def __add__(self, other):
        return add(self, other)

    def __radd__(self, other):
        return add(other, self)

    def __sub__(self, other):
        return subtract(self, other)

    def __rsub__(self, other):
        return subtract(other, self)

    def __mul__(self, other):
        return multiply(self, other)

    def __rmul__(self, other):
        return multiply(other, self)

    def __truediv__(self, other):
        return divide(self, other)

    def __rtruediv__(self, other):
        return divide(other, self)

    def __neg__(self):
        return negative(self)

    def __matmul__(self, other):
        return matmul(self, other)


def as_tensor(x):
    """Return a tensor; numbers and lists are converted."""
    return x if isinstance(x, Tensor) else Tensor(x)


class Op(NamedTuple):
    """Every property of an op."""

    name: str
    kind: str           # "elementwise": each element of the result depends on one of each input
    kernel: Callable    # (arrays of the inputs, attributes by name) -> array of the result
    infer: Callable     # (shapes of the inputs, attributes by name) -> list of result shapes


OPS = {}                # the op table: from names to records


def register(name, kind, kernel, infer):
    OPS[name] = Op(name, kind, kernel, infer)


def same_shape(shape, *others):
    assert all(other == shape for other in others), f"shapes {shape} and {others} differ"
    return [shape]


register("add", "elementwise", np.add, same_shape)
register("subtract", "elementwise", np.subtract, same_shape)
register("multiply", "elementwise", np.multiply, same_shape)
register("divide", "elementwise", np.divide, same_shape)
register("negative", "elementwise", np.negative, same_shape)
register("exp", "elementwise", np.exp, same_shape)
register("log", "elementwise", np.log, same_shape)
register("relu", "elementwise", lambda x: np.where(x < 0, np.float32(0), x), same_shape)
register("heaviside", "elementwise", lambda x: (x > 0).astype(np.float32), same_shape)


register("reshape", "general", lambda x, shape: x.reshape(shape), lambda x, shape: [shape])
register("transpose", "general", lambda x: x.T.copy(), lambda x: [x[::-1]])
register("broadcast_to", "general", lambda x, shape: np.broadcast_to(x, shape).copy(),
         lambda x, shape: [shape])


def sum_in_order(x, axis):
    """Return the sum along one axis, from the first slice to the last."""
    total = np.zeros(x.shape[:axis] + x.shape[axis + 1:], np.float32)
    for k in range(x.shape[axis]):
        total += x.take(k, axis)
    return total


def matmul_in_order(a, b):
    """Return the matrix product, with the sum over k from the first term to the last."""
    total = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in range(a.shape[1]):
        total += a[:, k, None] * b[k]
    return total


def matmul_shape(a, b):
    assert len(a) == len(b) == 2 and a[1] == b[0], f"matmul: shapes {a} and {b}"
    return [(a[0], b[1])]


register("reduce_sum", "general", sum_in_order,
         lambda x, axis: [x[:axis] + x[axis + 1:]])
register("matmul", "general", matmul_in_order, matmul_shape)


class Operation:
    """One application of an op; an interpreter sets the outputs."""

    def __init__(self, op, inputs, attributes):
        self.op, self.inputs, self.attributes = op, inputs, attributes
        self.outputs = []

    def output_shapes(self):
        return self.op.infer(*[x.shape for x in self.inputs], **self.attributes)


class Execution:
    """The interpreter that runs the kernel."""

    def interpret(self, operation):
        shapes = operation.output_shapes()
        data = operation.op.kernel(*[x.data for x in operation.inputs], **operation.attributes)
        operation.outputs = [Tensor(y) for y in (data if isinstance(data, list) else [data])]
        assert [y.shape for y in operation.outputs] == shapes, operation.op.name


interpreters = [Execution()]        # the last one interprets


def apply(name, *inputs, **attributes):
    """Apply an op; return its output, or the list of outputs if there are several."""
    op, inputs = OPS[name], [as_tensor(x) for x in inputs]
    if op.kind == "elementwise":
        shape = np.broadcast_shapes(*[x.shape for x in inputs])
        inputs = [broadcast_to(x, shape) for x in inputs]
    operation = Operation(op, inputs, attributes)
    interpreters[-1].interpret(operation)
    return operation.outputs[0] if len(operation.outputs) == 1 else operation.outputs


def add(a, b):
    return apply("add", a, b)


def subtract(a, b):
    return apply("subtract", a, b)


def multiply(a, b):
    return apply("multiply", a, b)


def divide(a, b):
    return apply("divide", a, b)


def negative(x):
    return apply("negative", x)


def exp(x):
    return apply("exp", x)


def log(x):
    return apply("log", x)


def relu(x):
    return apply("relu", x)


def heaviside(x):
    return apply("heaviside", x)


def matmul(a, b):
    return apply("matmul", a, b)


def transpose(x):
    return apply("transpose", x)


def reshape(x, shape):
    return apply("reshape", x, shape=tuple(shape))


def broadcast_to(x, shape):
    """Repeat x to a shape; return x if it has the shape already."""
    x = as_tensor(x)
    return x if x.shape == tuple(shape) else apply("broadcast_to", x, shape=tuple(shape))


def reduce_sum(x, axis=None):
    """Return the sum along one axis, or of all elements."""
    if axis is not None:
        return apply("reduce_sum", x, axis=axis)
    while x.shape:
        x = apply("reduce_sum", x, axis=0)
    return x


def reduce_mean(x):
    return reduce_sum(x) / float(np.prod(x.shape))


def network(x, w1, b1, w2, b2):
    """Return the outputs of two layers, shape (rows of x, columns of w2)."""
    return relu(x @ w1 + b1) @ w2 + b2


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    shapes = [(4, 2), (2, 3), (3,), (3, 1), (1,)]
    print(network(*[Tensor(rng.normal(size=shape)) for shape in shapes]))
