"""Tensor arrays with as many elements as a fed tensor has rows: recurrent networks by hand."""

import numpy as np
import pytest

import dualflow as df
import dualflow.compat.v1 as tf

RNG = np.random.RandomState(0)
W = RNG.randn(3, 3).astype("f")


def network(x, w, form, ops=tf):
    """Return the array that a loop with one iteration per row writes."""
    n = ops.shape(x)[0]
    shape = {"element_shape": [1, 3]} if form == "element_shape" else {}
    made = ops.TensorArray(ops.float32, size=n, **shape)
    rows = ops.TensorArray(ops.float32, n, dynamic_size=form == "dynamic").unstack(x)

    def body(i, h, made):
        row = x[i] if form == "rows" else rows.read(i)
        h = ops.tanh(ops.matmul(h, w) + ops.expand_dims(row, 0))
        return i + 1, h, made.write(i, h)

    def cond(i, h, made):
        return i < (made.size() if form == "size" else n)

    begin = (ops.constant(0), ops.zeros([1, 3]), made)
    found = ops.while_loop(cond, body, begin)[2]
    return found.concat() if form == "concat" else found.stack()


FORMS = ["read", "rows", "element_shape", "dynamic", "size", "concat"]


@pytest.mark.parametrize("form", FORMS)
def test_gradient_of_a_loop_over_fed_rows(session, form):
    x, w = tf.placeholder(tf.float32, [None, 3]), tf.Variable(W)
    y = network(x, w, form)
    assert y.shape.as_list() == [None, 3] if form == "concat" else [None, 1, 3]
    fetches = [y, *tf.gradients(tf.reduce_sum(y * y), [w, x])]
    session.run(w.initializer)
    for n in (2, 5, 1, 2):
        rows = RNG.randn(n, 3).astype("f")
        found = session.run(fetches, {x: rows})
        a, b = df.constant(rows), df.Variable(W)
        with df.GradientTape() as tape:
            tape.watch(a)
            z = network(a, b, form, df)
            loss = df.reduce_sum(z * z)
        for one, other in zip(found, [z, *tape.gradient(loss, [b, a])], strict=True):
            assert one.tobytes() == other.numpy().tobytes()


def test_array_without_elements(session):
    x = tf.placeholder(tf.float32, [None, 3])
    y = network(x, tf.constant(W), "read")
    assert session.run(y, {x: np.zeros([0, 3])}).shape == (0, 1, 3)


def test_incompatible_element_shape_raises():
    x = tf.placeholder(tf.float32, [None, 3])
    with pytest.raises(ValueError, match=r"unstack: value is float32 .*expected the shape \(None"):
        tf.TensorArray(tf.float32, tf.shape(x)[0], element_shape=[2]).unstack(x)


def test_exception_in_a_loop_body_is_raised(session):
    x = tf.placeholder(tf.float32, [None, 3])

    def body(i):
        raise KeyError("told")

    with pytest.raises(KeyError, match="told"):
        tf.while_loop(lambda i: i < tf.shape(x)[0], body, [tf.constant(0)])
    w = tf.Variable(1.)
    with pytest.raises(KeyError, match="told"):
        tf.while_loop(lambda i: w > 0., body, [tf.constant(0)])
