"""Messages of `df.train`: the wire format byte by byte, and attributes as in protobuf."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, strategies as st

import dualflow as df
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.train import (
    BytesList,
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
    SequenceExample,
)


def field(number, content):
    """A short field of the wire format: key, length, content."""
    assert number < 16 and len(content) < 128
    return bytes([number << 3 | 2, len(content)]) + content


def entry(key, number, values):
    """An entry of a map of features: the key, and a Feature with list `number`."""
    return field(1, field(1, key) + field(2, field(number, values)))


# {"a": [b"x", b""], "b": [0.5], "c": [1, 300, -1]}
BYTES = field(1, entry(b"a", 1, field(1, b"x") + field(1, b""))
              + entry(b"b", 2, field(1, b"\x00\x00\x00\x3f"))
              + entry(b"c", 3, field(1, b"\x01\xac\x02" + b"\xff" * 9 + b"\x01")))
EXAMPLE = Example(features=Features(feature={
    "c": Feature(int64_list=Int64List(value=[1, 300, -1])),
    "a": Feature(bytes_list=BytesList(value=[b"x", b""])),
    "b": Feature(float_list=FloatList(value=[0.5]))}))


def test_bytes_of_the_wire_format():
    assert EXAMPLE.SerializeToString() == BYTES and EXAMPLE.ByteSize() == len(BYTES)
    assert Example.FromString(BYTES) == EXAMPLE
    other = Example()
    assert other != EXAMPLE and other.ParseFromString(BYTES) == len(BYTES) and other == EXAMPLE
    assert Example().SerializeToString() == b"" and Example.FromString(b"") == Example()


def test_numbers_one_by_one_and_unknown_fields():
    """Repeated numbers may be a field each, and fields of other numbers are skipped."""
    data = b"\x08\x05" + b"\x08\x80\x01" + field(9, b"what")
    assert Int64List.FromString(data).value == [5, 128]
    assert FloatList.FromString(b"\x0d\x00\x00\x00\x3f" * 2).value == [0.5, 0.5]
    merged = Example.FromString(BYTES + field(1, entry(b"d", 3, field(1, b"\x07"))))
    assert sorted(merged.features.feature) == ["a", "b", "c", "d"]


def test_attributes():
    example = Example()
    example.features.feature["n"].int64_list.value.extend([1, 2])
    example.features.feature["t"].bytes_list.value.append(b"x")
    assert example.features.feature["n"].int64_list.value[1] == 2
    assert example.features.feature["n"].WhichOneof("kind") == "int64_list"
    assert example.features.feature["n"].HasField("int64_list")
    assert Example.FromString(example.SerializeToString()) == example
    feature = example.features.feature["n"]
    feature.float_list.value.append(0.5)            # replaces the integers
    assert feature == Feature(float_list=FloatList(value=[0.5]))
    assert feature.WhichOneof("kind") == "float_list" and feature.int64_list.value == []
    assert Feature().WhichOneof() is None and Feature() == Feature()
    assert Feature() != Feature(bytes_list=BytesList())
    with pytest.raises(AttributeError):
        _ = feature.double_list
    with pytest.raises(TypeError):
        hash(example)


def test_sequence_example():
    steps = FeatureList(feature=[Feature(int64_list=Int64List(value=[k])) for k in (1, 2)])
    example = SequenceExample(
        context=Features(feature={"a": Feature(bytes_list=BytesList(value=[b"x"]))}),
        feature_lists=FeatureLists(feature_list={"s": steps}))
    step = [field(1, field(3, field(1, bytes([k])))) for k in (1, 2)]
    assert example.SerializeToString() == (
        field(1, entry(b"a", 1, field(1, b"x")))
        + field(2, field(1, field(1, b"s") + field(2, b"".join(step)))))
    assert SequenceExample.FromString(example.SerializeToString()) == example
    assert example.feature_lists.feature_list["s"].feature[1].int64_list.value == [2]


def test_reprs():
    assert repr(EXAMPLE) == (
        "Example(features=Features(feature={'c': Feature(int64_list=Int64List(value=[1, 300, -1]))"
        ", 'a': Feature(bytes_list=BytesList(value=[b'x', b''])), 'b': Feature(float_list="
        "FloatList(value=[0.5]))}))")
    assert eval(repr(EXAMPLE)) == EXAMPLE
    assert repr(Int64List(value=range(9))) == (
        "Int64List(value=[0, 1, 2, 3, 4, 5, 6, 7, ... 9 values])")
    assert len(repr(BytesList(value=[bytes(1000)]))) < 200


def test_values():
    assert FloatList(value=np.float32([1, 2])).value == [1., 2.]
    assert FloatList(value=df.constant([0.1])).value == [float(np.float32(0.1))]
    assert Int64List(value=np.arange(3)).value == [0, 1, 2]
    assert Int64List(value=[True, np.int64(3)]).value == [1, 3]
    assert BytesList(value=np.array([b"a"], object)).value == [b"a"]
    assert BytesList(value=df.constant(["a"])).value == [b"a"]
    nan = FloatList.FromString(FloatList(value=[np.nan, np.inf]).SerializeToString()).value
    assert np.isnan(nan[0]) and nan[1] == np.inf


@pytest.mark.parametrize("make", [
    lambda: BytesList(value=["text"]), lambda: BytesList(value=b"a"), lambda: BytesList(value=[1]),
    lambda: FloatList(value=["1"]), lambda: FloatList(value=3), lambda: Int64List(value=[1.5]),
    lambda: Int64List(value=[1 << 63]), lambda: Feature(int64_list=[1]),
    lambda: Features(feature=[1]), lambda: Features(feature={"a": 1}),
    lambda: Example(features={}), lambda: Example.FromString("text"),
    lambda: FeatureList(feature=[1])])
def test_wrong_types(make):
    with pytest.raises(DTypeError):
        make()


def test_values_are_checked_when_they_are_written():
    wrong = Int64List()
    wrong.value.append("a")
    with pytest.raises(DTypeError, match="Int64List: value is"):
        wrong.SerializeToString()
    with pytest.raises(InvalidArgumentError, match="float_list and int64_list"):
        Feature(float_list=FloatList(), int64_list=Int64List())
    with pytest.raises(InvalidArgumentError, match="not a message Example"):
        Example.FromString(b"\xff")


FEATURE = st.one_of(
    st.lists(st.binary(max_size=5), max_size=4).map(
        lambda v: Feature(bytes_list=BytesList(value=v))),
    st.lists(st.floats(width=32, allow_nan=False), max_size=4).map(
        lambda v: Feature(float_list=FloatList(value=v))),
    st.lists(st.integers(-1 << 63, (1 << 63) - 1), max_size=4).map(
        lambda v: Feature(int64_list=Int64List(value=v))), st.just(Feature()))


@given(st.dictionaries(st.text(max_size=4), FEATURE, max_size=4))
def test_round_trips(features):
    example = Example(features=Features(feature=features))
    data = example.SerializeToString()
    assert Example.FromString(data) == example
    assert Example.FromString(data).SerializeToString() == data


@given(st.sampled_from([Example, SequenceExample, Feature, Features, Int64List, FloatList]),
       st.binary(max_size=60))
def test_any_bytes(kind, data):
    with suppress(InvalidArgumentError):
        again = kind.FromString(data).SerializeToString()
        assert kind.FromString(again).SerializeToString() == again


@given(st.integers(0, len(BYTES) - 1), st.integers(0, 3), st.binary(max_size=4))
def test_changed_bytes(at, n, new):
    with suppress(InvalidArgumentError):
        made = Example.FromString(BYTES[:at] + new + BYTES[at + n:])
        made.SerializeToString(), repr(made)
