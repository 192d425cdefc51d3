"""Dtypes that files have and dualflow lacks: each value is the one of ml_dtypes."""

import numpy as np
import pytest

pytest.importorskip("onnx")

import ml_dtypes
from onnx import TensorProto, helper, numpy_helper

import dualflow as df
from dualflow.onnx.narrow import SCALE, TYPES, cast

# All float16 values, and float32 values halfway between two of them and next to that.
HALF = np.arange(1 << 16, dtype="uint16").view("float16").astype("float32")
with np.errstate(invalid="ignore"):
    BETWEEN = (HALF[:-1] + HALF[1:]) / 2
    X = np.concatenate([HALF, BETWEEN, np.nextafter(BETWEEN, np.float32(0)), HALF * 2.0 ** 20])
FLOATS = [t for t in TYPES if t.is_floating and t is not SCALE]
INTS = [t for t in TYPES if t.is_integer]
both = pytest.mark.parametrize("run", [lambda f: f, df.function], ids=["eager", "traced"])


def same(a, b):
    """Assert equal values of equal sign, or NaN in both."""
    a, b = a.astype("float32"), b.astype("float32")
    np.testing.assert_array_equal(a, b)
    number = ~np.isnan(a)
    np.testing.assert_array_equal(np.signbit(a[number]), np.signbit(b[number]))


@both
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("t", FLOATS, ids=repr)
def test_rounding(t, run):
    x = X if t.has_nan else X[~np.isnan(X)]
    for saturate in (True, False):
        made = run(lambda x, s=saturate: cast(x, t, s))(df.constant(x))
        clipped = np.clip(x, -t.largest, t.largest) if saturate else x
        same(made.numpy(), clipped.astype(t.as_numpy_dtype))


@both
@pytest.mark.parametrize("how", ["up", "down", "nearest"])
def test_powers_of_two(how, run):
    x = np.abs(X[np.isfinite(X) & (X != 0)])
    made = run(lambda x: cast(x, SCALE, True, how))(df.constant(x))
    same(made.numpy(), numpy_helper.to_float8e8m0(x, True, how))


@both
@pytest.mark.parametrize("t", INTS, ids=repr)
def test_integers_keep_the_lowest_bits(t, run):
    low = -(1 << t.bits - 1) if not t.is_unsigned else 0
    for dtype in ("int8", "uint8", "int32", "int64", "float32"):
        x = np.arange(0 if dtype == "uint8" else -100, 127).astype(dtype)
        made = run(lambda x: cast(x, t))(df.constant(x)).numpy().astype("int64")
        np.testing.assert_array_equal(made, (x.astype("int64") - low) % (1 << t.bits) + low)


@pytest.mark.parametrize("t", TYPES, ids=repr)
def test_tensors_of_files_and_arrays(t):
    """Cover a file that returns a table of the dtype, transposed, and an input of the dtype."""
    table = np.array([[1, 0, 1], [0, 1, 1]]).astype(t.as_numpy_dtype)
    info = lambda name: helper.make_tensor_value_info(name, t.code, None)  # noqa: E731
    graph = helper.make_graph([helper.make_node("Transpose", ["w"], ["t"]),
                               helper.make_node("Concat", ["t", "x"], ["y"], axis=0)],
                              "g", [info("x")], [info("y")],
                              [numpy_helper.from_array(table, "w")])
    model = df.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)]),
                         trainable=True)
    assert model.variables == [] and model.inputs[0].dtype is t
    x = np.array([[1, 1]]).astype(t.as_numpy_dtype)
    for made in (model(x), df.function(model)(df.onnx.NarrowTensor(
            df.constant(x.astype(t.kept_as.name)), t))):
        assert (made.dtype, made.shape) == (t, (4, 2))
        same(made.numpy(), np.concatenate([table.T, x]))
    with pytest.raises(df.errors.InvalidArgumentError, match=t.name):
        model(np.ones((1, 2), "float32"))


def test_names():
    assert {t.name for t in TYPES} <= set(dir(ml_dtypes))
    assert {t.code for t in TYPES} <= set(TensorProto.DataType.values())
    assert {t.name for t in TYPES} == {str(helper.tensor_dtype_to_np_dtype(t.code)) for t in TYPES}
    with pytest.raises(df.errors.DTypeError, match="float8_e4m3fn"):
        df.onnx.narrow([1.], "float32")
