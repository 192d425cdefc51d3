"""Transforms around a traced function with a loop, to order 4: the derivatives of a⁴ are known."""

import pytest

import dualflow as df
from tests import sampling

pytestmark = pytest.mark.filterwarnings("ignore::dualflow.errors.GradientWarning")


def number(x):
    return df.constant(x, df.float64)


def gradient(f):
    """Return the gradient of a function of a number, by a tape."""
    def g(a):
        with df.GradientTape() as tape:
            tape.watch(a)
            y = f(a)
        return tape.gradient(y, a)

    return g


def squares(n, a):
    for _ in df.range(n):
        a = a * a
    return a


def squares_by_while(n, a):
    k = 0
    while k < n:
        a = a * a
        k += 1
    return a


def squares_by_while_loop(n, a):
    return df.while_loop(lambda k, a: k < n, lambda k, a: (k + 1, a * a), (0, a))[1]


def squares_by_scan(n, a):
    return df.scan(lambda a, _: (a * a, None), a, None, length=n)[0]


SQUARES = [squares, squares_by_while, squares_by_while_loop, squares_by_scan]
EXPECTED = {1: 4 * .7**3, 2: 12 * .7**2, 3: 24 * .7, 4: 24.}       # of a⁴
CONVERTED = [squares, squares_by_while]     # `jacfwd` maps functions without converting them
TRANSFORMS = {
    "grad": lambda f: lambda a: df.grad(f)(a),
    "jvp": lambda f: lambda a: df.jvp(f, (a,), (number(1.),))[1],
    "vjp": lambda f: lambda a: df.vjp(f, a)[1](number(1.))[0],
    "tape": gradient,
    "jacrev": lambda f: lambda a: df.jacrev(f)(a),
    "jacfwd": lambda f: lambda a: df.jacfwd(f)(a),
}


def derivatives():
    """Yield functions, transforms and orders; of order 3 one function for a transform by default,
    and none of order 4."""
    for turn, name in enumerate(TRANSFORMS):
        allowed = [f for f in SQUARES if name != "jacfwd" or f not in CONVERTED]
        for order in (1, 2, 3, 4) if sampling.every else (1, 2, 3):
            for f in allowed if order < 3 else sampling.one_of(allowed, turn):
                yield f, name, order


@pytest.mark.parametrize(("f", "name", "order"), list(derivatives()))
def test_derivatives_around_a_function(f, name, order):
    traced = df.function(f)
    g = lambda a: traced(df.constant(2), a)             # noqa: E731
    for _ in range(order):
        g = TRANSFORMS[name](g)
    assert g(number(.7)).item() == pytest.approx(EXPECTED[order], rel=1e-12)


@pytest.mark.parametrize("f", SQUARES)
def test_hvp_and_hessian_around_a_function(f):
    traced = df.function(f)
    g = lambda a: traced(df.constant(2), a)             # noqa: E731
    assert df.hvp(g, (number(.7),), (number(1.),))[0].item() == pytest.approx(EXPECTED[2])
    assert df.hessian(g)(number(.7)).item() == pytest.approx(EXPECTED[2])
    third = df.grad(lambda a: df.hvp(g, (a,), (number(1.),))[0])
    assert third(number(.7)).item() == pytest.approx(EXPECTED[3])


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("f", SQUARES)
def test_function_with_the_gradient_of_another(f, order):
    """A tape around a function that returns the gradient of another one."""
    traced = df.function(lambda a: f(df.constant(2), a))
    inner = df.function(gradient(traced))
    assert inner(number(.7)).item() == pytest.approx(EXPECTED[1])
    g = inner
    for _ in range(order - 1):
        g = gradient(g)
    assert g(number(.7)).item() == pytest.approx(EXPECTED[order], rel=1e-12)


@pytest.mark.parametrize("f", SQUARES)
def test_functions_at_each_level(f):
    g = df.function(lambda a: f(df.constant(2), a))
    for order in (1, 2, 3):
        g = df.function(gradient(g))
        assert g(number(.7)).item() == pytest.approx(EXPECTED[order], rel=1e-12)


# --- gradient rules of a call inside vmap, or while a function is traced ---

N = 20          # more rows than `jacobian` computes without vmap


