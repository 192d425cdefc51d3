"""Products, factorizations and norms against NumPy."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

import dualflow as df
from tests.array_api.against import FLOATS, NUMBERS, assert_same, check, quick, small, xp

MATRICES = hnp.array_shapes(min_dims=2, max_dims=4, min_side=0, max_side=4)
FILLED = hnp.array_shapes(min_dims=2, max_dims=4, min_side=1, max_side=4)
NEAR = {"rtol": 1e-4, "atol": 1e-4}


def square(dtype, *batch, n=3, seed=0):
    """Return well-conditioned matrices."""
    x = np.random.default_rng(seed).normal(size=(*batch, n, n))
    return (x + 4 * np.eye(n)).astype(dtype)


@given(st.data())
@quick
def test_products(data):
    x = data.draw(small(NUMBERS, MATRICES))
    y = data.draw(small([x.dtype.name], st.just((x.shape[-1], 2))))
    check("matmul", x, y, **NEAR)
    check("matmul", x, y[:, 0].copy(), **NEAR)
    check("tensordot", x, y, axes=1, **NEAR)
    check("tensordot", x, x, axes=((0, 1), (0, 1)), **NEAR)
    check("vecdot", x, x[..., :1, :].copy(), **NEAR)
    check("vecdot", x, x, axis=data.draw(st.integers(-x.ndim, -1)), **NEAR)
    assert_same(xp.matrix_transpose(df.constant(x)), np.swapaxes(x, -1, -2))
    row = x.ravel()[:4].copy()
    check("linalg.outer", row, row, **NEAR)


@given(st.data())
@quick
def test_diagonals_and_cross(data):
    x = data.draw(small(NUMBERS, MATRICES))
    offset = data.draw(st.integers(-5, 5))
    check("linalg.diagonal", x, offset=offset)
    check("linalg.trace", x, offset=offset, **NEAR)
    if x.dtype.kind != "u":
        vectors = np.resize(x.ravel(), (2, 3)) if x.size else np.ones((2, 3), x.dtype)
        check("linalg.cross", vectors, vectors[::-1].copy(), **NEAR)
        check("linalg.cross", vectors.T.copy(), vectors[::-1].T.copy(), axis=0, **NEAR)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("batch", [(), (2,), (2, 0)])
def test_det_inv_and_solve(dtype, batch):
    x = square(dtype, *batch)
    for name in ("det", "inv", "slogdet"):
        check(f"linalg.{name}", x, **NEAR)
    check("linalg.solve", x, np.ones((3, 2), dtype), **NEAR)
    check("linalg.solve", x, np.ones(3, dtype), **NEAR)
    check("linalg.solve", x[..., :3, :3], square("float64", 2, 1), **NEAR) if batch == () else None
    for n in (-2, -1, 0, 1, 5):
        check("linalg.matrix_power", x, n, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 3), (3, 4), (2, 0, 3), (0, 3, 3)])
def test_factorizations(dtype, shape):
    x = np.random.default_rng(1).normal(size=shape).astype(dtype)
    y = df.constant(x)
    for full in (False, True):
        u, s, vh = xp.linalg.svd(y, full_matrices=full)
        k = min(shape[-2:])
        assert_same(xp.matmul(u[..., :k] * s[..., None, :], vh[..., :k, :]), x, **NEAR)
        assert u.shape[-1] == (shape[-2] if full else k)
    for mode in ("reduced", "complete"):
        q, r = xp.linalg.qr(y, mode=mode)
        assert_same(xp.matmul(q, r), x, **NEAR)
    assert_same(xp.linalg.svdvals(y), np.linalg.svd(x, compute_uv=False), **NEAR)
    check("linalg.pinv", x, rtol=1e-3, atol=1e-3) if 0 not in shape else None
    check("linalg.matrix_rank", x) if 0 not in shape else None


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("batch", [(), (2,), (0,)])
def test_symmetric(dtype, batch):
    x = square(dtype, *batch)
    x = x @ np.swapaxes(x, -1, -2)
    e, v = xp.linalg.eigh(df.constant(x))
    assert_same(xp.matmul(v * e[..., None, :], v.mT), x, rtol=1e-3, atol=1e-3)
    assert_same(xp.linalg.eigvalsh(df.constant(x)), np.linalg.eigvalsh(x), **NEAR)
    check("linalg.cholesky", x, **NEAR)
    check("linalg.cholesky", x, upper=True, **NEAR)


def test_rank_and_tolerance():
    x = np.diag([1.0, 0.1, 0.01])
    for rtol in (None, 0.05, 0.5):
        check("linalg.matrix_rank", x, rtol=rtol)
    many = np.stack([x, x])
    got = xp.linalg.matrix_rank(df.constant(many), rtol=xp.asarray([0.05, 0.5]))
    assert got.tolist() == [2, 1]
    inverse = xp.linalg.pinv(df.constant(many), rtol=xp.asarray([0.05, 0.5]))
    assert_same(inverse, [np.diag([1, 10, 0.0]), np.diag([1, 0.0, 0])], atol=1e-12)


@given(st.data())
@quick
def test_norms(data):
    x = data.draw(small(FLOATS, FILLED))
    keepdims = data.draw(st.booleans())
    for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        check("linalg.matrix_norm", x, ord=order, keepdims=keepdims, rtol=1e-3, atol=1e-3)
    for order in (0, 1, 2, 3.5, np.inf, -np.inf):
        for axis in (None, -1, (0, 1)):
            check("linalg.vector_norm", x, ord=order, axis=axis, keepdims=keepdims, rtol=1e-3,
                  atol=1e-3)


@pytest.mark.parametrize("call, message", [
    (lambda: xp.linalg.cross(xp.ones(2), xp.ones(2)), "cross: shapes"),
    (lambda: xp.linalg.diagonal(xp.ones(2)), "diagonal: x has shape"),
    (lambda: xp.linalg.matrix_norm(xp.ones((2, 2)), ord=7), "matrix_norm: ord is 7"),
    (lambda: xp.linalg.qr(xp.ones((2, 2)), mode="r"), "qr: mode is 'r'"),
    (lambda: xp.linalg.outer(xp.ones((2, 2)), xp.ones(2)), "outer: shapes"),
    (lambda: xp.vecdot(xp.ones(2), xp.ones(3)), "vecdot: x1 has shape"),
    (lambda: xp.vecdot(xp.ones(2), xp.ones(2), axis=1), "vecdot: axis 1"),
    (lambda: xp.linalg.inv(xp.zeros((2, 2))), "inv: matrix is singular"),
])
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()
