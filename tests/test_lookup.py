"""Tables of `df.lookup`: missing and duplicate keys, dtypes, files, traced functions, datasets."""

import numpy as np
import pytest

import dualflow as df

L = df.lookup
PAIRS = [
    (["a", "", "é"], [1, 2, 3], df.int32), (["a", "b", "c"], [1.5, 2.5, 3.5], df.float32),
    (["a", "b", "c"], ["x", "", "z"], df.string), ([1, 5, -3], ["x", "y", "z"], df.string),
    ([1, 5, -3], [True, False, True], df.bool), ([1, 5, -3], [10, 20, 30], df.int64)]


def table(keys, values, default, dtype=None):
    return L.StaticHashTable(L.KeyValueTensorInitializer(keys, values, value_dtype=dtype), default)


@pytest.mark.parametrize("keys, values, dtype", PAIRS)
@pytest.mark.parametrize("shape", [(), (4,), (2, 2), (0, 3)])
def test_lookup(keys, values, dtype, shape):
    default = "none" if dtype == df.string else 0
    t = table(keys, values, default, dtype)
    words = isinstance(keys[0], str)
    asked = [keys[2], "absent" if words else 99, keys[0], keys[2]][:int(np.prod(shape))]
    asked = df.reshape(df.constant(np.array(asked, object if words else "int32")), shape)
    found = t.lookup(asked)
    assert found.dtype == dtype and found.shape == shape and t.key_dtype == asked.dtype
    want = [dict(zip(keys, values, strict=True)).get(
        k.decode() if words else k, default) for k in np.ravel(asked.tolist()).tolist()]
    flat = np.ravel(found.tolist()).tolist()
    assert [x.decode() if isinstance(x, bytes) else x for x in flat] == want
    traced = df.function(lambda k: t[k])(asked)
    assert traced.dtype == dtype and traced.tolist() == found.tolist()
    assert t.size().item() == 3


def test_duplicate_keys():
    assert table(["a", "a"], [1, 1], 0).size().item() == 1
    with pytest.raises(df.errors.InvalidArgumentError, match=r"b'a' has the values 1 and 2"):
        table(["a", "a"], [1, 2], 0)


def test_one_trace_for_all_keys():
    t = table(["a", "b"], [1, 2], -1)
    f = df.function(lambda k: t.lookup(k) * 2)
    assert [f(df.constant([k])).tolist() for k in "abc"] == [[2], [4], [-2]]
    assert f.experimental_get_tracing_count() == 1


def test_vocabulary():
    content = L.KeyValueTensorInitializer(["a", "b"], [0, 1], value_dtype=df.int64)
    t = L.StaticVocabularyTable(content, 4)
    keys = df.constant(["b", "x", "", "a"])
    buckets = df.strings.to_hash_bucket_fast(keys, 4) + 2
    want = [1, *buckets.tolist()[1:3], 0]
    assert t.lookup(keys).tolist() == df.function(t.lookup)(keys).tolist() == want
    assert t.size().item() == 6
    empty = L.StaticVocabularyTable(None, 5)
    assert empty.lookup(keys).tolist() == df.strings.to_hash_bucket_fast(keys, 5).tolist()
    numbers = L.StaticVocabularyTable(None, 7, lookup_key_dtype=df.int64)
    assert numbers.lookup(df.constant([12], df.int64)).tolist() == (
        df.strings.to_hash_bucket_fast(["12"], 7).tolist())


def test_files(tmp_path):
    path = tmp_path / "words.txt"
    path.write_bytes("cat\t3\r\nd g\t-4\n\xe9\t5".encode())
    index = L.TextFileIndex
    ids = L.StaticHashTable(L.TextFileInitializer(
        path, df.string, 0, df.int64, index.LINE_NUMBER, value_index_offset=10), -1)
    assert ids.lookup(["d g", "\xe9", "x"]).tolist() == [11, 12, -1]
    numbers = L.StaticHashTable(L.TextFileInitializer(
        str(path), df.string, 0, df.int32, 1, vocab_size=2), 0)
    assert numbers.lookup(["cat", "d g", "\xe9"]).tolist() == [3, -4, 0]
    back = L.StaticHashTable(L.TextFileInitializer(
        df.constant(str(path)), df.int64, index.LINE_NUMBER, df.string, index.WHOLE_LINE), "?")
    assert back.lookup(df.constant([0, 7], df.int64)).tolist() == [b"cat\t3", b"?"]
    for arguments, message in (((df.string, 2, df.string, 0), "has 2 fields"),
                               ((df.string, -3, df.string, 0), "at least -2"),
                               ((df.string, 1, df.int64, 0), "expected a number"),
                               ((df.string, 0, df.int64, -1, 9), "has 3 lines")):
        with pytest.raises(df.errors.InvalidArgumentError, match=message):
            L.TextFileInitializer(path, *arguments)
    with pytest.raises(df.errors.NotFoundError):
        L.TextFileInitializer(tmp_path / "none", df.string, -2, df.int64, -1)


def test_mutable_table():
    t = L.experimental.MutableHashTable(df.string, df.int64, -1)

    @df.function
    def count(words):
        t.insert(words, t.lookup(words) + 1)
        return t.lookup(words)

    for k in range(3):
        assert count(df.constant(["a", "b"])).tolist() == [k, k]
    keys, values = t.export()
    assert keys.tolist() == [b"a", b"b"] and values.tolist() == [2, 2] and "2 keys" in repr(t)
    t.remove(["b", "x"])
    assert t.lookup(["a", "b"]).tolist() == [2, -1] and t.size().item() == 1
    with pytest.raises(df.errors.InvalidArgumentError, match="equal shapes"):
        t.insert(["a"], [1, 2])


def test_in_a_dataset():
    t = table(["a", "b"], [1, 2], 0)
    data = df.data.Dataset.from_tensor_slices(["b", "x", "a"]).map(t.lookup).batch(3)
    assert next(iter(data)).tolist() == [2, 0, 1]


@pytest.mark.parametrize("f, error", [
    (lambda: table(["a"], [1, 2], 0), df.errors.ShapeError),
    (lambda: table(["a"], [1], "x"), df.errors.DTypeError),
    (lambda: table(["a"], [1], [1]), df.errors.InvalidArgumentError),
    (lambda: table(["a"], [1], 0).lookup(df.constant([1])), df.errors.DTypeError),
    (lambda: table([1], [1], 0).lookup(df.constant(["a"])), df.errors.DTypeError),
    (lambda: L.StaticVocabularyTable(None, 0), df.errors.InvalidArgumentError),
    (lambda: L.StaticVocabularyTable([1.5], 2), df.errors.DTypeError),
    (lambda: L.StaticHashTable(df.ones([2]), 0), df.errors.DTypeError),
    (lambda: L.StaticVocabularyTable(L.KeyValueTensorInitializer(["a"], [1]), 2),
     df.errors.DTypeError)])
def test_invalid_arguments(f, error):
    with pytest.raises(error):
        f()


def test_static_tables_export_their_items():
    content = df.lookup.KeyValueTensorInitializer(["a", "b"], [3, 4])
    keys, values = df.lookup.StaticHashTable(content, -1).export()
    assert keys.tolist() == [b"a", b"b"] and values.tolist() == [3, 4]
    keys, values = df.lookup.experimental.MutableHashTable(df.string, df.int64, 0).export()
    assert keys.shape == values.shape == (0,) and keys.dtype == df.string
