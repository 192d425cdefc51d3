"""Keras's quantised models: values of int8 layers, eager and traced, files, LoRA, calibration."""

import numpy as np
import pytest

import dualflow as df
from dualflow import keras
from dualflow.keras import layers

RNG = np.random.default_rng(0)
MODES = ["int8", "int4"]


def dense():
    tokens = keras.Input((6,), dtype="int32")
    x = layers.Embedding(20, 16)(tokens)
    x = layers.EinsumDense("btd,df->btf", (6, 16), bias_axes="f", activation="relu")(x)
    return keras.Model(tokens, layers.Dense(4)(x)), RNG.integers(0, 20, (48, 6)).astype("int32")


def attention():
    tokens = keras.Input((6,), dtype="int32")
    x = layers.Embedding(20, 16)(tokens)
    x = x + layers.MultiHeadAttention(2, 8)(x, x)
    return keras.Model(tokens, layers.Dense(4)(x)), RNG.integers(0, 20, (48, 6)).astype("int32")


MODELS = {"dense": dense, "attention": attention}


def reloaded(model, build, mode, path):
    """Save a model and load it. Keras's files of models lack the dtypes of the layers inside of
    MultiHeadAttention, on any backend; files of weights do not need them."""
    if build is dense:
        model.save(path / "model.keras")
        return keras.saving.load_model(path / "model.keras")
    model.save_weights(path / "model.weights.h5")
    new, _ = build()
    new.quantize(mode)
    new.load_weights(path / "model.weights.h5")
    return new


def quantised(build, mode):
    """Return a quantised model, its inputs, and the results before."""
    keras.utils.set_random_seed(0)
    model, x = build()
    plain = model.predict(x, verbose=0)
    model.quantize(mode)
    return model, x, plain


@pytest.fixture(params=MODES)
def mode(request):
    return request.param


@pytest.fixture(params=MODELS)
def build(request):
    return MODELS[request.param]


def test_eager_traced_and_saved(build, mode, tmp_path):
    model, x, plain = quantised(build, mode)
    traced = model.predict(x, batch_size=16, verbose=0)
    assert np.abs(traced - plain).max() < (.05 if mode == "int8" else .5) * np.abs(plain).max()
    assert (traced != plain).any()
    eager = np.concatenate([model(x[k:k + 16]).numpy() for k in range(0, len(x), 16)])
    np.testing.assert_array_equal(traced, eager)
    loaded = reloaded(model, build, mode, tmp_path)
    np.testing.assert_array_equal(loaded.predict(x, batch_size=16, verbose=0), traced)
    kernels = [w for w in loaded.weights if w.dtype in ("int8", "uint8")]
    assert kernels, "the weights are integers"


def test_int8_dense_is_a_product_of_integers():
    """Scales per column of the kernel and per row of the inputs, as Keras chooses them."""
    model, x, _ = quantised(lambda: (keras.Sequential([keras.Input((32,)), layers.Dense(8)]),
                                     RNG.normal(size=(5, 32)).astype("float32")), "int8")
    layer = model.layers[0]
    kernel, scale = layer._kernel.numpy(), layer.kernel_scale.numpy()
    assert kernel.dtype == np.int8 and scale.shape == (8,)
    to_int = np.float32(127) / (np.abs(x).max(1, keepdims=True) + np.float32(1e-7))
    rows = np.clip(np.rint(x * to_int), -127, 127).astype(np.int32)
    expected = (rows @ kernel.astype(np.int32)).astype(np.float32) / (scale * to_int)
    np.testing.assert_allclose(model.predict(x, verbose=0), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("run_eagerly", [True, False])
def test_lora_of_a_quantised_model_trains(build, mode, run_eagerly, tmp_path):
    model, x, _ = quantised(build, mode)
    names = (layers.Dense, layers.EinsumDense, layers.Embedding)
    adapted = [layer for layer in model.layers if isinstance(layer, names)]
    for layer in adapted:
        layer.enable_lora(2)
    assert len(model.trainable_variables) >= 2 * len(adapted)
    assert {v.dtype for v in model.trainable_variables} == {"float32"}
    y = RNG.normal(size=model.compute_output_shape((48, *x.shape[1:]))).astype("float32")
    model.compile(keras.optimizers.Adam(.02), "mse", run_eagerly=run_eagerly)
    losses = model.fit(x, y, epochs=4, batch_size=24, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    found = reloaded(model, build, mode, tmp_path).predict(x, verbose=0)
    before = model.predict(x, verbose=0)        # the file merges the adapters and rounds again
    assert np.abs(found - before).max() < (.1 if mode == "int8" else .6) * np.abs(before).max()


def test_other_layers_train_beside_quantised_ones():
    model, x, _ = quantised(dense, "int8")
    model = keras.Sequential([model, layers.Flatten(), layers.Dense(1)])
    model.compile(keras.optimizers.Adam(.05), "mse")
    before = [w.numpy() for w in model.layers[0].non_trainable_variables]
    losses = model.fit(x, x[:, :1] / 20, epochs=6, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    for w, value in zip(model.layers[0].non_trainable_variables, before, strict=True):
        np.testing.assert_array_equal(w.numpy(), value)


@pytest.mark.parametrize("method", ["gptq", "awq"])
def test_calibration(method):
    keras.utils.set_random_seed(0)
    tokens = keras.Input((8,), dtype="int32")
    embedded = layers.Embedding(16, 12, name="embedding")(tokens)
    block = keras.Sequential([keras.Input((8, 12)), layers.Dense(24, "relu"), layers.Dense(12)])
    model = keras.Model(tokens, layers.Dense(3)(block(embedded)))
    config_of = keras.quantizers.GPTQConfig if method == "gptq" else keras.quantizers.AWQConfig
    config = config_of(
        RNG.integers(0, 16, (4, 8)), lambda text: text, num_samples=4, sequence_length=8,
        group_size=-1,
        quantization_layer_structure={"pre_block_layers": [model.get_layer("embedding")],
                                      "sequential_blocks": [block]})
    x = RNG.integers(0, 16, (10, 8)).astype("int32")
    plain = model.predict(x, verbose=0)
    model.quantize(method, config=config)
    found = model.predict(x, verbose=0)
    assert 0 < np.abs(found - plain).max() < .3 * np.abs(plain).max()
    np.testing.assert_array_equal(found, model(x).numpy())


def test_fake_quantisation_of_keras_is_that_of_the_ops():
    x = RNG.normal(size=(6, 4)).astype("float32")
    own = df.quantization.fake_quant_with_min_max_args(x, -1., 2.)
    theirs = keras.quantizers.fake_quant_with_min_max_vars(x, -1., 2.)
    np.testing.assert_allclose(theirs.numpy(), own.numpy(), atol=3 / 255 + 1e-6)
    assert np.mean(theirs.numpy() == own.numpy()) > .9
