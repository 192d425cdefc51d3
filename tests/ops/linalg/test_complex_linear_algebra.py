"""Linear algebra of complex matrices: NumPy's values, gradients against differences in both parts
through functions that do not depend on the phases of vectors, equal bits when traced."""

import numpy as np
import pytest

import dualflow as df

pytestmark = pytest.mark.filterwarnings("ignore:logm result may be inaccurate")

rng = np.random.default_rng(0)
L = df.linalg


def normal(*shape):
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def adj(x):
    return x.conj().swapaxes(-1, -2)


SQUARE = normal(2, 4, 4) + 3 * np.eye(4)
HERMITIAN = SQUARE + adj(SQUARE)
POSITIVE = SQUARE @ adj(SQUARE)
TALL, WIDE = normal(2, 5, 3), normal(2, 3, 5)
RHS = normal(2, 4, 3)
REAL = rng.normal(size=(2, 4, 4))


def solve_triangle(a, b, lower=True, adjoint=False):
    a = np.tril(a) if lower else np.triu(a)
    return np.linalg.solve(adj(a) if adjoint else a, b)


def product(*factors):
    """Return the product of matrices; a row of sizes scales columns."""
    y = factors[0]
    matmul = np.matmul if isinstance(y, np.ndarray) else df.matmul
    for x in factors[1:]:
        y = y * x[..., None, :] if x.ndim == y.ndim - 1 else matmul(y, x)
    return y


def of_svd(x):
    s, u, v = L.svd(x)
    scale = s * s + 1.
    return (s, product(u, L.adjoint(v)), product(u, s * s, L.adjoint(v)),
            product(u, scale, L.adjoint(u)), product(v, scale, L.adjoint(v)))


def np_svd(x):
    u, s, v = np.linalg.svd(x, False)
    scale = s * s + 1
    return s, u @ v, product(u, s * s, v), product(u, scale, adj(u)), product(adj(v), scale, v)


def of_eigh(x):
    e, v = L.eigh(x)
    return e, product(v, df.exp(0.1 * e), L.adjoint(v))


def np_eigh(x):
    e, v = np.linalg.eigh(x)
    return e, product(v, np.exp(0.1 * e), adj(v))


def of_eig(x):
    e, v = L.eig(x)
    return e, df.abs(v), product(v, df.square(e), L.inv(v)), product(v, df.abs(e), L.adjoint(v))


def np_eig(x):
    e, v = np.linalg.eig(x)
    return e, abs(v), x @ x, product(v, abs(e), adj(v))


def of_qr(x):
    q, r = L.qr(x)
    signs = df.sign(df.math.real(L.diag_part(r)))
    return q * signs[..., None, :], r * signs[..., :, None]


def np_qr(x):
    q, r = np.linalg.qr(x)
    signs = np.sign(np.diagonal(r, axis1=-2, axis2=-1).real)
    return q * signs[..., None, :], r * signs[..., :, None]


def np_lu(x):
    """Return LU factors without pivoting: the samples have large diagonals."""
    x = x.copy()
    for j in range(x.shape[-1]):
        x[..., j + 1:, j] /= x[..., j, j, None]
        x[..., j + 1:, j + 1:] -= x[..., j + 1:, j, None] * x[..., j, None, j + 1:]
    return x


def np_function(f):
    def of_matrix(x):
        e, v = np.linalg.eig(x)
        return product(v, f(e), np.linalg.inv(v))
    return of_matrix


def pinv_solve(a, b):
    return np.linalg.pinv(a) @ b


