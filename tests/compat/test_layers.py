"""Layers: invalid arguments, behaviour in sessions and with placeholders, training."""

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


def test_reopened_scopes_restart_default_names():
    """Default names restart, so that networks with unnamed layers can be shared."""
    for reuse in (False, True):
        with tf.variable_scope("net", reuse=reuse):
            with tf.variable_scope(None, "layer"):
                tf.get_variable("w", [2])
            with tf.variable_scope(None, "layer"):
                tf.get_variable("w", [2])
    assert [v.name for v in tf.global_variables()] == ["net/layer/w:0", "net/layer_1/w:0"]


def test_unknown_sizes():
    x = tf.placeholder(tf.float32, [None, 6, 6, 2])
    y = tf.layers.flatten(tf.layers.conv2d_transpose(
        tf.layers.max_pooling2d(tf.layers.conv2d(x, 3, 3, padding="same"), 2, 2), 2, 3, 2, "same"))
    assert y.get_shape().as_list() == [None, 72]
    y = tf.layers.dense(y, 4)
    assert y.get_shape().as_list() == [None, 4]
    with initialized() as session:
        for n in (1, 3):
            assert session.run(y, {x: np.ones([n, 6, 6, 2])}).shape == (n, 4)


def test_unknown_last_dimension_raises():
    with pytest.raises(ValueError, match="last dimension of the inputs to `Dense` should be def"):
        tf.layers.dense(tf.placeholder(tf.float32, [3, None]), 2)


