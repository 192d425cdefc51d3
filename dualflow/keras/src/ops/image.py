"""Image functions: colour conversions here, others from `resize` and `warp`."""

from typing import Any

from keras.src.backend.common.dtypes import result_type
from keras.src.backend.config import standardize_data_format

import dualflow as df
from dualflow.keras.src.ops.convert import convert_to_tensor, to_dtype
from dualflow.keras.src.ops.resize import (
    resize as resize,
    scale_and_translate as scale_and_translate,
)
from dualflow.keras.src.ops.warp import (
    affine_transform as affine_transform,
    compute_homography_matrix as compute_homography_matrix,
    elastic_transform as elastic_transform,
    gaussian_blur as gaussian_blur,
    map_coordinates as map_coordinates,
    perspective_transform as perspective_transform,
    sobel_edges as sobel_edges,
)

GRAY = (0.2989, 0.5870, 0.1140)


def _images(images: Any, data_format: Any) -> tuple[df.Tensor, int]:
    """Return the images and the axis of their channels."""
    x = convert_to_tensor(images)
    if x.ndim not in (3, 4):
        raise ValueError("Invalid images rank: expected rank 3 (single image) or rank 4 (batch of "
                         f"images). Received input with shape: images.shape={x.shape}")
    return x, -1 if standardize_data_format(data_format) == "channels_last" else -3


def rgb_to_grayscale(images: Any, data_format: Any = None) -> Any:
    x, axis = _images(images, data_format)
    if x.shape[axis] not in (1, 3):
        raise ValueError("Invalid channel size: expected 3 (RGB) or 1 (Grayscale). Received input "
                         f"with shape: images.shape={x.shape}")
    if x.shape[axis] == 1:
        return df.identity(x)
    wide = df.cast(x, to_dtype(result_type(x.dtype.name, float)))
    red, green, blue = df.split(wide, 3, axis)
    return df.cast(red * GRAY[0] + green * GRAY[1] + blue * GRAY[2], x.dtype)


def _planes(images: Any, data_format: Any) -> tuple[list[df.Tensor], int, df.DType]:
    """Return three float planes, the axis to stack them on, and their dtype."""
    x, axis = _images(images, data_format)
    if not x.dtype.is_floating:
        raise ValueError("Invalid images dtype: expected float dtype. "
                         f"Received: images.dtype={x.dtype}")
    return [df.squeeze(p, axis) for p in df.split(x, 3, axis)], axis, x.dtype


def rgb_to_hsv(images: Any, data_format: Any = None) -> Any:
    planes, axis, dtype = _planes(images, data_format)
    least = 2.0 ** (1 - dtype.digits)
    r, g, b = [df.where(df.abs(p) < least, df.zeros_like(p), p) for p in planes]
    value = df.maximum(df.maximum(r, g), b)
    spread = value - df.minimum(df.minimum(r, g), b)
    zero, one = df.zeros_like(value), df.ones_like(value)
    some = spread > 0
    saturation = df.where(value > 0, spread / df.where(value > 0, value, one), zero)
    sixth = 1 / (6 * df.where(some, spread, one))
    hue = df.where(df.equal(value, g), sixth * (b - r) + 2 / 6, sixth * (r - g) + 4 / 6)
    hue = df.where(df.equal(value, r), sixth * (g - b), hue)
    hue = df.where(some, hue, zero) + df.cast(hue < 0, dtype)
    return df.stack([hue, saturation, value], axis)


def hsv_to_rgb(images: Any, data_format: Any = None) -> Any:
    (hue, saturation, value), axis, _ = _planes(images, data_format)
    turn = df.math.floormod(hue, 1.0) * 6
    shares = [df.abs(turn - 3) - 1, 2 - df.abs(turn - 2), 2 - df.abs(turn - 4)]
    return df.stack([value * (1 - saturation + saturation * df.clip_by_value(s, 0.0, 1.0))
                     for s in shares], axis)
