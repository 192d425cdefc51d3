"""Losses over sampled classes."""

import numpy as np
import pytest

import dualflow.compat.v1 as tf


@pytest.mark.parametrize("unique", [True, False])
def test_samples_follow_their_distribution(session, unique):
    """The frequencies of classes match the sampler's expected counts. Of distinct samples the
    counts are an estimate from the last arrival time, which is 0.06 too low for class 0; all counts
    of a run follow from the same time."""
    n, of = 5, 30
    found = tf.nn.log_uniform_candidate_sampler([[0], [9]], 1, n, unique, of)
    k = np.arange(of)
    p = np.log((k + 2) / (k + 1)) / np.log(of + 1)
    counts, expected = np.zeros(of), []
    for _ in range(1500):
        sampled, true, sampled_count = session.run(found)
        assert sampled.shape == (n,) and (not unique or len(set(sampled.tolist())) == n)
        np.add.at(counts, sampled, 1)
        expected.append(true.ravel())
        if unique:
            counted = np.concatenate([sampled_count, true.ravel()]).astype(float)
            times = -np.log1p(-counted) / p[[*sampled, 0, 9]]
            np.testing.assert_allclose(times, times[0], rtol=1e-3)
    share = counts / 1500
    assert abs(share - (n * p if not unique else share)).max() < 0.12
    assert abs(np.mean(expected, 0) - share[[0, 9]]).max() < 0.08
    assert np.argsort(-share)[0] == 0 and (sampled_count > 0).all()


def test_uniform_samples(session):
    found = tf.nn.uniform_candidate_sampler([[1]], 1, 4, False, 10)
    sampled = np.concatenate([session.run(found)[0] for _ in range(300)])
    assert set(sampled.tolist()) == set(range(10))
    assert session.run(found)[1].round(5).tolist() == [[np.float32(0.4)]]
    all_of_them = tf.nn.uniform_candidate_sampler([[1]], 1, 10, True, 10)
    assert sorted(session.run(all_of_them)[0].tolist()) == list(range(10))


def reference(weights, biases, labels, inputs, sampled, true_count, sampled_count, hits):
    """Return logits of true and sampled classes, by the formulas of the papers."""
    true = (inputs * weights[labels]).sum(1) + biases[labels] - np.log(true_count[:, 0])
    other = inputs @ weights[sampled].T + biases[sampled] - np.log(sampled_count)
    if hits:
        other = np.where(labels[:, None] == sampled, -np.inf, other)
    return np.concatenate([true[:, None], other], 1)


def test_losses_given_a_sample(session):
    rng = np.random.RandomState(0)
    weights, biases = rng.randn(9, 4).astype("f"), rng.randn(9).astype("f")
    inputs, labels = rng.randn(3, 4).astype("f"), np.array([1, 5, 8])
    sample = (np.array([5, 2, 0]), np.array([[0.3], [0.2], [0.1]], "f"),
              np.array([0.2, 0.4, 0.9], "f"))
    w, b = tf.Variable(weights), tf.Variable(biases)
    given = [tf.constant(s) for s in sample]
    nce = tf.nn.nce_loss(w, b, labels[:, None], inputs, 3, 9, sampled_values=given)
    soft = tf.nn.sampled_softmax_loss(w, b, labels[:, None], inputs, 3, 9, sampled_values=given)
    session.run(tf.global_variables_initializer())
    logits = reference(weights, biases, labels, inputs, *sample, hits=False)
    wanted = np.log1p(np.exp(-logits[:, 0])) + np.log1p(np.exp(logits[:, 1:])).sum(1)
    np.testing.assert_allclose(session.run(nce), wanted, rtol=1e-5)
    logits = reference(weights, biases, labels, inputs, *sample, hits=True)
    wanted = np.log(np.exp(logits).sum(1)) - logits[:, 0]
    np.testing.assert_allclose(session.run(soft), wanted, rtol=1e-5)


def test_training_with_sampled_losses(session):
    """Successive words get high logits."""
    emb = tf.Variable(tf.random_uniform([20, 8], -1., 1., seed=1))
    w = tf.Variable(tf.truncated_normal([20, 8], stddev=0.3, seed=2))
    b = tf.Variable(tf.zeros([20]))
    x, y = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None, 1])
    rows = tf.nn.embedding_lookup(emb, x)
    loss = tf.reduce_mean(tf.nn.nce_loss(w, b, y, rows, num_sampled=5, num_classes=20))
    step = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    right = tf.reduce_mean(tf.to_float(tf.equal(tf.argmax(
        tf.matmul(rows, w, transpose_b=True) + b, 1), tf.to_int64(y[:, 0]))))
    session.run(tf.global_variables_initializer())
    words = np.arange(20)
    feed = {x: words, y: ((words + 1) % 20)[:, None]}
    for _ in range(400):
        session.run(step, feed)
    assert session.run(right, feed) > 0.8
