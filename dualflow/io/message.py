"""The base class of the messages in records, which have the methods of protobuf's messages.

A message is stored as Python lists and dicts and written in protobuf's wire format; equal messages
have equal bytes, since the keys of maps are sorted.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from dualflow._util.arguments import shown
from dualflow._util.wire_format import Malformed, message_types, read, written
from dualflow.errors import DTypeError, InvalidArgumentError

TYPES = message_types({
    "BytesList": {"value": (1, "copy*")}, "FloatList": {"value": (1, "float*")},
    "Int64List": {"value": (1, "int*")},
    "Feature": {"bytes_list": (1, "BytesList"), "float_list": (2, "FloatList"),
                "int64_list": (3, "Int64List")},
    "FeatureEntry": {"key": (1, "text"), "value": (2, "Feature")},
    "Features": {"feature": (1, "FeatureEntry*")},
    "FeatureList": {"feature": (1, "Feature*")},
    "FeatureListEntry": {"key": (1, "text"), "value": (2, "FeatureList")},
    "FeatureLists": {"feature_list": (1, "FeatureListEntry*")},
    "Example": {"features": (1, "Features")},
    "SequenceExample": {"context": (1, "Features"), "feature_lists": (2, "FeatureLists")}})
SHOWN = 8           # elements of a list in a repr


def parsed(kind: str, data: Any, caller: str) -> Any:
    """Return the message of a type in bytes."""
    if hasattr(data, "numpy"):
        data = data.numpy()
    if not isinstance(data, bytes | bytearray | memoryview):
        raise DTypeError(f"{caller}: got {shown(data)}, expected the bytes of a message {kind}")
    try:
        return read(TYPES[kind], data)
    except Malformed:
        raise InvalidArgumentError(f"{caller}: the bytes are not a message {kind}: "
                                   f"{shown(bytes(data))}") from None


class Message:
    """A message. Subclasses define `_fields`, `_load` and `_parts`."""

    _fields: ClassVar[tuple[str, ...]] = ()
    __hash__ = None         # type: ignore[assignment]  # messages can change, as in protobuf

    def _load(self, message: Any) -> None:
        """Replace the content by the fields of a message in `TYPES`."""
        raise NotImplementedError

    def _parts(self) -> list[tuple[int, bytes]]:
        """Return the numbers and contents of the fields."""
        raise NotImplementedError

    def SerializeToString(self) -> bytes:
        """Return the message in protobuf's wire format."""
        return b"".join([written(number, part) for number, part in self._parts()])

    def ParseFromString(self, serialized: Any) -> int:
        """Replace the content of the message by serialized bytes; return their number.

        Raises
        ------
        InvalidArgumentError
            If the bytes are not a message.
        """
        name = type(self).__name__
        self._load(parsed(name, serialized, f"{name}.ParseFromString"))
        return len(serialized)

    @classmethod
    def FromString(cls, s: Any) -> Self:
        """Return the message in serialized bytes.

        Raises
        ------
        InvalidArgumentError
            If the bytes are not a message.
        """
        made = cls()
        made._load(parsed(cls.__name__, s, f"{cls.__name__}.FromString"))
        return made

    def ByteSize(self) -> int:
        """Return the number of bytes of the serialized message."""
        return len(self.SerializeToString())

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all([getattr(self, name) == getattr(other, name) for name in self._fields])

    def __repr__(self) -> str:
        inside = [f"{name}={text_of(getattr(self, name))}" for name in self._fields]
        return f"{type(self).__name__}({', '.join(inside)})"


def text_of(value: Any) -> str:
    """Return the repr of a field; long lists and long bytes are shortened."""
    if isinstance(value, dict):
        return f"{{{', '.join([f'{k!r}: {x!r}' for k, x in value.items()])}}}"
    if isinstance(value, list):
        few = [text_of(x) for x in value[:SHOWN]]
        more = [f"... {len(value)} values"] if len(value) > SHOWN else []
        return f"[{', '.join(few + more)}]"
    if isinstance(value, bytes) and len(value) > 40:
        return f"{value[:32]!r}... {len(value)} bytes"
    return repr(value)
