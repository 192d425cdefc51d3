"""Input pipelines of queues: producers, readers, batches, coordinators and threads."""

import threading

import numpy as np
import pytest

import dualflow.compat.v1 as tf


def drain(session, fetches):
    """Return the results of all runs until the end of the input."""
    found = []
    while True:
        try:
            found.append(session.run(fetches))
        except tf.errors.OutOfRangeError:
            return found


@pytest.fixture
def csv_files(tmp_path):
    paths = []
    for name, rows in (("a", [(1, 0.5), (2, 1.5)]), ("b", [(3, 2.5)])):
        paths.append(str(tmp_path / f"{name}.csv"))
        (tmp_path / f"{name}.csv").write_text("n,x\n" + "".join(
            [f"{n},{x}\n" for n, x in rows]))
    return paths


def test_reading_csv_files_as_programs_do(csv_files):
    """The classic loop: producer, reader, decode_csv, batch, coordinator."""
    queue = tf.train.string_input_producer(csv_files, num_epochs=2, shuffle=False)
    _, value = tf.TextLineReader(skip_header_lines=1).read(queue)
    n, x = tf.decode_csv(value, record_defaults=[[0], [0.]])
    features = tf.stack([tf.to_float(n), x])
    batch_n, batch_x = tf.train.batch([n, features], batch_size=2, capacity=10)
    assert batch_n.shape.as_list() == [2] and batch_x.shape.as_list() == [2, 2]
    total = tf.reduce_sum(batch_x)
    seen = []
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=sess, coord=coord)
        try:
            while not coord.should_stop():
                rows, sums = sess.run([batch_n, total])
                seen += rows.tolist()
                assert np.isfinite(sums)
        except tf.errors.OutOfRangeError:
            pass
        finally:
            coord.request_stop()
        coord.join(threads)
    assert seen == [1, 2, 3, 1, 2, 3]


def test_one_record_per_run(session, csv_files):
    queue = tf.train.string_input_producer(csv_files, num_epochs=1, shuffle=False)
    key, value = tf.TextLineReader(skip_header_lines=1).read(queue)
    n, x = tf.decode_csv(value, [[0], [0.]])
    found = drain(session, [key, value, n, x * 2])
    assert [row[1:] for row in found] == [[b"1,0.5", 1, 1.], [b"2,1.5", 2, 3.], [b"3,2.5", 3, 5.]]
    assert found[0][0] == f"{csv_files[0]}:2".encode()


def test_whole_files_and_records(session, csv_files, tmp_path):
    key, value = tf.WholeFileReader().read(
        tf.train.string_input_producer(csv_files, num_epochs=1, shuffle=False))
    assert drain(session, [key, value])[1] == [csv_files[1].encode(), b"n,x\n3,2.5\n"]
    path = str(tmp_path / "file.tfrecord")
    with tf.python_io.TFRecordWriter(path) as writer:
        for k in range(5):
            writer.write(bytes([k, k + 1]))
    _, record = tf.TFRecordReader().read(tf.train.string_input_producer([path], num_epochs=1))
    pixels = tf.decode_raw(record, tf.uint8)
    pixels.set_shape([2])
    rows = tf.train.batch({"pixels": pixels, "record": record}, 2, allow_smaller_final_batch=True)
    assert rows["pixels"].shape.as_list() == [None, 2]
    found = drain(session, rows)
    assert [one["pixels"].tolist() for one in found] == [
        [[0, 1], [1, 2]], [[2, 3], [3, 4]], [[4, 5]]]
    assert found[2]["record"].tolist() == [b"\x04\x05"]


def test_producers(session):
    x, y = tf.train.slice_input_producer([np.arange(4), ["a", "b", "c", "d"]], num_epochs=1,
                                         seed=3)
    pairs = drain(session, [x, y])
    assert sorted(pairs) == [[0, b"a"], [1, b"b"], [2, b"c"], [3, b"d"]] != pairs
    queue = tf.train.range_input_producer(3, num_epochs=1, shuffle=False)
    assert drain(session, queue.dequeue()) == [0, 1, 2]
    queue = tf.train.input_producer([[1., 2.], [3., 4.]], num_epochs=1, shuffle=False)
    assert session.run(queue.dequeue_many(2)).tolist() == [[1, 2], [3, 4]]
    with pytest.raises(tf.errors.OutOfRangeError, match="requested 1, current size 0"):
        session.run(queue.dequeue())
    with pytest.raises(ValueError, match="non-null"):
        tf.train.string_input_producer([])
    endless = tf.train.range_input_producer(2, shuffle=False).dequeue()
    assert [session.run(endless) for _ in range(5)] == [0, 1, 0, 1, 0]


