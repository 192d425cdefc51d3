"""TFRecordDataset: the records of TFRecord files."""

from __future__ import annotations

from typing import Any

from dualflow._util.cached import cached_property
from dualflow.data.dataset import Dataset
from dualflow.data.files import Lines, names_of
from dualflow.data.stage import Cursor
from dualflow.data.text import ByteString
from dualflow.io.tfrecord import RecordReader, compression_of


class TFRecordDataset(Dataset[bytes]):
    """The records of TFRecord files as bytes, one file after another.

    The elements are bytes objects, which have a method `numpy` for compatibility with TensorFlow.

    Parameters
    ----------
    filenames : str, or list or dataset of str
    compression_type : {"", "GZIP", "ZLIB"}, optional
    buffer_size, num_parallel_reads
        Accepted for compatibility with TensorFlow; no effect.

    Raises
    ------
    InvalidArgumentError
        If the compression is unknown.
    DataLossError
        During iteration, if a file is truncated or a checksum does not match; the message names the
        file and the offset of the record.

    Examples
    --------
    >>> import dualflow as df, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "points.tfrecord")
    >>> with df.io.TFRecordWriter(path) as writer:
    ...     for x in (1.5, 2.5):
    ...         floats = df.train.FloatList(value=[x])
    ...         writer.write(df.train.Example(features=df.train.Features(
    ...             feature={"x": df.train.Feature(float_list=floats)})).SerializeToString())
    >>> spec = {"x": df.io.FixedLenFeature([], df.float32)}
    >>> dataset = df.data.TFRecordDataset(path).batch(2)
    >>> [e["x"].tolist() for e in dataset.map(lambda batch: df.io.parse_example(batch, spec))]
    [[1.5, 2.5]]
    """

    def __init__(self, filenames: Any, compression_type: str | None = None,
                 buffer_size: int | None = None, num_parallel_reads: int | None = None,
                 name: str | None = None) -> None:
        caller = "TFRecordDataset"
        self._stage = Records(names_of(filenames, f"{caller}: filenames"),
                              compression_of(compression_type, caller))


class Records(Lines):
    """The records of TFRecord files, one file after another."""

    @cached_property
    def spec(self) -> Any:
        return bytes

    def cursor(self, epoch: int) -> Cursor:
        return RecordsCursor(self)


class RecordsCursor(Cursor):
    """A cursor over records. Its state is the index of a file and the position in the file."""

    def __init__(self, stage: Records) -> None:
        self.stage = stage
        self.number = self.read = 0
        self.reader: RecordReader | None = None

    def __next__(self) -> Any:
        names = self.stage.names
        while self.number < len(names):
            if self.reader is None:
                self.reader = RecordReader(names[self.number], self.stage.compression, self.read)
            record = None
            try:
                record = self.reader.read()
            finally:
                if record is None:          # the end of the file; after an error, its rest is lost
                    self.reader.close()
                    self.reader, self.read, self.number = None, 0, self.number + 1
            if record is not None and self.reader is not None:
                self.read = self.reader.position
                return ByteString(record)
        raise StopIteration

    def state(self) -> Any:
        return {"file": self.number, "read": self.read}

    def restore(self, state: Any) -> None:
        self.number, self.read = state["file"], state["read"]
