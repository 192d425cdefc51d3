"""Programs with layers and recurrent cells, and their results in TensorFlow.

`layer_reference.json` holds TensorFlow's results; with tensorflow and tf_keras installed and
``TF_USE_LEGACY_KERAS=1`` set, ``python -m tests.compat.layer_programs`` writes it again.
"""

import json
from pathlib import Path

import numpy as np

from tests.compat.programs import plain

REFERENCE = Path(__file__).parent / "layer_reference.json"
RNG = np.random.RandomState(3)
X = RNG.randn(3, 4).astype("float32")
IMAGES = RNG.randn(2, 5, 6, 3).astype("float32")
CHANNELS_FIRST = np.ascontiguousarray(IMAGES.transpose(0, 3, 1, 2))
SEQUENCES = RNG.randn(3, 5, 4).astype("float32")
LENGTHS = np.array([5, 2, 0], "int32")


class Numbers:
    """An initializer of deterministic values that look random."""

    def __init__(self, tf):
        self.tf = tf

    def __call__(self, shape, dtype=None, partition_info=None):
        n = int(np.prod([int(s) for s in shape]))
        values = np.sin(np.arange(1, n + 1) * 1.7) * 0.4
        return self.tf.constant(values.reshape([int(s) for s in shape]).astype("float32"))


def gradients(tf, y):
    """Return the gradients of the variables, each reduced to one row of weighted sums for
    brevity."""
    variables = tf.trainable_variables()
    found = tf.gradients(tf.reduce_sum(tf.square(y)), variables)
    weights = [Numbers(tf)(v.get_shape().as_list()) for v in variables]
    return [tf.reduce_sum(g * w, list(range(len(v.get_shape()) - 1)))
            for g, v, w in zip(found, variables, weights, strict=True)]


def layered(make):
    """Return a function of a layer's output, the gradients of its variables, and their names."""
    def run(tf):
        with tf.variable_scope("net", initializer=Numbers(tf)):
            y = make(tf)
        found = [y, gradients(tf, y) if tf.trainable_variables() else []]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            found = session.run(found)
        names = [[v.name for v in tf.global_variables()],
                 [v.name for v in tf.trainable_variables()]]
        return found, names
    return run


def normalized(make):
    """Return a function of batch normalization's output and moving averages after each step."""
    def run(tf):
        training = tf.placeholder(tf.bool, [])
        y = make(tf, training)
        updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        found = []
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for train in (True, True, False):
                found.append(session.run(y, {training: train}))
                session.run(updates, {training: train})
                found.append([session.run(v) for v in tf.global_variables()])
        return found, [v.name for v in tf.global_variables()], len(updates)
    return run


def shared(tf):
    """Return results of layers that share variables by name on request."""
    def net(x, reuse):
        with tf.variable_scope("net", reuse=reuse):
            x = tf.layers.dense(x, 3, activation=tf.nn.relu)
            return tf.layers.dense(tf.layers.dense(x, 2), 2, name="last")

    net(X, False), net(X, True)
    tf.layers.dense(X, 2, name="again"), tf.layers.dense(X, 2, name="again", reuse=True)
    tf.layers.dense(X, 2), tf.layers.dense(X, 2)
    layer = tf.layers.Dense(2, name="object")
    layer(X), layer(X)
    with tf.variable_scope("s") as scope:
        tf.layers.dense(X, 2)
    with tf.variable_scope(scope):
        tf.layers.dense(X, 2, name="inner")
    with tf.variable_scope(scope, reuse=True):
        tf.layers.dense(X, 2)
    with tf.variable_scope("t", reuse=tf.AUTO_REUSE):
        tf.layers.conv2d(IMAGES, 2, 3)
        tf.layers.conv2d(IMAGES, 2, 3)
    with tf.variable_scope("t", reuse=tf.AUTO_REUSE):
        tf.layers.conv2d(IMAGES, 2, 3)
    return [v.name for v in tf.global_variables()]


def regularized(tf):
    def half(w):
        return tf.reduce_sum(w * w) / 2

    ones = tf.ones_initializer()
    for reuse in (False, True):
        tf.layers.dense(X, 3, kernel_initializer=ones, bias_initializer=ones,
                        kernel_regularizer=half, bias_regularizer=half, name="d", reuse=reuse)
    tf.layers.conv2d(IMAGES, 2, 3, kernel_initializer=ones, kernel_regularizer=half)
    losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    total = tf.losses.get_regularization_loss()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run([losses, total])


