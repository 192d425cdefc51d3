"""A tape around a call of a traced function."""

import numpy as np
import pytest

import dualflow as df
from tests.programs import around


@pytest.fixture
def w():
    return df.Variable([[1., 2.], [3., 4.]], name="w")


def gradients(function, w):
    x = df.constant([[.1, .2], [.3, .4]])
    with df.GradientTape() as tape:
        tape.watch(x)
        y, s = function(x)
        loss = df.reduce_sum(y * y) * s
    return [g.tolist() for g in tape.gradient(loss, [x, w])]


def second(function, w):
    x = df.constant([[.1, .2], [.3, .4]])
    with df.GradientTape() as outer:
        outer.watch(x)
        with df.GradientTape() as inner:
            inner.watch(x)
            y, s = function(x)
            loss = df.reduce_sum(y * y) * s
        gx, gw = inner.gradient(loss, [x, w])
        z = df.reduce_sum(gx * gx) + df.reduce_sum(gw)
    return [g.numpy() for g in outer.gradient(z, [x, w])]


def forward(w):
    return lambda x: (df.tanh(x @ w), df.reduce_sum(x))


def test_first_order(w):
    assert gradients(df.function(forward(w)), w) == gradients(forward(w), w)


def test_second_order(w):
    for got, want in zip(second(df.function(forward(w)), w), second(forward(w), w), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_called_again_and_without_a_tape(w):
    f = df.function(forward(w))
    first = gradients(f, w)
    x = df.constant([[.1, .2], [.3, .4]])
    assert f(x)[0].tolist() == forward(w)(x)[0].tolist()
    w.assign_add([[1., 1.], [1., 1.]])
    assert gradients(f, w) == gradients(forward(w), w) != first


def test_nothing_watched_records_nothing():
    f = df.function(lambda x: x * x)
    with df.GradientTape(watch_accessed_variables=False) as tape:
        f(df.constant(2.))
    assert len(tape._log) == 0


def test_random_numbers_are_those_of_the_forward_run():
    f = df.function(lambda x: x * df.random.uniform([3]))
    x = df.constant([1., 1., 1.])
    with df.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert tape.gradient(y, x).tolist() == y.tolist()


def test_the_old_value_of_a_variable_counts():
    v = df.Variable(3.)

    @df.function
    def step():
        y = v * v
        v.assign_add(1.)
        return y

    with df.GradientTape() as tape:
        y = step()
    assert (y.item(), v.numpy().item(), tape.gradient(y, v).item()) == (9., 4., 6.)


def second_order(f, *xs):
    """Gradients and gradients of their squares, by tapes around one call of `f`."""
    with df.GradientTape(persistent=True) as outer:
        outer.watch(xs)
        with df.GradientTape() as inner:
            inner.watch(xs)
            y = f(*xs)
        gs = inner.gradient(y, xs)
        z = sum([df.reduce_sum(g * g) for g in gs if g is not None], df.constant(0.))
    return gs, outer.gradient(z, xs)


def bits(values):
    return [None if x is None else (x.shape, x.numpy().tobytes()) for x in values]


def test_second_order_through_effects(capsys):
    def program():
        v = df.Variable(3.)

        def step(x):
            v.assign_add(1.)
            df.print("once")
            return x * x * v * df.random.uniform([])

        return step

    results = []
    for wrap in (lambda f: f, df.function):
        f = wrap(program())
        for _ in range(2):
            df.random.set_seed(3)
            first, then = second_order(f, df.constant(2.))
            results.append(bits([*first, *then]))
    assert results[0] == results[2] and results[1] == results[3] != results[0]
    assert capsys.readouterr().out == "once\n" * 4


def test_second_order_where_no_gradient_depends_on_what_is_differentiated():
    """The backward program has no results then, and recording it read the first of them."""
    v = df.Variable([1., 2.])
    f = df.function(lambda x: df.stop_gradient(x) + df.constant([3., 4.]))
    x = df.constant([1., 2.])
    with df.GradientTape() as outer:
        outer.watch(x)
        with df.GradientTape() as inner:
            inner.watch(x)
            y = f(x * x)
        g = inner.gradient(y, [x, v], unconnected_gradients="zero")
        total = df.reduce_sum(g[0] * g[0])
    assert [d.numpy().tolist() for d in outer.gradient(total, [x, v], unconnected_gradients="zero")
            ] == [[0., 0.], [0., 0.]]


def test_random_programs(request):
    """First to third order, with shared inputs, variables, effects and gradients of one's own."""
    for seed in range(20_000 if request.config.getoption("exhaustive") else 60):
        around.check(seed)
