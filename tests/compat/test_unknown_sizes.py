"""Sizes known only when a graph runs: their properties while the graph is built; assumptions of one
part of a graph do not affect other parts."""

import numpy as np
import pytest

import dualflow as df
import dualflow.compat.v1 as tf
from dualflow._core import apply

ONES = np.ones((2, 3), np.float32)


@pytest.fixture
def x():
    return tf.placeholder(tf.float32, [None, None])


def runs(session, x):
    return session.run(x * 2., {x: ONES}).tolist() == [[2.] * 3] * 2


@pytest.mark.parametrize("ask", [
    lambda n: n == 3, lambda n: n != 3, lambda n: n < 3, lambda n: n > 3, lambda n: n <= n + 1,
    lambda n: n >= 3, lambda n: n + 1 == 5041])
def test_comparison_with_an_unknown_size_returns_none(session, x, ask):
    assert ask(x.shape[1]) is None
    assert runs(session, x)


@pytest.mark.parametrize("ask", [
    int, float, range, hash, lambda n: [1, 2][n], np.zeros, "abc".__getitem__])
def test_number_conversion_of_an_unknown_size_raises(session, x, ask):
    with pytest.raises((TypeError, ValueError)) as error:
        ask(x.shape[1])
    assert "5040" not in str(error.value)
    assert runs(session, x)


def test_str_and_comparison_of_an_unknown_size(session, x):
    n = x.shape[1]
    assert not n and n.value is None and n == None  # noqa: E711
    assert [str(n), str(n + 1), f"{n // 2}", repr(n * n)] == ["None"] * 4
    assert (x.shape[0] == x.shape[1]) is None and x.shape != [2, 3]
    with pytest.raises(TypeError, match="len is not well defined for symbolic Tensors"):
        len(x)
    assert runs(session, x)


def test_arithmetic_with_an_unknown_size(session, x):
    y = tf.reshape(x, [x.shape[0] * x.shape[1]])
    assert session.run(y, {x: ONES}).shape == (6,)


@pytest.mark.parametrize("fails", [
    lambda x: tf.boolean_mask(x, [[[True]]]), lambda x: tf.argmax(x, 3),
    lambda x: tf.reduce_sum(x, 3), lambda x: tf.transpose(x, [0, 1, 2]), lambda x: x[0, 0, 0],
    lambda x: apply("argmax", x, axis=3, output_type="int64")])
def test_failed_construction_does_not_affect_other_nodes(session, x, fails):
    with pytest.raises((df.errors.DualflowError, ValueError)):
        fails(x)
    assert runs(session, x)


def test_guard_affects_only_nodes_created_under_it(session, x):
    def decide():
        assert x.graph.guards == {}
        x.graph.guard("eq", (sizes[0], sizes[0].hint), True)
        return tf.exp(x)

    sizes = next(iter(tf.reshape(x, [x.shape[0] * 1, -1]).op.attr_dict.values()))
    made = x.graph.call(decide, (), {})
    with pytest.raises(tf.errors.InvalidArgumentError, match="branched on a size that differs"):
        session.run(made, {x: ONES})
    assert runs(session, x)
    assert session.run(tf.exp(x) * 0., {x: ONES}).tolist() == [[0.] * 3] * 2
    assert session.run(made + 1., {made: ONES}).tolist() == [[2.] * 3] * 2


def test_incompatible_rank_affects_only_its_readers(session):
    u = tf.placeholder(tf.float32)
    tf.reduce_sum(u, 1)
    assert session.run(u * 2., {u: [1., 2.]}).tolist() == [2., 4.]


def test_elements_of_a_tensor_of_unknown_rank(session):
    u = tf.placeholder(tf.float32)
    made = [u[1], u[1:], tf.shape(u)[0], u[..., 0]]
    found = session.run(made, {u: [1., 2.]})
    assert [x.tolist() for x in found] == [2., [2.], 2, 1.]
    assert [x.shape.known_rank for x in made] == [False, False, True, False]
    assert session.run(u[0, :], {u: [[1., 2.]]}).tolist() == [1., 2.]
    assert session.run(tf.shape(u)[1], {u: ONES}) == 3


def test_unstack_of_an_unknown_size_raises(session, x):
    u = tf.placeholder(tf.float32)
    for value in (x, u):
        with pytest.raises(ValueError, match="Cannot infer argument `num` from shape"):
            tf.unstack(value)
    found = session.run([tf.unstack(x, 3, 1), tf.unstack(x, 2), tf.unstack(x, 3, -1)], {x: ONES})
    assert [[y.tolist() for y in ys] for ys in found] == [[[1.] * 2] * 3, [[1.] * 3] * 2,
                                                          [[1.] * 2] * 3]
    assert session.run(tf.unstack(u, 2), {u: [1., 2.]}) == [1., 2.]
    wrong = tf.unstack(x, 4, 1)
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(wrong, {x: ONES})
    assert runs(session, x)


def test_mask_of_known_size_for_an_unknown_dimension(session, x):
    y = tf.boolean_mask(x, [True, False])
    assert session.run(y, {x: ONES}).tolist() == [[1.] * 3]
    with pytest.raises(tf.errors.InvalidArgumentError, match="size"):
        session.run(y, {x: ONES.T})
    assert session.run(x[tf.constant([True, False])], {x: ONES}).tolist() == [[1.] * 3]
    assert runs(session, x)


def test_dropout_with_a_rate_of_unknown_rank_keeps_the_shape(session):
    x4, keep = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float32)
    y = tf.nn.dropout(x4, keep)
    assert y.shape.as_list() == [None, 4]
    assert tf.layers.dense(y, 2).shape.as_list() == [None, 2]
    assert session.run(y, {x4: np.ones([1, 4]), keep: 1.}).tolist() == [[1.] * 4]


