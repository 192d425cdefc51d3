"""Gradients of control flow: a minimal program for each defect found, in float64.

Expected values are derived by hand or computed by eager mode, which runs Python's own control flow.
"""

import numpy as np
import pytest

import dualflow as df
from tests import sampling
from tests.programs.orders import far

pytestmark = pytest.mark.filterwarnings("ignore::dualflow.errors.GradientWarning")


def number(x):
    return df.constant(x, df.float64)


def same(f, calls, inner=lambda wrap, f: wrap(f), turn=None):
    """Compare calls of a function, traced with and without passes, with eager mode; given a turn,
    with one of the two.

    `inner` builds the called function from `f` and the function that traces.
    """
    wanted = [inner(lambda f: f, f)(*args) for args in calls]
    for passes in (True, False) if turn is None else sampling.passes(turn):
        traced = inner(lambda f, p=passes: df.function(f, passes=p), f)
        for args, want in zip(calls, wanted, strict=True):
            wrong = far(traced(*args), want, 1e-12)
            assert wrong is None, f"{args}, passes={passes}: {wrong}"
    return wanted


def orders(f, order):
    """Return the derivatives of orders 1 to `order`, by tapes, of a function of (integer,
    number)."""
    def g(n, a):
        with df.GradientTape() as tape:
            tape.watch(a)
            y = f(n, a)
        return tape.gradient(y, a, unconnected_gradients="zero")

    return [f] if order == 0 else [f, *orders(g, order - 1)]


# --- variables first read inside a nested body that assigns them ---

def reading_in_a_branch(v, n, b):
    a = b
    for _ in df.range(n):
        if n > 0:
            a = v * b
        v.assign_sub(number(.1))
    return a


def reading_in_a_loop(v, n, b):
    a = b
    for _ in df.range(n):
        for _ in df.range(1):
            a = v * b
        v.assign_sub(number(.1))
    return a


@df.function
def product(v, b):
    return v * b if b > 0. else b * v


def reading_in_a_call(v, n, b):
    a = b
    for _ in df.range(n):
        a = product(v, b)
        v.assign_sub(number(.1))
    return a


def reading_three_deep(v, n, b):
    a = b
    for _ in df.range(n):
        for j in df.range(2):
            if j > 0:
                a = v * b
            v.assign_sub(number(.05))
    return a


def assigning_in_the_nested_body(v, n, b):
    a = b
    for _ in df.range(n):
        if n > 0:
            a = v * b
            v.assign_sub(number(.1))
    return a


def reading_after_the_assignment(v, n, b):
    a = b
    for i in df.range(n):
        if i > 0:
            a = v * b
        v.assign(v * .9)
        if i > 0:
            a = a + v * b * b
    return a


READING = [reading_in_a_branch, reading_in_a_loop, reading_in_a_call, reading_three_deep,
           assigning_in_the_nested_body, reading_after_the_assignment]


@pytest.mark.parametrize("place", ["inside", "around"])
@pytest.mark.parametrize("f", READING)
def test_variable_first_read_in_a_nested_body(f, place):
    """Each iteration reads its own version, in the backward pass too."""
    v = df.Variable(number(1.))

    def gradients(wrap, f):
        inner = lambda n, b: f(v, n, b)         # noqa: E731
        if place == "around":
            inner = wrap(inner)

        def g(n, b):
            with df.GradientTape() as tape:
                tape.watch(b)
                y = inner(n, b)
            return [tape.gradient(y, [b, v], unconnected_gradients="zero"), v.value()]

        made = wrap(g) if place == "inside" else g

        def call(n, b):
            v.assign(1.)            # outside, so that the nested body is the first to trace it
            return made(n, b)

        return call

    wanted = same(f, [(df.constant(n), number(3.)) for n in range(4)], gradients)
    if f is reading_in_a_branch:
        assert wanted[2][0][0].item() == pytest.approx(.9, rel=1e-15)


def test_variable_first_read_in_a_body_of_while_loop():
    def gradient(wrap, _):
        v = df.Variable(number(1.))

        def f(n, b):
            def step(i, a):
                a = df.cond(i >= 0, lambda: v * b + a, lambda: a)
                v.assign_sub(number(.1))
                return i + 1, a

            with df.GradientTape() as tape:
                tape.watch(b)
                y = df.while_loop(lambda i, a: i < n, step, (0, b * 0.))[1]
            return tape.gradient(y, b)

        return wrap(f)

    assert same(None, [(df.constant(2), number(3.))], gradient)[0].item() == pytest.approx(1.9)


# --- a tape inside the function that watches what control flow returned ---

def after_a_branch(n, a):
    b = number(2.) * a
    if n > 1:
        b = b * .5
    with df.GradientTape() as tape:
        tape.watch(b)
        y = b
        for _ in df.range(n):
            y = a * b
    return tape.gradient(y, b)


def after_a_loop(n, a):
    b = a * 2.
    for _ in df.range(n - 1):
        b = b * .5
    with df.GradientTape() as tape:
        tape.watch(b)
        y = b
        for _ in df.range(n):
            y = df.sin(y) * b
    return tape.gradient(y, b)


def in_a_loop(n, a):
    b = a * 2.
    for i in df.range(n):
        if i > 1:
            b = b * .5
        with df.GradientTape() as tape:
            tape.watch(b)
            y = b
            for _ in df.range(i):
                y = y * b + a
        b = b - tape.gradient(y, b) * .1
    return b