DIAGONAL = SQUARE + 5 * np.eye(4)
# name: function, NumPy reference, inputs
TABLE = {
    "cholesky": (L.cholesky, np.linalg.cholesky, [POSITIVE]),
    "cholesky_solve": (L.cholesky_solve, lambda a, b: np.linalg.solve(
        np.tril(a) @ adj(np.tril(a)), b), [SQUARE, RHS]),
    "inv": (L.inv, np.linalg.inv, [SQUARE]),
    "inv adjoint": (lambda x: L.inv(x, True), lambda x: np.linalg.inv(adj(x)), [SQUARE]),
    "det": (L.det, np.linalg.det, [SQUARE]),
    "slogdet": (L.slogdet, lambda x: tuple(np.linalg.slogdet(x)), [SQUARE]),
    "logdet": (L.logdet, lambda x: np.linalg.slogdet(x)[1], [POSITIVE]),
    "solve": (L.solve, np.linalg.solve, [SQUARE, RHS]),
    "solve adjoint": (lambda a, b: L.solve(a, b, True),
                      lambda a, b: np.linalg.solve(adj(a), b), [SQUARE, RHS]),
    **{f"triangular_solve {lower} {adjoint}": (
        lambda a, b, how=(lower, adjoint): L.triangular_solve(a, b, *how),
        lambda a, b, how=(lower, adjoint): solve_triangle(a, b, *how), [SQUARE, RHS])
       for lower in (True, False) for adjoint in (True, False)},
    "lstsq tall": (L.lstsq, pinv_solve, [TALL, normal(2, 5, 2)]),
    "lstsq wide": (L.lstsq, pinv_solve, [WIDE, RHS[:, :3]]),
    "lstsq regularized": (lambda a, b: L.lstsq(a, b, 0.3), lambda a, b: np.linalg.solve(
        adj(a) @ a + 0.3 * np.eye(5), adj(a) @ b), [WIDE, RHS[:, :3]]),
    "lu": (lambda x: L.lu(x)[0], np_lu, [DIAGONAL]),
    "lu of permuted rows": (lambda x: L.lu(x)[0], lambda x: np_lu(x[:, [1, 3, 0, 2]]),
                            [DIAGONAL[:, [2, 0, 3, 1]]]),
    "qr tall": (of_qr, np_qr, [TALL]),
    "qr square": (of_qr, np_qr, [SQUARE]),
    "svd tall": (of_svd, np_svd, [TALL]),
    "svd wide": (of_svd, np_svd, [WIDE]),
    "svd values": (lambda x: L.svd(x, compute_uv=False),
                   lambda x: np.linalg.svd(x, compute_uv=False), [TALL]),
    "eigh": (of_eigh, np_eigh, [HERMITIAN]),
    "eigvalsh": (L.eigvalsh, np.linalg.eigvalsh, [HERMITIAN]),
    "eig": (of_eig, np_eig, [SQUARE]),
    "eig real": (of_eig, np_eig, [REAL]),
    "eigvals": (L.eigvals, np.linalg.eigvals, [SQUARE]),
    "pinv tall": (L.pinv, np.linalg.pinv, [TALL]),
    "pinv wide": (L.pinv, np.linalg.pinv, [WIDE]),
    "norm 1": (lambda x: L.norm(x, 1, [1, 2]), lambda x: np.linalg.norm(x, 1, (1, 2)), [TALL]),
    "norm inf": (lambda x: L.norm(x, np.inf, [1, 2]), lambda x: np.linalg.norm(x, np.inf, (1, 2)),
                 [TALL]),
    "norm": (L.norm, np.linalg.norm, [TALL]),
    "norm of matrices": (lambda x: L.norm(x, "fro", [1, 2]),
                         lambda x: np.linalg.norm(x, "fro", (1, 2)), [TALL]),
    "norm 3": (lambda x: L.norm(x, 3., 1), lambda x: np.linalg.norm(x, 3., 1), [TALL]),
    "normalize": (lambda x: L.normalize(x, 1, 1)[0],
                  lambda x: x / abs(x).sum(1, keepdims=True), [TALL]),
    "trace": (L.trace, lambda x: np.trace(x, 0, 1, 2), [SQUARE]),
    "cross": (lambda a, b: L.cross(a, L.adjoint(b)), lambda a, b: np.cross(a, adj(b)),
              [TALL, WIDE.conj()]),
    "transpose": (lambda x: df.transpose(x, [2, 0, 1], conjugate=True),
                  lambda x: x.conj().transpose(2, 0, 1), [TALL]),
    "band_part": (lambda x: L.band_part(x, 1, 0), lambda x: np.tril(x) - np.tril(x, -2), [TALL]),
    "set_diag": (lambda a, b: L.set_diag(a, L.diag_part(b)),
                 lambda a, b: a + (b - a) * np.eye(4), [SQUARE, HERMITIAN]),
    "expm": (L.expm, np_function(np.exp), [SQUARE / 4]),
    "logm": (L.logm, np_function(np.log), [DIAGONAL]),
    "sqrtm": (L.sqrtm, np_function(np.sqrt), [DIAGONAL]),
}
ROWS = pytest.mark.parametrize("name", TABLE)
WITH_SCIPY = "expm", "logm", "sqrtm"


def leaves(result):
    return list(result) if isinstance(result, tuple | list) else [result]


def row_of(name):
    if name in WITH_SCIPY:
        pytest.importorskip("scipy")
    return TABLE[name]


def bits(results):
    return [(y.shape, y.dtype, y.numpy().tobytes()) for y in results]


@ROWS
@pytest.mark.parametrize("width, close", [(2, 1e-12), (1, 2e-4)])
def test_values(name, width, close):
    """Results have the dtype that NumPy's have: sizes are real, all others complex."""
    function, ref, inputs = row_of(name)
    inputs = [x if width == 2 else x.astype("c8" if np.iscomplexobj(x) else "f4") for x in inputs]
    for got, want in zip(leaves(function(*inputs)), leaves(ref(*inputs)), strict=True):
        part = got.dtype.real_dtype
        assert part is (df.float64 if width == 2 else df.float32)
        assert got.dtype.is_complex == np.iscomplexobj(want) or name == "eig real"
        np.testing.assert_allclose(got.numpy(), want, rtol=close, atol=close * 10)


def weighted(results):
    """Return the sum of the real parts of weighted results."""
    fixed = np.random.default_rng(1)
    parts = []
    for y in results:
        re, im = (df.constant(fixed.uniform(0.5, 1.5, y.shape), y.dtype.real_dtype)
                  for _ in range(2))
        parts += [df.reduce_sum(df.math.real(y) * re)]
        parts += [df.reduce_sum(df.math.imag(y) * im)] if y.dtype.is_complex else []
    return df.add_n(parts)


