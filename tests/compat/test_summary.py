"""Summaries in graphs: ops that return bytes, writers, and TensorBoard's view of the files."""

import numpy as np
import pytest

import dualflow.compat.v1 as tf
from tests.summary.events import read


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def values(made):
    return {v.tag: v for v in tf.summary.Summary.FromString(made).value}


def test_training(tmp_path):
    """Train as in tutorials: merge_all, a writer with the graph, a summary per step."""
    x = tf.placeholder(tf.float32, [4, 3], name="x")
    with tf.name_scope("model"):
        w = tf.Variable(tf.ones([3, 2]), name="w")
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w)))
        tf.summary.scalar("loss", loss)
    tf.summary.histogram("weights", w)
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    merged = tf.summary.merge_all()
    feed = {x: np.ones([4, 3], np.float32)}
    losses = []
    with tf.Session() as sess:
        writer = tf.summary.FileWriter(str(tmp_path), sess.graph)
        sess.run(tf.global_variables_initializer())
        for k in range(5):
            made, now, _ = sess.run([merged, loss, step], feed)
            assert isinstance(made, bytes)
            losses.append(now)
            writer.add_summary(made, k)
        writer.close()
    found = read(tmp_path)
    assert [(e.step, e.value) for e in found.Scalars("model/loss")] == list(enumerate(losses))
    assert len(found.Histograms("weights")) == 5
    names = {n.name: n for n in found.Graph().node}
    assert names["model/loss"].op == "ScalarSummary" and names["x"].op == "Placeholder"
    assert f"^{loss.op.name}" in names["model/loss"].input
    assert "^model/loss" in names["Merge/MergeSummary"].input


def test_run_metadata(tmp_path):
    """The advanced tutorial writes a step's run times with the graph."""
    x = tf.placeholder(tf.float32, [64, 64], name="x")
    w = tf.Variable(tf.ones([64, 64]), name="w")
    y = tf.matmul(tf.matmul(x, w, name="first"), w, name="second")
    options, metadata = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunMetadata()
    feed = {x: np.ones([64, 64], np.float32)}
    with tf.Session() as sess, tf.summary.FileWriter(str(tmp_path), sess.graph) as writer:
        sess.run(tf.global_variables_initializer())
        made = sess.run(y, feed, options=options, run_metadata=metadata)
        assert (made == sess.run(y, feed)).all() and made[0, 0] == 4096.
        writer.add_run_metadata(metadata, "step 1", 1)
        untold = tf.RunMetadata()
        sess.run(y, feed, run_metadata=untold)
        assert not untold.step_stats.dev_stats
        with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed"):
            sess.run(y, options=options, run_metadata=tf.RunMetadata())
    found = read(tmp_path)
    (device,) = found.RunMetadata("step 1").step_stats.dev_stats
    assert [s.node_name for s in device.node_stats] == ["first", "second"]
    assert {"first", "second"} <= {n.name for n in found.Graph().node}


def test_each_summary_type():
    text = tf.placeholder(tf.string, name="text")
    made = [tf.summary.scalar("s", 2), tf.summary.histogram("h", [1, 2, 3]),
            tf.summary.image("i", tf.zeros([2, 3, 4, 1])), tf.summary.text("t", text),
            tf.summary.text("u", "so")]
    with tf.Session() as sess:
        found = values(sess.run(tf.summary.merge(made), {text: "written"}))
        assert tf.summary.merge(made, name="all").op.name == "all"
    assert list(found) == ["s", "h", "i/image/0", "i/image/1", "t", "u"]
    assert found["s"].simple_value == 2. and found["h"].histo.num == 3
    assert found["t"].tensor.string_val[0] == b"written"


def test_collections_scopes_and_families(graph):
    with tf.name_scope("a"):
        first = tf.summary.scalar("x", 1.)
    second = tf.summary.scalar("x", 2., family="f")
    third = tf.summary.scalar("x", 3., collections=["mine"])
    assert graph.get_collection(tf.GraphKeys.SUMMARIES) == [first, second]
    assert tf.summary.merge_all("none") is None
    with tf.Session() as sess:
        assert list(values(sess.run(tf.summary.merge_all(scope="a")))) == ["a/x"]
        assert list(values(sess.run(second))) == ["f/f/x"]
        assert list(values(sess.run(tf.summary.merge_all("mine")))) == [third.op.name]


