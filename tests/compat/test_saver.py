"""Checkpoints are saved and restored atomically."""

import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import dualflow.compat.v1 as tf


@pytest.fixture
def prefix(tmp_path):
    return str(tmp_path / "model")


def two_variables():
    return (tf.Variable([[1., 2.], [3., 4.]], name="layer/w"),
            tf.Variable(7, name="n", trainable=False))


def test_round_trip(session, prefix):
    w, n = two_variables()
    flag = tf.Variable([True, False], name="flag")
    empty = tf.Variable(tf.zeros([0, 3]), name="empty")
    half = tf.Variable(tf.ones([2], tf.float16), name="half")
    saver = tf.train.Saver()
    session.run(tf.global_variables_initializer())
    before = session.run([w, n, flag, empty, half])
    path = saver.save(session, prefix)
    assert path == prefix and tf.train.checkpoint_exists(prefix)
    assert sorted(os.listdir(os.path.dirname(prefix))) == ["checkpoint", "model.safetensors"]
    with tf.Session() as other:
        saver.restore(other, path)              # initializes the restored variables
        for x, y in zip(other.run([w, n, flag, empty, half]), before, strict=True):
            np.testing.assert_array_equal(x, y)
            assert x.dtype == y.dtype and x.shape == y.shape
    assert tf.train.list_variables(path) == [("empty", [0, 3]), ("flag", [2]), ("half", [2]),
                                             ("layer/w", [2, 2]), ("n", [])]
    assert tf.train.load_checkpoint(os.path.dirname(prefix))["n"] == 7


def test_safetensors_can_read_checkpoints(session, prefix):
    from safetensors.numpy import load_file

    w, _ = two_variables()
    session.run(tf.global_variables_initializer())
    tf.train.Saver([w]).save(session, prefix)
    found = load_file(prefix + ".safetensors")
    assert found["layer/w"].tolist() == [[1., 2.], [3., 4.]]


def test_most_recent_checkpoints_are_kept(session, prefix):
    two_variables()
    session.run(tf.global_variables_initializer())
    step = tf.train.get_or_create_global_step()
    session.run(step.initializer)
    saver = tf.train.Saver(max_to_keep=2)
    folder = os.path.dirname(prefix)
    assert tf.train.latest_checkpoint(folder) is None
    saver.save(session, prefix, global_step=step)
    session.run(step.assign_add(5))
    saver.save(session, prefix, global_step=step)
    assert saver.save(session, prefix, global_step=10) == f"{prefix}-10"
    assert saver.last_checkpoints == [f"{prefix}-5", f"{prefix}-10"]
    assert sorted(os.listdir(folder)) == ["checkpoint", "model-10.safetensors",
                                          "model-5.safetensors"]
    state = tf.train.get_checkpoint_state(folder)
    assert state.model_checkpoint_path == tf.train.latest_checkpoint(folder) == f"{prefix}-10"
    assert state.all_model_checkpoint_paths == [f"{prefix}-5", f"{prefix}-10"]
    assert isinstance(state, tf.train.CheckpointState)
    assert len(state.all_model_checkpoint_timestamps) == 2 and "model-10" in repr(state)
    with open(os.path.join(folder, "checkpoint")) as file:
        assert json.load(file)["model_checkpoint_path"] == "model-10"  # a relative path
    again = tf.train.Saver(max_to_keep=1)
    again.recover_last_checkpoints([f"{prefix}-5", f"{prefix}-77"])
    again.save(session, prefix, global_step=11)
    assert not tf.train.checkpoint_exists(f"{prefix}-5")
    again.set_last_checkpoints([f"{prefix}-10"])
    again.save(session, prefix, global_step=12)
    assert not tf.train.checkpoint_exists(f"{prefix}-10")
    kept = tf.train.Saver(max_to_keep=None)
    for k in range(8):
        kept.save(session, prefix, k, write_state=False)
    assert len(kept.last_checkpoints) == 8


