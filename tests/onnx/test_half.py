"""Operators of loaded files on 16-bit floats: float32 accuracy, rounded once."""

import numpy as np
import pytest

pytest.importorskip("onnx")

from onnx import TensorProto, helper

import dualflow as df

CODES = {"float16": TensorProto.FLOAT16, "bfloat16": TensorProto.BFLOAT16,
         "float32": TensorProto.FLOAT}
BY_CHANNEL, BY_PLACE = [1., 2., .5, 1.], [1., 2., .5, 1., 3., 1.]
# Operator, other inputs, attributes, outputs, version.
CASES = [
    *[(kind, [], {"keepdims": 0}, 1, 24) for kind in (
        "ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare",
        "ReduceLogSum", "ReduceLogSumExp")],
    ("LayerNormalization", [BY_PLACE, BY_PLACE], {}, 1, 24),
    ("LayerNormalization", [BY_PLACE], {}, 3, 24),
    ("LayerNormalization", [BY_PLACE], {"epsilon": 1e-12}, 1, 24),
    ("RMSNormalization", [BY_PLACE], {}, 1, 24),
    ("InstanceNormalization", [BY_CHANNEL, BY_CHANNEL], {}, 1, 24),
    ("GroupNormalization", [BY_CHANNEL, BY_CHANNEL], {"num_groups": 2}, 1, 24),
    ("GroupNormalization", [[1., 2.], [1., 2.]], {"num_groups": 2}, 1, 18),
    ("BatchNormalization", [BY_CHANNEL, BY_CHANNEL, BY_CHANNEL, [1e3, 6e4, 1e-6, 1.]], {}, 1, 24),
    ("BatchNormalization", [BY_CHANNEL] * 4, {"training_mode": 1}, 3, 24),
    ("MeanVarianceNormalization", [], {"axes": [0, 2]}, 1, 24),
    ("LpNormalization", [], {}, 1, 24),
    ("LpNormalization", [], {"p": 1}, 1, 24),
    ("LpPool", [], {"kernel_shape": [3]}, 1, 24),
    ("LpPool", [], {"kernel_shape": [3], "pads": [1, 1]}, 1, 24),
    ("GlobalLpPool", [], {}, 1, 24),
    ("GlobalAveragePool", [], {}, 1, 24),
    ("AveragePool", [], {"kernel_shape": [3], "pads": [1, 1]}, 1, 24),
    ("LRN", [], {"size": 3}, 1, 24),
    ("Softmax", [], {}, 1, 24),
    ("LogSoftmax", [], {}, 1, 24),
]


def loaded(kind, inputs, dtype, attrs, outputs, version):
    names = [f"x{k}" for k in range(inputs)]
    made = [f"y{k}" for k in range(outputs)]
    info = lambda name: helper.make_tensor_value_info(name, CODES[dtype], None)  # noqa: E731
    graph = helper.make_graph([helper.make_node(kind, names, made, **attrs)], "g",
                              [info(x) for x in names], [info(y) for y in made])
    return df.onnx.load(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", version)], ir_version=10))


def run(dtype, x, kind, more, attrs, outputs, version):
    model = loaded(kind, 1 + len(more), dtype, attrs, outputs, version)
    made = model(*[df.cast(df.constant(a), dtype) for a in [x, *more]])
    return made if isinstance(made, tuple) else (made,)


@pytest.mark.parametrize("scale", [1e-4, 1., 300., 1e4])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[2]} {case[4]}")
def test_results_match_float32_rounded(case, dtype, scale):
    """The values have squares out of range."""
    x = np.random.default_rng(0).normal(size=(2, 4, 6)) * scale
    x = df.cast(df.cast(df.constant(x), dtype), "float32").numpy()
    rounding = 2. ** -10 if dtype == "float16" else 2. ** -7
    more = [df.cast(df.cast(df.constant(a), dtype), "float32").numpy() for a in case[1]]
    narrow = run(dtype, x, case[0], more, *case[2:])
    for y, want in zip(narrow, run("float32", x, case[0], more, *case[2:]), strict=True):
        # the moments that LayerNormalization returns are in float32
        assert y.dtype.name == dtype or (case[3] == 3 and y.dtype.name == "float32")
        want = df.cast(df.cast(want, y.dtype), "float64").numpy()
        largest = np.max(np.abs(want), where=np.isfinite(want), initial=0)
        np.testing.assert_allclose(df.cast(y, "float64").numpy(), want, rtol=4 * rounding,
                                   atol=2 * rounding * largest)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_factors_of_a_product(dtype):
    """A product beyond the range of float16 is within it when multiplied by alpha."""
    a = np.full((2, 4), 200.)
    y, = run(dtype, a, "Gemm", [a], {"transB": 1, "alpha": 0.125}, 1, 24)
    assert y.dtype.name == dtype
    np.testing.assert_array_equal(df.cast(y, "float32").numpy(), np.full((2, 2), 2e4, "float32")
                                  if dtype == "float16" else np.full((2, 2), 19968., "float32"))


def test_running_moments_keep_their_dtype():
    """float32 moments with float16 images stay in float32."""
    names = ["x", "scale", "offset", "mean", "variance"]
    codes = [CODES["float16"]] * 3 + [CODES["float32"]] * 2
    info = helper.make_tensor_value_info
    node = helper.make_node("BatchNormalization", names, ["y", "m", "v"], training_mode=1)
    graph = helper.make_graph([node], "g", [info(*i, None) for i in zip(names, codes, strict=True)],
                              [info("y", codes[0], None), *[info(n, codes[4], None) for n in "mv"]])
    model = df.onnx.load(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=10))
    x = np.tile(np.array([300., -300.], "float16"), (2, 4, 3))
    half, one = np.ones(4, "float16"), np.ones(4, "float32")
    y, mean, variance = model(x, half, half, one, one)
    assert [z.dtype.name for z in (y, mean, variance)] == ["float16", "float32", "float32"]
    np.testing.assert_allclose(variance.numpy(), 0.9 + 0.1 * 9e4, rtol=1e-6)
    np.testing.assert_array_equal(y.numpy(), x / 300 + 1)
