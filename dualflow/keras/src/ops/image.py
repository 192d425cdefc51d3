"""Images: colours, other sizes."""

from typing import Any

from keras.src.backend.common.dtypes import result_type
from keras.src.backend.config import standardize_data_format

import dualflow as df
from dualflow.keras.src.ops.convert import convert_to_tensor, to_dtype

GRAY = (0.2989, 0.5870, 0.1140)


def _images(images: Any, data_format: Any) -> tuple[df.Tensor, int]:
    """The images, and the axis of their channels."""
    x = convert_to_tensor(images)
    if x.ndim not in (3, 4):
        raise ValueError("Invalid images rank: expected rank 3 (single image) or rank 4 (batch of "
                         f"images). Received input with shape: images.shape={x.shape}")
    return x, -1 if standardize_data_format(data_format) == "channels_last" else -3


def rgb_to_grayscale(images: Any, data_format: Any = None) -> df.Tensor:
    x, axis = _images(images, data_format)
    if x.shape[axis] not in (1, 3):
        raise ValueError("Invalid channel size: expected 3 (RGB) or 1 (Grayscale). Received input "
                         f"with shape: images.shape={x.shape}")
    if x.shape[axis] == 1:
        return df.identity(x)
    wide = df.cast(x, to_dtype(result_type(x.dtype.name, float)))
    red, green, blue = df.split(wide, 3, axis)
    return df.cast(red * GRAY[0] + green * GRAY[1] + blue * GRAY[2], x.dtype)
