"""Keras models exported to other formats."""

import pytest

pytest.importorskip("onnx")

import numpy as np
import onnx.reference

from dualflow import keras


def normal(*shape):
    return np.random.default_rng(0).normal(size=shape).astype("float32")


def sequential():
    return keras.Sequential([keras.Input((8, 8, 3)), keras.layers.Conv2D(4, 3, activation="relu"),
                             keras.layers.BatchNormalization(), keras.layers.MaxPooling2D(),
                             keras.layers.Flatten(), keras.layers.Dropout(0.5),
                             keras.layers.Dense(5, activation="softmax")]), [normal(2, 8, 8, 3)]


def two_inputs():
    a, b = keras.Input((6, 4), name="a"), keras.Input((4,), name="b")
    x = keras.layers.MultiHeadAttention(2, 3)(a, a)
    x = keras.layers.LayerNormalization()(x)
    x = keras.layers.GlobalAveragePooling1D()(x) + keras.layers.Dense(4, "gelu")(b)
    return keras.Model({"a": a, "b": b}, x), [normal(3, 6, 4), normal(3, 4)]


def subclassed():
    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(3)

        def call(self, x):
            return self.dense(x) / x.shape[0]
    model = Net()
    model(normal(2, 4))
    return model, [normal(5, 4)]


@pytest.mark.parametrize("make", [sequential, two_inputs, subclassed])
def test_onnx(make, tmp_path):
    model, arrays = make()
    path = tmp_path / "model.onnx"
    model.export(path, format="onnx")
    evaluator = onnx.reference.ReferenceEvaluator(str(path))
    given = dict(zip(evaluator.input_names, arrays, strict=True))
    named = dict(zip("ab", arrays, strict=False)) if len(arrays) > 1 else arrays[0]
    want = keras.ops.convert_to_numpy(model(named, training=False))
    np.testing.assert_allclose(evaluator.run(None, given)[0], want, rtol=1e-4, atol=1e-5)
    sizes = onnx.load(path).graph.input[0].type.tensor_type.shape.dim
    assert make is subclassed or sizes[0].dim_param


def test_unknown_arguments_raise(tmp_path):
    model, _ = sequential()
    with pytest.raises(ValueError, match="opset_version"):
        model.export(tmp_path / "model.onnx", format="onnx", opset_version=9)
    with pytest.raises(ValueError, match="Unrecognized format"):
        model.export(tmp_path / "model", format="nothing")
