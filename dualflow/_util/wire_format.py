"""Reads messages from protobuf's wire format, without the package protobuf.

`message_types` makes classes of messages from a table of fields. The attributes of a message are
the fields of the table; other fields in the bytes are skipped. A field that the bytes lack has its
default: zero, an empty string, an empty list or an empty message. `vars(message)` holds only the
fields that the bytes contain.

Used by `dualflow.onnx` and `dualflow.io`. The bytes are not trusted: an invalid message raises
`Malformed`, and no length in the bytes is allocated before that many bytes have been seen.

Source: https://protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

import sys
from array import array
from struct import unpack_from

from dualflow.errors import InvalidArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

MAX_DEPTH = 100                                     # of nested messages, as in protobuf
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5        # wire types
SIZES = {FIXED64: 8, FIXED32: 4}

# The fields of a message by name: the number, and the kind. Kinds are keys of `KINDS` and names of
# messages; a star marks a repeated field.
Fields = dict[str, tuple[int, str]]


class Malformed(InvalidArgumentError):
    """The bytes are not in the wire format."""

    def __init__(self) -> None:
        super().__init__("a message is not in protobuf's wire format")


class Message:
    """A message of one of the types that `message_types` makes. `wire` are the bytes of a repeated
    message."""

    __slots__ = ("__dict__", "wire")
    wire: memoryview
    # By the key of a field in the wire format, which is its number and wire type: name, whether the
    # field is repeated, and the type of a message, or the function that reads the value.
    by_key: dict[int, tuple[str, bool, type[Message] | None, Callable[..., Any] | None]]


def read(kind: type[Message], data: Any) -> Any:
    """Return the message of a type in bytes, or in another buffer."""
    message = kind()
    view = memoryview(data).cast("B")
    _fill(message, view, 0, len(view), 0)
    return message


def _fill(message: Message, data: memoryview, at: int, end: int, depth: int) -> None:
    """Set the fields of the message in data[at:end]; repeated fields and messages are merged."""
    if depth > MAX_DEPTH:
        raise Malformed
    by_key, values = message.by_key, vars(message)
    while at < end:
        key = data[at]
        if key < 128:                   # here and below, the case of one byte apart: it is frequent
            at += 1
        else:
            key, at = _varint(data, at, end)
        wire_type = key & 7
        if wire_type == BYTES:
            if at < end and (number := data[at]) < 128:
                at += 1
            else:
                number, at = _varint(data, at, end)
            stop = at + number
        elif wire_type == VARINT:
            number, stop = _varint(data, at, end)
        elif wire_type in SIZES:
            stop = at + SIZES[wire_type]
        else:
            raise Malformed
        if stop > end or key < 8:
            raise Malformed
        if key in by_key:
            name, repeated, kind, convert = by_key[key]
            value: Any
            if kind is not None:
                value = kind() if repeated or name not in values else values[name]
                value.wire = data[at:stop]
                _fill(value, data, at, stop, depth + 1)
            elif convert is not None:
                value = convert(data[at:stop])
            else:
                value = number if number < 1 << 63 else number - (1 << 64)
            if not repeated:
                values[name] = value
            elif convert in PACKED:
                if name in values:
                    values[name].extend(value)
                else:
                    values[name] = value
            elif name in values:
                values[name].append(value)
            else:
                values[name] = [value]
        at = stop


def _varint(data: memoryview, at: int, end: int) -> tuple[int, int]:
    """Return a number of 64 bits and the position behind it."""
    value = shift = 0
    while at < end and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & (1 << 64) - 1, at
        shift += 7
    raise Malformed


# --- values ---


def _text(data: memoryview) -> str:
    try:
        return str(data, "utf-8")
    except UnicodeDecodeError:
        raise Malformed from None


def _float(data: memoryview) -> float:
    value: float = unpack_from("<f", data)[0]
    return value


def _double(data: memoryview) -> float:
    value: float = unpack_from("<d", data)[0]
    return value


def _ints(data: memoryview) -> list[int]:
    if max(data, default=0) < 128:      # numbers of one byte
        return data.tolist()
    made, at = [], 0
    while at < len(data):
        value, at = _varint(data, at, len(data))
        made.append(value if value < 1 << 63 else value - (1 << 64))
    return made


def _floats(data: memoryview) -> array[float]:
    return _numbers("f", data)


def _doubles(data: memoryview) -> array[float]:
    return _numbers("d", data)


def _numbers(code: str, data: memoryview) -> array[float]:
    made: array[float] = array(code)
    if len(data) % made.itemsize:
        raise Malformed
    made.frombytes(data)
    if sys.byteorder == "big":
        made.byteswap()
    return made


def _same(data: memoryview) -> memoryview:
    return data


PACKED = (_ints, _floats, _doubles)     # repeated numbers in one field
# By kind: the default, and the function that reads each wire type.
KINDS: dict[str, tuple[Any, dict[int, Callable[..., Any] | None]]] = {
    "int": (0, {VARINT: None}), "int*": ((), {VARINT: None, BYTES: _ints}),
    "float": (0., {FIXED32: _float}), "float*": ((), {FIXED32: _float, BYTES: _floats}),
    "double*": ((), {FIXED64: _double, BYTES: _doubles}),
    "text": ("", {BYTES: _text}), "text*": ((), {BYTES: _text}),
    "copy": (b"", {BYTES: bytes}), "copy*": ((), {BYTES: bytes}), "view": (b"", {BYTES: _same})}


def message_types(tables: Mapping[str, Fields]) -> dict[str, Any]:
    """Return the classes of messages with these fields, by name."""
    made: dict[str, Any] = {name: type(name, (Message,), {"by_key": {}, "__slots__": ()})
                            for name in tables}
    for message, fields in tables.items():
        for name, (number, kind) in fields.items():
            repeated, inner = kind.endswith("*"), made.get(kind.rstrip("*"))
            default, readers = KINDS.get(kind, ((), {BYTES: None}))
            if inner is not None and not repeated:
                default = inner()
            setattr(made[message], name, default)
            made[message].by_key.update({number << 3 | wire_type: (name, repeated, inner, convert)
                                         for wire_type, convert in readers.items()})
    return made


# --- writing ---


def varint(value: int) -> bytes:
    """Return an integer of 64 bits as a varint; negative integers are in two's complement."""
    value &= (1 << 64) - 1
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def written(number: int, content: bytes) -> bytes:
    """Return a field of bytes, text, packed numbers or a message."""
    return varint(number << 3 | BYTES) + varint(len(content)) + content
