"""Solutions of the exercises of chapter 5."""

import numpy as np
import pytest
from ch01_tensors import OPS, Tensor, negative, transpose
from ch02_tape import CONSTANT, Graph
from ch04_tracing import run_in_session, trace
from ch05_passes import check, copy, dead_code, merge_equal, optimize, rewrite


def is_number(x, number):
    """Return True if all elements of a symbol are a number with the same sign."""
    if x.operation.op.name == "broadcast_to":
        x = x.operation.inputs[0]
    if x.operation.op is not CONSTANT:
        return False
    value = x.operation.attributes["value"].data
    return bool(np.all((value == number) & (np.signbit(value) == np.signbit(number))))


def algebra(graph):
    """Each rule is exact: a sign is flipped twice, or the operation returns its first input.

    x - 0 is x also for -0, and x / 1 is x. x + 0 is not: -0 + 0 is 0; but x + (-0) is x.
    """
    neutral = {"multiply": 1., "divide": 1., "subtract": 0., "add": -0.}

    def visit(new, operation, inputs):
        name = operation.op.name
        if name in ("negative", "transpose") and inputs[0].operation.op is operation.op:
            return inputs[0].operation.inputs
        if name in neutral and is_number(inputs[1], neutral[name]):
            return inputs[:1]
        return None
    return rewrite(graph, visit)


def test_exercise_1_algebra():
    special = Tensor([0., -0., 1., -1., np.inf, -np.inf, np.nan, 1e-45, 3e38, 0.1])
    rows = Tensor(special.data.reshape(2, 5))

    def f(x):
        return transpose(transpose((negative(negative(x)) * 1. - 0.) / 1.)) + -0.

    def g(x):
        return x + 0.

    before = trace(f, [rows])
    after = dead_code(algebra(before))
    check(after)
    assert [operation.op.name for operation in after.operations] == ["parameter"]
    run, = run_in_session(before)(rows)
    assert run.data.tobytes() == run_in_session(after)(rows)[0].data.tobytes()
    assert len(dead_code(algebra(trace(g, [rows]))).operations) == 4


def merge_commutative(graph):
    """Sort the inputs of commutative ops by the order of their definition, then merge."""
    position = {}

    def visit(new, operation, inputs):
        if operation.op.name in ("add", "multiply"):
            inputs = sorted(inputs, key=position.__getitem__)
        outputs = copy(new, operation, inputs)
        position.update((y, len(position)) for y in outputs)
        return outputs
    return merge_equal(rewrite(graph, visit))


def test_exercise_2_commutative():
    """Multiply is commutative too; matmul is not."""
    graph = trace(lambda a, b: (a + b) * (b + a) - (b + a) * (a + b), [Tensor(1), Tensor(2)])
    assert len(graph.operations) == 9
    assert len(merge_commutative(graph).operations) == 5


def test_exercise_3_errors():
    """A pass that returns a value of the old graph, and one that swaps a subtraction."""
    graph = trace(lambda a, b: a - b, [Tensor(1), Tensor(3)])
    old = rewrite(graph, lambda new, operation, inputs:
                  operation.outputs if operation.op.name == "subtract" else None)
    with pytest.raises(AssertionError):
        check(old)
    swapped = rewrite(graph, lambda new, operation, inputs:
                      copy(new, operation, inputs[::-1]) if inputs else None)
    check(swapped)
    assert run_in_session(swapped)(Tensor(1), Tensor(3))[0].data == 2


def random_graph(rng):
    """Return a graph of a few operations on two parameters of shape (3, 3)."""
    with Graph() as graph:
        values = [graph.parameter((3, 3)), graph.parameter((3, 3)),
                  graph.as_symbol(Tensor(rng.normal(size=(3, 3)))), graph.as_symbol(Tensor(2))]
        for _ in range(rng.integers(3, 20)):
            a, b = (values[k] for k in rng.integers(0, len(values), 2))
            choice = rng.integers(0, 6)
            if choice < 3:
                values.append([a + b, a - b, a * b][choice])
            elif choice == 3:
                values.append(-a)
            elif len(a.shape) == len(b.shape) == 2:
                values.append(a @ b if choice == 4 else transpose(a))
        graph.outputs = [values[k] for k in rng.integers(0, len(values), 3)]
    return graph


def test_exercise_4_random():
    rng = np.random.default_rng(0)
    for _ in range(100):
        graph = random_graph(rng)
        arguments = [Tensor(rng.normal(size=(3, 3))) for _ in range(2)]
        with np.errstate(all="ignore"):
            before = run_in_session(graph)(*arguments)
            after = run_in_session(optimize(graph))(*arguments)
        assert [y.data.tobytes() for y in before] == [y.data.tobytes() for y in after]
    assert "cluster" in OPS
