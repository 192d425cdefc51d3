"""Scatter updates of rows and elements of variables."""

import numpy as np
import pytest

import dualflow as df
import dualflow.compat.v1 as tf

START = [[1., 2.], [3., 4.], [5., 6.]]
ROWS = {
    "scatter_update": [[7., 7.], [3., 4.], [9., 9.]],
    "scatter_add": [[8., 9.], [3., 4.], [14., 15.]],
    "scatter_sub": [[-6., -5.], [3., 4.], [-4., -3.]],
    "scatter_max": [[7., 7.], [3., 4.], [9., 9.]],
    "scatter_min": [[1., 2.], [3., 4.], [5., 6.]],
}
PARTS = {"scatter_nd_update": 7., "scatter_nd_add": 11., "scatter_nd_sub": -3.}


@pytest.mark.parametrize("name", ROWS)
def test_scatter_updates_of_rows(session, name):
    w = tf.Variable(START)
    updates = np.array([[9., 9.], [7., 7.]], "f")
    step = getattr(tf, name)(w, [2, 0], updates)
    method = getattr(w, name)(tf.IndexedSlices(tf.constant(updates), tf.constant([2, 0])))
    for op in (step, method):
        session.run(w.initializer)
        assert session.run(op).tolist() == session.run(w).tolist() == ROWS[name]
    tf.enable_eager_execution()
    try:
        for run in (lambda f: f(), lambda f: df.function(f)()):
            v = tf.Variable(START)
            run(lambda v=v: getattr(tf, name)(v, [2, 0], updates))
            assert v.numpy().tolist() == ROWS[name]
    finally:
        tf.disable_eager_execution()


@pytest.mark.parametrize("name", PARTS)
def test_scatter_nd_updates(session, name):
    w = tf.Variable(START)
    for op in (getattr(tf, name)(w, [[1, 1]], [7.]), getattr(w, name)([[1, 1]], [7.])):
        session.run(w.initializer)
        wanted = np.array(START)
        wanted[1, 1] = PARTS[name]
        assert session.run(op).tolist() == wanted.tolist()


def test_all_writes_of_a_run_are_applied(session):
    w = tf.Variable([0, 0, 0])
    steps = [tf.scatter_add(w, [0, 0, 1], [1, 1, 5]), tf.scatter_add(w, 2, 3),
             w.assign_add([10, 10, 10]), tf.scatter_sub(w, [1], 1)]
    session.run(w.initializer)
    session.run(steps)
    assert session.run(w).tolist() == [12, 14, 13]
    with tf.control_dependencies([w.assign([1, 1, 1])]):
        after = tf.scatter_add(w, [0], [1])
    assert session.run(after).tolist() == [2, 1, 1]


def test_scatter_in_a_loop(session):
    w = tf.Variable([0, 0, 0])

    def body(i):
        with tf.control_dependencies([tf.scatter_add(w, [i], [i + 1])]):
            return i + 1

    loop = tf.while_loop(lambda i: i < 3, body, [tf.constant(0)])
    session.run(w.initializer)
    assert session.run(loop) == 3 and session.run(w).tolist() == [1, 2, 3]


def test_invalid_arguments_raise():
    with pytest.raises(TypeError, match="'ScatterAdd' Op requires l-value input"):
        tf.scatter_add(tf.constant([1.]), [0], [1.])
    with pytest.raises(TypeError, match="sparse_delta is not IndexedSlices"):
        tf.Variable([1.]).scatter_add(tf.constant([1.]))