def test_invalid_summaries_raise():
    with tf.Session() as sess:
        with pytest.raises(ValueError, match=r"summary.scalar: 's' has shape \(2,\)"):
            sess.run(tf.summary.scalar("s", [1., 2.]))
        with pytest.raises(ValueError, match="Nan in summary histogram for: h"):
            sess.run(tf.summary.histogram("h", [float("nan")]))


# --- Python functions -----------------------------------------------------------------------------

def test_py_func():
    x = tf.placeholder(tf.float32, [None], name="x")
    w = tf.Variable([2., 3.], name="w")
    y = tf.py_func(lambda a, b: a + b, [x, w], tf.float32)
    assert tf.numpy_function is tf.py_func
    pair = tf.py_func(lambda a: (a.max(keepdims=True), a.argmax(keepdims=True)), [x],
                      [tf.float32, tf.int64], name="pair")
    said = tf.py_func(lambda a: f"{a.tolist()}", [x], tf.string)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        feed = {x: [1., 5.]}
        assert sess.run(y, feed).tolist() == [3., 8.]
        assert [v.tolist() for v in sess.run(pair, feed)] == [[5.], [1]]
        assert sess.run(said, feed) == b"[1.0, 5.0]"
        assert y.op.name == "PyFunc" and pair[0].op.name == "pair"
        assert tf.gradients(y, [x]) == [None]


def test_only_fetched_functions_are_called():
    seen = []
    a, b = [tf.py_func(lambda k=k: seen.append(k) or np.float32(k), [], tf.float32)
            for k in (1, 2)]
    with tf.Session() as sess:
        assert sess.run(b) == 2. and seen == [2]
        with tf.control_dependencies([a]):
            c = tf.identity(b)
        assert sess.run(c) == 2. and sorted(seen) == [1, 2, 2]


def test_py_function():
    x = tf.constant([1., 2.])
    y = tf.py_function(lambda v: v * v * v, [x], tf.float32)
    (g,) = tf.gradients(y, x)
    with tf.Session() as sess:
        assert [v.tolist() for v in sess.run([y, g])] == [[1., 8.], [3., 12.]]


def test_registered_op():
    import dualflow as df

    op = df.register_op("square_plus", lambda x, b: x.numpy() ** 2 + b,
                        gradient=lambda g, y, x, b: 2. * x * g)
    w = tf.Variable([3.], name="w")
    y = op(w, b=1.)
    step = tf.train.GradientDescentOptimizer(0.5).minimize(y)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(y).tolist() == [10.]
        sess.run(step)
        assert sess.run(w).tolist() == [0.]


def test_illegal_characters_of_names(caplog):
    """Names of tensors are used as names of summaries."""
    tf.logging.set_verbosity(tf.logging.INFO)
    made = [tf.summary.histogram("W1:0", tf.constant([1.])),
            tf.summary.scalar("a loss", 1., family="my family"),
            tf.summary.image("x:0", tf.ones([1, 2, 2, 1])), tf.summary.text("/n:0", "text"),
            tf.summary.scalar("a/b-c.d_e", 1.)]
    tf.logging.set_verbosity(tf.logging.WARN)
    with tf.Session() as sess:
        tags = [next(iter(values(x))) for x in sess.run(made)]
    assert tags == ["W1_0", "my_family/my_family/a_loss", "x_0/image/0", "n_0", "a/b-c.d_e"]
    logged = [r.getMessage() for r in caplog.records if r.name == "tensorflow"]
    assert logged[0] == "Summary name W1:0 is illegal; using W1_0 instead." and len(logged) == 5


def test_summaries_of_values(tmp_path):
    """Programs build messages themselves."""
    assert tf.Summary is tf.summary.Summary and tf.Event is tf.summary.Event
    assert tf.SessionLog is tf.summary.SessionLog and not hasattr(tf, "AbsentMessage")
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=.5)]), 3)
    assert [(e.step, e.value) for e in read(tmp_path).Scalars("loss")] == [(3, .5)]
