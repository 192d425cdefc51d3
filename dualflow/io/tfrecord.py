"""TFRecord files: records of bytes, with CRC-32C checksums of each length and each record.

A record is its length (64 bits, little-endian), the masked checksum of the length, the bytes, and
the masked checksum of the bytes. The file may be compressed as a whole. Files are not trusted: the
reader never allocates more than a piece beyond the bytes that the file contains.

Source: https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details.
"""

from __future__ import annotations

import gzip
import io
import os
import struct
import threading
import zlib
from typing import Any, BinaryIO

from dualflow._core import crc32c
from dualflow._util.arguments import shown
from dualflow.errors import DataLossError, DTypeError, InvalidArgumentError

__all__ = ["TFRecordOptions", "TFRecordWriter"]

COMPRESSIONS = "", "GZIP", "ZLIB"
PIECE = 1 << 20             # bytes that are read at a time
HEADER, FOOTER = struct.Struct("<QI"), struct.Struct("<I")
MASK = (1 << 32) - 1


def masked_crc(data: bytes) -> int:
    """Return the checksum of bytes in the form that files contain."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & MASK


def compression_of(value: Any, caller: str) -> str:
    """Return the name of a compression; None stands for no compression."""
    if (value or "") not in COMPRESSIONS:
        raise InvalidArgumentError(f"{caller}: compression_type is {shown(value)}, expected one of "
                                   f"{COMPRESSIONS}")
    return value or ""


class TFRecordOptions:
    """Options of a TFRecord file.

    Parameters
    ----------
    compression_type : {"", "GZIP", "ZLIB"}, optional
    compression_level : int, optional
        From 0, without compression, to 9; by default zlib's choice.
    flush_mode, input_buffer_size, output_buffer_size, window_bits, mem_level, compression_strategy
        Accepted for compatibility with TensorFlow; no effect.

    Raises
    ------
    InvalidArgumentError
        If the compression is unknown.

    Examples
    --------
    >>> import dualflow as df
    >>> df.io.TFRecordOptions("GZIP")
    TFRecordOptions(compression_type='GZIP')
    """

    def __init__(self, compression_type: Any = None, flush_mode: Any = None,
                 input_buffer_size: int | None = None, output_buffer_size: int | None = None,
                 window_bits: int | None = None, compression_level: int | None = None,
                 compression_method: Any = None, mem_level: int | None = None,
                 compression_strategy: Any = None) -> None:
        if isinstance(compression_type, TFRecordOptions):
            compression_type = compression_type.compression_type
        self.compression_type: str = compression_of(compression_type, "TFRecordOptions")
        self.compression_level: int = -1 if compression_level is None else compression_level

    def __repr__(self) -> str:
        return f"TFRecordOptions(compression_type={self.compression_type!r})"


class TFRecordWriter:
    """Writes records to a file, which `dualflow.data.TFRecordDataset` reads.

    Parameters
    ----------
    path : str or path
        The file; an existing file is replaced.
    options : str or TFRecordOptions, optional
        The compression.

    Examples
    --------
    >>> import dualflow as df, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers.tfrecord")
    >>> with df.io.TFRecordWriter(path) as writer:
    ...     for text in (b"one", b"two"):
    ...         writer.write(text)
    >>> list(df.data.TFRecordDataset(path))
    [b'one', b'two']
    """

    def __init__(self, path: str | os.PathLike[str], options: Any = None) -> None:
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(options)
        self._lock = threading.Lock()
        self._file: BinaryIO = open(os.fspath(path), "wb")     # noqa: SIM115
        self._packer: Any = None
        if options.compression_type:
            self._packer = zlib.compressobj(options.compression_level, zlib.DEFLATED,
                                            31 if options.compression_type == "GZIP" else 15)

    def write(self, record: Any) -> None:
        """Append a record.

        Parameters
        ----------
        record : bytes, or scalar StringTensor
        """
        if hasattr(record, "numpy"):
            record = record.numpy()
        if isinstance(record, str):
            record = record.encode()
        if not isinstance(record, bytes | bytearray | memoryview):
            raise DTypeError(f"TFRecordWriter.write: record is {shown(record)}, expected bytes")
        record = bytes(record)
        length = struct.pack("<Q", len(record))
        parts = (length, FOOTER.pack(masked_crc(length)), record, FOOTER.pack(masked_crc(record)))
        with self._lock:
            self._opened("write")
            for part in parts:
                self._file.write(self._packer.compress(part) if self._packer else part)

    def _opened(self, caller: str) -> None:
        if self._file.closed:
            raise InvalidArgumentError(f"TFRecordWriter.{caller}: the writer is closed")

    def flush(self) -> None:
        """Write buffered records to the file."""
        with self._lock:
            self._opened("flush")
            if self._packer:
                self._file.write(self._packer.flush(zlib.Z_SYNC_FLUSH))
            self._file.flush()

    def close(self) -> None:
        """Write buffered records and close the file. A second call does nothing."""
        with self._lock:
            if not self._file.closed:
                with self._file:
                    if self._packer:
                        self._file.write(self._packer.flush())

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


class _Inflated(io.RawIOBase):
    """The content of a file that zlib has compressed."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "rb")       # noqa: SIM115
        self._unpacker = zlib.decompressobj()
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._unpacker.eof:
            packed = self._rest or self._file.read(1 << 16)
            found = self._unpacker.decompress(packed, len(buffer))
            self._rest = self._unpacker.unconsumed_tail
            if found:
                buffer[:len(found)] = found
                return len(found)
            if not packed:
                raise EOFError("the compressed data are incomplete")
        return 0

    def close(self) -> None:
        self._file.close()
        super().close()


