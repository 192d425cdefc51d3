"""`tf.python_io`: files of records."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from dualflow.io.tfrecord import (
    RecordReader,
    TFRecordOptions as Options,
    TFRecordWriter as TFRecordWriter,
)

__all__ = ["TFRecordCompressionType", "TFRecordOptions", "TFRecordWriter", "tf_record_iterator"]


class TFRecordCompressionType:
    """The compressions of a file of records."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


class TFRecordOptions(Options):
    """Options of a TFRecord file: `dualflow.io.TFRecordOptions`, with the numbers of
    `TFRecordCompressionType`.

    Parameters
    ----------
    compression_type : int or str, optional

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP).compression_type
    'GZIP'
    """

    def __init__(self, compression_type: Any = None, *args: Any, **kwargs: Any) -> None:
        if isinstance(compression_type, int):
            compression_type = ["", "ZLIB", "GZIP"][compression_type]
        super().__init__(compression_type, *args, **kwargs)


def tf_record_iterator(path: str | os.PathLike[str], options: Any = None) -> Iterator[bytes]:
    """Iterate over the records of a TFRecord file.

    Parameters
    ----------
    path : str or path
    options : TFRecordOptions, optional

    Examples
    --------
    >>> import dualflow.compat.v1 as tf, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers.tfrecord")
    >>> with tf.python_io.TFRecordWriter(path) as writer:
    ...     writer.write(b"one")
    >>> list(tf.python_io.tf_record_iterator(path))
    [b'one']
    """
    reader = RecordReader(os.fspath(path), TFRecordOptions(options).compression_type)
    try:
        while (record := reader.read()) is not None:
            yield record
    finally:
        reader.close()


def __dir__() -> list[str]:
    return __all__
