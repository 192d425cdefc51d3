"""Linear algebra: NumPy's values, gradients against differences, equal bits
when traced and with unknown sizes, invalid input, lazy imports."""

import subprocess
import sys

import numpy as np
import pytest

import dualflow as df
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError, UnimplementedError
from tests.ops.linalg import factors

rng = np.random.default_rng(0)
SQUARE = rng.normal(size=(2, 4, 4)) + 3 * np.eye(4)
SYMMETRIC = SQUARE + SQUARE.swapaxes(-1, -2)
POSITIVE = SQUARE @ SQUARE.swapaxes(-1, -2)
TALL, WIDE = rng.normal(size=(2, 5, 3)), rng.normal(size=(2, 3, 5))
RHS = rng.normal(size=(2, 4, 3))


def solve_triangle(a, b, lower=True, adjoint=False):
    a = np.tril(a) if lower else np.triu(a)
    return np.linalg.solve(a.swapaxes(-1, -2) if adjoint else a, b)


def of_svd(x):
    """Return the parts of an SVD that do not depend on the signs of vectors."""
    s, u, v = df.linalg.svd(x)
    return s, df.matmul(u, v, transpose_b=True), df.matmul(u * s[..., None, :] ** 2, v,
                                                           transpose_b=True)


def np_svd(x):
    u, s, v = np.linalg.svd(x, False)
    return s, u @ v, u * s[..., None, :] ** 2 @ v


def of_eigh(x):
    e, v = df.linalg.eigh(x)
    return e, df.matmul(v * df.exp(0.1 * e)[..., None, :], v, transpose_b=True)


def np_eigh(x):
    e, v = np.linalg.eigh(x)
    return e, v * np.exp(0.1 * e)[..., None, :] @ v.swapaxes(-1, -2)


def np_lu(x):
    return factors.np_lu(np.asarray(x))[0]


def of_qr(x):
    q, r = df.linalg.qr(x)
    signs = df.sign(df.linalg.diag_part(r))
    return q * signs[..., None, :], r * signs[..., :, None]


def np_qr(x):
    q, r = np.linalg.qr(x)
    signs = np.sign(np.diagonal(r, axis1=-2, axis2=-1))
    return q * signs[..., None, :], r * signs[..., :, None]


def folded(f):
    """Return f of the symmetric part of a matrix: LAPACK reads only one triangle."""
    return lambda x: f(df.linalg.band_part(x, -1, 0) + df.transpose(
        df.linalg.band_part(x, -1, 0), [0, 2, 1]))


L = df.linalg
# name: function, NumPy reference, inputs
TABLE = {
    "cholesky": (L.cholesky, np.linalg.cholesky, [POSITIVE]),
    "inv": (L.inv, np.linalg.inv, [SQUARE]),
    "inv adjoint": (lambda x: L.inv(x, True), lambda x: np.linalg.inv(x.swapaxes(1, 2)), [SQUARE]),
    "det": (L.det, np.linalg.det, [SQUARE]),
    "slogdet": (L.slogdet, lambda x: tuple(np.linalg.slogdet(x)), [-SQUARE]),
    "solve": (L.solve, np.linalg.solve, [SQUARE, RHS]),
    "solve adjoint": (lambda a, b: L.solve(a, b, True),
                      lambda a, b: np.linalg.solve(a.swapaxes(1, 2), b), [SQUARE, RHS]),
    **{f"triangular_solve {lower} {adjoint}": (
        lambda a, b, how=(lower, adjoint): L.triangular_solve(a, b, *how),
        lambda a, b, how=(lower, adjoint): solve_triangle(a, b, *how), [SQUARE, RHS])
       for lower in (True, False) for adjoint in (True, False)},
    "lstsq tall": (L.lstsq, lambda a, b: np.linalg.pinv(a) @ b, [TALL, rng.normal(size=(2, 5, 2))]),
    "lstsq wide": (L.lstsq, lambda a, b: np.linalg.pinv(a) @ b, [WIDE, RHS[:, :3]]),
    "lstsq regularized": (lambda a, b: L.lstsq(a, b, 0.3), lambda a, b: np.linalg.solve(
        a.swapaxes(1, 2) @ a + 0.3 * np.eye(5), a.swapaxes(1, 2) @ b), [WIDE, RHS[:, :3]]),
    "lu": (lambda x: L.lu(x)[0], np_lu, [SQUARE]),
    "qr": (of_qr, np_qr, [TALL]),
    "svd tall": (of_svd, np_svd, [TALL]),
    "svd wide": (of_svd, np_svd, [WIDE]),
    "svd values": (lambda x: L.svd(x, compute_uv=False),
                   lambda x: np.linalg.svd(x, compute_uv=False), [TALL]),
    "eigh": (of_eigh, np_eigh, [SYMMETRIC]),
    "eigvalsh": (L.eigvalsh, np.linalg.eigvalsh, [SYMMETRIC]),
}
ROWS = pytest.mark.parametrize("name", TABLE)


