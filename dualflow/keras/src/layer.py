"""The backend's base class of Keras layers. Values from checkpoints are restored when a layer has
created its variables."""

from typing import Any

from dualflow.modules import attached, waiting


class Layer:
    """Base class of Keras's layers."""

    def _post_build(self) -> None:
        if waiting:
            attached(self)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if waiting and not name.startswith("_"):
            attached(value)


OpenvinoLayer = Layer           # the name that Keras imports
