"""TFRecord files and Examples, parsed into tensors of a graph."""

import numpy as np
import pytest

import dualflow.compat.v1 as tf


def example(number, floats, text):
    features = {"n": tf.train.Feature(int64_list=tf.train.Int64List(value=[number])),
                "x": tf.train.Feature(float_list=tf.train.FloatList(value=floats)),
                "raw": tf.train.Feature(bytes_list=tf.train.BytesList(value=[text]))}
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


FEATURES = {"n": tf.FixedLenFeature([], tf.int64), "x": tf.FixedLenFeature([2], tf.float32),
            "raw": tf.FixedLenFeature([], tf.string)}


def test_records_of_a_file(tmp_path, session):
    path = str(tmp_path / "file.tfrecord")
    options = tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP)
    with tf.python_io.TFRecordWriter(path, options) as writer:
        for k in range(3):
            writer.write(example(k, [k, 0.5], bytes([k, 7])))
    assert [tf.train.Example.FromString(r).features.feature["n"].int64_list.value[0]
            for r in tf.python_io.tf_record_iterator(path, options)] == [0, 1, 2]
    assert tf.io.tf_record_iterator is tf.python_io.tf_record_iterator
    record = tf.data.TFRecordDataset(path, "GZIP").make_one_shot_iterator().get_next()
    found = tf.parse_single_example(record, FEATURES)
    raw = tf.decode_raw(found["raw"], tf.uint8)
    assert found["n"].shape == () and found["x"].shape.as_list() == [2]
    total = tf.reduce_sum(found["x"]) + tf.cast(found["n"], tf.float32)
    for k in range(3):
        n, y, pixels, text = session.run([found["n"], total, raw, record])
        assert (n, y, pixels.tolist()) == (k, 2 * k + 0.5, [k, 7])
        assert text == example(k, [k, 0.5], bytes([k, 7]))      # one record per run
    with pytest.raises(tf.errors.OutOfRangeError):
        session.run(total)


def test_batches_of_examples(session):
    text = tf.placeholder(tf.string, [None])
    found = tf.io.parse_example(text, {
        **FEATURES, "y": tf.FixedLenFeature([], tf.float32, default_value=2.),
        "all": tf.io.FixedLenSequenceFeature([], tf.float32, allow_missing=True)})
    assert found["x"].shape.as_list() == [None, 2]
    n, x, y = session.run([found["n"] * 2, found["x"], found["y"]],
                          {text: [example(1, [1, 2], b""), example(2, [3, 4], b"")]})
    assert n.tolist() == [2, 4] and x.tolist() == [[1, 2], [3, 4]] and y.tolist() == [2, 2]
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(found["n"], {text: [b"not an example"]})
    with pytest.raises(tf.errors.InvalidArgumentError, match="feed"):
        session.run(found["n"])


def test_sequence_example():
    steps = tf.train.FeatureList(feature=[
        tf.train.Feature(int64_list=tf.train.Int64List(value=[k])) for k in (1, 2)])
    data = tf.train.SequenceExample(feature_lists=tf.train.FeatureLists(
        feature_list={"k": steps})).SerializeToString()
    found = tf.train.SequenceExample.FromString(data).feature_lists.feature_list["k"].feature
    assert [f.int64_list.value[0] for f in found] == [1, 2]
    assert tf.FixedLenSequenceFeature([], tf.int64).shape == []


def test_text_to_numbers(session):
    lines = tf.constant(["1,2.5,a", "3,,b"])
    a, b, c = tf.decode_csv(lines, [[0], [1.5], [""]])
    assert (a.dtype, b.dtype, c.dtype) == (tf.int32, tf.float32, tf.string)
    a, b, c = session.run([a + 1, b, c])
    assert a.tolist() == [2, 4] and b.tolist() == [2.5, 1.5] and c.tolist() == [b"a", b"b"]
    assert session.run(tf.decode_csv("1;2", [tf.int64, tf.float64], ";")) == [1, 2.]
    assert tf.strings.to_number is tf.string_to_number
    numbers = tf.string_to_number(tf.string_join(["1", ["2", "3"]]), tf.int32)
    assert session.run(numbers + 1).tolist() == [13, 14]
    np.testing.assert_array_equal(session.run(tf.decode_raw(["ab"], tf.uint8)), [[97, 98]])


def test_features_of_any_length_are_sparse_tensors():
    data = [tf.train.Example(features=tf.train.Features(feature={"n": tf.train.Feature(
        int64_list=tf.train.Int64List(value=v))})).SerializeToString() for v in ([3], [4, 5])]
    with tf.Graph().as_default(), tf.Session() as session:
        found = tf.parse_example(data, {"n": tf.VarLenFeature(tf.int64)})["n"]
        assert session.run(found).indices.tolist() == [[0, 0], [1, 0], [1, 1]]
        assert session.run(tf.sparse_tensor_to_dense(found)).tolist() == [[3, 0], [4, 5]]
        single = tf.parse_single_example(data[1], {"n": tf.VarLenFeature(tf.int64)})["n"]
        assert session.run(tf.sparse_tensor_to_dense(single) + 1).tolist() == [5, 6]
