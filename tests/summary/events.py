"""Reads event files with tensorboard's own reader."""

import pytest

tensorboard = pytest.importorskip("tensorboard")

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # noqa: E402
from tensorboard.compat.proto import config_pb2  # noqa: E402
from tensorboard.util import tensor_util  # noqa: E402


def read(logdir):
    """Return the contents of a run's directory."""
    return EventAccumulator(str(logdir), size_guidance=dict.fromkeys(
        ["tensors", "scalars", "histograms", "images"], 0)).Reload()


def tensors(logdir, tag):
    """Return {step: array} of a tag."""
    return {e.step: tensor_util.make_ndarray(e.tensor_proto) for e in read(logdir).Tensors(tag)}


def numbers(logdir, tag):
    """Return [(step, value)] of a tag in the order of writing."""
    return [(e.step, tensor_util.make_ndarray(e.tensor_proto).item())
            for e in read(logdir).Tensors(tag)]


def run_metadata(logdir, tag):
    """Return the RunMetadata that `trace_export` wrote."""
    (data,) = tensors(logdir, tag).values()
    return config_pb2.RunMetadata.FromString(data.item())