def test_some_variables_under_other_names(session, prefix):
    w, n = two_variables()
    session.run(tf.global_variables_initializer())
    path = tf.train.Saver({"old": w}).save(session, prefix, latest_filename="index")
    assert tf.train.list_variables(path) == [("old", [2, 2])]
    assert tf.train.latest_checkpoint(os.path.dirname(prefix), "index") == prefix
    w.load([[0., 0.], [0., 0.]], session)
    tf.train.Saver({"old": w}).restore(session, path)
    assert session.run(w)[1, 1] == 4.
    flat = tf.Variable(tf.zeros([4]), name="flat")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"old is float32 \(2, 2\), expected"):
        tf.train.Saver({"old": flat}).restore(session, path)
    tf.train.Saver({"old": flat}, reshape=True).restore(session, path)
    assert session.run(flat).tolist() == [1., 2., 3., 4.] and session.run(n) == 7


def test_invalid_arguments_raise(session, prefix):
    with pytest.raises(ValueError, match=r"No variables to save"):
        tf.train.Saver()
    tf.train.Saver(defer_build=True)
    w, n = two_variables()
    with pytest.raises(TypeError, match=r"Variable to save is not a Variable"):
        tf.train.Saver([tf.constant(1.)])
    saver = tf.train.Saver(defer_build=True)
    with pytest.raises(tf.errors.FailedPreconditionError, match=r"uninitialized value layer/w"):
        saver.save(session, prefix)
    assert os.listdir(os.path.dirname(prefix)) == []
    session.run([w.initializer, n.initializer])
    with pytest.raises(ValueError, match=r"Parent directory of .* doesn't exist, can't save"):
        saver.save(session, prefix + "/no/model")
    for path in (prefix, ):
        with pytest.raises(ValueError, match=r"The passed save_path is not a valid checkpoint: "):
            saver.restore(session, path)
    with pytest.raises(ValueError, match=r"Can't load save_path when it is None"):
        saver.restore(session, None)
    with pytest.raises(ValueError, match=r"Couldn't find 'checkpoint'"):
        tf.train.load_checkpoint(os.path.dirname(prefix))
    with pytest.raises(tf.errors.NotFoundError, match=r"Failed to find any matching files"):
        tf.train.load_checkpoint(prefix)


def test_invalid_checkpoint_changes_nothing(session, prefix):
    w, n = two_variables()
    saver = tf.train.Saver()
    session.run(tf.global_variables_initializer())
    path = saver.save(session, prefix)
    values = [[9., 9.], [9., 9.]], 9
    w.load(values[0], session)
    n.load(values[1], session)
    with tf.Graph().as_default(), tf.Session() as other:
        tf.Variable([1., 2.], name="layer/w")
        tf.Variable(1., name="n")
        other.run(tf.global_variables_initializer())
        reshaped = tf.train.Saver().save(other, prefix + "-other")
        tf.Variable(1., name="more")
        tf.Variable(1., name="most")
        bigger = tf.train.Saver()
        with pytest.raises(tf.errors.NotFoundError,
                           match=r"Keys more, most not found in checkpoint .* it has layer/w, n"):
            bigger.restore(other, reshaped)
    with pytest.raises(tf.errors.InvalidArgumentError,
                       match=r"layer/w is float32 \(2,\), expected float32 \(2, 2\); n is"):
        saver.restore(session, reshaped)
    with open(path + ".safetensors", "rb") as file:
        data = file.read()
    for size in (0, 5, 20, len(data) - 1):
        with open(path + ".safetensors", "wb") as file:
            file.write(data[:size])
        with pytest.raises(tf.errors.DataLossError, match=r"Unable to open table file"):
            saver.restore(session, path)
    assert session.run(w).tolist() == values[0] and session.run(n) == values[1]


def test_failed_save_keeps_the_previous_checkpoint(session, prefix, monkeypatch):
    w, _ = two_variables()
    saver = tf.train.Saver()
    session.run(tf.global_variables_initializer())
    saver.save(session, prefix)
    w.load([[0., 0.], [0., 0.]], session)

    def full(*args):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"no space left"):
        saver.save(session, prefix)
    assert sorted(os.listdir(os.path.dirname(prefix))) == ["checkpoint", "model.safetensors"]
    saver.restore(session, prefix)
    assert session.run(w)[1, 1] == 4.


