"""The TensorBoard callback of Keras writes by df.summary."""

import importlib.util
import json

import numpy as np
import pytest

import dualflow as df
from dualflow import keras
from dualflow.keras import layers
from tests.summary import events

pytestmark = pytest.mark.skipif(importlib.util.find_spec("tensorflow") is not None,
                                reason="Keras uses TensorFlow")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 3)).astype("float32")
Y = RNG.normal(size=(24, 2)).astype("float32")


def trained(path, layer=None, **options):
    """Train two epochs of three batches with the callback; return the history."""
    model = keras.Sequential([keras.Input((3,)), layer or layers.Dense(4), layers.Dense(2)])
    model.compile(keras.optimizers.SGD(.1), "mse")
    callback = keras.callbacks.TensorBoard(path, **options)
    return model.fit(X, Y, epochs=2, batch_size=8, validation_data=(X, Y), verbose=0,
                     callbacks=[callback]).history


def test_metrics_of_epochs(tmp_path):
    history = trained(tmp_path)
    for run, tag, key in [("train", "epoch_loss", "loss"), ("validation", "epoch_loss", "val_loss"),
                          ("train", "epoch_learning_rate", None)]:
        expected = [.1, .1] if key is None else history[key]
        found = events.numbers(tmp_path / run, tag)
        assert [step for step, _ in found] == [0, 1]
        assert [value for _, value in found] == pytest.approx(expected, rel=1e-6)
    steps = events.numbers(tmp_path / "validation", "evaluation_loss_vs_iterations")
    assert [step for step, _ in steps] == [3, 6]


def test_metrics_of_batches(tmp_path):
    trained(tmp_path, update_freq="batch")
    assert [step for step, _ in events.numbers(tmp_path / "train", "batch_loss")] == [
        1, 2, 3, 4, 5, 6]


def test_summaries_inside_a_layer(tmp_path):
    class Watched(layers.Dense):
        def call(self, x):
            y = super().call(x)
            df.summary.scalar("mean", df.reduce_mean(y))
            return y

    trained(tmp_path, Watched(4), update_freq="batch")
    found = events.read(tmp_path / "train").Tags()["tensors"]
    assert [tag for tag in found if tag.endswith("mean")]


def test_conceptual_graph(tmp_path):
    trained(tmp_path, layers.Dense(4, name="hidden"))
    text = events.tensors(tmp_path / "train", "keras")[0].item()
    assert "hidden" in [layer["config"]["name"] for layer in json.loads(text)["config"]["layers"]]
    accumulator = events.read(tmp_path / "train")
    assert accumulator.SummaryMetadata("keras").plugin_data.plugin_name == "graph_keras_model"


class Unnamed(layers.Layer):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def call(self, x):
        return self.function(x)


def test_a_model_without_a_configuration_warns(tmp_path):
    with pytest.warns(UserWarning, match="the model is not drawn"):
        trained(tmp_path, Unnamed(keras.ops.relu))
    assert len(events.numbers(tmp_path / "train", "epoch_loss")) == 2


def test_without_a_graph(tmp_path):
    trained(tmp_path, write_graph=False)
    assert "keras" not in events.read(tmp_path / "train").Tags()["tensors"]


def test_weights_as_histograms_and_images(tmp_path):
    trained(tmp_path, layers.Dense(4, name="hidden"), histogram_freq=1, write_images=True)
    tags = events.read(tmp_path / "train").Tags()["tensors"]
    for name in ("kernel", "bias"):
        assert any(tag.endswith(f"{name}/histogram") for tag in tags)
        assert any(tag.endswith(f"{name}/image") for tag in tags)


def test_profiles_are_rejected(tmp_path):
    with pytest.raises(ValueError, match="Profiling is not yet available"):
        keras.callbacks.TensorBoard(tmp_path, profile_batch=1)