LAYERS = {
    "dense": lambda tf: tf.layers.dense(X, 3),
    "dense with activation": lambda tf: tf.layers.dense(
        X, 3, tf.nn.tanh, bias_initializer=tf.constant_initializer(0.3), name="fc"),
    "dense without bias": lambda tf: tf.layers.dense(X, units=3, use_bias=False),
    "dense of sequences": lambda tf: tf.layers.dense(SEQUENCES, 3, tf.nn.relu),
    "dense after dense": lambda tf: tf.layers.dense(tf.layers.dense(X, 5, tf.nn.relu), 2),
    "frozen": lambda tf: tf.layers.dense(tf.layers.dense(X, 3), 2, trainable=False),
    "conv2d": lambda tf: tf.layers.conv2d(IMAGES, 4, 3),
    "conv2d with strides": lambda tf: tf.layers.conv2d(
        inputs=IMAGES, filters=4, kernel_size=[3, 2], strides=(2, 1), padding="same",
        activation=tf.nn.relu),
    "conv2d with holes": lambda tf: tf.layers.conv2d(IMAGES, 2, 2, dilation_rate=2),
    "conv2d_transpose": lambda tf: tf.layers.conv2d_transpose(IMAGES, 4, 3, 2),
    "conv2d_transpose same": lambda tf: tf.layers.conv2d_transpose(
        IMAGES, 4, [5, 2], strides=(2, 3), padding="SAME", activation=tf.nn.tanh),
    "max_pooling2d": lambda tf: tf.layers.max_pooling2d(IMAGES, 2, 2),
    "max_pooling2d same": lambda tf: tf.layers.max_pooling2d(IMAGES, [3, 2], [2, 1], "same"),
    "average_pooling2d": lambda tf: tf.layers.average_pooling2d(IMAGES, pool_size=2, strides=2),
    "average_pooling2d same": lambda tf: tf.layers.average_pooling2d(IMAGES, 3, 2, padding="same"),
    "flatten": lambda tf: tf.layers.flatten(IMAGES),
    "dropout outside training": lambda tf: tf.layers.dropout(X, 0.5, training=False),
    "net": lambda tf: tf.layers.dense(tf.layers.flatten(tf.layers.max_pooling2d(
        tf.layers.conv2d(IMAGES, 4, 3, activation=tf.nn.relu), 2, 2)), 2),
}
NORMALIZED = {
    "batch_normalization": lambda tf, t: tf.layers.batch_normalization(X, training=t),
    "batch_normalization of images": lambda tf, t: tf.layers.batch_normalization(
        IMAGES, momentum=0.9, epsilon=0.1, training=t),
    "batch_normalization of images, not fused": lambda tf, t: tf.layers.batch_normalization(
        IMAGES, momentum=0.9, training=t, fused=False),
    "batch_normalization along another axis": lambda tf, t: tf.layers.batch_normalization(
        IMAGES, axis=1, training=t, center=False, name="bn", fused=False),
    "batch_normalization without scale": lambda tf, t: tf.layers.batch_normalization(
        SEQUENCES, scale=False, training=t),
}


def steps(tf):
    return tf.unstack(tf.constant(SEQUENCES), axis=1)


CELLS = {
    "BasicRNNCell": lambda c: c.BasicRNNCell(3),
    "BasicRNNCell with relu": lambda c: c.BasicRNNCell(num_units=3, activation=abs),
    "GRUCell": lambda c: c.GRUCell(3),
    "BasicLSTMCell": lambda c: c.BasicLSTMCell(3, forget_bias=0.5),
    "BasicLSTMCell as a matrix": lambda c: c.BasicLSTMCell(3, state_is_tuple=False),
    "LSTMCell": lambda c: c.LSTMCell(3),
    "LSTMCell with all": lambda c: c.LSTMCell(
        5, use_peepholes=True, cell_clip=0.5, num_proj=3, proj_clip=0.2, name="cell"),
    "MultiRNNCell": lambda c: c.MultiRNNCell([c.BasicLSTMCell(3), c.GRUCell(2)]),
    "MultiRNNCell as a matrix": lambda c: c.MultiRNNCell(
        [c.BasicRNNCell(3), c.GRUCell(2)], state_is_tuple=False),
    "ResidualWrapper": lambda c: c.ResidualWrapper(c.BasicRNNCell(4)),
    "DropoutWrapper": lambda c: c.DropoutWrapper(c.GRUCell(3), output_keep_prob=1.0),
}