KILLS = 100
KILLED = textwrap.dedent("""
    import os, random, signal, sys, time
    import dualflow.compat.v1 as tf

    folder, kills, rng = sys.argv[1], int(sys.argv[2]), random.Random(7)
    n = tf.placeholder(tf.float32, [])
    w, b = tf.Variable(tf.zeros([100_000]), name="w"), tf.Variable(0., name="b")
    update = tf.group(w.assign(tf.fill([100_000], 1.) * n), b.assign(n))
    saver, done = tf.train.Saver(max_to_keep=2), 0
    with tf.Session() as sess:
        sess.run(update, {n: 0.})
        saver.save(sess, os.path.join(folder, "model"), 0)
        for k in range(1, kills + 1):
            sess.run(update, {n: float(k)})
            child = os.fork()
            if not child:
                saver.save(sess, os.path.join(folder, "model"), k)
                os._exit(0)
            time.sleep(rng.random() * 0.006)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            latest = tf.train.latest_checkpoint(folder)
            assert latest is not None, os.listdir(folder)
            found = tf.train.load_checkpoint(latest)
            step = float(latest.rpartition("-")[2])
            assert step in (done, k), (step, done, k)
            assert found["b"] == step and (found["w"] == step).all(), latest
            if step == k:
                done = k
                saver.set_last_checkpoints([latest])
        print("survived", done)
""")


def test_kill_during_a_save(tmp_path):
    """After kill -9 at any point of a save, the index names a complete checkpoint, new or
    previous."""
    ran = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), str(KILLS)],
                         capture_output=True, text=True, timeout=120, check=False)
    assert ran.stdout.startswith("survived") and ran.returncode == 0, ran.stderr


def test_global_step(session):
    assert tf.train.get_global_step() is None
    step = tf.train.get_or_create_global_step()
    assert tf.train.get_global_step() is step is tf.train.get_or_create_global_step()
    assert (step.name, step.dtype, step.trainable) == ("global_step:0", tf.int64, False)
    with pytest.raises(ValueError, match=r'"global_step" already exists'):
        tf.train.create_global_step()
    w = tf.Variable(1.)
    update = tf.train.GradientDescentOptimizer(0.1).minimize(w * w, global_step=step)
    session.run(tf.global_variables_initializer())
    session.run(update)
    session.run(update)
    assert tf.train.global_step(session, step) == 2


def test_values_of_a_checkpoint_are_initial_values(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        for k, name in enumerate(("old/a", "old/sub/b", "c")):
            tf.get_variable(name, initializer=[float(k)] * 2)
        sess.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(sess, str(tmp_path / "model"))
    reader = tf.train.NewCheckpointReader(path)
    assert reader.has_tensor("c") and not reader.has_tensor("d")
    assert reader.get_variable_to_shape_map() == {"old/a": [2], "old/sub/b": [2], "c": [2]}
    assert reader.get_variable_to_dtype_map()["c"] is tf.float32
    assert tf.train.load_variable(str(tmp_path), "old/sub/b").tolist() == [1., 1.]
    with pytest.raises(tf.errors.NotFoundError, match="d not found"):
        reader.get_tensor("d")
    with tf.Graph().as_default(), tf.Session() as sess:
        a, b, c, d = [tf.get_variable(name, [2], initializer=tf.constant_initializer(7.))
                      for name in ("new/a", "new/sub/b", "c", "d")]
        for bad, why in (({"new/": "e/"}, "No variables in the scope"), ({"x": d}, "x .d in the"),
                         ({"c": "x"}, "x is not found in the graph"), ({"old/": "c"}, "old/a|c"),
                         ({"c": tf.get_variable("e", [3])}, r"e is float32 \(3,\)")):
            with pytest.raises(ValueError, match=why):
                tf.train.init_from_checkpoint(path, bad)
        tf.train.init_from_checkpoint(str(tmp_path), {"old/": "new/", "c": "c"})
        tf.train.init_from_checkpoint(path, [("old/sub/b", d)])
        sess.run(tf.global_variables_initializer())
        assert [x.tolist() for x in sess.run([a, b, c, d])] == [[0., 0.], [1., 1.], [2., 2.],
                                                                [1., 1.]]
