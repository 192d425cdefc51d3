"""Incomplete gamma and beta functions and zeta: exact values, limits of the range, gradients."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import special

import dualflow as df
from dualflow.ops.elementwise.incomplete import beta_density, gamma_density, igamma_grad_a
from tests.ops.rounded import assert_rounded, bits

INF, NAN = math.inf, math.nan
E_40 = Fraction(235385266837019985407899910749034804508871617254, 10**30)


def wide(*values):
    return [df.constant(np.asarray(v, np.float64)) for v in values]


def close(got, want, rel):
    assert abs(got - want) <= rel * abs(want) or got == want, (got, want)


@given(st.integers(1, 150), st.integers(1, 150), st.integers(1, 999))
def test_betainc_of_integers_is_a_binomial_sum(a, b, thousandths):
    x, n = Fraction(thousandths / 1000), a + b - 1
    want = sum(math.comb(n, j) * x**j * (1 - x)**(n - j) for j in range(a, n + 1))
    got = df.math.betainc(*wide(a, b, float(x))).item()
    if want > 1e-290:
        close(got, float(want), 1e-14)


@given(st.integers(1, 60))
def test_igammac_of_integers_is_a_sum(a):
    want = float(sum(Fraction(40)**k / math.factorial(k) for k in range(a)) / E_40)
    close(df.math.igammac(*wide(a, 40)).item(), want, 2e-15)


def test_igamma_of_one_half_is_the_error_function():
    x = np.geomspace(1e-6, 200, 500)
    np.testing.assert_allclose(df.math.igamma(*wide(0.5, x)).numpy(), special.erf(np.sqrt(x)),
                               rtol=2e-15)
    got, want = df.math.igammac(*wide(0.5, x)).numpy(), special.erfc(np.sqrt(x))
    np.testing.assert_array_less(np.abs(got - want), 2e-15 * np.maximum(x, 1) * want)


@pytest.mark.parametrize("scale", [1e-2, 1.0, 30.0, 1e3, 1e6])
def test_against_scipy(scale):
    rng = np.random.default_rng(1)
    a = scale * rng.uniform(0.5, 2, 400)
    x = np.abs(a + rng.uniform(-4, 4, 400) * np.sqrt(a))     # beyond, SciPy's sums end early
    p, q = df.math.igamma(*wide(a, x)).numpy(), df.math.igammac(*wide(a, x)).numpy()
    rel = max(1e-12, 1e-16 * scale)                 # the condition number in a and x
    np.testing.assert_allclose(p, special.gammainc(a, x), rtol=rel)
    np.testing.assert_allclose(q, special.gammaincc(a, x), rtol=rel)
    np.testing.assert_allclose(p + q, 1, rtol=4e-16)
    b = np.roll(a, 1)
    y = rng.beta(a, b).clip(1e-12, 1 - 1e-12)
    np.testing.assert_allclose(df.math.betainc(*wide(a, b, y)).numpy(), special.betainc(a, b, y),
                               rtol=10 * rel)


def test_float32_is_rounded_once():
    rng = np.random.default_rng(2)
    a, x = rng.uniform(0.1, 50, (2, 1000)).astype(np.float32)
    y = rng.uniform(0, 1, 1000).astype(np.float32)
    wide_ = [v.astype(np.float64) for v in (a, x, y)]
    for got, want in ((df.math.igamma(a, x), special.gammainc(*wide_[:2])),
                      (df.math.igammac(a, x), special.gammaincc(*wide_[:2])),
                      (df.math.betainc(a, x, y), special.betainc(*wide_)),
                      (df.math.zeta(a + 1, x), special.zeta((a + 1).astype(float), wide_[1]))):
        np.testing.assert_array_max_ulp(got.numpy(), want.astype(np.float32), 1)


def test_float32_matches_float64_at_all_magnitudes():
    rng = np.random.default_rng(3)
    near = 10 ** rng.uniform(-4, 6, 2000)
    a = np.concatenate([rng.uniform(0.05, 10, 3000), near, 10 ** rng.uniform(-10, 8, 1000),
                        bits(rng, 1000)]).astype("f4")
    x = np.concatenate([rng.uniform(0.01, 15, 3000),
                        np.abs(near + rng.uniform(-8, 8, 2000) * np.sqrt(near)),
                        10 ** rng.uniform(-30, 8, 1000), bits(rng, 1000)]).astype("f4")
    for f in df.math.igamma, df.math.igammac, gamma_density, igamma_grad_a:
        n = 5500 if f is igamma_grad_a else 7000        # of huge arguments it sums many terms
        got, want = f(a[:n], x[:n]).numpy(), f(a[:n].astype("f8"), x[:n].astype("f8")).numpy()
        assert_rounded(got, want, 0.6, a[:n], x[:n])


def test_float32_of_the_beta_functions_matches_float64():
    """Also results that are small differences of numbers near 1, and arguments near the mean."""
    rng = np.random.default_rng(4)
    a, b = 10 ** rng.uniform(-9, 6, (2, 6000))
    x = rng.uniform(0, 1, 6000)
    mean, n = a / (a + b), a + b
    x[:2000] = (mean + rng.uniform(-5, 5, 6000) * np.sqrt(mean * (1 - mean) / n))[:2000].clip(0, 1)
    x[2000:3000] = 10 ** rng.uniform(-30, 0, 1000)
    a, b, x = (v.astype("f4") for v in (a, b, x))
    got, want = df.math.betainc(a, b, x).numpy(), df.math.betainc(*wide(a, b, x)).numpy()
    assert_rounded(got, want, 0.6, a, b, x)


@pytest.mark.parametrize("function, args, want", [
    ("igamma", (0, 1), 1), ("igamma", (1, 0), 0), ("igamma", (0, 0), NAN), ("igamma", (-1, 1), NAN),
    ("igamma", (1, -1), NAN), ("igamma", (2, INF), 1), ("igamma", (INF, 2), 0),
    ("igamma", (INF, INF), NAN), ("igamma", (NAN, 1), NAN), ("igammac", (0, 1), 0),
    ("igammac", (1, 0), 1), ("igammac", (2, INF), 0), ("igammac", (INF, 2), 1),
    ("igammac", (1, NAN), NAN), ("igamma", (1e-300, 1), 1), ("igammac", (1e-300, 1e-300), 6.9e-298),
    ("betainc", (1, 2, 0), 0), ("betainc", (1, 2, 1), 1), ("betainc", (1, 2, 1.5), NAN),
    ("betainc", (-1, 2, 0.5), NAN), ("betainc", (1, NAN, 0.5), NAN),
    ("zeta", (1, 2), INF), ("zeta", (0.5, 2), NAN), ("zeta", (2, 0), INF), ("zeta", (2, -3), INF),
    ("zeta", (2.5, -0.5), NAN), ("zeta", (2, INF), 0), ("zeta", (INF, 1), 1), ("zeta", (1e6, 1), 1),
    ("zeta", (3, -1e9 - 0.5), 0), ("zeta", (2, NAN), NAN), ("zeta", (2, 1e300), 1e-300),
])
def test_limits_of_the_range(function, args, want):
    got = getattr(df.math, function)(*wide(*args)).item()
    assert (math.isnan(got) and math.isnan(want)) or math.isclose(got, want, rel_tol=0.01,
                                                                  abs_tol=1e-15), got


def test_densities_at_the_limits_of_the_range():
    assert gamma_density(*wide([0.5, 1, 2, 2], [0, 0, 0, INF])).tolist() == [INF, 1, 0, 0]
    assert beta_density(*wide([0.5, 1, 2, 2], [2, 2, 0.5, 3], [0, 0, 1, 1])).tolist() == [
        INF, 2, INF, 0]


@pytest.mark.parametrize("a, x", [(0.3, 0.1), (0.3, 8), (5, 4), (5, 6), (300, 280), (300, 320)])
def test_gradient_in_a(a, x):
    h = min(1e-3 * a, 1e-2)
    p = df.math.igamma(*wide(a + h * np.arange(-2, 3), x)).numpy()
    want = (8 * (p[3] - p[1]) - (p[4] - p[0])) / (12 * h)
    close(igamma_grad_a(*wide(a, x)).item(), want, 1e-7)
    a, x = wide(a, x)
    with df.GradientTape(persistent=True) as tape:
        tape.watch(a)
        p, q = df.math.igamma(a, x), df.math.igammac(a, x)
    close(tape.gradient(p, a).item(), want, 1e-7)
    close(tape.gradient(q, a).item(), -want, 1e-7)


@pytest.mark.parametrize("function, args, refused", [
    (df.math.betainc, (2., 3., 0.5), (0, 1)), (df.math.zeta, (2., 3.), (0,)),
    (igamma_grad_a, (2., 3.), (0,))])
def test_unsupported_gradients_raise(function, args, refused):
    for k in refused:
        given_ = [df.constant(v) for v in args]
        with df.GradientTape() as tape:
            tape.watch(given_[k])
            y = function(*given_)
        with pytest.raises(df.errors.UnimplementedError, match="no gradient with respect to"):
            tape.gradient(y, given_[k])