def test_channels_first():
    x = np.random.RandomState(0).randn(2, 3, 6, 6).astype("float32")
    last = np.transpose(x, [0, 2, 3, 1])
    pairs = []
    for make in (lambda x, f, reuse: tf.layers.conv2d(x, 4, 3, data_format=f, name="a",
                                                      reuse=reuse),
                 lambda x, f, reuse: tf.layers.conv2d_transpose(x, 4, 3, 2, data_format=f,
                                                                name="b", reuse=reuse),
                 lambda x, f, reuse: tf.layers.max_pooling2d(x, 2, 2, data_format=f),
                 lambda x, f, reuse: tf.layers.average_pooling2d(x, 2, 2, data_format=f)):
        pairs.append((make(last, "channels_last", False), make(x, "channels_first", True)))
    flat = [tf.layers.flatten(last), tf.layers.flatten(x, data_format="channels_first")]
    with initialized() as session:
        for a, b in session.run(pairs):
            np.testing.assert_allclose(a.transpose(0, 3, 1, 2), b, rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(*session.run(flat))


@pytest.mark.parametrize("make, message", [
    (lambda: tf.layers.conv2d([[1.]], 2, 3), "conv2d is incompatible with the layer: expected ndim"
                                             "=4, found ndim=2"),
    (lambda: tf.layers.max_pooling2d([[1.]], 2, 2), "expected ndim=4, found ndim=2"),
    (lambda: tf.layers.conv2d(tf.ones([1, 4, 4, 1]), 2, [3]), "`kernel_size` argument must be a t"),
    (lambda: tf.layers.conv2d(tf.ones([1, 4, 4, 1]), 2, 3, padding="all"), "`padding` argument"),
    (lambda: tf.layers.max_pooling2d(tf.ones([1, 4, 4, 1]), 2, 2, "same", "NHWC"), "data_format"),
    (lambda: [tf.layers.dense([[1.]], 2, name="d") for _ in range(2)], "d/kernel already exists"),
    (lambda: tf.layers.dense([[1.]], 2, name="d", reuse=True), "d/kernel does not exist"),
])
def test_invalid_arguments_raise(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_renorm_raises_not_implemented():
    with pytest.raises(NotImplementedError, match="renorm"):
        tf.layers.batch_normalization([[1.]], renorm=True)


def test_dropout():
    x, training = tf.ones([1000]), tf.placeholder(tf.bool, [])
    y = tf.layers.dropout(x, 0.25, training=training)
    rows = tf.layers.dropout(tf.ones([50, 4]), 0.5, noise_shape=[None, 1], training=True)
    always = tf.layers.dropout(x, tf.constant(0.5), seed=3, training=True)
    with initialized() as session:
        assert set(session.run(y, {training: False})) == {1.}
        found = session.run(y, {training: True})
        assert set(np.unique(found)) == {0., np.float32(1) / np.float32(0.75)}
        assert 0.6 < np.mean(found > 0) < 0.9
        assert not np.array_equal(found, session.run(y, {training: True}))
        assert {tuple(row) for row in session.run(rows)} == {(0.,) * 4, (2.,) * 4}
        assert set(session.run(always)) == {0., 2.}


def test_removed_branch_needs_no_initialized_state():
    """Random state that only a removed branch uses need not be initialized."""
    x, training = tf.ones([100]), tf.placeholder_with_default(False, [])
    y = tf.cond(training, lambda: tf.nn.dropout(x, 0.5), lambda: tf.identity(x))
    with tf.Session() as session:
        assert set(session.run(y)) == {1.}
        assert set(session.run(y, {training: True})) == {0., 2.}


def test_gradients_through_branches_with_random_ops():
    x, training = tf.placeholder(tf.float32, [None, 3]), tf.placeholder_with_default(False, [])
    outputs = [tf.layers.dropout(x, 0.5, training=training),
               tf.cond(training, lambda: x * 2. + tf.random_uniform([3]), lambda: tf.identity(x))]
    gradients = [tf.gradients(y, x)[0] for y in outputs]
    with tf.Session() as session:
        for values in session.run(gradients, {x: np.ones([4, 3])}):
            assert values.tolist() == [[1.] * 3] * 4
        dropped, doubled = session.run(gradients, {x: np.ones([4, 3]), training: True})
        assert set(dropped.ravel()) <= {0., 2.} and set(doubled.ravel()) == {2.}


def test_flag_of_unknown_shape():
    """`tf.placeholder(tf.bool)` as a condition is a scalar."""
    training = tf.placeholder(tf.bool)
    x = tf.placeholder(tf.float32, [None, 2])
    y = tf.layers.dropout(tf.layers.batch_normalization(x, training=training), training=training)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    assert len(updates) == 2 and y.get_shape().as_list() == [None, 2]
    with initialized() as session:
        for n in (3, 5):
            session.run([y, updates], {x: np.ones([n, 2]), training: True})
        assert session.run(y, {x: np.ones([4, 2]), training: False}).shape == (4, 2)
        mean = next(v for v in tf.global_variables() if "moving_mean" in v.name)
        np.testing.assert_allclose(session.run(mean), [1 - 0.99 ** 2] * 2, rtol=1e-4)


def test_layers_are_objects():
    x = tf.placeholder(tf.float32, [None, 3])
    layer = tf.layers.Dense(2, activation=tf.nn.relu, name="fc")
    with pytest.raises(ValueError, match="has not been used yet"):
        assert layer.scope_name
    y = layer(x)
    assert layer.built and layer.name == layer.scope_name == "fc"
    assert layer.apply(x).get_shape().as_list() == y.get_shape().as_list() == [None, 2]
    assert layer.trainable_weights == layer.variables == [layer.kernel, layer.bias]
    assert layer.non_trainable_weights == [] and layer.count_params() == 8
    bn = tf.layers.BatchNormalization()
    bn(y, training=True)
    assert [v.name for v in bn.non_trainable_variables] == [
        "batch_normalization/moving_mean:0", "batch_normalization/moving_variance:0"]
    assert bn.updates == tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    with initialized() as session:
        assert session.run(tf.layers.Flatten()(y), {x: np.ones([4, 3])}).shape == (4, 2)
        for convolve, sizes in ((tf.layers.Conv2D, (1, 3, 3, 5)),
                                (tf.layers.Conv2DTranspose, (1, 5, 5, 5))):
            assert convolve(5, 2)(tf.ones([1, 4, 4, 1])).shape == sizes
        for pool in (tf.layers.MaxPooling2D, tf.layers.AveragePooling2D):
            assert session.run(pool(2, 2)(tf.ones([1, 4, 4, 1]))).shape == (1, 2, 2, 1)
        assert session.run(tf.layers.Dropout()(tf.ones([2]))).tolist() == [1., 1.]


def test_user_defined_layer():
    class Scale(tf.layers.Layer):
        def build(self, shape):
            self.factor = self.add_variable("factor", [shape[-1].value], tf.ones_initializer())

        def call(self, x):
            self.add_loss(tf.reduce_sum(self.factor))
            return x * self.factor

    y = Scale()(Scale()(tf.ones([2, 3])))
    assert [v.name for v in tf.trainable_variables()] == ["scale/factor:0", "scale_1/factor:0"]
    with initialized() as session:
        assert session.run([y, tf.losses.get_regularization_loss()])[1] == 6.


def test_activity_regularizer():
    tf.layers.dense(tf.ones([1, 2]), 2, kernel_initializer=tf.ones_initializer(),
                    activity_regularizer=tf.reduce_sum)
    with initialized() as session:
        assert session.run(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == [4.]


def test_training_with_updates():
    """Moving averages are updated if the training step depends on UPDATE_OPS."""
    rng = np.random.RandomState(1)
    x, training = tf.placeholder(tf.float32, [None, 3]), tf.placeholder_with_default(False, [])
    y = tf.layers.dense(tf.layers.batch_normalization(x, momentum=0.5, training=training), 1)
    loss = tf.reduce_mean(tf.square(y - tf.reduce_sum(x, 1, keepdims=True)))
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        step = tf.train.AdamOptimizer(0.1).minimize(loss)
    data = (rng.randn(64, 3) * 2 + 5).astype("float32")
    with initialized() as session:
        for _ in range(150):
            session.run(step, {x: data, training: True})
        mean = next(v for v in tf.global_variables() if "moving_mean" in v.name)
        np.testing.assert_allclose(session.run(mean), data.mean(0), rtol=1e-4)
        assert session.run(loss, {x: data}) < 0.1


def test_sequences(session):
    """A convolution over sequences equals one over images of height 1."""
    x = np.random.RandomState(0).randn(2, 7, 3).astype("f")
    y = tf.layers.conv1d(x, 4, 3, padding="same", activation=tf.nn.relu, name="text")
    kernel, bias = tf.trainable_variables()
    assert [v.name for v in (kernel, bias)] == ["text/kernel:0", "text/bias:0"]
    z = tf.nn.relu(tf.nn.conv2d(x[:, None], tf.expand_dims(kernel, 0), [1, 1, 1, 1], "SAME"))
    first = tf.layers.Conv1D(4, 3, padding="same", data_format="channels_first")
    turned = first(tf.transpose(tf.constant(x), [0, 2, 1]))
    session.run(tf.global_variables_initializer())
    one, other = session.run([y, z])
    np.testing.assert_allclose(one, other[:, 0], rtol=1e-5, atol=1e-6)
    assert session.run(turned).shape == (2, 4, 7)
    for layer, pool in ((tf.layers.MaxPooling1D, tf.layers.max_pooling1d),
                        (tf.layers.AveragePooling1D, tf.layers.average_pooling1d)):
        same = session.run([layer(2, 2)(x), pool(x, [2], [2])])
        assert same[0].tolist() == same[1].tolist() and same[0].shape == (2, 3, 3)
    with pytest.raises(ValueError, match="`kernel_size` argument must be a tuple of 1 integers"):
        tf.layers.conv1d(x, 4, [3, 3])
    with pytest.raises(ValueError, match="expected ndim=3, found ndim=4"):
        tf.layers.conv1d(x[None], 4, 3)
