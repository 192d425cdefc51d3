"""lgamma and its derivatives, zeta: poles, zeros, orders out of range, accuracy."""

import math

import numpy as np
import pytest

import dualflow as df
from tests.ops.rounded import assert_rounded, bits


def test_polygamma_of_a_float_order():
    x = df.constant([0.5, 1., 7., -0.5, 0.])
    for n in (0, 1, 2, 100):
        np.testing.assert_array_equal(df.math.polygamma(float(n), x), df.math.polygamma(n, x))
    np.testing.assert_allclose(df.math.polygamma(df.constant(2.), x[:3]),
                               df.math.polygamma(2., x[:3]), rtol=1e-6)
    assert np.isnan(df.math.polygamma(0.5, x).numpy()).all()


def test_polygamma():
    assert df.math.polygamma(0, [1.0]).numpy()[0] == df.math.digamma([1.0]).numpy()[0]
    poles = np.array([0.0, -1.0, -2.0])
    assert df.math.polygamma(1, poles).numpy().tolist() == [math.inf] * 3
    assert np.isnan(df.math.polygamma(2, poles).numpy()).all()
    x = np.array([-0.3, -2.6, 0.4])         # psi_n(x + 1) = psi_n(x) + (-1)^n n! / x^(n + 1)
    for n in (1, 2, 3):
        step = (-1) ** n * math.factorial(n) / x ** (n + 1)
        got = df.math.polygamma(n, x + 1).numpy()
        want = df.math.polygamma(n, x).numpy() + step
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-10)
    for n in (-1, 101):
        with pytest.raises(df.errors.InvalidArgumentError, match=f"polygamma: n is {n}"):
            df.math.polygamma(n, [1.0])


def test_digamma_and_polygamma_are_accurate():
    """Near the root of digamma, and where many terms are summed; references by mpmath, to 3 ulp."""
    x = np.array([1.4616321449683623, 1.4616321449683625, 1.4616, 1.2, 1.75, 16.2])
    psi = [-9.241265521729427e-17, 1.2245374622004068e-16, -3.110625123034165e-05,
           -0.2890398965921884, 0.24747245354686118, 2.753829632584969]
    fifth = [12.93888608295149, 12.938886082951477, 12.94055722392193, 41.38967841777252,
             4.5146597470076975, 2.5033381103788236e-05]
    np.testing.assert_array_max_ulp(df.math.digamma(x).numpy(), np.array(psi), 3)
    np.testing.assert_array_max_ulp(df.math.polygamma(5, x).numpy(), np.array(fifth), 3)


@pytest.mark.parametrize("name", ["lgamma", "digamma"])
def test_float32_gamma_functions_match_float64(name):
    """All magnitudes, poles, neighbours of poles and of zeros; the float64 functions are scalar."""
    f, rng = getattr(df.math, name), np.random.default_rng(0)
    whole = np.arange(-12, 12, dtype="f4")
    zeros = np.array([1, 2, 1.4616321, -0.504083, -1.573498, -2.4570247, -2.747683, -3.1435809,
                      -3.955294, -4.653238, -5.667162], "f4")
    near = [np.float32(x) + k * np.spacing(np.float32(x)) for x in (*whole, *zeros)
            for k in range(-5, 6)]
    x = np.concatenate([whole, near, rng.uniform(-12, 12, 20_000), rng.uniform(0, 3, 5000),
                        [0., -0., np.inf, -np.inf, np.nan, 3e38, 1e-45]], dtype="f4")
    x = np.concatenate([x, bits(rng, 20_000)])
    with np.errstate(invalid="ignore"):
        got, want = f(x).numpy(), f(x.astype("f8")).numpy()
    assert_rounded(got, want, 0.8, x)


@pytest.mark.parametrize("n", [0, 1, 2, 7, 40, 100])
def test_float32_polygamma_matches_float64(n):
    rng = np.random.default_rng(n)
    x = np.concatenate([rng.uniform(0, 5, 2000), rng.uniform(-6, 60, 500), -np.arange(4.),
                        bits(rng, 500)]).astype("f4")
    with np.errstate(invalid="ignore"):
        got, want = df.math.polygamma(n, x).numpy(), df.math.polygamma(n, x.astype("f8")).numpy()
    assert_rounded(got, want, 0.8, x)


def test_float32_zeta_matches_float64():
    rng = np.random.default_rng(0)
    s = np.concatenate([rng.uniform(1, 4, 2000), rng.uniform(1, 250, 1000),
                        rng.integers(0, 120, 500)]).astype("f4")
    q = np.concatenate([rng.uniform(0.01, 40, 3000), rng.integers(-30, 60, 500) / 4]).astype("f4")
    s, q = np.concatenate([s, bits(rng, 500)]), np.concatenate([q, bits(rng, 500)])
    with np.errstate(invalid="ignore"):
        got, want = df.math.zeta(s, q).numpy(), df.math.zeta(s.astype("f8"), q.astype("f8")).numpy()
    assert_rounded(got, want, 0.6, s, q)


def test_zeta_is_accurate():
    """References by mpmath, 50 digits."""
    got = df.math.zeta(np.array([1.5, 2.5, 20.75, 165.5964579529205, 3]),
                       np.array([0.25, 7.125, 58.5, 12.169900281825058, 9.75])).numpy()
    want = [10.213055360466601, 0.03895802924346035, 7.490820925590782e-37,
            1.9068414477783566e-180, 0.005826722143979167]
    np.testing.assert_array_max_ulp(got, np.array(want), 2)