def leaves(result):
    return list(result) if isinstance(result, tuple | list) else [result]


def bits(results):
    return [(y.shape, y.dtype, y.numpy().tobytes()) for y in results]


@ROWS
@pytest.mark.parametrize("dtype, close", [("float64", 1e-12), ("float32", 2e-4)])
def test_values(name, dtype, close):
    function, ref, inputs = TABLE[name]
    inputs = [x.astype(dtype) for x in inputs]
    for got, want in zip(leaves(function(*inputs)), leaves(ref(*inputs)), strict=True):
        assert got.dtype.name == dtype
        np.testing.assert_allclose(got.numpy(), want, rtol=close, atol=close * 10)


def with_slopes(function):
    """Return a function of results and gradients of a weighted sum of them."""
    def call(*tensors):
        with df.GradientTape() as tape:
            for x in tensors:
                tape.watch(x)
            made = leaves(function(*tensors))
            total = df.add_n([df.reduce_sum(y * df.cast(df.cos(df.cast(
                df.reshape(df.range(df.size(y)), df.shape(y)), df.float64)), y.dtype))
                for y in made])
        return [*made, *tape.gradient(total, list(tensors), unconnected_gradients="zero")]
    return call


@ROWS
def test_traced(name):
    function, _, inputs = TABLE[name]
    tensors = [df.constant(x.astype("float32")) for x in inputs]
    call = with_slopes(function)
    want = bits(call(*tensors))
    open_batch = [df.TensorSpec([None, *x.shape[1:]], x.dtype) for x in tensors]
    for traced in (df.function(call), df.function(call, passes=False),
                   df.function(call, input_signature=open_batch)):
        for _ in range(2):
            assert bits(traced(*tensors)) == want


@ROWS
@pytest.mark.parametrize("order", [1, 2])
def test_gradients(name, order):
    """Check one random direction by central differences."""
    function, _, inputs = TABLE[name]
    if name.startswith(("cholesky", "eig")):
        function = folded(function)
    fixed = np.random.default_rng(1)
    weights = [fixed.uniform(0.5, 1.5, y.shape) for y in leaves(function(*inputs))]
    directions, second = ([fixed.uniform(-1, 1, x.shape) for x in inputs] for _ in range(2))

    def value(*tensors):
        made = leaves(function(*tensors))
        return df.add_n([df.reduce_sum(y * w) for y, w in zip(made, weights, strict=True)])

    def slope(*tensors):
        g = df.grad(value, argnums=tuple(range(len(tensors))))(*tensors)
        return df.add_n([df.reduce_sum(v * d) for v, d in zip(g, second, strict=True)])

    f = value if order == 1 else slope
    tensors = [df.constant(x) for x in inputs]
    with df.GradientTape() as tape:
        tape.watch(tensors)
        y = f(*tensors)
    g = tape.gradient(y, tensors, unconnected_gradients="zero")
    got = sum(float((v.numpy() * d).sum()) for v, d in zip(g, directions, strict=True))
    up, down = (f(*[df.constant(x + h * d) for x, d in zip(inputs, directions, strict=True)]).item()
                for h in (1e-5, -1e-5))
    assert abs(got - (up - down) / 2e-5) < 2e-6 * (1 + abs(got) + abs(y.item()))


def test_lu_qr_and_other_factors():
    for x in (SQUARE, TALL, WIDE):
        factors, p = L.lu(x)
        k = min(x.shape[-2:])
        for a, f, order in zip(x, factors.numpy(), p.numpy(), strict=True):
            lower = np.tril(f, -1)[:, :k] + np.eye(len(a), k)
            np.testing.assert_allclose(a[order], lower @ np.triu(f)[:k], atol=1e-12)
        assert p.dtype is df.int32
    e, v = L.eig(np.triu(SQUARE))
    np.testing.assert_allclose(np.triu(SQUARE) @ v.numpy(), v.numpy() * e.numpy()[:, None, :])
    np.testing.assert_array_equal(L.eigvals(np.triu(SQUARE)).numpy(), e.numpy())
    for x in (TALL, WIDE):
        q, r = L.qr(x, full_matrices=True)
        np.testing.assert_allclose(df.matmul(q, r).numpy(), x, atol=1e-12)
        s, u, v = L.svd(x, full_matrices=True)
        assert u.shape[-1] == x.shape[-2] and v.shape[-1] == x.shape[-1]
        k = s.shape[-1]
        np.testing.assert_allclose((u[..., :k] * s[:, None]).numpy() @ v[..., :k].numpy().swapaxes(
            1, 2), x, atol=1e-12)
    q, r = L.qr(WIDE)
    assert q.shape == (2, 3, 3) and r.shape == (2, 3, 5)


