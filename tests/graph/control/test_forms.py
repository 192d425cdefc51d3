"""Gradients of all forms through loops, and of all ops inside loops: eager = graph = graph without
passes. A branch that is not taken raises nothing."""

import pytest

import dualflow as df
from tests.graph.control.test_gradients import same_bits

pytestmark = pytest.mark.filterwarnings("ignore::dualflow.errors.GradientWarning")
X, W = df.constant([.3, -.2, .5]), df.constant([1.2, .7, -.4])
ROWS = df.constant([[.4, -.3, .6], [1.1, .8, -.5]])
inner = df.function(lambda a, b: df.tanh(a * b) + b)


@df.custom_gradient
def limited(x):
    return df.identity(x), lambda g: df.clip_by_value(g, -.1, .1)


def of(f, method="gradient"):
    def g(x):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return getattr(tape, method)(y, x)

    return g


def scan(x):
    return df.scan(lambda c, r: (df.sin(c * r), c), x, ROWS)[0]


def whiles(x):
    return df.while_loop(lambda c: df.reduce_sum(c * c) < 9.,
                         lambda c: (c * 1.7 + df.sin(c * W),), (x,))[0]


def rows(x):
    return df.scan(lambda c, _: (df.sin(c * c) + c, None), x, None, 3)[0]


def descent(x):
    """Return a gradient through gradient descent: a tape in each iteration, and one around the
    loop."""
    def step(i, p):
        loss = of(lambda p: df.reduce_sum(df.square(df.sin(p * W) - x)))
        return i + 1, p - .1 * loss(p)

    return df.while_loop(lambda i, p: i < 4, step, (0, x * 2.))[1]


def calls(x):
    c, y = df.scan(lambda c, r: (inner(c, r), inner(r, c)), x, ROWS)
    return c + df.reduce_sum(y, 0)


def stopped(x):
    return df.scan(lambda c, r: (df.stop_gradient(df.sin(c)) * c * r, None), x,
                   ROWS)[0]


def own_rule(x):
    return df.while_loop(lambda i, c: i < 3, lambda i, c: (i + 1, limited(df.sin(c * 3.))),
                         (0, x))[1]


@pytest.mark.parametrize("f", [
    of(scan, "jacobian"), of(whiles, "jacobian"), of(rows, "jacobian"),
    lambda x: of(rows, "batch_jacobian")(df.stack([x, W])),
    of(of(scan), "jacobian"), of(of(whiles), "jacobian"), of(descent), of(of(descent)), of(calls),
    of(of(calls)), of(stopped), of(own_rule),
    lambda x: of(rows)(x)])
def test_forms_match_eager(f):
    want = df.nest.flatten(f(X))
    for passes in (True, False):
        same_bits(df.nest.flatten(df.function(f, passes=passes)(X)), want)


TABLE, NINE = df.constant([1., 2.]), df.constant(9)


@pytest.mark.parametrize("f", [
    lambda: df.gather(TABLE, NINE),
    lambda: df.cast(df.constant(5) // (NINE - 9), "float32"),
    lambda: (df.debugging.assert_less(NINE, 3), df.constant(1.))[1],
    lambda: df.debugging.check_numerics(df.constant(0.) / df.cast(NINE - 9, "float32"), "x"),
    lambda: df.while_loop(lambda x: True, lambda x: x, [df.constant(0.)])[0]])
def test_branch_not_taken_raises_nothing(f):
    def branch(p):
        return df.cond(p, f, lambda: df.constant(0.))

    def body(p):
        return df.while_loop(lambda i, x: p, lambda i, x: (i + 1, f()), (0, 0.))[1]

    for g in (branch, body):
        for wrap in (lambda g: g, df.function, lambda g: df.function(g, passes=False)):
            assert wrap(g)(df.constant(False)).item() == 0.
