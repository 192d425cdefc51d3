"""Static shapes: constants of a shape propagate through arithmetic on shapes."""

import numpy as np
import pytest

import dualflow.compat.v1 as tf

FIXED = [2, 5]          # of a placeholder of shape [None, 2, 5]

PROGRAMS = {
    "shape": (lambda x, n: tf.zeros(n), [None, *FIXED]),
    "random normal": (lambda x, n: tf.random_normal(n), [None, *FIXED]),
    "random uniform": (lambda x, n: tf.random_uniform(n, -1, 1), [None, *FIXED]),
    "reshape": (lambda x, n: tf.reshape(x, [n[0], 10]), [None, 10]),
    "reshape by a product": (lambda x, n: tf.reshape(x, [-1, n[1] * n[2]]), [None, 10]),
    "reshape by a vector": (lambda x, n: tf.reshape(x, tf.concat([[-1], n[2:]], 0)), [None, 5]),
    "stack": (lambda x, n: tf.zeros(tf.stack([n[0], 5])), [None, 5]),
    "concat": (lambda x, n: tf.zeros(tf.concat([n[:1], [3]], 0)), [None, 3]),
    "all but the last": (lambda x, n: tf.zeros(tf.concat([n[:-1], [7]], 0)), [None, 2, 7]),
    "every other": (lambda x, n: tf.zeros(n[::2]), [None, 5]),
    "plus": (lambda x, n: tf.zeros(n[1:] + 1), [3, 6]),
    "minus": (lambda x, n: tf.zeros(n[1:] - [1, 2]), [1, 3]),
    "times": (lambda x, n: tf.zeros(n * 2), [None, 4, 10]),
    "times 0": (lambda x, n: tf.zeros(n * [0, 1, 1]), [None, 2, 5]),
    "divided": (lambda x, n: tf.zeros([n[0] * 2, n[2] // 2]), [None, 2]),
    "remainder": (lambda x, n: tf.zeros([n[2] % 3]), [2]),
    "larger": (lambda x, n: tf.zeros(tf.maximum(n, 3)), [None, 3, 5]),
    "cast": (lambda x, n: tf.zeros(tf.cast(tf.cast(n, tf.int64), tf.int32)), [None, *FIXED]),
    "cast to float": (lambda x, n: tf.zeros(tf.to_int32(tf.to_float(n[1:]) * 2)), [4, 10]),
    "unstack": (lambda x, n: tf.zeros(tf.unstack(n)), [None, *FIXED]),
    "gather": (lambda x, n: tf.zeros(tf.gather(n, [2, 0])), [5, None]),
    "product": (lambda x, n: tf.zeros([tf.reduce_prod(n[1:])]), [10]),
    "product of all": (lambda x, n: tf.zeros([tf.reduce_prod(n), 1]), [None, 1]),
    "size": (lambda x, n: tf.zeros([tf.size(x[0]), tf.size(x)]), [10, None]),
    "expand_dims": (lambda x, n: tf.zeros(tf.expand_dims(n[1], 0)), [2]),
    "range": (lambda x, n: tf.range(n[1]), [2]),
    "one_hot": (lambda x, n: tf.one_hot([0, 1, 2], n[1]), [3, 2]),
    "tile": (lambda x, n: tf.tile(x, [1, n[1], 1]), [None, 4, 5]),
    "slice": (lambda x, n: tf.slice(x, [0, 0, 0], tf.stack([n[0], 1, n[2]])), [None, 1, 5]),
    "bounds": (lambda x, n: x[:, :, :n[1]], [None, 2, 2]),
    "fill": (lambda x, n: tf.fill([n[0], n[1]], 1.), [None, 2]),
    "transposed convolution": (lambda x, n: tf.nn.conv2d_transpose(
        x[..., None], tf.zeros([3, 3, 4, 1]), tf.stack([n[0], 4, 10, 4]), [1, 2, 2, 1]),
        [None, 4, 10, 4]),
    "another size": (lambda x, n: tf.zeros([tf.cast(tf.reduce_sum(x), tf.int32), n[1]]), [None, 2]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_constants_reach_the_shape(session, name):
    make, expected = PROGRAMS[name]
    x = tf.placeholder(tf.float32, [None, *FIXED])
    y = make(x, tf.shape(x))
    assert y.shape.as_list() == expected
    for batch in (1, 3):
        found = session.run(y, {x: np.ones([batch, *FIXED], "f")}).shape
        assert [n if m is not None else None for n, m in zip(found, expected, strict=True)] == (
            expected)


def test_sizes_that_may_be_fed_are_unknown(session):
    n = tf.placeholder_with_default([2, 3], [2])
    y = tf.zeros(n)
    assert y.shape.as_list() == [None, None]
    assert session.run(y).shape == (2, 3) and session.run(y, {n: [4, 5]}).shape == (4, 5)


def test_shapes_of_an_unknown_rank(session):
    x, like = tf.placeholder(tf.float32), tf.placeholder(tf.float32, [None, 3])
    y = tf.reshape(x, tf.shape(like))
    assert y.shape.as_list() == [None, 3]
    assert session.run(y, {x: np.ones(6), like: np.ones([2, 3])}).shape == (2, 3)
    assert session.run(tf.zeros(tf.shape(x)), {x: np.ones([4, 5])}).shape == (4, 5)
