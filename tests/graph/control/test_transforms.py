"""Transforms around a traced function with a loop, to order 4: the derivatives of a⁴ are known."""

import pytest

import dualflow as df

pytestmark = pytest.mark.filterwarnings("ignore::dualflow.errors.GradientWarning")


def number(x):
    return df.constant(x, df.float64)


def gradient(f):
    """The gradient of a function of a number, by a tape."""
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
CONVERTED = [squares, squares_by_while]     # `jacfwd` maps functions, which are not converted
TRANSFORMS = {
    "grad": lambda f: lambda a: df.grad(f)(a),
    "jvp": lambda f: lambda a: df.jvp(f, (a,), (number(1.),))[1],
    "vjp": lambda f: lambda a: df.vjp(f, a)[1](number(1.))[0],
    "tape": gradient,
    "jacrev": lambda f: lambda a: df.jacrev(f)(a),
    "jacfwd": lambda f: lambda a: df.jacfwd(f)(a),
}


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize(("f", "way"), [
    (f, way) for f in SQUARES for way in TRANSFORMS if way != "jacfwd" or f not in CONVERTED])
def test_derivatives_around_a_function(f, way, order):
    traced = df.function(f)
    g = lambda a: traced(df.constant(2), a)             # noqa: E731
    for _ in range(order):
        g = TRANSFORMS[way](g)
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
    """A tape around a function that has the gradient of another one."""
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
