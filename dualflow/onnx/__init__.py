"""Models as ONNX files: `save` writes a function, `load` makes a function of a file.

Wants the onnx package, which is loaded when one of the two is first called.
"""

from dualflow.onnx.load import Model as Model, load as load
from dualflow.onnx.narrow import NarrowTensor as NarrowTensor, narrow as narrow
from dualflow.onnx.save import save as save

__all__ = ["Model", "NarrowTensor", "load", "narrow", "save"]


def __dir__() -> list[str]:
    return __all__
