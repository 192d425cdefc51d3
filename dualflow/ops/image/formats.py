"""Pillow, which decodes and encodes images and is loaded at the first use; the bytes of files."""

from __future__ import annotations

from importlib import import_module

from dualflow._util.arguments import shown
from dualflow._util.late_binding import late
from dualflow.errors import DTypeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Pillow's names by number of channels.
MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}


def pillow() -> Any:
    """Import and return PIL.Image."""
    try:
        return import_module("PIL.Image")
    except ImportError:
        raise ModuleNotFoundError("decoding and encoding images needs Pillow: "
                                  "pip install 'dualflow[image]'") from None


def content(op: str, value: Any) -> bytes:
    """Return the bytes of a bytes object, a str or a scalar string tensor."""
    text = late("string_tensor")
    found = text.as_bytes(value) if text.is_text(value) else value
    if not isinstance(found, bytes | bytearray):
        raise DTypeError(f"{op}: got {shown(value)}, expected bytes or a scalar string tensor")
    return bytes(found)
