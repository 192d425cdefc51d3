"""Complex variables: the parts of a number are updated like two real variables, as in PyTorch."""

import numpy as np
import pytest

import dualflow as df

MAKERS = {
    "sgd": lambda: df.optimizers.SGD(0.1),
    "momentum": lambda: df.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    "adam": lambda: df.optimizers.Adam(0.1),
    "amsgrad": lambda: df.optimizers.Adam(0.1, amsgrad=True),
    "rmsprop": lambda: df.optimizers.RMSprop(0.1),
    "centered": lambda: df.optimizers.RMSprop(0.1, centered=True, momentum=0.5),
    "adagrad": lambda: df.optimizers.Adagrad(0.1),
    "decay": lambda: df.optimizers.Adam(0.1, weight_decay=0.01),
    "clipnorm": lambda: df.optimizers.SGD(0.1, clipnorm=0.5),
    "global_clipnorm": lambda: df.optimizers.Adam(0.1, global_clipnorm=0.5),
    "clipvalue": lambda: df.optimizers.SGD(0.1, clipvalue=0.5),
    "ema": lambda: df.optimizers.SGD(0.1, use_ema=True),
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
def test_updates(name, dtype, traced):
    rng = np.random.default_rng(0)
    start = rng.normal(size=(5, 2)).astype(df.as_dtype(dtype).real_dtype.name)
    z, pairs = df.Variable(start.view(dtype)[:, 0]), df.Variable(start)
    ours, theirs = MAKERS[name](), MAKERS[name]()
    update = df.function(lambda g: ours.apply_gradients([(g, z)])) if traced else (
        lambda g: ours.apply_gradients([(g, z)]))
    for _ in range(3):
        g = rng.normal(size=(5, 2)).astype(start.dtype)
        update(df.constant(g.view(dtype)[:, 0]))
        theirs.apply_gradients([(df.constant(g), pairs)])
        np.testing.assert_allclose(np.array(z).view(start.dtype).reshape(5, 2), pairs, rtol=2e-6)


@pytest.mark.parametrize("make", [MAKERS["sgd"], MAKERS["adam"]])
def test_sparse_gradients(make):
    rng = np.random.default_rng(1)
    start = rng.normal(size=(6, 3, 2)).astype("float32")
    z, pairs = df.Variable(start.view("complex64")[..., 0]), df.Variable(start)
    for variable, optimizer in ((z, make()), (pairs, make())):
        for _ in range(2):
            with df.GradientTape() as tape:
                loss = df.reduce_sum(df.square(df.abs(df.gather(variable, [1, 4, 1]))))
            optimizer.apply_gradients([(tape.gradient(loss, variable), variable)])
    np.testing.assert_allclose(np.array(z).view("float32").reshape(6, 3, 2), pairs, rtol=1e-5)


def test_moving_averages():
    z = df.Variable([1 + 1j])
    average = df.train.ExponentialMovingAverage(0.5)
    average.apply([z])
    z.assign([3 + 5j])
    average.apply([z])
    assert average.average(z).tolist() == [2 + 3j]


def test_a_complex_weight_is_fitted():
    rng = np.random.default_rng(2)
    x = (rng.normal(size=50) + 1j * rng.normal(size=50)).astype("complex64")
    w = df.Variable(df.constant(0, df.complex64))
    optimizer = df.optimizers.Adam(0.1)

    @df.function
    def step(x, y):
        with df.GradientTape() as tape:
            loss = df.reduce_mean(df.square(df.abs(w * x - y)))
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
        return loss

    losses = [step(x, x * (2 - 1j)).item() for _ in range(200)]
    assert losses[-1] < 1e-3 * losses[0]
    np.testing.assert_allclose(w, 2 - 1j, rtol=0.02)


def test_learning_rates_are_real():
    for rate in (df.constant(0.1j), df.Variable(0.1j)):
        with pytest.raises(df.errors.DTypeError, match=r"rate is complex128.*df\.math\.real"):
            df.optimizers.Adam(rate)
