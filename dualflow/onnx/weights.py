"""Reads the weights of an ONNX file straight into tensors.

The onnx package copies the data of a tensor three times on its way from a file to an array. Here
the wire format is walked as far as the initializers, whose data is left out of the bytes that the
package parses, and is read once, into the tensor.
https://protobuf.dev/programming-guides/encoding, onnx/onnx.proto.
"""

from __future__ import annotations

import math
import mmap
import os
import stat
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from dualflow._core import Tensor, empty_with_buffer
from dualflow.dtypes import DType
from dualflow.errors import DataLossError
from dualflow.onnx.package import dtype_of, onnx

LEAST_BYTES = 1 << 12           # smaller data stays in the parsed bytes

# Numbers of fields of ModelProto, GraphProto and TensorProto.
GRAPH, INITIALIZER = 7, 5
DATA_TYPE, RAW_DATA, DATA_LOCATION = 2, 9, 14
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5        # wire types


class Field(NamedTuple):
    """A field of a message: its bytes begin at `start`, its value at `content`; both stop at
    `end`."""

    number: int
    wire_type: int
    start: int
    content: int
    end: int


class Malformed(Exception):
    """The bytes are not in the wire format."""


def fields(data: Any, start: int, end: int) -> Iterator[Field]:
    """Yield the fields of the message in data[start:end]."""
    while start < end:
        key, at = _varint(data, start, end)
        number, wire_type = key >> 3, key & 7
        if wire_type == VARINT:
            content, (_, stop) = at, _varint(data, at, end)
        elif wire_type == BYTES:
            size, content = _varint(data, at, end)
            stop = content + size
        elif wire_type in (FIXED32, FIXED64):
            content, stop = at, at + (4 if wire_type == FIXED32 else 8)
        else:
            raise Malformed
        if stop > end:
            raise Malformed
        yield Field(number, wire_type, start, content, stop)
        start = stop


def _varint(data: Any, at: int, end: int) -> tuple[int, int]:
    """Return a number and the position after it."""
    value = shift = 0
    while at < end and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    raise Malformed


def _encoded(value: int) -> bytes:
    """Return a number as a varint."""
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    made.append(value)
    return bytes(made)


class Span(NamedTuple):
    """The position of a tensor's data in a file."""

    start: int
    size: int


class _Skeleton:
    """Collects a model's bytes without the data of large initializers.

    Attributes
    ----------
    spans : list of Span or None
        The data left out of each initializer.
    """

    def __init__(self, data: Any) -> None:
        self.data = data
        self.spans: list[Span | None] = []
        self.parts: list[Any] = []
        copied = 0
        for field in fields(data, 0, len(data)):
            if field.number == GRAPH and field.wire_type == BYTES:
                self.parts.append(data[copied:field.start])
                graph = self._graph(field)
                self.parts += [_key(GRAPH), _encoded(sum(map(len, graph))), *graph]
                copied = field.end
        self.parts.append(data[copied:len(data)])

    def _graph(self, graph: Field) -> list[Any]:
        """Return the parts of a GraphProto."""
        parts, copied = [], graph.content
        for field in fields(self.data, graph.content, graph.end):
            if field.number == INITIALIZER and field.wire_type == BYTES:
                span = self._data_of(field)
                self.spans.append(None if span is None else Span(span.content,
                                                                 span.end - span.content))
                if span is not None:
                    before = self.data[field.content:span.start]
                    behind = self.data[span.end:field.end]
                    parts += [self.data[copied:field.start], _key(INITIALIZER),
                              _encoded(len(before) + len(behind)), before, behind]
                    copied = field.end
        return [*parts, self.data[copied:graph.end]]

    def _data_of(self, initializer: Field) -> Field | None:
        """Return the field of a TensorProto with its data, if it is read separately."""
        if initializer.end - initializer.content < LEAST_BYTES:
            return None
        found: list[Field] = []
        dtype = None
        for field in fields(self.data, initializer.content, initializer.end):
            if field.number == RAW_DATA and field.wire_type == BYTES:
                found.append(field)
            elif field.number == DATA_TYPE and field.wire_type == VARINT:
                dtype = dtype_of(_varint(self.data, field.content, field.end)[0])
            elif field.number == DATA_LOCATION:
                return None
        # Tensors of bool and of narrow dtypes have other bytes than the file.
        if len(found) == 1 and isinstance(dtype, DType) and not dtype.is_bool:
            return found[0]
        return None


def _key(number: int) -> bytes:
    return _encoded(number << 3 | BYTES)


def read_file(path: str) -> tuple[Any, dict[str, Tensor]]:
    """Return the ModelProto of a file without the data of large initializers, and these by name.

    Raises
    ------
    google.protobuf.message.DecodeError
        If the file is not a model.
    DataLossError
        If the data of an initializer has another size than its shape.
    """
    with open(path, "rb", buffering=0) as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode) or not about.st_size:    # cannot be mapped
            return read_bytes(file.readall())

        def fill(buffer: memoryview, start: int) -> None:
            file.seek(start)
            while buffer:               # one call reads at most 2 GB
                count = file.readinto(buffer)
                if not count:
                    raise DataLossError(f"onnx.load: {path} ends early")
                buffer = buffer[count:]

        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _read(data, fill)


def read_bytes(data: bytes | bytearray | memoryview) -> tuple[Any, dict[str, Tensor]]:
    """Same, for the bytes of a file."""
    view = memoryview(data).cast("B")

    def fill(buffer: memoryview, start: int) -> None:
        buffer[:] = view[start:start + len(buffer)]

    return _read(view, fill)


def _read(data: Any, fill: Callable[[memoryview, int], None]) -> tuple[Any, dict[str, Tensor]]:
    """`fill` copies the bytes of the file from a position on to a buffer."""
    model = onnx().ModelProto()
    try:
        skeleton = _Skeleton(data)
    except Malformed:
        model.ParseFromString(bytes(data))      # raises the package's error
        return model, {}
    model.ParseFromString(b"".join(skeleton.parts))
    weights = {}
    for proto, span in zip(model.graph.initializer, skeleton.spans, strict=True):
        if span is not None:
            tensor, buffer = _uninitialised(proto, span)
            fill(buffer, span.start)
            weights[proto.name] = tensor
    return model, weights


def _uninitialised(proto: Any, span: Span) -> tuple[Tensor, memoryview]:
    """Return a tensor for the data of a TensorProto, and its bytes."""
    dtype: Any = dtype_of(proto.data_type)
    shape = tuple(proto.dims)
    size = dtype.itemsize * math.prod(shape)
    if size != span.size or min(shape, default=1) < 0:
        raise DataLossError(f"onnx.load: the tensor {proto.name!r} is damaged: {span.size} bytes "
                            f"of data for {dtype.name} {shape}, expected {size}")
    return empty_with_buffer(dtype, shape)
