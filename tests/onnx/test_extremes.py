"""Files of single ops at extreme values: integer limits, infinities, NaN, signed zeros."""

import warnings

import numpy as np
import pytest

pytest.importorskip("onnx")

from onnx import helper

import dualflow as df
from tests.onnx.runtimes import model_of, reference

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
FLOATS = ["float16", "float32", "float64"]


def ends(dtype):
    """Return the values of a dtype for which operators overflow or lose a sign."""
    if dtype in FLOATS:
        limits = np.finfo(dtype)
        return np.array([0., -0., 1., -1., 3., -3., 0.5, -2.5, limits.max, -limits.max,
                         limits.tiny, -limits.tiny, np.inf, -np.inf, np.nan], dtype)
    limits = np.iinfo(dtype)
    near = [k for k in (-7, -3, -2, -1, 0, 1, 2, 3, 7) if limits.min <= k]
    return np.unique(np.array([*near, limits.min, limits.min + 1, limits.max - 1, limits.max,
                               limits.max // 2], dtype))


def pairs(dtype, divisors=False):
    a, b = [x.ravel() for x in np.meshgrid(ends(dtype), ends(dtype))]
    return (a[b != 0], b[b != 0]) if divisors and dtype in INTEGERS else (a, b)


def check(fn, *arrays, rtol=0.):
    """Assert that the file of `fn` has the results of eager mode, signs of zeros included."""
    model = model_of(fn, *[df.TensorSpec(a.shape, a.dtype) for a in arrays])
    want = fn(*map(df.constant, arrays)).numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)     # NumPy warns of infinities
        got, = reference(model, *arrays)
    compare(want, got, rtol)


def compare(want, got, rtol=0.):
    assert (want.dtype, want.shape) == (got.dtype, got.shape)
    np.testing.assert_allclose(got, want, rtol=rtol, atol=0)
    if want.dtype.kind == "f":
        there = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got[there]), np.signbit(want[there]))


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_floor_division(dtype):
    check(lambda a, b: a // b, *pairs(dtype, divisors=True))


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_floor_remainder(dtype):
    check(lambda a, b: a % b, *pairs(dtype, divisors=True))


@pytest.mark.parametrize("dtype", FLOATS)
def test_atan2(dtype):
    check(df.math.atan2, *pairs(dtype), rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", ["int32", "int64", *FLOATS])
@pytest.mark.parametrize("low, high", [(-1, 2), (2, -1), (3, 3)])
def test_clip(dtype, low, high):
    """Include bounds in the wrong order: the lower one is returned, as in eager mode."""
    x = ends(dtype)
    check(lambda x: df.clip_by_value(x, df.constant(low, dtype), df.constant(high, dtype)), x)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("scale", [0., 1e-4, 1., 300., 1e4])
def test_rows_of_extreme_sizes(dtype, scale):
    """Cover squares beyond the range of float16, and zero rows, where epsilon matters."""
    x = (np.random.default_rng(0).normal(size=(3, 5)) * scale).astype(dtype)
    rtol = 4 * np.finfo(dtype).eps if dtype == "float16" else 1e-5
    for fn in (df.math.l2_normalize, lambda x: df.nn.layer_norm(x, axis=-1)):
        model = model_of(lambda x, fn=fn: fn(x), df.TensorSpec(x.shape, dtype))
        want = fn(df.constant(x)).numpy()
        got, = reference(model, x)
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_truncated_remainder_of_a_loaded_file(dtype):
    """Mod with fmod=1 is NumPy's fmod, whose zeros have the sign of the dividend."""
    code = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    info = lambda name: helper.make_tensor_value_info(name, code, [None])  # noqa: E731
    graph = helper.make_graph([helper.make_node("Mod", ["a", "b"], ["y"], fmod=1)], "g",
                              [info("a"), info("b")], [info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    a, b = pairs(dtype, divisors=True)
    with np.errstate(all="ignore"):
        want = np.fmod(a, b)
    compare(want, df.onnx.load(model)(a, b).numpy())


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("method", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(4, 3), (3, 7), (13, 20), (1, 1), (9, 2)])
def test_edges_of_resized_images(size, method, antialias):
    x = np.random.default_rng(0).normal(size=(1, 9, 7, 2)).astype("float32")
    fn = lambda x: df.image.resize(x, size, method, antialias=antialias)  # noqa: E731
    model = model_of(fn, df.TensorSpec(x.shape))
    want = fn(df.constant(x)).numpy()
    for got in (reference(model, x)[0], df.onnx.load(model)(x).numpy()):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
