"""`tf.test`: a test case as programs for TensorFlow 1 write it."""

import unittest

import numpy as np
import pytest

import dualflow as df
import dualflow.compat.v1 as tf


class SessionTest(tf.test.TestCase):
    def test_the_graph_is_empty(self):
        self.assertEqual(tf.get_default_graph().get_operations(), [])
        tf.constant(1.)

    def test_the_graph_is_empty_again(self):
        self.test_the_graph_is_empty()

    def test_a_new_session(self):
        with self.session(use_gpu=True) as sess:
            self.assertIs(tf.get_default_session(), sess)
            x = tf.constant([1., 2.])
            self.assertAllClose(x, [1., 2.])
            self.assertAllClose([1., 2.], x.eval())
            self.assertAllEqual(self.evaluate([x, {"a": x}])[1]["a"], [1., 2.])
            self.assertAllEqual(tf.constant(["a", "b"]), ["a", "b"])
            self.assertShapeEqual(np.zeros(2), x)
            self.assertDTypeEqual(x, np.float32)
        with self.assertRaisesRegex(RuntimeError, "closed"):
            sess.run(x)

    def test_cached_session(self):
        w = tf.get_variable("w", [2], initializer=tf.ones_initializer())
        with self.cached_session() as sess:
            sess.run(w.initializer)
        with self.test_session() as again:
            self.assertIs(sess, again)
            self.assertAllEqual(w, [1., 1.])
        self.assertAllClose(self.evaluate(w + 1.), [2., 2.])
        self.assertAllClose({"w": w, "n": 2.}, {"w": [1., 1.], "n": 2.})
        with self.assertRaisesRegex(ValueError, "cached session"):
            self.cached_session(graph=tf.Graph()).__enter__()

    def test_session_of_another_graph(self):
        with tf.Graph().as_default() as g:
            x = tf.constant(3.)
        with self.test_session(graph=g) as sess:
            self.assertEqual(sess.run(x), 3.)
        with self.session(g):
            self.assertAllEqual(x, 3.)

    def test_errors(self):
        x = tf.placeholder(tf.float32, [])
        with self.session() as sess, self.assertRaisesOpError("must feed a value"):
            sess.run(x)

    def test_random_values(self):
        self.assertAllInRange(tf.random_uniform([10]), 0., 1.)
        with self.session() as one:
            a = one.run(x := tf.random_normal([3]))
        with self.session() as other:
            self.assertAllEqual(a, other.run(x))


def test_the_method_test_session_is_no_test():
    result = unittest.TestResult()
    SessionTest("test_session").run(result)
    assert result.wasSuccessful() and len(result.skipped) == 1


def test_the_session_is_closed_after_the_test():
    sessions = []

    class KeepTest(tf.test.TestCase):
        def test(self):
            with self.cached_session() as sess:
                sessions.append(sess)
                tf.constant(1.)

    assert KeepTest("test").run().wasSuccessful()
    with pytest.raises(RuntimeError, match="closed"):
        sessions[0].run([])


def test_eager_mode():
    class EagerTest(tf.test.TestCase):
        def test(self):
            self.assertAllEqual(tf.add([1., 2.], 1.), [2., 3.])
            self.assertEqual(self.evaluate(tf.constant(2.)), 2.)

    tf.enable_eager_execution()
    try:
        assert EagerTest("test").run().wasSuccessful()
    finally:
        tf.disable_eager_execution()


def test_names():
    for name in ("main", "get_temp_dir", "is_gpu_available", "is_built_with_cuda",
                 "gpu_device_name"):
        assert getattr(tf.test, name) is getattr(df.test, name)


def test_compute_gradient():
    x = tf.placeholder(tf.float64, [2, 2])
    w = tf.get_variable("w", [2, 3], tf.float64)
    y = tf.matmul(tf.square(x), w)
    with pytest.raises(ValueError, match="session"):
        tf.test.compute_gradient(x, [2, 2], y, [2, 3])
    with tf.Session():
        found, wanted = tf.test.compute_gradient(x, [2, 2], y, [2, 3], np.ones([2, 2]),
                                                 init_targets=w.initializer)
        assert found.shape == (4, 6) and found.any()
        np.testing.assert_allclose(found, wanted, atol=1e-6)
        assert tf.test.compute_gradient_error(x, [2, 2], y, [2, 3]) < 1e-6
        scale = tf.placeholder(tf.float64, [])
        z = tf.reduce_sum(x) * scale
        assert tf.test.compute_gradient(x, [2, 2], z, [], extra_feed_dict={scale: 3.})[0].tolist(
            ) == [[3.]] * 4
        rounded = tf.round(x)
        assert not tf.test.compute_gradient(x, [2, 2], rounded, [2, 2], np.ones([2, 2]))[0].any()
