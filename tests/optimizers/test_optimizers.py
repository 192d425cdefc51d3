"""Each optimizer against Keras's formulas in NumPy; slots, clipping, invalid input, convergence."""

import warnings

import numpy as np
import pytest

import dualflow as df
from dualflow import config
from dualflow.errors import DTypeError, GradientWarning, InvalidArgumentError, ShapeError
from dualflow.ops.state import optimizer as ops
from tests.optimizers import reference

opt = df.optimizers
SETTINGS = [
    (lambda: opt.SGD(0.1), reference.sgd(0.1)),
    (lambda: opt.SGD(0.1, momentum=0.9), reference.sgd(0.1, 0.9)),
    (lambda: opt.SGD(0.1, momentum=0.9, nesterov=True), reference.sgd(0.1, 0.9, True)),
    (lambda: opt.Adam(0.01), reference.adam(0.01)),
    (lambda: opt.Adam(0.02, 0.8, 0.99, 1e-3), reference.adam(0.02, 0.8, 0.99, 1e-3)),
    (lambda: opt.AdamW(0.01, weight_decay=0.1), reference.adam(0.01, weight_decay=0.1)),
    (lambda: opt.Adam(0.01, amsgrad=True), reference.adam(0.01, amsgrad=True)),
    (lambda: opt.Adam(0.1, 0.8, 0.6, 1e-3, True, weight_decay=0.5),
     reference.adam(0.1, 0.8, 0.6, 1e-3, 0.5, True)),
    (lambda: opt.RMSprop(0.01), reference.rmsprop(0.01)),
    (lambda: opt.RMSprop(0.01, momentum=0.5), reference.rmsprop(0.01, momentum=0.5)),
    (lambda: opt.RMSprop(0.01, centered=True, epsilon=1e-4),
     reference.rmsprop(0.01, epsilon=1e-4, centered=True)),
    (lambda: opt.RMSprop(0.01, 0.8, 0.5, 1e-4, True),
     reference.rmsprop(0.01, 0.8, 0.5, 1e-4, True)),
    (lambda: opt.Adagrad(0.1), reference.adagrad(0.1)),
    (lambda: opt.Adagrad(0.1, 0.5, 1e-3), reference.adagrad(0.1, 0.5, 1e-3)),
]


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (7,), (3, 5), (40_000,)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("make, update", SETTINGS)
def test_twenty_steps(make, update, dtype, shape):
    rng = np.random.default_rng(3)
    start = rng.normal(size=shape).astype(dtype)
    var, expected, slots, optimizer = df.Variable(start), start.astype("float64"), {}, make()
    for t in range(20):
        g = rng.normal(size=shape).astype(dtype)
        optimizer.apply_gradients([(df.constant(g), var)])
        expected = update(expected, g.astype("float64"), t, slots)
    assert var.dtype == df.as_dtype(dtype) and var.shape == shape
    assert int(optimizer.iterations.numpy()) == 20
    tolerance = 2e-5 if dtype == "float32" else 1e-13  # 20 roundings, and central differences
    np.testing.assert_allclose(var.numpy(), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("make, update", SETTINGS)
def test_values_read_before_are_unchanged(make, update):
    var, optimizer = df.Variable([1.0, 2.0]), make()
    before, array = var.value(), var.numpy()
    optimizer.apply_gradients([(df.constant([1.0, 1.0]), var)])
    state = optimizer.state()
    kept = [s.numpy().copy() for s in state]
    optimizer.apply_gradients([(df.constant([1.0, 1.0]), var)])
    assert before.numpy().tolist() == array.tolist() == [1.0, 2.0] != var.numpy().tolist()
    assert all((s.numpy() == k).all() for s, k in zip(state, kept, strict=True))


@pytest.mark.parametrize("make, update", SETTINGS)
def test_gradient_may_be_the_variable(make, update):
    var, optimizer = df.Variable([1.0, 2.0]), make()
    optimizer.apply_gradients([(var, var)])
    expected = update(np.array([1.0, 2.0]), np.array([1.0, 2.0]), 0, {})
    np.testing.assert_allclose(var.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("make, update", SETTINGS)
def test_bits_are_independent_of_the_thread_count(make, update):
    g, results, before = np.random.default_rng(1).normal(size=100_001), [], config.num_threads()
    try:
        for threads in (1, 2):
            config.set_num_threads(threads)
            var, optimizer = df.Variable(g), make()
            for _ in range(3):
                optimizer.apply_gradients([(df.constant(g), var)])
            results.append(var.numpy().tobytes())
    finally:
        config.set_num_threads(before)
    assert results[0] == results[1]


def test_restored_state_continues():
    rng = np.random.default_rng(0)
    grads = [df.constant(rng.normal(size=3)) for _ in range(6)]
    a, first = df.Variable(np.ones(3)), opt.Adam(0.1)
    for g in grads[:3]:
        first.apply_gradients([(g, a)])
    b, second = df.Variable(a.value()), opt.Adam(0.5)
    second.build([b])
    second.restore(first.state())
    for g in grads[3:]:
        first.apply_gradients([(g, a)])
        second.apply_gradients([(g, b)])
    assert a.numpy().tolist() == b.numpy().tolist()
    with pytest.raises(InvalidArgumentError, match="build"):
        opt.Adam(0.5).restore(first.state())


def test_learning_rates():
    var, g = df.Variable([0.0]), df.constant([1.0])
    optimizer = opt.SGD(0.5)
    optimizer.apply_gradients([(g, var)])
    optimizer.learning_rate = 0.25
    optimizer.apply_gradients([(g, var)])
    assert var.numpy().tolist() == [-0.75]
    rate = df.Variable(1.0)
    opt.SGD(rate).apply_gradients([(g, var)])
    assert var.numpy().tolist() == [-1.75]
    opt.SGD(lambda: 2.0).apply_gradients([(g, var)])
    assert var.numpy().tolist() == [-3.75]
    stepwise = opt.SGD(opt.schedules.PiecewiseConstantDecay([0], [1.0, 0.5]))
    for _ in range(2):
        stepwise.apply_gradients([(g, var)])
    assert var.numpy().tolist() == [-5.25]
    optimizer.learning_rate = opt.schedules.ExponentialDecay(4.0, 1, 0.5)
    assert optimizer.learning_rate.numpy().item() == 1.0


def test_clipping():
    def after(**limits):
        a, b = df.Variable([0.0, 0.0]), df.Variable(0.0)
        opt.SGD(1.0, **limits).apply_gradients(
            [(df.constant([3.0, 4.0]), a), (df.constant(-12.0), b)])
        return (-a.numpy()).round(5).tolist(), -b.numpy().round(5).item()

    assert after(clipnorm=1.0) == ([pytest.approx(0.6), pytest.approx(0.8)], -1.0)
    assert after(clipvalue=3.5) == ([3.0, 3.5], -3.5)
    assert after(global_clipnorm=6.5) == ([1.5, 2.0], -6.0)
    assert after(global_clipnorm=100.0) == ([3.0, 4.0], -12.0)


def test_clip_functions():
    x = [df.constant([3.0, 0.0]), None, df.constant([[4.0]])]
    clipped, norm = df.clip_by_global_norm(x, 2.5)
    assert norm.numpy().item() == 5 and clipped[1] is None
    assert clipped[0].numpy().tolist() == [1.5, 0.0] and clipped[2].numpy().tolist() == [[2.0]]
    assert df.clip_by_norm(df.constant([0.0, 0.0]), 1.0).numpy().tolist() == [0.0, 0.0]
    assert df.clip_by_norm(df.constant(-5.0), 2.0).numpy().item() == -2
    bad, norm = df.clip_by_global_norm([df.constant([np.inf, 1.0])], 1.0)
    assert np.isinf(norm.numpy()) and np.isnan(bad[0].numpy()).all()
    with pytest.raises(InvalidArgumentError, match="global_norm"):
        df.linalg.global_norm([None])


def test_missing_gradients():
    a, b = df.Variable(1.0, name="first"), df.Variable(1.0, name="second")
    optimizer = opt.SGD(0.5)
    with pytest.raises(InvalidArgumentError, match=r"first.*second"):
        optimizer.apply_gradients([(None, a), (None, b)])
    with pytest.warns(GradientWarning, match="second"):
        optimizer.apply_gradients([(df.constant(1.0), a), (None, b)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.apply_gradients([(df.constant(1.0), a), (None, b)])
    assert a.numpy().item() == 0 and b.numpy().item() == 1


ONE, LR = [1.0], 0.1


@pytest.mark.parametrize("call, error, text", [
    (lambda v: ops.sgd_update(df.constant(ONE), ONE, LR), DTypeError, "sgd_update.*Variable"),
    (lambda v: ops.sgd_update(v, [1.0, 2.0], LR), ShapeError, r"sgd_update.*\(1\).*\(2\)|\(2,\)"),
    (lambda v: ops.sgd_update(v, df.constant([1], df.int32), LR), DTypeError, "int32"),
    (lambda v: ops.sgd_update(v, ONE, ONE), ShapeError, "learning rate"),
    (lambda v: ops.sgd_update(v, ONE, df.constant(1, df.int32)), DTypeError, "learning rate"),
    (lambda v: ops.sgd_update(df.Variable([1], dtype="int32"), df.constant([1], df.int32), LR),
     DTypeError, "int32"),
    (lambda v: ops.momentum_update(v, df.Variable([1.0, 2.0]), ONE, LR), ShapeError, "slot"),
    (lambda v: ops.rmsprop_update(v, v, df.Variable(df.zeros([0])), ONE, LR, momentum=0.5),
     ShapeError, "rmsprop_update"),
    (lambda v: ops.adam_update(v, v, v, ONE, LR, 1.5), DTypeError, "step"),
    (lambda v: ops.amsgrad_update(v, v, v, v, ONE, LR, 1.5), DTypeError, "step"),
    (lambda v: ops.amsgrad_update(v, v, v, df.Variable([1.0, 2.0]), ONE, LR, 1), ShapeError,
     "amsgrad_update.*slot"),
    (lambda v: opt.SGD(0.1).apply_gradients([(ONE, df.constant(ONE))]), DTypeError, "Variable"),
    (lambda v: opt.SGD(0.1).apply_gradients([]), InvalidArgumentError, "no gradient"),
    (lambda v: opt.SGD(-1.0), InvalidArgumentError, "learning_rate"),
    (lambda v: opt.SGD(0.1, momentum=1.5), InvalidArgumentError, "momentum"),
    (lambda v: opt.Adam(beta_1=1.0), InvalidArgumentError, "beta_1"),
    (lambda v: opt.Adam(clipnorm=-1.0), InvalidArgumentError, "clipnorm"),
    (lambda v: opt.Adam(clipnorm=1.0, clipvalue=1.0), InvalidArgumentError, "clipvalue"),
    (lambda v: opt.SGD().minimize(df.constant(1.0), [v]), InvalidArgumentError, "tape"),
])
def test_bad_input(call, error, text):
    v = df.Variable(ONE)
    with pytest.raises(error, match=text):
        call(v)
    assert v.numpy().tolist() == ONE


@pytest.mark.parametrize("make, steps", [
    (lambda: opt.SGD(0.1), 200), (lambda: opt.SGD(0.05, 0.9, True), 200),
    (lambda: opt.Adam(0.1), 400), (lambda: opt.AdamW(0.1, 0.0), 400),
    (lambda: opt.RMSprop(opt.schedules.PolynomialDecay(0.05, 400, 0.0)), 400),
    (lambda: opt.Adagrad(0.5), 400),
])
def test_convergence(make, steps):
    a, b, optimizer = df.Variable([4.0, -3.0]), df.Variable(2.0), make()
    goal = df.constant([1.0, 2.0])

    def loss():
        x, y = a - goal, b + 1.0
        return x * x * df.constant([1.0, 0.5]) + y * y  # the gradient of the sum

    for _ in range(steps):
        optimizer.minimize(loss, [a, b])
    np.testing.assert_allclose(a.numpy(), [1, 2], atol=1e-2)
    assert abs(b.numpy().item() + 1) < 1e-2
