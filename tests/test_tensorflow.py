"""Programs for TensorFlow run unmodified: `python -m dualflow.tensorflow PROGRAM`."""

import importlib.util
import json
import subprocess
import sys

import pytest

PROGRAM = """
import sys
import dualflow.tensorflow
import tensorflow as tf
import tensorflow.compat.v1 as tf1

assert tf.__version__ >= "2.8" and int(tf.__version__.split(".")[1]) >= 8
print(sys.argv[1:], tf.reduce_sum([1, 2]).numpy(), tf.compat.v1.placeholder is tf1.placeholder)
print(tf.zeros([2, 3]).shape.as_list(), tf.nn.relu(-1.).numpy())
from tensorflow.nn import softmax
for path in ("distribute.MirroredStrategy", "compat.v1.estimator"):
    try:
        exec(f"tf.{path}")
    except AttributeError as error:
        assert "MPI" in str(error) or "Keras" in str(error), error
dualflow.tensorflow.missing.clear()
for _ in range(2):
    try:
        tf.absent_name
    except AttributeError as error:
        print(error)
try:
    from tensorflow.absent import names
except ImportError as error:
    print("import:", error)
"""

KERAS = """
{first}
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras.layers import Dense
import tensorflow.keras.backend as K

assert keras.layers.Dense is Dense is tf.keras.layers.Dense
import keras as other
assert other.layers.Dense is Dense and other.backend.backend() == "dualflow"
assert tf.losses.MSE is tf.keras.losses.mean_squared_error is tf.keras.metrics.mean_squared_error
assert tf.metrics.BinaryAccuracy is keras.metrics.BinaryAccuracy
assert tf.keras.saving.register_keras_serializable and tf.keras.__version__ == other.__version__
assert not hasattr(tf.keras.losses, "absent_loss")
x = K.square(K.transpose(tf.constant([[1., 2.]])))      # deprecated functions
assert x.numpy().tolist() == [[1.], [4.]] and K.mean(x, axis=0).numpy() == 2.5
assert keras.layers.AlphaDropout(.5)(tf.ones([2, 3]), training=True).shape == (2, 3)
model = keras.Sequential([Dense(2), Dense(1)])
model.compile("sgd", tf.keras.losses.MSE)
data = tf.data.Dataset.from_tensor_slices((tf.ones([8, 3]), tf.zeros([8, 1]))).batch(4)
print(len(model.fit(data, epochs=2, verbose=0).history["loss"]))
"""


FIRST = """
import sys
import tensorflow as tf
from tensorflow.contrib import layers
import tensorflow.compat.v1 as tf1

x = tf.placeholder(tf.float32, [None, 2])
with tf.Session() as sess:
    print(sys.argv[1:], tf.__version__, sess.run(layers.flatten(x), {x: [[1., 2.]]}))
y = tf.constant([[1., 2.]])
loss = tf.losses.mean_squared_error(tf.zeros_like(y), y)
assert loss.shape == () and tf.losses.get_losses() == [loss] and tf.metrics.accuracy
assert tf1.placeholder is tf.placeholder and tf.compat.v2.constant(1.).numpy() == 1.
"""


def run(path, *arguments, options=()):
    return subprocess.run([sys.executable, "-m", "dualflow.tensorflow", *options, str(path),
                           *arguments],
                          capture_output=True, text=True, check=False, timeout=300)


def test_program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    made = run(path, "--rate", "3")
    assert made.returncode == 0, made.stderr
    lines = made.stdout.splitlines()
    assert lines[:2] == ["['--rate', '3'] 3 True", "[2, 3] 0.0"]
    assert lines[2].startswith("tensorflow.absent_name is not in dualflow: ")
    assert lines[4].startswith("import: tensorflow.absent is not in dualflow")
    names = made.stderr.split("uses:\n")[1].splitlines()
    assert names[0].split() == ["2", "tensorflow.absent_name", f"{path}:19"]
    assert names[1].split() == ["1", "tensorflow.absent", f"{path}:23"]


def test_program_for_tensorflow_1(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(FIRST)
    made = run(path, "--rate", "3", options=["--v1"])
    assert (made.returncode, made.stdout) == (0, "['--rate', '3'] 1.15.0 [[1. 2.]]\n"), made.stderr


def test_programs_without_missing_names_print_nothing_else(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("import tensorflow as tf, sys\nprint(tf.exp(0.).numpy())\nsys.exit(3)\n")
    made = run(path)
    assert (made.returncode, made.stdout, made.stderr) == (3, "1.0\n", "")
    assert "usage" in subprocess.run([sys.executable, "-m", "dualflow.tensorflow"], check=False,
                                     capture_output=True, text=True).stderr


def test_notebook(tmp_path):
    path = tmp_path / "notebook.ipynb"
    path.write_text(json.dumps({"cells": [
        {"cell_type": "markdown", "source": ["# A title"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "!pip install tensorflow\n",
                                         "import tensorflow as tf\n", "x = tf.constant(1)"]},
        {"cell_type": "code", "source": "if True:\n    !echo a \\\n  b\nfiles = !ls\n%time x"},
        {"cell_type": "code", "source": "%%bash\necho a\n  b"},
        {"cell_type": "code", "source": "%%time\nz = 3"},
        {"cell_type": "code", "source": "print('%d'\n      %(x + 1).numpy())"}]}))
    made = run(path)
    assert (made.returncode, made.stdout) == (0, "2\n"), made.stderr


@pytest.mark.skipif(importlib.util.find_spec("keras") is None, reason="no Keras")
@pytest.mark.parametrize("first", ["", "import keras"])
def test_keras(tmp_path, first):
    path = tmp_path / "program.py"
    path.write_text(KERAS.format(first=first))
    made = run(path)
    assert (made.returncode, made.stdout) == (0, "2\n"), made.stderr
