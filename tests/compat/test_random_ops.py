"""Random ops: each run draws new values; sessions repeat the values of seeded ops."""

import numpy as np
import pytest

import dualflow.compat.v1 as tf


def draws(tensor, n=3):
    with tf.Session(graph=tensor.graph) as sess:
        return [sess.run(tensor).tolist() for _ in range(n)]


def test_sessions_repeat_seeded_values():
    tf.set_random_seed(7)
    a, b = tf.random_normal([3]), tf.random_normal([3])
    assert draws(a) == draws(a) and len({tuple(x) for x in draws(a)}) == 3
    assert draws(a) != draws(b)
    one = tf.random_uniform([3], seed=1)
    assert draws(one) == draws(one)
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        assert draws(tf.random_normal([3])) == draws(a)
    with tf.Graph().as_default():
        tf.set_random_seed(8)
        assert draws(tf.random_normal([3])) != draws(a)
    with tf.Graph().as_default():
        free = tf.random_normal([3])
        assert draws(free) != draws(free)
        op = tf.truncated_normal([3], seed=5)
        assert draws(op) == draws(op)


def test_seeds():
    tf.reset_default_graph()                    # without the seed of the test
    assert tf.get_seed(None) == (None, None) and tf.get_seed(3) == (87654321, 3)
    tf.set_random_seed(1)
    assert tf.get_seed(3) == (1, 3) and tf.get_seed(None)[0] == 1


def test_distributions(session):
    n, t, u, i, s = session.run([
        tf.random_normal([20_000], 2., 0.5), tf.truncated_normal([20_000], stddev=3.),
        tf.random_uniform([20_000], -1., 3.), tf.random_uniform([20_000], 2, 5, tf.int32),
        tf.random_shuffle(tf.range(100))])
    assert abs(n.mean() - 2) < 0.02 and abs(n.std() - 0.5) < 0.02
    assert abs(t).max() <= 6. and abs(t.std() - 3 * 0.88) < 0.05
    assert u.min() >= -1 and u.max() < 3 and abs(u.mean() - 1) < 0.05
    assert set(i.tolist()) == {2, 3, 4} and i.dtype == np.int32
    assert sorted(s.tolist()) == list(range(100)) and s.tolist() != list(range(100))
    like = tf.random_normal(tf.shape(tf.zeros([2, 3])), dtype=tf.float64)
    assert session.run(like).shape == (2, 3)
    assert session.run(tf.random.shuffle([5, 5])).tolist() == [5, 5]
    assert session.run(tf.random.uniform([2]) + tf.random.normal([2])).shape == (2,)
    with pytest.raises(ValueError, match=r"Must specify maxval for integer dtype int32"):
        tf.random_uniform([2], dtype=tf.int32)


def test_readers_of_a_draw_get_the_same_values(session):
    x = tf.random_normal([4])
    a, b = session.run([x * 2., x * 4.])
    assert (2 * a == b).all()


def test_draws_in_a_loop_differ(session):
    rows = tf.map_fn(lambda i: tf.random_normal([2]) + 0. * i, tf.zeros([5]))
    found = session.run(rows)
    assert len({tuple(row) for row in found.tolist()}) == 5
    assert (found != session.run(rows)).all()


def test_dropout(session):
    x, keep = tf.ones([10_000]), tf.placeholder(tf.float32)
    found = session.run(tf.nn.dropout(x, keep), {keep: 0.8})
    assert set(found.tolist()) == {0., 1.25} and abs((found > 0).mean() - 0.8) < 0.02
    assert (session.run(tf.nn.dropout(x, keep), {keep: 1.}) == 1.).all()
    assert abs(session.run(tf.nn.dropout(x, rate=0.25)).mean() - 1) < 0.05
    columns = session.run(tf.nn.dropout(tf.ones([50, 40]), 0.5, noise_shape=[1, 40], seed=3))
    assert (columns == columns[0]).all()
    slope, = tf.gradients(tf.nn.dropout(x, 0.5, name="d"), x)
    assert set(session.run(slope).tolist()) == {0., 2.}
    assert tf.nn.dropout(x, 1) is x
    for bad in (0, 1.5):
        with pytest.raises(ValueError, match=r"`keep_prob` must be a scalar tensor or a float in"):
            tf.nn.dropout(x, bad)
    with pytest.raises(ValueError, match=r"floating point"):
        tf.nn.dropout(tf.constant([1]), 0.5)
    with pytest.raises(ValueError, match=r"You must provide a rate"):
        tf.nn.dropout(x)


def test_distributions_with_parameters(session):
    rate, logits = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [None, 3])
    given = {rate: [2., 30.], logits: np.log([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])}
    g, p, m, c = session.run([
        tf.random_gamma([20_000], rate, [2., 4.]), tf.random_poisson(rate, [20_000]),
        tf.multinomial(logits, 20_000), tf.random.categorical(logits, 5, tf.int32)], given)
    assert g.shape == p.shape == (20_000, 2) and m.shape == (2, 20_000) and c.shape == (2, 5)
    assert g.dtype == p.dtype == np.float32 and m.dtype == np.int64 and c.dtype == np.int32
    np.testing.assert_allclose(g.mean(0), [1., 7.5], rtol=0.05)
    np.testing.assert_allclose(p.mean(0), [2., 30.], rtol=0.05)
    np.testing.assert_allclose(p.var(0), [2., 30.], rtol=0.1)
    shares = [np.bincount(row, minlength=3) / 20_000 for row in m]
    np.testing.assert_allclose(shares, [[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]], atol=0.02)
    n = tf.shape(tf.zeros([4]))[0]
    found = session.run([tf.random.gamma([], 3.), tf.random.poisson(3., [2], tf.int64),
                         tf.random.multinomial([[0., 1.]], n, output_dtype=tf.int32)])
    assert [x.shape for x in found] == [(), (2,), (1, 4)] and found[2].dtype == np.int32


def test_each_operation_has_a_stream():
    tf.set_random_seed(7)
    for op in (tf.random_gamma([3], 2.), tf.random_poisson(50., [9]),
               tf.multinomial(tf.zeros([1, 50]), 9)):
        assert draws(op) == draws(op) and len({str(x) for x in draws(op)}) == 3
