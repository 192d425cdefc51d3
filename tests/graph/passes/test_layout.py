"""Networks in channels first lose the transposes between convolutions, and keep their bits."""

import numpy as np
import pytest

import dualflow as df
from dualflow.graph.passes.layout import channels_first, groups, inverse

FORMAT = {3: "NCW", 4: "NCHW", 5: "NCDHW"}


def normal(rng, *shape):
    return df.constant(rng.standard_normal(shape).astype("float32"))


def conv(rng, x, outputs, kernel=3):
    n, channels = x.ndim - 2, x.shape[1]
    w = normal(rng, *[kernel] * n, channels, outputs) * (channels * kernel**n)**-0.5
    return df.nn.convolution(x, w, 1, "SAME", FORMAT[x.ndim])


def bias(rng, x):
    return x + normal(rng, x.shape[1], *[1] * (x.ndim - 2))


def scaled(rng, x):
    """Multiply by a scale per image and channel, as squeeze and excitation do."""
    return x * df.sigmoid(conv(rng, df.reduce_mean(x, range(2, x.ndim), keepdims=True),
                               x.shape[1], 1))


def shuffled(rng, x):
    """Interleave the channels of two groups."""
    n, c, *sizes = x.shape
    x = df.reshape(x, [n, 2, c // 2, *sizes])
    return df.reshape(df.transpose(x, [0, 2, 1, *range(3, x.ndim)]), [n, c, *sizes])


def branches(rng, x):
    a, b = df.split(x, 2, axis=1)
    return df.concat([conv(rng, b, x.shape[1] // 2), -a], 1)


def padded(rng, x):
    x = df.pad(x, [[0, 0], [0, 0], *[[1, 0]] * (x.ndim - 2)], constant_values=-0.5)
    return df.nn.pool(x, [2] * (x.ndim - 2), "MAX", [1] * (x.ndim - 2), "VALID",
                      data_format=FORMAT[x.ndim])


def normalized(rng, x):
    mean, variance = df.nn.moments(x, [0, *range(2, x.ndim)], keepdims=True)
    return (x - mean) * df.math.rsqrt(variance + 1e-3) * normal(rng, 1, x.shape[1],
                                                               *[1] * (x.ndim - 2))


def squares(rng, x):
    """Normalise by moments written as means of squares, as tutorials do."""
    axes = [0, *range(2, x.ndim)]
    centred = x - df.reduce_mean(x, axes, keepdims=True)
    power = df.reduce_mean(df.square(centred), axes, keepdims=True)
    return centred / df.sqrt(power + df.reduce_sum(df.square(x), axes[1:], keepdims=True) + 1.)


def moments(rng, x):
    """Reduce all sizes, with and without the batch and keepdims, and some of the sizes."""
    sizes = list(range(2, x.ndim))
    total, mean = df.reduce_sum(x, sizes), df.reduce_mean(x, [*sizes, 0])
    spread = df.math.reduce_variance(x, [d - x.ndim for d in sizes], keepdims=True)
    return x * df.reshape(total * mean, [*total.shape, *[1] * len(sizes)]) + spread


STEPS = {
    "moments": moments,
    "squares": squares,
    "squeeze": lambda rng, x: conv(rng, scaled(rng, df.nn.relu(x)), x.shape[1], 1),
    "rows": lambda rng, x: x - df.reduce_mean(x, -1, keepdims=True),
    "bias": bias,
    "scaled": scaled,
    "shuffled": shuffled,
    "branches": branches,
    "padded": padded,
    "normalized": normalized,
    "relu": lambda rng, x: df.nn.relu(x),
    "silu": lambda rng, x: df.nn.silu(x),
    "clipped": lambda rng, x: df.clip_by_value(x, -1., 1.),
    "residual": lambda rng, x: df.nn.relu(conv(rng, x, x.shape[1]) + x),
    "conv": lambda rng, x: conv(rng, x, 6),
    "every second": lambda rng, x: df.concat([x[:, ::2], x[:, 1::2]], 1),
    "reversed": lambda rng, x: x[..., ::-1],
    "softmax": lambda rng, x: df.nn.softmax(x, axis=1),
    "plain operand": lambda rng, x: x * normal(rng, *x.shape),
    "selected": lambda rng, x: df.where(x > 0., x, df.zeros_like(x)),
    "sum of all": lambda rng, x: x - df.reduce_sum(x),
    "flat": lambda rng, x: df.reshape(df.reshape(x, [x.shape[0], -1]) * 2., x.shape),
    "channels last": lambda rng, x: df.transpose(df.cumsum(df.transpose(
        x, [0, *range(2, x.ndim), 1]), 1), [0, x.ndim - 1, *range(1, x.ndim - 1)]),
    "merged": lambda rng, x: df.reshape(df.math.maximum(df.reshape(
        x, [x.shape[0], x.shape[1], -1]), 0.1), x.shape),
}


def network(names, seed):
    """Return a function that applies these steps to an image, between two convolutions."""
    def f(x):
        rng = np.random.default_rng(seed)
        y = conv(rng, x, 6)
        for name in names:
            y = STEPS[name](rng, y)
        return conv(rng, y, 4)
    return f


def n_transposes(f, *args):
    return sum([node.type == "transpose" for node in f.graph_for(*args).nodes])


def with_gradient(f):
    def both(x):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
            loss = df.reduce_sum(df.sin(y))
        return y, tape.gradient(loss, x)
    return both


def same_bits(f, *args):
    fast = df.function(f)
    for want, got in zip(f(*args), fast(*args), strict=True):
        assert want.shape == got.shape and want.numpy().tobytes() == got.numpy().tobytes()
    return fast


@pytest.mark.parametrize("names", [[name] for name in STEPS] + [
    ["bias", "relu", "residual", "padded"], ["bias", "silu", "scaled", "bias", "conv", "residual"],
    ["branches", "shuffled", "every second", "relu"], ["normalized", "relu", "normalized", "conv"],
    ["merged", "plain operand", "selected", "channels last"], ["flat", "softmax", "reversed"]],
    ids=" ".join)
@pytest.mark.parametrize("ndim", [3, 4, 5])
def test_bits_of_eager_mode(names, ndim):
    x = normal(np.random.default_rng(0), 2, 3, *[4, 5, 3][:ndim - 2])
    same_bits(with_gradient(network(names, 1)), x)


@pytest.mark.parametrize("seed", range(20))
def test_random_networks(seed):
    rng = np.random.default_rng(seed)
    names = rng.choice(list(STEPS), rng.integers(2, 7)).tolist()
    x = normal(rng, rng.integers(1, 3), 3, *rng.integers(1, 6, rng.integers(1, 4)))
    same_bits(with_gradient(network(names, seed)), x)


MOVED = {"bias": 0, "relu": 0, "silu": 0, "clipped": 0, "residual": 0, "conv": 0, "branches": 0,
         "padded": 0, "every second": 0, "reversed": 0, "selected": 0, "channels last": 0,
         "merged": 0, "shuffled": 1, "plain operand": 0, "scaled": 0, "normalized": 0,
         "moments": 0, "squares": 0, "squeeze": 0}


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("name", MOVED)
def test_transposes_that_remain(name, batch):
    """Those of the input and of the result, and those that move elements in channels last as
    well."""
    x = normal(np.random.default_rng(0), batch, 3, 4, 5)
    fast = df.function(network([name], 1))
    fast(x)
    assert n_transposes(fast, x) == 2 + MOVED[name]


def test_last_activation_is_the_epilogue_of_its_product():
    def f(x):
        return df.reduce_mean(df.nn.relu(bias(np.random.default_rng(1), network([], 1)(x))), (2, 3))

    x = normal(np.random.default_rng(0), 2, 3, 4, 5)
    kinds = [node.type for node in same_bits(lambda x: [f(x)], x).graph_for(x).nodes]
    assert kinds.count("conv_cluster") == 1 and "cluster" not in kinds


def test_a_transpose_whose_readers_are_reduced_stays():
    """The moment of a normalized value would need another transpose."""
    x = normal(np.random.default_rng(0), 2, 3, 4, 5)
    fast = df.function(lambda x: df.reduce_sum(df.sin(conv(np.random.default_rng(1), x, 4) + 1.)
                                               * normal(np.random.default_rng(2), 4, 4, 5)))
    fast(x)
    assert n_transposes(fast, x) == 2


def test_permutations():
    assert channels_first(4) == (0, 3, 1, 2) and inverse((0, 3, 1, 2)) == (0, 2, 3, 1)
    assert channels_first(2) == ()


@pytest.mark.parametrize("before, after, want", [
    ([2, 6, 4], [2, 2, 3, 4], [([0], [0]), ([1], [1, 2]), ([2], [3])]),
    ([2, 3, 4], [6, 4], [([0, 1], [0]), ([2], [1])]),
    ([6, 4], [4, 6], [([0, 1], [0, 1])]),
    ([2, 1, 3], [2, 3], [([0], [0]), ([1], []), ([2], [1])]),
    ([2, 3], [2, 3, 1], [([0], [0]), ([1], [1, 2])]),
    ([1, 6, 4], [1, 2, 3, 4], [([0], [0]), ([1], [1, 2]), ([2], [3])]),
    ([1, 1, 4], [1, 4], [([0], [0]), ([1], []), ([2], [1])]),
    ([2, 0], [0], None),
])
def test_groups_of_a_reshape(before, after, want):
    assert groups(before, after) == want
