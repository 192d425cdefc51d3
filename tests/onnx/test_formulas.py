"""Ops that files express as several operators, at values where a plain formula fails: limits of
dtypes, zeros, infinities, NaN and 16-bit floats."""

import numpy as np
import pytest

pytest.importorskip("onnx")

import dualflow as df
from tests.onnx import extremes
from tests.onnx.extremes import FLOATS, ends, outer
from tests.onnx.runtimes import model_of
from tests.ops.case import INTS

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def check(fn, *arrays, **options):
    """Assert that a file of `fn` has the results of `fn` in each runtime."""
    model = model_of(fn, *[df.TensorSpec(a.shape, a.dtype.name) for a in arrays])
    made = fn(*map(df.constant, arrays))
    want = [y.numpy() for y in (made if isinstance(made, list | tuple) else [made])]
    extremes.check(want, model, arrays, **options)
    return model


@pytest.mark.parametrize("dtype", [*INTS, *FLOATS])
@pytest.mark.parametrize("function", [df.math.floordiv, df.math.floormod])
def test_quotients_and_remainders(function, dtype):
    """The smallest integer divided by -1 must not trap either."""
    a, b = outer([dtype, dtype])
    check(function, a, b[b != 0] if dtype in INTS else b, exact=True)


def test_quotients_near_the_limits():
    a = np.array([-128, -128, 127, -127], "int8")
    model = check(lambda a: a // 3, a)
    assert extremes.loaded(model, a)[0].tolist() == [-43, -43, 42, -43]


@pytest.mark.parametrize("dtype", ["int32", "int64", *FLOATS])
def test_clip_with_bounds_in_the_wrong_order(dtype):
    low, high = [np.array(k, extremes.numpy_dtype(dtype)) for k in (2, 1)]
    check(df.clip_by_value, ends(dtype), low, high, exact=True, zeros=False)


@pytest.mark.parametrize("dtype", FLOATS)
def test_atan2(dtype):
    check(df.math.atan2, *outer([dtype, dtype]))


def test_atan2_of_both_zeros():
    y, x = np.array([0., -0., 0., -0.], "float32"), np.array([0., 0., -0., -0.], "float32")
    model = check(df.math.atan2, y, x)
    got, = extremes.reference(model, y, x)
    np.testing.assert_array_equal(got, np.arctan2(y, x))


@pytest.mark.parametrize("dtype", FLOATS)
def test_trunc(dtype):
    check(df.math.trunc, ends(dtype), exact=True)


ROWS = {
    "zeros": np.zeros((2, 6)), "large": np.linspace(-4e4, 6e4, 12).reshape(2, 6),
    "small": np.linspace(-3e-4, 5e-4, 12).reshape(2, 6), "mixed": np.linspace(-3, 900, 12).reshape(
        2, 6)}
OF_ROWS = {
    "l2_normalize": lambda x: df.math.l2_normalize(x, -1),
    "layer_norm": lambda x: df.nn.layer_norm(x),
    "layer_norm, scaled": lambda x: df.nn.layer_norm(x, x[0] * 0 + 2., x[0] * 0),
    "rms_norm": lambda x: df.nn.rms_norm(x),
    "norm": lambda x: df.norm(x, axis=-1),
    "std": lambda x: df.math.reduce_std(x, -1),
    "mean": lambda x: df.reduce_mean(x, -1),
    "sum": lambda x: df.reduce_sum(x, -1),
    "logsumexp": lambda x: df.reduce_logsumexp(x, -1),
    "cumsum": lambda x: df.cumsum(x, -1),
    "segment_sum": lambda x: df.math.unsorted_segment_sum(x, df.constant([1, 1]), 2),
    "log_sigmoid": df.math.log_sigmoid,
    "floordiv": lambda x: x // 7.,
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("name", OF_ROWS)
def test_reduced_precision(name, rows, dtype):
    """Intermediate sums, squares and epsilons are in float32, so they are in range."""
    x = ROWS[rows].astype(extremes.numpy_dtype(dtype))
    # onnxruntime has no kernels for bfloat16
    check(OF_ROWS[name], x, skip=("runtime",) if dtype == "bfloat16" else (), zeros=False)


ACTIVATIONS = {"silu": df.nn.silu, "gelu": lambda x: df.nn.gelu(x, approximate=False),
               "gelu by tanh": lambda x: df.nn.gelu(x, approximate=True)}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_gradients_at_infinities(name, dtype):
    def fn(x):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = df.reduce_sum(ACTIVATIONS[name](x))
        return tape.gradient(y, x)
    x = np.array([-np.inf, np.inf, -1e30, 1e30, -20., 0., 3., np.nan], dtype)
    check(fn, x, rtol=0.05, skip=("reference",) if dtype == "float64" else (), zeros=False)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_silu_of_infinities(dtype):
    check(df.nn.silu, np.array([-np.inf, np.inf, np.nan, 0.], dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradient_of_tanh_is_accurate(dtype):
    x = np.linspace(-12, 12, 49).astype(dtype)

    def fn(x):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = df.reduce_sum(df.tanh(x))
        return tape.gradient(y, x)
    check(fn, x, skip=("runtime",))    # its sigmoids have absolute, not relative, accuracy 1e-7


@pytest.mark.parametrize("to", ["int8", "uint8", "int16", "uint16"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_casts_saturate(dtype, to):
    """float16 cannot represent 65535 and 32767."""
    check(lambda x: df.cast(x, to), ends(dtype), skip=("runtime",) if dtype == "bfloat16" else ())


@pytest.mark.parametrize("side", ["left", "right"])
def test_nan_is_sorted_last(side):
    table = np.array([-np.inf, -1., 0., 2., np.inf, np.nan, np.nan], "float32")
    values = np.array([np.nan, np.inf, -np.inf, 0., 5.], "float32")
    check(lambda a, b: df.searchsorted(a, b, side=side), table, values)


def test_in_top_k_of_non_finite_rows():
    rows = np.array([[1., 2., 3.], [1., np.nan, 3.], [1., 2., np.inf], [3., 2., -np.inf]],
                    "float32")
    check(lambda x: df.math.in_top_k(df.constant([2, 2, 1, 0]), x, 2), rows)


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("start", [1, 3, -7, 6])
def test_range_with_traced_bounds(start, dtype):
    """The number of elements is unknown while tracing."""
    step = 1 if dtype.startswith("int") else 0.1
    for fn in (lambda a: df.range(a, 6, step), lambda a: df.range(a, a + 6, 2),
               lambda a: df.range(a, -3, -1), lambda a: df.range(a)):
        check(fn, np.array(start, dtype), exact=True)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_long_ranges_in_reduced_precision(dtype):
    """Each element is rounded once; float16 cannot represent indices above 2048."""
    x = np.array(1, extremes.numpy_dtype(dtype))
    for fn in (lambda a: df.range(a, 6000, 2), lambda a: df.linspace(a, 5000.7, 3000)):
        check(fn, x, exact=True, skip=("runtime",) if dtype == "bfloat16" else ())


def test_linspace_with_a_symbolic_size():
    model = model_of(lambda x: df.linspace(1., 3., x.shape[0]), df.TensorSpec([None]))
    for n in (1, 2, 5):
        extremes.check([df.linspace(1., 3., n).numpy()], model, [np.ones(n, "float32")])


def test_confusion_matrix_with_inferred_classes():
    for labels in ([0, 2, 1], [3, 3, 3]):
        a = np.array(labels, "int32")
        check(df.math.confusion_matrix, a, a[::-1].copy())


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("method", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(4, 6), (13, 6), (2, 6), (1, 1), (13, 20), (4, 20), (3, 2)])
def test_edges_of_resized_images(size, method, antialias):
    x = np.random.default_rng(0).normal(size=(1, 9, 6, 2)).astype("float32")
    small = method == "bicubic" and not antialias       # onnxruntime supports it for 4D only
    check(lambda x: df.image.resize(x, size, method, antialias=antialias), x,
          skip=("runtime",) if small else (), rtol=1e-4, atol=1e-5)
