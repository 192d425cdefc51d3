"""Files by TensorFlow 1's names, with the errors of tf.errors."""

import pytest

import dualflow as df
import dualflow.compat.v1 as tf


def test_older_names(tmp_path):
    top, a, b = str(tmp_path), str(tmp_path / "a"), str(tmp_path / "b")
    tf.gfile.MakeDirs(dirname=a)
    tf.gfile.MkDir(b)
    assert tf.gfile.IsDirectory(a) and tf.gfile.Exists(filename=b)
    assert tf.gfile.FastGFile is tf.gfile.Open is tf.gfile.GFile is tf.io.gfile.GFile
    with tf.gfile.Open(a + "/x", "w") as f:
        f.write("text")
    tf.gfile.Copy(oldpath=a + "/x", newpath=b + "/y")
    tf.gfile.Copy(a + "/x", b + "/y", overwrite=True)
    tf.gfile.Rename(oldname=b + "/y", newname=b + "/z")
    assert tf.gfile.ListDirectory(b) == ["z"] and tf.gfile.Stat(b + "/z").length == 4
    assert tf.gfile.Glob(top + "/*/?") == [a + "/x", b + "/z"]
    assert [d for d, _, _ in tf.gfile.Walk(a, in_order=False)] == [a]
    assert tf.gfile.GFile(b + "/z", "rb").read() == b"text"
    tf.gfile.Remove(b + "/z")
    tf.gfile.DeleteRecursively(a)
    assert tf.gfile.ListDirectory(top) == ["b"]


def test_names_of_io(tmp_path):
    gfile, a, b = tf.io.gfile, str(tmp_path / "a"), str(tmp_path / "b")
    gfile.makedirs(a)
    gfile.mkdir(b)
    with gfile.GFile(gfile.join(a, "x"), "w") as f:
        f.write("text")
    gfile.copy(a + "/x", b + "/y")
    gfile.rename(b + "/y", b + "/z")
    assert gfile.listdir(b) == ["z"] and gfile.glob(b + "/*") == [b + "/z"]
    assert gfile.exists(a) and gfile.isdir(a) and gfile.stat(a).is_directory
    assert [*gfile.walk(b)] == [(b, [], ["z"])]
    gfile.remove(b + "/z")
    gfile.rmtree(a)
    assert not gfile.exists(a) and tf.io.write_graph is tf.train.write_graph


def test_errors_are_tensorflows(tmp_path):
    top, a = str(tmp_path), str(tmp_path / "a")
    for use in (tf.gfile.GFile(a).read, tf.gfile.GFile(a).size, lambda: tf.gfile.Remove(a),
                lambda: tf.gfile.ListDirectory(a), lambda: tf.io.gfile.stat(a),
                lambda: tf.gfile.DeleteRecursively(a),
                lambda: tf.gfile.Open(a + "/b", "w").write("")):
        with pytest.raises(tf.errors.NotFoundError, match=r"a.*; ") as caught:
            use()
        assert isinstance(caught.value, tf.errors.OpError | df.errors.NotFoundError)
        assert caught.value.message == str(caught.value) and caught.value.op is None
    with pytest.raises(tf.errors.AlreadyExistsError, match="File exists") as caught:
        tf.gfile.MkDir(top)
    assert isinstance(caught.value, FileExistsError) and caught.value.op is None
    tf.gfile.MkDir(a)
    with pytest.raises(tf.errors.FailedPreconditionError):
        tf.gfile.GFile(a).read()
    with pytest.raises(tf.errors.UnimplementedError, match="not a local file"):
        tf.gfile.Exists("gs://bucket")
