"""Variables first read in a nested body of a loop whose iterations assign them: each iteration and
its gradient read the version of that iteration."""

import numpy as np
import pytest

import dualflow as df
from tests import sampling

scaled = df.function(lambda v, x: v * x)


def in_a_branch(v, x, n):
    y = x
    for _ in df.range(n):
        if n > 0:
            y = v * x
        v.assign_sub(.1)
    return y


def in_a_loop(v, x, n):
    y = x
    for _ in df.range(n):
        for _ in df.range(1):
            y = v * x
        v.assign_sub(.1)
    return y


def in_a_call(v, x, n):
    y = x
    for _ in df.range(n):
        y = scaled(v, x)
        v.assign_sub(.1)
    return y


def written_at_two_depths(v, x, n):
    y = x
    for i in df.range(n):
        for _ in df.range(i + 1):
            if n > 0:
                y = y * v
            v.assign_sub(.1)
        v.assign(v * 2.)
    return y * v


def in_functions(v, x, n):
    def step(i, y):
        z = df.cond(i > 0, lambda: df.scan(lambda c, _: (c * v, None), y, length=2)[0], lambda: y)
        v.assign_sub(.1)
        return i + 1, z * v
    return df.while_loop(lambda i, y: i < n, step, (df.constant(0), x))[1]


CASES = [in_a_branch, in_a_loop, in_a_call, written_at_two_depths, in_functions]


def gradients(f, x):
    """Return gradients by a tape around f with respect to a new variable and x."""
    v = df.Variable(1., dtype=df.float64)
    with df.GradientTape() as tape:
        tape.watch(x)
        y = f(v, x)
    return [g.item() for g in tape.gradient(y, [v, x], unconnected_gradients="zero")], v.item()


def traced_inside(f, n):
    """Return the gradient of f by a tape inside a traced function."""
    def g(v, x):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = f(v, x, df.constant(n))
        return tape.gradient(y, [v, x], unconnected_gradients="zero")

    v = df.Variable(1., dtype=df.float64)
    made = df.function(g)(v, df.constant(2., df.float64))
    return [y.item() for y in made], v.item()


@pytest.mark.parametrize("f", CASES)
@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_each_iteration_reads_its_version(f, n):
    x, times = df.constant(2., df.float64), df.constant(n)
    want = gradients(lambda v, x: f(v, x, times), x)
    traced = df.function(f)
    assert gradients(lambda v, x: traced(v, x, times), x) == want
    assert traced_inside(f, n) == want


# --- versions before and after an assignment, in the gradient of a gradient ---

def across_an_assignment(v, x, n):
    y = x * 0.
    if n > 0:
        y = v * x * x
        v.assign(df.tanh(x))
        y = y + x * x * v
    return y


def across_in_a_nested_branch(v, x, n):
    y = x * 0.
    if n > 0:
        if n > 1:
            y = df.sin(v * x)
            v.assign(df.tanh(x))
            y = y + x * x * v
        else:
            y = v * v * x
    return y * v


def across_in_a_loop(v, x, n):
    y = x
    for _ in df.range(n):
        y = y * v
        v.assign(df.tanh(x) + .5)
        y = y + x * df.sin(v)
    return y * v


def across_in_a_branch_of_a_loop(v, x, n):
    y = x
    for i in df.range(n):
        if i > 0:
            y = df.tanh(y * v)
            v.assign(v + .3)
            y = y + x * x * v
    return y


def across_in_a_loop_of_a_branch(v, x, n):
    y = x
    if n > 0:
        for _ in df.range(n):
            y = df.tanh(y * v) + v
            v.assign(v * .7)
            y = y * v
    return y


ACROSS = [across_an_assignment, across_in_a_nested_branch, across_in_a_loop,
          across_in_a_branch_of_a_loop, across_in_a_loop_of_a_branch]


def higher(f, order, at):
    """Return the gradients of an order with respect to x and the variable, in float64, of a
    function that is traced with `at` of the tapes inside; None: not traced."""
    v = df.Variable([.7, -.4], dtype="float64")

    def summed(x, n):
        return df.reduce_sum(f(v, x, n))

    def slope(g):
        def call(x, n):
            with df.GradientTape() as tape:
                tape.watch(x)
                y = g(x, n)
            found = tape.gradient(y, [x, v], unconnected_gradients="zero")
            return df.reduce_sum(found[0] * [.3, .9]) + df.reduce_sum(found[1] * [1.1, -.2])
        return call

    g = summed
    for k in range(order):
        g = df.function(g) if k == at else g
        if k < order - 1:
            g = slope(g)

    def last(x, n):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = g(x, n)
        return tape.gradient(y, [x, v], unconnected_gradients="zero")

    call = df.function(last) if at == order else last
    made = []
    for n in (2, 1, 0, 3):
        v.assign([.7, -.4])
        made += call(df.constant([.5, 1.2], dtype="float64"), df.constant(n))
    return [y.numpy() for y in made]


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("f", ACROSS)
def test_versions_on_both_sides_of_an_assignment(f, order):
    """A variable that is read before and after it is assigned has one cotangent, which higher
    orders count once. Eager mode is compared with differences by the generators of programs."""
    want = higher(f, order, None)
    places = range(order + 1)
    for at in places if order < 3 else sampling.one_of(places, ACROSS.index(f)):
        for got, expected in zip(higher(f, order, at), want, strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-12)
