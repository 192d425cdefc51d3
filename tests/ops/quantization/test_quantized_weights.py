"""Quantised matrices: their products at every SIMD level on one and two threads, exact sums,
gradients, rows, arguments of traced functions, exports, and errors."""

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dualflow as df
from dualflow import _core, errors
from tests import levels
from tests.ops.harness import threads

ROOT = Path(__file__).resolve().parents[3]
quantize = df.quantization.quantize_weights
ROWS = 0, 1, 2, 3, 4, 7, 8, 9, 13, 300


def weights(k, n, seed=0):
    return np.random.default_rng(seed).normal(size=(k, n)).astype(np.float32)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("group_size", [32, 64, 128, None])
@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize(("k", "n"), [(256, 96), (100, 33), (8, 1), (1, 5), (374, 65), (1120, 3)])
def test_products(k, n, bits, group_size, symmetric):
    """Columns of one float32 product depend on the depth of its blocks: 374 and 1120 cut words."""
    q = quantize(weights(k, n), bits, group_size, symmetric)
    w = q.numpy().astype(np.float64)
    for rows in ROWS:
        x = np.random.default_rng(rows).normal(size=(rows, k)).astype(np.float32)
        with threads(1):
            one = x @ q
        with threads(2):
            two = x @ q
        np.testing.assert_array_equal(one.numpy(), two.numpy())
        bound = 1e-6 * (np.abs(x).astype(np.float64) @ np.abs(w))
        assert (np.abs(one.numpy() - x.astype(np.float64) @ w) <= bound + 1e-30).all()


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("group_size", [32, 128, None])
@pytest.mark.parametrize("symmetric", [True, False])
def test_exact_sums(group_size, bits, symmetric):
    """Integers with scales that are powers of two, and integers in x: every sum is exact."""
    rng = np.random.default_rng(1)
    k, n, most = 200, 37, 2 ** (bits - 1) - 1
    w = rng.integers(-most, most + 1, (k, n))
    w[::32] = most          # in each group
    w[1::32] = -most if symmetric else -most // 2   # with zero points, scales are not powers of two
    scale = 2. ** -3
    q = quantize((w * scale).astype(np.float32), bits, group_size, symmetric)
    assert q.symmetric == symmetric
    if symmetric:
        np.testing.assert_array_equal(q.numpy(), w * scale)
    else:
        q.scales = df.fill(q.scales.shape, df.constant(scale, df.bfloat16))
        w = q.numpy() / scale
    for rows in ROWS:
        x = rng.integers(-20, 21, (rows, k))
        np.testing.assert_array_equal((x.astype(np.float32) @ q).numpy(), x @ w * scale)


@pytest.mark.parametrize("bits", [8, 4])
def test_rows_do_not_depend_on_the_other_rows(bits):
    q = quantize(weights(200, 70), bits)
    x = weights(8, 200, 1)
    whole = (x @ q).numpy()
    for rows in range(1, 8):
        np.testing.assert_array_equal((x[:rows] @ q).numpy(), whole[:rows])
        np.testing.assert_array_equal((x[rows - 1] @ q).numpy(), whole[rows - 1])


@pytest.mark.parametrize(("bits", "symmetric", "steps"), [
    (8, True, .5), (4, True, .5), (8, False, 1.), (4, False, 1.)])
def test_error_of_weights(bits, symmetric, steps):
    w = weights(128, 64)
    for axis in (0, 1):
        for group_size in (32, 64):
            q = quantize(w, bits, group_size, symmetric, axis)
            groups = np.moveaxis(w, axis, 0).reshape(-1, group_size, w.shape[1 - axis])
            span = (2 * np.abs(groups).max(1) if symmetric
                    else np.maximum(groups.max(1), 0) - np.minimum(groups.min(1), 0))
            scale = np.repeat(span / (2 ** bits - 2 + (not symmetric)), group_size, 0)
            error = np.abs(np.moveaxis(q.numpy() - w, axis, 0))
            assert (error <= steps * scale * (1 + 2. ** -6) + 1e-7).all()


def test_memory():
    w = weights(768, 256)
    assert quantize(w, 8, 32).nbytes == 768 * 256 * (8 + .5) / 8
    assert quantize(w, 4, 64).nbytes == 768 * 256 * (4 + .25) / 8
    assert quantize(w, 4, 32, symmetric=False).nbytes == 768 * 256 * (4 + .75) / 8
    assert quantize(w, 8, None).nbytes == 768 * 256 + 2 * 256
    assert repr(quantize(w, 4, 64, axis=1)) == (
        "QuantizedMatrix(shape=(768, 256), bits=4, group_size=64, axis=1, symmetric, 104448 bytes)")


