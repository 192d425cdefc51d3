"""Options that all optimizers share, against NumPy, in eager and traced mode."""

import inspect

import numpy as np
import pytest

import dualflow as df

opt = df.optimizers
RNG = np.random.default_rng(3)
GRADS = RNG.normal(size=(7, 4)).astype(np.float32)
START = RNG.normal(size=4).astype(np.float32)
MAKERS = [opt.SGD, lambda *a, **k: opt.SGD(*a, momentum=0.9, **k), opt.RMSprop, opt.Adagrad,
          opt.Adam, lambda *a, **k: opt.Adam(*a, amsgrad=True, **k), opt.AdamW]


def trained(optimizer, grads=GRADS, traced=False):
    v = df.Variable(START)

    def step(g):
        optimizer.apply_gradients([(g, v)])

    step = df.function(step) if traced else step
    for g in grads:
        step(df.constant(g))
    return v


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("options", [
    {}, {"weight_decay": 0.1}, {"use_ema": True, "ema_overwrite_frequency": 3},
    {"gradient_accumulation_steps": 2}, {"loss_scale_factor": 8., "clipnorm": 1.},
    {"gradient_accumulation_steps": 3, "use_ema": True, "weight_decay": 0.5, "clipvalue": 0.5}])
def test_eager_and_traced_are_equal(make, options):
    a, b = make(0.1, **options), make(0.1, **options)
    assert trained(a).numpy().tobytes() == trained(b, traced=True).numpy().tobytes()
    for x, y in zip(a.variables, b.variables, strict=True):
        assert x.numpy().tobytes() == y.numpy().tobytes()


def test_weight_decay():
    got = trained(opt.SGD(0.1, weight_decay=0.5)).numpy()
    want = START.astype(np.float64)
    for g in GRADS:
        want = want * (1 - 0.1 * 0.5) - 0.1 * g
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_accumulated_gradients_are_averaged():
    optimizer = opt.Adam(0.1, gradient_accumulation_steps=2)
    got = trained(optimizer).numpy()
    means = [(a + b) / 2 for a, b in zip(GRADS[::2], GRADS[1::2], strict=False)]
    np.testing.assert_allclose(got, trained(opt.Adam(0.1), means).numpy(), rtol=1e-6)
    assert optimizer.iterations.item() == 3
    (slots,) = optimizer.slots.values()
    assert slots["accumulated"].tolist() == GRADS[-1].tolist()


def test_moving_averages():
    optimizer = opt.SGD(0.1, use_ema=True, ema_momentum=0.8)
    v, w, average = trained(optimizer), START.astype(np.float64), None
    for g in GRADS:
        w = w - 0.1 * g
        average = w if average is None else 0.8 * average + 0.2 * w
    np.testing.assert_allclose(v.numpy(), w, rtol=1e-5)
    optimizer.finalize_variable_values([v])
    np.testing.assert_allclose(v.numpy(), average, rtol=1e-5)


def test_ema_overwrite_frequency():
    optimizer = opt.SGD(0.1, use_ema=True, ema_momentum=0.8, ema_overwrite_frequency=7)
    v = trained(optimizer)
    (slots,) = optimizer.slots.values()
    assert v.tolist() == slots["average"].tolist()


def test_scaled_losses_give_the_same_update():
    plain, scaled = df.Variable(3.), df.Variable(3.)
    for v, optimizer in ((plain, opt.SGD(0.25)), (scaled, opt.SGD(0.25, loss_scale_factor=1024.))):
        assert optimizer.minimize(lambda v=v: v * v, [v]).item() == 9
    with df.GradientTape() as tape:
        loss = scaled * scaled
    opt.SGD(0.25, loss_scale_factor=8.).minimize(loss, [scaled], tape)
    with df.GradientTape() as tape:
        loss = plain * plain
    opt.SGD(0.25).minimize(loss, [plain], tape)
    assert plain.item() == scaled.item() == 0.75


def test_sparse_and_dense_gradients_agree():
    rows = df.IndexedSlices(df.constant([[1., 2.], [3., 4.]]), df.constant([2, 0]), (3, 2))
    for make in MAKERS:
        for options in ({"gradient_accumulation_steps": 2}, {"use_ema": True, "weight_decay": .5},
                        {"loss_scale_factor": 4.}):
            results = []
            for g in (rows, df.convert_to_tensor(rows)):
                v, optimizer = df.Variable(df.ones([3, 2])), make(0.1, **options)
                for _ in range(2):
                    optimizer.apply_gradients([(g, v)])
                results.append(v.tolist())
            assert results[0] == results[1]


def test_restored_state_continues():
    one = opt.Adam(0.1, amsgrad=True, use_ema=True, gradient_accumulation_steps=2)
    two = opt.Adam(0.1, amsgrad=True, use_ema=True, gradient_accumulation_steps=2)
    v = trained(one)
    w = df.Variable(v)
    two.build([w])
    two.restore(one.state())
    for optimizer, x in ((one, v), (two, w)):
        optimizer.apply_gradients([(df.constant(GRADS[0]), x)])
    assert v.tolist() == w.tolist()


def test_invalid_options_raise():
    for options, message in (({"gradient_accumulation_steps": 1}, "at least 2"),
                          ({"ema_overwrite_frequency": 0}, "at least 1"),
                          ({"ema_momentum": 2.}, "ema_momentum is 2.0"),
                          ({"loss_scale_factor": 0.}, "loss_scale_factor is 0.0"),
                          ({"weight_decay": -1.}, "weight_decay is -1.0")):
        with pytest.raises(df.errors.InvalidArgumentError, match=message):
            opt.SGD(0.1, **options)
    optimizer = opt.SGD(0.1)
    trained(optimizer)
    with pytest.raises(df.errors.InvalidArgumentError, match="no slot for average"):
        optimizer.use_ema = True


def test_signatures_name_every_argument():
    assert list(inspect.signature(opt.AdamW).parameters) == [
        "learning_rate", "weight_decay", "beta_1", "beta_2", "epsilon", "amsgrad", "clipnorm",
        "clipvalue", "global_clipnorm", "use_ema", "ema_momentum", "ema_overwrite_frequency",
        "loss_scale_factor", "gradient_accumulation_steps", "name"]


def test_moving_averages_of_variables():
    v, ema = df.Variable(1.), df.train.ExponentialMovingAverage(0.5, num_updates=0)
    ema.apply([v])
    v.assign(11.)
    ema.apply([v])
    assert ema.average(v).item() == pytest.approx(10) and ema.average(df.Variable(1.)) is None
    with pytest.raises(TypeError):
        ema.apply([df.constant(1.)])
