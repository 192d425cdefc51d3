"""Models as ONNX files: `save` writes a function, `load` returns a function of a file.

Requires the onnx package, which the first call of either function imports.
"""

from dualflow.onnx.load import Model as Model, load as load
from dualflow.onnx.narrow import NarrowTensor as NarrowTensor, narrow as narrow
from dualflow.onnx.save import save as save

__all__ = ["Model", "NarrowTensor", "load", "narrow", "save"]


def __dir__() -> list[str]:
    return __all__