def plain(x):
    return df.tanh(x) * df.reduce_sum(x * x)


def branching(x):
    return df.cond(df.reduce_sum(x) > 0., lambda: df.sin(x) * x[0], lambda: x * x)


def looping(x):
    return df.while_loop(lambda k, y: k < 3, lambda k, y: (k + 1, df.sin(y) * x), (0, x))[1]


def loop_until(x):
    """A loop with a data-dependent trip count."""
    return df.while_loop(lambda y: df.reduce_sum(y * y) < 40., lambda y: y * 1.5 + x * x, (x,))[0]


def scanning(x):
    return df.scan(lambda c, a: (df.sin(c) * a, c * a), x[0], x)[1]


def nested_loops(x):
    """A loop in a loop; the inner trip count varies."""
    def inner(k, y):
        return df.while_loop(lambda j, y: j <= k, lambda j, y: (j + 1, df.sin(y) * x + y),
                             (df.constant(0), y))[1]

    return df.while_loop(lambda k, y: k < 3, lambda k, y: (k + 1, inner(k, y)),
                         (df.constant(0), x))[1]


def nested_while(x):
    """`nested_loops` with Python statements, and a branch in the inner loop."""
    y = x
    for k in df.range(3):
        j = df.constant(0, k.dtype)
        while j <= k:
            y = df.cond(j > 0, lambda y=y: df.sin(y) * x, lambda y=y: y * y + x)
            j += 1
    return y


VECTORS = [plain, branching, looping, loop_until, scanning, nested_loops, nested_while]


def point(n=N):
    return df.constant([.1 + .8 * k / n for k in range(n)], df.float64)


def jacobian(f):
    def g(x):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.jacobian(y, x)

    return g


def loop_fallback(f):
    """Return the Jacobian function that computes row by row, without vmap."""
    def g(x):
        with df.GradientTape(persistent=True) as tape:
            tape.watch(x)
            parts = [y for y in df.unstack(df.reshape(f(x), [-1]))]
        return df.stack([tape.gradient(y, x, unconnected_gradients="zero") for y in parts])

    return g


