"""The compared work: a name, the name of a function in each library's module, its arguments, and
the target for dualflow's share of the fastest peer's time, if any.

Data is float32 unless a name states otherwise. Images are (batch, height, width, channels); modules
transpose them where their library prefers another layout.
"""

from typing import Any, NamedTuple

import numpy as np


class Work(NamedTuple):
    name: str
    kind: str
    args: dict[str, Any]
    share: float | None = None


def conv(name, forward, backward, **args):
    """Return two rows: forward, and with both gradients."""
    return [Work(f"conv {name}, forward", "conv", {**args, "backward": False}, forward),
            Work(f"conv {name}, with gradients", "conv", {**args, "backward": True}, backward)]


def matmul(m, k, n, share):
    return Work(f"matmul {m} x {k} x {n}", "matmul", {"m": m, "k": k, "n": n}, share)


def elementwise(op):
    return Work(f"{op}, 1 M", "elementwise", {"op": op, "n": 1_000_000})


def along(op, axis):
    return Work(f"{op}, 2048 x 2048, axis {axis}", "along", {"op": op, "axis": axis})


MATRICES = [
    matmul(4, 4, 4, .7), matmul(32, 32, 32, None), matmul(256, 256, 256, 1.),
    matmul(512, 512, 512, 1.), matmul(1024, 1024, 1024, 1.), matmul(2048, 2048, 2048, 1.),
    matmul(64, 1024, 1024, .9), matmul(32, 784, 128, .9), matmul(4096, 64, 64, .9),
    matmul(1, 1024, 1024, .9),
]
CONVOLUTIONS = [
    *conv("3x3, 64 channels, 8 of 56 x 56", .45, .5, batch=8, size=56, inputs=64, outputs=64,
          kernel=3),
    *conv("3x3, 128 channels, 8 of 28 x 28", .45, .5, batch=8, size=28, inputs=128, outputs=128,
          kernel=3),
    *conv("1x1, 256 to 64, 8 of 28 x 28", 1., .85, batch=8, size=28, inputs=256, outputs=64,
          kernel=1),
    *conv("7x7, stride 2, 3 to 64, 2 of 224 x 224", 1., .5, batch=2, size=224, inputs=3,
          outputs=64, kernel=7, stride=2),
    *conv("5x5, 1 to 32, 64 of 28 x 28", 1., .5, batch=64, size=28, inputs=1, outputs=32, kernel=5),
    *conv("5x5, 32 to 64, 64 of 14 x 14", None, .8, batch=64, size=14, inputs=32, outputs=64,
          kernel=5),
    *conv("depthwise 3x3, 128 channels, 8 of 28 x 28", None, .6, batch=8, size=28, inputs=128,
          outputs=128, kernel=3, depthwise=True),
]
ATTENTION = [Work(f"attention, causal, {batch} x {heads} heads x {n} x {d}", "attention",
                  {"batch": batch, "heads": heads, "tokens": n, "width": d})
             for batch, heads, n, d in ((8, 4, 128, 64), (1, 8, 1024, 64), (1, 4, 4096, 64))]
