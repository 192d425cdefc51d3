"""`tf.layers`: layers of neural networks, as objects and as functions."""

from dualflow.compat.v1.layers.base import Layer as Layer
from dualflow.compat.v1.layers.convolution import (
    Conv2D as Conv2D,
    Conv2DTranspose as Conv2DTranspose,
    conv2d as conv2d,
    conv2d_transpose as conv2d_transpose,
)
from dualflow.compat.v1.layers.core import (
    Dense as Dense,
    Dropout as Dropout,
    Flatten as Flatten,
    dense as dense,
    dropout as dropout,
    flatten as flatten,
)
from dualflow.compat.v1.layers.normalization import (
    BatchNormalization as BatchNormalization,
    batch_normalization as batch_normalization,
)
from dualflow.compat.v1.layers.pooling import (
    AveragePooling2D as AveragePooling2D,
    MaxPooling2D as MaxPooling2D,
    average_pooling2d as average_pooling2d,
    max_pooling2d as max_pooling2d,
)
from dualflow.compat.v1.layers.sequences import (
    AveragePooling1D as AveragePooling1D,
    Conv1D as Conv1D,
    MaxPooling1D as MaxPooling1D,
    average_pooling1d as average_pooling1d,
    conv1d as conv1d,
    max_pooling1d as max_pooling1d,
)

_MODULES = {"base", "convolution", "core", "normalization", "pooling", "sequences"}


def __dir__() -> list[str]:
    return sorted({*globals()} - {*_MODULES, "_MODULES"})
