"""The code of docs/book/ch02_tape.md, from which docs/ext/book.py writes this file."""

import numpy as np
from ch01_tensors import (
    Op,
    Operation,
    Tensor,
    as_tensor,
    broadcast_to,
    heaviside,
    interpreters,
    matmul,
    reduce_sum,
    reshape,
    transpose,
)

PARAMETER = Op("parameter", "leaf", None, None)
CONSTANT = Op("constant", "leaf", None, None)


class Interpreter:
    """A context manager that puts the object on the stack of interpreters."""

    def __enter__(self):
        self.below = interpreters[-1]
        interpreters.append(self)
        return self

    def __exit__(self, *_):
        interpreters.pop()


class Symbol(Tensor):
    """A tensor without elements: an output of an operation in a graph."""

    def __init__(self, shape, operation):           # without Tensor.__init__, which needs data
        self.shape, self.operation = shape, operation

    def __repr__(self):
        return f"Symbol({self.operation.op.name}, {self.shape})"

    @property
    def data(self):
        raise TypeError(f"{self} has no elements: it is a value of a graph")


class Graph(Interpreter):
    """A list of operations, each after the operations that compute its inputs."""

    def __init__(self):
        self.operations, self.inputs, self.outputs = [], [], []
        self.constants = {}                         # symbols by tensor

    def add(self, op, inputs, attributes, shapes):
        """Append an operation and return it; its outputs are symbols."""
        operation = Operation(op, inputs, attributes)
        operation.outputs = [Symbol(shape, operation) for shape in shapes]
        self.operations.append(operation)
        return operation

    def parameter(self, shape):
        x, = self.add(PARAMETER, [], {}, [shape]).outputs
        self.inputs.append(x)
        return x

    def as_symbol(self, x):
        """Return a symbol of this graph; a tensor becomes a constant."""
        if isinstance(x, Symbol):
            return x
        if x not in self.constants:
            self.constants[x], = self.add(CONSTANT, [], {"value": x}, [x.shape]).outputs
        return self.constants[x]

    def interpret(self, operation):
        inputs = [self.as_symbol(x) for x in operation.inputs]
        shapes = operation.output_shapes()
        operation.outputs = self.add(operation.op, inputs, operation.attributes, shapes).outputs


def topological_order(outputs):
    """Return the operations that some symbols depend on, in topological order."""
    order, waiting = {}, [y.operation for y in outputs]
    while waiting:
        operation = waiting.pop()
        missing = [x.operation for x in operation.inputs if x.operation not in order]
        if missing:
            waiting += [operation, *missing]
        else:
            order[operation] = True
    return list(order)


class Session:
    """Runs parts of a graph."""

    def run(self, fetches, feeds):
        """Return the values of symbols, given the values of others."""
        values = {x: as_tensor(value).data for x, value in feeds.items()}
        for operation in topological_order(fetches):
            if operation.op is CONSTANT:
                values[operation.outputs[0]] = operation.attributes["value"].data
            elif operation.op is not PARAMETER:
                results = operation.op.kernel(*[values[x] for x in operation.inputs],
                                              **operation.attributes)
                results = results if isinstance(results, list) else [results]
                values.update(zip(operation.outputs, results, strict=True))
        return [Tensor(values[y]) for y in fetches]


GRADIENTS = {}              # gradient rules by the name of the op


def gradient(name):
    """Register the decorated function as the gradient rule of an op."""
    def decorator(rule):
        GRADIENTS[name] = rule
        return rule
    return decorator


def ones_like(x):
    return broadcast_to(1., x.shape)


def backward(operations, target, sources):
    """Return the gradients of the sum of the target with respect to the sources."""
    return propagate(operations, {id(target): ones_like(target)}, sources)


