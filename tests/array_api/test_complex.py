"""Complex arrays under the standard's functions, compared with NumPy."""

import numpy as np
import pytest

import dualflow as df
from dualflow.errors import DTypeError

xp = df.array_api
Z = np.array([1 + 2j, 3 - 4j, 2j, 2j, -1])


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_functions(dtype):
    a = Z.astype(dtype)
    x = df.constant(a)
    for name in ("abs", "conj", "real", "imag", "negative", "positive", "square", "reciprocal",
                 "isnan", "isinf", "isfinite", "sum", "mean", "round", "matrix_transpose"):
        given, wanted = (x, a) if name != "matrix_transpose" else (x[None], a[None])
        want = getattr(np, name)(wanted)
        got = getattr(xp, name)(given)
        assert got.dtype.name == want.dtype.name, name
        np.testing.assert_allclose(got, want, rtol=1e-6, err_msg=name)
    for name in ("add", "subtract", "multiply", "divide", "equal", "not_equal"):
        np.testing.assert_allclose(getattr(xp, name)(x, x[::-1]), getattr(np, name)(a, a[::-1]),
                                   rtol=1e-6, err_msg=name)
    np.testing.assert_array_equal(xp.nonzero(x)[0], np.nonzero(a)[0])
    np.testing.assert_allclose(xp.vecdot(x, x * 1j), np.vdot(a, a * 1j), rtol=1e-6)
    np.testing.assert_allclose(xp.cumulative_sum(x), a.cumsum(), rtol=1e-6)


def test_distinct_elements():
    made = xp.unique_all(df.constant(Z))
    want = np.unique(Z, return_index=True, return_inverse=True, return_counts=True)
    for got, wanted in zip(made, want, strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_dtypes():
    assert xp.asarray(1j).dtype is xp.asarray([1, 2j]).dtype is xp.complex64
    assert xp.full(2, 1j).dtype is xp.complex64
    assert xp.asarray(Z).dtype is xp.asarray([Z, Z]).dtype is xp.complex128
    assert xp.result_type(xp.float32, 1j) is xp.result_type(1j) is xp.complex64
    assert xp.result_type(xp.float64, 1j) is xp.complex128
    assert xp.result_type(xp.complex64, xp.float64) is xp.complex128
    assert xp.can_cast(xp.float32, xp.complex64) and not xp.can_cast(xp.complex64, xp.float32)
    assert xp.isdtype(xp.complex64, "complex floating") and xp.isdtype(xp.complex64, "numeric")
    assert not xp.isdtype(xp.complex64, "real floating")
    assert xp.finfo(xp.complex128) == xp.finfo(xp.float64)
    assert xp.astype(df.constant(Z), xp.bool).tolist() == [True] * 5
    for dtype in (xp.float32, xp.int32):
        with pytest.raises(DTypeError, match="would drop the imaginary part"):
            xp.astype(df.constant(Z), dtype)


def test_linspace():
    for start, stop, options in ((0, 1j, {}), (1 + 1j, df.constant(2j), {"endpoint": False}),
                                 (0., 1, {"dtype": "complex128"})):
        want = np.linspace(complex(start), np.asarray(stop), 5, **options)
        got = xp.linspace(start, stop, 5, **options)
        np.testing.assert_allclose(got, want, rtol=1e-6)
        assert got.dtype is (xp.complex128 if "dtype" in options else xp.complex64)


def test_experimental_numpy():
    tnp = df.experimental.numpy
    assert tnp.array([1j]).dtype is tnp.complex_ is tnp.complex128
    assert tnp.sum([1j, 2]).item() == 2 + 1j and tnp.mean([1j, 3j]).item() == 2j
    assert tnp.conjugate([1j]).tolist() == [-1j]
    assert tnp.iscomplex([1j, 1]).tolist() == [True, False]
    assert tnp.isreal([1j, 1]).tolist() == [False, True]
    assert tnp.iscomplexobj([1j]) and tnp.isrealobj([1.])
    np.testing.assert_allclose(tnp.angle(Z), np.angle(Z))
    np.testing.assert_allclose(tnp.angle([1, -1], deg=True), [0, 180])
    tnp.experimental_enable_numpy_behavior(prefer_float32=True)
    try:
        assert tnp.array([1j]).dtype is tnp.complex64
    finally:
        tnp.experimental_enable_numpy_behavior()


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_factors(dtype):
    rng = np.random.default_rng(5)
    a = (rng.normal(size=(2, 4, 3)) + 1j * rng.normal(size=(2, 4, 3))).astype(dtype)
    x, near = df.constant(a), {"rtol": 0, "atol": 1e-4}
    square = np.swapaxes(a.conj(), -1, -2) @ a + np.eye(3, dtype=dtype)
    lower = np.linalg.cholesky(square)
    np.testing.assert_allclose(xp.linalg.cholesky(square), lower, **near)
    np.testing.assert_allclose(xp.linalg.cholesky(square, upper=True),
                               np.swapaxes(lower.conj(), -1, -2), **near)
    upper = df.constant(np.triu(square))        # the lower triangle is not read
    np.testing.assert_allclose(xp.linalg.cholesky(upper, upper=True),
                               np.swapaxes(lower.conj(), -1, -2), **near)
    np.testing.assert_allclose(xp.linalg.pinv(x), np.linalg.pinv(a), **near)
    made = xp.linalg.pinv(df.constant(np.repeat(a[:, :, :1], 2, -1)))       # rank 1
    np.testing.assert_allclose(made, np.linalg.pinv(np.repeat(a[:, :, :1], 2, -1), rcond=1e-5),
                               **near)
    for full in (True, False):
        u, s, vh = (y.numpy() for y in xp.linalg.svd(x, full_matrices=full))
        np.testing.assert_allclose((u[..., :3] * s[:, None]) @ vh, a, **near)
    q, r = xp.linalg.qr(x)
    np.testing.assert_allclose(q.numpy() @ r.numpy(), a, **near)
    assert xp.linalg.matrix_rank(x).tolist() == [3, 3]
    for ord in ("fro", "nuc", 1, 2, np.inf):
        got = xp.linalg.matrix_norm(x, ord=ord)
        np.testing.assert_allclose(got, np.linalg.norm(a, ord, axis=(-2, -1)), rtol=1e-5)
    np.testing.assert_allclose(xp.linalg.eigvalsh(square), np.linalg.eigvalsh(square), rtol=1e-4)
