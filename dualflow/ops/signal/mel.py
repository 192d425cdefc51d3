"""Mel spectra: filters on the mel scale and cepstral coefficients."""

from typing import Any

from dualflow import dtypes
from dualflow._core import Tensor, as_tensor
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.ops.array.creation import range as range_
from dualflow.ops.array.padding import pad
from dualflow.ops.array.shape import one_size
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.exponential import log
from dualflow.ops.elementwise.limits import maximum, minimum
from dualflow.ops.signal.cosine import dct
from dualflow.ops.types import DTypeLike, TensorLike

__all__ = ["linear_to_mel_weight_matrix", "mfccs_from_log_mel_spectrograms"]


def _mel(hertz: Any) -> Tensor:
    return 1127.0 * log(1.0 + hertz / 700.0)


def _spaced(start: Any, stop: Any, count: Any) -> Tensor:
    step = (stop - start) / cast(as_tensor(count - 1, dtypes.int64), dtypes.float64)
    return start + cast(range_(count), dtypes.float64) * step


def linear_to_mel_weight_matrix(
        num_mel_bins: int = 20, num_spectrogram_bins: int = 129, sample_rate: TensorLike = 8000,
        lower_edge_hertz: TensorLike = 125.0, upper_edge_hertz: TensorLike = 3800.0,
        dtype: DTypeLike = dtypes.float32, name: str | None = None) -> Tensor:
    """Return a matrix that maps spectra to the mel scale: triangles of equal width in mel.

    Parameters
    ----------
    num_mel_bins : int
        Number of triangles.
    num_spectrogram_bins : int
        Number of frequencies of the spectra, from 0 to half the sample rate.
    sample_rate : number
        Samples per second.
    lower_edge_hertz, upper_edge_hertz : number
        The lower end of the first triangle and the upper end of the last.
    dtype : floating dtype

    Returns
    -------
    Tensor, shape (num_spectrogram_bins, num_mel_bins)
        To be multiplied from the right: ``spectra @ matrix``. Frequency 0 has no weight.

    Raises
    ------
    InvalidArgumentError
        If a number of bins is not positive, or unless
        ``0 <= lower_edge_hertz < upper_edge_hertz <= sample_rate / 2``.

    Notes
    -----
    ``mel(f) = 1127 * log(1 + f / 700)``, as in the Hidden Markov Model Toolkit.

    Examples
    --------
    >>> import dualflow as df
    >>> spectra = df.abs(df.signal.stft(df.ones([8000]), 256, 128))
    >>> (spectra @ df.signal.linear_to_mel_weight_matrix()).shape
    (61, 20)
    """
    op = "linear_to_mel_weight_matrix"
    dtype = dtypes.as_dtype(dtype)
    if not dtype.is_floating:
        raise DTypeError(f"{op}: {dtype}, expected a floating dtype")
    bins = one_size(num_mel_bins, f"{op}: num_mel_bins")
    points = one_size(num_spectrogram_bins, f"{op}: num_spectrogram_bins")
    for what, n in (("num_mel_bins", bins), ("num_spectrogram_bins", points)):
        if n < 1:
            raise InvalidArgumentError(f"{op}: {what} is {n}, expected at least 1")
    numbers = (sample_rate, lower_edge_hertz, upper_edge_hertz)
    if all([isinstance(v, int | float) for v in numbers]):
        rate, low, high = numbers
        if not 0 <= low < high <= rate / 2:     # type: ignore[operator]
            raise InvalidArgumentError(
                f"{op}: the edges are {low} and {high}, expected 0 <= lower_edge_hertz < "
                f"upper_edge_hertz <= {rate / 2}, half of sample_rate")     # type: ignore[operator]
    rate, low, high = [cast(v, dtypes.float64) for v in numbers]
    at = _mel(_spaced(as_tensor(0., dtypes.float64), rate / 2, points)[1:])[:, None]
    edges = _spaced(_mel(low), _mel(high), bins + 2)
    left, centre, right = edges[:-2], edges[1:-1], edges[2:]
    up, down = (at - left) / (centre - left), (right - at) / (right - centre)
    weights = maximum(as_tensor(0., dtypes.float64), minimum(up, down))
    return cast(pad(weights, [[1, 0], [0, 0]]), dtype, name=name)


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: TensorLike,
                                    name: str | None = None) -> Tensor:
    """Return mel-frequency cepstral coefficients: the cosine transform of logarithms of mel
    spectra.

    Parameters
    ----------
    log_mel_spectrograms : Tensor, real, shape (..., num_mel_bins)

    Returns
    -------
    Tensor, same shape
        ``dct(x) / sqrt(2 * num_mel_bins)``; usually only the first coefficients are used.

    Examples
    --------
    >>> import dualflow as df
    >>> df.signal.mfccs_from_log_mel_spectrograms(df.ones([2])).numpy().round(4).tolist()
    [2.0, 0.0]
    """
    y = dct(log_mel_spectrograms)
    n = cast(as_tensor(y.shape[-1], dtypes.int64), dtypes.float64)
    return y * cast((2 * n) ** -.5, y.dtype)
