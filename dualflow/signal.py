"""Signal processing, under TensorFlow's names: Fourier and cosine transforms, frames, windows."""

from dualflow.ops.signal.cosine import (
    dct as dct,
    idct as idct,
    inverse_mdct as inverse_mdct,
    mdct as mdct,
)
from dualflow.ops.signal.fourier import (
    fft as fft,
    fft2d as fft2d,
    fft3d as fft3d,
    fftnd as fftnd,
    fftshift as fftshift,
    ifft as ifft,
    ifft2d as ifft2d,
    ifft3d as ifft3d,
    ifftnd as ifftnd,
    ifftshift as ifftshift,
)
from dualflow.ops.signal.mel import (
    linear_to_mel_weight_matrix as linear_to_mel_weight_matrix,
    mfccs_from_log_mel_spectrograms as mfccs_from_log_mel_spectrograms,
)
from dualflow.ops.signal.real_fourier import (
    fftfreq as fftfreq,
    irfft as irfft,
    irfft2d as irfft2d,
    irfft3d as irfft3d,
    irfftnd as irfftnd,
    rfft as rfft,
    rfft2d as rfft2d,
    rfft3d as rfft3d,
    rfftfreq as rfftfreq,
    rfftnd as rfftnd,
)
from dualflow.ops.signal.spectrogram import (
    frame as frame,
    inverse_stft as inverse_stft,
    inverse_stft_window_fn as inverse_stft_window_fn,
    overlap_and_add as overlap_and_add,
    stft as stft,
)
from dualflow.ops.signal.windows import (
    hamming_window as hamming_window,
    hann_window as hann_window,
    kaiser_bessel_derived_window as kaiser_bessel_derived_window,
    kaiser_window as kaiser_window,
    vorbis_window as vorbis_window,
)