def test_set_shape_refines_the_static_shape(session, x):
    x.set_shape([None, 3])
    assert x.shape.as_list() == (x * 2.).shape.as_list() == [None, 3]
    assert int(x.shape[1]) == 3 and tf.layers.dense(x, 2).shape.as_list() == [None, 2]
    with pytest.raises(ValueError, match=r"Shapes \(\?, 3\) and \(2, 4\) are incompatible"):
        x.set_shape([2, 4])
    with pytest.raises(ValueError, match="incompatible"):
        x.set_shape([3])
    with pytest.raises(ValueError, match="Cannot feed value of shape"):
        session.run(x, {x: ONES.T})
    assert runs(session, x)
    y = x + 0.
    y.set_shape([2, None])
    assert y.shape.as_list() == [2, 3] and len(tf.unstack(y)) == 2
    assert session.run(tf.unstack(y)[1], {x: ONES}).tolist() == [1., 1., 1.]


def test_set_shape_of_a_tensor_of_unknown_rank(session):
    u, late, other = [tf.placeholder(tf.float32) for _ in range(3)]
    y = other * 2.
    assert y.shape.ndims is None
    u.set_shape([None, 3])
    made = tf.matmul(u, tf.ones([3, 1]))
    assert u.shape.as_list() == [None, 3] and made.shape.as_list() == [None, 1]
    twice = late * 2.
    late.set_shape([3])
    assert session.run([made, twice, y], {u: ONES, late: [1.], other: 3.})[1:] == [[2.], 6.]
    with pytest.raises(ValueError, match="Cannot feed value of shape"):
        session.run(made, {u: [1.]})


def test_arg_max_takes_its_arguments_in_the_older_order(session):
    found = [tf.arg_max([1., 3., 2.], 0), tf.arg_min([1., 3., 2.], 0, tf.int32)]
    assert [x.dtype for x in found] == [tf.int64, tf.int32] and session.run(found) == [1, 0]


@pytest.mark.parametrize("a, b", [(0, 2), (1, 3), (-2, 5), (-9, -1), (3, 1), (4, 9), (2, -3)])
def test_slices_with_tensor_bounds_match_python(session, a, b):
    i, j = tf.placeholder(tf.int32, []), tf.placeholder(tf.int64, [])
    z = tf.placeholder(tf.float32, [None, 4, None])
    value = np.arange(60, dtype=np.float32).reshape(5, 4, 3)
    made = [z[i:j], z[i:], z[:j], z[:, i:j], z[..., i:j], z[0, :j], z[i:j, None, 1:], z[i:1:-1],
            z[::-1, ..., :j], z[:2:-2, i:j, 0], z[tf.constant(1):, :i]]
    expected = [value[a:b], value[a:], value[:b], value[:, a:b], value[..., a:b], value[0, :b],
                value[a:b, None, 1:], value[a:1:-1], value[::-1, ..., :b], value[:2:-2, a:b, 0],
                value[1:, :a]]
    for found, wanted in zip(session.run(made, {z: value, i: a, j: b}), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert made[0].shape.as_list() == [None, 4, None] and made[5].shape.as_list() == [None, None]


def test_slice_with_tensor_bounds(session, x):
    i = tf.placeholder(tf.int32, [])
    made = [tf.slice(x, [0, 0], [i, 1]), tf.slice(x, tf.stack([i, 0]), [1, 2]),
            tf.slice(x, [0, i], [-1, -1]), tf.slice(x, [0, 0], tf.stack([-1, i])),
            tf.slice(x, [0, i], [tf.shape(x)[0], 1])]
    value = np.arange(6, dtype=np.float32).reshape(2, 3)
    wanted = [value[:1, :1], value[1:2, :2], value[:, 1:], value[:, :1], value[:, 1:2]]
    for found, expected in zip(session.run(made, {x: value, i: 1}), wanted, strict=True):
        np.testing.assert_array_equal(found, expected)
    assert made[1].shape.as_list() == [1, 2]
    with pytest.raises(tf.errors.OpError):
        session.run(made[1], {x: value, i: 7})


def test_gradient_of_a_slice_with_tensor_bounds_is_dense(session, x):
    i = tf.placeholder(tf.int32, [])
    grads = [tf.gradients(y, x)[0] for y in (x[i:], tf.slice(x, [0, i], [1, 2]))]
    found = session.run(grads, {x: ONES, i: 1})
    assert [y.tolist() for y in found] == [[[0.] * 3, [1.] * 3], [[0., 1., 1.], [0.] * 3]]


def test_gradients_of_a_possibly_broadcast_batch(session):
    x, w = tf.placeholder(tf.float32, [None, 3]), tf.Variable(np.ones((1, 3), np.float32))
    other = tf.placeholder(tf.float32, [None, 3])
    gradients = tf.gradients(tf.reduce_sum(x * w + other), [w, x, other])
    session.run(w.initializer)
    for n in (3, 1, 2):
        rows = np.ones((n, 3), np.float32)
        assert [g.shape for g in session.run(gradients, {x: rows, other: rows[:1]})] == [
            (1, 3), (n, 3), (1, 3)]
        assert session.run(gradients[0], {x: rows, other: rows}).tolist() == [[n] * 3]


def test_dualflow_ops_with_unknown_sizes_are_recorded(session, x):
    made = [df.zeros([x.shape[0], 2]), df.random.uniform([tf.shape(x)[1]]),
            df.fill([x.shape[0]], 2.), df.one_hot([1], x.shape[0])]
    assert [v.shape for v in session.run(made, {x: ONES})] == [(2, 2), (3,), (2,), (1, 2)]
