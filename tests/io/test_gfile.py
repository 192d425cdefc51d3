"""Files and directories under TensorFlow's names."""

import json
import os
import pickle

import numpy as np
import pytest

import dualflow as df
import dualflow.compat.v1 as tf

gfile = df.io.gfile


def write(path, text="text"):
    with gfile.GFile(path, "w") as f:
        f.write(text)


def test_text(tmp_path):
    path = str(tmp_path / "a.txt")
    with gfile.GFile(path, "w") as f:
        f.write("one\r\ntwo\n")
        f.write(b"\xc3\xa4")
        assert f.size() == f.tell() == 11 and f.name == path and f.mode == "w" and f.seekable()
    with open(path, "rb") as f:
        assert f.read() == "one\r\ntwo\nä".encode()
    with gfile.GFile(path) as f:
        assert list(f) == f.readlines() + ["one\r\n", "two\n", "ä"] and f.tell() == 11
        f.seek(0)
        assert [f.read(3), f.readline(), f.readline(), f.read(), f.read(), f.readline()] == [
            "one", "\r\n", "two\n", "ä", "", ""]
        f.seek(-2, 2)
        assert f.read() == "ä"
        f.seek(position=5)
        f.seek(1, 1)
        assert f.tell() == 6 and next(f) == "wo\n"
        for wrong in ({}, {"offset": 1, "position": 1}):
            with pytest.raises(TypeError, match="offset"):
                f.seek(**wrong)
    with gfile.GFile(path, "a") as f:
        f.write("!")
    with gfile.GFile(path, "r+") as f:
        f.write("O")
        f.seek(0)
        assert f.read() == "One\r\ntwo\nä!"
    assert f.read() == "One\r\ntwo\nä!"          # opened again
    f.close()


def test_bytes(tmp_path):
    path = tmp_path / "a.bin"
    with gfile.GFile(path, "wb") as f:
        pickle.dump([1, 2], f)
        np.save(f, np.arange(3))
    with gfile.GFile(path, "rb") as f:
        assert pickle.load(f) == [1, 2] and f.read(6) == b"\x93NUMPY"
    with gfile.GFile(os.fsencode(path), "ab") as f:
        f.write(b"12")
        f.flush()
        assert gfile.GFile(path, "rb").read()[-2:] == b"12"
    with gfile.GFile(f"file://{path}", "w") as f:
        json.dump({"a": 1}, f)
        print("", file=f)
    with gfile.GFile(path) as f:
        assert json.load(f) == {"a": 1}


def test_a_file_is_opened_at_its_first_use(tmp_path):
    missing = gfile.GFile(tmp_path / "missing")
    for use in (missing.read, missing.readline, missing.size, lambda: next(missing)):
        with pytest.raises(df.errors.NotFoundError, match="missing; No such file"):
            use()
    with gfile.GFile(tmp_path / "unused", "w"):
        pass
    assert gfile.listdir(tmp_path) == []


@pytest.mark.parametrize("mode", ["", "x", "rw", "b", "rbb", None, 3])
def test_invalid_modes_raise(mode):
    with pytest.raises(df.errors.InvalidArgumentError, match="GFile: mode"):
        gfile.GFile("x", mode)
    with pytest.raises(tf.errors.InvalidArgumentError, match="GFile: mode"):
        tf.gfile.GFile("x", mode)


def test_wrong_direction_raises(tmp_path):
    write(tmp_path / "a")
    with pytest.raises(OSError), gfile.GFile(tmp_path / "a") as f:
        f.write("x")
    with pytest.raises(OSError), gfile.GFile(tmp_path / "a", "w") as f:
        f.read()


def test_other_file_systems_raise():
    for use in (gfile.exists, gfile.listdir, lambda path: gfile.GFile(path).read()):
        with pytest.raises(df.errors.UnimplementedError, match="not a local file"):
            use("gs://bucket/file")


def test_directories(tmp_path):
    top = str(tmp_path)
    a, b = gfile.join(top, "a"), gfile.join(top, "a", "b")
    gfile.makedirs(b)
    gfile.makedirs(b)
    write(gfile.join(b, "2.txt"))
    write(gfile.join(b, "1.txt"))
    write(gfile.join(b, ".hidden"))
    assert gfile.exists(b) and gfile.isdir(b) and not gfile.isdir(gfile.join(b, "1.txt"))
    assert gfile.listdir(b) == [".hidden", "1.txt", "2.txt"]
    assert gfile.glob(f"{top}/*/b/*.txt") == [f"{b}/1.txt", f"{b}/2.txt"]
    assert gfile.glob([f"{b}/2*", f"{b}/1*", f"{b}/3*"]) == [f"{b}/2.txt", f"{b}/1.txt"]
    assert gfile.glob(f"{b}/*") == [f"{b}/.hidden", f"{b}/1.txt", f"{b}/2.txt"]
    assert [(d, s, sorted(f)) for d, s, f in gfile.walk(top)] == [
        (top, ["a"], []), (a, ["b"], []), (b, [], [".hidden", "1.txt", "2.txt"])]
    assert [d for d, _, _ in gfile.walk(top, topdown=False)] == [b, a, top]
    errors = []
    assert list(gfile.walk(f"{top}/none", onerror=errors.append)) == [] and len(errors) == 1
    found = gfile.stat(f"{b}/1.txt")
    assert found.length == 4 and not found.is_directory and found.mtime_nsec > 0
    assert gfile.stat(b).is_directory
    gfile.rmtree(a)
    assert not gfile.exists(b) and gfile.listdir(top) == []


def test_copy_and_rename(tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    write(a, "a")
    gfile.copy(a, b)
    write(a, "new")
    for move in (gfile.copy, gfile.rename):
        with pytest.raises(df.errors.AlreadyExistsError, match="b; File exists"):
            move(a, b)
    gfile.copy(a, b, overwrite=True)
    assert gfile.GFile(b).read() == "new"
    write(a, "newer")
    gfile.rename(a, b, overwrite=True)
    assert gfile.GFile(b).read() == "newer" and not gfile.exists(a)
    gfile.rename(b, a)
    gfile.remove(a)
    assert gfile.listdir(tmp_path) == []


@pytest.mark.parametrize("use", [
    gfile.remove, gfile.rmtree, gfile.stat, gfile.listdir, lambda x: gfile.copy(x, x + "1"),
    lambda x: gfile.rename(x, x + "1"), lambda x: gfile.mkdir(x + "/a")])
def test_missing_files_raise(tmp_path, use):
    with pytest.raises(df.errors.NotFoundError, match="none"):
        use(str(tmp_path / "none"))


def test_other_errors(tmp_path):
    write(tmp_path / "a")
    for make in (gfile.mkdir, gfile.makedirs):
        with pytest.raises(df.errors.AlreadyExistsError, match="a; File exists"):
            make(tmp_path / "a")
    with pytest.raises(NotADirectoryError):
        gfile.rmtree(tmp_path / "a")
    with pytest.raises(OSError):
        gfile.remove(tmp_path)
    with pytest.raises(df.errors.NotFoundError):
        gfile.listdir(tmp_path / "a")
