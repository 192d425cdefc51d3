"""Rows of complex numbers that are selected or combined by index: segments, scattered updates,
sparse products, lookups, gradients of slices."""

import numpy as np
import pytest

import dualflow as df
from tests.ops import complex_checks as checks
from tests.ops.harness import threads

IDS = [0, 0, 2, 2]
LOOSE = [1, -1, 0, 1]


def of_known_size(f):
    return lambda z: df.ensure_shape(f(z, IDS), (3, *z.shape[1:]))


def of_loose_ids(f):
    return lambda z: f(z, LOOSE, 3)


FUNCTIONS = {
    **{name: of_known_size(getattr(df.math, name))
       for name in ("segment_sum", "segment_mean", "segment_prod")},
    **{name: of_loose_ids(getattr(df.math, name))
       for name in ("unsorted_segment_sum", "unsorted_segment_mean", "unsorted_segment_prod",
                    "unsorted_segment_sqrt_n")},
    "gather": lambda z: df.gather(z, [[0, 1], [1, 0]], axis=1),
    "gather_nd": lambda z: df.gather_nd(z, [[0, 1], [3, 1], [0, 1]]),
    "embedding_lookup": lambda z: df.nn.embedding_lookup(z, [0, 1, 0]),
    "slice": lambda z: z[::3, 1], "diagonal": lambda z: df.linalg.diag_part(z[:2]),
    "scatter_nd": lambda z: df.scatter_nd([[1], [1], [4], [0]], z, (6, 2)),
    "update": lambda z: df.tensor_scatter_nd_update(z, [[1], [0]], z[2:] * 1j),
    "multiply": lambda z: df.tensor_scatter_nd_mul(z, [[1], [0], [1]], z[1:])}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradient(name):
    checks.check_gradients(FUNCTIONS[name], checks.drawn(0, 4, 2))


def test_gradient_of_products_with_zeros():
    z = checks.drawn(1, 4, 2)
    z[1] = 0
    checks.check_gradients(FUNCTIONS["segment_prod"], z)


@pytest.mark.parametrize("width", [1, 7, 50])
def test_products_of_many_rows(width):
    z, ids = checks.drawn(2, 3000, width), np.random.default_rng(3).integers(0, 5, 3000)
    z /= np.abs(z)
    want = np.ones((5, width), z.dtype)
    np.multiply.at(want, ids, z)
    for n in (1, 2, 3):
        with threads(n):
            np.testing.assert_allclose(df.math.unsorted_segment_prod(z, ids, 5), want)


@pytest.mark.parametrize("adjoint_a", [False, True])
@pytest.mark.parametrize("adjoint_b", [False, True])
def test_sparse_products(adjoint_a, adjoint_b):
    at = np.array([[0, 1], [2, 0], [1, 1], [0, 1]])
    values = checks.drawn(4, 4)
    dense = np.zeros((3, 2), "complex128")
    np.add.at(dense, tuple(at.T), values)
    k = 3 if adjoint_a else 2
    b = checks.drawn(5, *((4, k) if adjoint_b else (k, 4)))

    def op(x, flag):
        return x.conj().T if flag else x

    def left(values, b):
        return df.sparse.sparse_dense_matmul(df.SparseTensor(at, values, (3, 2)), b, adjoint_a,
                                             adjoint_b)

    def right(values, b):
        return df.sparse.sparse_dense_matmul(b, df.SparseTensor(at, values, (3, 2)), adjoint_b,
                                             not adjoint_a)

    np.testing.assert_allclose(left(values, b), op(dense, adjoint_a) @ op(b, adjoint_b))
    checks.check_gradients(left, values, b)
    c = checks.drawn(6, *((k, 4) if adjoint_b else (4, k)))
    np.testing.assert_allclose(right(values, c), op(c, adjoint_b) @ op(dense, not adjoint_a))
    checks.check_gradients(right, values, c)
