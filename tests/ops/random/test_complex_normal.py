"""Complex random numbers: each part has half of the variance."""

import numpy as np
import pytest

import dualflow as df
from dualflow.errors import DTypeError


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_moments(dtype):
    z = df.random.stateless_normal([200, 500], seed=[1, 2], mean=3 - 1j, stddev=2.0, dtype=dtype)
    z = z.numpy()
    assert z.dtype == dtype and z.shape == (200, 500)
    assert abs(z.mean() - (3 - 1j)) < 0.03
    np.testing.assert_allclose([z.real.var(), z.imag.var()], 2.0, rtol=0.03)
    assert abs(np.mean((z.real - z.real.mean()) * (z.imag - z.imag.mean()))) < 0.03


def test_sources_agree():
    df.random.set_seed(3)
    a = df.random.normal([4], dtype=df.complex64, seed=5)
    b = df.random.Generator.from_seed(5).normal([4], dtype=df.complex64)
    assert a.shape == b.shape == (4,) and a.dtype is b.dtype is df.complex64
    c = df.random.stateless_normal(4, seed=[1, 2], dtype=df.complex64)
    d = df.function(lambda: df.random.stateless_normal([4], [1, 2], dtype=df.complex64))()
    np.testing.assert_array_equal(c, d)


def test_gradient_of_the_mean_and_deviation():
    mean, stddev = df.constant(1 + 2j), df.constant(2 - 1j)
    with df.GradientTape() as tape:
        tape.watch([mean, stddev])
        z = df.random.stateless_normal([3], [1, 2], mean, stddev, df.complex128)
        y = df.reduce_sum(df.math.real(z))
    unit = df.random.stateless_normal([3], [1, 2], dtype=df.complex128).numpy()
    g = tape.gradient(y, [mean, stddev])
    np.testing.assert_allclose(g[0], 3)
    np.testing.assert_allclose(g[1], unit.conj().sum())


@pytest.mark.parametrize("draw", [df.random.uniform, df.random.truncated_normal])
def test_refusals(draw):
    with pytest.raises(DTypeError, match=r"(random_uniform|truncated_normal): .*complex64"):
        draw([3], dtype=df.complex64)
