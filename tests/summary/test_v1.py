"""Summaries in TensorFlow 1's format, and their file writer."""

import io
import time

import numpy as np
import pytest

import dualflow as df
from dualflow.summary import v1
from dualflow.summary.graph_def import to_graph_def
from tests.summary.events import read, tensor_util

from tensorboard.compat.proto import config_pb2, event_pb2, summary_pb2  # isort: skip


def only(summary):
    (value,) = summary_pb2.Summary.FromString(summary).value
    return value


def test_scalar():
    for x in (.5, np.float32(.5), np.array([[.5]])):
        assert (only(v1.scalar("loss", x)).tag, only(v1.scalar("loss", x)).simple_value) == (
            "loss", .5)
    with pytest.raises(ValueError, match=r"summary.scalar: 'loss' has shape \(2,\)"):
        v1.scalar("loss", [1., 2.])


def test_histogram():
    x = np.concatenate([np.random.default_rng(1).standard_normal(500), [0., 0., 1e30, -1e30]])
    histo = only(v1.histogram("h", x)).histo
    assert (histo.num, histo.min, histo.max) == (504, -1e30, 1e30)
    assert histo.sum == x.sum() and histo.sum_squares == (x * x).sum()
    limits, counts = np.array(histo.bucket_limit), np.array(histo.bucket)
    assert len(limits) == len(counts) < 300 and counts.sum() == 504
    assert (np.diff(limits) > 0).all()
    assert (np.add.accumulate(counts) == [(x < b).sum() for b in limits]).all()
    assert ((counts[1:] > 0) | (counts[:-1] > 0)).all()     # successive empty buckets are merged
    assert only(v1.histogram("none", [])).histo.num == 0
    with pytest.raises(ValueError, match="Nan in summary histogram for: h"):
        v1.histogram("h", [1., np.nan])


def test_image():
    from PIL import Image

    x = np.random.default_rng(1).uniform(0, 4, [4, 3, 5, 3])
    values = summary_pb2.Summary.FromString(v1.image("im", x)).value
    assert [v.tag for v in values] == ["im/image/0", "im/image/1", "im/image/2"]
    shown = np.array(Image.open(io.BytesIO(values[0].image.encoded_image_string)))
    assert shown.shape == (3, 5, 3) and shown.max() >= 254
    assert np.abs(shown - x[0] * 255 / x[0].max()).max() <= 1.001
    assert (values[0].image.width, values[0].image.height) == (5, 3)
    assert only(v1.image("im", x - 2, max_outputs=1)).tag == "im/image"
    with pytest.raises(ValueError, match="'im' has shape"):
        v1.image("im", x[0])


def test_text():
    value = only(v1.text("t", [[b"a", "b"]]))
    assert value.metadata.plugin_data.plugin_name == "text"
    assert tensor_util.make_ndarray(value.tensor).tolist() == [[b"a", b"b"]]


def test_file_writer(tmp_path):
    """Write as TensorFlow 1 programs do: bytes and steps, with the graph at once or later."""
    g = df.Graph()
    with g.as_default():
        g.placeholder([2], name="x")
    with df.summary.FileWriter(tmp_path, g) as writer:
        merged = v1.merge([v1.scalar("a", 1.), v1.histogram("h", [1., 2.])])
        for k, summary in enumerate([merged, np.array(merged, object), np.frombuffer(merged, "u1"),
                                     summary_pb2.Summary.FromString(merged)]):
            writer.add_summary(summary, global_step=np.int64(k))
        writer.add_event(event_pb2.Event(wall_time=time.time(), step=9,
                                         summary=summary_pb2.Summary.FromString(merged)))
        writer.add_run_metadata(config_pb2.RunMetadata(), "step 3", 3)
        writer.add_graph(g, 4)
        writer.add_session_log(event_pb2.SessionLog(status=event_pb2.SessionLog.STOP), 1)
        assert writer.get_logdir() == str(tmp_path)
    found = read(tmp_path)
    assert [e.step for e in found.Scalars("a")] == [0, 1, 2, 3, 9]
    assert found.RunMetadata("step 3") == config_pb2.RunMetadata()
    assert found.Graph() == to_graph_def(g)[0]
