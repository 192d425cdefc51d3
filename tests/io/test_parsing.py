"""Examples, tensors and lines of text as tensors."""

import struct
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, strategies as st

import dualflow as df
from dualflow.errors import (
    DTypeError,
    DualflowError,
    InvalidArgumentError,
    ShapeError,
)
from dualflow.train import BytesList, Example, Feature, Features, FloatList, Int64List

io = df.io


def ints(*values):
    return Feature(int64_list=Int64List(value=values))


def floats(*values):
    return Feature(float_list=FloatList(value=values))


def texts(*values):
    return Feature(bytes_list=BytesList(value=values))


def example(**features):
    return Example(features=Features(feature=features)).SerializeToString()


DATA = example(a=ints(1, 2, 3, 4), b=floats(0.5), c=texts(b"x", b"y"), e=Feature())


def one(given, data=DATA, key="a"):
    return io.parse_single_example(data, {key: given})[key]


def test_single_example():
    found = io.parse_single_example(df.constant(DATA), {
        "a": io.FixedLenFeature([2, 2], df.int64), "b": io.FixedLenFeature((), "float32"),
        "c": io.FixedLenFeature(2, df.string),
        "d": io.FixedLenFeature([2], df.float32, [1., 2.]),
        "e": io.FixedLenFeature([3], df.int64, default_value=7),
        "f": io.FixedLenFeature([], df.string, "none"),
        "rows": io.FixedLenSequenceFeature([2], df.int64, allow_missing=True)})
    assert list(found) == ["a", "b", "c", "d", "e", "f", "rows"]
    assert found["a"].tolist() == [[1, 2], [3, 4]] and found["a"].dtype is df.int64
    assert found["b"].item() == 0.5 and found["b"].shape == () and found["b"].dtype is df.float32
    assert found["c"].tolist() == [b"x", b"y"] and found["d"].tolist() == [1., 2.]
    assert found["e"].tolist() == [7] * 3 and found["f"].numpy() == b"none"
    assert found["rows"].shape == (0, 2)
    many = one(io.FixedLenSequenceFeature([2], df.int64, True))
    assert many.tolist() == [[1, 2], [3, 4]]
    assert one(io.FixedLenSequenceFeature([], df.string, True), key="c").tolist() == [b"x", b"y"]


@pytest.mark.parametrize("given, kind, said", [
    (io.FixedLenFeature([3], df.int64), InvalidArgumentError, "'a' has 4 values in the ex"),
    (io.FixedLenFeature([4], df.float32), DTypeError, "is a int64_list in the example"),
    (io.FixedLenFeature([4], df.int32), DTypeError, "has dtype int32, expected float32, int64 or"),
    (io.FixedLenFeature([None], df.int64), InvalidArgumentError, "FixedLenSequenceFeature has any"),
    (io.FixedLenFeature([-4], df.int64), InvalidArgumentError, "sizes of at least 0"),
    (io.FixedLenFeature([4], df.int64, [1, 2]), InvalidArgumentError, "default_value has 2 elem"),
    (io.FixedLenSequenceFeature([3], df.int64, True), InvalidArgumentError, "a multiple of 3"),
    (io.FixedLenSequenceFeature([2], df.int64), InvalidArgumentError, "allow_missing=True"),
    (df.int64, DTypeError, "expected a FixedLenFeature")])
def test_errors(given, kind, said):
    with pytest.raises(kind, match=said):
        one(given)


