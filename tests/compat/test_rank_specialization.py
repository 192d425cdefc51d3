"""Placeholders of unknown rank: each run uses the graph specialised for the fed ranks."""

import threading

import numpy as np
import pytest

import dualflow.compat.v1 as tf


def test_scalars_and_vectors_through_one_graph(session):
    x, y = tf.placeholder("float"), tf.placeholder("float")
    w, b = tf.Variable(2., name="w"), tf.Variable(1., name="b")
    pred = tf.add(tf.multiply(x, w), b)
    cost = tf.reduce_sum(tf.pow(pred - y, 2)) / 4.
    step = tf.train.GradientDescentOptimizer(0.1).minimize(cost)
    session.run(tf.global_variables_initializer())
    assert session.run(cost, {x: 1., y: 2.}) == 0.25
    assert session.run(cost, {x: [1., 2.], y: [2., 1.]}) == 4.25
    assert session.run(pred, {x: [[1., 2.]]}).tolist() == [[3., 5.]]
    session.run(step, {x: 1., y: 1.})
    np.testing.assert_allclose(session.run([w, b]), [1.9, 0.9], rtol=1e-6)
    session.run(step, {x: [1., 2.], y: [2.8, 4.7]})         # the gradient of w is a sum
    np.testing.assert_allclose(session.run([w, b]), [1.9, 0.9], rtol=1e-6)
    session.run(step, {x: [1., 2.], y: [1.8, 2.7]})
    np.testing.assert_allclose(session.run([w, b]), [1.9 - 0.1 * (1 + 4) / 2, 0.9 - 0.15],
                               rtol=1e-5)


def test_static_shapes_of_unknown_rank():
    x = tf.placeholder(tf.float32, name="x")
    assert str(x) == 'Tensor("x:0", dtype=float32)' and x.get_shape().ndims is None
    assert str(x + 1) == 'Tensor("add:0", dtype=float32)'
    assert tf.reduce_sum(x).get_shape().as_list() == []
    assert str(tf.reduce_sum(x)) == 'Tensor("Sum_1:0", shape=(), dtype=float32)'
    assert (x > 1.).dtype == tf.bool and tf.cast(x, tf.int32).dtype == tf.int32
    with pytest.raises(ValueError, match=r"as_list\(\) is not defined on an unknown"):
        x.get_shape().as_list()


def test_functions_that_reject_scalars(session):
    x = tf.placeholder(tf.float32)
    y = tf.matmul(x, tf.ones([2, 3]))
    z = tf.reduce_mean(y * 2. + 1., 1)
    a, _ = tf.split(x, 2, 0)
    assert session.run(z, {x: [[1., 2.]]}).tolist() == [7.]
    assert session.run([y, a], {x: [[1., 2.], [3., 4.]]})[1].tolist() == [[1., 2.]]
    with pytest.raises(ValueError, match=r"matmul"):
        session.run(z, {x: 1.})
    with pytest.raises(ValueError, match=r"reshape"):
        tf.reshape(tf.reduce_sum(x), [2])


def test_branches_loops_and_control_inputs(session):
    x = tf.placeholder(tf.float32)
    v = tf.Variable(0.)
    total = v.assign_add(tf.reduce_sum(x))
    with tf.control_dependencies([total]):
        after = tf.identity(v)
    chosen = tf.cond(tf.reduce_sum(x) > 0., lambda: x * 2., lambda: -x)
    loop = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + tf.reduce_sum(x)), [0, 0.])
    both = tf.group(total, name="both")
    session.run(v.initializer)
    assert session.run(after, {x: [1., 2.]}) == 3.
    assert session.run(both, {x: 1.}) is None and session.run(v) == 4.
    assert session.run(chosen, {x: [[1.]]}).tolist() == [[2.]]
    assert session.run(chosen, {x: -1.}) == 1.
    assert session.run(loop, {x: [1., 1.]}) == [3, 6.]


def test_graph_grows_between_runs(session):
    x = tf.placeholder(tf.float32)
    y = x * 2.
    assert session.run(y, {x: [1.]}).tolist() == [2.]
    z = y + 1.
    assert session.run(z, {x: [1.]}).tolist() == [3.]
    other = tf.placeholder(tf.float32)
    both = z + other
    assert session.run(both, {x: [1.], other: [[1.], [2.]]}).tolist() == [[4.], [5.]]
    assert session.run("add:0", {x: [[1.]]}).tolist() == [[3.]]
    assert session.run(both, {z: [1.], other: 2.}).tolist() == [3.]


def test_random_numbers_and_variables_with_unknown_ranks(session):
    x, keep = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32)
    w = tf.get_variable("w", [3, 2])
    y = tf.reduce_mean(tf.nn.dropout(tf.matmul(x, w), keep))
    step = tf.train.AdamOptimizer(0.1).minimize(y)
    session.run(tf.global_variables_initializer())
    before = session.run(w)
    for _ in range(3):
        session.run(step, {x: np.ones([4, 3]), keep: 0.5})
    assert (session.run(w) != before).any()
    with tf.Session() as other:
        other.run(tf.global_variables_initializer())
        assert np.isfinite(other.run(y, {x: np.ones([4, 3]), keep: 1.}))
    assert len(tf.global_variables()) == 5          # w, its two slots and two powers


def test_first_runs_on_eight_threads(session):
    x = tf.placeholder(tf.float32)
    y = tf.reduce_sum(x * 2., keepdims=True)
    for _ in range(20):
        y = y + tf.reduce_mean(x)
    wrong, barrier = [], threading.Barrier(8)

    def work(k):
        barrier.wait()
        fed = np.ones([2] * (k % 4), np.float32)
        if session.run(y, {x: fed}).ravel().tolist() != [2. * fed.size + 20]:
            wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_unfed_placeholder_of_unknown_rank_raises(session):
    x, y = tf.placeholder(tf.float32, name="x"), tf.placeholder(tf.float32, name="y")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"placeholder tensor 'y' with dtype "):
        session.run(x + y, {x: [1.]})
    with pytest.raises(ValueError, match=r"must have a shape specified"):
        tf.Variable(x * 2.)
