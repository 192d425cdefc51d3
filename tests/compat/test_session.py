"""Sessions: fetches and feeds, results, and closing."""

import collections
import gc
import threading
import weakref

import numpy as np
import pytest

import dualflow as df
import dualflow.compat.v1 as tf
from dualflow._core import arrays_of

Pair = collections.namedtuple("Pair", "a b")


def test_result_types_match_tensorflow(session):
    found = session.run([tf.constant(1), tf.constant("a"), tf.constant(["a", "b"]),
                         tf.constant(2.), tf.constant([1.]), tf.constant(True), tf.no_op(),
                         tf.constant(1., tf.bfloat16)])
    assert [type(x) for x in found[:7]] == [np.int32, bytes, np.ndarray, np.float32, np.ndarray,
                                            np.bool_, type(None)]
    assert found[4].flags.writeable and found[1] == b"a" and found[2].dtype == object
    found[4][0] = 7.
    assert session.run(tf.constant([1.])).tolist() == [1.]


def test_results_share_no_memory_with_the_session(session):
    w = tf.Variable([1., 2.])
    x = tf.placeholder(tf.float32, [2])
    c = tf.constant([5., 6.])
    session.run(w.initializer)
    fed = np.array([3., 4.], np.float32)
    for tensor, feed in ((w, None), (c, None), (x, {x: fed}), (tf.identity(x), {x: fed})):
        first = session.run(tensor, feed)
        kept = first.copy()
        first += 100.
        assert session.run(tensor, feed).tolist() == kept.tolist()
    assert fed.tolist() == [3., 4.]
    tensors = [df.constant([1., 2.])]
    keeps = tensors[0]
    arrays_of(tensors)[0][:] = 9.
    assert keeps.tolist() == [1., 2.]


def test_nested_fetches(session):
    x = tf.placeholder(tf.float32, [], name="x")
    y, v = x * 2, tf.Variable(7.)
    session.run(v.initializer)
    feed = {x: 3.}
    assert session.run((y, [x, {"k": v}]), feed) == (6., [3., {"k": 7.}])
    assert session.run(Pair(y, "x:0"), feed) == Pair(6., 3.)
    ordered = session.run(collections.OrderedDict([("b", y), ("a", y.op)]), feed)
    assert ordered == {"b": 6., "a": None} and list(ordered) == ["b", "a"]
    assert session.run([]) == [] and session.run({}) == {}
    assert session.run([y, y, "mul:0", "mul"], feed) == [6., 6., 6., None]
    text = tf.constant("t")
    assert session.run([[text], y, Pair(text, None or y)], feed) == [[b"t"], 6., (b"t", 6.)]


def test_fetching_indexed_slices(session):
    w = tf.Variable(tf.ones([4, 2]))
    slope = tf.gradients(tf.reduce_sum(tf.nn.embedding_lookup(w, [2, 0])), w)
    session.run(w.initializer)
    found, = session.run(slope)
    assert found.values.tolist() == [[1., 1.], [1., 1.]] and found.indices.tolist() == [2, 0]
    assert found.dense_shape.tolist() == [4, 2] and found.dense_shape.dtype == np.int32
    assert session.run({"a": slope[0]})["a"].indices[0] == 2
    clipped, _ = tf.clip_by_global_norm(slope, 1.)
    assert session.run([clipped[0] * 2., tf.convert_to_tensor(slope[0])])[1].shape == (4, 2)


def test_graphs_and_sessions_are_collectable():
    def make():
        with tf.Graph().as_default() as g, tf.Session() as sess:
            x, w = tf.placeholder(tf.float32), tf.get_variable("w", [3, 3])
            y = tf.reduce_sum(tf.nn.dropout(tf.matmul(tf.reshape(x, [1, 3]), w), 0.5))
            step = tf.train.AdamOptimizer().minimize(y)
            sess.run(tf.global_variables_initializer())
            sess.run(step, {x: np.ones(3)})
        return [weakref.ref(thing) for thing in (g, sess, w)]

    gone = make()
    gc.collect()
    assert [thing() for thing in gone] == [None] * 3


