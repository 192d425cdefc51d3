"""Dynamic loss scaling of plain training loops."""

import copy
import math
import pickle

import numpy as np
import pytest

import dualflow as df
from dualflow.errors import DTypeError, InvalidArgumentError

WRAPS = pytest.mark.parametrize("wrap", [lambda f: f, df.function], ids=["eager", "traced"])


def after(scale, count, finite, growth):
    """Return scale and counter after a step."""
    if not finite:
        return scale * 0.5, 0
    return (scale * 2, 0) if count + 1 == growth else (scale, count + 1)


@WRAPS
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_rules(wrap, dtype):
    """The scale doubles and halves, infinite gradients change nothing else, and updates are those
    of the inner optimizer by the unscaled gradients."""
    rng = np.random.default_rng(0)
    start = df.constant(rng.normal(size=(3, 2)), dtype)
    v, w = df.Variable(start), df.Variable(start)
    plain = df.optimizers.Adam(0.1)
    optimizer = df.optimizers.LossScaleOptimizer(df.optimizers.Adam(0.1), 64., 3)

    @wrap
    def step(g):
        optimizer.apply_gradients([(df.cast(optimizer.scale_loss(g), dtype), v)])

    scale, count = 64., 0
    for bad in ["", "", "", "inf", "", "nan", "-inf", "", "", "", ""]:
        g = df.constant(rng.normal(size=(3, 2)), dtype)
        if bad:
            step(df.where(df.constant([[True, False]] * 3), g, float(bad)))
        else:
            step(g)
            plain.apply_gradients([(g, w)])
        scale, count = after(scale, count, not bad, 3)
        assert optimizer.dynamic_scale.item() == scale
        assert optimizer.step_counter.item() == count
        np.testing.assert_array_equal(df.cast(v, df.float64).numpy(),
                                      df.cast(w, df.float64).numpy())
    assert optimizer.iterations.item() == plain.iterations.item() == 8


@WRAPS
def test_small_gradients_survive_in_float16(wrap):
    def trained(optimizer):
        v = df.Variable(df.ones(4, df.float16))

        @wrap
        def step():
            with df.GradientTape() as tape:
                loss = optimizer.scale_loss(df.reduce_mean(df.cast(v * 1e-4, df.float32)) * 1e-4)
            optimizer.apply_gradients([(tape.gradient(loss, v), v)])

        step()
        return optimizer.slots[v]["master"] if isinstance(
            optimizer, df.optimizers.SGD) else optimizer.inner_optimizer.slots[v]["master"]

    assert (trained(df.optimizers.SGD(1e3)).numpy() == 1).all()
    scaled = trained(df.optimizers.LossScaleOptimizer(df.optimizers.SGD(1e3)))
    np.testing.assert_allclose(scaled.numpy(), 1 - 1e3 * 1e-8 / 4, rtol=1e-7)


@WRAPS
def test_minimize_rows_and_missing_gradients(wrap):
    table, other = df.Variable(df.ones([5, 2])), df.Variable(df.ones(2))
    optimizer = df.optimizers.LossScaleOptimizer(df.optimizers.SGD(0.5), 8.)

    @wrap
    def step(ids):
        return optimizer.minimize(lambda: df.reduce_sum(df.gather(table, ids)), [table, other])

    with pytest.warns(df.errors.GradientWarning):
        assert step(df.constant([1, 1, 3])).item() == 6.
    assert table.numpy()[:, 0].tolist() == [1., 0., 1., 0.5, 1.]
    with pytest.raises(InvalidArgumentError, match="no gradient for any"):
        optimizer.apply_gradients([(None, table)])


@WRAPS
def test_gradients_of_branches(wrap):
    """A variable whose gradient does not exist at run time is not updated."""
    a, b = df.Variable([1.]), df.Variable([1.])
    optimizer = df.optimizers.LossScaleOptimizer(df.optimizers.SGD(0.5, weight_decay=0.5), 8.)

    @wrap
    def step(x):
        with df.GradientTape() as tape:
            loss = df.cond(x > 0., lambda: df.reduce_sum(a * x), lambda: df.reduce_sum(b * x))
            loss = optimizer.scale_loss(loss)
        optimizer.apply_gradients(zip(tape.gradient(loss, [a, b]), [a, b], strict=True))

    if wrap is df.function:
        step(df.constant(1.))
        assert a.item() == 0.25 and b.item() == 1.


def test_the_scale_stays_finite():
    v = df.Variable([1.])
    optimizer = df.optimizers.LossScaleOptimizer(df.optimizers.SGD(0.), 2.**126, 1)
    for _ in range(3):
        optimizer.apply_gradients([(df.constant([1.]), v)])
    assert optimizer.dynamic_scale.item() == 2.**127
    assert optimizer.iterations.item() == 3


@pytest.mark.parametrize("how", ["checkpoint", "pickle", "deepcopy"])
def test_saved_state(how, tmp_path):
    def step(v, optimizer, n, bad=False):
        for k in range(n):
            g = math.nan if bad else 0.5 + k
            optimizer.apply_gradients([(df.constant([g, 1.], df.float16), v)])

    v = df.Variable([1., 2.], dtype="float16")
    optimizer = df.optimizers.LossScaleOptimizer(df.optimizers.Adam(0.1), 64., 3)
    step(v, optimizer, 2)
    step(v, optimizer, 1, True)
    step(v, optimizer, 2)
    if how == "checkpoint":
        path = df.train.Checkpoint(v=v, optimizer=optimizer).save(str(tmp_path / "c"))
        again = df.Variable([0., 0.], dtype="float16")
        other = df.optimizers.LossScaleOptimizer(df.optimizers.Adam(0.1), 1., 3)
        df.train.Checkpoint(v=again, optimizer=other).restore(path)
    else:
        again, other = pickle.loads(pickle.dumps((v, optimizer))) if how == "pickle" else (
            copy.deepcopy((v, optimizer)))
    for x, opt in ((v, optimizer), (again, other)):
        step(x, opt, 2)
        assert opt.dynamic_scale.item() == 64. and opt.step_counter.item() == 1
    assert [x.numpy().tolist() for x in optimizer.variables] == [
        x.numpy().tolist() for x in other.variables]
    assert v.numpy().tolist() == again.numpy().tolist()


def test_attributes():
    inner = df.optimizers.SGD(0.5, loss_scale_factor=4.)
    optimizer = df.optimizers.LossScaleOptimizer(inner)
    assert inner.loss_scale_factor is None
    assert optimizer.initial_scale == 2.**15 and optimizer.dynamic_growth_steps == 2000
    optimizer.learning_rate = 0.25
    assert inner.learning_rate.item() == optimizer.learning_rate.item() == 0.25
    v = df.Variable([1.])
    optimizer.build([v])
    assert [x.name for x in optimizer.variables] == ["step_counter", "dynamic_scale", "iterations",
                                                    "learning_rate"]


@pytest.mark.parametrize(("args", "error", "words"), [
    (("sgd",), DTypeError, "inner_optimizer is 'sgd'"),
    ((df.optimizers.SGD(0.1), 0.), InvalidArgumentError, "initial_scale"),
    ((df.optimizers.SGD(0.1), math.inf), InvalidArgumentError, "initial_scale"),
    ((df.optimizers.SGD(0.1), 2., 0), InvalidArgumentError, "dynamic_growth_steps is 0"),
    ((df.optimizers.SGD(0.1), 2., 1.5), InvalidArgumentError, "dynamic_growth_steps is 1.5"),
])
def test_bad_arguments(args, error, words):
    with pytest.raises(error, match=words):
        df.optimizers.LossScaleOptimizer(*args)
