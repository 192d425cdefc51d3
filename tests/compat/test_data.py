"""Datasets in graphs: each run draws an element, and is compiled for the element's sizes."""

import threading

import numpy as np
import pytest

import dualflow.compat.v1 as tf

ROWS = np.arange(20, dtype=np.float32).reshape(10, 2)
LABELS = np.arange(10)


def until_the_end(session, fetches, feeds=None):
    found = []
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        while True:
            found.append(session.run(fetches, feeds))
    return found


def test_one_shot_iterator(session):
    dataset = tf.data.Dataset.from_tensor_slices((ROWS, LABELS)).batch(4)
    x, y = dataset.make_one_shot_iterator().get_next()
    assert (x.shape.as_list(), x.dtype, y.dtype) == ([None, 2], tf.float32, tf.int64)
    found = until_the_end(session, [x * 2., y])
    assert [len(a) for a, _ in found] == [4, 4, 2]
    np.testing.assert_array_equal(np.concatenate([a for a, _ in found]), ROWS * 2)
    np.testing.assert_array_equal(np.concatenate([b for _, b in found]), LABELS)


def test_each_session_has_its_own_position(fresh_graph):
    x = tf.data.Dataset.range(3).make_one_shot_iterator().get_next()
    with tf.Session() as one, tf.Session() as other:
        assert [one.run(x), one.run(x), other.run(x), one.run(x)] == [0, 1, 0, 2]


def test_run_draws_at_most_one_element(session):
    iterator = tf.data.Dataset.from_tensor_slices((ROWS, LABELS)).make_one_shot_iterator()
    (x, y), other = iterator.get_next(), tf.constant(1.)
    assert session.run(other) == 1.
    assert session.run([x, y, x + 1.])[1] == 0
    assert session.run(y) == 1
    assert session.run([y, y * 2]) == [2, 4]
    assert session.run(tf.reduce_sum(x), {x: [5., 6.]}) == 11.      # fed, so no element is drawn
    assert session.run(y) == 3


def test_initializable_iterator_reads_fed_values(session):
    features, labels = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.int64, [None])
    size = tf.placeholder(tf.int64, [])
    dataset = tf.data.Dataset.from_tensor_slices((features, labels)).batch(size)
    iterator = dataset.make_initializable_iterator()
    x, y = iterator.get_next()
    assert x.shape.as_list() == [None, 2]
    with pytest.raises(tf.errors.FailedPreconditionError, match="has not been initialized"):
        session.run(x)
    for n in (3, 5):
        feeds = {features: ROWS, labels: LABELS, size: n}
        assert session.run(iterator.initializer, feeds) is None
        assert [len(b) for _, b in until_the_end(session, [x, y])] == [
            len(LABELS[k:k + n]) for k in range(0, 10, n)]


def test_iterator_of_several_datasets(session):
    train = tf.data.Dataset.range(3).map(lambda v: tf.cast(v, tf.float32) * 10.)
    test = tf.data.Dataset.from_tensor_slices(np.float32([7.]))
    iterator = tf.data.Iterator.from_structure(train.output_types, train.output_shapes)
    x = iterator.get_next()
    begin_train, begin_test = iterator.make_initializer(train), iterator.make_initializer(test)
    session.run(begin_train)
    assert until_the_end(session, x) == [0., 10., 20.]
    session.run(begin_test)
    assert until_the_end(session, x) == [7.]


def test_dataset_functions_may_use_compat_ops(session):
    dataset = tf.data.Dataset.from_tensor_slices({"x": ROWS, "y": LABELS})
    dataset = dataset.filter(lambda e: tf.equal(e["y"] % 2, 0)).map(
        lambda e: (tf.reduce_sum(e["x"]), tf.one_hot(e["y"], 10)))
    total, row = dataset.repeat(2).make_one_shot_iterator().get_next()
    found = until_the_end(session, [total, row])
    assert [t for t, _ in found] == ROWS[::2].sum(1).tolist() * 2
    assert [int(r.argmax()) for _, r in found] == LABELS[::2].tolist() * 2


def test_text(session, tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("one\ntwo\n")
    line = tf.data.TextLineDataset(str(path)).make_one_shot_iterator().get_next()
    assert until_the_end(session, line) == [b"one", b"two"]


def test_zip_concatenate_and_generators(session):
    a, b = tf.data.Dataset.range(2), tf.data.Dataset.range(5, 8)
    both = tf.data.Dataset.zip((a.concatenate(a), b)).make_one_shot_iterator().get_next()
    assert until_the_end(session, both) == [(0, 5), (1, 6), (0, 7)]
    made = tf.data.Dataset.from_generator(lambda: iter([[1.], [2., 3.]]), tf.float32, [None])
    row = made.make_one_shot_iterator().get_next()
    assert [r.tolist() for r in until_the_end(session, row)] == [[1.], [2., 3.]]


def test_training_from_a_dataset(session):
    tf.set_random_seed(0)
    x, y = tf.data.Dataset.from_tensor_slices(
        (ROWS / 10, (ROWS @ [[2.], [-1.]] / 10).astype(np.float32))).shuffle(10, seed=1).batch(
            4).repeat().make_one_shot_iterator().get_next()
    loss = tf.losses.mean_squared_error(y, tf.layers.dense(x, 1))
    train = tf.train.AdamOptimizer(0.1).minimize(loss)
    session.run(tf.global_variables_initializer())
    losses = [session.run([loss, train])[0] for _ in range(200)]
    assert losses[-1] < 1e-2 < losses[0]


def test_threads_share_a_position(session):
    x = tf.data.Dataset.range(400).make_one_shot_iterator().get_next()
    found = []

    def work():
        found.extend([int(session.run(x)) for _ in range(50)])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(400))


def test_unsupported_uses_raise(session):
    x = tf.placeholder(tf.float32, [None])
    dataset = tf.data.Dataset.from_tensor_slices(x)
    with pytest.raises(ValueError, match="Cannot capture a placeholder"):
        dataset.make_one_shot_iterator()
    with pytest.raises(ValueError, match="does not have an initializer"):
        tf.data.Dataset.range(3).make_one_shot_iterator().initializer  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'walk'"):
        dataset.walk  # noqa: B018
    iterator = dataset.make_initializable_iterator()
    with pytest.raises(tf.errors.InvalidArgumentError, match="must feed a value"):
        session.run(iterator.initializer)


def test_eager_iteration():
    tf.enable_eager_execution()
    try:
        rows = [v.numpy() for v in tf.data.Dataset.range(4).map(lambda v: v * 2).batch(3)]
    finally:
        tf.disable_eager_execution()
    assert [r.tolist() for r in rows] == [[0, 2, 4], [6]]
