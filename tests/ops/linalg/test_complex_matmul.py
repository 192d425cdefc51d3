"""Products of complex matrices: values, bits at any number of threads, gradients, graph passes.

Values are compared with products in complex128. The error of each part is at most 2 k + 2 units of
the sum of magnitudes, the bound of a sum of 2 k products.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

import dualflow as df
from dualflow import _core
from tests import levels
from tests.ops import complex_checks as checks
from tests.ops.harness import threads

FLAGS = [(False, False), (True, False), (False, True), (True, True)]
# Sizes for each path: vectors, tiny products, whole and partial panels, several parts of k, jobs of
# several row blocks, more rows than are packed at a time.
SIZES = [(1, 1, 1), (2, 3, 5), (3, 2, 12), (4, 16, 13), (1, 300, 70), (70, 33, 1), (1, 3, 1),
         (8, 24, 24), (17, 33, 65), (33, 127, 31), (100, 101, 102), (40, 1100, 33), (9, 3, 600),
         (2100, 9, 20), (600, 35, 9), (1, 9, 600), (600, 5, 1), (0, 3, 2), (3, 0, 2), (2, 3, 0)]


def swapped(x, flag):
    return np.swapaxes(x, -1, -2) if flag else x


def operands(dtype, size, flags=(False, False), batch_a=(), batch_b=()):
    m, k, n = size
    shapes = (*batch_a, m, k), (*batch_b, k, n)
    return [np.ascontiguousarray(swapped(checks.drawn(i, *shape, dtype=dtype), flag))
            for i, (shape, flag) in enumerate(zip(shapes, flags, strict=True))]


def check(got, a, b):
    """Compare with the product of `a` and `b`, each part within its bound."""
    wide = a.astype("complex128") @ b.astype("complex128")
    size = (np.abs(a.real) + np.abs(a.imag)) @ (np.abs(b.real) + np.abs(b.imag))
    got = got.numpy()
    assert got.dtype == a.dtype and got.shape == wide.shape
    allowed = np.finfo(a.dtype).eps * (2 * a.shape[-1] + 2) * size
    assert (np.abs(got.real - wide.real) <= allowed).all()
    assert (np.abs(got.imag - wide.imag) <= allowed).all()


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("dtype", checks.DTYPES)
def test_value(dtype, flags):
    for size in SIZES:
        a, b = operands(dtype, size, flags)
        check(df.matmul(a, b, *flags), swapped(a, flags[0]), swapped(b, flags[1]))


@pytest.mark.parametrize("dtype", checks.DTYPES)
@given(st.tuples(*[st.integers(0, 70)] * 3), st.sampled_from(FLAGS))
def test_any_size(dtype, size, flags):
    a, b = operands(dtype, size, flags)
    check(df.matmul(a, b, *flags), swapped(a, flags[0]), swapped(b, flags[1]))


def test_adjoints():
    a, b = operands("complex128", (3, 4, 5), (True, True))
    check(df.matmul(a, b, adjoint_a=True, adjoint_b=True), a.conj().T, b.conj().T)
    check(df.matmul(a, b, adjoint_a=True, transpose_b=True), a.conj().T, b.T)
    np.testing.assert_allclose(df.linalg.matvec(a, b[0, :4], adjoint_a=True), a.conj().T @ b[0, :4])
    with pytest.raises(df.errors.InvalidArgumentError, match="transpose_b and adjoint_b"):
        df.matmul(a, b, transpose_b=True, adjoint_b=True)


@pytest.mark.parametrize("batches", [((3,), (3,)), ((2, 1), (3,)), ((), (4,)), ((4,), ()),
                                     ((0,), (1,))])
@pytest.mark.parametrize("size", [(5, 7, 6), (1, 20, 9), (9, 20, 1), (70, 65, 33)])
def test_batches(size, batches):
    for flags in FLAGS:
        a, b = operands("complex64", size, flags, *batches)
        check(df.matmul(a, b, *flags), swapped(a, flags[0]), swapped(b, flags[1]))


def test_vectors_and_promotion():
    a, b = operands("complex64", (4, 6, 5))
    np.testing.assert_allclose(df.constant(a[0]) @ b, a[0] @ b, rtol=1e-5)
    np.testing.assert_allclose(df.constant(a) @ b[:, 0], a @ b[:, 0], rtol=1e-5)
    np.testing.assert_allclose(df.constant(a[0]) @ b[:, 0], a[0] @ b[:, 0], rtol=1e-5)
    real = df.constant(b.real.copy())
    assert (df.constant(a) @ real).dtype is df.complex64
    np.testing.assert_allclose(df.constant(a) @ real, a @ b.real, rtol=1e-5)
    assert (df.constant(a) @ df.cast(real, "float64")).dtype is df.complex128


@pytest.mark.parametrize("dtype", checks.DTYPES)
def test_threads(dtype):
    for size in SIZES:
        for flags in FLAGS:
            a, b = operands(dtype, size, flags)
            made = []
            for n in (1, 2, 3, 8):
                with threads(n):
                    made.append(df.matmul(a, b, *flags).numpy().tobytes())
            assert len(set(made)) == 1


def test_infinities_and_nans_stay_in_their_rows():
    """NaN and infinities affect only results that read them; partial panels read no others."""
    a, b = np.zeros((17, 9), "complex64"), np.ones((9, 13), "complex64")
    a[0, 0] = complex(np.inf, np.nan)
    got = df.matmul(a, b).numpy()
    assert np.isnan(got[0].real).all() and (got[1:] == 0).all()


@pytest.mark.parametrize("flags", FLAGS)
def test_gradient(flags):
    names = "transpose", "adjoint"
    for name in names:
        given_flags = {f"{name}_a": flags[0], f"{name}_b": flags[1]}

        def multiply(a, b, options=given_flags):
            return df.matmul(a, b, **options)

        for batches in ((), ()), ((2,), ()), ((2, 1), (3,)):
            checks.check_gradients(multiply, *operands("complex128", (3, 4, 2), flags, *batches))
        checks.check_gradients(multiply, *operands("complex128", (3, 4, 1), flags))


def test_gradient_of_real_operands_is_real():
    a, b = operands("complex128", (3, 4, 2))
    checks.check_gradients(df.matmul, a.real.copy(), b)
    checks.check_gradients(df.matmul, a, b.imag.copy())


@pytest.mark.parametrize("equation, shapes", [
    ("ij,jk->ik", ((2, 3), (3, 4))), ("bij,bjk->bik", ((2, 2, 3), (2, 3, 2))), ("ii", ((3, 3),)),
    ("ij,ij->", ((2, 3), (2, 3))), ("i,j->ij", ((2,), (3,))), ("ii->i", ((3, 3),)),
    ("ij,jk,kl->il", ((2, 3), (3, 2), (2, 2))), ("ij,ij->i", ((2, 3), (2, 3)))])
def test_einsum(equation, shapes):
    xs = [checks.drawn(k, *shape) for k, shape in enumerate(shapes)]
    np.testing.assert_allclose(df.einsum(equation, *xs), np.einsum(equation, *xs), rtol=1e-12)
    checks.check_gradients(lambda *xs: df.einsum(equation, *xs), *xs)


@pytest.mark.parametrize("axes", [0, 1, [[0], [1]]])
def test_tensordot(axes):
    a, b = checks.drawn(0, 2, 3), checks.drawn(1, 3, 2)
    np.testing.assert_allclose(df.tensordot(a, b, axes), np.tensordot(a, b, axes), rtol=1e-12)
    checks.check_gradients(lambda a, b: df.tensordot(a, b, axes), a, b)


def test_products_of_vectors_conjugate_as_in_the_standard():
    """`vecdot` conjugates its first operand; `tensordot` none."""
    a, b = checks.drawn(0, 4), checks.drawn(1, 4)
    np.testing.assert_allclose(df.array_api.vecdot(df.constant(a), df.constant(b)), np.vdot(a, b))
    np.testing.assert_allclose(df.array_api.tensordot(df.constant(a), df.constant(b), axes=1),
                               a @ b)
    checks.check_gradients(df.array_api.vecdot, a, b)


@pytest.mark.parametrize("dtype", checks.DTYPES)
@pytest.mark.parametrize("transpose", [False, True])
def test_packed_products_return_the_same_bits(dtype, transpose):
    for size in ((2, 1, 2), (9, 33, 49), (17, 1100, 33), (200, 130, 130)):
        a, b = operands(dtype, size, (False, transpose))
        packed = _core.apply("pack_matrix", b, transpose=transpose, rows=size[0])
        got = _core.apply("matmul_packed", a, packed, columns=size[2])
        want = df.matmul(a, b, transpose_b=transpose)
        assert got.numpy().tobytes() == want.numpy().tobytes()


@pytest.mark.parametrize("size", [(9, 20, 33), (1, 20, 33), (33, 20, 1), (300, 40, 200), (4, 0, 5)])
def test_epilogues(size):
    """Check elementwise steps after a product, for pieces of any width; constants are packed."""
    m, k, n = size
    x, w, bias = (df.constant(checks.drawn(i, *shape, dtype="complex64"))
                  for i, shape in enumerate(((m, k), (k, n), (n,))))

    def f(x, w):
        y = x @ w + bias
        z = y * df.math.conj(y) - df.constant(1 - 2j, df.complex64)
        return y, z, df.abs(x @ w), df.math.real(df.transpose(df.matmul(w, x, True, True)) * 2)

    want = [y.numpy().tobytes() for y in f(x, w)]
    for g in (df.function(f), df.function(f, passes=False), df.function(lambda x, _: f(x, w))):
        for n_threads in (1, 2):
            with threads(n_threads):
                assert [y.numpy().tobytes() for y in g(x, w)] == want


def test_random_programs():
    """Apply products, transposes, conjugates, sums and parts in a random order."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        args = [df.constant(checks.drawn(k, 6, 6, dtype="complex64")) for k in range(3)]
        steps = rng.integers(0, 9, 12), rng.integers(0, 100, (12, 2))

        def program(*args, steps=steps):
            made = list(args)
            for kind, at in zip(*steps, strict=True):
                x, y = (made[k % len(made)] for k in at)
                made.append((
                    lambda x, y: x @ y, lambda x, y: df.matmul(x, y, adjoint_a=True),
                    lambda x, y: df.matmul(x, y, transpose_b=True), lambda x, _: df.transpose(x),
                    lambda x, _: df.math.conj(x), lambda x, y: x * 0.25 + y,
                    lambda x, y: df.complex(df.math.imag(x), df.math.real(y)),
                    lambda x, y: df.transpose(x) @ df.transpose(y),
                    lambda x, y: x / (df.abs(y) + 1))[kind](x, y))
            scaled = [df.abs(x / (df.abs(x) + 1)) for x in (*args, made[-1])]
            return made[3:], df.add_n([df.reduce_sum(x) for x in scaled])

        def both(*args, program=program):
            with df.GradientTape() as tape:
                tape.watch(args)
                values, loss = program(*args)
            return *values, loss, *tape.gradient(loss, list(args))

        want = [y.numpy().tobytes() for y in both(*args)]
        for f in (df.function(both), df.function(both, passes=False)):
            assert [y.numpy().tobytes() for y in f(*args)] == want, seed


@pytest.mark.parametrize("level", [x for x in ("baseline", "avx2", "avx512", "neon")
                                   if x != _core.isa()])
def test_levels(level):
    levels.skip_unless_available(level)
    if "LD_PRELOAD" in os.environ:
        pytest.skip("sanitizers make this test take minutes")
    ran = subprocess.run([sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider",
                          __file__, "-k", "value or threads or batches or epilogues or packed"],
                         cwd=Path(__file__).resolve().parents[3], capture_output=True, text=True,
                         env={**os.environ, "DUALFLOW_ISA": level}, timeout=900, check=False)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-1000:]
