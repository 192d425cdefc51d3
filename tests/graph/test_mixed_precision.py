"""Training in float16 and bfloat16 with float32 variables: equal bits in eager and traced mode."""

import numpy as np
import pytest

import dualflow as df

HALVES = ["float16", "bfloat16"]
SCALE = 1024.0          # keeps small gradients above float16's subnormals


def bits(x):
    return df.cast(x, df.float32).numpy().tobytes()


def normal(seed, *shape):
    return df.constant(np.random.default_rng(seed).normal(size=shape).astype("float32"))


class Net:
    """Two dense layers with layer normalisation between them."""

    def __init__(self, half, optimizer):
        self.half, self.optimizer = half, optimizer
        self.weights = [df.Variable(normal(1, 12, 40) * 0.3), df.Variable(df.zeros(40)),
                        df.Variable(normal(2, 40, 5) * 0.3), df.Variable(df.zeros(5))]

    def logits(self, x):
        w1, b1, w2, b2 = [df.cast(w, self.half) for w in self.weights]
        h = df.nn.gelu(df.nn.bias_add(df.cast(x, self.half) @ w1, b1))
        mean, variance = df.nn.moments(h, axes=[1], keepdims=True)
        h = (h - mean) * df.math.rsqrt(variance + 1e-3)
        return h @ w2 + b2

    def step(self, x, labels):
        with df.GradientTape() as tape:
            logits = self.logits(x)
            loss = df.reduce_mean(df.nn.sparse_softmax_cross_entropy_with_logits(
                labels=labels, logits=df.cast(logits, df.float32)))
            scaled = loss * SCALE
        gradients = [g / SCALE for g in tape.gradient(scaled, self.weights)]
        self.optimizer.apply_gradients(zip(gradients, self.weights, strict=True))
        return loss, logits


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("options", [{}, {"passes": False}])
def test_training_step(half, options):
    labels = df.constant(np.random.default_rng(3).integers(0, 5, 32))
    x = normal(4, 32, 12)
    eager, traced = (Net(half, df.optimizers.Adam(0.01)) for _ in range(2))
    run = df.function(traced.step, **options)
    losses = []
    for _ in range(8):
        want, got = eager.step(x, labels), run(x, labels)
        assert [bits(y) for y in got] == [bits(y) for y in want]
        assert [bits(w) for w in traced.weights] == [bits(w) for w in eager.weights]
        losses.append(float(want[0]))
    assert want[1].dtype == half and losses[-1] < 0.7 * losses[0]


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("make", [
    lambda: df.optimizers.SGD(0.125), lambda: df.optimizers.SGD(0.125, momentum=0.5, nesterov=True),
    lambda: df.optimizers.Adam(0.125, epsilon=1e-3), lambda: df.optimizers.RMSprop(0.125),
    lambda: df.optimizers.RMSprop(0.125, centered=True),
    lambda: df.optimizers.Adagrad(0.125, initial_accumulator_value=0.125)])
def test_reduced_precision_variables(half, make):
    """Optimizers update them in float32 and round once, with the same bits eagerly, traced, and
    computed step by step in float32."""
    start, slope = normal(5, 100), normal(6, 100)
    v, w = (df.Variable(df.cast(start, half)) for _ in range(2))
    wide = df.Variable(df.cast(v, df.float32))
    eager, graph, exact = make(), make(), make()
    traced = df.function(lambda g: graph.apply_gradients([(g, w)]))
    g = df.cast(slope, half)
    eager.apply_gradients([(g, v)])
    exact.apply_gradients([(df.cast(g, df.float32), wide)])
    assert v.dtype == half and bits(v) == bits(df.cast(wide, half))
    for _ in range(3):
        traced(g)
    for _ in range(2):
        eager.apply_gradients([(g, v)])
    assert bits(v) == bits(w)


@pytest.mark.parametrize("half", HALVES)
def test_each_op_rounds_in_clusters_and_matmul_epilogues(half):
    """Fused ops round each intermediate value, as eager mode does."""
    a, b = df.cast(normal(7, 50, 64), half), df.cast(normal(8, 64, 70), half)
    bias = df.cast(normal(9, 70), half)

    def call(a, b, bias):
        y = df.nn.relu(a @ b * 0.3 + bias)
        z = df.exp(-y) * y - df.square(bias)
        return y, z, df.reduce_sum(z, axis=-1), df.reduce_mean(z * y, axis=-1), df.nn.softmax(z)

    want = call(a, b, bias)
    for options in ({}, {"passes": False}):
        traced = df.function(call, **options)
        for _ in range(2):
            assert [bits(y) for y in traced(a, b, bias)] == [bits(y) for y in want]
    in_float32 = call(*[df.cast(x, df.float32) for x in (a, b, bias)])
    assert any(bits(df.cast(x, half)) != bits(y) for x, y in zip(in_float32, want, strict=True))


@pytest.mark.parametrize("half", HALVES)
def test_data_dependent_sizes(half):
    x = df.cast(normal(10, 40, 3), half)
    mask = x[:, 0] > 0

    def call(x, mask):
        kept = df.boolean_mask(x, mask)
        return (kept * 3.0, df.reduce_sum(kept, axis=0), df.nn.softmax(kept),
                df.unique(kept[:, 1])[0])

    want, traced = call(x, mask), df.function(call)
    for _ in range(2):
        assert [bits(y) for y in traced(x, mask)] == [bits(y) for y in want]


@pytest.mark.parametrize("half", HALVES)
def test_loss_scale_overflow_is_detectable(half):
    """If a scaled gradient overflows, user code can skip the step."""
    w = df.Variable(3.0)
    with df.GradientTape() as tape:
        loss = df.cast(df.square(df.cast(w, half) * 100.0), df.float32)
    (g,) = tape.gradient(loss, [w], output_gradients=df.constant(1e6))
    overflows = half == "float16"
    assert bool(df.reduce_all(df.math.is_finite(g))) is not overflows
