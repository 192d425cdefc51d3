"""Gradients where eager mode has one tensor by several names: bit for bit, to order 3."""

import numpy as np
import pytest

import dualflow as df


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


def no_round(x, k, n):
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


def kept_for_a_round(x, k, n):
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


CASES = [branch, branch_of_several, of_other_sizes, no_round, newton, read_after, two_names,
         left_early, kept_for_a_round, branches_inside, begun_with_again, loops_inside,
         after_a_branch, handed_on_and_returned, a_loop_in_one_branch]


def gradients(f, order, x, k, n):
    with df.GradientTape() as tape:
        tape.watch([x, k])
        made = f(x, k, n) if order == 1 else gradients(f, order - 1, x, k, n)
        loss = df.add_n([df.reduce_sum(df.sin(y)) for y in df.nest.flatten(made)])
    return tape.gradient(loss, [x, k], unconnected_gradients="zero")


@pytest.mark.parametrize(("f", "order"), [(f, order) for f in CASES for order in (1, 2, 3)
                                          if order < 3 or f is not handed_on_and_returned])
def test_gradients(f, order):
    traced = df.function(lambda *args: gradients(f, order, *args))
    rng = np.random.default_rng(order)
    for n in (0, 1, 2, 3):
        x, k = (df.constant(rng.normal(size=5).astype("float32")) for _ in range(2))
        want = gradients(f, order, x, k, df.constant(n))
        got = traced(x, k, df.constant(n))
        assert [g.tolist() for g in got] == [g.tolist() for g in want]


@pytest.mark.parametrize("f", CASES[:-2])
def test_a_name_as_the_source(f):
    """What flows into a tensor by any name flows into all its names."""
    def both(x, k, n):
        with df.GradientTape(persistent=True) as tape:
            tape.watch(x)
            z = x * k
            y = z if n > 1 else df.sin(z)
            loss = df.reduce_sum(f(y, k, n)) * df.reduce_sum(z * y)
        return tape.gradient(loss, [y, z]), tape.gradient(loss, y)

    rng, traced = np.random.default_rng(7), df.function(both)
    for n in (0, 1, 2, 3):
        x, k = (df.constant(rng.normal(size=5).astype("float32")) for _ in range(2))
        want, got = (df.nest.flatten(g(x, k, df.constant(n))) for g in (both, traced))
        assert [g.tolist() for g in got] == [g.tolist() for g in want]


def test_sizes_that_change_from_call_to_call():
    def f(x, z, p):
        with df.GradientTape() as tape:
            tape.watch([x, z])
            y = x if p else z
            loss = df.reduce_sum(y * y) * df.reduce_sum(x * 2.) + df.reduce_sum(
                z * z) + df.reduce_sum(df.sin(y) * 3.)
        return tape.gradient(loss, [x, z])

    vector = df.TensorSpec([None])
    rng = np.random.default_rng(0)
    for g in (df.function(f), df.function(f, [vector, vector, df.TensorSpec([], df.bool_)])):
        for n, m in ((5, 5), (5, 6), (7, 3), (2, 2)):
            x, z = (df.constant(rng.normal(size=k).astype("float32")) for k in (n, m))
            for p in (True, False):
                want, got = f(x, z, df.constant(p)), g(x, z, df.constant(p))
                assert [y.tolist() for y in got] == [y.tolist() for y in want]


def test_a_gradient_around_the_call():
    def f(x, k, n):
        return read_after(x, k, n) * x

    traced, rng = df.function(f), np.random.default_rng(3)
    for n in (0, 2, 3):
        x, k = (df.constant(rng.normal(size=5).astype("float32")) for _ in range(2))
        want, got = (gradients(g, 1, x, k, df.constant(n)) for g in (f, traced))
        assert [g.tolist() for g in got] == [g.tolist() for g in want]
