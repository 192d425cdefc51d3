"""`conv_cluster` returns the bits of conv followed by its elementwise ops."""

import numpy as np
import pytest

import dualflow as df
from dualflow import _core
from tests.graph.test_matmul_epilogue import GOOD, normal, same_bits, tile_code
from tests.ops import harness

# x, w, attributes: several tiles and panels, strides, groups, depthwise, Winograd, a single last
# row, several passes, dilated taps in the padding, regions of different taps, empty sums, no images
CONVOLUTIONS = [
    ((2, 5, 5, 3), (3, 3, 3, 4), {"same": True}),
    ((9, 14, 15, 3), (5, 5, 3, 70), {"same": True}),
    ((2, 30, 31, 8), (3, 3, 8, 150), {"strides": [2, 2]}),
    ((3, 9, 9, 6), (3, 3, 2, 9), {"pads": [1, 2, 0, 1]}),
    ((5, 9, 9, 18), (3, 3, 1, 36), {"same": True}),
    ((2, 7, 7, 18), (5, 5, 1, 18), {"same": True}),
    ((3, 17, 18, 16), (3, 3, 16, 33), {"same": True}),
    ((2, 7, 6, 40), (1, 1, 40, 33), {}),
    ((1, 7, 7, 40), (1, 1, 40, 112), {}),
    ((1, 5, 7, 1500), (1, 1, 1500, 21), {}),
    ((2, 7, 3), (2, 3, 17), {}),
    ((2, 9, 7, 5), (3, 3, 5, 20), {"dilations": [7, 5], "pads": [7, 8, 5, 5]}),
    ((1, 6, 5, 400), (3, 3, 400, 9), {"dilations": [5, 4], "pads": [5, 5, 4, 4]}),
    ((1, 14, 13, 20), (3, 3, 20, 33), {"dilations": [6, 5], "same": True}),
    ((2, 4, 4, 5, 3), (2, 2, 2, 3, 20), {"same": True}),
    ((2, 5, 5, 0), (3, 3, 0, 4), {}),
    ((0, 5, 5, 3), (3, 3, 3, 4), {}),
]


def attributes(w, strides=None, same=False, pads=None, dilations=None):
    n = len(w) - 2
    return {"strides": strides or [1] * n, "dilations": dilations or [1] * n, "same": same,
            "pads": [] if same else pads or [0] * 2 * n, "exact": False}


@pytest.mark.parametrize("n_threads", [1, 2, 8])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("x, w, given", CONVOLUTIONS)
def test_bias_residual_and_activation(n_threads, dtype, x, w, given):
    rng = np.random.default_rng(1)
    given = attributes(w, **given)
    images, filters, bias = normal(rng, x, dtype), normal(rng, w, dtype), normal(rng, w[-1:], dtype)
    plain = _core.apply("conv", images, filters, **given)
    residual = normal(rng, plain.shape, dtype)
    code = tile_code([("add", [0, 1]), ("add", [3, 2]), ("relu", [4])], 3)
    with harness.threads(n_threads):
        got, = _core.apply("conv_cluster", images, filters, bias, residual, code=code, **given)
        two = _core.apply("conv_cluster", images, filters, bias, residual,
                          code=[*code[:-2], 2, 5, 4], **given)
    same_bits(got, df.nn.relu(plain + bias + residual))
    same_bits(two[0], got)
    same_bits(two[1], plain + bias + residual)


# Steps on the product (value 0) with one number, a value per output and a value per element (1, 2
# and 3) as operands. Kernels apply chains in registers; the others run as clusters on pieces.
CHAINS = {
    "limits": [("minimum", [0, 1]), ("maximum", [4, 2])],
    "limits in the other order": [("minimum", [1, 0]), ("maximum", [2, 4])],
    "clipped": [("multiply", [2, 0]), ("clip_by_value", [4, 1, 2]), ("relu", [5])],
    "scaled": [("multiply", [0, 1]), ("multiply", [3, 4]), ("add", [5, 1])],
    "residual read twice": [("add", [0, 3]), ("multiply", [3, 4])],
    "hard swish": [("add", [0, 2]), ("divide", [4, 1]), ("add", [5, 2]),
                   ("clip_by_value", [6, 1, 2]), ("multiply", [4, 7])],
    "swish": [("sigmoid", [0]), ("multiply", [0, 4])],
    "bias and swish": [("add", [0, 2]), ("silu", [4]), ("add", [5, 3])],
    "two values kept in turn": [("relu6", [0]), ("add", [4, 0]), ("divide", [5, 2]),
                                ("multiply", [6, 5])],
    "two values kept at once": [("relu", [0]), ("divide", [4, 2]), ("add", [5, 4]),
                                ("add", [6, 0])],
    "a value kept twice": [("relu6", [0]), ("add", [4, 0]), ("multiply", [0, 5])],
    "squared": [("multiply", [0, 0]), ("add", [4, 4]), ("relu6", [5])],
    "not a chain": [("multiply", [0, 0]), ("add", [4, 0])],
    "divided by the value": [("divide", [1, 0]), ("divide", [4, 4])],
    "more than eight": [("add", [0 if k == 0 else k + 3, 1 + k % 3]) for k in range(9)],
}


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("x, w, given", CONVOLUTIONS)
def test_chains_of_steps(name, x, w, given):
    check_steps(CHAINS[name], x, w, given)


