"""Keras 3 on dualflow: ``import dualflow.keras as keras``.

This package re-exports `keras`: the objects are identical. After it has been imported, ``import
keras`` returns Keras on dualflow as well.
"""

import sys as _sys
from typing import Any as _Any

from dualflow.keras import hook as _hook

_keras = _hook.load()

# For `from dualflow.keras.layers import Dense`: register Keras's own submodules here.
for _name, _module in list(_sys.modules.items()):
    if _name.startswith("keras.") and not _name.startswith("keras.src"):
        _sys.modules[f"dualflow.{_name}"] = _module
del _name, _module

__version__ = _keras.__version__


def __getattr__(name: str) -> _Any:
    try:
        return getattr(_keras, name)
    except AttributeError:
        raise AttributeError(f"module 'dualflow.keras' has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted({*dir(_keras)} - {"src"})
