"""Inverses of distributions: float32 polynomials against float64 rational functions, the ends."""

import math

import numpy as np
import pytest

import dualflow as df
from tests.ops.rounded import assert_rounded, bits

# In ulp, with and without FMA (docs/numerics.md).
ERRORS = {"erfinv": (2.0, 2.9), "erfcinv": (2.6, 3.5), "ndtri": (2.1, 2.9)}


@pytest.mark.parametrize("name", ERRORS)
def test_float32_matches_float64(name):
    rng, f = np.random.default_rng(0), getattr(df.math, name)
    below_1 = np.arange(0x3f800000 - 20_000, 0x3f800003, dtype="u4").view("f4")
    x = np.concatenate([rng.uniform(-1, 2, 60_000), below_1, -below_1, 2 * below_1, below_1 / 2,
                        bits(rng, 40_000)]).astype("f4")
    got, want = f(x).numpy(), f(x.astype("f8")).numpy()
    assert_rounded(got, want, ERRORS[name][df.config.isa() == "baseline"], x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ends_of_the_range(dtype):
    def values(f, *args):
        return f(np.array(args, dtype)).numpy().tolist()

    inf = math.inf
    assert values(df.math.erfinv, -1, 0, 1) == [-inf, 0, inf]
    assert values(df.math.erfcinv, 0, 1, 2) == [inf, 0, -inf]
    assert values(df.math.ndtri, 0, 0.5, 1) == [-inf, 0, inf]
    assert np.signbit(values(df.math.erfinv, -0.0)).all()
    assert np.isnan(values(df.math.erfinv, -1.1, 1.1, inf, math.nan)).all()
    assert np.isnan(values(df.math.erfcinv, -0.1, 2.1, inf, math.nan)).all()
    assert np.isnan(values(df.math.ndtri, -0.1, 1.1, -inf, math.nan)).all()
