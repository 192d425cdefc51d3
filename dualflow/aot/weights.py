"""Serialisation of weights in the safetensors format, which C can read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dualflow._core import Tensor, memory_of
from dualflow.io.files import code, stored_shape


def weights(tensors: Mapping[str, Tensor]) -> bytes:
    """Return the file: the header's length, a header in JSON, then the bytes of all tensors."""
    header: dict[str, Any] = {}
    parts: list[memoryview] = []
    end = 0
    for name, x in tensors.items():
        parts.append(memory_of(x))
        start, end = end, end + len(parts[-1])
        header[name] = {"dtype": code(x.dtype.name), "shape": stored_shape(x),
                        "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)     # aligns the tensors
    return b"".join([len(text).to_bytes(8, "little"), text, *parts])
