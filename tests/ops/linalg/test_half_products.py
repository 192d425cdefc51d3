"""Products of float16 and bfloat16: sums in float32, rounded once, whatever kernel computes them.

Sums are compared with float64. They may differ by half a unit of the result plus the float32 error
of a sum of k products: k units of the sum of their magnitudes.
"""

import os
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

import dualflow as df
from tests import levels, sampling

HALVES = {"float16": np.dtype("float16"), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
UNIT = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
TINY = {"float16": 2.0**-25, "bfloat16": 2.0**-126}     # half a unit of subnormal values, or more
FLAGS = [(False, False), (True, False), (False, True), (True, True)]
# Sizes for each kernel: vectors, tiny products, whole and partial tiles, several passes over k,
# several jobs.
SIZES = [(1, 1, 1), (2, 3, 5), (1, 300, 70), (70, 33, 1), (16, 32, 32), (17, 33, 65), (33, 127, 31),
         (128, 64, 64), (100, 101, 102), (40, 1100, 33), (1100, 40, 20), (9, 3, 600), (600, 35, 9)]


def swapped(x, flag):
    return np.swapaxes(x, -1, -2) if flag else x


def operands(rng, half, size, flags, batch_a=(), batch_b=()):
    m, k, n = size
    a, b = rng.normal(size=(*batch_a, m, k)), rng.normal(size=(*batch_b, k, n))
    return [np.ascontiguousarray(swapped(x, flag)).astype(HALVES[half])
            for x, flag in zip((a, b), flags, strict=True)]


def near(got, a, b, flags, half):
    a, b = (swapped(x.astype("float64"), flag) for x, flag in zip((a, b), flags, strict=True))
    want, size = a @ b, np.abs(a) @ np.abs(b)
    got = got.numpy()
    assert got.dtype == HALVES[half] and got.shape == want.shape
    allowed = UNIT[half] * np.abs(want) + 2.0**-23 * (a.shape[-1] + 1) * size + TINY[half]
    assert (np.abs(got.astype("float64") - want) <= allowed).all()


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("half", HALVES)
def test_value(half, flags):
    rng = np.random.default_rng(0)
    for size in SIZES:
        a, b = operands(rng, half, size, flags)
        near(df.matmul(a, b, *flags), a, b, flags, half)


@pytest.mark.parametrize("half", HALVES)
def test_batches(half):
    rng = np.random.default_rng(1)
    for size in [(3, 5, 7), (1, 40, 33), (40, 33, 1), (33, 70, 50), (64, 64, 64)]:
        for batches in [((5,), (5,)), ((2, 1), (3,)), ((), (4,)), ((4,), ()), ((0,), (0,))]:
            for flags in FLAGS:
                a, b = operands(rng, half, size, flags, *batches)
                near(df.matmul(a, b, *flags), a, b, flags, half)


@given(st.sampled_from(sorted(HALVES)), st.sampled_from(FLAGS), st.integers(0, 80),
       st.integers(0, 150), st.integers(0, 80), st.integers(0, 2**32))
def test_any_size(half, flags, m, k, n, seed):
    a, b = operands(np.random.default_rng(seed), half, (m, k, n), flags)
    near(df.matmul(a, b, *flags), a, b, flags, half)


@pytest.mark.parametrize("half", HALVES)
def test_same_bits_for_any_thread_count_and_layout(half):
    """Compare numbers of threads, tracing, and matrices stored transposed."""
    rng = np.random.default_rng(2)
    before = df.config.num_threads()
    for size in [(5, 300, 7), (130, 600, 150), (700, 96, 70), (1, 500, 300)]:
        a, b = operands(rng, half, size, (False, False))
        want = df.matmul(a, b)
        try:
            for threads in (1, 2, 3, 8):
                df.config.set_num_threads(threads)
                assert df.matmul(a, b).numpy().tobytes() == want.numpy().tobytes()
        finally:
            df.config.set_num_threads(before)
        traced = df.function(lambda a, b: df.matmul(a, b))
        assert traced(a, b).numpy().tobytes() == want.numpy().tobytes()
        if size[0] > 1:
            other = df.matmul(np.ascontiguousarray(a.T), np.ascontiguousarray(b.T), True, True)
            assert other.numpy().tobytes() == want.numpy().tobytes()


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("size", [(4, 6, 5), (40, 70, 50), (1, 70, 50), (50, 70, 1)])
def test_nan_and_infinities(half, size):
    """NaN and infinities affect only results that read them; overflow gives infinity."""
    rng = np.random.default_rng(3)
    a, b = operands(rng, half, size, (False, False))
    a[0, 1], b[2, 0] = np.nan, np.inf
    want = a.astype("f4") @ b.astype("f4")
    got = df.matmul(a, b).numpy().astype("f4")
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_array_equal(np.isinf(got), np.isinf(want))
    large = np.full_like(a, 60000 if half == "float16" else 3e38)
    assert np.isposinf(df.matmul(large, np.ones_like(b)).numpy().astype("f4")).all()
    zeros = np.zeros(size[:2], a.dtype)     # partial tiles must not read adjacent memory
    zeros[0, 0] = np.inf
    ones = np.ones(size[1:], b.dtype)
    assert (df.matmul(zeros, ones).numpy()[1:] == 0).all()


def test_subnormal_values():
    """float16 subnormals are exact; the smallest bfloat16 values may be flushed to 0."""
    tiny = np.full((64, 64), 2.0**-24)
    got = df.matmul(tiny.astype("float16"), np.eye(64, dtype="float16") * 1024).numpy()
    assert (got == np.float16(2.0**-14)).all()
    tiny = np.full((64, 64), 2.0**-130).astype(ml_dtypes.bfloat16)
    got = df.matmul(tiny, np.eye(64).astype(ml_dtypes.bfloat16)).numpy()
    assert (np.abs(got.astype("float64")) <= 2.0**-126).all()


@pytest.mark.parametrize("half", HALVES)
def test_gradient(half):
    rng = np.random.default_rng(4)
    for flags in FLAGS:
        a, b = (df.constant(x) for x in operands(rng, half, (40, 50, 60), flags))
        g = df.cast(df.constant(rng.normal(size=(40, 60))), half)
        with df.GradientTape() as tape:
            tape.watch([a, b])
            y = df.matmul(a, b, *flags)
        slopes = tape.gradient(y, [a, b], output_gradients=g)
        wide = [df.cast(x, "float64") for x in (a, b)]
        with df.GradientTape() as tape:
            tape.watch(wide)
            y = df.matmul(*wide, *flags)
        for got, want in zip(slopes, tape.gradient(y, wide, output_gradients=df.cast(g, "float64")),
                             strict=True):
            error = np.abs(df.cast(got, "float64").numpy() - want.numpy())
            assert got.dtype == half and error.max() <= UNIT[half] * np.abs(want.numpy()).max()


LIMIT = "DUALFLOW_BFLOAT16"


@pytest.mark.parametrize("level, way", [("avx512", "float32"), ("avx512", "pairs")])
def test_other_kernels(level, way):
    """Run these tests in processes that use other kernels, if this CPU supports them; by default
    one of six. test_levels.py runs them at other levels."""
    if LIMIT in os.environ or "LD_PRELOAD" in os.environ:
        pytest.skip("this test starts the process, or sanitizers make it take minutes")
    levels.skip_unless_available(level)
    env = {**os.environ, LIMIT: way, "DUALFLOW_ISA": level}
    root = Path(__file__).resolve().parents[3]
    files = __file__, str(root / "tests/graph/test_packed_products.py")
    few = [] if sampling.every else ["--sample", "12"]
    ran = subprocess.run([sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider",
                          *few, *files], cwd=root, env=env, capture_output=True, text=True,
                         timeout=900, check=False)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-1000:]
