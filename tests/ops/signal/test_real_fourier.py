"""Fourier transforms of real numbers against NumPy's."""

import numpy as np
import pytest

import dualflow as df
from tests.ops.signal.transforms import LENGTHS, RNG, assert_close, bits, numbers

S = df.signal


@pytest.mark.parametrize("n", [None, 1, 2, 3, 4, 7, 8, 13, 20])
def test_real_transforms(n):
    for dtype, pair in (("float32", "complex64"), ("float64", "complex128")):
        x = RNG.normal(size=(3, 8)).astype(dtype)
        want = np.fft.rfft(x.astype("float64"), n)
        assert_close(S.rfft(x, n), want, pair)
        z = numbers(3, 6, dtype=pair)
        want = np.fft.irfft(z.astype("complex128"), n)
        assert_close(S.irfft(z, n), want, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [*LENGTHS, 42, 62, 66, 86, 998, 2018, 32768, 32770])
def test_lengths_of_real_transforms(n, dtype):
    """Even lengths are transformed as pairs, odd ones as complex numbers."""
    pair = "complex64" if dtype == "float32" else "complex128"
    for batch in ((), (3,), (33,)) if n < 200 else ((2,),):
        x = RNG.normal(size=(*batch, n)).astype(dtype)
        half = S.rfft(x)
        assert_close(half, np.fft.rfft(x.astype("float64")), pair)
        ends = half.numpy()[..., [0, -1] if n % 2 == 0 else [0]]
        assert (ends.imag == 0).all()
        z = numbers(*batch, n // 2 + 1, dtype=pair)
        assert_close(S.irfft(z, n), np.fft.irfft(z.astype("complex128"), n), dtype)


def test_real_transforms_along_other_axes():
    for shape in ((8, 3), (7, 3, 2), (4, 6, 5)):
        x = RNG.normal(size=shape)
        for axis in range(len(shape)):
            half = np.fft.rfft(x, axis=axis)
            assert_close(S.rfftnd(x, axes=[axis]), half, "complex128")
            want = np.fft.irfft(half, shape[axis], axis=axis)
            assert_close(S.irfftnd(half, [shape[axis]], [axis]), want, "float64")


def test_real_transforms_of_several_dimensions():
    x = RNG.normal(size=(2, 4, 5, 6))
    for name, axes in (("rfft2d", (-2, -1)), ("rfft3d", (-3, -2, -1))):
        for lengths in (None, [7, 5, 4][:len(axes)]):
            half = np.fft.rfftn(x, lengths, axes)
            assert_close(getattr(S, name)(x, lengths), half, "complex128")
            assert_close(getattr(S, f"i{name}")(half, lengths), np.fft.irfftn(half, lengths, axes),
                         "float64")


@pytest.mark.parametrize("n", [6, 7])
def test_unknown_lengths_of_real_transforms(n):
    """Whether the length is even is known only at run time."""
    f = df.function(lambda x, z, y: (S.rfft(x), S.irfft(z, y.shape[0])), input_signature=[
        df.TensorSpec([2, None], "float64"), df.TensorSpec([None, None], "complex128"),
        df.TensorSpec([None], "float64")])
    x, z = df.constant(RNG.normal(size=(2, n))), df.constant(numbers(3, n // 2 + 1))
    half, back = f(x, z, df.zeros(n, "float64"))
    assert bits(half) == bits(S.rfft(x)) and bits(back) == bits(S.irfft(z, n))