def test_errors_of_examples():
    for key in ("e", "z"):
        with pytest.raises(InvalidArgumentError, match=f"'{key}' is missing in the example"):
            one(io.FixedLenFeature([], df.int64), key=key)
    with pytest.raises(InvalidArgumentError, match="not a message Example"):
        one(io.FixedLenFeature([], df.int64), b"\xff")
    with pytest.raises(ShapeError, match="expected a scalar"):
        one(io.FixedLenFeature([], df.int64), [DATA])
    with pytest.raises(ShapeError, match="one dimension"):
        io.parse_example([[DATA]], {})
    with pytest.raises(DTypeError, match="expected a dict"):
        io.parse_example([DATA], ["a"])
    with pytest.raises(DTypeError, match="expected text"):
        one(io.FixedLenFeature([], df.int64), df.constant(1))
    with pytest.raises(InvalidArgumentError) as caught:
        io.parse_example([DATA, b""], {"b": io.FixedLenFeature([], df.float32)})
    assert caught.value.__notes__ == ["in example 1 of the batch"]


R = io.RaggedFeature
KEYS = {"splits": R.RowSplits, "lengths": R.RowLengths, "starts": R.RowStarts,
        "limits": R.RowLimits, "ids": R.ValueRowIds}


def partitioned(lengths):
    """Return the descriptions of rows of given lengths."""
    splits = np.cumsum([0, *lengths])
    return {"splits": ints(*splits), "lengths": ints(*lengths), "starts": ints(*splits[:-1]),
            "limits": ints(*splits[1:]), "ids": ints(*np.repeat(np.arange(len(lengths)), lengths))}


def test_ragged_features():
    batch = [example(a=ints(1, 2), b=floats(.5), c=texts(b"x")), example(),
             example(a=ints(3), c=texts(b"y", b"z"))]
    found = io.parse_example(batch, {"a": R(df.int64), "b": R("float32"), "text": R(
        df.string, value_key="c"), "none": R(df.string)})
    assert {key: x.to_list() for key, x in found.items()} == {
        "a": [[1, 2], [], [3]], "b": [[.5], [], []], "text": [[b"x"], [], [b"y", b"z"]],
        "none": [[], [], []]}
    assert all(isinstance(x, df.RaggedTensor) for x in found.values())
    assert found["a"].dtype is df.int64 and found["none"].dtype == df.string
    assert one(R(df.string), batch[2], "c").tolist() == [b"y", b"z"]
    assert one(R(df.int64), batch[1]).tolist() == []
    assert io.parse_example([], {"a": R(df.int64)})["a"].to_list() == []
    data = df.data.Dataset.from_tensor_slices(found).batch(2)
    assert next(iter(data))["text"].to_list() == [[b"x"], []]


@pytest.mark.parametrize("key", KEYS)
def test_partitions(key):
    rows = [[2, 0, 1], [], [1]]
    batch = [example(v=ints(1, 2, 3), **partitioned(rows[0])), example(v=ints()),
             example(v=ints(4), **partitioned(rows[2]))]
    want = [[[1, 2], [], [3]], [], [[4]]]
    given = R(df.int64, value_key="v", partitions=[KEYS[key](key)])
    assert io.parse_example(batch, {"a": given})["a"].to_list() == want
    for data, each in zip(batch, want, strict=True):
        assert one(given, data).to_list() == each
    nested = R(df.int64, "v", [KEYS[key]("outer"), R.RowLengths("lengths")])
    data = example(v=ints(1, 2, 3), lengths=ints(2, 0, 1), outer=partitioned([2, 1])[key])
    found = io.parse_example([data, data], {"a": nested})["a"]
    assert found.to_list() == [[[[1, 2], []], [[3]]]] * 2 and found.ragged_rank == 3
    assert one(nested, data).to_list() == [[[1, 2], []], [[3]]]
    wrong = example(v=ints(1, 2, 3), **partitioned([4, 1]))
    with pytest.raises(InvalidArgumentError, match="3 values in the rows of "):
        one(given, wrong)


