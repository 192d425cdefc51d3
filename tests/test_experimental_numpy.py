"""df.experimental.numpy: NumPy's names, calling conventions and dtypes."""

import numpy as np
import pytest

import dualflow as df
import dualflow.experimental.numpy as tnp
from dualflow import array_api

X = np.arange(1., 7.).reshape(2, 3)


@pytest.fixture
def prefer_float32():
    tnp.experimental_enable_numpy_behavior(prefer_float32=True)
    yield
    tnp.experimental_enable_numpy_behavior()


@pytest.mark.parametrize("call", [
    lambda np: np.ones([2, 3]), lambda np: np.zeros(3, np.int32), lambda np: np.arange(4),
    lambda np: np.arange(0., 2., .5), lambda np: np.array([1, 2]), lambda np: np.asarray([.1]),
    lambda np: np.sum([[1, 2], [3, 4]], 0), lambda np: np.sum([True, True]),
    lambda np: np.mean([1, 2]), lambda np: np.max(X, 1), lambda np: np.sqrt(4),
    lambda np: np.exp(np.asarray([0, 1])), lambda np: np.concatenate([np.ones(1), np.ones(2)]),
    lambda np: np.cumsum(np.asarray([1, 2])), lambda np: np.arctan2(1, 2),
    lambda np: np.add(1., 2.), lambda np: np.maximum(np.asarray([-1, 1]), 0),
    lambda np: np.reshape(X, (3, 2)), lambda np: np.transpose(X),
    lambda np: np.transpose(X, (1, 0)), lambda np: np.prod(np.asarray([2, 3], np.int32)),
    lambda np: np.expand_dims(X, 0), lambda np: np.matmul(X, X.T), lambda np: np.copy(X),
    lambda np: np.std([1, 2, 3]), lambda np: np.full((2,), 1.5), lambda np: np.full((2,), 3),
    lambda np: np.log(np.asarray(8, np.float32)), lambda np: np.square([1, 2]),
    lambda np: np.add([1, 2], [.5, 1.5]), lambda np: np.where([True, False], 1, 2.5),
    lambda np: np.linspace(0, 1, 3), lambda np: np.argmax([3, 9, 4]), lambda np: np.eye(2),
    lambda np: np.asarray([]), lambda np: np.divide(1, 4), lambda np: np.ones_like([1, 2])])
def test_values_and_dtypes_are_numpys(call):
    found, expected = call(tnp), np.asarray(call(np))
    assert isinstance(found, tnp.ndarray)
    assert (found.dtype.name, tuple(found.shape)) == (expected.dtype.name, expected.shape)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-15 if found.dtype.itemsize == 8
                               else 1e-6)


def test_python_floats_may_be_float32(prefer_float32):
    assert tnp.asarray(1.).dtype == tnp.add(1., 2.).dtype == tnp.ones(2).dtype == df.float32
    assert tnp.random.randn(3).dtype == tnp.sqrt(2).dtype == df.float32
    assert tnp.asarray(1).dtype == df.int64


@pytest.mark.parametrize("a, b, expected", [
    ("int32", "float32", "float32"), ("int8", "uint32", "int64"), ("int64", "float16", "float16"),
    ("float16", "bfloat16", "float32"), ("uint8", "int8", "int16"), ("bool", "int8", "int8")])
def test_promotion_is_tensorflows_mode_all(a, b, expected):
    tnp.experimental_enable_numpy_behavior(dtype_conversion_mode="all")
    assert (df.ones([2], a) + df.ones([2], b)).dtype == expected


def test_other_promotion_modes_are_refused():
    with pytest.raises(df.errors.InvalidArgumentError, match="dtype_conversion_mode"):
        tnp.experimental_enable_numpy_behavior(dtype_conversion_mode="safe")


def test_traced_and_differentiated():
    @df.function
    def f(x):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = tnp.sum(tnp.square(tnp.expand_dims(x, 0)), 1)
        return tape.gradient(y, x)

    assert f(df.constant([1., 2.])).tolist() == [2., 4.]


def test_random_numbers_are_seeded():
    draws = []
    for _ in range(2):
        tnp.random.seed(4)
        draws.append([tnp.random.randn(2, 3).tolist(), tnp.random.rand(2).tolist(),
                      tnp.random.randint(5, size=4).tolist(), tnp.random.uniform(2., 3.).item()])
    assert draws[0] == draws[1]
    assert all(0 <= k < 5 for k in draws[0][2]) and 2 <= draws[0][3] < 3
    assert tnp.random.standard_normal((2, 1)).shape == (2, 1)


def test_names_of_the_array_api_exist():
    assert all(hasattr(tnp, name) for name in array_api.__all__)
    assert set(array_api.__all__) < set(dir(tnp))
    with pytest.raises(AttributeError, match="nonsense"):
        _ = tnp.nonsense
