"""Products and convolutions of quantized models, against NumPy's integers."""

import numpy as np
import pytest

pytest.importorskip("onnx")

from hypothesis import given, settings, strategies as st
from onnx import helper, numpy_helper

import dualflow as df
from tests.onnx.runtimes import model_of as written
from tests.ops.conv.convolution import convolution
from tests.ops.linalg.test_integer_products import DTYPES, drawn, instructions

SCALE = np.float32


def model_of(nodes, inputs, initializers, outputs, opset=21):
    """Return a model; `outputs` are dtypes by name."""
    info = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
            for name, x in inputs.items()]
    made = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)),
                                          None) for name, dtype in outputs.items()]
    constants = [numpy_helper.from_array(x, name) for name, x in initializers.items()]
    graph = helper.make_graph(nodes, "g", info, made, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def run(kind, names, inputs, dtype, **attrs):
    """Return the result of a node, the same with constants and run operator by operator."""
    nodes = [helper.make_node(kind, names, ["y"], **attrs)]
    made = df.onnx.load(model_of(nodes, inputs, {}, {"y": dtype}))(*inputs.values())
    constant = df.onnx.load(model_of(nodes, {}, inputs, {"y": dtype}), traced=False)
    np.testing.assert_array_equal(constant().numpy(), made.numpy())
    return made.numpy()


def zeros_of(rng, kind, dtype, n):
    """Return a zero point: none, 0, one for all, or one for each of n rows or columns."""
    return {"none": None, "zero": np.zeros((), dtype), "one": drawn(rng, (), dtype),
            "list": drawn(rng, (1,), dtype), "each": drawn(rng, (n,), dtype)}[kind]


ZEROS = st.sampled_from(["none", "zero", "one", "list", "each"])


@settings(max_examples=40)
@given(sizes=st.tuples(*[st.sampled_from([1, 2, 5, 17, 40])] * 3),
       batch=st.sampled_from([(), (3,)]),
       dtypes=st.tuples(*[st.sampled_from(DTYPES)] * 2), zeros=st.tuples(ZEROS, ZEROS),
       seed=st.integers(0, 2**32 - 1))
def test_matmul_integer(sizes, batch, dtypes, zeros, seed):
    rng = np.random.default_rng(seed)
    m, k, n = sizes
    inputs = {"a": drawn(rng, (*batch, m, k), dtypes[0]), "b": drawn(rng, (k, n), dtypes[1])}
    a, b = (x.astype("int64") for x in inputs.values())
    names = ["a", "b", "", ""]
    for at, (kind, size) in enumerate(zip(zeros, (m, n), strict=True)):
        zero = zeros_of(rng, kind, dtypes[at], size)
        if zero is not None:
            names[2 + at] = name = ("a_zero", "b_zero")[at]
            inputs[name] = zero
            wide = zero.astype("int64")
            a, b = (a - (wide[:, None] if wide.ndim else wide), b) if at == 0 else (a, b - wide)
    made = run("MatMulInteger", names, inputs, "int32")
    assert made.dtype == "int32"
    np.testing.assert_array_equal(made, a @ b)


def convolved(x, w, strides, pads, dilations):
    """Return a convolution in channels first, with zeros around the images."""
    n = w.ndim - 2
    padding = [(0, 0), *[(pads[i], pads[n + i]) for i in range(n)], (0, 0)]
    y = convolution(np.moveaxis(x, 1, -1), np.moveaxis(w, (0, 1), (-1, -2)), strides, padding,
                    dilations)
    return np.moveaxis(y, -1, 1)


CONVOLUTIONS = [
    ((2, 6, 9, 8), (10, 6, 3, 3), {"pads": [1, 1, 1, 1], "strides": [2, 1]}),
    ((1, 6, 9, 8), (4, 3, 3, 2), {"group": 2, "dilations": [2, 1], "pads": [0, 1, 2, 0]}),
    ((2, 8, 9, 8), (8, 1, 3, 3), {"group": 8, "pads": [1, 1, 1, 1]}),
    ((2, 8, 5, 5), (12, 8, 1, 1), {}), ((2, 4, 11), (3, 4, 5), {"pads": [2, 2]})]


@pytest.mark.parametrize("zeros", ["none none", "one none", "zero one", "one each", "list each"])
@pytest.mark.parametrize("k", range(len(CONVOLUTIONS)))
@pytest.mark.parametrize("dtypes", [("uint8", "int8"), ("int8", "uint8"), ("uint8", "uint8")])
def test_conv_integer(k, dtypes, zeros):
    rng = np.random.default_rng(k)
    x_shape, w_shape, attrs = CONVOLUTIONS[k]
    inputs = {"x": drawn(rng, x_shape, dtypes[0]), "w": drawn(rng, w_shape, dtypes[1])}
    x, w = (v.astype("int64") for v in inputs.values())
    x_zero, w_zero = (zeros_of(rng, kind, dtype, w_shape[0])
                      for kind, dtype in zip(zeros.split(), dtypes, strict=True))
    names = ["x", "w", "", ""]
    if x_zero is not None:
        x, names[2], inputs["x_zero"] = x - x_zero, "x_zero", x_zero
    if w_zero is not None:
        w, names[3] = w - w_zero.reshape(-1, *[1] * (w.ndim - 1)).astype("int64"), "w_zero"
        inputs["w_zero"] = w_zero
    n = w.ndim - 2
    expected = convolved(x, w, attrs.get("strides", [1] * n), attrs.get("pads", [0] * 2 * n),
                         attrs.get("dilations", [1] * n))
    made = run("ConvInteger", names, inputs, "int32", **attrs)
    assert made.dtype == "int32"
    np.testing.assert_array_equal(made, expected)


def requantized(y, scale, zero):
    """Return sums times a scale in float32, rounded to even, plus a zero point."""
    info = np.iinfo(zero.dtype)
    y = np.rint(y.astype(SCALE) * scale) + zero.astype(SCALE)
    return np.clip(y, info.min, info.max).astype(zero.dtype)


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("dtypes", [("uint8", "int8"), ("int8", "int8"), ("uint8", "uint8")])
def test_qlinear_matmul(dtypes, each):
    rng = np.random.default_rng(4)
    b_shape = (9,) if each else ()
    inputs = {"a": drawn(rng, (2, 6, 30), dtypes[0]), "as": SCALE(0.03),
              "az": drawn(rng, (), dtypes[0]), "b": drawn(rng, (30, 9), dtypes[1]),
              "bs": rng.uniform(0.001, 0.01, b_shape).astype(SCALE),
              "bz": drawn(rng, b_shape, dtypes[1]), "ys": SCALE(0.2),
              "yz": drawn(rng, (), dtypes[0])}
    inputs = {name: np.asarray(x) for name, x in inputs.items()}
    y = (inputs["a"].astype("int64") - inputs["az"]) @ (inputs["b"].astype("int64") - inputs["bz"])
    expected = requantized(y, inputs["as"] * inputs["bs"] / inputs["ys"], inputs["yz"])
    made = run("QLinearMatMul", list(inputs), inputs, dtypes[0])
    assert made.dtype == dtypes[0]
    np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize("k", range(len(CONVOLUTIONS)))
@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_qlinear_conv(k, each, bias):
    rng = np.random.default_rng(k)
    x_shape, w_shape, attrs = CONVOLUTIONS[k]
    n, size = len(x_shape) - 2, (w_shape[0],) if each else ()
    inputs = {"x": drawn(rng, x_shape, "uint8"), "xs": SCALE(0.02), "xz": np.uint8(99),
              "w": drawn(rng, w_shape, "int8"), "ws": rng.uniform(0.001, 0.01, size).astype(SCALE),
              "wz": drawn(rng, size, "int8"), "ys": SCALE(0.05), "yz": np.uint8(120)}
    if bias:
        inputs["b"] = rng.integers(-20000, 20000, w_shape[0], "int32")
    inputs = {name: np.asarray(x) for name, x in inputs.items()}
    channels = [-1] + [1] * n
    y = convolved(inputs["x"].astype("int64") - 99,
                  inputs["w"].astype("int64") - inputs["wz"].reshape(-1, *[1] * (n + 1)),
                  attrs.get("strides", [1] * n), attrs.get("pads", [0] * 2 * n),
                  attrs.get("dilations", [1] * n))
    y = y + inputs["b"].reshape(channels) if bias else y
    scale = (inputs["xs"] * inputs["ws"] / inputs["ys"]).reshape(channels)
    made = run("QLinearConv", list(inputs), inputs, "uint8", **attrs)
    np.testing.assert_array_equal(made, requantized(y, scale, inputs["yz"]))


# --- products between DequantizeLinear and QuantizeLinear ---------------------------------------


def chain(kind, rng, relu=False, each=True, bias=True, **changes):
    """Return the nodes and initializers of a quantized product, and its input."""
    outputs = 12
    shapes = {"Conv": ((2, 8, 7, 6), (outputs, 8, 3, 3), 0), "Gemm": ((5, 40), (outputs, 40), 0),
              "MatMul": ((2, 5, 40), (40, outputs), 1)}
    x_shape, w_shape, axis = shapes[kind]
    ws = rng.uniform(0.002, 0.01, (outputs,) if each else ()).astype(SCALE)
    constants = {"xs": SCALE(0.03), "xz": np.uint8(110), "w": drawn(rng, w_shape, "int8"),
                 "ws": ws, "wz": np.zeros(ws.shape, "int8"),
                 "b": rng.integers(-9000, 9000, outputs, "int32"), "bs": SCALE(0.03) * ws,
                 "bz": np.zeros(ws.shape, "int32"), "ys": SCALE(0.1),
                 "yz": np.uint8(0 if relu else 128), **changes}
    dequantize = [helper.make_node("DequantizeLinear", ["x", "xs", "xz"], ["xf"]),
                  helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wf"], axis=axis)]
    inputs = ["xf", "wf"]
    if bias and kind != "MatMul":
        dequantize.append(helper.make_node("DequantizeLinear", ["b", "bs", "bz"], ["bf"], axis=0))
        inputs.append("bf")
    attrs = {"Conv": {"pads": [1, 1, 1, 1]}, "Gemm": {"transB": 1}, "MatMul": {}}[kind]
    nodes = [*dequantize, helper.make_node(kind, inputs, ["p"], **attrs)]
    if relu:
        nodes.append(helper.make_node("Relu", ["p"], ["r"]))
    nodes.append(helper.make_node("QuantizeLinear", ["r" if relu else "p", "ys", "yz"], ["y"]))
    return nodes, {k: np.asarray(v) for k, v in constants.items()}, drawn(rng, x_shape, "uint8")


@pytest.mark.parametrize("kind", ["Conv", "Gemm", "MatMul"])
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_dequantized_products_are_products_of_integers(kind, relu, each, bias):
    nodes, constants, x = chain(kind, np.random.default_rng(6), relu, each, bias)
    model = df.onnx.load(model_of(nodes, {"x": x}, constants, {"y": "uint8"}))
    made = model(x).numpy()
    ops = instructions(model.program, df.constant(x))
    assert len([op for op in ops if op != "transpose"]) == 1 and "int32" in str(ops), ops
    plain = df.onnx.load(model_of(nodes, {"x": x}, constants, {"y": "uint8"}), trainable=True)
    assert not any("int32" in op for op in instructions(plain.program, df.constant(x)))
    difference = np.abs(made.astype("int64") - plain(x).numpy())
    assert difference.max() <= 1 and np.count_nonzero(difference) <= 0.002 * made.size
    if relu:
        assert made.min() == 0


@pytest.mark.parametrize("change", [
    {"bs": SCALE(0.5)},                             # a bias with another scale
    {"xs": np.full(8, 0.03, SCALE), "xz": np.zeros(8, "uint8")},    # a scale for each channel of x
    {"bz": np.array(3, "int32")}])
def test_other_patterns_stay_floating(change):
    nodes, constants, x = chain("Conv", np.random.default_rng(7), each=False, **change)
    model = df.onnx.load(model_of(nodes, {"x": x}, constants, {"y": "uint8"}))
    assert not any("int32" in op for op in instructions(model.program, df.constant(x)))


def test_relu_above_another_zero_point_stays():
    nodes, constants, x = chain("Gemm", np.random.default_rng(7), relu=True, yz=np.uint8(30))
    model = df.onnx.load(model_of(nodes, {"x": x}, constants, {"y": "uint8"}))
    assert not any("int32" in op for op in instructions(model.program, df.constant(x)))
    assert model(x).numpy().min() == 30


def test_product_with_two_readers_stays_floating():
    nodes, constants, x = chain("Gemm", np.random.default_rng(8))
    nodes.append(helper.make_node("Neg", ["p"], ["z"]))
    model = df.onnx.load(model_of(nodes, {"x": x}, constants, {"y": "uint8", "z": "float32"}))
    assert model(x)[1].dtype == df.float32


def test_saved_convolutions_of_integers():
    rng = np.random.default_rng(9)
    x, w = drawn(rng, (2, 6, 7, 4), "uint8"), drawn(rng, (3, 3, 4, 5), "int8")

    def convolve(x):
        return df.nn.conv_int32(x, w, padding="SAME", strides=2, zero_point=77)

    model = df.onnx.load(written(convolve, df.TensorSpec(x.shape, x.dtype)))
    np.testing.assert_array_equal(model(x).numpy(), convolve(x).numpy())
