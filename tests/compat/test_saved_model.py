"""Graphs saved with their variables, and loaded into sessions."""

import numpy as np
import pytest

import dualflow as df
import dualflow.compat.v1 as tf
from dualflow import errors
from dualflow.io import content
from tests.io.damage import damaged_files


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "exported")


def network():
    x = tf.placeholder(tf.float32, [None, 4], name="images")
    keep = tf.placeholder_with_default(1., [], name="keep")
    w = tf.get_variable("layer/w", initializer=tf.constant(
        np.arange(12, dtype="float32").reshape(4, 3)))
    logits = tf.nn.relu(tf.matmul(tf.reshape(x, [-1, 4]), w) - 20.) * keep
    return x, keep, w, logits, tf.argmax(logits, 1, name="classes")


def test_simple_save_and_loader(session, folder):
    x, keep, w, logits, classes = network()
    session.run(tf.global_variables_initializer())
    session.run(w.assign(w * 2.))
    tf.saved_model.simple_save(session, folder, inputs={"x": x, "keep": keep},
                               outputs={"logits": logits, "classes": classes})
    given = np.random.default_rng(1).normal(size=(5, 4)).astype("float32")
    expected = session.run([logits, classes], {x: given})
    assert tf.saved_model.contains_saved_model(folder)
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as sess:
        found = tf.saved_model.loader.load(sess, [tf.saved_model.tag_constants.SERVING], folder)
        signature = found.signature_def[
            tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY]
        assert signature.method_name == tf.saved_model.signature_constants.PREDICT_METHOD_NAME
        assert signature.inputs["x"].name == "images:0"
        assert signature.inputs["x"].tensor_shape.as_list() == [None, 4]
        assert signature.outputs["classes"].name == "classes:0"
        made = sess.run([signature.outputs[k].name for k in ("logits", "classes")],
                        {"images:0": given, "keep:0": 1.})
        for a, b in zip(made, expected, strict=True):
            np.testing.assert_array_equal(a, b)
        again, = [v for v in tf.trainable_variables() if v.name == "layer/w:0"]
        np.testing.assert_array_equal(sess.run(again), session.run(w))
    loaded = df.saved_model.load(folder).signatures["serving_default"]      # without sessions
    made = loaded(x=given, keep=1.)
    np.testing.assert_array_equal(made["logits"], expected[0])
    np.testing.assert_array_equal(made["classes"], expected[1])


def test_builder(session, folder):
    x, _, _, logits, classes = network()
    session.run(tf.global_variables_initializer())
    info = tf.saved_model.utils.build_tensor_info
    one = tf.saved_model.signature_def_utils.build_signature_def(
        inputs={"x": info(x)}, outputs={"y": info(logits)}, method_name="one")
    two = tf.saved_model.predict_signature_def({"x": x}, {"c": classes})
    builder = tf.saved_model.builder.SavedModelBuilder(folder)
    builder.add_meta_graph_and_variables(session, ["serve", "v2"], signature_def_map={
        "one": one, "two": two}, main_op=None)
    with pytest.raises(errors.UnimplementedError, match="has one graph"):
        builder.add_meta_graph_and_variables(session, ["train"], {})
    assert builder.save() == folder + "/module.safetensors"
    with pytest.raises(AssertionError, match="already exists, and isn't empty"):
        tf.saved_model.Builder(folder)
    with tf.Graph().as_default(), tf.Session() as sess:
        with pytest.raises(RuntimeError, match="could not be found in SavedModel"):
            tf.saved_model.load(sess, ["serve"], folder)
        found = tf.saved_model.load(sess, ["serve", "v2"], folder)
        assert found.signature_def["one"].method_name == "one"
        assert isinstance(found.signature_def["two"], tf.saved_model.SignatureDef)
        assert isinstance(found.signature_def["two"].inputs["x"], tf.saved_model.TensorInfo)
        given = np.ones([2, 4], "float32")
        assert sess.run("classes:0", {"images:0": given}).tolist() == [2, 2]
        assert len(tf.global_variables()) == 1
    with tf.Session() as sess, pytest.raises(OSError, match="does not exist"):
        tf.saved_model.loader.load(sess, ["serve"], folder + "2")
    assert tf.saved_model.build_signature_def().inputs == {}
    assert tf.saved_model.build_tensor_info(x).dtype == tf.float32


