"""Handles of text: the 64-bit numbers that stand for text inside programs.

`StringTensor` converts text to int64 tensors of handles and back, at the borders of traced
functions and in ops that move elements. The handle of a text is its hash, so equal texts have equal
handles in one process, and the handle of the empty text is 0. The table holds the constants of
traces for ever, and of other text the last `BUDGET` bytes.
"""

from __future__ import annotations

from dualflow._util.locks import reentrant_lock
from dualflow.dtypes import int64
from dualflow.errors import InvalidArgumentError, ResourceExhaustedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BUDGET = 1 << 29        # bytes of text in the table
EACH = 150              # bytes of an entry, without its text


class HandleTable:
    """The texts of the handles that are in use."""

    def __init__(self) -> None:
        self.constants: dict[int, bytes] = {hash(b""): b""}
        self.recent: dict[int, bytes] = {}          # the least recently used first
        self.used = 0
        self.lock: Any = reentrant_lock()

    def handles(self, texts: list[bytes], constant: bool) -> list[int]:
        """Return the handle of each text; constants are retained."""
        with self.lock:
            return [self._handle(x, constant) for x in texts]

    def _handle(self, text: bytes, constant: bool) -> int:
        handle = hash(text)
        found = self.constants.get(handle)
        if found is None:
            found = self.recent.pop(handle, None)
            self.used -= 0 if found is None else EACH + len(text)
        if found is not None and found != text:
            raise InvalidArgumentError("two texts have the same 64-bit hash")
        if constant:
            self.constants[handle] = text
        elif handle not in self.constants:
            self.recent[handle] = text
            self.used += EACH + len(text)
            while self.used > BUDGET and len(self.recent) > 1:
                oldest = next(iter(self.recent))
                self.used -= EACH + len(self.recent.pop(oldest))
        return handle

    def texts(self, handles: list[int]) -> list[bytes]:
        """Return the text of each handle."""
        constants, recent = self.constants, self.recent
        found = [constants.get(h) if h in constants else recent.get(h) for h in handles]
        if None in found:
            raise ResourceExhaustedError(
                f"text of a traced function is no longer available: more than {BUDGET >> 20} MiB "
                "of text were in use at once")
        return found  # type: ignore[return-value]


TABLE: HandleTable = HandleTable()


def is_constant_text(x: Any) -> bool:
    """Return True if an int64 tensor holds the handles of constants of traces. An int64 is the
    handle of one of n texts with probability n / 2**64; zeros are the same in each process."""
    found = x.numpy().ravel() if x.dtype is int64 else ()
    return any(found) and all(int(h) in TABLE.constants for h in found)


def handles_of(array: Any, constant: bool) -> Any:
    """Return the handles of an object array of bytes as an int64 array."""
    import numpy as np

    flat = TABLE.handles(array.ravel().tolist(), constant)
    return np.array(flat, np.int64).reshape(array.shape)


def texts_of(handles: Any) -> Any:
    """Return the object array of bytes for an int64 array of handles."""
    import numpy as np

    made = np.empty(handles.size, object)
    made[:] = TABLE.texts(handles.ravel().tolist())
    return made.reshape(handles.shape)
