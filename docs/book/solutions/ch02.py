"""Solutions of the exercises of chapter 2."""

import numpy as np
from ch01_tensors import (
    OPS,
    Tensor,
    apply,
    exp,
    heaviside,
    matmul,
    reduce_sum,
    register,
    same_shape,
)
from ch02_tape import (
    GRADIENTS,
    PARAMETER,
    GradientTape,
    Graph,
    Interpreter,
    apply_rule,
    finite_differences,
    gradient,
    gradients,
    ones_like,
    topological_order,
)


def test_exercise_1_maximum():
    """The cotangent goes to the larger input."""
    register("maximum", "elementwise", np.maximum, same_shape)

    @gradient("maximum")
    def _(g, y, a, b):
        return lambda: g * heaviside(a - b), lambda: g * (1. - heaviside(a - b))

    x, limit = Tensor([[1, 5], [3, 2]]), Tensor([[2, 2], [2, 3]])
    for f in (lambda x: reduce_sum(apply("maximum", x, limit) * x),
              lambda x: reduce_sum(apply("maximum", limit, x) * x)):
        exact, = gradients(f, x)
        assert np.allclose(exact.data, finite_differences(f, x), atol=0.05)
    del OPS["maximum"], GRADIENTS["maximum"]


def largest(operations, target, remove):
    """Run a backward pass and return the largest number of accumulators."""
    accumulators, most = {id(target): ones_like(target)}, 0
    for operation in reversed(operations):
        read = accumulators.pop if remove else accumulators.get
        cotangents = [read(id(y), None) for y in operation.outputs]
        if cotangents[0] is None:
            continue
        for x, g in zip(operation.inputs, apply_rule(operation, cotangents), strict=True):
            g = g() if callable(g) else g
            accumulators[id(x)] = accumulators[id(x)] + g if id(x) in accumulators else g
        most = max(most, len(accumulators))
    return most


def test_exercise_2_accumulators():
    """Removed accumulators leave one for the chain; the sources must then be stored separately."""
    x = Tensor(1)
    with GradientTape() as tape:
        y = x
        for _ in range(100):
            y = -y
    assert largest(tape.records, y, remove=False) == 101
    assert largest(tape.records, y, remove=True) == 1


FORWARD = {
    "add": lambda y, a, b, da, db: da + db,
    "multiply": lambda y, a, b, da, db: da * b + a * db,
    "divide": lambda y, a, b, da, db: (da - y * db) / b,
    "exp": lambda y, x, dx: dx * y,
    "matmul": lambda y, a, b, da, db: matmul(da, b) + matmul(a, db),
}


class Forward(Interpreter):
    """Computes derivatives along a direction: `tangents` by the id of a tensor."""

    def __init__(self, tangents):
        self.tangents, self.alive = tangents, []

    def interpret(self, operation):
        self.below.interpret(operation)
        y, = operation.outputs
        zeros = [Tensor(np.zeros(x.shape)) for x in operation.inputs]
        inner = [self.tangents.get(id(x), zero)
                 for x, zero in zip(operation.inputs, zeros, strict=True)]
        self.__exit__()                             # the rule itself is not interpreted
        self.tangents[id(y)] = FORWARD[operation.op.name](y, *operation.inputs, *inner)
        self.__enter__()
        self.alive.append(operation)                # an id is valid while the object exists


def test_exercise_3_forward_mode():
    """<reverse gradient, direction> equals the forward derivative."""
    x, direction = Tensor([[0.5, -1], [2, 0.3]]), Tensor([[1, 2], [3, 4]])

    def f(x):
        return exp(x @ x) / (x * x + 1.)

    one = Tensor(np.ones([2, 2]))
    with Forward({id(x): direction}) as forward:
        y = exp(x @ x) / (x * x + one)
    reverse, = gradients(f, x)
    assert np.allclose((reverse.data * direction.data).sum(), forward.tangents[id(y)].data.sum(),
                       rtol=1e-5)


def operations_without(fetches, given):
    """Return the operations that a run executes if the values of some symbols are given."""
    order, waiting = {}, [y.operation for y in fetches if y not in given]
    while waiting:
        operation = waiting.pop()
        missing = [x.operation for x in operation.inputs
                   if x not in given and x.operation not in order]
        if missing:
            waiting += [operation, *missing]
        else:
            order[operation] = True
    return list(order)


def test_exercise_4_feeds():
    """`topological_order` must not go beyond a symbol whose value is given."""
    with Graph() as graph:
        a, b = graph.parameter(()), graph.parameter(())
        product, total = a * b, a + b
        y = product / total
    assert PARAMETER in [operation.op for operation in topological_order([y])]
    assert [operation.op.name
            for operation in operations_without([y], {product, total})] == ["divide"]