def test_random_operations_continue_from_the_saved_state(session, folder):
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.add(x, tf.random_uniform([2]), name="y")
    before = session.run(y, {x: [0., 0.]}).tolist()
    tf.saved_model.simple_save(session, folder, {"x": x}, {"y": y})
    after = [session.run(y, {x: [0., 0.]}).tolist() for _ in range(2)]
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.saved_model.load(sess, ["serve"], folder)
        assert [sess.run("y:0", {"x:0": [0., 0.]}).tolist() for _ in range(2)] == after
    loaded = df.load(folder).signatures["serving_default"]
    assert [loaded(x=[0., 0.])["y"].tolist() for _ in range(2)] == after
    assert before not in after


def test_unknown_rank_raises(session, folder):
    x = tf.placeholder(tf.float32, name="x")
    with pytest.raises(errors.UnimplementedError, match="x:0 has an unknown rank"):
        tf.saved_model.simple_save(session, folder, {"x": x}, {"y": x * 2.})
    assert not tf.saved_model.contains_saved_model(folder)


def test_damaged_files_raise(session, folder):
    x = tf.placeholder(tf.float32, [2], name="x")
    tf.saved_model.simple_save(session, folder, {"x": x}, {"y": x * 2.})
    path = folder + "/module.safetensors"
    with open(path, "rb") as file:
        good = file.read()
    random = np.random.default_rng(1)
    for k in random.integers(0, len(good), 40):
        bad = bytearray(good)
        bad[k] ^= 1 << random.integers(8)
        with open(path, "wb") as file:
            file.write(bad)
        with tf.Graph().as_default(), tf.Session() as sess:
            with pytest.raises(errors.DataLossError):
                tf.saved_model.load(sess, ["serve"], folder)
            assert tf.global_variables() == []


def test_malformed_graphs_with_valid_checksums(session, folder, request):
    x, keep, _, logits, classes = network()
    y = tf.while_loop(lambda x: tf.reduce_sum(x) < 100., lambda x: x + tf.cond(
        keep > 0., lambda: x, lambda: x * 2.), [tf.nn.relu(logits) + 1.])
    session.run(tf.global_variables_initializer())
    tf.saved_model.simple_save(session, folder, inputs={"x": x, "keep": keep},
                               outputs={"y": y, "classes": classes})
    times = 3000 if request.config.getoption("--exhaustive") else 300
    random = np.random.default_rng(request.config.getoption("--seed") or 3)
    refused = 0
    for bad in damaged_files(folder, random, times):
        with tf.Graph().as_default(), tf.Session() as sess:
            try:
                tf.saved_model.load(sess, ["serve"], folder)
            except errors.DataLossError as error:
                refused += 1
                assert "module.safetensors" in str(error) and "expected" in str(error), bad
            except RuntimeError as error:
                assert "could not be found" in str(error), bad      # the tags
    assert times // 4 < refused < times


@pytest.mark.parametrize(("key", "value", "why"), [
    ("functions", 3, "functions is 3, expected list"),
    ("functions", [], "signatures.serving_default.function is 0, expected an index of functions"),
    ("variables", {"variables/w": ["w"]}, r"variables.variables/w has 1 .*, expected at least 2"),
    ("variables", {"w": ["w", True]}, "variables.w is no tensor of the file"),
    ("signatures", {"s": {}}, "signatures.s has no .*expected function, inputs"),
    ("signatures", {"s": {"inputs": [[3, 3, 3, 3]], "outputs": [], "function": 0}},
     r"signatures.s.inputs\[0\]\[0\] is 3, expected str")])
def test_errors_of_malformed_graphs(session, folder, key, value, why):
    x = tf.placeholder(tf.float32, [], name="x")
    tf.saved_model.simple_save(session, folder, {"x": x}, {"y": x + 1.})
    path = f"{folder}/module.safetensors"
    with content.content_of(path, "dualflow module 1") as found:
        said = found.states["module"]
    content.write_content(path, "dualflow module 1", {}, {"module": {**said, key: value}})
    for load in (lambda: tf.saved_model.load(session, ["serve"], folder), lambda: df.load(folder)):
        with pytest.raises(errors.DataLossError, match=rf"{path} has an invalid manifest: .*{why}"):
            load()
