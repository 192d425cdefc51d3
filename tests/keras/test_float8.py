"""Casts to float8 round to its values, for Keras's quantisation."""

import numpy as np
import pytest

import dualflow as df
from dualflow import keras
from dualflow.keras import layers

ml_dtypes = pytest.importorskip("ml_dtypes")
RNG = np.random.default_rng(0)
EDGES = [0., -0., 448., 463.99, 464., 465., 57344., 61439., 61440., np.inf, -np.inf, np.nan]
VALUES = np.concatenate([
    RNG.integers(0, 2**32, 50000, dtype=np.uint32).view("float32"), np.float32(EDGES),
    100 * RNG.normal(size=20000).astype("float32"), np.arange(-500, 500, .125, dtype="float32"),
    np.ldexp(np.arange(-64, 64), -12).astype("float32"),
    np.ldexp(np.arange(-64, 64), -19).astype("float32")])


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_values_are_those_of_ml_dtypes(name, dtype):
    x = df.cast(df.constant(VALUES), dtype)
    own = df.cast(x, df.float64).numpy()
    with np.errstate(all="ignore"):
        expected = own.astype(getattr(ml_dtypes, name)).astype("float64")
    for cast in (keras.ops.cast, df.function(keras.ops.cast)):
        found = cast(x, name)
        assert found.dtype.name == dtype
        np.testing.assert_array_equal(df.cast(found, df.float64).numpy(), expected)


def test_a_quantized_model_trains_and_predicts():
    keras.utils.set_random_seed(0)
    x = RNG.normal(size=(64, 8)).astype("float32")
    y = x @ RNG.normal(size=(8, 2)).astype("float32")
    model = keras.Sequential([keras.Input((8,)), layers.Dense(16, "relu"), layers.Dense(2)])
    plain = model.predict(x, verbose=0)
    model.quantize("float8")
    assert np.abs(model.predict(x, verbose=0) - plain).max() < .2 * np.abs(plain).max()
    model.compile(keras.optimizers.Adam(.01), "mse")
    losses = model.fit(x, y, epochs=8, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
