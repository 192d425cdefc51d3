"""Gradients of branches and loops with hand-derived values, in float64. Each program is the
smallest one that shows a certain defect of the gradient rules."""

import math

import pytest

import dualflow as df

pytestmark = pytest.mark.filterwarnings("ignore::dualflow.errors.GradientWarning")


def number(x):
    return df.constant(x, df.float64)


def gradient(f, chosen=None):
    """Return the gradient function with respect to the floating, or the chosen, arguments."""
    def g(*args):
        xs = [x for x in args if x.dtype.is_floating]
        with df.GradientTape() as tape:
            tape.watch(xs)
            y = f(*args)
        found = tape.gradient(y, xs, unconnected_gradients="zero")
        return found if chosen is None else found[chosen]

    return g


def check(f, args, want, of=gradient):
    """Compare derivatives by tapes in eager mode, around a traced function and inside it."""
    for g in (of(f), of(df.function(f)), df.function(of(f)), df.function(of(df.function(f)))):
        assert [y.tolist() for y in g(*args)] == want


# --- rows that no iteration reads ---

def until_three(x, rows):
    for r in rows:
        if x > 3.:
            break
        x = x * r
    return x


def test_rows_after_break_have_zero_gradient():
    rows = number([2., 2., 5., 7.])
    check(until_three, [number(1.), rows], [4., [2., 2., 0., 0.]])


def test_rows_after_break_with_another_reader():
    rows = number([2., 2., 5., 7.])
    check(lambda x, rows: until_three(x, rows) + df.reduce_sum(rows * rows), [number(1.), rows],
          [4., [6., 6., 10., 14.]])


def second(f):
    """Return the gradient of the sum of squares of the gradient in the second argument."""
    return gradient(lambda *args: df.reduce_sum(gradient(f, 1)(*args) ** 2))


def test_second_derivative_in_rows_after_break():
    """x^2 (r0^2 + r1^2)."""
    check(until_three, [number(1.), number([2., 2., 5., 7.])], [16., [4., 4., 0., 0.]], second)


def roots(v, x, n):
    i = 0
    for r in df.sqrt(v):
        if i >= n:
            break
        x = x * x * r
        i = i + 1
    return x


def test_second_derivative_if_no_row_is_read():
    """The rows are square roots of zero and get no cotangent: 0 times infinity would be NaN."""
    check(roots, [number([0., 0.]), number(2.), df.constant(0)], [[0., 0.], 0.], second)


def test_second_derivative_if_only_the_first_row_is_read():
    """(2 x)^2 v, in which only the first row has a cotangent."""
    check(roots, [number([4., 1.]), number(2.), df.constant(1)], [[16., 0.], 64.], second)


# --- values that an iteration appends and passes to the next one ---

@pytest.mark.parametrize("n", [3, df.constant(3)])
def test_appended_carries(n):
    """x w + 2 x w^2 + 4 x w^3 + 8 x w^3."""
    def f(x, w):
        ys = []
        for _ in df.range(n):
            x = x * w
            ys.append(x)
        return df.reduce_sum(df.stack(ys) * number([1., 2., 4.])) + x * 8.

    check(f, [number(1.), number(.5)], [2.5, 12.])


def test_appended_carries_with_an_unread_start():
    """The start is the square root of zero and gets no cotangent: 0 times infinity would be NaN."""
    def f(v, w, n):
        y, ys = df.sqrt(v), []
        for _ in df.range(n):
            y = w * w
            ys.append(y)
        return df.reduce_sum(df.stack(ys)) + y

    check(f, [number(0.), number(3.), df.constant(2)], [0., 18.])


def appended_zeros(x, w, n):
    ys = []
    for _ in df.range(n):
        x = x + w
        ys.append(x)
    return df.reduce_sum(df.stack(ys) * -0.)


def carried_zeros(x, w, n):
    for _ in df.range(n):
        x = x + w
    return x * -0.


@pytest.mark.parametrize("f", [appended_zeros, carried_zeros])
def test_accumulators_start_from_the_additive_identity(f):
    """The sum of -0.0 and -0.0 is -0.0; the sum of 0.0 and -0.0 is 0.0."""
    def inverse(f):
        return lambda *args: [1. / y for y in gradient(f)(*args)]

    check(f, [number(1.), number(1.), df.constant(2)], [-math.inf, -math.inf], inverse)


# --- custom gradient rules in called functions ---

@df.custom_gradient
def doubled(x):
    """A function with a wrong gradient rule, to tell the rule from the derivative."""
    return x * 2., lambda g: g * x * 100.


@pytest.mark.parametrize("traced", [False, True])
def test_vmap_of_a_call_with_a_custom_gradient(traced):
    inner = df.function(lambda x: doubled(x) * 3.)
    each = df.vmap(df.grad(inner))
    whole = df.grad(lambda x: df.reduce_sum(df.vmap(inner)(x)))
    for g in (each, whole):
        g = df.function(g) if traced else g
        assert g(number([1., 2.])).tolist() == [300., 600.]


def test_vmap_of_the_gradient_of_a_called_loop():
    """The loop is x^4; vmap reads its residuals by what the call returns: (1 + 2) 12 x^2."""
    power = df.function(lambda x: df.scan(lambda c, _: (c * c, c), x, length=2)[0])

    def second_derivative(x):
        with df.GradientTape() as outer:
            outer.watch(x)
            with df.GradientTape(persistent=True) as inner:
                inner.watch(x)
                y = power(x)
            rows = df.vmap(lambda s: inner.gradient(y, x, output_gradients=s))(number([1., 2.]))
            total = df.reduce_sum(rows)
        return outer.gradient(total, x)

    for g in (second_derivative, df.function(second_derivative)):
        assert g(number(.5)).item() == 9.


# --- data-dependent trip counts ---

def squared_until_ten(x):
    while True:
        x = x * x
        if x > 10.:
            break
    return x


def test_derivatives_of_a_loop_with_break():
    """Two iterations, x^4: 4 x^3, and 16 x^6 for the second derivative."""
    check(squared_until_ten, [number(2.)], [32.])
    check(squared_until_ten, [number(2.)], [16. * 6 * 2. ** 5],
          lambda f: gradient(lambda x: gradient(f, 0)(x) ** 2))