def test_uniform_rows_and_bad_ragged_features():
    given = R(df.int64, partitions=[R.UniformRowLength(2)])
    found = io.parse_example([DATA, DATA], {"a": given})["a"]
    assert found.to_list() == [[[1, 2], [3, 4]]] * 2 and found.shape.as_list() == [2, None, 2]
    for given, error, said in [
            (R(df.int64, partitions=[R.UniformRowLength(3)]), InvalidArgumentError, "4 values in"),
            (R(df.int64, partitions=[R.UniformRowLength(0)]), InvalidArgumentError, "positive int"),
            (R(df.int64, partitions=["x"]), DTypeError, "expected a RowSplits"),
            (R(df.int64, partitions=[R.RowSplits("b")]), DTypeError, "is a float_list"),
            (R(df.float32), DTypeError, "is a int64_list")]:
        with pytest.raises(error, match=said):
            one(given)
    for splits in ([1, 4], [0, 5, 4], [0, 3], [4, 0]):
        with pytest.raises(InvalidArgumentError, match="4 values in the rows of RowSplits"):
            one(R(df.int64, partitions=[R.RowSplits("s")]),
                example(a=ints(1, 2, 3, 4), s=ints(*splits)))
    with pytest.raises(DTypeError, match="is a RaggedFeature"):
        io.parse_single_sequence_example(b"", {}, {"a": R(df.int64)})


def test_sparse_features():
    """Examples without a feature have no elements."""
    batch = [example(a=ints(1)), example(), example(a=ints(2, 3, 4))]
    found = io.parse_example(batch, {"a": io.VarLenFeature(df.int64),
                                     "b": io.VarLenFeature(df.float32)})
    assert found["a"].indices.tolist() == [[0, 0], [2, 0], [2, 1], [2, 2]]
    assert found["a"].values.tolist() == [1, 2, 3, 4] and found["a"].shape == (3, 3)
    assert found["b"].shape == (3, 0) and found["b"].dtype is df.float32
    for data, want in ((batch[2], [2, 3, 4]), (batch[1], [])):
        single = io.parse_single_example(data, {"a": io.VarLenFeature(df.int64)})["a"]
        assert single.shape == (len(want),) and single.values.tolist() == want
        assert single.indices.tolist() == [[k] for k in range(len(want))]
    assert io.parse_example([], {"a": io.VarLenFeature(df.int64)})["a"].shape == (0, 0)
    batch += [example(c=texts(b"x", b"y"))]
    found = io.parse_example(batch, {"c": io.VarLenFeature(df.string)})["c"]
    assert found.shape == (4, 2) and found.dtype == df.string and found.values.tolist() == [
        b"x", b"y"] and df.sparse.to_dense(found).tolist() == [[b"", b""]] * 3 + [[b"x", b"y"]]
    assert one(io.VarLenFeature(df.string), batch[3], "c").values.tolist() == [b"x", b"y"]
    empty = one(io.VarLenFeature(df.string), batch[0], "c")
    assert empty.shape == (0,) and empty.dtype == df.string
    with pytest.raises(DTypeError, match="float_list"):
        io.parse_example(batch, {"a": io.VarLenFeature(df.float32)})
    context, _ = io.parse_single_sequence_example(
        df.train.SequenceExample().SerializeToString(), {"a": io.VarLenFeature(df.int64)})
    assert context["a"].shape == (0,)
    with pytest.raises(DTypeError, match="is a VarLenFeature"):
        io.parse_single_sequence_example(b"", {}, {"a": io.VarLenFeature(df.int64)})


def test_batches():
    batch = [example(a=ints(1), s=texts(b"p")), example(a=ints(2, 3, 4)), example()]
    found = io.parse_example(df.constant(batch), {
        "a": io.FixedLenSequenceFeature([], df.int64, allow_missing=True),
        "s": io.FixedLenFeature([1], df.string, "none")})
    assert found["a"].tolist() == [[1, 0, 0], [2, 3, 4], [0, 0, 0]]
    assert found["s"].tolist() == [[b"p"], [b"none"], [b"none"]]
    padded = io.parse_example(batch, {"a": io.FixedLenSequenceFeature([], df.int64, True, -1)})
    assert padded["a"].tolist() == [[1, -1, -1], [2, 3, 4], [-1, -1, -1]]
    empty = io.parse_example([], {"a": io.FixedLenFeature([2], df.float32)})
    assert empty["a"].shape == (0, 2)
    assert io.parse_example(batch[0], {"a": io.FixedLenFeature([], df.int64)})["a"].item() == 1


