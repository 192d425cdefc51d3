"""Compares Keras on dualflow with JAX, PyTorch and TensorFlow: a step of `fit`, a first epoch.

    python asv_bench/keras_side_by_side.py [--python jax=PATH] [--rounds N]

Each backend runs in a separate process, one after the other, in several rounds. Figures are medians
of the rounds; a round's figure is its best epoch, divided by the number of steps. Backends that are
not installed are omitted; `--python BACKEND=PATH` is the interpreter of another environment. The
share is our time over that of the fastest other backend.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

BACKENDS = ["dualflow", "jax", "torch", "tensorflow"]
BATCH = 32
# Name, rows, epochs and the target for the share.
WORK = {"64-64-10": (1797, 8, 0.35), "784-128-10": (3200, 6, 0.6),
        "convolutional, 28x28": (640, 4, 0.8), "LSTM, 40 steps": (640, 4, 0.8),
        "digits, first epoch": (1797, 1, 0.1)}


def models(keras):
    """Return a constructor of each model, and the shape of its rows."""
    layers = keras.layers

    def dense(*sizes):
        return keras.Sequential([keras.Input(sizes[:1]), layers.Dense(sizes[1], "relu"),
                                 layers.Dense(sizes[2], "softmax")])

    def convolutional():
        return keras.Sequential([
            keras.Input((28, 28, 1)), layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(), layers.Conv2D(64, 3, activation="relu"),
            layers.MaxPooling2D(), layers.Flatten(), layers.Dense(10, "softmax")])

    def recurrent():
        return keras.Sequential([keras.Input((40,)), layers.Embedding(1000, 32), layers.LSTM(32),
                                 layers.Dense(10, "softmax")])

    return {"64-64-10": (lambda: dense(64, 64, 10), (64,)),
            "784-128-10": (lambda: dense(784, 128, 10), (784,)),
            "convolutional, 28x28": (convolutional, (28, 28, 1)),
            "LSTM, 40 steps": (recurrent, (40,)),
            "digits, first epoch": (lambda: dense(64, 64, 10), (64,))}


def timed(backend):
    """Return the seconds of a step, or of the first epoch, by name."""
    if backend != "dualflow":
        os.environ["KERAS_BACKEND"] = backend
    import numpy as np

    if backend == "dualflow":
        import dualflow.keras as keras
    else:
        import keras

    class Clock(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            self.start = time.perf_counter()

        def on_epoch_end(self, epoch, logs=None):
            seconds.append(time.perf_counter() - self.start)

    found, rng = {}, np.random.default_rng(0)
    for name, (make, shape) in models(keras).items():
        rows, epochs, _ = WORK[name]
        x = (rng.integers(0, 1000, (rows, *shape)) if "LSTM" in name
             else rng.normal(size=(rows, *shape)).astype("float32"))
        model, seconds = make(), []
        model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
        model.fit(x, rng.integers(0, 10, rows), batch_size=BATCH, epochs=epochs, verbose=0,
                  callbacks=[Clock()])
        found[name] = seconds[0] if epochs == 1 else min(seconds[1:]) / -(-rows // BATCH)
    return found


def ask(python, backend):
    """Return the result of a separate process, or None if it cannot run the backend."""
    root = str(Path(__file__).resolve().parent.parent)
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    env = {k: v for k, v in os.environ.items() if k not in ("KERAS_BACKEND", "PYTHONPATH")}
    env |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}
    if python == sys.executable:
        env["PYTHONPATH"] = path
    done = subprocess.run([python, __file__, "--worker", backend], env=env, capture_output=True,
                          text=True)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", action="append", default=[])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--worker")
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(timed(options.worker)))
        return
    pythons = dict.fromkeys(BACKENDS, sys.executable)
    pythons.update(given.split("=", 1) for given in options.python)
    found = {backend: [] for backend in BACKENDS}
    for _ in range(options.rounds):
        for backend, runs in found.items():
            if runs is not None and None not in runs:
                runs.append(ask(pythons[backend], backend))
    there = {b: runs for b, runs in found.items() if None not in runs}
    print(f"{'':22}", *[f"{b:>11}" for b in there], f"{'share':>7}{'aim':>7}", sep="")
    for name, (_, _, aim) in WORK.items():
        us = {b: statistics.median(run[name] for run in runs) * 1e6 for b, runs in there.items()}
        others = [t for b, t in us.items() if b != "dualflow"]
        share = f"{us['dualflow'] / min(others):7.2f}" if others else f"{'':7}"
        print(f"{name:22}", *[f"{t:11.1f}" for t in us.values()], f"{share}{aim:7.2f}", sep="")


if __name__ == "__main__":
    main()
