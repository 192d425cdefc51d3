"""File names, lines of text, and file caches."""

import collections
import gzip
import json
import os
import subprocess
import sys
import zlib

import pytest

import dualflow as df
from dualflow import errors

D = df.data.Dataset
Pair = collections.namedtuple("Pair", "a b")


@pytest.fixture
def folder(tmp_path):
    for k, text in enumerate(["a\nbb\n\n", "", "ccc\r\ndd", "é\n"]):
        (tmp_path / f"part{k}.txt").write_bytes(text.encode())
    return tmp_path


LINES = ["a", "bb", "", "ccc", "dd", "é"]


def names(folder):
    return sorted(str(p) for p in folder.glob("*.txt"))


def test_list_files(folder):
    pattern = str(folder / "*.txt")
    assert list(D.list_files(pattern, shuffle=False)) == names(folder)
    assert sorted(D.list_files(pattern)) == names(folder)
    for shuffle in (False, True):
        assert sorted([x.numpy().decode() for x in D.list_files(pattern, shuffle)]) == names(folder)
    seeded = [list(D.list_files(pattern, seed=1)) for _ in range(2)]
    assert seeded[0] == seeded[1]
    some = D.list_files([names(folder)[0], str(folder / "*2.txt")], shuffle=False)
    assert list(some) == [names(folder)[0], names(folder)[2]]
    assert some.element_spec is str and len(some) == 2


def test_lines(folder):
    lines = df.data.TextLineDataset(names(folder))
    assert list(lines) == LINES and isinstance(lines, D) and lines.element_spec is str
    assert list(D.text_lines(names(folder)[0])) == LINES[:3]
    assert list(lines.batch(4)) == [LINES[:4], LINES[4:]]
    files = D.list_files(str(folder / "*.txt"), shuffle=False)
    assert list(files.flat_map(df.data.TextLineDataset)) == LINES
    assert list(df.data.TextLineDataset(files)) == LINES
    numbers = lines.filter(bool).map(lambda line: (line, len(line)))
    assert [(line, n.item()) for line, n in numbers.take(2)] == [("a", 1), ("bb", 2)]


@pytest.mark.parametrize("kind, pack", [("GZIP", gzip.compress), ("ZLIB", zlib.compress)])
def test_compressed_lines(folder, kind, pack):
    packed = folder / "packed"
    packed.write_bytes(pack(b"one\ntwo\nthree\n"))
    lines = D.text_lines(str(packed), kind)
    it = iter(lines)
    assert next(it) == "one"
    other = iter(lines)
    other.restore(it.state())
    assert list(other) == list(it) == ["two", "three"]


def test_lines_resume_at_a_byte_offset(folder):
    """Text before the offset is not read again."""
    it = iter(df.data.TextLineDataset(names(folder)))
    for k in range(len(LINES) + 1):
        other = iter(df.data.TextLineDataset(names(folder)))
        other.restore(json.loads(json.dumps(it.state())))
        assert list(other) == LINES[k:]
        next(it, None)


def test_invalid_utf_8_raises(folder):
    (folder / "bad").write_bytes(b"good\n\xff\xfe\n")
    it = iter(D.text_lines(str(folder / "bad")))
    assert next(it) == "good"
    with pytest.raises(UnicodeDecodeError) as caught:
        next(it)
    assert str(folder / "bad") in caught.value.__notes__[0]
    with pytest.raises(FileNotFoundError, match="nowhere"):
        list(D.text_lines("nowhere"))


# --- file caches ---------------------------------------------------------------------------------

def pipeline(path, calls=None, n=6):
    def work(x):
        if calls is not None:
            calls.append(x.item())
        return {"x": df.ones([x.item() % 3]) * 2, "n": x, "name": f"é{x.item()}"}

    return D.range(n).map(work).cache(path)


def values(dataset):
    return [{k: v.tolist() if isinstance(v, df.Tensor) else v for k, v in x.items()}
            for x in dataset]


def test_cache_replaces_the_dataset(tmp_path):
    path, calls = str(tmp_path / "sub" / "cache"), []
    wanted = values(pipeline(path, calls))
    assert len(calls) == 6 and os.path.exists(path)
    assert values(pipeline(path, calls)) == wanted == values(pipeline(path, calls))
    assert len(calls) == 6
    assert os.listdir(tmp_path / "sub") == ["cache"]
    assert wanted[2] == {"x": [2., 2.], "n": 2, "name": "é2"}


def test_structures_in_a_cache(tmp_path):
    for k, structure in enumerate([(1, (2, {"a": 3})), {"b": (1,), "a": 2}, Pair(1, (2, 3)), ()]):
        path = str(tmp_path / str(k))
        first, _ = list(D.from_tensors(structure).repeat(2).cache(path))
        again = next(iter(D.from_tensors(structure).repeat(2).cache(path)))
        df.nest.assert_same_structure(first, again)
        assert [x.item() for x in df.nest.flatten(again)] == df.nest.flatten(structure)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool", "int64"])
def test_dtypes_in_a_cache(tmp_path, dtype):
    path = str(tmp_path / "cache")

    def dataset():
        return D.from_tensor_slices(df.cast(df.reshape(df.range(12), [3, 2, 2]), dtype)).cache(path)

    first = list(dataset())
    for a, b in zip(first, dataset(), strict=True):
        assert a.dtype is b.dtype and a.tolist() == b.tolist()


def test_cache_file_appears_when_complete(tmp_path):
    path = str(tmp_path / "cache")
    it = iter(pipeline(path))
    next(it)
    assert os.listdir(tmp_path) == []
    assert len(values(it)) == 5 and os.listdir(tmp_path) == ["cache"]
    os.unlink(path)
    with pytest.raises((errors.UnimplementedError, errors.DTypeError)):
        list(D.range(2).map(lambda x: D.range(2)).cache(path))
    assert os.listdir(tmp_path) == []


def test_killed_process_leaves_no_cache(tmp_path):
    path = str(tmp_path / "cache")
    code = f"""
import os, signal, dualflow as df
def work(x):
    if x.item() == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return x
list(df.data.Dataset.range(6).map(work).cache({path!r}))
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    assert not os.path.exists(path)


def test_cache_of_another_pipeline_raises(tmp_path):
    path = str(tmp_path / "cache")
    values(pipeline(path))
    with pytest.raises(errors.InvalidArgumentError, match="written by another pipeline"):
        values(pipeline(path, n=7))
    whole = (tmp_path / "cache").read_bytes()
    for cut in (0, 5, 200, len(whole) - 1):
        (tmp_path / "cache").write_bytes(whole[:cut])
        with pytest.raises(errors.InvalidArgumentError, match=r"not a cache|truncated"):
            values(pipeline(path))
    (tmp_path / "cache").write_bytes(b'{"format": 1}\n')
    with pytest.raises(errors.InvalidArgumentError, match="not a cache"):
        values(pipeline(path))


def test_resuming_within_a_cache(tmp_path):
    path = str(tmp_path / "cache")
    it = iter(pipeline(path))
    for _ in range(3):
        next(it)
    state = json.loads(json.dumps(it.state()))
    rest = values(it)
    for _ in range(2):                  # with the file, and without
        other = iter(pipeline(path))
        other.restore(state)
        assert values(other) == rest
        if os.path.exists(path):
            os.unlink(path)
