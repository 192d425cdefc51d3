"""Factorisations and solves of matrices of many sizes, by the residuals of LAPACK's tests (E.
Anderson et al., "LAPACK Users' Guide", 1999, section 4); singular, ill-conditioned and invalid
input; batches; results that do not depend on the number of threads."""

import numpy as np
import pytest

import dualflow as df
from dualflow.errors import InvalidArgumentError
from tests.ops import harness
from tests.sampling import part

L = df.linalg
DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])
# Around the sizes of panels (16), strips (24, 48), blocks (64) and blocks of one column (256).
SIZES = [1, 2, 3, 5, 15, 16, 17, 31, 33, 47, 48, 49, 63, 64, 65, 80, 97, 127, 128, 129, 130, 200,
         255, 257, 300]
THRESHOLD = 3       # LAPACK's tests allow 30


def normal(*shape, dtype="float64", seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def positive(n, dtype):
    x = normal(n, n)
    return (x @ x.T + np.eye(n)).astype(dtype)


def norm(x):
    """Return the largest sum of absolute values of a row."""
    return np.abs(x).sum(-1).max(initial=0)


def wide(*tensors):
    return [np.asarray(x, "float64") for x in tensors]


def scaled(residual, dtype, n, *factors):
    """Return a residual divided by n, eps and the norms of matrices."""
    eps = np.finfo(dtype).eps
    return norm(residual) / (max(n, 1) * eps * np.prod([norm(x) for x in factors]))


@DTYPES
@pytest.mark.parametrize("n", part(SIZES, 3))
def test_cholesky(n, dtype):
    a = positive(n, dtype)
    unread = np.triu(np.full((n, n), np.nan, dtype), 1)
    lower, = wide(L.cholesky(np.tril(a) + unread))
    assert not np.triu(lower, 1).any() and (np.diag(lower) > 0).all()
    assert scaled(a - lower @ lower.T, dtype, n, a) < THRESHOLD


@DTYPES
@pytest.mark.parametrize("n", part(SIZES, 3))
def test_lu(n, dtype):
    for m, k in ((n, n), (n + 7, n), (n, n + 9), (n, 3), (3, n)):
        a = normal(m, k, dtype=dtype)
        factors, rows = wide(*L.lu(a))
        least = min(m, k)
        lower, upper = np.tril(factors, -1)[:, :least] + np.eye(m, least), np.triu(factors)[:least]
        assert sorted(rows) == list(range(m)) and np.abs(lower).max(initial=0) <= 1
        assert scaled(a[rows.astype(int)] - lower @ upper, dtype, max(m, k), a) < THRESHOLD


@DTYPES
@pytest.mark.parametrize("n", part(SIZES, 3))
def test_qr(n, dtype):
    for m, k in ((n, n), (n + 7, n), (n, n + 9), (n, 3), (3, n)):
        a = normal(m, k, dtype=dtype)
        for full in (False, True):
            q, r = wide(*L.qr(a, full))
            assert q.shape[1] == len(r) == (m if full else min(m, k))
            assert not np.tril(r, -1).any()
            assert scaled(a - q @ r, dtype, max(m, k), a) < THRESHOLD
            assert scaled(q.T @ q - np.eye(q.shape[1]), dtype, max(m, k)) < THRESHOLD


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e-10, 1e10, 1e30, 1e300])
def test_qr_of_any_magnitude(scale):
    for dtype in ("float32", "float64") if 1e-38 < scale < 1e38 else ("float64",):
        a = normal(20, 10, dtype=dtype) * np.asarray(scale, dtype)
        q, r = wide(*L.qr(a))
        assert scaled(q.T @ q - np.eye(10), dtype, 20) < THRESHOLD
        np.testing.assert_allclose(q @ (r / scale), a / scale, rtol=0, atol=1e-5)
    q, r = L.qr(np.zeros((3, 2)))
    np.testing.assert_array_equal(q, np.eye(3, 2))
    assert not r.numpy().any()


