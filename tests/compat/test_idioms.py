"""Idioms of large programs: subclasses of optimizers with py_func, fed shapes, layer norm."""

import numpy as np
import pytest

import dualflow.compat.v1 as tf


def flat(xs):
    return tf.concat([tf.reshape(x, (-1,)) for x in xs], axis=0)


class Averaging(tf.train.AdamOptimizer):
    """Gradients and new values pass through Python, as in programs that average over processes."""

    def __init__(self, **options):
        self.calls = 0
        tf.train.AdamOptimizer.__init__(self, **options)

    def _average(self, x):
        self.calls += 1
        return x

    def compute_gradients(self, loss, var_list, **kwargs):
        pairs = [(g, v) for g, v in super().compute_gradients(loss, var_list, **kwargs)
                 if g is not None]
        all_of_them = flat([g for g, _ in pairs])
        sizes = [int(np.prod(v.shape.as_list())) for _, v in pairs]
        assert np.zeros(all_of_them.shape, np.float32).shape == (sum(sizes),)
        mean = tf.py_func(self._average, [all_of_them], tf.float32)
        mean.set_shape(all_of_them.shape)
        return [(tf.reshape(g, v.shape), v)
                for g, (_, v) in zip(tf.split(mean, sizes, axis=0), pairs, strict=True)]

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        step = super().apply_gradients(grads_and_vars, global_step, name)
        with tf.control_dependencies([step]):
            synced = self.synced([v for _, v in grads_and_vars])
        return tf.group([step, synced])

    def synced(self, variables):
        values = tf.py_func(self._average, [flat(variables)], tf.float32)
        parts = tf.split(values, [int(np.prod(v.shape.as_list())) for v in variables])
        return tf.group([tf.assign(v, tf.reshape(x, v.shape))
                         for v, x in zip(variables, parts, strict=True)])


def test_optimizer_whose_gradients_pass_through_python(session):
    inputs = np.random.RandomState(0).randn(6, 3).astype("f")
    found = []
    for kind in (tf.train.AdamOptimizer, Averaging):
        optimizer = kind(learning_rate=0.1)
        with tf.variable_scope(f"net{len(found)}"):
            x = tf.placeholder(tf.float32, (None, 3))
            w = tf.get_variable("w", [3, 2], initializer=tf.ones_initializer())
            b = tf.get_variable("b", [2], initializer=tf.zeros_initializer())
        step = optimizer.minimize(tf.reduce_mean(tf.square(tf.tanh(x @ w + b) - 0.5)), var_list=[
            w, b])
        session.run(tf.global_variables_initializer())
        if kind is Averaging:
            session.run(optimizer.synced(tf.global_variables()))    # all are float32
        for _ in range(4):
            session.run(step, {x: inputs})
        found.append(session.run([w, b]))
    assert optimizer.calls == 9
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


class Doubling(tf.train.GradientDescentOptimizer):
    """`minimize` passes the options of `apply_gradients` by name, as TensorFlow does."""

    def apply_gradients(self, grads_and_vars, **options):
        assert sorted(options) == ["global_step", "name"]
        return super().apply_gradients([(2 * g, v) for g, v in grads_and_vars], **options)


def test_optimizer_with_options_by_name(session):
    w = tf.get_variable("w", initializer=1.)
    counter = tf.train.get_or_create_global_step()
    step = Doubling(0.1).minimize(3 * w, global_step=counter)
    session.run(tf.global_variables_initializer())
    session.run(step)
    np.testing.assert_allclose(session.run([w, counter]), [0.4, 1], rtol=1e-6)


def test_gaussian_policy(session):
    mu = tf.layers.dense(tf.placeholder(tf.float32, (None, 4), name="x"), 2)
    log_std = tf.get_variable("log_std", initializer=-0.5 * np.ones(2, np.float32))
    pi = mu + tf.random_normal(tf.shape(mu)) * tf.exp(log_std)
    assert pi.shape.as_list() == [None, 2] and tf.random_normal(tf.shape(mu)).shape[-1].value == 2
    session.run(tf.global_variables_initializer())
    assert session.run(pi, {"x:0": np.ones([3, 4])}).shape == (3, 2)


def test_shape_that_is_fed_to_a_placeholder_without_a_shape(session):
    n = tf.placeholder(tf.int32)
    kept = tf.cast(tf.floor(0.5 + tf.random_uniform(n)), tf.bool)
    for value in ([7], (3,), np.int32(4), np.array([5])):
        assert session.run(kept, {n: value}).shape == (int(np.ravel(value)[0]),)
    with pytest.raises(ValueError, match="Cannot feed"):
        session.run(kept, {n: [[3]]})


def test_layer_norm(session):
    x = np.random.RandomState(0).randn(4, 3, 5).astype("f")
    y = tf.contrib.layers.layer_norm(tf.constant(x), begin_norm_axis=-1, scope="norm")
    z = tf.contrib.layers.layer_norm(tf.constant(x), scale=False, activation_fn=tf.nn.relu)
    assert [v.name for v in tf.global_variables()] == [
        "norm/beta:0", "norm/gamma:0", "LayerNorm/beta:0"]
    session.run(tf.global_variables_initializer())
    for found, axes in ((y, (-1,)), (z, (1, 2))):
        mean, deviation = x.mean(axes, keepdims=True), x.std(axes, keepdims=True)
        expected = (x - mean) / deviation
        np.testing.assert_allclose(session.run(found), expected if found is y else np.maximum(
            expected, 0), atol=1e-5)
    session.run(tf.global_variables()[1].assign(np.full(5, 2, "f")))
    np.testing.assert_allclose(session.run(y).std(-1), 2, atol=1e-4)