def recurrent(run, make):
    def layer(tf):
        outputs, state = run(tf, make(tf.nn.rnn_cell))
        outputs = tf.stack(outputs) if isinstance(outputs, list) else outputs
        flat = [tf.reshape(x, [-1]) for x in flat_list(state)]
        return tf.concat([tf.reshape(outputs, [-1]), *flat], 0)
    return layered(layer)


def flat_list(x):
    return [y for item in x for y in flat_list(item)] if isinstance(x, tuple | list) else [x]


RUNS = {
    "static": lambda tf, cell: tf.nn.static_rnn(cell, steps(tf), dtype=tf.float32),
    "static, lengths": lambda tf, cell: tf.nn.static_rnn(
        cell, steps(tf), dtype=tf.float32, sequence_length=LENGTHS),
    "dynamic": lambda tf, cell: tf.nn.dynamic_rnn(
        cell, tf.constant(SEQUENCES), dtype=tf.float32),
    "dynamic, lengths": lambda tf, cell: tf.nn.dynamic_rnn(
        cell, tf.constant(SEQUENCES), LENGTHS, dtype=tf.float32),
    "dynamic, time first": lambda tf, cell: tf.nn.dynamic_rnn(
        cell, tf.constant(SEQUENCES.transpose(1, 0, 2)), time_major=True, scope="named",
        initial_state=cell.zero_state(3, tf.float32)),
}


def pair(tf):
    return tf.nn.rnn_cell.GRUCell(2), tf.nn.rnn_cell.BasicRNNCell(3)


def static_both(tf, lengths=None):
    outputs, a, b = tf.nn.static_bidirectional_rnn(
        *pair(tf), steps(tf), dtype=tf.float32, sequence_length=lengths)
    return tf.concat([tf.reshape(x, [-1]) for x in [*outputs, a, b]], 0)


def dynamic_both(tf, lengths=None):
    found = tf.nn.bidirectional_dynamic_rnn(
        *pair(tf), tf.constant(SEQUENCES), lengths, dtype=tf.float32)
    return tf.concat([tf.reshape(x, [-1]) for x in flat_list(found)], 0)


def called_twice(tf):
    """Return results of cells that keep their variables, while other cells of a name get new
    ones."""
    x = tf.constant(X)
    a, b = tf.nn.rnn_cell.BasicRNNCell(3), tf.nn.rnn_cell.BasicRNNCell(3)
    state = a.zero_state(3, tf.float32)
    for cell in (a, a, b):
        state = cell(x, state)[1]
    with tf.variable_scope("s"):
        for reuse in (False, True):
            cell = tf.nn.rnn_cell.BasicLSTMCell(2, reuse=reuse)
            cell(x, cell.zero_state(3, tf.float32))
    cell = tf.nn.rnn_cell.GRUCell(2)
    cell(x, cell.zero_state(3, tf.float32), scope="mine")
    return [v.name for v in tf.global_variables()]


PROGRAMS = {
    **{f"{name}, {how}": recurrent(run, make)
       for name, make in CELLS.items() for how, run in RUNS.items()
       if how != "dynamic, time first" or name in ("GRUCell", "BasicLSTMCell")},
    "static_bidirectional_rnn": layered(static_both),
    "static_bidirectional_rnn, lengths": layered(lambda tf: static_both(tf, LENGTHS)),
    "bidirectional_dynamic_rnn": layered(dynamic_both),
    "bidirectional_dynamic_rnn, lengths": layered(lambda tf: dynamic_both(tf, LENGTHS)),
    "cells called twice": called_twice,
    **{name: layered(make) for name, make in LAYERS.items()},
    **{name: normalized(make) for name, make in NORMALIZED.items()},
    "always training": layered(lambda tf: tf.layers.batch_normalization(X, training=True)),
    "never training": layered(lambda tf: tf.layers.batch_normalization(IMAGES)),
    "shared": shared,
    "regularized": regularized,
}


def short(x):
    """Round numbers to the digits of float32."""
    if isinstance(x, dict):
        return {key: short(item) for key, item in x.items()}
    if isinstance(x, list):
        return [short(item) for item in x]
    return float(f"{x:.8g}") if isinstance(x, float) else x


def results(tf):
    """Return the results of all programs."""
    found = {}
    for name, program in PROGRAMS.items():
        tf.reset_default_graph()
        found[name] = short(plain(program(tf)))
    return found


if __name__ == "__main__":
    import tensorflow.compat.v1 as tensorflow

    tensorflow.disable_v2_behavior()
    REFERENCE.write_text(json.dumps(results(tensorflow)) + "\n")