@DTYPES
@pytest.mark.parametrize("n", part(SIZES, 3))
def test_solutions(n, dtype):
    a = normal(n, n, dtype=dtype)
    for k in (1, 4, 5, 17, 49, n):
        b = normal(n, k, dtype=dtype, seed=1)
        for adjoint in (False, True):
            x, = wide(L.solve(a, b, adjoint))
            assert scaled((a.T if adjoint else a) @ x - b, dtype, n, a, x) < THRESHOLD
            for lower in (False, True):
                inside = np.tri(n, dtype=bool) if lower else np.tri(n, dtype=bool).T
                triangle = np.where(inside, a, 0) + np.diag(np.sign(np.diag(a)))
                x, = wide(L.triangular_solve(np.where(inside, triangle, np.nan).astype(dtype), b,
                                             lower, adjoint))
                used = triangle.T if adjoint else triangle
                assert scaled(used @ x - b, dtype, n, used, x) < THRESHOLD


@DTYPES
@pytest.mark.parametrize("n", part(SIZES, 3))
def test_inverses_and_determinants(n, dtype):
    a = normal(n, n, dtype=dtype)
    inverse, = wide(L.inv(a))
    assert scaled(a @ inverse - np.eye(n), dtype, n, a, inverse) < THRESHOLD
    sign, log_abs = L.slogdet(a)
    wanted = np.linalg.slogdet(a.astype("float64"))
    assert sign.item() == wanted[0]
    error = (n + norm(a) * norm(inverse)) * np.finfo(dtype).eps     # the condition of the matrix
    np.testing.assert_allclose(log_abs.item(), wanted[1], atol=error)
    with np.errstate(over="ignore"):
        assert df.exp(log_abs).item() == np.inf or np.isclose(
            L.det(a).item(), sign.item() * df.exp(log_abs).item(), rtol=1e-3)


@pytest.mark.parametrize("condition", [1e4, 1e8, 1e12, 1e16])
def test_ill_conditioned(condition):
    """The residual of a solution does not depend on the condition of the matrix."""
    n = 100
    u, v = (np.linalg.qr(normal(n, n, seed=s))[0] for s in (0, 1))
    s = np.geomspace(1, 1 / condition, n)
    a, b = (u * s) @ v, normal(n, 3)
    x, = wide(L.solve(a, b))
    assert scaled(a @ x - b, "float64", n, a, x) < THRESHOLD
    factor = L.lu(a)[0]
    y, = wide(L.triangular_solve(factor, b, lower=False))
    assert scaled(np.triu(factor) @ y - b, "float64", n, np.triu(factor), y) < THRESHOLD
    if condition < 1e15:
        a = (u * s) @ u.T
        lower, = wide(L.cholesky((a + a.T) / 2))
        assert scaled((a + a.T) / 2 - lower @ lower.T, "float64", n, a) < THRESHOLD


@DTYPES
def test_exact_results(dtype):
    """Small integers are exact, zeros have no sign."""
    assert L.inv(np.diag([2., 4.]).astype(dtype)).numpy().tobytes() == np.array(
        [[0.5, 0], [0, 0.25]], dtype).tobytes()
    x = L.solve(np.array([[0., 2.], [49., 0.]], dtype), np.array([[2.], [49.]], dtype))
    np.testing.assert_array_equal(x, [[1.], [1.]])
    assert L.det(np.array([[0., 2.], [3., 0.]], dtype)).item() == -6
    small = np.array([1e30, 1e30, 1e-30, 1e-30], dtype)     # products are in float64
    np.testing.assert_allclose(L.det(np.diag(small)).item(), 1, rtol=1e-6)
    rows = L.lu(np.array([[1., 2.], [-3., 4.], [3., 5.]], dtype))[1]
    assert rows.tolist() == [1, 2, 0]       # the first of two equal pivots


def test_not_positive_definite():
    for n, row in ((1, 0), (5, 3), (100, 64), (200, 199)):
        a = positive(n, "float64")
        for value in (-1., 0., np.nan):
            a[row, row] = value
            with pytest.raises(InvalidArgumentError,
                               match=f"matrix is not positive definite: the pivot of row {row} is"):
                L.cholesky(a)
    many = np.stack([positive(4, "float64")] * 6).reshape(2, 3, 4, 4)
    many[1, 0] *= -1
    many[1, 2] *= -1
    with pytest.raises(InvalidArgumentError, match=r"cholesky: matrix \(1, 0\) is not .*row 0"):
        L.cholesky(many)


