"""CsvDataset: columns, headers, several and compressed files, invalid records."""

import gzip

import pytest

import dualflow as df

Csv = df.data.experimental.CsvDataset


def values(dataset):
    return [tuple(x.numpy().tolist() if hasattr(x.numpy(), "tolist") else x.numpy() for x in row)
            for row in dataset]


def test_columns(tmp_path):
    one, two = tmp_path / "1.csv", tmp_path / "2.csv.gz"
    one.write_text('a,b,c\n1,"x, y",2.5\r\n,é,\n')
    data = Csv(str(one), [df.int64, df.string, -1.], header=True)
    with pytest.raises(df.errors.InvalidArgumentError, match="empty"):
        values(data)
    data = Csv([one, one], [[7], df.string, -1.], header=True)
    rows = [(1, b"x, y", 2.5), (7, "é".encode(), -1.)]
    assert values(data) == rows * 2 and values(data) == rows * 2
    assert values(Csv(one, [-1.], header=True, select_cols=[2])) == [(2.5,), (-1.,)]
    assert values(Csv(one, [7, df.string], header=True, exclude_cols=[2])) == [r[:2] for r in rows]
    two.write_bytes(gzip.compress(b"1;NA\n"))
    data = Csv(two, [df.int32, 5], compression_type="GZIP", field_delim=";", na_value="NA")
    assert values(data) == [(1, 5)]
    batch = next(iter(Csv(one, [7, df.string, 0.], header=True).batch(2)))
    assert batch[0].tolist() == [1, 7] and batch[1] == [b"x, y", "é".encode()]


def test_invalid_arguments(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("1,2\n")
    with pytest.raises(df.errors.InvalidArgumentError, match="at most one"):
        Csv(path, [1], select_cols=[0], exclude_cols=[1])
    with pytest.raises(df.errors.InvalidArgumentError, match="at least one file"):
        Csv([], [1])
    with pytest.raises(df.errors.InvalidArgumentError, match="2 fields"):
        values(Csv(path, [1, 2, 3]))