def propagate(operations, accumulators, sources):
    """Run a backward pass from given cotangents, by the id of their value; return the cotangents
    of the sources, or None for a source on which none of the values depends."""
    active = {id(x) for x in sources}               # values that depend on a source
    for operation in operations:
        if any(id(x) in active for x in operation.inputs):
            active.update(id(y) for y in operation.outputs)
    for operation in reversed(operations):
        cotangents = [accumulators.get(id(y)) for y in operation.outputs]
        if all(g is None for g in cotangents) or not any(id(x) in active
                                                         for x in operation.inputs):
            continue
        results = apply_rule(operation, cotangents)
        for x, g in zip(operation.inputs, results, strict=True):
            if g is None or id(x) not in active:
                continue
            accumulate(accumulators, x, g() if callable(g) else g)
    return [accumulators.get(id(x)) for x in sources]


def accumulate(accumulators, x, g):
    """Add a cotangent to the accumulator of a value."""
    accumulators[id(x)] = accumulators[id(x)] + g if id(x) in accumulators else g


def apply_rule(operation, cotangents):
    """Return the result of the gradient rule: for each input a cotangent, function or None."""
    rule = GRADIENTS[operation.op.name]
    if len(operation.outputs) == 1:
        (g,), (y,) = cotangents, operation.outputs
        results = rule(g, y, *operation.inputs, **operation.attributes)
    else:
        results = rule(cotangents, operation.outputs, *operation.inputs, **operation.attributes)
    return results if isinstance(results, (list, tuple)) else [results]


@gradient("add")
def _(g, y, a, b):
    return g, g


@gradient("subtract")
def _(g, y, a, b):
    return g, lambda: -g


@gradient("multiply")
def _(g, y, a, b):
    return lambda: g * b, lambda: g * a


@gradient("divide")
def _(g, y, a, b):
    return lambda: g / b, lambda: -(g * y) / b


@gradient("negative")
def _(g, y, x):
    return -g


@gradient("exp")
def _(g, y, x):
    return g * y


@gradient("log")
def _(g, y, x):
    return g / x


@gradient("relu")
def _(g, y, x):
    return g * heaviside(x)


@gradient("heaviside")
def _(g, y, x):
    return None                                     # constant on both sides of the jump


@gradient("matmul")
def _(g, y, a, b):
    return lambda: matmul(g, transpose(b)), lambda: matmul(transpose(a), g)


@gradient("transpose")
def _(g, y, x):
    return transpose(g)


@gradient("reshape")
def _(g, y, x, shape):
    return reshape(g, x.shape)


@gradient("reduce_sum")
def _(g, y, x, axis):
    kept = (*x.shape[:axis], 1, *x.shape[axis + 1:])
    return broadcast_to(reshape(g, kept), x.shape)


@gradient("broadcast_to")
def _(g, y, x, shape):
    for _ in range(len(shape) - len(x.shape)):
        g = reduce_sum(g, axis=0)
    for axis, n in enumerate(x.shape):
        if g.shape[axis] != n:
            g = reshape(reduce_sum(g, axis), (*g.shape[:axis], 1, *g.shape[axis + 1:]))
    return g


class GradientTape(Interpreter):
    """Records operations while they run; computes gradients of recorded values."""

    def __init__(self):
        self.records = []

    def interpret(self, operation):
        self.below.interpret(operation)
        self.records.append(operation)

    def gradient(self, target, sources):
        return backward(list(self.records), target, sources)


def gradients(function, *inputs):
    """Return the gradients of the sum of function(*inputs) with respect to all inputs."""
    inputs = [as_tensor(x) for x in inputs]
    with GradientTape() as tape:
        y = function(*inputs)
    return tape.gradient(y, inputs)


if __name__ == "__main__":
    print(gradients(lambda a, b: a * b / (a + b), 15., 5.))


def finite_differences(function, x, step=1e-2):
    """Return the approximate gradient of a function of one tensor, of shape ()."""
    result = np.zeros(x.shape, np.float32)
    for index in np.ndindex(*x.shape):
        change = np.zeros(x.shape, np.float32)
        change[index] = step
        up, down = function(x + Tensor(change)), function(x - Tensor(change))
        result[index] = (up.data - down.data) / (2 * step)
    return result
