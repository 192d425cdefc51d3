"""Fourier transforms, under TensorFlow's names; complex values are pairs of real tensors."""

from dualflow.ops.signal.fourier import (
    fft as fft,
    fft2d as fft2d,
    ifft as ifft,
    ifft2d as ifft2d,
    irfft as irfft,
    rfft as rfft,
)
from dualflow.ops.signal.spectrogram import (
    frame as frame,
    hamming_window as hamming_window,
    hann_window as hann_window,
    inverse_stft as inverse_stft,
    inverse_stft_window_fn as inverse_stft_window_fn,
    overlap_and_add as overlap_and_add,
    stft as stft,
)
