"""Factorisations and solves of complex matrices of many sizes, by the residuals of LAPACK's tests
(E. Anderson et al., "LAPACK Users' Guide", 1999, section 4); singular, ill-conditioned and invalid
input; batches and empty batches."""

import numpy as np
import pytest

import dualflow as df
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError, UnimplementedError
from tests.ops import harness

L = df.linalg
DTYPES = pytest.mark.parametrize("dtype", ["complex64", "complex128"])
SIZES = pytest.mark.parametrize("n", [0, 1, 2, 3, 8, 15, 16, 17, 33, 70, 131])
THRESHOLD = 3       # LAPACK's tests allow 30


def normal(*shape, dtype="complex128", seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)


def adj(x):
    return x.conj().swapaxes(-1, -2)


def positive(n, dtype="complex128"):
    x = normal(n, n)
    return (x @ adj(x) + np.eye(n)).astype(dtype)


def norm(x):
    """Return the largest sum of absolute values of a row."""
    return np.abs(x).sum(-1).max(initial=0)


def wide(*tensors):
    return [np.asarray(x).astype("complex128") for x in tensors]


def residual(error, dtype, n, *factors):
    """Return an error divided by n, eps and the norms of matrices."""
    scale = max(n, 1) * np.finfo(dtype).eps * np.prod([norm(x) for x in factors], dtype="f8")
    return norm(error) / scale if error.size else 0


def of_one(factors):
    """Return the unit lower and the upper triangle of LU factors."""
    m, n = factors.shape
    k = min(m, n)
    return np.tril(factors, -1)[:, :k] + np.eye(m, k), np.triu(factors)[:k]


# --- sizes -------------------------------------------------------------------------------------


@DTYPES
@SIZES
def test_cholesky(n, dtype):
    a = positive(n, dtype)
    unread = np.triu(np.full((n, n), np.nan, dtype), 1) + 5j * np.eye(n)
    lower, = wide(L.cholesky((np.tril(a) + unread).astype(dtype)))
    assert not np.triu(lower, 1).any()
    assert not np.diag(lower).imag.any() and (np.diag(lower).real > 0).all()
    assert residual(a - lower @ adj(lower), dtype, n, a) < THRESHOLD


@DTYPES
@SIZES
def test_lu_and_qr(n, dtype):
    for m, k in ((n, n), (n + 7, n), (n, n + 9), (n, 3), (3, n)):
        a = normal(m, k, dtype=dtype)
        factors, rows = L.lu(a)
        assert rows.dtype is df.int32 and sorted(rows.tolist()) == list(range(m))
        lower, upper = of_one(wide(factors)[0])
        assert np.abs(lower).max(initial=0) <= 2**0.5 + 1e-6    # by |re| + |im|
        assert residual(a[rows.numpy()] - lower @ upper, dtype, max(m, k), a) < THRESHOLD
        for full in (False, True):
            q, r = wide(*L.qr(a, full))
            assert q.shape == (m, m if full else min(m, k)) and r.shape == (q.shape[1], k)
            assert not np.tril(r, -1).any() and not np.diag(r).imag.any()
            assert residual(a - q @ r, dtype, max(m, k), a) < THRESHOLD
            assert residual(adj(q) @ q - np.eye(q.shape[1]), dtype, max(m, k)) < THRESHOLD


@DTYPES
@SIZES
def test_solutions(n, dtype):
    a = normal(n, n, dtype=dtype)
    for k in (0, 1, 5, 17):
        b = normal(n, k, dtype=dtype, seed=1)
        for adjoint in (False, True):
            x, = wide(L.solve(a, b, adjoint))
            assert x.shape == b.shape
            assert residual((adj(a) if adjoint else a) @ x - b, dtype, n, a, x) < THRESHOLD
            for lower in (False, True):
                inside = np.tri(n, dtype=bool) if lower else np.tri(n, dtype=bool).T
                triangle = np.where(inside, a, 0) + np.diag(np.sign(np.diag(a)))
                x, = wide(L.triangular_solve(np.where(inside, triangle, np.nan).astype(dtype), b,
                                             lower, adjoint))
                used = adj(triangle) if adjoint else triangle
                assert residual(used @ x - b, dtype, n, used, x) < THRESHOLD


@DTYPES
@SIZES
def test_inverses_and_determinants(n, dtype):
    a = normal(n, n, dtype=dtype)
    inverse, = wide(L.inv(a))
    assert residual(a @ inverse - np.eye(n), dtype, n, a, inverse) < THRESHOLD
    sign, log_abs = L.slogdet(a)
    wanted = np.linalg.slogdet(a.astype("complex128"))
    error = (n + norm(a) * norm(inverse)) * np.finfo(dtype).eps     # the condition of the matrix
    np.testing.assert_allclose(sign.item(), wanted[0], atol=error)
    np.testing.assert_allclose(log_abs.item(), wanted[1], atol=error)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(L.det(a).item(), np.linalg.det(a), rtol=1e-3)
    assert log_abs.dtype is sign.dtype.real_dtype