def test_zeros_and_small_weights():
    for w in (np.zeros((40, 5)), np.full((40, 5), 1e-30), np.full((40, 5), -3e37)):
        q = quantize(w.astype(np.float32), 8)
        np.testing.assert_allclose(q.numpy(), w, rtol=1e-2)
    assert (df.ones([2, 40]) @ quantize(np.zeros((40, 5), "f"), symmetric=False)).numpy().sum() == 0


@pytest.mark.parametrize("rows", [1, 3, 9])
def test_empty_matrices(rows):
    assert (df.ones([rows, 8]) @ quantize(np.zeros((8, 0), "f"))).shape == (rows, 0)
    assert (df.ones([rows, 0]) @ quantize(np.zeros((0, 3), "f"))).tolist() == [[0.] * 3] * rows


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bit_floats(dtype):
    q, x = quantize(weights(64, 9)), df.cast(weights(3, 64, 1), dtype)
    y = x @ q
    want = df.cast(df.cast(x, "float32") @ q, dtype)
    assert y.dtype == dtype and df.reduce_all(y == want)


def test_gradient():
    q, g = quantize(weights(40, 9), 4), weights(3, 9, 2)
    x = df.constant(weights(3, 40, 1))

    def loss(x):
        return df.reduce_sum(g * (x @ q))

    want = g @ q.numpy().T
    got = df.grad(loss)(x).numpy()
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(df.function(df.grad(loss))(x).numpy(), got)
    e = np.zeros((3, 40), np.float32)
    e[1, 7] = 4.                # the loss is linear
    near = ((g.astype(float) * ((x + e) @ q).numpy()).sum()
            - (g.astype(float) * ((x - e) @ q).numpy()).sum()) / 8.
    assert abs(near - want[1, 7]) < 1e-4


def test_no_gradient_with_respect_to_weights():
    q = quantize(weights(40, 9))
    with df.GradientTape() as tape:
        tape.watch(q.scales)
        loss = df.reduce_sum(df.ones([1, 40]) @ q)
    with pytest.raises(errors.InvalidArgumentError, match="no gradient with respect to quantised"):
        tape.gradient(loss, q.scales)


@pytest.mark.parametrize("bits", [8, 4])
def test_traced_functions(bits):
    q, x = quantize(weights(40, 9), bits), df.constant(weights(3, 40, 1))
    want = df.tanh(x @ q).numpy()
    given = df.function(lambda x, q: df.tanh(x @ q))
    captured = df.function(lambda x: df.tanh(x @ q))
    spec = df.function(lambda x, q: df.tanh(x @ q),
                       input_signature=[df.TensorSpec([None, 40]), df.type_spec_from_value(q)])
    for f, args in ((given, (x, q)), (captured, (x,)), (spec, (x, q))):
        np.testing.assert_array_equal(f(*args).numpy(), want)
    for n in range(1, 12):
        x = df.constant(weights(n, 40, n))
        np.testing.assert_array_equal(spec(x, q).numpy(), df.tanh(x @ q).numpy())
    assert spec.experimental_get_tracing_count() == 1
    given(x, quantize(weights(40, 9), 12 - bits))
    assert given.experimental_get_tracing_count() >= 2          # bits are static
    again = df.function(lambda q: q)(q)
    assert repr(again) == repr(q)
    for other in (again, copy.deepcopy(q), pickle.loads(pickle.dumps(q))):
        np.testing.assert_array_equal(other.numpy(), q.numpy())
    looped = df.function(lambda x: df.while_loop(
        lambda i, x: i < 3, lambda i, x: (i + 1, df.tanh((x @ q) @ df.ones([9, 40]))), (0, x))[1])
    np.testing.assert_array_equal(
        looped(x).numpy(), df.while_loop(lambda i, x: i < 3, lambda i, x: (
            i + 1, df.tanh((x @ q) @ df.ones([9, 40]))), (0, x))[1].numpy())


def test_vmap():
    q, x = quantize(weights(40, 9)), df.constant(weights(3, 40, 1))
    np.testing.assert_array_equal(df.vmap(lambda x: x @ q)(x).numpy(), (x @ q).numpy())


def test_saved_programs(tmp_path):
    """A program file contains the integers, and no dequantised copy."""
    q, x = quantize(weights(512, 300), 4), df.constant(weights(2, 512, 1))
    f = df.function(lambda x: x @ q)
    df.save_program(f.get_concrete_function(x), tmp_path / "program")
    assert q.nbytes < (tmp_path / "program").stat().st_size < q.nbytes + 8192
    loaded = df.load_program(tmp_path / "program")
    np.testing.assert_array_equal(loaded(x).numpy(), f(x).numpy())


