"""The training and prediction functions of examples/, small, on generated data of the same
shapes."""

import argparse
import functools
import importlib
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

import dualflow as df
from tests.language_models import LLAMA, write_model

FOLDER = Path(__file__).resolve().parents[2] / "examples"
OPTIONS = argparse.Namespace(seed=1, epochs=2, batch=8, hidden=16, channels=4, dropout=0.3,
                             learning_rate=3e-3, width=6, units=8, layers=2, span=5, rounds=1,
                             distributed=False)


@functools.cache
def module(name):
    """Import a module of examples/ with that folder on the path."""
    sys.path.insert(0, str(FOLDER))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(FOLDER))


def images(side, n=16):
    """Return pixels in [0, 1] of shape (n, side * side), and labels."""
    rng = np.random.default_rng(3)
    return (df.constant(rng.random((n, side * side), np.float32)),
            df.constant(rng.integers(0, 10, n), df.int32))


def codes(high, *shape):
    return df.constant(np.random.default_rng(4).integers(0, high, shape), df.int32)


def digits(side=8):
    x, y = images(side)
    training = module("digits").Training(x, y, OPTIONS, "graph")
    return {"train": (training.step, x[:8], y[:8]), "predict": (training.predict, x)}


def convnet():
    x, y = images(8)
    x = df.reshape(x, [-1, 8, 8, 1])
    training = module("convnet").Training(x, y, OPTIONS)
    return {"train": (training.step, x[:8], y[:8]), "predict": (training.predict, x)}


def chars():
    training = module("chars").Training(codes(20, 100).numpy(), 20, OPTIONS)
    return {"train": (training.step, codes(20, 5, 8), codes(20, 5, 8), training.writer.start(8)),
            "predict": (training.next, df.constant(3), training.writer.start(1),
                        df.constant(0.6))}


def gpt():
    gpt = module("gpt")
    model = gpt.GPT(64, 12, 2, 16, 2, 0.1)
    optimizer = df.optimizers.Adam(df.optimizers.schedules.CosineDecay(0.0, 10, 0.0, 1e-3, 2))
    return {"train": (gpt.training_step(model, optimizer), codes(64, 3, 13)),
            "predict": (df.function(model), codes(64, 1, 12)),
            "judge": (df.function(model.loss), codes(64, 2, 13))}


def lines():
    lines = module("lines")
    reader = lines.Reader(OPTIONS.width, OPTIONS.units)
    batch = codes(128, 4, 9), df.constant([9, 3, 1, 6])
    return {"train": (lines.training_step(reader, df.optimizers.Adam(0.01)), *batch,
                      df.constant([0., 1., 1., 0.])),
            "predict": (df.function(reader), *batch)}


def names():
    names = module("names")
    writer = names.Writer(OPTIONS.width, OPTIONS.units)
    words = df.constant(names.encoded(["sorted", "update", "write_text"]))
    return {"train": (names.training_step(writer, df.optimizers.Adam(0.01)), words),
            "judge": (df.function(writer.loss), words),
            "predict": (df.function(writer.likeliest), df.constant(7), 5)}


def burgers():
    burgers = module("burgers")
    model = burgers.Operator(burgers.SpectralLayer, 4, 3, 2)
    waves = df.constant(np.random.default_rng(5).normal(size=(2, 16)).astype("f4"))
    return {"train": (burgers.training_step(model, df.optimizers.Adam(0.01)), waves, waves),
            "predict": (df.function(model), waves)}


def keras_digits():
    keras = module("dualflow.keras")
    model = module("keras_digits").network()
    model.compile(keras.optimizers.Adam(2e-3),
                  keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    x, y = images(8)
    x = df.reshape(x, [-1, 8, 8, 1])
    return {"train": (df.function(lambda x, y: model.train_step((x, y))), x, y),
            "predict": (df.function(lambda x: model(x, training=False)), x[:3])}


def language_model():
    """Reading a prompt, and one step of decoding, with random weights."""
    example = module("language_model")
    folder = Path(tempfile.mkdtemp())
    write_model(example, folder, LLAMA)
    model = example.LanguageModel(folder, 8)
    shutil.rmtree(folder)                       # the weights stay mapped

    def logits(tokens, position):
        return model.forward(model.weights, tokens, position)

    return {"read": (df.function(logits), codes(37, 5), df.constant(0)),
            "step": (df.function(logits), codes(37, 1), df.constant(5))}


EXAMPLES = {"digits": digits, "mnist": functools.partial(digits, 28), "convnet": convnet,
            "chars": chars, "gpt": gpt, "lines": lines, "names": names,
            "burgers": burgers, "keras_digits": keras_digits, "language_model": language_model}
LIBRARIES = "keras", "sklearn", "tqdm", "matplotlib"        # needed by some of them


def functions_of(names):
    """Return the traced functions of some examples by name, and their arguments by name."""
    functions, given = {}, {}
    for name in names:
        for entry, (function, *args) in EXAMPLES[name]().items():
            functions[f"{name}_{entry}"] = function.get_concrete_function(*args)
            given[f"{name}_{entry}"] = [x for x in df.nest.flatten(args)
                                        if isinstance(x, df.Tensor)]
    return functions, given