class RecordReader:
    """Reads the records of one file.

    Attributes
    ----------
    position : int
        Offset of the next record in the uncompressed content.
    """

    def __init__(self, path: str, compression: str = "", position: int = 0) -> None:
        self.path, self.position = path, position
        self._file: Any = (
            gzip.open(path) if compression == "GZIP"   # noqa: SIM115
            else io.BufferedReader(_Inflated(path), 1 << 16) if compression == "ZLIB"
            else open(path, "rb"))          # noqa: SIM115
        if compression == "ZLIB":           # cannot seek
            while position:
                skipped = len(self._bytes(min(position, PIECE)))
                position = position - skipped if skipped else 0
        else:
            self._file.seek(position)

    def read(self) -> bytes | None:
        """Return the next record, or None at the end of the file.

        Raises
        ------
        DataLossError
            If the file is truncated or a checksum does not match.
        """
        header = self._bytes(HEADER.size)
        if not header:
            return None
        if len(header) < HEADER.size:
            raise self._damaged(f"the file is truncated: it has {len(header)} bytes of a header of "
                                f"{HEADER.size}")
        length, crc = HEADER.unpack(header)
        if masked_crc(header[:8]) != crc:
            raise self._damaged("the checksum of the length does not match")
        data = self._bytes(length)
        footer = self._bytes(FOOTER.size) if len(data) == length else b""
        if len(footer) < FOOTER.size:
            raise self._damaged("the file is truncated: it has "
                                f"{len(data) + len(footer)} bytes of a record of "
                                f"{length + FOOTER.size}")
        if masked_crc(data) != FOOTER.unpack(footer)[0]:
            raise self._damaged("the checksum of the record does not match")
        self.position += HEADER.size + length + FOOTER.size
        return data

    def _bytes(self, n: int) -> bytes:
        """Read n bytes, or fewer at the end of the file, in pieces: n may be a damaged length."""
        try:
            if n <= PIECE:
                return bytes(self._file.read(n))
            parts = []
            while n and (part := self._file.read(min(n, PIECE))):
                parts.append(part)
                n -= len(part)
            return b"".join(parts)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise self._damaged(f"the compressed data are damaged: {error}") from error

    def _damaged(self, why: str) -> DataLossError:
        return DataLossError(f"{self.path}: record at byte {self.position}: {why}")

    def close(self) -> None:
        self._file.close()
