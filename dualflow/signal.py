"""Fourier transforms, under TensorFlow's names; complex numbers are pairs of real tensors."""

from dualflow.ops.fourier import (
    fft as fft,
    fft2d as fft2d,
    ifft as ifft,
    ifft2d as ifft2d,
    irfft as irfft,
    rfft as rfft,
)