def test_singular():
    for n, row in ((2, 1), (40, 39), (90, 89)):
        a = normal(n, n)
        a[:, row] = 0
        for call in (lambda a=a: L.inv(a), lambda a=a: L.solve(a, a),
                     lambda a=a: L.triangular_solve(a, a)):
            with pytest.raises(InvalidArgumentError, match=f"singular: the pivot of row {row} is"):
                call()
        assert L.det(a).item() == 0
        sign, log_abs = L.slogdet(a)
        assert (sign.item(), log_abs.item()) == (0, -np.inf)
        factors, rows = wide(*L.lu(a))
        assert factors[row, row] == 0
        np.testing.assert_allclose((np.tril(factors, -1) + np.eye(n)) @ np.triu(factors),
                                   a[rows.astype(int)], atol=1e-12)
    zero = L.lu(np.zeros((3, 3)))
    assert not zero[0].numpy().any() and zero[1].tolist() == [0, 1, 2]


def test_nan_and_infinity():
    """NaN stays in LU factors, inverses and determinants, as in NumPy."""
    a = normal(20, 20)
    a[3, 4] = np.nan
    assert np.isnan(L.det(a).item()) and np.isnan(L.inv(a).numpy()).any()
    assert np.isnan(L.slogdet(a)[1].item())
    assert np.isnan(L.det(np.diag([1., np.nan, 0.])).item())
    b = normal(20, 2)
    b[5, 1] = np.inf
    x = L.triangular_solve(np.tril(normal(20, 20)), b).numpy()
    assert np.isfinite(x[:, 0]).all() and np.isfinite(x[:5]).all()
    assert not np.isfinite(x[5:, 1]).any()


@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3), (2, 0, 0)])
def test_empty(shape):
    x = np.zeros(shape)
    assert L.cholesky(x).shape == L.inv(x).shape == shape
    np.testing.assert_array_equal(L.det(x), np.ones(shape[:-2]))
    assert [y.shape for y in L.lu(x)] == [shape, shape[:-1]]
    assert L.solve(x, x).shape == L.triangular_solve(x, x).shape == shape
    none = np.zeros((*shape[:-1], 0))
    assert L.solve(x, none).shape == L.triangular_solve(x, none).shape == none.shape
    assert [y.shape for y in L.lu(np.zeros((2, 0, 3)))] == [(2, 0, 3), (2, 0)]
    assert [y.shape for y in L.qr(x)] == [shape, shape]
    q, r = L.qr(np.zeros((2, 3, 0)), full_matrices=True)
    np.testing.assert_array_equal(q, np.stack([np.eye(3)] * 2))
    assert r.shape == (2, 3, 0)


@DTYPES
def test_batches_equal_single_matrices_on_any_number_of_threads(dtype):
    for count, n in ((70, 9), (5, 70), (3, 170)):
        a = normal(count, n, n, dtype=dtype)
        spd = a @ a.swapaxes(1, 2) + n * np.eye(n, dtype=dtype)
        b = normal(count, n, 5, dtype=dtype)
        calls = [lambda a, s, b: L.cholesky(s), lambda a, s, b: L.solve(a, b),
                 lambda a, s, b: L.triangular_solve(s, b, adjoint=True), lambda a, s, b: L.inv(a),
                 lambda a, s, b: L.det(a), lambda a, s, b: L.lu(a)[0],
                 lambda a, s, b: L.qr(a)[0]]
        for call in calls:
            with harness.threads(2):
                together = call(a, spd, b).numpy().tobytes()
                alone = np.stack([call(a[i], spd[i], b[i]).numpy() for i in range(count)])
            with harness.threads(1):
                assert call(a, spd, b).numpy().tobytes() == together == alone.tobytes()


def test_traced_programs_call_no_host():
    """A log-likelihood of a Gaussian process and its gradient are ops of the program."""
    @df.function
    def slope(x, y):
        with df.GradientTape() as tape:
            tape.watch(x)
            distance = x[:, None] - x[None, :]
            factor = L.cholesky(df.exp(-distance * distance) + 0.1 * df.eye(8, dtype="float64"))
            scaled = L.triangular_solve(factor, y)
            value = df.reduce_sum(scaled ** 2) + 2 * df.reduce_sum(
                df.math.log(L.diag_part(factor)))
        return tape.gradient(value, x)

    x, y = df.constant(normal(8)), df.constant(normal(8, 1))
    slope(x, y)
    ops = {node.op.name for node in slope.get_concrete_function(x, y).graph.nodes}
    assert {"cholesky", "triangular_solve"} <= ops
    assert not {op for op in ops if op.startswith("host")}
