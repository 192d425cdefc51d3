"""Reductions and cumulative ops of complex numbers: values against NumPy, gradients, refusals."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dualflow as df
from dualflow import _core
from dualflow.errors import DTypeError
from tests import levels
from tests.ops import complex_checks as checks
from tests.ops.harness import threads

# Rows around the 64 numbers that a product takes at a time, several chunks, empty dimensions.
SHAPES = [(), (0,), (1,), (3,), (63,), (64,), (65,), (200,), (40000,), (3, 7), (7, 130), (4, 5, 6),
          (300, 2), (2, 300, 3), (0, 3), (3, 0), (5, 4100)]


def unit_numbers(shape, dtype):
    """Draw numbers of magnitude 1, whose products neither overflow nor vanish."""
    z = np.asarray(checks.drawn(0, *shape))
    return (z / np.abs(z)).astype(dtype)


def axes_of(shape):
    return [None, *range(len(shape)), *[(0, 2), (1, 2)][:2 * (len(shape) == 3)]]


@pytest.mark.parametrize("dtype", checks.DTYPES)
def test_prod(dtype):
    for shape in SHAPES:
        z = unit_numbers(shape, dtype)
        for axis in axes_of(shape):
            got = df.reduce_prod(z, axis)
            n = z.size // max(got.size, 1)
            assert got.dtype == dtype
            checks.near(got, z.astype("complex128").prod(axis), 4 * np.sqrt(n + 1))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", checks.DTYPES)
def test_cumprod(dtype, reverse):
    for shape in SHAPES[1:]:
        z = unit_numbers(shape, dtype)
        for axis in range(len(shape)):
            wide = np.flip(z, axis) if reverse else z
            want = wide.astype("complex128").cumprod(axis)
            want = np.flip(want, axis) if reverse else want
            checks.near(df.math.cumprod(z, axis, reverse=reverse), want,
                        4 * np.sqrt(shape[axis] + 1))
    z = unit_numbers((5, 3), dtype)
    exclusive = df.math.cumprod(z, 0, exclusive=True).numpy()
    assert (exclusive[0] == 1).all()
    np.testing.assert_array_equal(exclusive[1:], df.math.cumprod(z[:-1], 0))


@pytest.mark.parametrize("dtype", checks.DTYPES)
def test_moments_and_norms(dtype):
    part = np.dtype(dtype).type(0).real.dtype
    for shape in SHAPES:
        z = np.asarray(checks.drawn(1, *shape)).astype(dtype)
        if not z.size:
            continue
        for axis in axes_of(shape):
            wide = z.astype("complex128")
            for got, want in ((df.math.reduce_variance(z, axis), wide.var(axis)),
                              (df.math.reduce_std(z, axis), wide.std(axis)),
                              (df.math.reduce_euclidean_norm(z, axis),
                               np.sqrt((np.abs(wide) ** 2).sum(axis)))):
                assert got.dtype == part.name
                checks.near(got, want, 8)
    z = checks.drawn(2, 3, 4)
    mean, variance = df.nn.moments(z, [0])
    assert (mean.dtype.name, variance.dtype.name) == ("complex128", "float64")
    np.testing.assert_allclose(mean, z.mean(0))
    np.testing.assert_allclose(variance, z.var(0))
    for order in (1, 2, 3, np.inf):
        np.testing.assert_allclose(df.norm(z, order, 1), np.linalg.norm(z, order, 1))
    np.testing.assert_allclose(df.norm(z, axis=(0, 1)), np.linalg.norm(z))
    np.testing.assert_allclose(df.linalg.global_norm([z, z]), np.sqrt(2) * np.linalg.norm(z))


def test_normalization():
    z = checks.drawn(3, 3, 4)
    for axis in (0, 1):
        unit = z / np.linalg.norm(z, axis=axis, keepdims=True)
        np.testing.assert_allclose(df.nn.l2_normalize(z, axis), unit)
        np.testing.assert_allclose(df.linalg.normalize(z, axis=axis)[0], unit)
    np.testing.assert_allclose(df.clip_by_norm(z, 0.5), z / np.linalg.norm(z) / 2)


FUNCTIONS = {
    "prod": df.reduce_prod, "prod_of_rows": lambda z: df.reduce_prod(z, 1),
    "cumprod": df.math.cumprod, "exclusive": lambda z: df.math.cumprod(z, 1, True),
    "reverse": lambda z: df.math.cumprod(z, 0, True, True),
    "variance": lambda z: df.math.reduce_variance(z, 0, True), "std": df.math.reduce_std,
    "std_of_rows": lambda z: df.math.reduce_std(z, 1), "norm": df.norm,
    "norm_of_rows": lambda z: df.norm(z, axis=1), "norm_1": lambda z: df.norm(z, 1, 0),
    "norm_3": lambda z: df.norm(z, 3), "largest": lambda z: df.norm(z, np.inf),
    "moments": lambda z: df.nn.moments(z, [0]), "add_n": lambda z: df.add_n([z, z * 1j, z]),
    "l2_normalize": lambda z: df.nn.l2_normalize(z, 1), "clip": lambda z: df.clip_by_norm(z, 0.5),
    "clip_all": lambda z: df.clip_by_global_norm([z, z[0]], 0.5)[0],
    "normalize": lambda z: df.linalg.normalize(z, axis=0)}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradient(name):
    checks.check_gradients(FUNCTIONS[name], checks.drawn(4, 3, 2))


def test_gradient_of_products_with_zeros():
    z = checks.drawn(5, 4)
    z[2] = 0
    checks.check_gradients(df.reduce_prod, z)
    checks.check_gradients(df.math.cumprod, z)
    z[0] = 0
    checks.check_gradients(df.reduce_prod, z)


def test_second_order():
    def slope(z):
        with df.GradientTape() as tape:
            tape.watch(z)
            y = df.reduce_sum(df.math.real(df.math.cumprod(z) * (1 + 2j)))
            y += df.math.imag(df.reduce_prod(z)) + df.norm(z)
        return tape.gradient(y, z)

    checks.check_gradients(slope, checks.drawn(6, 4))


@pytest.mark.parametrize("f", [df.norm, df.math.reduce_std, df.math.reduce_euclidean_norm])
def test_gradient_is_0_where_the_root_is_0(f):
    z = df.zeros((3,), df.complex128)
    with df.GradientTape() as tape:
        tape.watch(z)
        y = f(z)
    assert (tape.gradient(y, z).numpy() == 0).all()


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_sums_of_each_length(dtype):
    """Sums add 16 numbers at a time, and the numbers that remain; chunks have 4096 numbers."""
    rtol = 1e-6 if dtype == "complex64" else 1e-14
    for n in (*range(40), 255, 256, 257, 4095, 4096, 4097, 4113, 70001):
        z = checks.drawn(n, 2, n).astype(dtype)
        for axis in (1, None):
            want = z.astype("complex128").sum(axis)
            atol = rtol * np.abs(z).sum()
            np.testing.assert_allclose(df.reduce_sum(df.constant(z), axis), want, rtol, atol)
    tiny = np.full(1 << 20, 0.1 + 0.3j, "complex64")        # a running sum would lose digits
    np.testing.assert_allclose(df.reduce_sum(df.constant(tiny)), tiny.astype("complex128").sum(),
                               1e-6)


def test_threads():
    for shape in ((40000,), (7, 130), (5, 4100), (300, 200), (2000, 3)):
        z = df.constant(unit_numbers(shape, "complex64"))
        made = []
        for n in (1, 2, 3):
            with threads(n):
                made.append([df.reduce_sum(z, axis).numpy().tobytes() for axis in axes_of(shape)]
                            + [df.reduce_prod(z, axis).numpy().tobytes() for axis in axes_of(shape)]
                            + [df.math.cumprod(z, 0).numpy().tobytes()])
        assert made[0] == made[1] == made[2]


@pytest.mark.parametrize("name, function", [
    ("reduce_logsumexp", df.reduce_logsumexp), ("reduce_max", df.reduce_max),
    ("cumulative_logsumexp", df.math.cumulative_logsumexp), ("l2_loss", df.nn.l2_loss),
    ("reduce_any", df.reduce_any),
    ("segment_max", lambda z: df.math.segment_max(z, [0, 1])),
    ("unsorted_segment_min", lambda z: df.math.unsorted_segment_min(z, [0, 1], 2)),
    ("tensor_scatter_nd_max", lambda z: df.tensor_scatter_nd_max(z, [[0]], z[:1]))])
def test_refusals_name_the_op_the_dtype_and_real(name, function):
    with pytest.raises(DTypeError, match=rf"{name}: .* complex64.*df\.math\.real"):
        function(df.constant([1j, 2], df.complex64))


@pytest.mark.parametrize("level", [x for x in ("baseline", "avx2", "avx512", "neon")
                                   if x != _core.isa()])
def test_levels(level):
    levels.skip_unless_available(level)
    if "LD_PRELOAD" in os.environ:
        pytest.skip("sanitizers make this test take minutes")
    ran = subprocess.run([sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider",
                          __file__, "-k", "prod or moments or threads or each_length"],
                         cwd=Path(__file__).resolve().parents[3], capture_output=True, text=True,
                         env={**os.environ, "DUALFLOW_ISA": level}, timeout=900, check=False)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-1000:]
