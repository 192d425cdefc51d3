"""Operators of loaded files at values where a plain formula fails."""

import numpy as np
import pytest

pytest.importorskip("onnx")

from onnx import helper

import dualflow as df
from tests.onnx.extremes import compare, outer
from tests.onnx.runtimes import reference
from tests.ops.case import INTS


def model_of(kind, arrays, dtype, **attrs):
    names = [f"x{k}" for k in range(len(arrays))]
    info = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for name, a in zip(names, arrays, strict=True)]
    code = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    made = helper.make_tensor_value_info("y", code, None)
    graph = helper.make_graph([helper.make_node(kind, names, ["y"], **attrs)], "g", info, [made])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


@pytest.mark.parametrize("run", [lambda f: f, df.function], ids=["eager", "traced"])
@pytest.mark.parametrize("dtype", [*INTS, "float16", "float32", "float64"])
def test_remainders_with_the_sign_of_the_dividend(dtype, run):
    """As in C, a finite number modulo an infinite one is the number, also if signs differ."""
    a, b = outer([dtype, dtype])
    b = b[b != 0].reshape(1, -1) if dtype in INTS else b
    model = df.onnx.load(model_of("Mod", [a, b], dtype, fmod=1), traced=False)
    with np.errstate(all="ignore"):
        want = np.fmod(a, b)
    compare(want, run(model)(df.constant(a), df.constant(b)).numpy())


def test_remainders_have_gradients():
    a, b = np.array([7., -7., 7.5, -8.]), np.array([3., 3., -2., 4.])
    model = df.onnx.load(model_of("Mod", [a, b], "float64", fmod=1), traced=False)
    a, b = df.constant(a), df.constant(b)
    with df.GradientTape() as tape:
        tape.watch([a, b])
        y = model(a, b)
    by_a, by_b = tape.gradient(y, [a, b])
    assert by_a.numpy().tolist() == [1., 1., 1., 1.]
    assert by_b.numpy().tolist() == [-2., 2., 3., 2.]           # minus the truncated quotients


REDUCTIONS = ["ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1",
              "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("axes", [[], [1], [0, 1]])
@pytest.mark.parametrize("kind", REDUCTIONS)
def test_reductions_over_no_axes(kind, axes):
    """The rest of the operator is applied: squares, absolute values, logarithms."""
    x, axes = np.array([[1., -2.5, 3.], [4., 5., -6.]], "float32"), np.array(axes, "int64")
    model = model_of(kind, [x, axes], "float32", noop_with_empty_axes=1)
    compare(reference(model, x, axes)[0], df.onnx.load(model)(x, axes).numpy(), rtol=1e-5)


@pytest.mark.parametrize("kind, want", [("Mean", [5e4, 5 / 3]), ("Sum", [np.inf, 5.])])
def test_sums_of_three_in_reduced_precision(kind, want):
    """Partial sums are beyond the range of float16, or between its values."""
    arrays = [np.array(x, "float16") for x in ([6e4, 2048.], [6e4, 1.], [3e4, -2044.])]
    model = df.onnx.load(model_of(kind, arrays, "float16"), traced=False)
    np.testing.assert_array_equal(model(*arrays).numpy(), np.array(want, "float16"))


@pytest.mark.parametrize("pads, strides, dilations, more, copies", [
    ([1, 1, 1, 1], [2, 2], [1, 1], {}, False),
    ([0, 2, 1, 0], [1, 1], [1, 1], {}, False),
    ([1, 1, 1, 2], [2, 1], [1, 1], {"pads": [1, 1, 0, 2], "ceil_mode": 1}, False),
    ([1, 1, 1, 1], [1, 2], [1, 1], {"pads": None, "auto_pad": "SAME_LOWER"}, False),
    ([3, 1, 2, 4], [1, 2], [2, 3], {}, False),
    ([3, 1, 0, 0], [1, 1], [1, 1], {}, True),
])
@pytest.mark.parametrize("kind", ["MaxPool", "AveragePool"])
def test_padded_pools(kind, pads, strides, dilations, more, copies):
    """Padding that is shorter than a window is an attribute of the pooling op and is not copied."""
    x = np.random.default_rng(0).standard_normal((2, 3, 10, 11), "float32")
    x[0, 0, 0, :3] = x[1, 1, 2:8, 2:8] = -np.inf
    x[0, 1, 4, 4] = np.nan
    attrs = {"kernel_shape": [3, 3], "pads": pads, "strides": strides, "dilations": dilations}
    model = df.onnx.load(model_of(
        kind, [x], "float32", **{k: v for k, v in (attrs | more).items() if v is not None}))
    grown = [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])]
    spans = tuple(2 * d + 1 for d in dilations)

    def windows(x, value):
        x = np.pad(x, grown, constant_values=value)
        x = np.lib.stride_tricks.sliding_window_view(x, spans, (2, 3))
        return x[:, :, ::strides[0], ::strides[1], ::dilations[0], ::dilations[1]]

    with np.errstate(invalid="ignore"):
        want = (windows(x, -np.inf).max((4, 5)) if kind == "MaxPool" else
                windows(x, 0).sum((4, 5)) / windows(np.ones_like(x), 0).sum((4, 5)))
    np.testing.assert_allclose(model(x).numpy(), want, rtol=1e-5, atol=1e-6)
    names = [row.label for row in model.profile(x, runs=1).rows]
    assert any("pad" in name for name in names) == copies
