"""Keras 3 on dualflow: ``import dualflow.keras as keras``.

What is here is what is in `keras`, the same objects; once this is imported, ``import keras`` gives
Keras on dualflow, too.
"""

import sys as _sys
from typing import Any as _Any

from dualflow.keras import hook as _hook

_keras = _hook.load()

# `from dualflow.keras.layers import Dense`: the modules, too, are Keras's own.
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
