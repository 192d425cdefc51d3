"""Other programming interfaces: `v1` has TensorFlow 1's names and is loaded at first use."""

from importlib import import_module
from types import ModuleType

__all__ = ["v1"]


def __getattr__(name: str) -> ModuleType:
    if name == "v1":
        return import_module("dualflow.compat.v1")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