@pytest.mark.parametrize("bits", [8, 4])
def test_rows(bits):
    table = quantize(weights(50, 40), bits, axis=1)
    rows = table.numpy()
    for indices in (3, [1, -1, 1], [[0], [49]], np.zeros((0, 2), int)):
        np.testing.assert_array_equal(df.gather(table, indices).numpy(), rows[indices])
    np.testing.assert_array_equal(df.nn.embedding_lookup(table, [4, 2]).numpy(), rows[[4, 2]])
    x = df.constant(weights(3, 40, 1))
    np.testing.assert_allclose(df.matmul(x, table, transpose_b=True).numpy(), x.numpy() @ rows.T,
                               rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(
        df.matmul(df.transpose(x), table, transpose_a=True, transpose_b=True).numpy(),
        df.matmul(x, table, transpose_b=True).numpy())
    with pytest.raises(errors.OutOfRangeError, match=r"indices\[1\] is 50"):
        df.gather(table, [0, 50])
    with pytest.raises(errors.InvalidArgumentError, match="expected axis 0"):
        df.gather(table, [0], axis=1)
    with pytest.raises(errors.InvalidArgumentError, match="groups along axis 0, expected"):
        df.gather(quantize(weights(50, 40)), [0])


@pytest.mark.parametrize(("arguments", "message"), [
    ({"bits": 5}, "bits is 5, expected 4 or 8"), ({"bits": True}, "bits is True"),
    ({"bits": "8"}, "bits is '8'"),
    ({"group_size": 33}, "group_size is 33, expected 32, 64, 128 or None"),
    ({"group_size": 0}, "group_size is 0"), ({"group_size": 32.}, "group_size is 32.0"),
    ({"axis": 2}, "axis is 2, expected 0 or 1"), ({"axis": None}, "axis is None"),
    ({"w": [1., 2.]}, r"w has shape \(2,\), expected a matrix"),
    ({"w": [[1, 2]]}, "w is int32, expected a floating"), ({"w": "x"}, "'x'"),
    ({"w": [[1., np.nan]]}, "w has NaN"), ({"w": [[np.inf, 1.]]}, "infinite"),
    ({"w": [[3.4e38, 1.]], "symmetric": False}, "too large")])
def test_bad_arguments(arguments, message):
    arguments = {"w": weights(40, 3), **arguments}
    with pytest.raises((errors.InvalidArgumentError, errors.ShapeError, errors.DTypeError),
                       match=message):
        quantize(**arguments)


def test_unsuitable_operands():
    q = quantize(weights(40, 9))
    for compute, message in (
            (lambda: df.ones([2, 39]) @ q, "expected a last dimension of 40"),
            (lambda: df.constant(1.) @ q, "expected 1 or more dimensions"),
            (lambda: df.ones([2, 40], df.float64) @ q, "float64.*expected float32"),
            (lambda: df.ones([2, 40], df.int32) @ q, "int32.*expected float32"),
            (lambda: q @ df.ones([9, 2]), "as its right operand"),
            (lambda: df.matmul(q, q), "a is a QuantizedMatrix"),
            (lambda: df.matmul(df.ones([2, 9]), q, transpose_b=True), "expected transpose_b=False"),
            (lambda: df.exp(q), "exp: got a QuantizedMatrix.*dequantize"),
            (lambda: df.quantization.QuantizedMatrix(q.values), "created by"),
            (lambda: df.function(quantize)(df.ones([40, 2])), "w is symbolic")):
        with pytest.raises((errors.InvalidArgumentError, errors.ShapeError, errors.DTypeError),
                           match=message):
            compute()


def test_parts_that_do_not_fit():
    """The kernel checks its operands: programs may be forged."""
    q = quantize(weights(40, 9))
    attrs = {"bits": 8, "group_size": 32, "channels": 9, "depth": 40}
    parts = [df.ones([2, 40]), q.values, q.scales, q.zero_points]
    for changed in ({"bits": 4}, {"bits": 3}, {"group_size": 64}, {"group_size": 16},
                    {"channels": 33}, {"channels": -1}, {"depth": 44}, {"depth": 1 << 62}):
        with pytest.raises((errors.InvalidArgumentError, errors.ShapeError)):
            _core.apply("matmul_quantized", *parts, **{**attrs, **changed})
    for i, part in ((1, df.cast(q.values, "int32")), (2, df.cast(q.scales, "float16")),
                    (3, df.zeros([1, 2, 31], df.uint8)), (1, q.values[:, :1])):
        with pytest.raises(errors.ShapeError, match="do not fit"):
            _core.apply("matmul_quantized", *parts[:i], part, *parts[i + 1:], **attrs)


@pytest.mark.parametrize("level", ["baseline", "avx2", "avx512", "neon"])
def test_levels(level):
    if level == _core.isa() or "DUALFLOW_ISA" in os.environ:
        pytest.skip("this process runs the tests at this level")
    levels.skip_unless_available(level)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", __file__,
         "-k", "products or exact or rows"], cwd=ROOT, capture_output=True, text=True, timeout=300,
        env={**os.environ, "DUALFLOW_ISA": level}, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
