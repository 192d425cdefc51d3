"""Importing Keras with dualflow as its backend, and errors if that is impossible."""

import subprocess
import sys

import pytest

from dualflow import keras
from tests.light import environment


def run(program, *arguments, backend=None):
    """Run a program in a new process; return its output, or the last line of its error."""
    env = {k: v for k, v in environment().items() if k != "KERAS_BACKEND"}
    if backend is not None:
        env["KERAS_BACKEND"] = backend
    done = subprocess.run([sys.executable, *arguments, "-c", program] if program else
                          [sys.executable, *arguments], env=env, capture_output=True, text=True)
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


def test_both_imports_select_dualflow_without_side_effects():
    assert run("import os, sys, dualflow; before = 'keras' in sys.modules; import dualflow.keras; "
               "import keras; print(before, keras.backend.backend(), "
               "'KERAS_BACKEND' in os.environ)") == "False dualflow False"


def test_keras_is_imported_after_the_name_tensorflow_is_bound():
    assert run("import dualflow.tensorflow, dualflow.keras as keras; import tensorflow as tf; "
               "layer = tf.keras.layers.TextVectorization(vocabulary=['a']); "
               "print(layer(tf.constant(['b a'])).tolist(), "
               "keras.layers.RandomFlip()(keras.ops.ones((1, 2, 2, 3))).shape)"
               ) == "[[1, 2]] (1, 2, 2, 3)"


def test_another_backend_raises_and_is_named():
    error = run("import dualflow.keras", backend="jax")
    assert error.startswith("ImportError") and "KERAS_BACKEND is 'jax'" in error


def test_keras_imported_before_raises():
    error = run("import sys, types; config = types.ModuleType('config'); "
                "config.backend = lambda: 'numpy'; "
                "sys.modules['keras.src.backend.config'] = config; import dualflow.keras")
    assert error.startswith("ImportError") and "imported already, on 'numpy'" in error


def test_programs_run_by_python_m(tmp_path):
    (tmp_path / "beside.py").write_text("word = 'beside'")
    program = tmp_path / "program.py"
    program.write_text("import sys, keras, beside\n"
                       "print(keras.backend.backend(), beside.word, *sys.argv[1:], __name__)")
    assert run("", "-m", "dualflow.keras", str(program), "a", "b", backend="dualflow") == (
        "dualflow beside a b __main__")


def test_dualflow_keras_is_keras():
    import keras as plain

    from dualflow.keras import layers
    from dualflow.keras.layers import Dense

    assert keras.Model is plain.Model and layers is plain.layers and Dense is plain.layers.Dense
    assert "layers" in dir(keras) and keras.__version__ == plain.__version__
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = keras.nothing_like_it


def test_keras_classes_derive_from_the_backend():
    from dualflow.keras.src.trainer import Trainer
    from dualflow.keras.src.variable import Variable

    assert issubclass(keras.Variable, Variable) and issubclass(keras.Model, Trainer)


def test_dynamic_backend_knows_dualflow():
    from keras.src.utils.backend_utils import DynamicBackend

    switch = DynamicBackend()
    assert switch.name == "dualflow"
    assert switch.numpy.add(1, 2).item() == 3
    switch.set_backend("dualflow")
    with pytest.raises(ValueError, match="Available backends"):
        switch.set_backend("nothing")


def test_layers_are_built_for_any_batch():
    seen = []

    class Inner(keras.layers.Layer):
        def build(self, shape):
            seen.append(shape)
            self.w = self.add_weight(shape=(shape[-1], 2))

        def call(self, x):
            return x @ self.w

    class Outer(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def call(self, x):
            return self.inner(x)

    y = Outer()(keras.Input((None, 3)))
    assert seen == [(None, None, 3)] and y.shape == (None, None, 2)