def test_shuffled_batches(session):
    x, = tf.train.slice_input_producer([np.arange(20)], num_epochs=1, shuffle=False)
    rows = tf.train.shuffle_batch([x], 5, capacity=30, min_after_dequeue=10, seed=1)
    found = np.concatenate(drain(session, rows)).tolist()
    assert sorted(found) == list(range(20)) != found
    with pytest.raises(tf.errors.UnimplementedError, match="padded_batch"):
        tf.train.batch([x], 2, dynamic_pad=True)
    many = tf.train.batch([tf.constant([1, 2, 3])], 2, enqueue_many=True)
    assert session.run(many).tolist() == [1, 2] and session.run(many).tolist() == [3, 1]


def test_training_on_batches(session):
    x, y = tf.train.slice_input_producer([np.eye(4, dtype="f"), np.arange(4, dtype="f")])
    xs, ys = tf.train.batch([x, y], 4)
    w = tf.Variable(tf.zeros([4, 1]))
    loss = tf.reduce_mean(tf.square(tf.squeeze(xs @ w, 1) - ys))
    step = tf.train.GradientDescentOptimizer(1.).minimize(loss)
    session.run(tf.global_variables_initializer())
    for _ in range(30):
        session.run(step)
    np.testing.assert_allclose(session.run(w)[:, 0], np.arange(4), atol=1e-3)


def test_queue_of_operations(session):
    queue = tf.FIFOQueue(4, [tf.int32, tf.string], [[], []], names=["n", "text"])
    n = tf.placeholder(tf.int32, [])
    put = queue.enqueue({"n": n + 1, "text": tf.as_string(n)})
    for k in range(3):
        session.run(put, {n: k})
    assert session.run(queue.size()) == 3
    assert session.run(queue.dequeue()) == {"n": 1, "text": b"0"}
    rest = queue.dequeue_up_to(5)
    session.run(queue.close())
    found = session.run(rest)
    assert found["n"].tolist() == [2, 3] and found["text"].tolist() == [b"1", b"2"]
    with pytest.raises(tf.errors.OutOfRangeError):
        session.run(rest)
    with pytest.raises(tf.errors.CancelledError):
        session.run(put, {n: 1})


def test_random_queue(session):
    queue = tf.RandomShuffleQueue(100, min_after_dequeue=0, dtypes=tf.float32, shapes=[2], seed=2)
    session.run(queue.enqueue_many([np.arange(40, dtype="f").reshape(20, 2)]))
    found = session.run(queue.dequeue_many(20))
    assert found.shape == (20, 2) and found[:, 0].tolist() != sorted(found[:, 0])
    assert sorted(found[:, 0]) == list(range(0, 40, 2))


def test_queue_filled_by_threads():
    queue = tf.FIFOQueue(3, tf.float32, [])
    runner = tf.train.QueueRunner(queue, [queue.enqueue(tf.random_uniform([]))] * 2)
    tf.train.add_queue_runner(runner)
    x = queue.dequeue()
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        assert len(threads) == 3
        found = [sess.run(x) for _ in range(10)]
        coord.request_stop()
        coord.join(threads)
    assert len(set(found)) > 1 and not any([t.is_alive() for t in threads])


def test_coordinator():
    coord = tf.train.Coordinator()
    threads = [threading.Thread(target=coord.wait_for_stop) for _ in range(2)]
    for thread in threads:
        thread.start()
    with coord.stop_on_exception():
        raise tf.errors.OutOfRangeError("the end")
    assert coord.should_stop()
    coord.join(threads)
    assert coord.joined
    coord.clear_stop()
    assert not coord.should_stop()
    coord.request_stop(ValueError("broken"))
    with pytest.raises(ValueError, match="broken"):
        coord.join([])
