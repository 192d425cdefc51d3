"""Implementations of the standard's operators, by family."""

from dualflow.onnx.importers import (  # noqa: F401
    arrays,
    control,
    detection,
    drawing,
    elementwise,
    images,
    networks,
    ngrams,
    quantization,
    recurrent,
    reductions,
    resize,
    sequences,
    sizes,
    spectral,
    training,
)
from dualflow.onnx.importers.registry import (
    DRAWS as DRAWS,
    ON_SIZES as ON_SIZES,
    OPERATORS as OPERATORS,
)