STEPS = [
    Work("training step 16-32-32-4, batch 8, Adam", "mlp_step",
         {"batch": 8, "sizes": [16, 32, 32, 4], "adam": True}),
    Work("training step 784-128-10, batch 32, SGD", "mlp_step",
         {"batch": 32, "sizes": [784, 128, 10], "adam": False}, .4),
    Work("training step 784-1024-1024-10, batch 256, Adam", "mlp_step",
         {"batch": 256, "sizes": [784, 1024, 1024, 10], "adam": True}, .9),
    Work("training step, convolutional network, batch 64, Adam", "cnn_step", {"batch": 64}, .7),
    Work("training step, LSTM 128 over 28 x 28, batch 64, Adam", "lstm_step",
         {"batch": 64, "by_hand": False}, .65),
    Work("training step, LSTM by hand, unrolled", "lstm_step", {"batch": 64, "by_hand": True}, .9),
    Work("training step, LSTM by slices of one product", "sliced_lstm_step", {"batch": 64}, .65),
    Work("training step, GRU by slices of kernels, 28 steps", "sliced_gru_step", {"batch": 32}, .8),
    Work("training step, GPT, 4 layers of width 256, 8 x 128 tokens, Adam", "gpt_step",
         {"batch": 8, "tokens": 128, "layers": 4, "width": 256, "heads": 4}, .8),
]
LOOPS = [
    Work("while loop of a number, a round", "scalar_while", {"rounds": 20_000}),
    Work("counted loop of a number, a round", "counted_loop", {"rounds": 20_000}),
    Work("loop of tanh(v @ w), 16 x 16, a round", "product_loop", {"rounds": 20_000}),
    Work("training step, LSTM 128 by scan, 100 steps, batch 32, SGD", "scan_step",
         {"steps": 100, "batch": 32}, .75),
    Work("the same, 1,000 steps", "scan_step", {"steps": 1000, "batch": 32}, .75),
    Work("compiling the same, 100 steps", "scan_compile", {"steps": 100, "batch": 32}, .03),
    Work("compiling the same, 1,000 steps", "scan_compile", {"steps": 1000, "batch": 32}, .03),
]
DATA = [
    Work("a batch of 32 of 20,000 rows of 64, shuffled", "shuffled_batches",
         {"rows": 20_000, "batch": 32}, 1.),
]
FACTORISATIONS = [Work(f"{op}, {n} x {n}", "linear_algebra", {"op": op, "n": n}, 1.)
                  for op in ("cholesky", "triangular_solve", "solve", "inv", "det", "qr")
                  for n in (64, 512, 2048)]
WORK = [
    Work("a + b, 4 elements", "add", {"n": 4}),
    Work("a + b recorded, 4 elements", "add_recorded", {"n": 4}),
    Work("10 x tanh(x * 1.01), 16 elements, sum, gradient", "ten_tanh", {}, .15),
    Work("traced a + b, 4 elements", "add_traced", {"n": 4}),
    Work("traced chain of 1,000 ops, 16 elements", "chain", {"n": 1000}),
    *map(elementwise, ["exp", "log", "tanh", "sigmoid", "erf", "sin"]),
    Work("a + b, 1 M", "add", {"n": 1_000_000}),
    Work("x ** 3, 256 k", "power", {"n": 262_144, "exponent": 3.}),
    *[along("sum", axis) for axis in (None, 0, 1)], along("max", 1), along("argmax", 1),
    Work("transpose, 2048 x 2048", "transpose", {"n": 2048}),
    Work("gather 4096 rows of 256 from 30,000", "gather", {"rows": 30_000, "n": 4096}),
    Work("sort, 1 M", "sort", {"n": 1_000_000}),
    Work("softmax, 1024 x 1024", "softmax", {"by_hand": False}, .7),
    Work("softmax by hand, traced, 1024 x 1024", "softmax", {"by_hand": True}, 1.),
    Work("layer norm, 1024 x 1024", "layer_norm", {"by_hand": False}, .7),
    Work("layer norm by hand, traced, 1024 x 1024", "layer_norm", {"by_hand": True}, 1.),
    Work("GELU by hand, traced, 1 M", "gelu", {"n": 1 << 20}, .95),
    Work("GELU by hand, traced, 16 M", "gelu", {"n": 1 << 24}, .95),
    Work("max-pool 2x2, 64 x 28 x 28 x 32", "max_pool", {}, .6),
    *FACTORISATIONS,
    Work("Gaussian process, 300 points, with gradient", "gaussian_process", {"n": 300}, .8),
    *MATRICES, *CONVOLUTIONS, *ATTENTION, *STEPS, *LOOPS, *DATA,
]


def arrays(*shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape).astype(np.float32) for shape in shapes]


def equations(op, n):
    """Return a matrix, symmetric and positive definite if `op` requires it, and a right side."""
    a, b = arrays((n, n), (n, n))
    if op == "cholesky":
        a = a @ a.T / np.float32(n) + np.eye(n, dtype=np.float32)
    return (np.tril(a) + np.float32(n) * np.eye(n, dtype=np.float32) if op == "triangular_solve"
            else a), b


