"""Complex numbers in graphs of TensorFlow 1."""

import numpy as np
import pytest

import dualflow.compat.v1 as tf

Z = [1 + 2j, 3 - 4j]


def test_functions_and_feeds():
    with tf.Graph().as_default(), tf.Session() as sess:
        p, q = tf.placeholder(tf.complex64, [2]), tf.placeholder(tf.float32, [2])
        made = [tf.real(p), tf.imag(p), tf.conj(p), tf.angle(p), tf.abs(p), tf.math.conj(p)]
        want = [f(np.array(Z)) for f in (np.real, np.imag, np.conj, np.angle, np.abs, np.conj)]
        for feed in (Z, np.array(Z), np.array(Z, "complex64")):
            for x, y in zip(sess.run(made, {p: feed}), want, strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-6)
        assert sess.run(tf.complex(q, -q), {q: [1, 2]}).tolist() == [1 - 1j, 2 - 2j]
        assert sess.run(tf.to_complex64(1.)).dtype == "complex64"
        assert sess.run(tf.to_complex128([1, 2])).tolist() == [1, 2]
        assert tf.to_complex128([1, 2]).dtype is tf.complex128
        assert isinstance(sess.run(p[0], {p: Z}), np.complex64)
        with pytest.raises(TypeError, match=r"complex128 \(2,\), expected float32"):
            sess.run(q, {q: Z})


def test_variables(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(Z, name="v")
        w = tf.get_variable("w", [2], tf.complex64, initializer=tf.ones_initializer())
        sess.run(tf.global_variables_initializer())
        saver = tf.train.Saver()
        path = saver.save(sess, str(tmp_path / "c"))
        sess.run([tf.assign(v, [0, 0]), tf.assign_add(w, [1j, 0])])
        assert sess.run(w).tolist() == [1 + 1j, 1]
        saver.restore(sess, path)
        assert sess.run(v).tolist() == Z and sess.run(w).tolist() == [1, 1]
        loop = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 1j), [0, v])
        assert sess.run(loop)[1].tolist() == [-1j * z for z in Z]


def test_gradients():
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(Z)
        sess.run(tf.global_variables_initializer())
        loss = tf.reduce_sum(tf.square(tf.abs(v)))
        np.testing.assert_allclose(sess.run(tf.gradients(loss, v)[0]), 2 * np.array(Z))
        sess.run(tf.train.GradientDescentOptimizer(0.25).minimize(loss))
        np.testing.assert_allclose(sess.run(v), 0.5 * np.array(Z))
