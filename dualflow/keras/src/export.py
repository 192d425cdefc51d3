"""Keras's export archives: there is none on dualflow, and what asks for one is told so."""

from typing import Any


class OpenvinoExportArchive:
    """Takes the place of an archive; dualflow writes no SavedModel."""

    def track(self, resource: Any) -> None:
        raise NotImplementedError("a SavedModel cannot be written on the dualflow backend")

    def add_endpoint(self, name: str, fn: Any, input_signature: Any = None, **kwargs: Any) -> None:
        raise NotImplementedError("a SavedModel cannot be written on the dualflow backend")
