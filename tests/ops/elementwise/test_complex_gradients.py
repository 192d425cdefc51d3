"""Gradients of functions of complex numbers: against differences, on branch cuts, traced."""

import numpy as np
import pytest

import dualflow as df
from dualflow.autodiff import ForwardAccumulator
from tests.ops.elementwise.test_complex import FUNCTIONS


def draw(n, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n) + 1j * rng.normal(size=n)


N = 5
V, W = df.constant(draw(N, 1)), df.constant(draw(N, 2))
BASE = df.constant(np.random.default_rng(3).uniform(0.3, 2, N))
RULES = {
    **{name: row[0] for name, row in FUNCTIONS.items()},
    "pow x": lambda x: df.pow(x, W),
    "pow y": lambda x: df.pow(W, x),
    "real base": lambda x: df.pow(BASE, x),
    "negative base": lambda x: df.pow(-BASE, x),
    "real exponent": lambda x: df.pow(x, BASE),
    "x**3": lambda x: x**3,
    "x**-2": lambda x: x**-2,
    "multiply_no_nan": lambda x: df.math.multiply_no_nan(x, W) * df.math.multiply_no_nan(W, x),
    "xlogy": lambda x: df.math.xlogy(x, W) + df.math.xlogy(W, x),
    "xlog1py": lambda x: df.math.xlog1py(x, W) + df.math.xlog1py(W, x),
    "xdivy": lambda x: df.math.xdivy(x, W) + df.math.xdivy(W, x),
    "polar": lambda x: df.math.polar(df.math.real(x), df.math.imag(x)),
    "phase": lambda x: df.exp(1j * df.math.real(x)) * df.abs(x),
}


def wirtinger(f, x, step=1e-6):
    """Return dL/dx + i dL/dy of a real function by central differences."""
    g = np.zeros_like(x)
    for i in range(x.size):
        for unit in (1, 1j):
            d = np.zeros_like(x)
            d[i] = step * unit
            g[i] += unit * (f(df.constant(x + d)).item() - f(df.constant(x - d)).item()) / 2 / step
    return g


def value_and_gradient(loss, x):
    with df.GradientTape() as tape:
        tape.watch(x)
        y = loss(x)
    return y, tape.gradient(y, x)


@pytest.mark.parametrize("name", RULES)
def test_gradients(name):
    """A real loss of a complex intermediate, and a real function of its gradient."""
    def loss(x):
        return df.reduce_sum(df.math.real(V * RULES[name](x)))

    def of_gradient(x):
        return df.reduce_sum(df.math.real(W * value_and_gradient(loss, x)[1]))

    x = draw(N, 4)
    for f in (loss, of_gradient):
        y, g = value_and_gradient(f, df.constant(x))
        np.testing.assert_allclose(g, wirtinger(f, x), rtol=3e-6, atol=3e-7)
        traced_y, traced_g = df.function(lambda x, f=f: value_and_gradient(f, x))(df.constant(x))
        np.testing.assert_array_equal(traced_y, y)
        np.testing.assert_array_equal(traced_g, g)


@pytest.mark.parametrize("name", RULES)
def test_directional_derivatives(name):
    f, x = RULES[name], draw(N, 5)
    at = df.constant(x)
    with ForwardAccumulator(at, W) as forward:
        y = f(at)
    step = 1e-6 * W.numpy()
    moved = (f(df.constant(x + step)).numpy() - f(df.constant(x - step)).numpy()) / 2e-6
    np.testing.assert_allclose(forward.jvp(y), moved, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("f", [lambda p: df.pow(p, W), lambda p: df.pow(W, p)])
def test_gradient_of_a_real_operand_is_real(f):
    def loss(p):
        return df.reduce_sum(df.math.real(V * f(p)))

    p, step = BASE.numpy(), 1e-6
    g = value_and_gradient(loss, BASE)[1]
    want = [(loss(df.constant(p + d)) - loss(df.constant(p - d))).item() / 2 / step
            for d in step * np.eye(N)]
    assert g.dtype == df.float64
    np.testing.assert_allclose(g, want, rtol=1e-6)


CUTS = {"asin": (2, -2), "acos": (2, -2), "atanh": (2, -2), "acosh": (0.5, -2), "log": (-2,),
        "sqrt": (-2,), "rsqrt": (-2,), "log1p": (-3,), "asinh": (2j, -2j), "atan": (2j, -2j)}


@pytest.mark.parametrize("zero", [0., -0.])
@pytest.mark.parametrize("name, z", [(name, z) for name in CUTS for z in CUTS[name]])
def test_gradients_on_both_sides_of_branch_cuts(name, z, zero):
    f, z = FUNCTIONS[name][0], complex(z)

    def at(move):
        place = complex(z.real + move, zero) if z.imag == 0 else complex(zero, z.imag + move)
        return df.constant([place])

    def loss(x):
        return df.reduce_sum(df.math.real(f(x)))

    step = 1e-6 * (1 if z.imag == 0 else 1j)
    want = (f(at(1e-6)) - f(at(-1e-6))).numpy() / (2 * step)
    for call in (value_and_gradient, df.function(value_and_gradient)):
        np.testing.assert_allclose(call(loss, at(0.))[1].numpy(), want.conj(), rtol=1e-6)


@pytest.mark.parametrize("f, z, derivative", [
    (df.tanh, 12 + 1j, lambda z: 1 / np.cosh(z)**2),
    (df.tan, 1 + 12j, lambda z: 1 / np.cos(z)**2),
    (df.sigmoid, 24 + 2j, lambda z: np.exp(-z) / (1 + np.exp(-z))**2)])
def test_gradients_without_cancellation(f, z, derivative):
    """Computed from the result, as 1 - tanh(z)**2, the gradients would lose all digits."""
    z = np.array([z], "complex64")
    g = value_and_gradient(lambda x: df.reduce_sum(df.math.real(f(x))), df.constant(z))[1].numpy()
    want = derivative(z.astype(np.clongdouble)).conj().astype("complex64")
    np.testing.assert_allclose(g, want, rtol=1e-5)


def test_gradients_of_pow_at_zero():
    x, y = df.constant([0j, 0, 0, 2]), df.constant([2 + 0j, 1, 0, 0])
    with df.GradientTape() as tape:
        tape.watch([x, y])
        z = df.reduce_sum(df.math.real(df.pow(x, y)))
    to_x, to_y = tape.gradient(z, [x, y])
    assert to_x.numpy().tolist() == [0, 1, 0, 0]
    np.testing.assert_allclose(to_y, [0, 0, 0, np.log(2)])
