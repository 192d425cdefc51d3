"""Models as ONNX files: `save` writes a function, `load` returns a function of a file.

Loading does not need the onnx package; the first call of `save` imports it.
"""

from dualflow._util.late_binding import submodule as _submodule
from dualflow.onnx.loading import Model as Model, load as load
from dualflow.onnx.narrow import NarrowTensor as NarrowTensor, narrow as narrow

TYPE_CHECKING = False       # type checkers and editors assume True
if TYPE_CHECKING:
    from dualflow.onnx.saving import save as save

__all__ = ["Model", "NarrowTensor", "load", "narrow", "save"]

if not TYPE_CHECKING:       # for type checkers, other names are errors
    def __getattr__(name):
        if name != "save":
            return _submodule(__name__, name)
        value = globals()["save"] = _submodule(__name__, "saving").save
        return value


def __dir__() -> list[str]:
    return __all__
