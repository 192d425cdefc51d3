"""Values that a backward loop recomputes instead of reading a stacked residual."""

import pytest

import dualflow as df
from dualflow.graph import ir
from dualflow.graph.ir import loop_parts
from tests.graph.build import assert_same


def loops_of(f, *args):
    """Return the optimised forward and backward loops of a function."""
    graph = f.graph_for(*args)
    ir.check(graph)
    return [node for node in graph.nodes if node.type == "loop"]


def n_stacked(node):
    stacked = loop_parts(node).stacked
    return stacked.stop - stacked.start


def gradient_of(step, passes=True, init=lambda x: x[0]):
    @df.function(passes=passes)
    def f(x, w):
        with df.GradientTape() as tape:
            tape.watch([x, w])
            carry, rows = df.scan(lambda c, r: step(c, r, w), init(x), x)
            total = df.reduce_sum(carry) + df.reduce_sum(rows * rows)
        return tape.gradient(total, [x, w])
    return f


X = df.random.normal([7, 3, 4], seed=1)
W = df.random.normal([4, 4], seed=2)


def assert_as_in_eager_mode(step):
    for f in (gradient_of(step), gradient_of(step, passes=False)):
        for got, want in zip(f(X, W), f.python_function(X, W), strict=True):
            assert_same(got, want)


def test_activations_are_recomputed_from_their_inputs():
    def step(c, r, w):
        c = df.tanh(df.sigmoid(r @ w) * c)
        return c, c
    forward, backward = loops_of(gradient_of(step), X, W)
    # the product, the carry before and after an iteration, and the rows that the user requested
    assert n_stacked(forward) <= 3
    text = backward.bodies[0].text()
    assert "sigmoid(" in text
    assert_as_in_eager_mode(step)


def test_values_with_other_readers_are_stacked():
    def step(c, r, w):
        y = df.sigmoid(r @ w)
        return c + y * y, y

    _, backward = loops_of(gradient_of(step), X, W)
    assert "sigmoid(" not in backward.bodies[0].text()      # `rows` are stacked for the user
    assert_as_in_eager_mode(step)


def test_expensive_values_are_stacked():
    def step(c, r, w):
        y = df.math.digamma(df.square(r @ w) + 1.)
        return c + df.exp(y), c
    _, backward = loops_of(gradient_of(step), X, W)
    assert "digamma(" not in backward.bodies[0].text()
    assert_as_in_eager_mode(step)


def test_products_are_not_recomputed():
    def step(c, r, w):
        return df.tanh(c @ w + r), c
    _, backward = loops_of(gradient_of(step), X, W)
    products = [node for node in backward.bodies[0].nodes if node.type.startswith("matmul")]
    assert len(products) == 2
    assert_as_in_eager_mode(step)


@pytest.mark.parametrize("rounds", [0, 1, 6])
def test_loops_of_unknown_length(rounds):
    @df.function
    def f(x, n):
        with df.GradientTape() as tape:
            tape.watch(x)
            _, y = df.while_loop(lambda i, y: i < n,
                                 lambda i, y: (i + 1, df.exp(df.sin(y) * df.sigmoid(y))), (0, x))
            total = df.reduce_sum(y)
        return tape.gradient(total, x)
    forward, backward = loops_of(f, X[0], df.constant(rounds))
    assert n_stacked(forward) == 1              # the carry before an iteration
    assert "sin(" in backward.bodies[0].text()
    assert_same(f(X[0], df.constant(rounds)), f.python_function(X[0], rounds))


def test_second_order():
    def inner(x, w):
        with df.GradientTape() as tape:
            tape.watch(x)
            total = df.reduce_sum(df.scan(lambda c, r: (df.tanh(df.sigmoid(r) * c), c), x[0], x)[0])
        return df.reduce_sum(tape.gradient(total, x) ** 2.)

    @df.function
    def f(x):
        with df.GradientTape() as tape:
            tape.watch(x)
            total = inner(x, W)
        return tape.gradient(total, x)
    assert_same(f(X), f.python_function(X))


def test_memory_of_a_long_lstm():
    """Per iteration: four rows before the gates' activations, two carries, one requested row, and
    its cotangent."""
    units, batch, steps = 8, 4, 50
    parameters = [df.random.normal(s, seed=k)
                  for k, s in enumerate([[units, 4 * units], [units, 4 * units], [4 * units]])]
    xs = df.random.normal([steps, batch, units], seed=3)

    @df.function
    def f(xs, *parameters):
        w, u, b = parameters

        def cell(state, x):
            h, c = state
            i, f, g, o = df.split(x @ w + h @ u + b, 4, axis=1)
            c = df.sigmoid(f) * c + df.sigmoid(i) * df.tanh(g)
            h = df.sigmoid(o) * df.tanh(c)
            return (h, c), h
        with df.GradientTape() as tape:
            tape.watch(parameters)
            zeros = df.zeros([batch, units])
            total = df.reduce_mean(df.scan(cell, (zeros, zeros), xs)[1] ** 2.)
        return tape.gradient(total, parameters)
    for got, want in zip(f(xs, *parameters), f.python_function(xs, *parameters), strict=True):
        assert_same(got, want)
    row = batch * units * 4
    small = f.compiled_for(xs[:1], *parameters).spec.arena_bytes
    large = f.compiled_for(xs, *parameters).spec.arena_bytes
    assert large - small <= 8.1 * row * (steps - 1)
