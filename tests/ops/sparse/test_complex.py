"""Products of sparse and dense matrices of complex numbers, and their gradients."""

import numpy as np
import pytest

import dualflow as df
from tests.ops.complex_checks import drawn

INDICES = np.array([[0, 1], [3, 0], [1, 2], [3, 2], [0, 1], [2, 2]])     # two at one position


def operands(dtype):
    values = drawn(0, len(INDICES), dtype=dtype)
    matrix = np.zeros((4, 3), dtype)
    np.add.at(matrix, tuple(INDICES.T), values)
    return values, matrix


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("adjoint_a", [False, True])
@pytest.mark.parametrize("adjoint_b", [False, True])
def test_products(dtype, adjoint_a, adjoint_b):
    values, matrix = operands(dtype)
    a = matrix.conj().T if adjoint_a else matrix
    b = drawn(1, a.shape[1], 5, dtype=dtype)
    given = b.conj().T if adjoint_b else b

    def product(values, given):
        x = df.SparseTensor(INDICES, values, [4, 3])
        return df.sparse.sparse_dense_matmul(x, given, adjoint_a, adjoint_b)

    made = product(df.constant(values), df.constant(given))
    np.testing.assert_allclose(made, a @ b, 1e-5 if dtype == "complex64" else 1e-13)
    traced = df.function(product)(df.constant(values), df.constant(given))
    assert made.numpy().tobytes() == traced.numpy().tobytes()


@pytest.mark.parametrize("adjoint_a", [False, True])
def test_gradients(adjoint_a):
    values, _ = operands("complex128")
    b = drawn(1, 4 if adjoint_a else 3, 2)

    def loss(values, b):
        x = df.SparseTensor(INDICES, values, [4, 3])
        y = df.sparse.sparse_dense_matmul(x, b, adjoint_a)
        return df.reduce_sum(df.abs(y) ** 2) + df.reduce_sum(df.math.imag(y))

    df.testing.check_gradients(loss, [df.constant(values), df.constant(b)])
