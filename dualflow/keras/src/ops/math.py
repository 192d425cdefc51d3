"""Segment reductions, top-k, error functions, and sequences cut from signals."""

from typing import Any

import dualflow as df
from dualflow.keras.src.ops.convert import convert_to_tensor, floating, tensors
from dualflow.keras.src.ops.fourier import (
    fft as fft,
    fft2 as fft2,
    ifft2 as ifft2,
    irfft as irfft,
    istft as istft,
    rfft as rfft,
    stft as stft,
)
from dualflow.keras.src.ops.linalg import slogdet
from dualflow.keras.src.ops.numpy.indexing import take_along_axis
from dualflow.keras.src.ops.numpy.reductions import _axes

# --- segments ---


def _segments(name: str, data: Any, segment_ids: Any,
              num_segments: Any) -> tuple[df.Tensor, df.Tensor, Any]:
    ids = convert_to_tensor(segment_ids)
    if ids.dtype not in (df.int32, df.int64):
        ids = df.cast(ids, df.int32)
    if num_segments is None:
        if hasattr(ids, "known_shape"):
            raise ValueError(f"Argument `num_segments` of {name} must be set in a traced function")
        num_segments = int(df.reduce_max(ids).item()) + 1
    return convert_to_tensor(data), ids, num_segments


def segment_sum(data: Any, segment_ids: Any, num_segments: Any = None, sorted: Any = False) -> Any:
    return df.math.unsorted_segment_sum(*_segments("segment_sum", data, segment_ids, num_segments))


def segment_max(data: Any, segment_ids: Any, num_segments: Any = None, sorted: Any = False) -> Any:
    return df.math.unsorted_segment_max(*_segments("segment_max", data, segment_ids, num_segments))


def segment_min(data: Any, segment_ids: Any, num_segments: Any = None, sorted: Any = False) -> Any:
    return df.math.unsorted_segment_min(*_segments("segment_min", data, segment_ids, num_segments))


def segment_prod(data: Any, segment_ids: Any, num_segments: Any = None, sorted: Any = False) -> Any:
    return df.math.unsorted_segment_prod(*_segments("segment_prod", data, segment_ids,
                                                    num_segments))


# --- top-k ---

def top_k(x: Any, k: Any, sorted: Any = True) -> Any:
    x = convert_to_tensor(x)
    if x.dtype.is_bool:
        values, places = df.math.top_k(df.cast(x, df.uint8), k)
        return df.cast(values, df.bool_), df.cast(places, df.int32)
    values, places = df.math.top_k(x, k)
    return values, df.cast(places, df.int32)


def in_top_k(targets: Any, predictions: Any, k: Any) -> Any:
    targets, predictions = convert_to_tensor(targets), convert_to_tensor(predictions)
    own = take_along_axis(predictions, df.expand_dims(targets, -1), -1)
    own = df.where(df.math.is_nan(own), convert_to_tensor(float("-inf"), own.dtype), own)
    larger = df.cast(predictions > own, df.int32)
    return df.reduce_sum(larger, -1) < k


def logsumexp(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return df.reduce_logsumexp(floating(x), _axes(axis), keepdims)


def cdist(x: Any, y: Any) -> Any:
    x, y = tensors(x, y)
    if x.ndim < 2 or y.ndim < 2:
        raise ValueError("`cdist` inputs must have rank >= 2")
    if x.shape[-1] != y.shape[-1]:
        raise ValueError("Last dimension of inputs to `cdist` must match")
    apart = df.expand_dims(x, -2) - df.expand_dims(y, -3)
    return df.sqrt(df.reduce_sum(apart * apart, -1))


# --- elementwise ---

def logdet(x: Any) -> Any:
    return slogdet(x)[1]


def rsqrt(x: Any) -> Any:
    return df.math.rsqrt(floating(x))


def erf(x: Any) -> Any:
    return df.math.erf(floating(x))


def erfinv(x: Any) -> Any:
    return df.math.erfinv(floating(x))


def erfc(x: Any) -> Any:
    return df.math.erfc(floating(x))


def extract_sequences(x: Any, sequence_length: Any, sequence_stride: Any) -> Any:
    x = convert_to_tensor(x)
    n = x.shape[-1]
    count = 1 + (n - sequence_length) // sequence_stride
    places = (df.expand_dims(df.range(count) * sequence_stride, 1)
              + df.expand_dims(df.range(sequence_length), 0))
    return df.gather(x, places, axis=x.ndim - 1)
