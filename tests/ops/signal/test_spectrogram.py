"""Frames and short-time Fourier transforms against NumPy and SciPy."""

import numpy as np
import pytest
from scipy import signal

import dualflow as df

RNG = np.random.default_rng(6)
X = RNG.normal(size=(2, 50))


@pytest.mark.parametrize("length, step", [(8, 4), (5, 7), (16, 3), (60, 4)])
@pytest.mark.parametrize("pad_end", [False, True])
def test_frames(length, step, pad_end):
    got = df.signal.frame(X, length, step, pad_end, 5.)
    count = -(-50 // step) if pad_end else max(0, 1 + (50 - length) // step)
    padded = np.concatenate([X, np.full((2, length), 5.)], 1)
    want = [padded[:, k * step:k * step + length] for k in range(count)]
    assert got.shape == (2, count, length)
    assert not count or (got.numpy() == np.stack(want, 1)).all()
    assert (df.signal.frame(X.T, length, step, pad_end, 5., axis=0).numpy()
            == got.numpy().transpose(1, 2, 0)).all()


def test_overlap_and_add():
    frames = RNG.normal(size=(2, 3, 4))
    want = np.zeros((2, 8))
    for k in range(3):
        want[:, 2 * k:2 * k + 4] += frames[:, k]
    np.testing.assert_allclose(df.signal.overlap_and_add(frames, 2).numpy(), want)
    df.testing.check_gradients(lambda x: df.reduce_sum(df.sin(df.signal.overlap_and_add(x, 3))),
                               [df.constant(frames)])


@pytest.mark.parametrize("options", [{}, {"fft_length": 32}, {"window_fn": None},
                                     {"pad_end": True}, {"fft_length": 6}])
def test_stft(options):
    def transform(x):
        return df.signal.stft(x, 12, 5, **options)

    made = transform(df.constant(X))
    frames = df.signal.frame(X, 12, 5, options.get("pad_end", False)).numpy()
    if "window_fn" not in options:
        frames = frames * signal.get_window("hann", 12)
    want = np.fft.rfft(frames, options.get("fft_length", 16))
    np.testing.assert_allclose(made, want, atol=1e-12)
    np.testing.assert_array_equal(df.function(transform)(df.constant(X)), made)
    df.testing.check_gradients(lambda x: df.reduce_sum(df.square(df.abs(transform(x)))),
                               [df.constant(X)])


@pytest.mark.parametrize("length, step", [(8, 4), (12, 3), (16, 5)])
def test_inverse_stft(length, step):
    stfts = df.signal.stft(df.constant(X), length, step)
    window = df.signal.inverse_stft_window_fn(step)
    back = df.signal.inverse_stft(stfts, length, step, window_fn=window).numpy()
    inner = slice(length, back.shape[1] - length)
    np.testing.assert_allclose(back[:, inner], X[:, inner], atol=1e-12)


@pytest.mark.parametrize("fft_length", [None, 6, 20])
def test_inverse_stft_is_the_sum_of_frames(fft_length):
    z = RNG.normal(size=(2, 4, (fft_length or 16) // 2 + 1))
    z = z + 1j * RNG.normal(size=z.shape)
    rows = np.fft.irfft(z, fft_length or 16)[..., :12]
    rows = np.pad(rows, [[0, 0], [0, 0], [0, 12 - rows.shape[-1]]]) * signal.get_window("hann", 12)
    want = np.zeros((2, 27))
    for k in range(4):
        want[:, 5 * k:5 * k + 12] += rows[:, k]
    got = df.signal.inverse_stft(z, 12, 5, fft_length)
    np.testing.assert_allclose(got, want, atol=1e-12)


def test_stft_and_inverse_against_scipy():
    window = signal.get_window("hann", 16)
    scipy = signal.ShortTimeFFT(window, 4, fs=1)
    stfts = df.signal.stft(df.constant(X), 16, 4)
    # SciPy's frame 2 is the first that begins at or after sample 0.
    want = scipy.stft(X, p0=2, p1=2 + stfts.shape[1], axis=-1).swapaxes(-1, -2)
    shift = np.exp(2j * np.pi * np.arange(9) * 8 / 16)      # SciPy's phases are of the centre
    np.testing.assert_allclose(np.abs(stfts), np.abs(want), atol=1e-12)
    assert min(np.abs(stfts - want).max(), np.abs(stfts - want * shift).max()) < 1e-12


def test_invalid_sizes_raise():
    for call in (lambda: df.signal.frame(X, 0, 1), lambda: df.signal.stft(X, 4, 0),
                 lambda: df.signal.frame(X, 4, 1, axis=2)):
        with pytest.raises(df.errors.InvalidArgumentError):
            call()
    with pytest.raises(df.errors.ShapeError):
        df.signal.overlap_and_add([1.], 2)