def test_sequences():
    made = df.train.SequenceExample()
    made.context.feature["n"].int64_list.value.append(2)
    for k in range(2):
        made.feature_lists.feature_list["x"].feature.append(floats(k, k + 0.5))
    data = made.SerializeToString()
    many = io.FixedLenSequenceFeature
    context, steps = io.parse_single_sequence_example(
        data, {"n": io.FixedLenFeature([], df.int64)},
        {"x": many([2], df.float32), "y": many([3], df.string, allow_missing=True)})
    assert context["n"].item() == 2 and steps["x"].tolist() == [[0, 0.5], [1, 1.5]]
    assert steps["y"].shape == (0, 3)
    assert io.parse_single_sequence_example(data) == ({}, {})
    for features, said in (({"x": many([3], df.float32)}, "has 2 values"),
                        ({"z": many([], df.float32)}, "is missing"),
                        ({"x": io.FixedLenFeature([2], df.float32)}, "is a FixedLenFeature")):
        with pytest.raises((InvalidArgumentError, DTypeError), match=said):
            io.parse_single_sequence_example(data, None, features)


def test_pipeline(tmp_path):
    """A file of examples becomes batches, in `map` before or after `batch`."""
    path = str(tmp_path / "a")
    with io.TFRecordWriter(path) as writer:
        for k in range(5):
            writer.write(example(image=texts(bytes([k, k + 1])), label=ints(k)))
    spec = {"image": io.FixedLenFeature([], df.string), "label": io.FixedLenFeature([], df.int64)}

    def parse(record):
        found = io.parse_single_example(record, spec)
        return df.cast(io.decode_raw(found["image"], df.uint8), df.float32), found["label"]

    records = df.data.TFRecordDataset(path)
    for threads in (None, 2):
        batches = list(records.map(parse, num_parallel_calls=threads).batch(3))
        assert [x.tolist() for x, _ in batches][1] == [[3, 4], [4, 5]]
        assert [y.tolist() for _, y in batches] == [[0, 1, 2], [3, 4]]
    whole = list(records.batch(5).map(lambda batch: io.parse_example(batch, spec)))
    assert whole[0]["label"].tolist() == [*range(5)]
    assert whole[0]["image"] == [bytes([k, k + 1]) for k in range(5)]
    first = next(iter(records.map(lambda record: io.parse_single_example(record, spec))))
    assert first["image"].numpy() == b"\0\1" and first["label"].numpy() == 0
    assert records.map(parse).element_spec[1] == df.TensorSpec([], df.int64)


def test_in_a_traced_function():
    """Text is constant there, so the results are, too."""
    @df.function
    def f(x):
        return x + df.cast(one(io.FixedLenFeature([4], df.int64)), df.float32)

    assert f(df.constant(1.)).tolist() == [2, 3, 4, 5]


@given(st.integers(0, len(DATA) - 1), st.integers(0, 3), st.binary(max_size=4))
def test_changed_bytes(at, n, new):
    spec = {"a": io.FixedLenSequenceFeature([2], df.int64, True),
            "b": io.FixedLenFeature([], df.float32), "c": io.FixedLenFeature([2], df.string)}
    with suppress(DualflowError):
        io.parse_single_example(DATA[:at] + new + DATA[at + n:], spec)


# --- tensors ---


