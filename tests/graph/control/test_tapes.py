"""Tapes inside and around traced functions with nested branches and loops: the cotangent of each
residual is counted once, also if rows of different shapes are packed."""

import pytest

import dualflow as df
from tests.graph.control.test_gradients import check, gradients, inputs, same_bits, whiles

pytestmark = pytest.mark.filterwarnings("ignore::dualflow.errors.GradientWarning")
ROWS = df.constant([[.1, .2, .3], [.5, .9, .3], [-.3, -.2, -.1], [.3, .1, .2]])
FUNCTIONS = []


def penalty(loop):
    """Return a function with an inner tape: squares of gradients of the loop's output."""
    def f(x, w, rows):
        with df.GradientTape(persistent=True) as tape:
            tape.watch([x, w])
            c, y = loop(x, w, rows)
            a, b = df.reduce_sum(c * c), df.reduce_sum(df.sin(y))
        g, h = tape.gradient(a, x), tape.gradient(b, w, unconnected_gradients="zero")
        return df.reduce_sum(g * g) + df.reduce_sum(h * h * g)

    FUNCTIONS.append(pytest.param(f, id=f"penalty {loop.__name__}"))
    return loop


def plain(loop):
    def f(x, w, rows):
        c, y = loop(x, w, rows)
        return df.reduce_sum(c * c) + df.reduce_sum(df.sin(y))

    FUNCTIONS.append(pytest.param(f, id=loop.__name__))
    return loop


def many(c, w, r):
    """A loop with a data-dependent trip count."""
    return df.while_loop(lambda k, c: k < df.cast(df.abs(r[0]) * 10., "int32"),
                         lambda k, c: (k + 1, df.sin(c * w + r)), (0, c))[1]


@penalty
def scan(x, w, rows):
    return df.scan(lambda c, r: (df.sin(c * w + r), c * r), x, rows)


@penalty
def cond(x, w, rows):
    c = df.cond(df.reduce_sum(x) > 0., lambda: df.sin(x * w), lambda: df.cos(x * w))
    return c, c


@penalty
def scan_in_scan(x, w, rows):
    return df.scan(lambda c, r: (df.scan(lambda c, _: (df.sin(c * w + r), None), c, None, 3)[0],
                                 c * r), x, rows)


@penalty
@plain
def while_in_scan(x, w, rows):
    return df.scan(lambda c, r: (many(c, w, r), df.sin(c)), x, rows)


@plain
def while_in_scan_in_scan(x, w, rows):
    def step(c, r):
        c, ys = df.scan(lambda c, q: (many(c, w, q), c), c, df.stack([r, r * 2.]))
        return df.tanh(c), df.reduce_sum(ys, 0)

    return df.scan(step, x, rows)


@plain
def whiles_in_while_in_scan(x, w, rows):
    def step(c, r):
        def middle(k, c):
            c = whiles(c * .2 + r, w, df.reduce_sum(df.abs(r)) * df.cast(k + 1, "float32"))
            return k + 1, df.tanh(c)

        _, c = df.while_loop(lambda k, c: k < df.cast(df.abs(r[0]) * 10., "int32") % 4, middle,
                             (0, c))
        return c * w, c

    return df.scan(step, x, rows)


@plain
def while_in_scan_in_scan_in_while(x, w, rows):
    def step(k, c):
        c, y = while_in_scan_in_scan(c, w, rows * df.cast(k + 1, "float32"))
        return k + 1, c + df.reduce_sum(y, 0)

    c = df.while_loop(lambda k, c: k < 2, step, (0, x))[1]
    return c, c


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("f", FUNCTIONS)
def test_derivatives_match_eager(f, order):
    args = [*inputs(2)[:2], ROWS]
    want = check(f, args, order, order)
    traced = df.function(f)
    same_bits(gradients(traced, order)(*args), want)


@pytest.mark.parametrize(("loop", "order"), [
    (while_in_scan, 1), (while_in_scan, 2), (while_in_scan_in_scan, 1)])
