"""Models with sparse inputs match models with the dense tensors."""

import numpy as np
import pytest

import dualflow as df
from dualflow import keras

RNG = np.random.default_rng(3)
X = (RNG.normal(size=(21, 6)) * (RNG.random((21, 6)) < .3)).astype("float32")
Y = RNG.normal(size=(21, 2)).astype("float32")
SPARSE = df.sparse.from_dense(X)


def made(sparse):
    keras.utils.set_random_seed(4)
    x = keras.Input((6,), sparse=sparse)
    y = keras.layers.Dense(2)(keras.layers.Dense(5, "tanh")(x))
    model = keras.Model(x, y)
    model.compile(keras.optimizers.SGD(.1), "mse")
    return model


def test_models_of_sparse_inputs():
    sparse, dense = made(True), made(False)
    assert sparse.inputs[0].sparse and not sparse.outputs[0].sparse
    np.testing.assert_allclose(sparse(SPARSE), dense(X), rtol=1e-5, atol=1e-6)
    whole = df.SparseTensor(SPARSE.indices, df.cast(SPARSE.values, "int64"), X.shape)    # cast
    np.testing.assert_allclose(sparse(whole), dense(np.trunc(X)), rtol=1e-5, atol=1e-6)
    options = {"batch_size": 4, "verbose": 0}
    for y, weights in ((Y, None), (Y, np.linspace(.5, 2., 21, dtype="float32"))):
        found = [model.fit(x, y, sample_weight=weights, epochs=3, shuffle=False,
                           **options).history["loss"]
                 for model, x in ((sparse, SPARSE), (dense, X))]
        np.testing.assert_allclose(*found, rtol=1e-4)
    np.testing.assert_allclose(sparse.predict(SPARSE, **options), dense.predict(X, **options),
                               rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(sparse.evaluate(SPARSE, Y, **options),
                               dense.evaluate(X, Y, **options), rtol=1e-4)
    data = df.data.Dataset.from_tensor_slices((SPARSE, Y)).batch(4)
    np.testing.assert_allclose(sparse.evaluate(data, verbose=0),
                               dense.evaluate(X, Y, **options), rtol=1e-4)
    before = float(sparse.evaluate(SPARSE, Y, **options))
    sparse.fit(SPARSE, Y, epochs=20, validation_data=(SPARSE, Y), **options)       # shuffled
    assert sparse.evaluate(SPARSE, Y, **options) < before


def test_sparse_values_of_functions():
    ops = keras.ops
    assert ops.is_tensor(SPARSE) and ops.convert_to_tensor(SPARSE) is SPARSE
    np.testing.assert_array_equal(ops.convert_to_tensor(SPARSE, sparse=False), X)
    back = ops.convert_to_tensor(X, sparse=True)
    assert isinstance(back, df.SparseTensor) and back.indices.shape == SPARSE.indices.shape
    np.testing.assert_array_equal(ops.convert_to_numpy(SPARSE), X)
    assert ops.cast(SPARSE, "int32").dtype is df.int32
    for f in (ops.relu, ops.tanh, ops.abs, ops.negative):
        made = f(SPARSE)
        np.testing.assert_allclose(ops.convert_to_numpy(made), f(X), rtol=1e-6)
    np.testing.assert_array_equal(ops.add(SPARSE, X), X + X)
    np.testing.assert_array_equal(ops.convert_to_numpy(ops.multiply(SPARSE, X)), X * X)
    spec = keras.Function(x := keras.Input((6,), sparse=True), ops.tanh(x)).outputs[0]
    assert spec.shape == (None, 6) and ops.relu(x).dtype == "float32"
    w = RNG.normal(size=(6, 3)).astype("float32")
    np.testing.assert_allclose(ops.matmul(SPARSE, w), X @ w, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ops.matmul(X.T, SPARSE), X.T @ X, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="ragged"):
        keras.Input((3,), ragged=True)
