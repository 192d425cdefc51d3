"""Complex tensors in the functions of the backend."""

import numpy as np
import pytest

import dualflow as df
import dualflow.keras as keras

ops = keras.ops
Z = np.array([1 + 2j, 3 - 4j, 2], "complex64")


def test_conversion():
    assert ops.convert_to_tensor(1j).dtype is ops.convert_to_tensor([1, 2j]).dtype is df.complex64
    assert ops.convert_to_tensor(Z).dtype is df.complex64
    assert ops.convert_to_tensor(1.5, "complex128").dtype is df.complex128
    assert ops.convert_to_tensor([1, 2j], "complex128").numpy().tolist() == [1, 2j]
    assert keras.backend.standardize_dtype(df.complex64) == "complex64"
    assert ops.cast(Z, "complex128").dtype is df.complex128
    assert (ops.ones((2,)) * 1j).dtype is df.complex64
    v = keras.Variable(Z)
    assert ops.convert_to_numpy(v).tolist() == Z.tolist()
    assert ops.add(v, 1).dtype is df.complex64


@pytest.mark.parametrize("name", [
    "real", "imag", "conj", "conjugate", "angle", "absolute", "isreal", "isfinite", "isnan",
    "isinf", "negative", "square", "sum", "mean", "nan_to_num", "nansum", "sign", "round"])
def test_functions(name):
    np.testing.assert_allclose(getattr(ops, name)(Z), getattr(np, name)(Z), rtol=1e-6)


def test_functions_of_two():
    for name in ("add", "subtract", "multiply", "divide", "equal", "not_equal", "isclose"):
        np.testing.assert_allclose(getattr(ops, name)(Z, Z[::-1]), getattr(np, name)(Z, Z[::-1]),
                                   rtol=1e-6)
    assert bool(ops.all(ops.isclose(Z, Z * (1 + 1e-7))))
    assert not bool(ops.any(ops.isclose(Z, Z + 1j)))


def test_views():
    pairs = np.array([[1, 2], [3, -4]], "float32")
    z = ops.view_as_complex(pairs)
    assert z.numpy().tolist() == [1 + 2j, 3 - 4j]
    np.testing.assert_array_equal(ops.view_as_real(z), pairs)
    np.testing.assert_array_equal(ops.real(np.float32(2)), 2)


@pytest.mark.parametrize("name", ["trunc", "floor", "isposinf", "argmax", "relu", "softmax"])
def test_refused(name):
    with pytest.raises(TypeError, match=r"df\.math\.real"):
        getattr(ops, name)(Z)


def test_gradients_of_remat():
    f = keras.remat(lambda x: x * ops.conj(x) * (1 + 1j))
    x = df.constant(Z)
    with df.GradientTape(persistent=True) as tape:
        tape.watch(x)
        plain = df.reduce_sum(df.abs(x * df.math.conj(x) * (1 + 1j)))
        again = df.reduce_sum(df.abs(f(x)))
    np.testing.assert_allclose(tape.gradient(again, x), tape.gradient(plain, x))


def test_losses_and_metrics_refuse_complex_numbers():
    """Keras converts arguments of losses and metrics to a real dtype."""
    real, words = np.real(Z), r"convert_to_tensor: .*complex64.*df\.math\.real"
    for loss in (keras.losses.MeanSquaredError(), keras.losses.BinaryCrossentropy()):
        for args in ((real, Z), (Z, real)):
            with pytest.raises(df.errors.DTypeError, match=words):
                loss(*args)
    with pytest.raises(df.errors.DTypeError, match=r"complex64.*df\.math\.real"):
        keras.metrics.AUC().update_state(real > 1, Z)