@DTYPES
@SIZES
def test_eigenvalues_and_singular_values(n, dtype):
    a = normal(n, n, dtype=dtype)
    hermitian = (a + adj(a)) / 2
    e, v = L.eigh(np.tril(hermitian) + np.triu(np.full((n, n), np.nan, dtype), 1))
    assert e.dtype is v.dtype.real_dtype and (np.diff(e) >= 0).all()
    e, v = wide(e, v)
    assert residual(hermitian @ v - v * e, dtype, n, hermitian) < THRESHOLD
    assert residual(adj(v) @ v - np.eye(n), dtype, n) < THRESHOLD
    np.testing.assert_array_equal(L.eigvalsh(hermitian), L.eigh(hermitian)[0])
    e, v = wide(*L.eig(a))
    assert residual(a @ v - v * e, dtype, n, a, v) < THRESHOLD
    np.testing.assert_array_equal(L.eigvals(a), e)
    for m, k in ((n, n), (n + 7, n), (n, n + 9)):
        x = normal(m, k, dtype=dtype)
        s, u, v = L.svd(x)
        assert s.dtype is u.dtype.real_dtype and (np.diff(s) <= 0).all() and (s.numpy() >= 0).all()
        s, u, v = wide(s, u, v)
        assert residual(u * s @ adj(v) - x, dtype, max(m, k), x) < THRESHOLD
        assert residual(adj(u) @ u - np.eye(n), dtype, max(m, k)) < THRESHOLD
        assert residual(adj(v) @ v - np.eye(n), dtype, max(m, k)) < THRESHOLD
        _, u, v = wide(*L.svd(x, full_matrices=True))
        assert u.shape == (m, m) and v.shape == (k, k)
        assert residual(u[:, :n] * s @ adj(v[:, :n]) - x, dtype, max(m, k), x) < THRESHOLD
        np.testing.assert_allclose(L.svd(x, compute_uv=False), s.real, rtol=1e-4, atol=1e-5)
        assert L.matrix_rank(x).item() == n
        inverse, = wide(L.pinv(x))
        assert residual(x @ inverse @ x - x, dtype, max(m, k), x, x, inverse) < THRESHOLD
    x = normal(n, 3, dtype=dtype) @ normal(3, n, dtype=dtype)
    assert L.matrix_rank(x).item() == min(n, 3) and L.matrix_rank(x, 1e9).item() == 0


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_eigenvalues_of_real_matrices_are_complex(dtype):
    wanted = df.complex128 if dtype == "float64" else df.complex64
    for a in ([[2., 1.], [0., 1.]], [[0., 1.], [-1., 0.]]):
        e, v = L.eig(df.constant(a, dtype))
        assert e.dtype is v.dtype is L.eigvals(df.constant(a, dtype)).dtype is wanted
        np.testing.assert_allclose(np.array(a) @ v.numpy(), v.numpy() * e.numpy(), atol=1e-6)
    np.testing.assert_allclose(e, [1j, -1j], atol=1e-6)


@pytest.mark.parametrize("condition", [1e4, 1e8, 1e12, 1e16])
def test_ill_conditioned(condition):
    """The residual of a solution does not depend on the condition of the matrix."""
    n = 100
    u, v = (np.linalg.qr(normal(n, n, seed=s))[0] for s in (0, 1))
    s = np.geomspace(1, 1 / condition, n)
    a, b = (u * s) @ v, normal(n, 3)
    x, = wide(L.solve(a, b))
    assert residual(a @ x - b, "complex128", n, a, x) < THRESHOLD
    upper = np.triu(L.lu(a)[0].numpy())
    y, = wide(L.triangular_solve(upper, b, lower=False))
    assert residual(upper @ y - b, "complex128", n, upper, y) < THRESHOLD
    if condition < 1e15:
        a = (u * s) @ adj(u)
        lower, = wide(L.cholesky((a + adj(a)) / 2))
        assert residual((a + adj(a)) / 2 - lower @ adj(lower), "complex128", n, a) < THRESHOLD


@DTYPES
def test_pivots_are_those_of_lapack(dtype):
    linalg = pytest.importorskip("scipy.linalg")
    for m, n in ((40, 40), (90, 50), (30, 70)):
        a = normal(m, n, dtype=dtype)
        factors, swaps = linalg.lu_factor(a)
        wanted = list(range(m))
        for i, j in enumerate(swaps):
            wanted[i], wanted[j] = wanted[j], wanted[i]
        made, rows = L.lu(a)
        assert rows.tolist() == wanted
        assert residual(made.numpy() - factors, dtype, max(m, n), a) < THRESHOLD


