"""make_csv_dataset: column names, dtypes, labels, order and invalid arguments."""

import gzip

import pytest

import dualflow as df

make = df.data.experimental.make_csv_dataset
TEXT = "n,word,x,big\n1,a,0.5,1\n2,\"b, c\",,5000000000\n,d,3,7\n4,é,2.5,8\n5,f,1e3,9\n"


@pytest.fixture
def path(tmp_path):
    (tmp_path / "a.csv").write_text(TEXT)
    return str(tmp_path / "a.csv")


def plain(columns):
    return {name: x.numpy().tolist() for name, x in columns.items()}


def test_columns_and_labels(path):
    data = make(path, 2, num_epochs=1, shuffle=False)
    first, second, third = data
    assert plain(first) == {"n": [1, 2], "word": [b"a", b"b, c"], "x": [0.5, 0.],
                            "big": [1, 5000000000]}
    assert {name: x.dtype for name, x in first.items()} == {
        "n": df.int32, "word": df.string, "x": df.float32, "big": df.int64}
    assert plain(second)["n"] == [0, 4] and plain(third) == {
        "n": [5], "word": [b"f"], "x": [1000.], "big": [9]}
    data = make(path, 5, label_name="n", num_epochs=1, shuffle=False)
    for features, label in data:
        assert list(features) == ["word", "x", "big"] and label.tolist() == [1, 2, 0, 4, 5]
    assert data.element_spec[0]["x"] == df.TensorSpec([None])


def test_chosen_columns_and_defaults(path):
    options = {"num_epochs": 1, "shuffle": False}
    data = make(path, 5, select_columns=["x", 0], column_defaults=[7, df.constant(-1., df.float64)],
                **options)
    found = next(iter(data))
    assert plain(found) == {"n": [1, 2, 7, 4, 5], "x": [0.5, -1., 3., 2.5, 1000.]}
    assert list(found) == ["n", "x"] and found["x"].dtype is df.float64
    data = make(path, 5, column_defaults=[df.int32, df.string, 0., df.int64], **options)
    with pytest.raises(df.errors.InvalidArgumentError, match="empty"):
        list(data)
    data = make(path, 5, column_names=["a", "b", "c", "d"], label_name="d", **options)
    assert list(next(iter(data))[0]) == ["a", "b", "c"]
    data = make(path, 5, num_rows_for_inference=1, ignore_errors=True, **options)
    assert plain(next(iter(data)))["n"] == [1, 0, 4, 5]         # 5000000000 is no int32


def test_files_without_a_header(tmp_path):
    for k in range(3):
        with gzip.open(tmp_path / f"{k}.gz", "wt") as file:
            file.write(f"{k};NA;'x\n{k + 10};7;\"y\n")
    options = {"column_names": ["n", "m", "t"], "header": False, "compression_type": "GZIP",
               "field_delim": ";", "na_value": "NA", "use_quote_delim": False, "num_epochs": 1}
    pattern = str(tmp_path / "*.gz")
    data = make(pattern, 6, shuffle=False, **options)
    assert plain(next(iter(data))) == {"n": [0, 10, 1, 11, 2, 12], "m": [0, 7] * 3,
                                       "t": [b"'x", b'"y'] * 3}
    data = make([pattern], 6, shuffle=False, num_parallel_reads=3, sloppy=True, **options)
    assert plain(next(iter(data)))["n"] == [0, 1, 2, 10, 11, 12]
    data = make([str(tmp_path / "1.gz"), str(tmp_path / "0.gz")], 4, shuffle=True, shuffle_seed=3,
                **options)
    passes = [plain(next(iter(data)))["n"] for _ in range(8)]
    assert all(sorted(x) == [0, 1, 10, 11] for x in passes) and len({*map(tuple, passes)}) > 1


def test_infinite_shuffled_batches(path):
    data = make(path, 4, shuffle_seed=1, prefetch_buffer_size=0)
    assert data.cardinality().item() == df.data.INFINITE_CARDINALITY
    batches = [x["n"].tolist() for x in data.take(10)]
    assert all(len(x) == 4 for x in batches)
    assert sorted(x for batch in batches for x in batch) == sorted([0, 1, 2, 4, 5] * 8)
    assert batches != [x["n"].tolist() for x in make(path, 4, shuffle=False).take(10)]
    assert len(list(make(path, 4, num_epochs=2))) == 3


def test_dtypes_of_columns(tmp_path):
    columns = {"2147483647": df.int32, "2147483648": df.int64, "-9223372036854775808": df.int64,
               "9223372036854775808": df.float32, "1.5": df.float32, "1e39": df.float64,
               "1e400": df.string, "1_0": df.string, "nan": df.string, "": df.string,
               "0x10": df.string}
    path = tmp_path / "a.csv"
    path.write_text("\n".join([",".join("abcdefghijk"), ",".join(columns)]))
    found = next(iter(make(str(path), 1)))
    assert [x.dtype for x in found.values()] == list(columns.values())
    for rows, dtype in ((["1", "2.5", "3"], df.float32), (["2.5", "", "1"], df.float32),
                        (["1e39", "1"], df.float64), (["1", "a", "1"], df.string),
                        (["5000000000", "1"], df.int64), (["", "", "3"], df.int32)):
        path.write_text("\n".join(["a,b", *[f"{x},0" for x in rows]]) + "\n")
        assert next(iter(make(str(path), 1)))["a"].dtype == dtype, rows


def test_training_on_columns(path):
    """The dict of columns is the input of a traced function."""
    @df.function
    def total(features):
        return df.reduce_sum(df.cast(features["n"], df.float32) + features["x"])

    sums = [total(x).item() for x in make(path, 5, num_epochs=1, shuffle=False)]
    assert sums == [1018.]


@pytest.mark.parametrize(("options", "why"), [
    ({"label_name": "z"}, "label_name is 'z', expected one of n, word, x, big"),
    ({"select_columns": ["z"]}, "a column of select_columns is 'z'"),
    ({"select_columns": [4]}, "a column of select_columns is 4"),
    ({"select_columns": [0, "n"]}, "select_columns .* twice"),
    ({"select_columns": [0], "label_name": "x"}, "label_name is 'x', expected one of n"),
    ({"header": False}, "column_names"), ({"column_names": ["a", "a", "b", "c"]}, "twice"),
    ({"column_names": ["a"]}, "a.csv.* has 4 fields, expected 1"),
    ({"column_defaults": [0]}, "column_defaults has 1 value.*, expected 4"),
    ({"encoding": "utf-16"}, "encoding"), ({"file_pattern": "/no/such/*.csv"}, "no files match")])
def test_invalid_arguments(path, options, why):
    with pytest.raises(df.errors.InvalidArgumentError, match=f"make_csv_dataset: .*{why}"):
        make(**{"file_pattern": path, "batch_size": 2, **options})


def test_invalid_files(tmp_path):
    one, two, empty = tmp_path / "1.csv", tmp_path / "2.csv", tmp_path / "3.csv"
    one.write_text("a,b\n1,2\n")
    two.write_text("a,c\n1,2\n")
    empty.write_text("")
    with pytest.raises(df.errors.InvalidArgumentError, match=r"2.csv has the columns a, c, .*a, b"):
        make([str(one), str(two)], 2)
    with pytest.raises(df.errors.InvalidArgumentError, match=r"3.csv has no line"):
        make(str(empty), 2)
    two.write_text("a,b\n1\n")
    with pytest.raises(df.errors.InvalidArgumentError, match=r"2.csv, line 2 has 1 fields, .* 2"):
        make([str(one), str(two)], 2)
