"""Keras's LossScaleOptimizer and its mixed precision policies against the rules of its
documentation."""

import numpy as np
import pytest

import dualflow as df
from dualflow import keras
from dualflow.keras import layers

WRAPS = pytest.mark.parametrize("wrap", [lambda f: f, df.function], ids=["eager", "traced"])


def scales_by_rule(finite, scale, growth):
    """Return the scale after each step."""
    found, count = [], 0
    for ok in finite:
        count = count + 1 if ok else 0
        if not ok:
            scale *= 0.5
        elif count == growth:
            scale, count = scale * 2, 0
        found.append(scale)
    return found


@WRAPS
@pytest.mark.parametrize("plain", [False, True])
def test_the_scale_follows_the_rule(wrap, plain):
    start = np.float32([1., 2.])
    v = df.Variable(start) if plain else keras.Variable(start)
    optimizer = keras.mixed_precision.LossScaleOptimizer(keras.optimizers.SGD(0.25),
                                                         initial_scale=64., dynamic_growth_steps=2)
    optimizer.build([v])

    @wrap
    def step(g):
        scaled = optimizer.scale_loss(g)
        optimizer.apply_gradients([(scaled, v)])

    finite = [True, True, False, True, True, True, False, False, True]
    want, scales = start.copy(), []
    for ok in finite:
        step(df.constant([1., -2.] if ok else [1., float("nan")], df.float32))
        want -= 0.25 * np.float32([1., -2.]) * ok
        scales.append(float(optimizer.dynamic_scale))
        np.testing.assert_array_equal(np.asarray(v), want)
    assert scales == scales_by_rule(finite, 64., 2)
    assert int(optimizer.iterations) == sum(finite)


@pytest.mark.parametrize("eagerly", [False, True])
def test_fit_in_float16(eagerly, tmp_path):
    """`compile` wraps the optimizer; one step with infinite gradients is skipped."""
    keras.utils.set_random_seed(1)
    keras.config.set_dtype_policy("mixed_float16")
    try:
        model = keras.Sequential([keras.Input((4,)), layers.Dense(8, "relu"),
                                  layers.Dense(1, dtype="float32")])
    finally:
        keras.config.set_dtype_policy("float32")
    optimizer = keras.mixed_precision.LossScaleOptimizer(
        keras.optimizers.SGD(0.01, momentum=0.5), initial_scale=2.**9, dynamic_growth_steps=4)
    model.compile(optimizer, "mse", run_eagerly=eagerly)
    x = np.random.default_rng(0).normal(size=(8, 4)).astype("float32")
    for _ in range(5):
        model.train_on_batch(x, x[:, :1])
    assert float(optimizer.dynamic_scale) == 2.**10 and int(optimizer.step_counter) == 1
    before = [np.asarray(w) for w in model.weights]
    model.train_on_batch(np.full_like(x, 6e4), x[:, :1])
    for a, b in zip(before, model.weights, strict=True):
        np.testing.assert_array_equal(a, np.asarray(b))
    assert float(optimizer.dynamic_scale) == 2.**9 and int(optimizer.step_counter) == 0
    assert int(optimizer.iterations) == 5
    model.train_on_batch(x, x[:, :1])

    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    for m in (model, again):
        for _ in range(4):
            m.train_on_batch(x, x[:, :1])
    assert float(again.optimizer.dynamic_scale) == float(optimizer.dynamic_scale) == 2.**10
    for a, b in zip(model.weights, again.weights, strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def test_compile_scales_the_loss_of_float16_only():
    for policy, scaled in (("mixed_float16", True), ("mixed_bfloat16", False)):
        inputs = keras.Input((3,))
        model = keras.Model(inputs, layers.Dense(2, dtype=policy)(inputs))
        model.dtype_policy = policy
        model.compile("sgd", "mse")
        assert isinstance(model.optimizer, keras.mixed_precision.LossScaleOptimizer) is scaled
