"""Recurrent networks: unknown sizes, user-defined cells, dropout, and invalid arguments."""

import numpy as np
import pytest

import dualflow.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def initialized():
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


def test_unknown_batch_and_number_of_steps():
    x = tf.placeholder(tf.float32, [None, None, 3])
    lengths = tf.placeholder(tf.int32, [None])
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(4),
                                        tf.nn.rnn_cell.GRUCell(2)])
    y, state = tf.nn.dynamic_rnn(cell, x, lengths, dtype=tf.float32)
    assert y.get_shape().as_list() == [None, None, 2]
    gradient = tf.gradients(tf.reduce_sum(y), tf.trainable_variables())
    rng = np.random.RandomState(0)
    with initialized() as session:
        for n, steps in ((2, 4), (3, 1), (1, 6)):
            data, ends = rng.randn(n, steps, 3), rng.randint(0, steps + 1, n)
            outputs, last, _ = session.run([y, state, gradient], {x: data, lengths: ends})
            assert outputs.shape == (n, steps, 2) and last[0].c.shape == (n, 4)
            for row, end in zip(outputs, ends, strict=True):
                assert not row[end:].any() and row[:end].all()


def test_static_and_dynamic_rnn_agree():
    x = tf.placeholder(tf.float32, [None, 4, 3])
    cell = tf.nn.rnn_cell.BasicLSTMCell(5)
    with tf.variable_scope("both") as scope:
        outputs, a = tf.nn.static_rnn(cell, tf.unstack(x, 4, 1), dtype=tf.float32, scope=scope)
        y, b = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32, scope=scope)
    found = [tf.gradients(tf.reduce_sum(z), cell.trainable_variables) for z in (outputs[-1], y)]
    assert len(tf.trainable_variables()) == len(found[0]) == 2
    with initialized() as session:
        values = session.run([tf.stack(outputs, 1), y, a, b], {x: np.random.randn(2, 4, 3)})
    np.testing.assert_array_equal(values[0], values[1])
    np.testing.assert_array_equal(values[2], values[3])


def test_user_defined_cell_with_variables():
    class Scaled(tf.nn.rnn_cell.RNNCell):
        state_size = output_size = 3

        def call(self, inputs, state):
            w = tf.get_variable("w", [3], initializer=tf.ones_initializer())
            return state + inputs * w, state + inputs * w

    for run in (lambda cell: tf.nn.dynamic_rnn(cell, tf.ones([2, 4, 3]), dtype=tf.float32,
                                               scope="d"),
                lambda cell: tf.nn.static_rnn(cell, [tf.ones([2, 3])] * 4, dtype=tf.float32,
                                              scope="s")):
        _, state = run(Scaled())
        with initialized() as session:
            assert session.run(state).tolist() == [[4.] * 3] * 2
    assert [v.name for v in tf.trainable_variables()] == ["d/scaled/w:0", "s/scaled/w:0"]


def test_dropout_wrapper():
    tf.set_random_seed(2)
    keep = tf.placeholder_with_default(1., [])
    cell = tf.nn.rnn_cell.DropoutWrapper(
        tf.nn.rnn_cell.BasicLSTMCell(50), input_keep_prob=keep, output_keep_prob=keep,
        state_keep_prob=keep)
    assert cell.output_size == 50 and cell.state_size == (50, 50)
    y, _ = tf.nn.dynamic_rnn(cell, tf.ones([1, 3, 2]), dtype=tf.float32)
    with initialized() as session:
        assert np.all(session.run(y))
        dropped = session.run(y, {keep: 0.5})
        assert 0.2 < np.mean(dropped == 0) < 0.8
        assert (dropped[0, 0] == 0).tolist() != (dropped[0, 1] == 0).tolist()
    assert len(cell.variables) == 2 == len(cell.wrapped_cell.variables)


def test_zero_state():
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.LSTMCell(3, num_proj=2),
                                        tf.nn.rnn_cell.ResidualWrapper(tf.nn.rnn_cell.GRUCell(2))])
    assert cell.state_size == ((3, 2), 2) and cell.output_size == 2
    x = tf.placeholder(tf.float32, [None, 3])
    with tf.Session() as session:
        (c, h), g = session.run(cell.zero_state(tf.shape(x)[0], tf.float64), {x: np.ones([4, 3])})
    assert (c.shape, h.shape, g.shape) == ((4, 3), (4, 2), (4, 2)) and c.dtype == np.float64
    state = tf.nn.rnn_cell.LSTMStateTuple(tf.zeros([1]), tf.zeros([1], tf.float64))
    with pytest.raises(TypeError, match="Inconsistent internal state: float32 vs float64"):
        assert state.dtype


def cells():
    return tf.nn.rnn_cell


@pytest.mark.parametrize("make, error, message", [
    (lambda: tf.nn.static_rnn(cells().GRUCell(2), tf.ones([2, 3]), dtype=tf.float32),
     TypeError, "inputs must be a sequence"),
    (lambda: tf.nn.static_rnn(cells().GRUCell(2), [], dtype=tf.float32), ValueError, "be empty"),
    (lambda: tf.nn.static_rnn("cell", [tf.ones([2, 3])]), TypeError, "is not an RNNCell"),
    (lambda: tf.nn.dynamic_rnn(cells().GRUCell(2), tf.ones([2, 3, 1])), ValueError,
     "no initial_state, you must give a dtype"),
    (lambda: tf.nn.dynamic_rnn(cells().GRUCell(2), tf.ones([2, 3])), ValueError,
     "expected \\(batch, steps, n\\)"),
    (lambda: tf.nn.dynamic_rnn(cells().GRUCell(2), tf.ones([2, 3, 1]), [[1]], dtype=tf.float32),
     ValueError, "sequence_length must be a vector"),
    (lambda: cells().MultiRNNCell([]), ValueError, "at least one cell"),
    (lambda: cells().MultiRNNCell(cells().GRUCell(2)), TypeError, "must be a list or tuple"),
    (lambda: cells().MultiRNNCell([cells().LSTMCell(2)], state_is_tuple=False), ValueError,
     "state_is_tuple is not set"),
    (lambda: cells().DropoutWrapper(3), TypeError, "not an RNNCell: int"),
    (lambda: cells().DropoutWrapper(cells().GRUCell(2), variational_recurrent=True),
     NotImplementedError, "variational_recurrent"),
    (lambda: cells().RNNCell().state_size, NotImplementedError, "Abstract"),
    (lambda: cells().GRUCell(2)(tf.placeholder(tf.float32, [2, None]), tf.ones([2, 2])),
     ValueError, "last dimension of the inputs to `GRUCell`"),
])
def test_invalid_arguments_raise(make, error, message):
    with pytest.raises(error, match=message):
        make()
