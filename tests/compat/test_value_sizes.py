"""Sizes that are values: fed, or computed from variables or fed values."""

import numpy as np
import pytest

import dualflow.compat.v1 as tf

X = np.arange(24, dtype=np.float32)


def scalar():
    return tf.placeholder(tf.int32, [])


def vector():
    return tf.placeholder(tf.float32, [None])


# Functions of a number and a vector of unknown size, and NumPy's results.
CASES = {
    "zeros": (lambda n, x: tf.zeros([n, 3]), lambda n, x: np.zeros([n, 3])),
    "ones of a tuple": (lambda n, x: tf.ones((2, n)), lambda n, x: np.ones([2, n])),
    "fill": (lambda n, x: tf.fill([n, n], 2.), lambda n, x: np.full([n, n], 2.)),
    "arithmetic": (lambda n, x: tf.zeros([n * 2 + 1]), lambda n, x: np.zeros([2 * n + 1])),
    "stack": (lambda n, x: tf.zeros(tf.stack([n, 3])), lambda n, x: np.zeros([n, 3])),
    "reshape": (lambda n, x: tf.reshape(x, [n, -1]), lambda n, x: x.reshape(n, -1)),
    "reshape by two": (lambda n, x: tf.reshape(x, [n, 24 // n]) if isinstance(n, int)
                       else tf.reshape(x, [n, tf.div(24, n)]), lambda n, x: x.reshape(n, 24 // n)),
    "reshape and transpose": (
        lambda n, x: tf.transpose(tf.reshape(x, [n, 2, -1]), [0, 2, 1]),
        lambda n, x: x.reshape(n, 2, -1).transpose(0, 2, 1)),
    "tile": (lambda n, x: tf.tile(x, [n]), lambda n, x: np.tile(x, n)),
    "pad": (lambda n, x: tf.pad(x, [[n, 1]]), lambda n, x: np.pad(x, [[n, 1]])),
    "one_hot": (lambda n, x: tf.one_hot([0, 1], n), lambda n, x: np.eye(n)[:2]),
    "broadcast_to": (lambda n, x: tf.broadcast_to([1., 2.], [n, 2]),
                     lambda n, x: np.broadcast_to([1., 2.], [n, 2])),
    "top_k": (lambda n, x: tf.nn.top_k(x, n)[0], lambda n, x: np.sort(x)[::-1][:n]),
    "top_k of known size": (lambda n, x: tf.nn.top_k(tf.constant([3., 1., 2., 5.]), n)[0],
                            lambda n, x: np.array([5., 3., 2., 1.])[:n]),
    "range": (lambda n, x: tf.range(n), lambda n, x: np.arange(n)),
    "bounds": (lambda n, x: x[1:n], lambda n, x: x[1:n]),
    "slice": (lambda n, x: tf.slice(x, [1], [n]), lambda n, x: x[1:1 + n]),
    "in the sum of another": (
        lambda n, x: tf.reshape(x, [n, -1]) + tf.zeros([n, 1]), lambda n, x: x.reshape(n, -1)),
    "branches": (lambda n, x: tf.cond(n > 2, lambda: tf.ones([n]), lambda: tf.zeros([n])),
                 lambda n, x: np.full([n], float(n > 2))),
    "of the loop": (
        lambda n, x: tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a + tf.ones([n])),
                                   [0, tf.zeros([n])])[1], lambda n, x: np.full([n], float(n))),
    "in each round": (
        lambda n, x: tf.while_loop(lambda i, a: i < n,
                                   lambda i, a: (i + 1, a + tf.reduce_sum(tf.ones([i, 2]))),
                                   [0, 0.])[1], lambda n, x: np.array(n * (n - 1.))),
    "map_fn": (lambda n, x: tf.map_fn(lambda k: tf.reduce_sum(tf.ones([k])), tf.range(n),
                                      dtype=tf.float32), lambda n, x: np.arange(n)),
    "largest": (lambda n, x: tf.zeros([tf.reduce_max(tf.stack([n, 2]))]),
                lambda n, x: np.zeros([max(n, 2)])),
    "gradient": (lambda n, x: tf.gradients(tf.tile(tf.reshape(x, [n, -1]), [1, n]), x)[0],
                 lambda n, x: np.full([24], float(n))),
}


@pytest.mark.parametrize("fed", ["placeholder", "no shape", "default", "variable", "int64"])
@pytest.mark.parametrize("case", CASES)
def test_tensor_value_as_a_size(session, case, fed):
    build, expected = CASES[case]
    n = {"placeholder": scalar, "no shape": lambda: tf.placeholder(tf.int32),
         "default": lambda: tf.placeholder_with_default(4, []),
         "variable": lambda: tf.Variable(4, trainable=False),
         "int64": lambda: tf.placeholder(tf.int64, [])}[fed]()
    if fed == "int64" and case in ("largest", "of the loop", "in each round", "reshape by two"):
        n = tf.cast(n, tf.int32)        # the other operands are int32
    x = vector()
    y = build(n, x)
    for k in (3, 4, 3, 2):
        if fed == "variable":
            n.load(k, session)
        source = n.op.inputs[0] if n.op.type == "Cast" else n
        feeds = {x: X} if fed == "variable" or (fed == "default" and k == 4) else {x: X, source: k}
        got = session.run(y, feeds)
        np.testing.assert_array_equal(got, expected(k, X))


def test_static_shapes():
    n, x = scalar(), vector()
    assert tf.zeros([n, 3]).shape.as_list() == [None, 3]
    assert tf.zeros(tf.stack([n, 3])).shape.as_list() == [None, 3]
    assert tf.reshape(x, [n, 2, n]).shape.as_list() == [None, 2, None]
    assert (tf.ones([5, 1]) + tf.zeros([n])).shape.as_list() == [5, None]
    default = tf.placeholder_with_default(2, [])
    assert (tf.zeros([default]) + tf.zeros([3])).shape.as_list() == [3]


def test_fed_shape(session):
    shape, x = tf.placeholder(tf.int32, [2]), vector()
    y = tf.reshape(x, shape)
    assert y.shape.as_list() == [None, None]
    assert session.run(y, {x: X, shape: [6, 4]}).shape == (6, 4)
    assert session.run(y, {x: X, shape: [2, -1]}).shape == (2, 12)


def test_fed_batch_size_of_a_recurrent_layer(session):
    n, x = scalar(), tf.placeholder(tf.float32, [None, 5, 4])
    cell = tf.nn.rnn_cell.BasicLSTMCell(6)
    outputs, _ = tf.nn.dynamic_rnn(cell, x, initial_state=cell.zero_state(n, tf.float32))
    gradients = tf.gradients(tf.reduce_sum(outputs), tf.trainable_variables())
    session.run(tf.global_variables_initializer())
    rows = np.linspace(-1., 1., 60, dtype=np.float32).reshape(3, 5, 4)
    whole = session.run([outputs, *gradients], {n: 3, x: rows})
    parts = [session.run([outputs, *gradients], {n: 1, x: rows[k:k + 1]}) for k in range(3)]
    np.testing.assert_allclose(whole[0], np.concatenate([p[0] for p in parts]), atol=1e-6)
    np.testing.assert_allclose(whole[1], sum(p[1] for p in parts), atol=1e-5)


def test_maximum_length_of_a_batch_as_a_size(session):
    lengths = tf.placeholder(tf.int32, [None])
    mask = tf.sequence_mask(lengths, tf.reduce_max(lengths))
    state = tf.zeros([tf.reduce_max(lengths), 2])
    for batch in ([3, 2, 5], [1, 1], [2]):
        got = session.run([mask, state], {lengths: batch})
        assert got[0].shape == (len(batch), max(batch)) and got[1].shape == (max(batch), 2)
        assert got[0].sum(1).tolist() == batch


def test_random_or_assigned_size(session):
    n = tf.random_uniform([], 1, 10, tf.int32)
    drawn = tf.zeros([n])
    v = tf.Variable(2)
    with tf.control_dependencies([tf.assign_add(v, 1)]):
        after = tf.zeros([tf.identity(v), 2])
    called = tf.py_func(lambda: np.int32(4), [], tf.int32)
    called.set_shape([])
    filled = tf.ones([called, 2])
    session.run(tf.global_variables_initializer())
    for k in range(3):
        count, values = session.run([n, drawn])
        assert len(values) == count
        assert session.run(after).shape == (3 + k, 2)
    assert session.run(filled).shape == (4, 2)


def test_fetch_that_does_not_need_the_size(session):
    n, x = scalar(), vector()
    y, other = tf.zeros([n]), x * 2.
    assert session.run(other, {x: [1.]}).tolist() == [2.]
    assert session.run([y, other], {n: 2, x: [1.]})[0].shape == (2,)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must feed a value for placeholder"):
        session.run(y)


def test_incompatible_sizes_raise(session):
    n, x = scalar(), tf.placeholder(tf.float32, [None, 4])
    y = x + tf.zeros([n, 4])
    rows = np.ones((2, 4))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"shapes \(2, 4\) and \(3, 4\)"):
        session.run(y, {n: 3, x: rows})
    with pytest.raises(tf.errors.InvalidArgumentError, match="-3"):
        session.run(y, {n: -3, x: rows})
    assert session.run(y, {n: 2, x: rows}).tolist() == rows.tolist()


def test_run_metadata(session):
    pytest.importorskip("tensorboard")
    n = scalar()
    y = tf.zeros([n]) + 1.
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    assert session.run(y, {n: 3}, options=options, run_metadata=metadata).shape == (3,)
    assert metadata.step_stats.dev_stats


def test_more_sizes_than_cached_programs(session):
    n = scalar()
    y = tf.zeros([n])
    assert [len(session.run(y, {n: k})) for k in range(150)] == list(range(150))