@pytest.mark.parametrize("f", VECTORS)
def test_jacobian_of_many_targets_around_a_function(f):
    found = jacobian(df.function(f))(point())
    df.testing.assert_close(found, loop_fallback(f)(point()), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("f", VECTORS)
def test_jacobian_inside_a_function(f):
    found = df.function(jacobian(df.function(f)))(point())
    df.testing.assert_close(found, loop_fallback(f)(point()), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("f", VECTORS)
def test_gradient_of_a_jacobian_around_a_function(f):
    def weighted(jacobian, f):
        weights = df.reshape(df.range(float(N * N), dtype=df.float64), [N, N]) / N**2
        return gradient(lambda x: df.reduce_sum(jacobian(f)(x) * weights))(point())

    found = weighted(jacobian, df.function(f))
    df.testing.assert_close(found, weighted(loop_fallback, f), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("f", VECTORS)
def test_vmap_of_gradients_around_a_function(f):
    traced = df.function(f)
    rows = df.stack([point(4), point(4) * .5, 1. - point(4)])

    def of(f):
        return lambda x: df.vjp(f, x)[1](x * x + 1.)[0]

    if f is not nested_while:           # vmap does not convert Python statements
        found = df.transforms.vmap(of(traced))(rows)
        expected = df.stack([of(f)(x) for x in df.unstack(rows)])
        df.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    pullback = df.vjp(traced, point(4))[1]
    found = df.transforms.vmap(lambda g: pullback(g)[0])(rows)
    expected = df.stack([df.vjp(f, point(4))[1](g)[0] for g in df.unstack(rows)])
    df.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("f", VECTORS)
def test_tape_passed_to_the_function_that_computes_its_gradient(f):
    """The recording tape is an argument of the traced function."""
    def record(f):
        x = point(4)
        tape = df.GradientTape()
        with tape:
            tape.watch(x)
            y = f(x)
        return tape, x, y

    tape, x, y = record(df.function(f))
    found = df.function(lambda g: tape.gradient(y, x, output_gradients=g))(x * x + 1.)
    tape, x, y = record(f)
    df.testing.assert_close(found, tape.gradient(y, x, output_gradients=x * x + 1.),
                            rtol=1e-12, atol=1e-12)


def poly(x, w):
    return w * x * x + x


def test_gradients_use_variable_values_of_the_forward_run():
    w = df.Variable(df.constant([2.] * N, df.float64))
    traced = df.function(lambda x: poly(x, w))
    x = point()
    with df.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = traced(x)
    w.assign(w + 1.)
    found = tape.jacobian(y, x), tape.jacobian(y, w)
    df.testing.assert_close(found[0], df.linalg.diag(4. * x + 1.), rtol=1e-12, atol=0.)
    df.testing.assert_close(found[1], df.linalg.diag(x * x), rtol=1e-12, atol=0.)


def test_jacobian_around_a_function_with_a_number_argument():
    traced = df.function(lambda x, a: df.sin(x) * a)
    for a in (2., 3.5):
        found = jacobian(lambda x, a=a: traced(x, a))(point())
        df.testing.assert_close(found, df.linalg.diag(df.cos(point()) * a), rtol=1e-12, atol=0.)


# --- loops without iterations ---

RULE = df.custom_gradient(lambda x: (df.exp(-x), lambda g: -g * df.exp(-x)))


def doubled(x):
    """A loop with no iterations for large x."""
    return df.while_loop(lambda y: df.reduce_sum(y * y) < 1., lambda y: (df.tanh(RULE(y)) + y,),
                         (x,))[0]


def along_sin(f):
    return lambda x: df.jvp(f, (x,), (df.sin(x),))[1]


@pytest.mark.parametrize("scale", [.1, 2.])
@pytest.mark.parametrize("g", [
    df.grad(lambda x: df.reduce_sum(along_sin(along_sin(doubled))(x))),
    along_sin(along_sin(along_sin(doubled))),
    lambda x: df.jacrev(along_sin(along_sin(doubled)))(x)])
def test_derivatives_of_a_loop_that_may_have_no_iterations(g, scale):
    """The stacked rows of such a loop keep the row shape, also in a second derivative."""
    x = point(3) * scale + scale
    df.testing.assert_close(df.function(g)(x), g(x), rtol=1e-12, atol=1e-12)


# --- nested custom gradient rules of an inlined call ---
# The rules differ from the derivatives: a lost rule changes the result.

INNER = df.custom_gradient(lambda x: (df.sin(x), lambda g: g * df.cos(x) * 3.))
OUTER = df.custom_gradient(lambda x: (df.tanh(x), lambda g: g * INNER(x) * x))


def custom(x):
    return OUTER(x) * df.reduce_sum(x)


def custom_in_a_loop(x):
    return df.scan(lambda c, r: (df.sin(c) * df.reduce_sum(OUTER(r * x)), OUTER(c * x) * r),
                   x[0], x)[1][-1]


def mapped_pullback(f):
    """Return vector-Jacobian products, by vmap of the function that `vjp` returns."""
    def g(x):
        pullback = df.vjp(f, x)[1]
        return df.vmap(lambda u: pullback(u)[0])(df.stack([x, x * 2., x * 3.]))

    return g


def summed(f):
    return df.grad(lambda x: df.reduce_sum(f(x) * x))


@pytest.mark.parametrize("f", [custom, custom_in_a_loop])
@pytest.mark.parametrize("g", [
    lambda f: summed(mapped_pullback(f)), lambda f: summed(summed(mapped_pullback(f))),
    lambda f: df.jacrev(mapped_pullback(f)), lambda f: df.jacfwd(summed(mapped_pullback(f))),
    lambda f: lambda x: df.vmap(summed(mapped_pullback(f)))(df.stack([x, x * 2.]))],
    ids=["grad", "second", "jacrev", "jacfwd", "vmap"])
def test_nested_custom_gradients_of_an_inlined_call(f, g):
    x = df.constant([.3, .5, .8], df.float64)
    expected = g(f)(x)
    df.testing.assert_close(g(df.function(f))(x), expected, rtol=1e-10, atol=1e-10)
    df.testing.assert_close(df.function(g(df.function(f)))(x), expected, rtol=1e-10, atol=1e-10)
