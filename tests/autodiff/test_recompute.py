"""Gradient checkpointing: gradients that recompute intermediate values."""

import gc

import numpy as np
import pytest

import dualflow as df
from dualflow.errors import InvalidArgumentError

X = df.constant(np.random.default_rng(0).normal(size=(4, 4)).astype("float32"))
C = df.constant(np.random.default_rng(1).normal(size=(4, 4)).astype("float32"))
W = df.Variable(np.random.default_rng(2).normal(size=(4, 4)).astype("float32"))


def block(x):
    noise = df.random.uniform([4, 4])
    return df.tanh(x @ W) * C + noise * x


def gradients(x, f):
    with df.GradientTape() as tape:
        tape.watch([x, C])
        y = f(f(x))
        y = df.reduce_sum(y * y)
    return [y, *tape.gradient(y, [x, W, C])]


WRAPPED = {
    "once": df.recompute_grad(block),
    "twice": df.recompute_grad(df.recompute_grad(block)),
    "three times": df.recompute_grad(df.recompute_grad(df.recompute_grad(block))),
    "with ops around": df.recompute_grad(lambda x: df.recompute_grad(block)(x * 1.) * 1.),
    "of a call": df.recompute_grad(df.function(block)),
}


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("name", WRAPPED)
def test_same_bits(name, traced):
    """Compare values and gradients with respect to everything read, random numbers included."""
    made = []
    for f in (block, WRAPPED[name]):
        df.random.set_seed(3)
        run = df.function(gradients) if traced else gradients
        made.append([[y.numpy() for y in run(X, f)] for _ in range(2)])
        made[-1].append(df.random.get_global_generator().counter)
    for plain, again in zip(made[0][:2], made[1][:2], strict=True):
        for a, b in zip(plain, again, strict=True):
            np.testing.assert_array_equal(a, b)
    assert made[0][2] == made[1][2]


def test_block_runs_twice_and_keeps_no_intermediates():
    calls = []

    @df.recompute_grad
    def f(x):
        calls.append(1)
        return df.exp(df.sin(df.exp(x)))

    x = df.ones([1 << 16])
    gc.collect()
    with df.GradientTape() as tape:
        tape.watch(x)
        before = df.memory.stats()["in_use"]
        y = f(x)
        assert df.memory.stats()["in_use"] - before < 1.5 * x.nbytes
    assert len(calls) == 1
    tape.gradient(y, x)
    assert len(calls) == 2


def test_memory_of_a_graph():
    """Only values between two blocks are kept from the forward to the backward pass."""
    def deep(f, x):
        for _ in range(6):
            x = f(x)
        return df.reduce_sum(x)

    def inner(x):
        for _ in range(6):
            x = df.sin(df.nn.softmax(x))
        return x

    x = df.ones([64, 64])
    sizes = [df.function(df.grad(lambda x, f=f: deep(f, x))).compiled_for(x).spec.arena_bytes
             for f in (inner, df.recompute_grad(inner))]
    assert sizes[1] < 0.7 * sizes[0]


def test_higher_orders_and_transforms():
    def f(x):
        return df.exp(df.sin(x))

    again = df.recompute_grad(f)
    x = df.constant(0.3)
    want = df.grad(df.grad(f))(x).item()
    assert df.grad(df.grad(again))(x).item() == want
    assert df.function(df.grad(df.grad(again)))(x).item() == want
    assert df.jvp(again, (x,), (1.,))[1].item() == df.jvp(f, (x,), (1.,))[1].item()
    xs = df.constant([0., 0.3])
    np.testing.assert_array_equal(df.vmap(df.grad(again))(xs), df.vmap(df.grad(f))(xs))


def test_structures():
    @df.checkpoint
    def f(pair, scale=1.):
        return {"a": pair[0] * pair[1] * scale, "b": None, "n": df.constant(3)}

    assert df.checkpoint is df.recompute_grad and f.__name__ == "f"
    for run in (f, df.function(f)):
        a, b = df.constant(2.), df.constant(3.)
        with df.GradientTape() as tape:
            tape.watch([a, b])
            y = run((a, b), scale=10.)
        assert y["b"] is None and y["n"].item() == 3
        assert [g.item() for g in tape.gradient(y["a"], [a, b])] == [30., 20.]


def test_variable_assigned_before_the_gradient_raises():
    w = df.Variable(2., name="w")
    f = df.recompute_grad(lambda x: x * w)
    x = df.constant(3.)
    with df.GradientTape() as tape:
        y = f(x) * w
    w.assign(5.)
    with pytest.raises(InvalidArgumentError, match="w, which <lambda> read, was assigned"):
        tape.gradient(y, w)


def test_errors():
    with pytest.raises(InvalidArgumentError, match="f is int"):
        df.recompute_grad(3)
