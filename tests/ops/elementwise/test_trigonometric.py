"""Sines, cosines and tangents of large arguments."""

import numpy as np
import pytest

import dualflow as df

# By mpmath, 1400 bits, rounded to float64: x, sin, cos, tan. No float64 is closer to a multiple of
# pi/2 than the second x.
LARGE = [
    (1e22, -0.8522008497671888, 0.523214785395139, -1.6287782256068988),
    (-6381956970095103 * 2.0**797, -1.0, -4.687165924254628e-19, 2.133485385753704e18),
    (1.7976931348623157e308, 0.004961954789184062, -0.9999876894265599, -0.004962015874444895),
    (1e300, -0.8178819121159085, -0.5753861119575491, 1.4214488238747245),
    (3.4028234663852886e38, -0.5218765233336585, 0.8530210398303042, -0.6117979498342481),
    (123456792.0, -0.9604127276688877, -0.27858103404863527, 3.447516558148811),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_large_arguments(dtype):
    limit = np.finfo(dtype)
    rows = np.array([row for row in LARGE if abs(row[0]) <= float(limit.max)])
    x = np.concatenate([rows[:, 0], -rows[:, 0], [0.5] * 9]).astype(dtype)
    for k, f in enumerate([df.sin, df.cos, df.tan], 1):
        got = f(x).numpy().astype("float64")
        want = np.concatenate([rows[:, k], rows[:, k] * (1 if f is df.cos else -1)])
        exact = x[:len(want)] == np.concatenate([rows[:, 0], -rows[:, 0]])
        np.testing.assert_allclose(got[:len(want)][exact], want[exact], rtol=2 * limit.eps)
        np.testing.assert_array_equal(got[len(want):], got[-1])


@pytest.mark.parametrize("f", [df.sin, df.cos, df.tan])
def test_infinities_and_nan(f):
    y = f([np.inf, -np.inf, np.nan, 1e6, 0.0]).numpy()
    assert np.isnan(y[:3]).all() and np.isfinite(y[3:]).all()