@DTYPES
def test_rows_of_zeros_nan_and_large_parts(dtype):
    """A pivot may have one part; quotients do not overflow where the result is finite."""
    large = np.finfo(dtype).max / 8
    a = np.array([[0, 1], [1j, 0]], dtype)
    assert L.lu(a)[1].tolist() == [1, 0] and (L.inv(a).numpy() == [[0, -1j], [1, 0]]).all()
    a = np.array([[large * (1 + 1j), 0], [large * 1j, large]], dtype)
    x = L.solve(a, np.array([[large * 2j], [large * 1j]], dtype)).numpy()
    np.testing.assert_allclose(x, [[1 + 1j], [1]], rtol=1e-6)
    a = np.zeros((3, 3), dtype)
    a[2, 0] = complex(0, np.nan)
    assert L.lu(a)[1].tolist() == [2, 1, 0] and L.det(np.zeros((3, 3), dtype)).item() == 0


# --- input without a result ----------------------------------------------------------------------


def test_not_positive_definite():
    for n, row in ((1, 0), (5, 3), (100, 64), (130, 129)):
        a = positive(n)
        for value in (-1., 0., np.nan):
            a[row, row] = value
            with pytest.raises(InvalidArgumentError, match=(
                    f"cholesky: matrix is not positive definite: the pivot of row {row} is not")):
                L.cholesky(a)
    many = np.stack([positive(4)] * 6).reshape(2, 3, 4, 4)
    many[1, 0] *= -1
    many[1, 2, 2, 2] = -1
    with pytest.raises(InvalidArgumentError, match=r"cholesky: matrix \(1, 0\) is not .*row 0"):
        L.cholesky(many)
    many[1, 0] *= -1
    with pytest.raises(InvalidArgumentError, match=r"cholesky: matrix \(1, 2\) is not .*row 2"):
        df.function(L.cholesky)(df.constant(many))


def test_singular():
    for n, row in ((2, 1), (40, 39), (90, 89)):
        a = normal(n, n)
        a[:, row] = 0
        for call in (lambda a=a: L.inv(a), lambda a=a: L.solve(a, a),
                     lambda a=a: L.triangular_solve(a, a)):
            with pytest.raises(InvalidArgumentError,
                               match=f": matrix is singular: the pivot of row {row} is 0"):
                call()
        assert L.det(a).item() == 0
        sign, log_abs = L.slogdet(a)
        assert (sign.item(), log_abs.item()) == (0, -np.inf)
        factors, rows = L.lu(a)
        lower, upper = of_one(factors.numpy())
        assert upper[row, row] == 0
        np.testing.assert_allclose(lower @ upper, a[rows.numpy()], atol=1e-12)
    many = np.stack([normal(3, 3)] * 4).reshape(2, 2, 3, 3)
    many[1, 0] = 0
    with pytest.raises(InvalidArgumentError,
                       match=r"solve: matrix \(1, 0\) is singular: the pivot of row 0 is 0"):
        L.solve(many, many)
    zero = L.lu(np.zeros((3, 3), "complex64"))
    assert not zero[0].numpy().any() and zero[1].tolist() == [0, 1, 2]


def test_nan_and_infinity():
    """NaN stays in LU factors, inverses and determinants, as in NumPy."""
    a = normal(20, 20)
    a[3, 4] = np.nan
    assert np.isnan(L.det(a).item()) and np.isnan(L.inv(a).numpy()).any()
    assert np.isnan(L.slogdet(a)[1].item()) and np.isnan(L.lu(a)[0].numpy()).any()
    assert np.isnan(L.solve(a, normal(20, 1)).numpy()).any()
    for name in ("eig", "svd"):
        with pytest.raises(InvalidArgumentError, match=f"^{name}: "):
            getattr(L, name)(a)
    b = normal(20, 2)
    b[5, 1] = np.inf
    x = L.triangular_solve(np.tril(normal(20, 20)), b).numpy()
    assert np.isfinite(x[:, 0]).all() and np.isfinite(x[:5]).all()
    assert not np.isfinite(x[5:, 1]).any()


def test_gradients_are_finite_for_repeated_values():
    x = df.eye(3, dtype=df.complex128)
    for f in (lambda x: L.eigh(x)[1], lambda x: L.svd(x)[1], lambda x: L.eig(x)[1]):
        g = df.grad(lambda x, f=f: df.reduce_sum(df.math.real(f(x))))(x)
        assert g.dtype is df.complex128 and np.isfinite(g.numpy()).all()


