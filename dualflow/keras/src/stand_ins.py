"""Parts of Keras that use TensorFlow with every backend, run on dualflow instead: helpers that
create datasets, layers that adapt to datasets, and the TensorBoard callback.

Called by the hook once Keras is loaded, if TensorFlow is not installed. Keras sees functions of
dualflow under TensorFlow's names; any other name raises an ImportError that names a replacement.
"""

from __future__ import annotations

import pathlib
import warnings
from typing import Any

import numpy as np
from keras.src.callbacks import tensorboard
from keras.src.utils import audio_dataset_utils, image_dataset_utils
from keras.src.utils.module_utils import tensorflow

import dualflow as df
from dualflow.summary.tensorboard import proto
from dualflow.summary.values import write_bytes

COLOR_MODES = {1: "grayscale", 3: "rgb", 4: "rgba"}     # by the number of channels


class Names:
    """A module in which names that were not given raise ImportError."""

    def __init__(self, message: str, **names: Any) -> None:
        vars(self).update(names)
        self._message = message

    def __getattr__(self, name: str) -> Any:
        raise (AttributeError(name) if name.startswith("__") else ImportError(self._message))


def names_of_tensorflow(message: str) -> Names:
    """Return the names that the helpers and layers use."""
    return Names(message, data=df.data, cast=df.cast, range=df.range, gather=df.gather,
                 expand_dims=df.expand_dims, one_hot=df.one_hot, is_tensor=df.is_tensor,
                 executing_eagerly=lambda: True,        # no graph of TensorFlow is being built
                 io=Names(message, read_file=read_text),
                 strings=Names(message, substr=lambda text, start, n: text[start:start + n]))


def read_text(path: str) -> str:
    return pathlib.Path(path).read_text(encoding="utf-8")


def image_loader(keras: Any) -> Any:
    """Return the function that reads an image of `image_dataset_from_directory` with Pillow."""
    def load_image(path: str, image_size: tuple[int, int], num_channels: int, interpolation: str,
                   data_format: str, crop_to_aspect_ratio: bool = False,
                   pad_to_aspect_ratio: bool = False) -> Any:
        image = keras.utils.load_img(path, color_mode=COLOR_MODES[num_channels])
        pixels = np.asarray(image, np.float32).reshape(image.height, image.width, num_channels)
        if data_format == "channels_first":
            pixels = pixels.transpose(2, 0, 1)
        return keras.ops.image.resize(
            pixels, image_size, interpolation=interpolation, data_format=data_format,
            crop_to_aspect_ratio=crop_to_aspect_ratio, pad_to_aspect_ratio=pad_to_aspect_ratio)

    return load_image


def keras_model_summary(name: str, data: Any, step: Any = None) -> Any:
    """Write the configuration of a model, which TensorBoard draws as the conceptual graph. Return
    False if the model has no configuration."""
    try:
        text = data.to_json()
    except (NotImplementedError, TypeError, ValueError) as error:
        warnings.warn(f"TensorBoard: the model is not drawn: {error}", stacklevel=2)
        return False
    metadata = proto("summary").SummaryMetadata()
    metadata.plugin_data.plugin_name = "graph_keras_model"
    metadata.plugin_data.content = b"1"
    return write_bytes(name, text.encode(), step, metadata)


def install(keras: Any) -> None:
    """Install the names in Keras's lazy module for TensorFlow, and replace functions of the image
    helper and of the callback."""
    message = tensorflow.import_error_msg
    tensorflow._available = False
    tensorflow.module = names_of_tensorflow(message)
    audio_dataset_utils.tf = Names(message)         # the helper needs a decoder
    image_dataset_utils._load_image_tf = image_loader(keras)
    tensorboard.keras_model_summary = keras_model_summary
    keras.callbacks.TensorBoard.summary = property(lambda _: df.summary)
