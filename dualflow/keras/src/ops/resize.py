"""Resizing of images by products with weight matrices along height and width."""

import math
from collections.abc import Callable
from typing import Any

from keras.src.backend.common.dtypes import result_type
from keras.src.backend.config import standardize_data_format

import dualflow as df
from dualflow.keras.src.ops.convert import convert_to_tensor, to_dtype


def _triangle(x: df.Tensor) -> df.Tensor:
    return df.maximum(1 - x, 0.0)


def _cubic(x: df.Tensor) -> df.Tensor:
    """Cubic kernel. Source: Keys, "Cubic convolution interpolation for digital image processing",
    1981."""
    near = (1.5 * x - 2.5) * x * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return df.where(x >= 2, df.zeros_like(x), df.where(x >= 1, far, near))


def _lanczos(radius: float) -> Callable[[df.Tensor], df.Tensor]:
    def weights(x: df.Tensor) -> df.Tensor:
        apart = df.where(x > 1e-3, x, df.ones_like(x)) * math.pi
        wave = radius * df.sin(apart) * df.sin(apart / radius) / (apart * apart)
        return df.where(x > radius, df.zeros_like(x),
                        df.where(x > 1e-3, wave, df.ones_like(x)))

    return weights


KERNELS: dict[str, Callable[[df.Tensor], df.Tensor]] = {
    **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), _triangle),
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), _cubic),
    "lanczos3": _lanczos(3.0), "lanczos5": _lanczos(5.0)}
RESIZE = ("bilinear", "nearest", "lanczos3", "lanczos5", "bicubic")
TINY = 1000 * 2.0**-23


def _weights(before: Any, after: Any, scale: Any, translation: Any, dtype: df.DType,
             kernel: Callable[[df.Tensor], df.Tensor], antialias: bool) -> df.Tensor:
    """Return the weight of each of `before` input pixels of a line for each of `after` outputs."""
    each = 1 / scale
    wide = (df.maximum(each, convert_to_tensor(1, dtype)) if isinstance(each, df.Tensor)
            else max(each, 1.0)) if antialias else 1.0
    at = (df.cast(df.range(after), dtype) + 0.5) * each - translation * each - 0.5
    apart = df.abs(df.expand_dims(at, 0) - df.expand_dims(df.cast(df.range(before), dtype), 1))
    weights = kernel(apart / wide)
    total = df.reduce_sum(weights, 0, True)
    there = df.abs(total) > TINY
    weights = df.where(there, weights / df.where(there, total, df.ones_like(total)),
                       df.zeros_like(weights))
    inside = df.logical_and(at >= -0.5, at <= before - 0.5)
    return df.where(df.expand_dims(inside, 0), weights, df.zeros_like(weights))


def _along(x: df.Tensor, axis: int, weights: df.Tensor) -> df.Tensor:
    """Apply a weight matrix along an axis."""
    made = df.tensordot(x, weights, [[axis], [0]])
    order = [*range(x.ndim - 1)]
    order.insert(axis, x.ndim - 1)
    return df.transpose(made, order)


def _in_floats(x: df.Tensor, change: Callable[[df.Tensor], df.Tensor]) -> df.Tensor:
    """Apply `change` in floats. Integer results are rounded and clipped to the input range."""
    if x.dtype.is_floating:
        made = change(df.cast(x, df.float32) if x.dtype.itemsize == 2 else x)
        return df.cast(made, x.dtype)
    wide = df.cast(x, df.float32)
    made = df.clip_by_value(df.round(change(wide)), df.reduce_min(wide), df.reduce_max(wide))
    return df.cast(made, x.dtype)


