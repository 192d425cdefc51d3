"""Cosine transforms against SciPy, lapped transforms against their formula."""

import numpy as np
import pytest
from scipy import fft

import dualflow as df

RNG = np.random.default_rng(3)
X = RNG.normal(size=(2, 12))
S = df.signal


@pytest.mark.parametrize("type", [1, 2, 3, 4])
@pytest.mark.parametrize("norm", [None, "ortho"])
@pytest.mark.parametrize("n", [None, 1, 2, 7, 16])
def test_values(type, norm, n):
    if type == 1 and (norm or n == 1):
        return
    want = fft.dct(X, type, n, norm=norm)
    np.testing.assert_allclose(S.dct(X, type, n, norm=norm), want, 1e-12, 1e-12)
    inverse = S.idct(S.dct(X, type, norm=norm), type, norm=norm)
    scale = 1 if norm else 2 * (11 if type == 1 else 12)
    np.testing.assert_allclose(inverse, scale * X, atol=1e-11)
    df.testing.check_gradients(lambda x: df.reduce_sum(df.sin(S.dct(x, type, n, norm=norm))),
                               [df.constant(X)])


@pytest.mark.parametrize("length", [1, 2, 3, 8, 37, 100])
def test_lengths(length):
    x = RNG.normal(size=length).astype("float32")
    for type in (2, 3, 4):
        want = fft.dct(x.astype("float64"), type)
        got = df.function(lambda x, type=type: S.dct(x, type))(df.constant(x))
        assert got.dtype is df.float32
        np.testing.assert_allclose(got, want, atol=1e-6 * np.abs(want).max())


def modified(x, n):
    """Return the sums that define the transform of frames of 2 n numbers."""
    k, j = np.arange(n), np.arange(2 * n)[:, None]
    return x @ np.cos(np.pi / n * (j + .5 + n / 2) * (k + .5))


@pytest.mark.parametrize("window", [S.vorbis_window, S.kaiser_bessel_derived_window, None])
@pytest.mark.parametrize("norm, scale", [(None, 2), ("ortho", np.sqrt(2 / 4))])
def test_lapped_transform(window, norm, scale):
    x = RNG.normal(size=(2, 24))
    weights = np.sqrt(.5) if window is None else window(8, dtype=df.float64).numpy()
    frames = np.stack([x[:, k:k + 8] for k in range(0, 20, 4)], 1)
    got = S.mdct(x, 8, window, norm=norm)
    np.testing.assert_allclose(got, scale * modified(frames * weights, 4), 1e-12, 1e-12)
    back = S.inverse_mdct(got, window, norm)
    np.testing.assert_allclose(back[:, 4:-4], x[:, 4:-4], atol=1e-12)
    df.testing.check_gradients(
        lambda x: df.reduce_sum(df.sin(S.inverse_mdct(df.sin(S.mdct(x, 8, window)), window))),
        [df.constant(x)])


def test_padded_end():
    x = RNG.normal(size=21)
    got = S.inverse_mdct(S.mdct(x, 8, pad_end=True))
    np.testing.assert_allclose(got[4:21], x[4:], atol=1e-12)


@pytest.mark.parametrize("call, error, text", [
    (lambda: S.dct(X, 5), df.errors.InvalidArgumentError, "dct: type is 5, expected"),
    (lambda: S.dct(X, axis=0), df.errors.InvalidArgumentError, "dct: axis is 0, expected -1"),
    (lambda: S.dct(X, 1, norm="ortho"), df.errors.InvalidArgumentError, "dct: norm"),
    (lambda: S.dct(X, n=0), df.errors.InvalidArgumentError, "dct: n is 0"),
    (lambda: S.dct([1.], 1), df.errors.InvalidArgumentError, "dct: type 1 requires"),
    (lambda: S.dct([1j]), df.errors.DTypeError, "dct: complex128, expected real"),
    (lambda: S.dct(1.), df.errors.ShapeError, "dct: shape"),
    (lambda: S.idct(X, "2"), df.errors.InvalidArgumentError, "idct: type"),
    (lambda: S.mdct(X, 6), df.errors.InvalidArgumentError, "mdct: frame_length is 6"),
])
def test_bad_input(call, error, text):
    with pytest.raises(error, match=text):
        call()
