"""Gradients if a branch returns, or a loop carries, a tensor unchanged, so that it has two names.
They match eager mode up to the order of sums, to order 3, with tapes inside the traced function,
around it and both. The result of a branch or loop is a new tensor."""

from functools import partial

import numpy as np
import pytest

import dualflow as df
from tests import sampling


def branch(x, k, n):
    y = x if df.reduce_sum(x * k) > 0. else 2. * x
    return y * k + x + df.tanh(y) * y * x + df.sin(x) * y


def branch_of_several(x, k, n):
    y = k
    if n > 2:
        y = x
    elif n > 1:
        y = x * 1.5
    return y * x + df.tanh(y) * y * k + k * x


def of_other_sizes(x, k, n):
    both = df.concat([x, k], 0)
    y = x[:2] if n > 2 else x
    if n == 1:
        y = both
    return df.reduce_sum(y * y) * both + df.reduce_sum(df.sin(y) * 3.) * df.reduce_sum(x * y[0])


def no_iteration(x, k, n):
    y = x
    while df.reduce_sum(y) > 1e9:
        y = y * 2.
    return y * k + x * k + df.tanh(y) * y * x


def newton(x, k, n):
    y = x
    while df.reduce_sum(df.abs(y * y - x)) > 1e-2 and n < 10:
        y = (y + x / (df.abs(y) + 1.)) / 2.
        n += 1
    return y


def read_after(x, k, n):
    y = x
    for _ in range(n):
        y = df.sin(y) * y + y
    return y * x


def two_names(x, k, n):
    a = b = x
    for _ in range(n):
        a, b = df.sin(a * b) + a, b * a
    return a * b * x


def left_early(x, k, n):
    y = x
    for _ in range(n):
        y = y * x + df.tanh(y) * y
        if df.reduce_sum(y) > 5.:
            break
    return y + x


def kept_for_an_iteration(x, k, n):
    y = x
    for i in df.range(3):
        z = y if i == 0 else df.sin(y)
        y = z * y + df.tanh(z) * y * k
    return y + y * x


def branches_inside(x, k, n):
    y = x
    for i in range(n):
        if i < 2:
            y = df.tanh(y * x) + y * k * x
        else:
            z = y * x
            y = z + df.sin(y) * y
    return y


def begun_with_again(x, k, n):
    y, z = x, k * 1.
    for i in range(n):
        y = df.tanh(y * x) * y
        if i == 1:
            y = x
        z = k
    return y * x + z * k * z


def loops_inside(x, k, n):
    y = x
    for _ in range(n):
        z = y
        for _ in range(2):
            z = df.tanh(z * y) + x * z * k + df.sin(z) * x
        y = y + z * .1
    return y * x


def after_a_branch(x, k, n):
    if n > 1:
        x = k * 1.5
    y = x
    for _ in range(n):
        y = (k * 2. if df.reduce_sum(y) > 1.5 else k * y * 0.5) - y
    return y * k + x


def handed_on_and_returned(x, k, n):
    out, y = [], x
    for row in df.stack([x, k, x * k]):
        y = df.tanh(y * k + row)
        out.append(row * y)
    return df.reduce_sum(df.stack(out) * y, 0), y


def a_loop_in_one_branch(x, k, n):
    if n > 2:
        pass
    elif df.reduce_sum(k) > df.reduce_min(x):
        for _ in range(n):
            x = df.maximum(x, 0.5) * k
    return x


CASES = [branch, branch_of_several, of_other_sizes, no_iteration, newton, read_after, two_names,
         left_early, kept_for_an_iteration, branches_inside, begun_with_again, loops_inside,
         after_a_branch, handed_on_and_returned, a_loop_in_one_branch]


def gradients(f, order, x, k, n):
    """Return the gradients of an order with respect to x and k, each of the sum of sines of the
    last."""
    if not order:
        return f(x, k, n)
    with df.GradientTape() as tape:
        tape.watch([x, k])
        made = gradients(f, order - 1, x, k, n)
        loss = df.add_n([df.reduce_sum(df.sin(y)) for y in df.nest.flatten(made)])
    return tape.gradient(loss, [x, k], unconnected_gradients="zero")


