"""Keras's quantised layers: LoRA of embeddings whose variable holds packed 4-bit integers."""

from __future__ import annotations

import functools
from typing import Any

FREEZING = "_dualflow_freezing"         # attribute of a layer while `enable_lora` runs


def install(embedding: Any) -> None:
    """Let `enable_lora` of an int4 `Embedding` freeze the packed variable. Keras sets `trainable`
    of the property `embeddings`, which is a tensor unpacked from the variable."""
    unpacked, enable = embedding.embeddings.fget, embedding.enable_lora

    def embeddings(self: Any) -> Any:
        return self._embeddings if FREEZING in vars(self) else unpacked(self)

    @functools.wraps(enable)
    def enable_lora(self: Any, *args: Any, **kwargs: Any) -> None:
        vars(self)[FREEZING] = True
        try:
            enable(self, *args, **kwargs)
        finally:
            del vars(self)[FREEZING]

    embedding.embeddings = property(embeddings)
    embedding.enable_lora = enable_lora
