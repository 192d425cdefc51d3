"""Programs written for TensorFlow 1 run unchanged, and learn.

``python -m tests.programs_v1.test_programs`` runs them with TensorFlow itself (with tf_keras and
``TF_USE_LEGACY_KERAS=1``) and the same checks.
"""

import os
import runpy
import sys
import tempfile
import types
from pathlib import Path

import numpy as np
import pytest

import dualflow.compat.v1 as tf
from tests.programs_v1 import digits

HERE = Path(__file__).parent


def tags(found):
    """Return the contents of the event files of a program. As in TensorFlow, names differ by more
    than case: next to a scope "Loss", "loss" becomes "loss_1"."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    read = EventAccumulator(found["logs_path"])
    read.Reload()
    return read


def basic(v):
    read = tags(v)
    losses = [event.value for event in read.Scalars("loss_1")]
    assert len(losses) == 20 and losses[-1] < 0.5 * losses[0]
    assert [event.step for event in read.Scalars("accuracy_1")] == list(range(20))
    names = {node.name for node in read.Graph().node}
    assert {"InputData", "LabelData", "Weights", "Bias"} <= names
    assert {name.split("/")[0] for name in names} >= {"Model", "Loss", "SGD", "Accuracy"}


def advanced(v):
    read = tags(v)
    assert len(read.Scalars("loss_1")) == 30 and read.Scalars("loss_1")[-1].value < 1.2
    assert {"Model/relu1", "Model/relu2", "W1_0", "b3_0", "W1_0/gradient"} <= set(
        read.Tags()["histograms"])
    assert read.Tags()["images"] == ["input/image/0", "input/image/1"]


CHECKS = {
    "hello_world": lambda v: (v["said"], v["sums"], v["fed"], v["matrix"].tolist()) == (
        b"Hello, TensorFlow!", (5, 6), [5, 6], [[12.]]),
    "linear_regression": lambda v: v["training_cost"] < 0.02 and np.allclose(
        v["found"], [0.4, 1.5], atol=0.15),
    "logistic_regression": lambda v: v["found"] > 0.9,
    "nearest_neighbour": lambda v: v["accuracy"] > 0.9,
    "mlp_raw": lambda v: v["found"] > 0.9,
    "mlp_layers": lambda v: v["found"] > 0.9 and v["steps"] == 120 and np.isclose(
        v["last_rate"], 0.01 * 0.8 ** 2.4),
    "convnet_raw": lambda v: v["found"] > 0.85,
    "convnet_layers": lambda v: v["found"] > 0.85 and v["n_variables"] == 8,
    "autoencoder": lambda v: v["losses"][-1] < 0.7 * v["losses"][0],
    "variational_autoencoder": lambda v: v["losses"][-1] < 0.8 * v["losses"][0] and (
        v["pictures"].shape == (9, 784) and np.all(np.abs(v["pictures"] - 0.5) <= 0.5)),
    "gan": lambda v: np.allclose(v["samples"].mean(0), [2., -1.], atol=0.5),
    "dcgan": lambda v: v["disc_losses"][-1] < v["disc_losses"][0] and (
        np.isfinite(v["gen_losses"]).all() and v["pictures"].shape == (32, 28, 28, 1)),
    "word2vec": lambda v: all(last < 0.7 * first and near > 0.6
                              for first, last, near in v["found"].values()),
    "rnn_static": lambda v: v["found"] > 0.8,
    "rnn_dynamic": lambda v: v["found"] > 0.9 and np.allclose(v["a"], v["b"]),
    "save_restore": lambda v: v["restored"] == v["before"] and v["after"] < v["before"] and (
        v["kept"], v["steps"]) == (["model.ckpt-20", "model.ckpt-30"], 50),
    "tensorboard_basic": lambda v: basic(v) is None,
    "tensorboard_advanced": lambda v: advanced(v) is None,
}


@pytest.mark.parametrize("name", CHECKS)
def test_program(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tf.reset_default_graph()
    found = runpy.run_path(str(HERE / f"{name}.py"))
    assert CHECKS[name](found), {key: x for key, x in found.items() if np.ndim(x) == 0}


def test_every_program_has_a_check():
    programs = [p.stem for p in HERE.glob("*.py") if "tf.Session() as sess:" in p.read_text()
                and p != Path(__file__)]
    assert sorted(programs) == sorted(CHECKS)
    for name in CHECKS:
        assert (HERE / f"{name}.py").read_text().startswith("import dualflow.compat.v1 as tf\n")


@pytest.mark.skipif(digits.mnist() is None, reason="MNIST is not available")
def test_real_digits(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    both = digits.mnist()
    monkeypatch.setattr(digits, "digits", lambda n, size=28, seed=0: both[seed])
    for name, wanted in (("mlp_raw", 0.8), ("convnet_raw", 0.75)):
        tf.reset_default_graph()
        assert runpy.run_path(str(HERE / f"{name}.py"))["found"] > wanted


def run_with_tensorflow(names):
    """Run programs with TensorFlow and print whether their checks pass."""
    import tensorflow.compat.v1 as tensorflow

    tensorflow.disable_eager_execution()
    tensorflow.contrib = types.SimpleNamespace(rnn=types.SimpleNamespace(
        BasicLSTMCell=tensorflow.nn.rnn_cell.BasicLSTMCell, static_rnn=tensorflow.nn.static_rnn))
    for name in names or CHECKS:
        text = (HERE / f"{name}.py").read_text()
        code = text.replace("import dualflow.compat.v1 as tf",
                            "import tensorflow.compat.v1 as tf", 1)
        tensorflow.reset_default_graph()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            found: dict = {"__name__": name}
            exec(compile(code, name, "exec"), found)
            passed = CHECKS[name](found)
        sys.stderr.write(f"{name}: {'passed' if passed else 'FAILED'}\n")


if __name__ == "__main__":
    run_with_tensorflow(sys.argv[1:])