@pytest.mark.parametrize("fetch, error, says", [
    (None, TypeError, 'Argument `fetch` = None has invalid type "NoneType"'),
    (3, TypeError, 'Argument `fetch` = 3 has invalid type "int" must be a string or Tensor'),
    ("q:0", ValueError, "cannot be interpreted as a Tensor. (The name 'q:0' refers to a Tensor"),
    ("q", ValueError, "(The name 'q' refers to an Operation not in the graph.)"),
    ([["q"]], ValueError, "not in the graph"),
])
def test_invalid_fetches_raise(session, fetch, error, says):
    tf.constant(1.)
    with pytest.raises(error) as caught:
        session.run(fetch)
    assert says in str(caught.value)


def test_fetch_from_another_graph_raises(session):
    tf.constant(1.)
    with tf.Graph().as_default():
        other = tf.constant(1., name="other")
    with pytest.raises(ValueError, match=r'Tensor\("other:0".*is not an element of this graph'):
        session.run(other)
    with pytest.raises(TypeError, match=r"Cannot interpret feed_dict key as Tensor: .*not an elem"):
        session.run("Const:0", {other: 1.})


def test_only_required_ops_run(session):
    seen = []
    x = tf.placeholder(tf.float32, [])
    with tf.get_default_graph().as_default():
        df.print("never", x, output_stream=Sink(seen))
        noisy = df.ops.control_flow.host.host_call(seen.append, [x * 3.])
    y = x * 2.
    assert noisy is None and session.run(y, {x: 1.}) == 2. and seen == []


class Sink(list):
    """A stream that stores its writes."""

    def __init__(self, kept):
        self.write = kept.append


def test_any_tensor_can_be_fed(session):
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.identity(x * 2., name="y")
    z = tf.reduce_sum(y) + 1.
    c = tf.constant(5.)
    assert session.run(z, {y: [1., 2.]}) == 4.
    assert session.run([y, z], {"y:0": [1., 2.]})[1] == 4.
    assert session.run(z + c, {y: [0., 0.], c: 7.}) == 8.
    top = tf.nn.top_k(tf.constant([1., 3., 2.]), 2)
    found = session.run([top.values, top.indices * 10], {top.indices: [7, 8]})
    assert [x.tolist() for x in found] == [[3., 2.], [70, 80]]
    assert session.run(c, {c: 2.}) == 2.
    loop = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
    assert session.run(loop + 1, {loop: 10}) == 11


@pytest.mark.parametrize("value", [
    [1, 2], (1., 2.), np.array([1, 2]), np.array([1., 2.]), np.array([1., 2.], np.float32),
    np.array([[1., 9.], [2., 9.]], np.float32)[:, 0], [np.float64(1.), np.float32(2.)],
    df.constant([1., 2.]), np.array([1., 2.], ">f4"), [True, 2]])
def test_values_that_can_be_fed(session, value):
    x = tf.placeholder(tf.float32, [2])
    assert session.run(x * 1., {x: value}).tolist() == [1., 2.]


def test_fed_floats_are_truncated_to_integers(session):
    x, y = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int8, [])
    assert session.run(x * 1, {x: [1.7, -1.7]}).tolist() == [1, -1]
    assert session.run(x * 1, {x: np.array([1.7, -1.7])}).tolist() == [1, -1]
    assert session.run(y, {y: 1.7}) == 1
    with pytest.raises(TypeError, match=r"expected numbers|complex"):
        session.run(y, {y: 1j})


def test_scalars_that_can_be_fed(session):
    for dtype, value in [(tf.float32, 3), (tf.float32, np.float64(3)), (tf.float64, 3.),
                         (tf.int32, 3), (tf.int64, np.int32(3)), (tf.bool, True),
                         (tf.float16, 3.), (tf.int8, np.array(3)), (tf.float32, np.array(3.))]:
        x = tf.placeholder(dtype, [])
        found = session.run(x, {x: value})
        assert found == value and found.dtype.name == dtype.name


