"""Window functions against SciPy, mel filters and cepstral coefficients against their formulas."""

import numpy as np
import pytest
from scipy import fft, signal

import dualflow as df

S = df.signal


@pytest.mark.parametrize("n", [1, 2, 7, 8])
def test_windows(n):
    for own, name in ((S.hann_window, "hann"), (S.hamming_window, "hamming")):
        for periodic in (True, False):
            # An odd window is symmetric in TensorFlow in both cases.
            want = signal.get_window(name, n, fftbins=periodic and n % 2 == 0)
            np.testing.assert_allclose(own(n, periodic, df.float64).numpy(), want, atol=1e-15)


@pytest.mark.parametrize("n", [1, 2, 5, 8, 33])
@pytest.mark.parametrize("beta", [0., 1., 12., 100., 500.])
def test_kaiser_window(n, beta):
    want = signal.windows.kaiser(n, beta)
    np.testing.assert_allclose(S.kaiser_window(n, beta, df.float64), want, rtol=1e-11, atol=1e-300)
    assert S.kaiser_window(n, beta).dtype is df.float32


@pytest.mark.parametrize("n", [2, 4, 10, 64])
def test_windows_of_lapped_transforms(n):
    want = signal.windows.kaiser_bessel_derived(n, 7.)
    np.testing.assert_allclose(S.kaiser_bessel_derived_window(n, 7., df.float64), want, rtol=1e-12)
    at = np.arange(n) + .5
    want = np.sin(np.pi / 2 * np.sin(np.pi * at / n) ** 2)
    np.testing.assert_allclose(S.vorbis_window(n, df.float64), want, rtol=1e-12)


def test_gradient_of_beta():
    df.testing.check_gradients(lambda b: df.reduce_sum(df.sin(S.kaiser_window(7, b, df.float64))),
                               [df.constant(3., df.float64)])


@pytest.mark.parametrize("bins, points, rate, low, high", [
    (20, 129, 8000, 125., 3800.), (40, 257, 16000, 20., 7000.), (1, 3, 10, 0., 5.)])
def test_mel_filters(bins, points, rate, low, high):
    def mel(f):
        return 1127 * np.log1p(np.asarray(f) / 700)

    edges = np.linspace(mel(low), mel(high), bins + 2)
    at = mel(np.linspace(0, rate / 2, points))[:, None]
    up = (at - edges[:-2]) / (edges[1:-1] - edges[:-2])
    down = (edges[2:] - at) / (edges[2:] - edges[1:-1])
    want = np.maximum(0, np.minimum(up, down))
    want[0] = 0
    got = S.linear_to_mel_weight_matrix(bins, points, rate, low, high, df.float64)
    np.testing.assert_allclose(got, want, atol=1e-12)


def test_cepstral_coefficients():
    x = np.random.default_rng(2).normal(size=(3, 5, 20))
    np.testing.assert_allclose(S.mfccs_from_log_mel_spectrograms(x),
                               fft.dct(x) / np.sqrt(40), atol=1e-12)


@pytest.mark.parametrize("call, error, text", [
    (lambda: S.kaiser_window(-1), df.errors.InvalidArgumentError, "kaiser_window: window_length"),
    (lambda: S.kaiser_window(4, dtype="int32"), df.errors.DTypeError, "kaiser_window: .*floating"),
    (lambda: S.kaiser_bessel_derived_window(5), df.errors.InvalidArgumentError, "an even number"),
    (lambda: S.vorbis_window(4, "complex64"), df.errors.DTypeError, "vorbis_window"),
    (lambda: S.linear_to_mel_weight_matrix(upper_edge_hertz=9000.),
     df.errors.InvalidArgumentError, "the edges are 125.0 and 9000.0"),
    (lambda: S.linear_to_mel_weight_matrix(0), df.errors.InvalidArgumentError, "num_mel_bins is 0"),
])
def test_bad_input(call, error, text):
    with pytest.raises(error, match=text):
        call()
