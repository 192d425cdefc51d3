"""Ten steps of the introductory programs match another Keras backend, if one is installed."""

import importlib.util
import json
import os
import subprocess
import sys

import pytest

OTHERS = [name for name in ("jax", "torch", "tensorflow") if importlib.util.find_spec(name)]

PROGRAM = r"""
import json, sys
import numpy as np
import keras
from keras import layers

rng = np.random.default_rng(0)
images, numbers = rng.normal(size=(32, 8, 8, 1)).astype("float32"), rng.integers(1, 20, (32, 7))
numbers[:, 5:] = 0


def attending():
    inputs = keras.Input((7,))
    x = layers.Embedding(20, 8)(inputs)
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 4)(x, x))
    return keras.Model(inputs, layers.Dense(3)(layers.GlobalAveragePooling1D()(x)))


def recurrent(layer, mask_zero):
    return keras.Sequential([keras.Input((7,)), layers.Embedding(20, 6, mask_zero=mask_zero),
                             layer, layers.Dense(3)])


PROGRAMS = {
    "dense": lambda: keras.Sequential([keras.Input((8, 8, 1)), layers.Flatten(),
                                       layers.Dense(16, "gelu"), layers.Dense(3)]),
    "convolutional": lambda: keras.Sequential([
        keras.Input((8, 8, 1)), layers.Conv2D(4, 3, strides=2, padding="same", activation="relu"),
        layers.BatchNormalization(), layers.Conv2DTranspose(3, 3, strides=2, padding="same"),
        layers.DepthwiseConv2D(3), layers.AveragePooling2D(2), layers.Flatten(), layers.Dense(3)]),
    "lstm": lambda: recurrent(layers.Bidirectional(layers.LSTM(4)), False),
    "masked gru": lambda: recurrent(layers.GRU(4), True),
    "transformer block": attending,
}


def losses(make, optimizer):
    model = make()
    for w in model.weights:
        scale = 1.0 if "variance" in w.path or "gamma" in w.path else 0.3
        value = np.random.default_rng(sum(w.shape)).normal(0, 0.3, w.shape)
        w.assign(scale + 0 * value if scale == 1.0 else value)
    model.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    x = images if len(model.input_shape) == 4 else numbers
    return [float(model.train_on_batch(x, np.arange(32) % 3)) for _ in range(10)]


print(json.dumps({name: losses(make, keras.optimizers.Adam(0.01))
                  for name, make in PROGRAMS.items()}))
"""


def run(backend):
    env = {**os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
    start = "import dualflow.keras\n" if backend == "dualflow" else ""
    done = subprocess.run([sys.executable, "-c", start + PROGRAM], env=env, capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.skipif(not OTHERS, reason="no other Keras backend is installed")
def test_ten_steps_match_another_backend():
    ours, theirs = run("dualflow"), run(OTHERS[0])
    for name, expected in theirs.items():
        assert ours[name] == pytest.approx(expected, rel=2e-4), name
        assert ours[name][-1] < ours[name][0], name
