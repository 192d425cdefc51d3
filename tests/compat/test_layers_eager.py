"""Layers and cells in eager mode."""

import dualflow.compat.v1 as tf


def test_in_eager_mode():
    tf.enable_eager_execution()
    try:
        with tf.variable_scope("eager"):
            layer = tf.layers.Dense(3)
            x = tf.ones([2, 4])
            assert layer(x).numpy().tolist() == layer(x).numpy().tolist()
            assert layer.count_params() == 15 and len(layer.trainable_variables) == 2
            assert tf.layers.conv2d(tf.ones([1, 4, 4, 1]), 2, 3).numpy().shape == (1, 2, 2, 2)
            assert tf.layers.max_pooling2d(tf.ones([1, 4, 4, 1]), 2, 2).numpy().size == 4
            assert tf.layers.flatten(tf.ones([2, 3, 4])).numpy().shape == (2, 12)
            assert tf.layers.dropout(x, training=False).numpy().tolist() == [[1.] * 4] * 2
            norm = tf.layers.BatchNormalization(momentum=0.5)
            assert norm(x, training=True).numpy().tolist() == [[0.] * 4] * 2
            assert norm.moving_mean.numpy().tolist() == [0.5] * 4
            y, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(2), tf.ones([1, 3, 2]),
                                         dtype=tf.float32)
            assert y.numpy()[:, -1].tolist() == state.numpy().tolist()
    finally:
        tf.disable_eager_execution()