def points(n):
    """Return logarithms of the scale, length and noise of a Gaussian process, points in 4
    dimensions, and values."""
    x, y = arrays((n, 4), (n, 1))
    return np.log(np.array([1., 2., .1], np.float32)), x, y


def labels(batch, n, seed=1):
    return np.random.default_rng(seed).integers(0, n, batch).astype(np.int32)


def counted_pass(dataset):
    """Return a call that iterates over a dataset, and its number of batches."""
    def call():
        for _ in dataset:
            pass

    return call, sum(1 for _ in dataset)


def convolution(batch, size, inputs, outputs, kernel, depthwise=False):
    """Return images, and weights (height, width, inputs, outputs), or (.., channels, 1)."""
    last = (inputs, 1) if depthwise else (inputs, outputs)
    return arrays((batch, size, size, inputs), (kernel, kernel, *last))


def dense(*sizes):
    """Return weights and biases of layers."""
    weights = [w / np.float32(w.shape[0]) ** .5 for w in arrays(*zip(sizes, sizes[1:]))]
    return weights, [np.zeros(n, np.float32) for n in sizes[1:]]


def cnn(batch):
    """Return parameters of 5x5x32, pool, 5x5x64, pool, 1024, 10, and a batch."""
    w1, w2 = arrays((5, 5, 1, 32), (5, 5, 32, 64))
    (w3, w4), (b3, b4) = dense(7 * 7 * 64, 1024, 10)
    small = [w1 * np.float32(.2), np.zeros(32, np.float32), w2 * np.float32(.03),
             np.zeros(64, np.float32), w3, b3, w4, b4]
    return small, arrays((batch, 28, 28, 1))[0], labels(batch, 10)


def lstm(batch, units=128, features=28):
    """Return kernel, recurrent kernel, bias (gates i, f, c, o), the last layer, and a batch."""
    kernel, recurrent = arrays((features, 4 * units), (units, 4 * units))
    scale = np.float32(units) ** -.5
    (w,), (b,) = dense(units, 10)
    return ([kernel * scale, recurrent * scale, np.zeros(4 * units, np.float32), w, b],
            arrays((batch, 28, features))[0], labels(batch, 10))


def gru(batch, units=64, features=28):
    """Return kernel, recurrent kernel (reset, update, new), the last layer, and a batch."""
    kernel, recurrent = arrays((features, 3 * units), (units, 3 * units))
    scale = np.float32(units) ** -.5
    (w,), (b,) = dense(units, 10)
    return ([kernel * scale, recurrent * scale, w, b], arrays((batch, 28, features))[0],
            labels(batch, 10))


def rows_of_lstm(steps, batch, units=128):
    """Return kernel, recurrent kernel and bias, gates in the order i, f, g, o; inputs and targets,
    (step, example, unit). All outputs have targets, since gradients would otherwise become
    denormal."""
    kernel, recurrent, x, y = arrays((units, 4 * units), (units, 4 * units), (steps, batch, units),
                                     (steps, batch, units))
    small = np.float32(.1)
    return [kernel * small, recurrent * small, np.zeros(4 * units, np.float32)], x, y


def gpt(batch, tokens, layers, width, vocabulary=256):
    """Return embeddings; for each block two norms, qkv, projection, two dense layers; a batch."""
    rng = np.random.default_rng(2)

    def weight(*shape):
        return (rng.normal(size=shape) * .02).astype(np.float32)

    def norm():
        return [np.ones(width, np.float32), np.zeros(width, np.float32)]

    parameters = [weight(vocabulary, width), weight(tokens, width)]
    for _ in range(layers):
        parameters += [*norm(), weight(width, 3 * width), weight(width, width), *norm(),
                       weight(width, 4 * width), weight(4 * width, width)]
    parameters += [*norm(), weight(width, vocabulary)]
    text = rng.integers(0, vocabulary, (batch, tokens + 1)).astype(np.int32)
    return parameters, text[:, :-1].copy(), text[:, 1:].copy()


BLOCK = 8       # parameters of a block of the GPT
