"""Files of records: the names of tf.python_io, tf.train and tf.io."""

import pytest

import dualflow as df
import dualflow.compat.v1 as tf

FEATURES = {"a": tf.FixedLenFeature([2], tf.int64), "b": tf.FixedLenFeature([], tf.float32, 0.5),
            "c": tf.FixedLenSequenceFeature([], tf.float32, allow_missing=True)}


def example(numbers):
    ints, floats = tf.train.Int64List(value=numbers), tf.train.FloatList(value=[1., 2.])
    text = tf.train.BytesList(value=[b"text"])
    return tf.train.Example(features=tf.train.Features(feature={
        "a": tf.train.Feature(int64_list=ints), "c": tf.train.Feature(float_list=floats),
        "d": tf.train.Feature(bytes_list=text)}))


@pytest.mark.parametrize("kind", ["NONE", "ZLIB", "GZIP"])
def test_files(tmp_path, kind):
    path = str(tmp_path / "file")
    options = tf.python_io.TFRecordOptions(getattr(tf.python_io.TFRecordCompressionType, kind))
    with tf.python_io.TFRecordWriter(path, options) as writer:
        for k in range(3):
            writer.write(example([k, k]).SerializeToString())
    found = list(tf.python_io.tf_record_iterator(path, options))
    assert [tf.train.Example.FromString(x).features.feature["a"].int64_list.value[0]
            for x in found] == [0, 1, 2]
    dataset = tf.data.TFRecordDataset(path, "" if kind == "NONE" else kind)
    assert [bytes(x) for x in dataset] == found
    with tf.Graph().as_default(), tf.Session() as sess:
        parsed = sess.run(tf.parse_single_example(found[2], FEATURES))
        assert {key: x.tolist() for key, x in parsed.items()} == {"a": [2, 2], "b": 0.5,
                                                                  "c": [1, 2]}
        several = sess.run(tf.io.parse_example(found, {"a": FEATURES["a"]}))
    assert several["a"].tolist() == [[0, 0], [1, 1], [2, 2]]


def test_names():
    for name in ("FixedLenFeature", "FixedLenSequenceFeature", "VarLenFeature", "parse_example",
                 "parse_single_example", "parse_single_sequence_example", "decode_raw",
                 "decode_csv"):
        assert getattr(tf, name) is getattr(tf.io, name)
    for name in ("BytesList", "Example", "Feature", "FeatureList", "FeatureLists", "Features",
                 "FloatList", "Int64List", "SequenceExample"):
        assert getattr(tf.train, name) is getattr(df.train, name)
    for name in ("TFRecordCompressionType", "TFRecordOptions", "TFRecordWriter",
                 "tf_record_iterator"):
        assert getattr(tf.io, name) is getattr(tf.python_io, name)