def draws(seed, count=4):
    """Yield arguments: two float64 vectors, and trip counts from 0."""
    rng = np.random.default_rng(seed)
    for n in range(count):
        x, k = (df.constant(rng.normal(size=5)) for _ in range(2))
        yield x, k, df.constant(n)


def assert_close(got, want):
    got, want = df.nest.flatten(got), df.nest.flatten(want)
    largest = max([abs(y.numpy()).max() for y in want])
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-13 * max(1., largest))


def placements():
    """Yield the number of tapes inside the traced function for each function and order, of orders
    2 and 3 one by default."""
    for turn, f in enumerate(CASES):
        for order in (1, 2, 3):
            counts = range(order + 1)
            for inside in counts if order < 2 else sampling.one_of(counts, turn):
                yield f, order, inside


@pytest.mark.parametrize(("f", "order", "inside"), list(placements()))
def test_gradients(f, order, inside):
    """`inside` is the number of tapes in the traced function."""
    traced = df.function(partial(gradients, f, inside))
    for args in draws(order):
        assert_close(gradients(traced, order - inside, *args), gradients(f, order, *args))


@pytest.mark.parametrize("f", CASES)
def test_gradients_of_first_order_in_float32(f):
    traced = df.function(partial(gradients, f, 1))
    for x, k, n in draws(1):
        x, k = df.cast(x, df.float32), df.cast(k, df.float32)
        for a, b in zip(traced(x, k, n), gradients(f, 1, x, k, n), strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("f", [f for f in CASES if f not in (
    handed_on_and_returned, a_loop_in_one_branch)])
def test_gradient_with_respect_to_a_result_of_control_flow(f):
    """The gradient with respect to a branch's result counts only the uses of that result."""
    def both(x, k, n, name):
        with df.GradientTape(persistent=True) as tape:
            tape.watch(x)
            z = x * k
            y = name(z if n > 1 else df.sin(z))
            loss = df.reduce_sum(f(y, k, n)) * df.reduce_sum(z * y)
        return tape.gradient(loss, [y, z]), tape.gradient(loss, y)

    traced = df.function(lambda *args: both(*args, lambda y: y))
    for args in draws(7):
        # in eager mode, identity returns a tensor with a new identity
        assert_close(traced(*args), both(*args, df.identity))


@pytest.mark.parametrize(("n", "by_x"), [(0, 4.), (1, 12.), (2, 28.)])
def test_gradient_with_respect_to_a_result_of_a_loop(n, by_x):
    """The derivatives of x y by y, which is x, and by x, where y = (2^(n + 1) - 1) x, at x = 2."""
    @df.function
    def f(x, n):
        with df.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x
            for _ in df.range(n):
                y = y * 2. + x
            loss = x * y
        return tape.gradient(loss, [y, x])

    assert [g.item() for g in f(df.constant(2.), df.constant(n))] == [2., by_x]


def test_sizes_that_differ_between_calls():
    def f(x, z, p):
        with df.GradientTape() as tape:
            tape.watch([x, z])
            y = x if p else z
            loss = df.reduce_sum(y * y) * df.reduce_sum(x * 2.) + df.reduce_sum(
                z * z) + df.reduce_sum(df.sin(y) * 3.)
        return tape.gradient(loss, [x, z])

    vector = df.TensorSpec([None], df.float64)
    rng = np.random.default_rng(0)
    for g in (df.function(f), df.function(f, [vector, vector, df.TensorSpec([], df.bool_)])):
        for n, m in ((5, 5), (5, 6), (7, 3), (2, 2)):
            x, z = (df.constant(rng.normal(size=k)) for k in (n, m))
            for p in (True, False):
                assert_close(g(x, z, df.constant(p)), f(x, z, df.constant(p)))