def scale_and_translate(images: Any, output_shape: Any, scale: Any, translation: Any,
                        spatial_dims: Any, method: Any,
                        antialias: Any = True) -> Any:
    if method not in KERNELS:
        raise ValueError("Invalid value for argument `method`. Expected of one "
                         f"{set(KERNELS)}. Received: method={method}")
    x = convert_to_tensor(images)
    scale, translation = convert_to_tensor(scale), convert_to_tensor(translation)
    dtype = to_dtype(result_type(scale.dtype.name, translation.dtype.name))
    dtype = dtype if dtype in (df.float32, df.float64) else df.float32
    scale, translation = df.cast(scale, dtype), df.cast(translation, dtype)

    def change(y: df.Tensor) -> df.Tensor:
        for k, axis in enumerate(spatial_dims):
            axis %= x.ndim
            weights = _weights(x.shape[axis], output_shape[axis], scale[k], translation[k], dtype,
                               KERNELS[method], antialias)
            y = _along(y, axis, df.cast(weights, y.dtype))
        return y

    return _in_floats(x, change)


def resize(images: Any, size: Any, interpolation: Any = "bilinear", antialias: Any = False,
           crop_to_aspect_ratio: Any = False,
           pad_to_aspect_ratio: Any = False, fill_mode: Any = "constant", fill_value: Any = 0.0,
           data_format: Any = None) -> Any:
    if interpolation not in RESIZE:
        raise ValueError("Invalid value for argument `interpolation`. Expected of one "
                         f"{RESIZE}. Received: interpolation={interpolation}")
    if fill_mode != "constant":
        raise ValueError("Invalid value for argument `fill_mode`. Only `'constant'` is supported. "
                         f"Received: fill_mode={fill_mode}")
    if pad_to_aspect_ratio and crop_to_aspect_ratio:
        raise ValueError("Only one of `pad_to_aspect_ratio` & `crop_to_aspect_ratio` can be "
                         "`True`.")
    if len(size) != 2:
        raise ValueError("Argument `size` must be a tuple of two elements (height, width). "
                         f"Received: size={size}")
    x = convert_to_tensor(images)
    if x.ndim not in (3, 4):
        raise ValueError("Invalid images rank: expected rank 3 (single image) or rank 4 (batch of "
                         f"images). Received input with shape: images.shape={x.shape}")
    size = [int(n) for n in size]
    first = x.ndim - (3 if standardize_data_format(data_format) == "channels_last" else 2)
    if crop_to_aspect_ratio:
        x = _cropped(x, first, size)
    elif pad_to_aspect_ratio:
        x = _padded(x, first, size, fill_value)
    if interpolation == "nearest":
        return _nearest(x, first, size)

    def change(y: df.Tensor) -> df.Tensor:
        for axis, n in zip((first, first + 1), size, strict=True):
            if x.shape[axis] != n:
                y = _along(y, axis, _weights(x.shape[axis], n, n / x.shape[axis], 0.0, y.dtype,
                                             KERNELS[interpolation], antialias))
        return y

    return _in_floats(x, change)


def _nearest(x: df.Tensor, first: int, size: list[int]) -> df.Tensor:
    for axis, n in zip((first, first + 1), size, strict=True):
        before = x.shape[axis]
        if before != n:
            at = df.floor((df.cast(df.range(n), df.float32) + 0.5) * before / n)
            x = df.gather(x, df.cast(at, df.int32), axis=axis)
    return x


def _cropped(x: df.Tensor, first: int, size: list[int]) -> df.Tensor:
    height, width = x.shape[first:first + 2]
    wanted = int(float(width * size[0]) / size[1]), int(float(height * size[1]) / size[0])
    for axis, n, most in zip((first, first + 1), wanted, (height, width), strict=True):
        n = max(min(most, n), 1)
        start = int(float(most - n) / 2)
        x = x[(slice(None),) * axis + (slice(start, start + n),)]
    return x


def _padded(x: df.Tensor, first: int, size: list[int], fill_value: float) -> df.Tensor:
    height, width = x.shape[first:first + 2]
    wanted = int(float(width * size[0]) / size[1]), int(float(height * size[1]) / size[0])
    paddings = [[0, 0] for _ in range(x.ndim)]
    for axis, n, least in zip((first, first + 1), wanted, (height, width), strict=True):
        paddings[axis] = [int(float(max(least, n) - least) / 2)] * 2
    return df.pad(x, paddings, constant_values=convert_to_tensor(fill_value, x.dtype))
