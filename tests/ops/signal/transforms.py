"""Lengths, inputs and comparisons of the tests of Fourier transforms."""

import numpy as np

RNG = np.random.default_rng(8)
DTYPES = {"complex64": 2e-6, "complex128": 5e-15}     # error relative to the largest result
# Powers of two, products of small primes, primes that are radices and primes that are not, and
# lengths from which the steps of a single column are divided among threads.
LENGTHS = [*range(1, 41), 43, 61, 64, 74, 97, 100, 127, 128, 243, 360, 500, 512, 997, 1000, 1024,
           1331, 2310, 4096, 6006, 10007, 16384, 30030]


def numbers(*shape, dtype="complex128"):
    return (RNG.normal(size=shape) + 1j * RNG.normal(size=shape)).astype(dtype)


def assert_close(got, want, dtype):
    assert got.shape == want.shape and got.dtype.name == dtype
    want = np.asarray(want)
    np.testing.assert_allclose(got.numpy(), want, rtol=0,
                               atol=DTYPES.get(dtype, DTYPES["complex64"])
                               * (np.abs(want).max(initial=0) + 1e-30))


def bits(y):
    return y.dtype, tuple(y.shape), y.numpy().tobytes()
