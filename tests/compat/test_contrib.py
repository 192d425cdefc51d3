"""The supported parts of tf.contrib."""

import numpy as np
import pytest

import dualflow.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def test_rnn_has_the_names_of_rnn_cell():
    for name in ("BasicRNNCell", "BasicLSTMCell", "LSTMCell", "GRUCell", "MultiRNNCell",
                 "DropoutWrapper", "ResidualWrapper", "LSTMStateTuple", "RNNCell"):
        assert getattr(tf.contrib.rnn, name) is getattr(tf.nn.rnn_cell, name)
    assert tf.contrib.rnn.static_rnn is tf.nn.static_rnn
    assert tf.contrib.rnn.static_bidirectional_rnn is tf.nn.static_bidirectional_rnn


@pytest.mark.parametrize("make, spread", [
    (lambda c: c.xavier_initializer(), np.sqrt(2 / 300)),
    (lambda c: c.xavier_initializer(uniform=False), np.sqrt(2 / 300)),
    (lambda c: c.variance_scaling_initializer(), np.sqrt(2 / 100)),
    (lambda c: c.variance_scaling_initializer(1., "FAN_OUT", uniform=True), np.sqrt(1 / 200)),
])
def test_initializers(make, spread):
    w = tf.get_variable("w", [100, 200], initializer=make(tf.contrib.layers))
    with tf.Session() as session:
        session.run(w.initializer)
        assert abs(np.std(session.run(w)) / spread - 1) < 0.03


def test_regularizers():
    made = [tf.contrib.layers.l2_regularizer(0.1), tf.contrib.layers.l1_regularizer(0.1)]
    for k, regularizer in enumerate(made):
        tf.get_variable(f"w{k}", initializer=[3., -4.], regularizer=regularizer)
    assert tf.contrib.layers.l2_regularizer(0.)([1.]) is None
    with pytest.raises(ValueError, match="l2_regularizer: scale is 3"):
        tf.contrib.layers.l2_regularizer(3)
    with pytest.raises(ValueError, match="expected a float of 0 or more"):
        tf.contrib.layers.l1_regularizer(-1.)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))
    np.testing.assert_allclose(found, [1.25, 0.7], rtol=1e-6)


def test_fully_connected():
    layers, x = tf.contrib.layers, tf.placeholder(tf.float32, [None, 2, 3])
    flat = layers.flatten(x, "flat")
    y = layers.fully_connected(flat, 4, scope="fc", outputs_collections="made")
    again = layers.fully_connected(flat, 4, scope="fc", reuse=True)
    z = layers.fully_connected(y, 2, None, biases_initializer=None,
                               normalizer_fn=tf.layers.batch_normalization,
                               normalizer_params={"training": True})
    assert tf.get_collection("made") == [y] and tf.get_collection("flat") == [flat]
    assert [v.name for v in tf.trainable_variables()] == [
        "fc/weights:0", "fc/biases:0", "fully_connected/weights:0",
        "fully_connected/batch_normalization/gamma:0",
        "fully_connected/batch_normalization/beta:0"]
    assert [v.name for v in tf.model_variables()] == [
        "fc/weights:0", "fc/biases:0", "fully_connected/weights:0"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        a, b, c = session.run([y, again, z], {x: np.random.RandomState(0).randn(5, 2, 3)})
    np.testing.assert_array_equal(a, b)
    assert (a >= 0).all() and c.shape == (5, 2)
    np.testing.assert_allclose(c.mean(0), 0, atol=1e-6)


def test_py_func_and_numpy_function():
    x = tf.constant([3., 1.])
    made = [tf.numpy_function(np.sort, [x], tf.float32), tf.py_func(np.sort, [x], tf.float32)]
    with tf.Session() as session:
        assert [y.tolist() for y in session.run(made)] == [[1., 3.]] * 2


def test_framework_has_the_global_step():
    framework = tf.contrib.framework
    assert framework.get_global_step() is None
    step = framework.get_or_create_global_step()
    assert step is tf.train.get_global_step() is framework.get_global_step()
    assert framework.create_global_step is tf.train.create_global_step


@pytest.mark.parametrize("options, shape", [
    ({}, [5, 7, 7, 4]), ({"stride": 2}, [5, 4, 4, 4]), ({"padding": "VALID"}, [5, 5, 5, 4]),
    ({"padding": "VALID", "rate": 2, "activation_fn": None}, [5, 3, 3, 4])])
def test_conv2d(options, shape):
    layers, images = tf.contrib.layers, np.random.default_rng(0).normal(size=(5, 7, 7, 3))
    x = tf.constant(images, tf.float32)
    y = layers.conv2d(x, 4, [3, 3], scope="first", weights_regularizer=layers.l2_regularizer(1.),
                      biases_initializer=tf.ones_initializer(), **options)
    assert layers.convolution2d is layers.conv2d and y.shape.as_list() == shape
    weights, biases = tf.trainable_variables()
    assert (weights.name, biases.name) == ("first/weights:0", "first/biases:0")
    expected = tf.nn.conv2d(x, weights, [1, *2 * [options.get("stride", 1)], 1],
                            options.get("padding", "SAME"),
                            dilations=[1, *2 * [options.get("rate", 1)], 1]) + 1.
    if "activation_fn" not in options:
        expected = tf.nn.relu(expected)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(*session.run([y, expected]), rtol=1e-6)
        assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 1


def test_channels_first_conv2d():
    y = tf.contrib.layers.conv2d(tf.ones([2, 3, 6, 6]), 5, 3, 2, data_format="NCHW")
    assert y.shape.as_list() == [2, 5, 3, 3]


def test_apply_regularization():
    layers = tf.contrib.layers
    w = tf.get_variable("w", initializer=[3., 4.])
    total = layers.apply_regularization(layers.l2_regularizer(2.), [w, w])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(total) == 50.
    assert tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)[-1] is total


def test_data():
    """The transformations of tf.contrib.data are those of tf.data.experimental."""
    for name in ("Counter", "bucket_by_sequence_length", "enumerate_dataset", "group_by_window",
                 "ignore_errors", "map_and_batch", "parallel_interleave", "rejection_resample",
                 "scan", "shuffle_and_repeat", "unbatch", "unique"):
        assert getattr(tf.contrib.data, name) is getattr(tf.data.experimental, name)
    dataset = tf.data.Dataset.range(3).apply(tf.contrib.data.map_and_batch(lambda x: x * x, 2))
    x = dataset.apply(tf.contrib.data.unbatch()).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert [session.run(x) for _ in range(3)] == [0, 1, 4]