DTYPES = ["float32", "float64", "float16", "bfloat16", "bool", "int8", "int16", "int32", "int64",
          "uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 1, 3)])
def test_tensors(dtype, shape):
    x = df.cast(df.reshape(df.range(int(np.prod(shape))), shape), dtype)
    y = io.parse_tensor(io.serialize_tensor(x), dtype)
    assert y.dtype is x.dtype and y.shape == shape and y.tolist() == x.tolist()


def test_tensors_of_text():
    x = df.constant([["a", "bc"], ["", "d"]])
    y = io.parse_tensor(io.serialize_tensor(x), df.string)
    assert y.tolist() == x.tolist()
    assert io.parse_tensor(io.serialize_tensor("é"), df.string).numpy() == "é".encode()


def test_bytes_of_tensors():
    """dtype 1, shape (2,), content."""
    shape = b"\x12\x04\x12\x02\x08\x02"
    assert io.serialize_tensor(df.constant([1., 2.])).numpy() == (
        b"\x08\x01" + shape + b"\x22\x08" + struct.pack("<ff", 1, 2))
    values = b"\x08\x01" + shape + b"\x2a\x08" + struct.pack("<ff", 1, 2)      # float_val
    assert io.parse_tensor(values, df.float32).tolist() == [1, 2]
    unsigned = b"\x08\x17" + b"\x12\x04\x12\x02\x08\x01" + b"\x8a\x01\x0a" + b"\xff" * 9 + b"\x01"
    assert io.parse_tensor(unsigned, df.uint64).tolist() == [(1 << 64) - 1]


@pytest.mark.parametrize("data, kind, said", [
    (b"\xff", InvalidArgumentError, "not a tensor"),
    (b"\x08\x03", DTypeError, "has dtype int32, expected float32"),
    (b"\x08\x0b", DTypeError, "has dtype 11, expected"),
    (b"\x08\x01\x12\x07\x12\x05\x08\xff\xff\xff\x7f", InvalidArgumentError, "has 0 values, exp"),
    (b"\x08\x01\x12\x00\x22\x03abc", InvalidArgumentError, "has 3 bytes, expected 4"),
    (b"\x08\x01\x12\x02\x18\x01", InvalidArgumentError, "the shape")])
def test_invalid_tensors(data, kind, said):
    with pytest.raises(kind, match=said):
        io.parse_tensor(data, df.float32)


@given(st.binary(max_size=40), st.sampled_from([*DTYPES, "string"]))
def test_any_bytes(data, dtype):
    with suppress(DualflowError):
        io.parse_tensor(data, dtype)


@given(st.integers(0, 20), st.binary(max_size=4))
def test_changed_tensors(at, new):
    data = io.serialize_tensor(df.constant([[1, 2, 3]])).numpy()
    with suppress(DualflowError):
        io.parse_tensor(data[:at] + new + data[at + 1:], df.int32)


# --- decode_raw and decode_csv ---


def test_decode_raw():
    assert io.decode_raw(b"\x01\x02", df.uint8).tolist() == [1, 2]
    assert io.decode_raw([b"\x01\x00", b"\x00\x01"], df.int16).tolist() == [[1], [256]]
    assert io.decode_raw(b"\x01\x00\x00\x02", df.int16, little_endian=False).tolist() == [256, 2]
    assert io.decode_raw([[b"\x01"]], df.int16, fixed_length=4).tolist() == [[[1, 0]]]
    assert io.decode_raw(b"abc", df.uint8, fixed_length=2).tolist() == [97, 98]
    assert io.decode_raw(b"", df.float32).shape == (0,)
    assert io.decode_raw(b"\x00\x07", df.bool).tolist() == [False, True]
    x = np.arange(3, dtype=">f8")
    assert io.decode_raw(x.tobytes(), df.float64, False).tolist() == [0, 1, 2]
    for value, dtype, said in (([b"a", b"bc"], df.uint8, "1 and 2 bytes"),
                               (b"abc", df.int16, "a multiple of 2")):
        with pytest.raises(InvalidArgumentError, match=said):
            io.decode_raw(value, dtype)
    with pytest.raises(DTypeError):
        io.decode_raw(b"", df.string)
    with pytest.raises(InvalidArgumentError, match="fixed_length is 0"):
        io.decode_raw(b"", df.uint8, fixed_length=0)


def test_decode_csv():
    lines = ["1,2.5,x", ",,", '3,1e3,"a,""b"""', "-4, 2 ,é"]
    a, b, c = io.decode_csv(lines, [7, [0.5], "none"])
    assert a.tolist() == [1, 7, 3, -4] and a.dtype is df.int32
    assert b.tolist() == [2.5, 0.5, 1000, 2] and b.dtype is df.float32
    assert c.tolist() == [b"x", b"none", b'a,"b"', "é".encode()]
    x, = io.decode_csv("5;na;7", [df.constant([9], df.int64)], ";", na_value="na", select_cols=[1])
    assert x.item() == 9 and x.dtype is df.int64 and x.shape == ()
    assert io.decode_csv('"a",b', ["", ""], use_quote_delim=False)[0].numpy() == b'"a"'
    assert io.decode_csv([["1", "2"]], [df.float64])[0].tolist() == [[1, 2]]
    assert io.decode_csv([], [df.float32])[0].shape == (0,)


def test_decode_csv_in_traced_functions(tmp_path):
    @df.function
    def parsed(line):
        *numbers, name = io.decode_csv(line, [0., df.float32, ""])
        return df.stack(numbers), name

    for line, numbers in (("1,2,a", [1, 2]), (",3,b", [0, 3])):
        x, name = parsed(df.constant(line))
        assert x.tolist() == numbers and name.numpy() == line[-1].encode()
    assert len(parsed.concrete_functions) == 1
    assert parsed(df.constant(["1,2,é", "3,4,\"a,b\""]))[1].tolist() == ["é".encode(), b"a,b"]
    with pytest.raises(InvalidArgumentError, match="record 0, column 1 is 'c', expected a number"):
        parsed(df.constant("1,c,d"))
    (tmp_path / "a.csv").write_text("title\n1,2,a\n3,4,b\n")
    lines = df.data.TextLineDataset(str(tmp_path / "a.csv")).skip(1).map(parsed).batch(2)
    assert next(iter(lines))[0].tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("line, defaults, said", [
    ("1", [0, 0], "record 0 has 1 fields, expected 2"),
    ("1,2,3", [0, 0], "has 3 fields, expected 2"),
    ("a", [0], "record 0, column 0 is 'a', expected a number of dtype int32"),
    ("1.5", [0], "expected a number"), ("1_0", [0], "expected a number"),
    ("3000000000", [0], "expected a number of dtype int32"),
    (",1", [df.int32, df.int32], "column 0 is empty and has no default"),
    ('"a', [""], "record 0 is invalid"), ("1", [[1, 2]], "has 2 default values")])
def test_invalid_lines(line, defaults, said):
    with pytest.raises(InvalidArgumentError, match=said):
        io.decode_csv(line, defaults)


def test_invalid_arguments_of_decode_csv():
    for options in ({"select_cols": [1, 0]}, {"select_cols": [0]}, {"field_delim": ""},
                  {"select_cols": [0, 5]}):
        with pytest.raises(InvalidArgumentError):
            io.decode_csv("1,2", [0, 0], **options)
    with pytest.raises(DTypeError, match="has dtype bool"):
        io.decode_csv("1", [True])


@given(st.binary(max_size=30))
def test_any_line(line):
    with suppress(DualflowError):
        io.decode_csv([line], [0, 0., ""])


def test_pipeline_of_lines(tmp_path):
    (tmp_path / "a.csv").write_text("1,a\n2,b\n")
    lines = df.data.TextLineDataset(str(tmp_path / "a.csv"))
    found = list(lines.map(lambda line: tuple(io.decode_csv(line, [0, ""]))))
    assert [(x.item(), name) for x, name in found] == [(1, b"a"), (2, b"b")]