@pytest.mark.parametrize("call, error, text", [
    (lambda z: L.cholesky(z[:2]), ShapeError, r"cholesky: shape \(2, 3\), expected square"),
    (lambda z: L.solve(z, z[:2]), ShapeError, r"solve: matrix has shape \(3, 3\) and rhs \(2, 3\)"),
    (lambda z: L.solve(z[None], z), ShapeError, "solve: matrix has shape"),
    (lambda z: L.triangular_solve(z, z[:2]), ShapeError, "triangular_solve: matrix has shape"),
    (lambda z: L.solve(z, df.math.real(z)), DTypeError,
     "solve: matrix is complex128 and rhs float64"),
    (lambda z: L.triangular_solve(df.cast(z, "complex64"), z), DTypeError,
     "matrix is complex64 and rhs complex128"),
    (lambda z: L.inv([[1, 0], [0, 1]]), DTypeError, "inv: int32, expected a floating or complex"),
    (lambda z: df.grad(lambda x: df.math.real(L.qr(x)[0])[0, 0])(z[:2]), UnimplementedError,
     "qr: gradients need"),
    (lambda z: df.grad(lambda x: df.math.real(L.lu(x)[0])[0, 0])(z[:2]), UnimplementedError,
     "lu: gradients need square"),
    (lambda z: df.grad(lambda x: df.math.real(L.svd(x, True)[1])[0, 0])(z[:2]), UnimplementedError,
     "svd: gradients need"),
])
def test_bad_input(call, error, text):
    with pytest.raises(error, match=text):
        call(df.constant(normal(3, 3)))


@pytest.mark.filterwarnings("ignore:Matrix is singular")
def test_matrices_without_a_logarithm():
    pytest.importorskip("scipy")
    rotation = np.array([[-1., 0.], [0., -4.]])
    for f, want in ((L.logm, [1j * np.pi, 1j * np.pi + np.log(4)]), (L.sqrtm, [1j, 2j])):
        with pytest.raises(InvalidArgumentError, match="the matrix has no real and finite result"):
            f(rotation)
        np.testing.assert_allclose(f(rotation.astype("c16")).numpy(), np.diag(want), atol=1e-14)
    with pytest.raises(InvalidArgumentError, match=r"sqrtm: matrix \(1,\) has no finite result"):
        L.sqrtm(np.stack([np.eye(2), np.eye(2, k=1)]).astype("c16"))


# --- batches -----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3), (2, 0, 0)])
def test_empty(shape):
    x = np.zeros(shape, "complex64")
    for f in (L.cholesky, L.inv, L.pinv, L.adjoint):
        assert f(x).shape == shape and f(x).dtype is df.complex64
    np.testing.assert_array_equal(L.det(x), np.ones(shape[:-2]))
    assert [y.shape for y in L.lu(x)] == [shape, shape[:-1]]
    assert [y.shape for y in L.qr(x)] == [shape, shape]
    assert [y.shape for y in L.svd(x)] == [shape[:-1], shape, shape]
    assert [y.shape for y in L.eigh(x)] == [y.shape for y in L.eig(x)] == [shape[:-1], shape]
    assert [y.shape for y in L.slogdet(x)] == [shape[:-2]] * 2
    none = np.zeros((*shape[:-1], 0), "complex64")
    for b in (x, none):
        assert L.solve(x, b).shape == L.triangular_solve(x, b).shape == b.shape
    q, r = L.qr(np.zeros((2, 3, 0), "complex64"), full_matrices=True)
    np.testing.assert_array_equal(q, np.stack([np.eye(3)] * 2))
    assert r.shape == (2, 3, 0) and L.lu(np.zeros((2, 0, 3), "c8"))[0].shape == (2, 0, 3)
    with df.GradientTape() as tape:
        z = df.constant(x)
        tape.watch(z)
        y = df.reduce_sum(L.svd(z)[0]) + df.reduce_sum(df.abs(L.solve(z, z)))
    assert tape.gradient(y, z).shape == shape


@DTYPES
def test_batches_equal_single_matrices_on_any_number_of_threads(dtype):
    for shape, n in (((2, 35), 9), ((3,), 70)):
        a = normal(*shape, n, n, dtype=dtype)
        spd = a @ adj(a) + n * np.eye(n, dtype=dtype)
        b = normal(*shape, n, 5, dtype=dtype)
        calls = [lambda a, s, b: L.cholesky(s), lambda a, s, b: L.solve(a, b),
                 lambda a, s, b: L.triangular_solve(s, b, adjoint=True), lambda a, s, b: L.inv(a),
                 lambda a, s, b: L.det(a), lambda a, s, b: L.lu(a)[0], lambda a, s, b: L.qr(a)[0],
                 lambda a, s, b: L.eigh(s)[1], lambda a, s, b: L.svd(a)[1],
                 lambda a, s, b: L.eig(a)[1]]
        for call in calls:
            with harness.threads(2):
                together = call(a, spd, b).numpy()
            with harness.threads(1):
                for at in np.ndindex(shape):
                    assert (call(a[at], spd[at], b[at]).numpy() == together[at]).all()