def slopes(function, tensors):
    with df.GradientTape() as tape:
        tape.watch(tensors)
        y = function(*tensors)
    return tape.gradient(y, tensors, unconnected_gradients="zero")


@ROWS
def test_traced(name):
    function, _, inputs = row_of(name)
    tensors = [df.constant(x, df.complex64 if np.iscomplexobj(x) else df.float32) for x in inputs]

    def call(*tensors):
        return [*leaves(function(*tensors)),
                *slopes(lambda *xs: weighted(leaves(function(*xs))), list(tensors))]

    want = bits(call(*tensors))
    for traced in (df.function(call), df.function(call, passes=False)):
        for _ in range(2):
            assert bits(traced(*tensors)) == want
    open_batch = [df.TensorSpec([None, *x.shape[1:]], x.dtype) for x in tensors]
    traced = df.function(lambda *xs: leaves(function(*xs)), input_signature=open_batch)
    assert bits(traced(*tensors)) == want[:len(leaves(function(*tensors)))]


def folded(function):
    """Return the function of the Hermitian part: LAPACK reads only one triangle."""
    def of_triangle(x):
        lower = L.band_part(x, -1, 0)
        return function(0.5 * (lower + L.adjoint(lower)))
    return of_triangle


@ROWS
@pytest.mark.parametrize("order", [1, 2])
def test_gradients(name, order):
    """Check random complex directions by central differences: the derivative along d is the sum of
    the real parts of ``conj(gradient) * d``."""
    function, _, inputs = row_of(name)
    if name.startswith(("cholesky", "eigh", "eigvalsh", "logdet")) and len(inputs) == 1:
        function = folded(function)
    fixed = np.random.default_rng(2)

    def draw(x):
        d = fixed.uniform(-1, 1, x.shape)
        return d + 1j * fixed.uniform(-1, 1, x.shape) if np.iscomplexobj(x) else d

    def value(*tensors):
        return weighted(leaves(function(*tensors)))

    def along(gradients, directions):
        return df.add_n([df.reduce_sum(df.math.real(df.math.conj(g) * d))
                         for g, d in zip(gradients, directions, strict=True)])

    second = [draw(x) for x in inputs]
    f = value if order == 1 else lambda *xs: along(slopes(value, list(xs)), second)
    tensors = [df.constant(x) for x in inputs]
    gradients = slopes(f, tensors)
    assert [g.dtype for g in gradients] == [x.dtype for x in tensors]
    for _ in range(2):
        directions = [draw(x) for x in inputs]
        got = along(gradients, directions).item()
        up, down = (f(*[df.constant(x + h * d) for x, d in zip(inputs, directions, strict=True)])
                    .item() for h in (1e-5, -1e-5))
        assert abs(got - (up - down) / 2e-5) < 2e-6 * (1 + abs(got) + abs(up))


@pytest.mark.parametrize("name", ["cholesky", "inv", "det", "slogdet", "solve", "lu",
                                  "triangular_solve False True"])
def test_programs_with_kernels_call_no_python(name):
    function, _, inputs = TABLE[name]

    def call(*tensors):
        return slopes(lambda *xs: weighted(leaves(function(*xs))), list(tensors))

    tensors = [df.constant(x) for x in inputs]
    names = {node.op.name for node in df.function(call).graph_for(*tensors).get_operations()}
    assert "host_compute" not in names and len(names) > 3


def test_unknown_sizes_of_matrices():
    def call(a, b):
        return [L.solve(a, b), *L.svd(b), *L.qr(b), *L.lu(b), L.det(a), *L.eig(a), L.pinv(b),
                L.matrix_rank(b)]

    traced = df.function(call, input_signature=[df.TensorSpec([None, None], "complex128")] * 2)
    for n, k in ((3, 2), (5, 7), (1, 1), (0, 0)):
        a, b = df.constant(normal(n, n)), df.constant(normal(n, k))
        if n:
            assert bits(traced(a, b)) == bits(call(a, b))
        else:
            assert [y.shape for y in traced(a, b)] == [y.shape for y in call(a, b)]


@pytest.mark.parametrize("name", ["cholesky", "inv", "slogdet", "solve adjoint", "eig real", "lu",
                                  "triangular_solve True True", "qr tall", "svd wide", "eigh"])
def test_vmap_and_jvp(name):
    function, _, inputs = TABLE[name]
    tensors = [df.constant(x) for x in inputs]
    assert bits(leaves(df.vmap(function)(*tensors))) == bits(leaves(function(*tensors)))
    directions = [0.1 * x[::-1] for x in inputs]
    if name in ("cholesky", "eigh"):
        function = folded(function)
    _, slopes = df.jvp(function, tuple(tensors), tuple(map(df.constant, directions)))
    up, down = (leaves(function(*[df.constant(x + h * d) for x, d in zip(
        inputs, directions, strict=True)])) for h in (1e-5, -1e-5))
    for slope, a, b in zip(leaves(slopes), up, down, strict=True):
        np.testing.assert_allclose(slope, (a.numpy() - b.numpy()) / 2e-5, rtol=1e-5, atol=1e-6)
