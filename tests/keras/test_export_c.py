"""Keras models exported as C."""

import numpy as np
import pytest

from dualflow import keras


def test_export_of_a_model(tmp_path):
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16, activation="relu"),
                              keras.layers.BatchNormalization(), keras.layers.Dropout(0.5),
                              keras.layers.Dense(4, activation="softmax")])
    before = model.predict(np.ones((2, 8), "float32"), verbose=0)
    model.export(tmp_path / "model", format="c", batch_size=(1, 32))
    header = (tmp_path / "model/model.h").read_text()
    assert "int model_predict_1(model *model, const float *x, float *result);" in header
    assert "int model_predict_32(model *model, const float *x, float *result);" in header
    assert "moving_mean: float32 (16,)" in header and "random_generator" not in header
    np.testing.assert_array_equal(model.predict(np.ones((2, 8), "float32"), verbose=0), before)


def test_several_inputs_and_outputs(tmp_path):
    a, b = keras.Input((8,), name="a"), keras.Input((3,), name="b")
    y = keras.layers.Dense(2)(keras.layers.Concatenate()([a, b]))
    keras.Model([a, b], {"y": y, "same": a}).export(tmp_path / "model", format="c")
    header = " ".join((tmp_path / "model/model.h").read_text().split())
    assert "const float *inputs_0, const float *inputs_1, float *same, float *y);" in header


def test_export_with_a_signature(tmp_path):
    model = keras.Sequential([keras.layers.Dense(2)])
    model.build((None, 5))
    model.export(tmp_path / "model", format="c",
                 input_signature=[keras.InputSpec(shape=(7, 5), dtype="float32")])
    assert "input x: float32 (7, 5)" in (tmp_path / "model/model.h").read_text()


def test_unknown_formats_are_passed_to_keras(tmp_path):
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
    with pytest.raises(ValueError, match="Unrecognized format"):
        model.export(tmp_path / "model", format="nothing")