def test_shapes_that_differ_between_runs(session):
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.reduce_sum(tf.reshape(x, [-1]) * 2.) + tf.cast(tf.shape(x)[0], tf.float32)
    for n in (1, 2, 5, 1, 0):
        assert session.run(y, {x: np.ones([n, 3])}) == 6. * n + n
    for n in range(200):                    # more than are cached
        assert session.run(y, {x: np.ones([n, 3])}) == 7. * n


@pytest.mark.parametrize("value, error, says", [
    ([1., 2., 3.], ValueError,
     r"Cannot feed value of shape \(3,\) for Tensor 'x:0', which has shape '\(\?, 2\)' \(made at "),
    ([["a", "b"]], ValueError, "could not convert string to float"),
    ([[1.], [2., 3.]], ValueError, "2|inhomogeneous"),
    (None, (TypeError, ValueError), "x"),
])
def test_values_that_cannot_be_fed(session, value, error, says):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    with pytest.raises(error, match=says):
        session.run(x * 2., {x: value})


def test_numbers_out_of_range_raise(session):
    x = tf.placeholder(tf.int8, [], name="x")
    with pytest.raises(TypeError, match=r"300 .* not compatible with Tensor type int8. Try expl"):
        session.run(x, {x: 300})
    with pytest.raises(TypeError, match=r"value of a feed cannot be a tf.Tensor object"):
        session.run(x, {x: tf.constant(1)})


@pytest.mark.parametrize("dtype, shape, says", [
    (tf.float32, [2], "dtype float and shape [2] (made at"),
    (tf.int32, [None, 3], "int32 and shape [?,3]"),
    (tf.float64, [], "dtype double and shape []"), (tf.float32, None, "'x' with dtype float (made"),
    (tf.string, [], "'x' with dtype string")])
def test_unfed_placeholders_raise(session, dtype, shape, says):
    x = tf.placeholder(dtype, shape, name="x")
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(tf.identity(x))
    text = str(caught.value)
    assert "You must feed a value for placeholder tensor 'x'" in text and says in text
    assert __file__ in text and caught.value.message == text and caught.value.op.name == "x"


def test_placeholder_with_default(session):
    x = tf.placeholder_with_default([1., 2.], [None], name="x")
    y = x * 2.
    assert (x.get_shape().as_list(), x.op.type) == ([None], "PlaceholderWithDefault")
    assert session.run(y).tolist() == [2., 4.]
    assert session.run(y, {x: [5.]}).tolist() == [10.]
    text = tf.placeholder_with_default("a", [])
    assert session.run([text]) == [b"a"] and session.run(text, {text: b"b"}) == b"b"
    with pytest.raises(ValueError, match=r"incompatible"):
        tf.placeholder_with_default([1.], [2])


def test_uninitialized_variable_raises(session):
    w = tf.Variable(1., name="w")
    y = w * 2.
    for fetch in (w, y, [y], w.assign_add(1.)):
        with pytest.raises(tf.errors.FailedPreconditionError) as caught:
            session.run(fetch)
        assert "Attempting to use uninitialized value w" in str(caught.value)
        assert __file__ in str(caught.value)
    session.run(w.assign(3.))
    assert session.run(y) == 6.


def test_error_during_a_run_names_the_line(session):
    x, i = tf.constant([1., 2.]), tf.placeholder(tf.int32, [])
    y = tf.gather(x, i, name="pick")
    with pytest.raises(tf.errors.OutOfRangeError, match=r"made at .*test_session"):
        session.run(y, {i: 7})
    a, b = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"total.*made at .*test_session"):
        session.run(tf.add(a, b, name="total"), {a: [1., 2.], b: [1., 2., 3.]})
    assert session.run(y, {i: 1}) == 2.