def persistent_in_a_branch(n, a):
    b = a * 2.
    while b < 1.:
        b = b * 3.
    if n > 0:
        with df.GradientTape(persistent=True) as tape:
            tape.watch(b)
            y = b if n > 2 else b * b
            z = b
            for _ in df.range(n):
                z = z * y
        return tape.gradient(z, b) + tape.gradient(y, b)
    return b


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("f", [after_a_branch, after_a_loop, in_a_loop, persistent_in_a_branch])
def test_tape_that_watches_the_output_of_control_flow(f, order):
    calls = [(df.constant(n), number(.7)) for n in range(4)]
    same(f, calls, lambda wrap, f: wrap(orders(f, order)[-1]))
    same(f, calls, lambda wrap, f: orders(wrap(f), order)[-1])
    assert df.function(after_a_branch)(df.constant(1), number(3.)).item() == 3.


# --- loops in loops whose trip count varies, loops in branches ---

def varying(n, a):
    for i in df.range(n):
        for _ in df.range(i):
            a = df.sin(a) * a
    return a


def varying_by_while_loop(n, a):
    def outer(i, a):
        return i + 1, df.while_loop(lambda j, a: j < i, lambda j, a: (j + 1, df.sin(a) * a),
                                    (0, a))[1]

    return df.while_loop(lambda i, a: i < n, outer, (0, a))[1]


def varying_three_deep(n, a):
    for i in df.range(n):
        for j in df.range(i):
            for _ in df.range(j):
                a = df.sin(a) * a
            a = a * 1.1
    return a


def in_a_branch(n, a):
    if a > 0.:
        for _ in df.range(n):
            a = df.sin(a) * a
    return a


def in_both_branches(n, a):
    if n > 1:
        for _ in df.range(n):
            a = df.sin(a) * a
    else:
        for _ in df.range(n + 1):
            a = df.cos(a) * a
    return a


def in_a_branch_of_cond(n, a):
    return df.cond(a > 0., lambda: df.while_loop(
        lambda k, a: k < n, lambda k, a: (k + 1, df.sin(a) * a), (0, a))[1], lambda: a)


def in_a_branch_in_a_loop(n, a):
    for i in df.range(n):
        if i != 1:
            for _ in df.range(i + 1):
                a = df.sin(a) * a
    return a


@pytest.mark.parametrize("place", ["around", "inside"])
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("f", [varying, varying_by_while_loop, varying_three_deep, in_a_branch,
                               in_both_branches, in_a_branch_of_cond, in_a_branch_in_a_loop])
def test_nested_loops(f, order, place):
    same(f, [(df.constant(n), number(.7)) for n in range(4)],
         lambda wrap, f: (wrap(orders(f, order)[-1]) if place == "inside"
                          else orders(wrap(f), order)[-1]), order + (place == "inside"))


# --- programs that raised internal errors ---

def returned_early(n, a):
    if -1.2 < a <= 1.6:
        a = a + a * .5
    else:
        if -1.2 < a <= .6:
            return a
    return df.sin(a)


def called_and_differentiated_in_a_branch(n, a):
    with df.GradientTape() as tape:
        tape.watch(a)
        b = a
        if a < 1.2:
            b = a - df.grad(lambda z: maybe_halved(n, z))(a) * .2
        y = df.sin(b) * a
    return tape.gradient(y, a)


@df.function
def maybe_halved(n, a):
    if n > 7:
        a = a * .5
    return a * 1.


def called_as_it_is(n, a):
    b = unchanged(n, a)
    return df.sin(b) * a


@df.function
def unchanged(n, a):
    if n > 7:
        a = a * .5
    return a


def tape_in_a_range_of_a_counter(n, a):
    def step(k, a, b):
        for _ in df.range(k):
            with df.GradientTape() as tape:
                tape.watch(b)
                y = df.sin(b) * (df.tanh(a) if k < 1 else df.tanh(a) * b)
            b = b + df.tanh(tape.gradient(y, b)) * a
        return k + 1, a, b

    return df.while_loop(lambda k, a, b: k < n, step, (0, a, a * .5))[2]


def rows_in_a_branch_in_rows(n, a):
    rows = df.stack([a * .3, a * .5, a + .1])
    b = a * .7
    for i, _ in enumerate(rows):
        if i < n:
            for r in rows:
                a = df.tanh(a + r)
        b = a * b * .5
    return df.sin(a) * b


def scan_in_while_loop(n, a):
    def step(k, a, b):
        (a, b), ys = df.scan(lambda c, r: (c, c[1] * r), (a, b), df.stack([a, a * .5]))
        return k + 1, a, b + df.reduce_sum(df.sin(ys))

    _, a, b = df.while_loop(lambda k, a, b: k < n, step, (0, a, a * .5))
    return df.sin(a) * b


LEVELS = [{0}, {1}, {0, 1}, {2}, {0, 2}]
REDUCED = [returned_early, called_and_differentiated_in_a_branch, called_as_it_is,
           tape_in_a_range_of_a_counter, rows_in_a_branch_in_rows, scan_in_while_loop]


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("f", REDUCED)
def test_reduced_random_programs(f, levels):
    """Programs reduced from random ones; some levels of two derivatives are traced."""
    def g(wrap, made):
        for level in range(3):
            made = wrap(made) if level in levels else made
            made = orders(made, 1)[1] if level < 2 else made
        return made

    wanted = same(f, [(df.constant(n), number(.7)) for n in range(4)], g,
                  LEVELS.index(levels) + REDUCED.index(f))
    assert np.isfinite([y.item() for y in wanted]).all()