@pytest.mark.parametrize("sign", [1., -1.])
def test_gradient_in_a_branch(sign, loop, order):
    """If the other branch is taken, the residuals of the loops get no cotangent."""
    def f(x, w, rows):
        with df.GradientTape() as tape:
            tape.watch(x)
            c, y = loop(x, w, rows)
            a = df.reduce_sum(c * c) + df.reduce_sum(y)
        return df.reduce_sum(df.cond(df.reduce_sum(x) * sign < 0.,
                                     lambda: df.square(tape.gradient(a, x)), lambda: x * c))

    check(f, [*inputs(2)[:2], ROWS], order)


@pytest.mark.parametrize("loop", ["while_loop", "scan"])
@pytest.mark.parametrize(("order", "want"), [(2, 5.88), (3, 16.8)])
def test_gradient_in_a_function_of_a_loop_in_another_function(loop, order, want):
    def power(x):
        if loop == "scan":
            return df.scan(lambda c, _: (c * c, c), x, length=2)[0]
        return df.while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, x * x), (0, x))[1]

    inner = df.function(power)
    g = df.function(df.grad(lambda x: inner(x)))
    for _ in range(order - 1):
        g = df.grad(g)
    assert g(df.constant(.7, df.float64)).item() == pytest.approx(want)


def varying_trips(x, n):
    for i in df.range(n):
        for _ in df.range(i + 1):
            x = df.sin(x) * x + x
    return x


def varying_trips_in_a_branch(x, n):
    for i in df.range(n):
        if i > 0:
            for _ in df.range(i + 1):
                x = df.sin(x) * x + x
    return x


def varying_trips_of_functions(x, n):
    def outer(i, x):
        return i + 1, df.while_loop(lambda j, x: j < i + 1,
                                    lambda j, x: (j + 1, df.sin(x) * x + x), (0, x))[1]
    return df.while_loop(lambda i, x: i < n, outer, (0, x))[1]


def of_order(f, order):
    """Return the derivative of an order of a function of one number."""
    for _ in range(order):
        f = df.grad(f)
    return f


@pytest.mark.parametrize("n", [0, 1, 2, 3])
@pytest.mark.parametrize("f", [varying_trips, varying_trips_in_a_branch,
                               varying_trips_of_functions])
def test_derivatives_of_nested_loops(f, n):
    x, n = df.constant(.3, df.float64), df.constant(n)
    traced = df.function(f)
    for order in (1, 2, 3):
        want = of_order(lambda x: f(x, n), order)(x).item()
        assert of_order(lambda x: traced(x, n), order)(x).item() == pytest.approx(want, 1e-12)


def chosen(x, y, z):
    if df.reduce_sum(x) > .1:
        return df.tanh(x) * y
    return x * .5 - z


def called_in_a_branch(f):
    def g(x, y):
        if df.reduce_sum(x) > .1:
            x = f(x * x * .5, y, x)
        return df.reduce_sum(x * x)
    return g


def called_in_a_branch_of_functions(f):
    return lambda x, y: df.reduce_sum(df.sin(df.cond(
        df.reduce_sum(x) > .1, lambda: f(x * x * .5, y, x), lambda: x)))


def called_in_a_loop(f):
    def g(x, y):
        for _ in df.range(2):
            x = f(x * x * .5, y, x)
        return df.reduce_sum(x * x)
    return g


def gradients_added(f):
    """Return the sum of a function's gradients, each with a different factor."""
    def g(*xs):
        found = df.grad(f, (0, 1))(*xs)
        return df.reduce_sum(df.add_n([y * (k + 1.) for k, y in enumerate(found)]))
    return g


def of_order_in_all(f, order):
    for _ in range(order):
        f = gradients_added(f)
    return f


@pytest.mark.parametrize("form", [called_in_a_branch, called_in_a_branch_of_functions,
                                  called_in_a_loop])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_branch_in_a_function_called_in_a_body(form, order):
    xs = df.constant([.5, .7], df.float64), df.constant([.3, .4], df.float64)
    want = of_order_in_all(form(chosen), order)(*xs).item()
    called = df.function(chosen)
    for inside in range(order + 1):
        traced = df.function(of_order_in_all(form(called), inside))
        got = of_order_in_all(traced, order - inside)(*xs).item()
        assert got == pytest.approx(want, 1e-12), f"{inside} gradients inside the function"
