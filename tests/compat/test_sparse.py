"""Sparse tensors under the names of TensorFlow 1."""

import numpy as np

import dualflow.compat.v1 as tf

VALUE = tf.SparseTensorValue(np.array([[0, 1], [2, 0]]), np.array([2., 3.], "float32"), [3, 2])
DENSE = np.array([[0, 2], [0, 0], [3, 0]], "float32")


def test_fed_sparse_tensors_train_a_layer():
    """As in graph convolutions: sparse features and a sparse matrix, with dropout."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.sparse_placeholder(tf.float32)
        w = tf.Variable([[1., 2.], [3., 4.]])
        kept = tf.sparse_retain(x, tf.cast(tf.floor(tf.ones(tf.shape(x.values)) * 1.5), tf.bool))
        y = tf.sparse_tensor_dense_matmul(kept * (1. / 0.5), w)
        loss = tf.reduce_sum(y)
        train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
        session.run(tf.global_variables_initializer())
        want = 2 * DENSE @ [[1., 2.], [3., 4.]]
        np.testing.assert_allclose(session.run(y, {x: VALUE}), want)
        np.testing.assert_allclose(session.run(loss, {x: tuple(VALUE)}), want.sum())
        session.run(train, {x: VALUE})
        np.testing.assert_allclose(session.run(w), np.array([[1., 2.], [3., 4.]])
                                   - 0.5 * 2 * DENSE.sum(0)[:, None])


def test_functions():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.SparseTensor([[0, 1], [2, 0]], [2., 3.], [3, 2])
        given = tf.sparse_placeholder(tf.float32, shape=[3, 2])
        feeds = {given: VALUE}
        for s in (x, given):
            def run(y):
                return session.run(y, feeds)

            np.testing.assert_array_equal(run(tf.sparse_tensor_to_dense(s)), DENSE)
            np.testing.assert_array_equal(run(tf.sparse_reduce_sum(s, 1)), DENSE.sum(1))
            np.testing.assert_array_equal(run(tf.sparse_reduce_max(s, 1))[[0, 2]], [2., 3.])
            for made, want in ((tf.sparse_add(s, s), 2 * DENSE),
                               (tf.sparse_add(s, tf.ones([3, 2])), DENSE + 1),
                               (tf.sparse_reorder(s), DENSE), (tf.sparse_transpose(s), DENSE.T),
                               (tf.sparse_concat(0, [s, s]), np.concatenate([DENSE, DENSE])),
                               (tf.sparse_softmax(s), np.sign(DENSE)),
                               (tf.sparse_slice(s, [0, 0], [2, 2]), DENSE[:2]),
                               (tf.sparse_reshape(s, [6]), DENSE.reshape(6))):
                dense = tf.sparse_tensor_to_dense(made) if isinstance(made, tf.SparseTensor) else (
                    made)
                np.testing.assert_array_equal(run(dense), want)
        for s in (x, given):
            found = session.run({"a": s, "b": [given * 2.]}, feeds)
            assert isinstance(found["a"], tf.SparseTensorValue)
            np.testing.assert_array_equal(found["a"].indices, VALUE.indices)
            assert found["a"].dense_shape.tolist() == [3, 2]
            assert found["b"][0].values.tolist() == [4., 6.]
        assert session.run(given, feeds).values.tolist() == [2., 3.]
        found = session.run(tf.sparse_to_dense([[0, 1]], [2, 2], [5], default_value=-1))
        assert found.tolist() == [[-1, 5], [-1, -1]]
        assert session.run(tf.sparse_to_dense([1, 3], [4], 9)).tolist() == [0, 9, 0, 9]
