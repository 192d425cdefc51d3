"""Solutions of the exercises of chapter 1."""

from itertools import permutations

import numpy as np
from ch01_tensors import (
    OPS,
    Tensor,
    apply,
    exp,
    interpreters,
    network,
    reduce_sum,
    register,
    reshape,
    same_shape,
)


def test_exercise_1_maximum():
    """One row of the table; `apply` broadcasts."""
    register("maximum", "elementwise", np.maximum, same_shape)
    y = apply("maximum", Tensor([[1, 5], [3, 2]]), 2.5)
    assert y.data.tolist() == [[2.5, 5], [3, 2.5]]
    del OPS["maximum"]


def softmax(x):
    y = exp(x)
    return y / reshape(reduce_sum(y, axis=1), (x.shape[0], 1))


def stable_softmax(x):
    """Subtract the maximum of each row, which leaves the quotients unchanged: e^(x-m) / sum."""
    top = apply("reduce_max", x, axis=1)
    return softmax(x - reshape(top, (x.shape[0], 1)))


def test_exercise_2_softmax():
    """The exponential of 1000 is infinite in float32, and inf / inf is NaN."""
    register("reduce_max", "general", lambda x, axis: x.max(axis),
             lambda x, axis: [x[:axis] + x[axis + 1:]])
    x = Tensor([[0, 0], [1000, 0]])
    with np.errstate(over="ignore", invalid="ignore"):
        assert np.isnan(softmax(x).data[1, 0])
    assert stable_softmax(x).data.tolist() == [[0.5, 0.5], [1, 0]]
    del OPS["reduce_max"]


def test_exercise_3_order():
    """`reduce_sum` returns the sum from left to right, and another order returns another number."""
    numbers = 1e8, -1e8 + 8, 3.
    a, b, c = map(np.float32, numbers)
    assert len({float((x + y) + z) for x, y, z in permutations([a, b, c])}) > 1
    for order in permutations([a, b, c]):
        assert reduce_sum(Tensor(order)).data == (order[0] + order[1]) + order[2]


class Counting:
    """Passes operations to the interpreter below and counts them."""

    def __init__(self):
        self.counts = {}

    def interpret(self, operation):
        name = operation.op.name
        self.counts[name] = self.counts.get(name, 0) + 1
        interpreters[0].interpret(operation)


def test_exercise_4_counting():
    counting = Counting()
    interpreters.append(counting)
    network(*[Tensor(np.ones(shape)) for shape in [(4, 2), (2, 3), (3,), (3, 1), (1,)]])
    interpreters.pop()
    assert counting.counts == {"matmul": 2, "broadcast_to": 2, "add": 2, "relu": 1}