def test_closed_sessions_raise():
    x = tf.constant(1.)
    sess = tf.Session()
    call = sess.make_callable(x)
    assert sess.run(x) == call() == 1.
    sess.close()
    for use in (lambda: sess.run(x), call, lambda: x.eval(session=sess)):
        with pytest.raises(RuntimeError, match=r"^Attempted to use a closed Session.$"):
            use()
    with tf.Session() as inner:
        pass
    with pytest.raises(RuntimeError, match=r"closed"):
        inner.run(x)


def test_empty_graph_raises(session):
    with pytest.raises(RuntimeError, match=r"The Session graph is empty"):
        session.run("x:0")


def test_default_sessions():
    x = tf.constant(3.)
    with pytest.raises(ValueError, match=r"`eval\(\)`: No default session is registered"):
        x.eval()
    with pytest.raises(ValueError, match=r"`run\(\)`: No default session is registered"):
        x.op.run()
    one = tf.Session()
    with one.as_default() as entered:
        assert entered is one is tf.get_default_session() and x.eval() == 3.
        with tf.Session():
            assert tf.get_default_session() is not one
    assert one.run(x) == 3.         # as_default does not close the session
    with tf.Session(graph=tf.Graph()), pytest.raises(ValueError, match=r"graph is different"):
        x.eval()
    with pytest.raises(ValueError, match=r"given session's graph is different"):
        x.eval(session=tf.Session(graph=tf.Graph()))


def test_interactive_sessions():
    sess = tf.InteractiveSession()
    x = tf.constant(3.)
    w = tf.Variable(2.)
    w.initializer.run()
    assert x.eval() == 3. and (w * x).eval({x: 5.}) == 10.
    sess.close()
    assert tf.get_default_session() is None
    g = tf.Graph()
    other = tf.InteractiveSession(graph=g)
    assert tf.get_default_graph() is g
    other.close()
    assert tf.get_default_graph() is not g


def test_make_callable(session):
    a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [None])
    call = session.make_callable([a + b, a], [a, b])
    assert call(1., [2., 3.])[0].tolist() == [3., 4.] and call(2., [1.])[1] == 2.
    with pytest.raises(TypeError, match=r"Expected 2 arguments, got 1"):
        call(1.)


def test_options_are_accepted():
    config = tf.ConfigProto(allow_soft_placement=True, gpu_options=tf.GPUOptions(allow_growth=True))
    config.intra_op_parallelism_threads = 1
    with tf.Session("", config=config) as sess:
        found = sess.run(tf.constant(1.), options=tf.RunOptions(trace_level=3),
                         run_metadata=tf.RunMetadata())
        assert found == 1. and sess.list_devices()
    assert config.gpu_options.allow_growth and config.other.option is not None


def test_feeding_and_fetching_strings(session):
    x = tf.placeholder(tf.string, [])
    y = tf.identity(x)
    assert session.run(y, {x: "hello"}) == "hello" and x.dtype == tf.string
    assert str(x) == 'Tensor("Placeholder:0", shape=(), dtype=string)'
    assert repr(x) == "<tf.Tensor 'Placeholder:0' shape=() dtype=string>"
    words = tf.constant([["a", "b"]], shape=[2, 1])
    assert session.run(words).tolist() == [[b"a"], [b"b"]]
    assert words.eval().shape == (2, 1) and words.get_shape().as_list() == [2, 1]


