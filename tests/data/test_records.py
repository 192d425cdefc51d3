"""TFRecord files: the format byte by byte, compressed files, and damaged files."""

import gzip
import struct
import zlib
from contextlib import suppress

import pytest
from hypothesis import given, settings, strategies as st

import dualflow as df
from dualflow._core import crc32c
from dualflow.errors import DataLossError, DTypeError, InvalidArgumentError
from dualflow.io.tfrecord import RecordReader

RECORDS = [b"one", b"", b"three" * 30, bytes(range(256))]


def checksum(data):
    """CRC-32C bit by bit, then masked."""
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    crc ^= 0xffffffff
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def framed(data):
    """A record byte by byte."""
    length = struct.pack("<Q", len(data))
    return (length + struct.pack("<I", checksum(length)) + data
            + struct.pack("<I", checksum(data)))


CONTENT = b"".join(map(framed, RECORDS))
PACK = {"": bytes, "GZIP": gzip.compress, "ZLIB": zlib.compress}


def write(path, records, options=None):
    with df.io.TFRecordWriter(path, options) as writer:
        for record in records:
            writer.write(record)
    return str(path)


def test_checksum_of_the_standard():
    assert crc32c(b"123456789") == 0xe3069283 and crc32c(b"") == 0
    assert crc32c(bytes(32)) == 0x8a9136aa and crc32c(b"\xff" * 32) == 0x62a8ab43   # RFC 3720


@given(st.binary(max_size=70))
def test_checksum_of_any_bytes(data):
    crc = crc32c(data)
    assert ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff == checksum(data)


def test_the_writer_writes_the_format(tmp_path):
    path = write(tmp_path / "a", RECORDS)
    assert (tmp_path / "a").read_bytes() == CONTENT
    assert list(df.data.TFRecordDataset(path)) == RECORDS


@pytest.mark.parametrize("kind", PACK)
def test_compressions(tmp_path, kind):
    path = write(tmp_path / "a", RECORDS, df.io.TFRecordOptions(kind))
    packed = tmp_path / "b"
    packed.write_bytes(PACK[kind](CONTENT))
    dataset = df.data.TFRecordDataset([path, str(packed)], kind)
    assert list(dataset) == RECORDS * 2
    for k in range(8):
        it = iter(dataset)
        for _ in range(k):
            next(it)
        other = iter(dataset)
        other.restore(it.state())
        assert list(other) == (RECORDS * 2)[k:]
    assert list(df.data.TFRecordDataset(write(tmp_path / "c", [], kind), kind)) == []


def test_large_records_take_pieces(tmp_path):
    large = bytes(3 << 20) + b"end"
    for kind in PACK:
        assert list(df.data.TFRecordDataset(write(tmp_path / "a", [large], kind), kind)) == [large]


def test_elements(tmp_path):
    dataset = df.data.TFRecordDataset(write(tmp_path / "a", RECORDS[:2]))
    assert dataset.element_spec is bytes and isinstance(dataset, df.data.Dataset)
    assert [x.numpy() for x in dataset] == RECORDS[:2]
    assert next(iter(dataset.batch(2))) == RECORDS[:2]
    assert sorted(dataset.shuffle(2, seed=1)) == sorted(RECORDS[:2])
    assert next(iter(dataset.map(lambda x: df.constant([x, x])))) == [b"one"] * 2
    made = next(iter(dataset.map(lambda x: df.strings.upper(x))))
    assert made == b"ONE" and made.numpy() == b"ONE"
    assert dataset.map(df.constant).element_spec is bytes


def test_what_the_writer_accepts(tmp_path):
    path = write(tmp_path / "a", [df.constant("a"), bytearray(b"b"), "c", memoryview(b"d")])
    assert list(df.data.TFRecordDataset(path)) == [b"a", b"b", b"c", b"d"]
    writer = df.io.TFRecordWriter(path)
    for value in (1, None, df.constant(1.)):
        with pytest.raises(DTypeError, match="expected bytes"):
            writer.write(value)
    writer.write(b"x")
    writer.flush()
    assert list(df.data.TFRecordDataset(path)) == [b"x"]
    writer.close()
    writer.close()
    for call in (writer.flush, lambda: writer.write(b"")):
        with pytest.raises(InvalidArgumentError, match="is closed"):
            call()
    for make in (df.io.TFRecordOptions, lambda x: df.data.TFRecordDataset(path, x)):
        with pytest.raises(InvalidArgumentError, match="compression_type is 'LZ4'"):
            make("LZ4")


def test_an_error_names_file_and_position(tmp_path):
    path = tmp_path / "damaged"
    begin = len(framed(b"one")) + len(framed(b""))
    for at, why in ((2, "length does not match"), (9, "length does not match"),
                    (20, "record does not match"), (162, "record does not match")):
        changed = bytearray(CONTENT)
        changed[begin + at] ^= 1
        path.write_bytes(changed)
        it = iter(df.data.TFRecordDataset(str(path)))
        assert [next(it), next(it)] == RECORDS[:2]
        with pytest.raises(DataLossError, match=f"damaged: record at byte {begin}: .*{why}"):
            next(it)
        with pytest.raises(StopIteration):
            next(it)
    other = write(tmp_path / "other", [b"x"])
    it = iter(df.data.TFRecordDataset([str(path), other]))
    next(it), next(it)
    with pytest.raises(DataLossError):
        next(it)
    assert next(it) == b"x"                     # the next file


@pytest.mark.parametrize("kind", PACK)
def test_truncated_files(tmp_path, kind):
    path = tmp_path / "a"
    whole = PACK[kind](CONTENT)
    ends = [sum(len(framed(x)) for x in RECORDS[:k]) for k in range(5)]
    for size in range(0, len(whole), 7):
        path.write_bytes(whole[:size])
        reader = RecordReader(str(path), kind)
        found = []
        with suppress(DataLossError):
            while (record := reader.read()) is not None:
                found.append(record)
            assert size in ends or (kind == "GZIP" and size == 0)
        assert found == RECORDS[:len(found)]


def test_a_false_length_allocates_nothing(tmp_path):
    path = tmp_path / "a"
    for length in (1 << 40, (1 << 64) - 1):
        header = struct.pack("<Q", length)
        path.write_bytes(header + struct.pack("<I", checksum(header)) + b"few")
        with pytest.raises(DataLossError, match="truncated: it has 3 bytes"):
            list(df.data.TFRecordDataset(str(path)))


@settings(max_examples=200)
@given(st.sampled_from(sorted(PACK)), st.data())
def test_damaged_bytes(tmp_path_factory, kind, data):
    """A changed file returns a prefix of the records, then raises DataLossError."""
    whole = bytearray(PACK[kind](CONTENT))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at:at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
    path = tmp_path_factory.getbasetemp() / "fuzzed"
    path.write_bytes(whole)
    found = []
    with suppress(DataLossError):
        for record in df.data.TFRecordDataset(str(path), kind):
            found.append(record)
    assert found == RECORDS[:len(found)]


def test_missing_file():
    with pytest.raises(FileNotFoundError, match="nowhere"):
        list(df.data.TFRecordDataset("/nowhere/a"))
