"""Quantised matrices of given integers and scales: exact elements, products, and errors."""

import numpy as np
import pytest

import dualflow as df
from dualflow import errors

build = df.quantization.matrix_from_integers


def operands(k, n, bits, group_size, zero_points, axis, seed=0):
    """Return integers, scales, zero points and the float64 matrix that they denote."""
    rng = np.random.default_rng(seed)
    span = group_size or k
    groups = -(-k // span)
    low = 0 if zero_points else -2 ** (bits - 1)
    integers = rng.integers(low, low + 2 ** bits, (k, n), "int32")
    scales = rng.uniform(.01, 2., (groups, n)).astype("float32")
    zeros = rng.integers(0, 2 ** bits, (groups, n), "int32") if zero_points else None
    group = np.arange(k) // span
    shifted = integers - (zeros[group] if zero_points else 0)
    matrix = shifted * scales[group].astype("float64")
    turned = [x if x is None or axis == 0 else x.T.copy() for x in (integers, scales, zeros)]
    return *turned, matrix if axis == 0 else matrix.T


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("zero_points", [False, True])
@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize(("k", "n", "group_size"), [(64, 40, 32), (100, 3, 64), (13, 33, None)])
def test_elements_and_products(k, n, group_size, bits, zero_points, axis):
    integers, scales, zeros, want = operands(k, n, bits, group_size, zero_points, axis)
    q = build(integers, scales, zeros, bits=bits, group_size=group_size, axis=axis)
    assert q.scales.dtype == "float32" and q.symmetric is not zero_points
    np.testing.assert_array_equal(q.dequantize().numpy(), want.astype("float32"))
    for rows in 1, 3, 9, 70:            # few rows have a kernel of their own
        x = np.random.default_rng(rows).normal(size=(rows, k)).astype("float32")
        y = df.matmul(x, q, transpose_b=axis == 1).numpy()
        w = want if axis == 0 else want.T
        np.testing.assert_allclose(y, x.astype(float) @ w, rtol=1e-5,
                                   atol=1e-6 * (abs(x) @ abs(w)).max())
    traced = df.function(lambda x, q: df.matmul(x, q, transpose_b=axis == 1))
    np.testing.assert_array_equal(traced(x, q).numpy(), y)
    if axis == 1:
        np.testing.assert_array_equal(df.gather(q, [n - 1, 0]).numpy(),
                                      want[[n - 1, 0]].astype("float32"))


def test_bfloat16_scales_are_stored():
    w = np.random.default_rng(0).normal(size=(96, 5)).astype("float32")
    q = df.quantization.quantize_weights(w, bits=4)
    scales = df.transpose(q.scales[0, :, :5], [0, 1])
    wide = np.repeat(df.cast(scales, "float32").numpy(), 32, axis=0)
    again = build(np.rint(q.numpy() / wide).astype("int8"), scales, bits=4)
    assert again.scales.dtype == "bfloat16"
    for name in "values", "scales":
        got = getattr(again, name).numpy()[..., :20 if name == "values" else 5]
        want = getattr(q, name).numpy()[..., :20 if name == "values" else 5]
        assert got.tobytes() == want.tobytes()


ONE = np.ones((32, 2), "int8")
S = np.ones((1, 2), "float32")


@pytest.mark.parametrize("error, match, args, kwargs", [
    (errors.InvalidArgumentError, "integers has the value 8, expected -8 to 7", [8 * ONE, S],
     {"bits": 4}),
    (errors.InvalidArgumentError, "integers has the value -1, expected 0 to 15", [-ONE, S, 0 * S],
     {"bits": 4}),
    (errors.InvalidArgumentError, "zero_points has the value 16, expected 0 to 15",
     [ONE, S, np.array([[1, 16]])], {"bits": 4}),
    (errors.InvalidArgumentError, "scales has a value that is NaN", [ONE, S * np.nan], {}),
    (errors.InvalidArgumentError, "scales has a value that is NaN or inf",
     [ONE, S * np.float32(np.inf)], {}),
    (errors.InvalidArgumentError, "bits is 3, expected 4 or 8", [ONE, S], {"bits": 3}),
    (errors.InvalidArgumentError, "group_size is 16, expected 32", [ONE, S], {"group_size": 16}),
    (errors.InvalidArgumentError, "axis is 2, expected 0 or 1", [ONE, S], {"axis": 2}),
    (errors.ShapeError, r"scales has shape \(2, 1\), expected \(1, 2\)", [ONE, S.T], {}),
    (errors.ShapeError, r"zero_points has shape \(3,\), expected \(1, 2\)",
     [ONE, S, np.ones(3, "int8")], {}),
    (errors.ShapeError, r"integers has shape \(2,\), expected a matrix", [ONE[0], S], {}),
    (errors.DTypeError, "integers has dtype float32", [S, S], {}),
    (errors.DTypeError, "scales is int8, expected a floating", [ONE, ONE[:1]], {}),
    (errors.DTypeError, "zero_points has dtype float32", [ONE, S, S], {})])
def test_errors(error, match, args, kwargs):
    if match.startswith("integers has the value -1"):
        args = [args[0], args[1], args[2].astype("int8")]
    with pytest.raises(error, match=match):
        build(*args, **kwargs)


def test_symbolic_integers_are_refused():
    with pytest.raises(errors.DTypeError, match="integers is symbolic"):
        df.function(lambda x: build(x, S).dequantize())(ONE)
