"""Composed functions of neural networks against NumPy, and their bad input."""

import numpy as np
import pytest

import dualflow as df


def normal(*shape):
    return np.random.default_rng(0).normal(size=shape)


def test_bias_add():
    x, b = normal(2, 3, 4), np.arange(4.)
    np.testing.assert_array_equal(df.nn.bias_add(x, b).numpy(), x + b)
    np.testing.assert_array_equal(df.nn.bias_add(x, b[:3], "NCHW").numpy(), x + b[:3, None])
    with pytest.raises(df.errors.ShapeError, match=r"value has shape \(2, 3, 4\) and bias \(3,\)"):
        df.nn.bias_add(x, b[:3])
    with pytest.raises(df.errors.InvalidArgumentError, match="data_format is 'HW'"):
        df.nn.bias_add(x, b, "HW")


def test_moments():
    x = normal(4, 5, 6)
    mean, variance = df.nn.moments(x, (0, 2), keepdims=True)
    np.testing.assert_allclose(mean.numpy(), x.mean((0, 2), keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(variance.numpy(), x.var((0, 2), keepdims=True), rtol=1e-12)


def test_norms():
    x = normal(4, 5)
    np.testing.assert_allclose(df.nn.l2_loss(x).numpy(), np.sum(x * x) / 2, rtol=1e-12)
    np.testing.assert_allclose(df.nn.l2_normalize(x, 1).numpy(),
                               x / np.linalg.norm(x, axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_array_equal(df.nn.l2_normalize(np.zeros(3)).numpy(), np.zeros(3))


def test_layer_and_batch_norm():
    x, scale, offset = normal(4, 5), np.arange(5.), np.arange(5.) - 2
    centred = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(df.nn.layer_norm(x).numpy(), centred, rtol=1e-10)
    np.testing.assert_allclose(df.nn.layer_norm(x, scale, offset).numpy(),
                               centred * scale + offset, rtol=1e-10)
    got = df.nn.batch_normalization(x, x.mean(0), x.var(0), offset, scale, 1e-3).numpy()
    want = (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-3) * scale + offset
    np.testing.assert_allclose(got, want, rtol=1e-10)


def test_dropout():
    x = df.ones([100, 50])
    y = df.nn.dropout(x, 0.25, seed=3).numpy()
    assert set(np.unique(y)) == {np.float32(0), np.float32(1 / 0.75)}
    assert 0.7 < np.mean(y != 0) < 0.8
    np.testing.assert_array_equal(df.nn.dropout(x, 0.25, seed=3).numpy(), y)
    rows = df.nn.dropout(x, 0.5, noise_shape=[100, 1], seed=3).numpy()
    assert np.all(rows == rows[:, :1])
    assert df.nn.dropout(x, 0) is x
    with pytest.raises(df.errors.InvalidArgumentError, match="expected a number >= 0 and < 1"):
        df.nn.dropout(x, 1)


def test_gradient_of_dropout():
    x = df.ones([20])
    with df.GradientTape() as tape:
        tape.watch(x)
        y = df.nn.dropout(x, 0.5, seed=1)
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), y.numpy())