def test_feeding_strings_on_eight_threads(session):
    word, x = tf.placeholder(tf.string, []), tf.placeholder(tf.float32, [])
    both, wrong = [tf.identity(word), x * 2.], []

    def work(k):
        for _ in range(200):
            if session.run(both, {word: str(k), x: float(k)}) != [str(k), 2. * k]:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_one_session_on_eight_threads(session):
    x = tf.placeholder(tf.float32, [None])
    w = tf.Variable(tf.zeros([4]))
    count = tf.Variable(0, dtype=tf.int64)
    more = tf.group(w.assign_add(tf.ones([4])), count.assign_add(1))
    y = tf.reduce_sum(x * 2.)
    both = w * 1.
    session.run(tf.global_variables_initializer())
    failures, barrier = [], threading.Barrier(8)

    def work(seed):
        try:
            barrier.wait()
            for k in range(60):
                n = (seed * 7 + k) % 5 + 1
                assert session.run(y, {x: np.full(n, seed, np.float32)}) == 2. * n * seed
                assert session.run([y, x], {x: [float(k)]})[0] == 2. * k
                session.run(more)
                row = session.run(both)
                assert (row == row[0]).all()        # never a partial update
                with tf.Session() as own:           # another session and default graph
                    assert own.run(tf.constant(float(seed)) + 1.) == seed + 1.
        except Exception as error:      # raised in the main thread
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert session.run([count, w])[0] == 480 and session.run(w).tolist() == [480.] * 4


def test_graph_of_many_nodes(session):
    y = x = tf.placeholder(tf.float32, [2])
    for _ in range(5_000):
        y = tf.tanh(y) + x
    slope, = tf.gradients(y, x)
    found = session.run([y, slope], {x: [0.5, 1.]})
    want, one = np.array([0.5, 1.]), np.array([0.5, 1.])
    for _ in range(200):                # by then nothing is compiled any more
        want = np.tanh(want) + one
    np.testing.assert_allclose(found[0], want, rtol=1e-5)
    assert np.isfinite(found[1]).all()


def test_fetching_the_fields_of_indexed_slices(session):
    emb = tf.get_variable("emb", initializer=np.ones((3, 2), np.float32))
    grad = tf.gradients(tf.nn.embedding_lookup(emb, [1, 1]), emb)[0]
    bare = tf.IndexedSlices(tf.ones([2, 2]), tf.constant([1, 0]))
    session.run(tf.global_variables_initializer())
    found, (again, other) = session.run(grad), session.run([grad, {"a": bare}])
    assert type(found).__name__ == "IndexedSlicesValue"
    for x in (found, again):
        assert x.values.tolist() == [[1., 1.]] * 2 and x.indices.tolist() == [1, 1]
        assert list(x.dense_shape) == [3, 2]
    assert other["a"].indices.tolist() == [1, 0] and other["a"].dense_shape is None
    assert list(session.run([tf.constant("a"), grad])[1].dense_shape) == [3, 2]


def test_nested_keys_of_feeds(session):
    """The state of a cell is fed as a whole."""
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(2) for _ in range(2)])
    state = cell.zero_state(1, tf.float32)
    x = tf.placeholder(tf.float32, [1])
    total = tf.add_n([tf.reduce_sum(part) for layer in state for part in layer]) + x
    value = session.run(state)
    assert session.run(total, {state: value, x: [1.]}).tolist() == [1.]
    one = tf.nn.rnn_cell.LSTMStateTuple(np.ones([1, 2]), [[2., 2.]])
    runs = len(session._runs)
    for k in range(3):
        assert session.run(total, {state: (one, ([[3., 3.]], value[1].h)), x: [k]}) == [12. + k]
    assert len(session._runs) == runs       # prepared once
    assert session.run(total, {state[0]: one, state[1]: one, x: [0.]}).tolist() == [12.]
    assert total.eval({Pair(state[0].c, x): Pair(one.c, [5.])}, session).tolist() == [7.]
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    assert session.run(total, {state: (one, one), x: [0.]}, options, metadata) == [12.]


def test_nested_keys_that_do_not_fit_raise(session):
    a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    for value in (1., (1.,), (1., (2., 3.), 4.)):
        with pytest.raises(ValueError, match="Could not flatten dictionary"):
            session.run(a + b, {(a, b): value})
    with pytest.raises(ValueError, match="not unique"):
        session.run(a + b, {(a, b): (1., 2.), a: 3.})
    with pytest.raises(TypeError, match="Cannot interpret feed_dict key"):
        session.run(a + b, {(a, 3): (1., 2.)})
