"""Fourier transforms against NumPy."""

import numpy as np
import pytest

import dualflow as df
from dualflow.errors import DTypeError, InvalidArgumentError

xp = df.array_api
RNG = np.random.default_rng(7)
X = RNG.normal(size=(4, 5, 6)) + 1j * RNG.normal(size=(4, 5, 6))
OF_REAL = {"rfft", "rfftn", "ihfft"}


def compare(name, x, **options):
    if name in OF_REAL:
        x = x.real.copy()
    want = getattr(np.fft, name)(x, **options)
    got = getattr(xp.fft, name)(df.constant(x), **options)
    assert got.shape == want.shape and got.dtype.name == want.dtype.name
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-13 * max(np.abs(want).max(), 1))


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_transforms_along_an_axis(name, norm):
    for axis in (-1, 0, 1):
        for n in (None, 1, 4, 5, 9):
            compare(name, X, n=n, axis=axis, norm=norm)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_transforms_along_several_axes(name, norm):
    for options in ({}, {"axes": (0,)}, {"axes": (2, 0)}, {"s": (3, 8), "axes": (-1, -2)},
                    {"s": (2, 7, 6), "axes": (0, 1, 2)}):
        compare(name, X, norm=norm, **options)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_frequencies(dtype):
    for n in (1, 2, 5, 8):
        for name in ("fftfreq", "rfftfreq"):
            got = getattr(xp.fft, name)(n, d=0.3, dtype=getattr(xp, dtype), device="cpu")
            assert got.dtype.name == dtype
            np.testing.assert_allclose(got, getattr(np.fft, name)(n, 0.3),
                                       rtol=1e-6 if dtype == "float32" else 1e-15)
    assert xp.fft.fftfreq(3).dtype is xp.float32
    for axes in (None, 1, (0, 2)):
        compare("fftshift", X, axes=axes)
        compare("ifftshift", X, axes=axes)


def test_gradients_and_graphs():
    def loss(x):
        return xp.sum(xp.square(xp.abs(xp.fft.fft(x, norm="ortho"))))

    x = df.constant(X)
    with df.GradientTape() as tape:
        tape.watch(x)
        y = loss(x)
    np.testing.assert_allclose(tape.gradient(y, x), 2 * X, rtol=1e-12)
    assert df.function(loss)(x).item() == y.item()


def test_bad_arguments():
    with pytest.raises(InvalidArgumentError, match="norm is 'unit'"):
        xp.fft.fft(X, norm="unit")
    with pytest.raises(InvalidArgumentError, match="norm is 'unit'"):
        xp.fft.hfft(X, norm="unit")
    with pytest.raises(DTypeError, match="fftfreq: dtype is"):
        xp.fft.fftfreq(3, dtype=xp.int32)
    with pytest.raises(InvalidArgumentError, match="rfftfreq: n is 0"):
        xp.fft.rfftfreq(0)
    with pytest.raises(InvalidArgumentError, match="fftfreq: device is 'gpu'"):
        xp.fft.fftfreq(2, device="gpu")
    with pytest.raises(DTypeError, match="complex128, expected real numbers"):
        xp.fft.rfft(X)