OPS = {"add": 2, "multiply": 2, "divide": 2, "maximum": 2, "minimum": 2, "relu": 1, "relu6": 1,
       "sigmoid": 1, "silu": 1, "tanh": 1, "clip_by_value": 3}


@pytest.mark.parametrize("seed", range(40))
def test_random_steps(seed):
    """Mostly on the value before, otherwise on any earlier one."""
    rng = np.random.default_rng(seed)
    steps = []
    for k in range(rng.integers(1, 8)):
        op = rng.choice([*OPS, "add", "multiply"])
        last = k + 3 if k else 0
        inputs = [last if rng.random() < 0.9 else rng.integers(0, last + 1)]
        inputs += rng.integers(1, 4, OPS[op] - 1).tolist()
        if op in ("add", "multiply") and rng.random() < 0.4:
            inputs[1] = rng.choice([0, *range(4, last + 1)])
        if rng.random() < 0.3:
            inputs = inputs[::-1]
        steps.append((str(op), [int(x) for x in inputs]))
    steps.append(("add", [len(steps) + 3, 2]))
    check_steps(steps, *CONVOLUTIONS[seed % 7])


def check_steps(steps, x, w, given):
    """Cover operands with NaN, infinities and zeros of both signs."""
    rng = np.random.default_rng(2)
    given = attributes(w, **given)
    images, filters = normal(rng, x, "float32"), normal(rng, w, "float32")
    plain = _core.apply("conv", images, filters, **given)
    special = [0., -0., np.nan, np.inf, -np.inf, -1., 0.5]
    operands = [df.constant(rng.choice(special, shape).astype("float32"))
                for shape in ((1,), w[-1:], plain.shape)]
    for number in special:
        operands[0] = df.constant([number], df.float32)
        values = [plain, *operands]
        for op, inputs in steps:
            values.append(_core.apply(op, *[values[k] for k in inputs]))
        want = df.broadcast_to(values[-1], plain.shape)
        for n_threads in (1, 2):
            with harness.threads(n_threads):
                got, = _core.apply("conv_cluster", images, filters, *operands,
                                   code=tile_code(steps, 4), **given)
            # Which of two NaNs a sum returns depends on the order of its operands.
            same_bits(*[df.where(df.math.is_nan(y), np.nan, y) for y in (got, want)])


def test_output_of_another_dtype():
    rng = np.random.default_rng(2)
    x, w = normal(rng, (2, 9, 9, 3), "float32"), normal(rng, (3, 3, 3, 20), "float32")
    code = tile_code([("cast", [0], df.float64.index)], 1)
    given = attributes(w.shape)
    same_bits(_core.apply("conv_cluster", x, w, code=code, **given)[0],
              df.cast(_core.apply("conv", x, w, **given), df.float64))


@pytest.mark.parametrize("shape", [(5,), (3, 5, 5, 4), (1, 2, 5, 5, 4)])
def test_incompatible_operands_raise(shape):
    x, w = df.zeros((2, 5, 5, 3)), df.zeros((3, 3, 3, 4))
    with pytest.raises(df.errors.ShapeError, match="conv_cluster"):
        _core.apply("conv_cluster", x, w, df.zeros(shape), code=GOOD,
                    **attributes(w.shape, same=True))
    with pytest.raises(ValueError, match="conv_cluster"):
        _core.apply("conv_cluster", x, w, x, code=[], **attributes(w.shape))


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("strides", [1, 2])
def test_traced_network_block(data_format, strides):
    rng = np.random.default_rng(3)
    w = df.Variable(rng.standard_normal((3, 3, 8, 8), "float32"))
    bias = df.Variable(rng.standard_normal(8, "float32"))

    def step(x, target):
        with df.GradientTape() as tape:
            y = df.nn.conv2d(x, w, 1, "SAME", data_format)
            y = df.nn.relu(df.nn.bias_add(y, bias, data_format) + x)
            y = df.nn.conv2d(y, w, strides, "SAME", data_format)
            loss = df.reduce_sum(df.square(df.nn.gelu(y) - target))
        return loss, *tape.gradient(loss, [w, bias])

    x = df.constant(rng.standard_normal((4, 8, 8, 8), "float32"))
    target = df.zeros(df.nn.conv2d(x, w, strides, "SAME", data_format).shape)
    traced = df.function(step)
    for n_threads in (1, 2, 8):
        with harness.threads(n_threads):
            for got, want in zip(traced(x, target), step(x, target), strict=True):
                same_bits(got, want)