def test_gradients_are_finite_for_repeated_eigenvalues():
    x = df.constant(np.eye(3))
    for f in (lambda x: df.add_n(leaves(L.eigh(x)[0])), lambda x: df.reduce_sum(L.eigh(x)[1]),
              lambda x: df.reduce_sum(L.svd(x)[1])):
        g = df.grad(lambda x, f=f: df.reduce_sum(f(x)))(x).numpy()
        assert np.isfinite(g).all()


def test_unknown_sizes_of_matrices():
    f = df.function(lambda a, b: (L.solve(a, b), L.svd(b)[1], L.qr(b)[0], L.det(a)),
                    input_signature=[df.TensorSpec([None, None], "float64")] * 2)
    for n, k in ((3, 2), (5, 7), (1, 1)):
        a, b = rng.normal(size=(n, n)), rng.normal(size=(n, k))
        want = L.solve(a, b), L.svd(b)[1], L.qr(b)[0], L.det(a)
        assert bits(f(df.constant(a), df.constant(b))) == bits(want)


def test_empty():
    none = np.zeros((0, 3, 3))
    assert L.cholesky(none).shape == L.inv(none).shape == (0, 3, 3)
    assert L.det(none).shape == (0,) and L.solve(none, none[..., :2]).shape == (0, 3, 2)
    assert L.triangular_solve(none, none).shape == (0, 3, 3)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (2, 0, 3), (0, 3, 0)])
@pytest.mark.parametrize("full", [True, False])
def test_singular_values_of_empty_matrices(shape, full):
    s, u, v = L.svd(df.zeros(shape), full)
    wanted_u, wanted_s, wanted_v = np.linalg.svd(np.zeros(shape, "f4"), full)
    for got, wanted in ((s, wanted_s), (u, wanted_u), (v, wanted_v.swapaxes(-1, -2))):
        assert got.dtype is df.float32 and np.array_equal(got, wanted) and got.shape == wanted.shape


def test_singular_values_of_many_empty_columns():
    assert L.matrix_rank(df.zeros((0, 2**40))).item() == 0
    assert [y.shape for y in L.svd(df.zeros((0, 2**40)))] == [(0,), (0, 0), (2**40, 0)]


def test_reduced_precision():
    x = df.cast(POSITIVE, "float16")
    y = L.cholesky(x)
    assert y.dtype is df.float16
    wide = np.linalg.cholesky(df.cast(x, "float32").numpy())
    np.testing.assert_array_equal(y.numpy(), wide.astype("f2"))
    assert [y.dtype for y in L.svd(x)] == [df.float16] * 3


@pytest.mark.parametrize("call, error, text", [
    (lambda: L.cholesky(-POSITIVE), InvalidArgumentError,
     r"cholesky: matrix \(0,\) is not positive definite: the pivot of row 0 is not positive"),
    (lambda: L.cholesky(TALL), ShapeError, r"cholesky: shape \(2, 5, 3\), expected square"),
    (lambda: L.cholesky([[1, 0], [0, 1]]), DTypeError, "cholesky: int32"),
    (lambda: L.inv(np.zeros((2, 2))), InvalidArgumentError, "inv: matrix is singular"),
    (lambda: L.solve(np.ones((2, 2)), np.ones((2, 1))), InvalidArgumentError,
     "solve: matrix is singular: the pivot of row 1 is 0"),
    (lambda: L.solve(SQUARE, RHS[:, :3]), ShapeError, "solve: matrix has shape .*rhs"),
    (lambda: L.solve(SQUARE, RHS.astype("f4")), DTypeError, "solve: matrix is float64"),
    (lambda: L.triangular_solve(np.zeros((2, 2)), np.ones((2, 1))), InvalidArgumentError,
     "triangular_solve: "),
    (lambda: L.qr([1., 2.]), ShapeError, "qr: shape"),
    (lambda: L.lstsq(TALL, RHS), ShapeError, "lstsq: matrix has shape"),
    (lambda: df.grad(lambda x: df.reduce_sum(L.qr(x)[0]))(df.constant(WIDE)), UnimplementedError,
     "qr: gradients need"),
    (lambda: df.grad(lambda x: df.reduce_sum(L.lu(x)[0]))(df.constant(WIDE)), UnimplementedError,
     "lu: gradients need square"),
])
def test_bad_input(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_scipy_is_imported_lazily():
    code = ("import sys, dualflow as df; loaded = [m for m in sys.modules if 'scipy' in m or m in "
            "('dualflow.signal', 'dualflow.ops.linalg.inverse', "
            "'dualflow.ops.linalg.spectral')]; "
            "assert not loaded, loaded; df.linalg.det([[1.]]); "
            "assert 'scipy' not in sys.modules; assert 'qr' in dir(df.linalg)")
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_missing_scipy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.linalg", None)
    with pytest.raises(ModuleNotFoundError, match=r"expm needs SciPy: pip install dualf"):
        L.expm([[1.]])
