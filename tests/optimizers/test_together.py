"""Variables updated in one call have the bits of variables updated one by one."""

import threading

import numpy as np
import pytest

import dualflow as df
from dualflow import config
from dualflow._core import apply_each, values_together
from dualflow.errors import DTypeError, ShapeError
from dualflow.optimizers.formula import Formula
from tests.optimizers.test_optimizers import SETTINGS

opt = df.optimizers
MAKE = [make for make, _ in SETTINGS] + [
    lambda: opt.Adam(0.1, amsgrad=True), lambda: opt.SGD(0.1, weight_decay=0.1),
    lambda: opt.RMSprop(0.1, clipnorm=0.5), lambda: opt.Adam(0.1, global_clipnorm=0.5),
    lambda: opt.SGD(0.1, 0.9, clipvalue=0.1), lambda: opt.Adam(0.1, use_ema=True),
    lambda: opt.Adagrad(0.1, gradient_accumulation_steps=2),
    lambda: opt.Adam(opt.schedules.ExponentialDecay(0.1, 2, 0.5)), lambda: opt.SGD(lambda: 0.25)]
SHAPES = [((3, 5), "float32"), ((), "float64"), ((0, 2), "float32"), ((40_000,), "float32"),
          ((7,), "float16"), ((2, 3), "bfloat16")]



@pytest.fixture
def counts(monkeypatch):
    """How many variables each call updated."""
    found, plain = [], Formula.update_each

    def update_each(formula, grads, *rest):
        found.append(len(grads))
        plain(formula, grads, *rest)

    monkeypatch.setattr(Formula, "update_each", update_each)
    return found


@pytest.fixture(params=[1, 2])
def threads(request):
    before = config.num_threads()
    config.set_num_threads(request.param)
    yield
    config.set_num_threads(before)


def trained(make, apply):
    """The bytes of variables, and of what the optimizer keeps, after four updates."""
    rng, optimizer = np.random.default_rng(5), make()
    variables = [df.Variable(rng.normal(size=shape), dtype=dtype) for shape, dtype in SHAPES]
    for _ in range(4):
        grads = [df.constant(rng.normal(size=v.shape), v.dtype) for v in variables]
        apply(optimizer, list(zip(grads, variables, strict=True)))
    return [v.numpy().tobytes() for v in (*variables, *optimizer.variables)]


def as_a_program(optimizer, pairs):
    """The update as a program, in which each variable has an instruction of its own."""
    df.function(lambda: optimizer.apply_gradients(pairs))()


@pytest.mark.parametrize("make", MAKE)
def test_bits_of_one_by_one(make, threads):
    assert trained(make, lambda o, pairs: o.apply_gradients(pairs)) == trained(make, as_a_program)


@pytest.mark.parametrize("make, _", SETTINGS)
def test_they_are_updated_in_one_call(make, _, counts):
    optimizer, variables = make(), [df.Variable([1.0, 2.0]) for _ in range(3)]
    optimizer.apply_gradients([(df.constant([1.0, 1.0]), v) for v in variables])
    assert counts == [3]
    optimizer.apply_gradients([(df.constant([1.0, 1.0]), v) for v in variables[:1]])
    assert counts == [3, 1]


@pytest.mark.parametrize("make, _", SETTINGS)
@pytest.mark.parametrize("bad, error", [
    (df.constant([1.0, 2.0, 3.0]), ShapeError),
    (df.constant([1.0, 2.0], df.float64), DTypeError),
])
def test_nothing_is_updated_if_one_is_refused(make, _, bad, error):
    optimizer, variables = make(), [df.Variable([1.0, 2.0]) for _ in range(3)]
    good = df.constant([1.0, 2.0])
    optimizer.apply_gradients([(good, v) for v in variables])
    held = [v.numpy().tobytes() for v in (*variables, *optimizer.variables)]
    with pytest.raises(error, match="its gradient"):
        optimizer.apply_gradients(zip([good, good, bad], variables, strict=True))
    assert [v.numpy().tobytes() for v in (*variables, *optimizer.variables)] == held


@pytest.mark.parametrize("make, _", SETTINGS)
def test_a_variable_twice_is_updated_twice(make, _):
    found = []
    for apply in (lambda o, pairs: o.apply_gradients(pairs), as_a_program):
        v, optimizer = df.Variable([1.0, 2.0]), make()
        apply(optimizer, [(df.constant([1.0, 2.0]), v), (df.constant([3.0, -1.0]), v)])
        found.append(v.numpy().tolist())
    assert found[0] == found[1]


def test_gradients_may_be_values_of_the_variables():
    a, b = df.Variable([1.0, 2.0]), df.Variable([4.0, 8.0])
    opt.SGD(0.5).apply_gradients([(b.value(), a), (a.value(), b)])
    assert (a.numpy().tolist(), b.numpy().tolist()) == ([-1.0, -2.0], [3.5, 7.0])


def test_rows_among_tensors(counts):
    """One sparse gradient, and all variables are updated one by one."""
    table, w, optimizer = df.Variable(df.zeros([3, 2])), df.Variable([1.0]), opt.SGD(0.5)
    rows = df.IndexedSlices(df.ones([1, 2]), df.constant([1]), (3, 2))
    optimizer.apply_gradients([(df.constant([2.0]), w), (rows, table)])
    assert not counts and w.numpy().tolist() == [0.0]
    assert table.numpy().tolist() == [[0, 0], [-0.5, -0.5], [0, 0]]


def test_an_update_of_ones_own_comes_first(counts):
    class Halved(opt.SGD):
        def update(self, grad, var, slots, rate):
            super().update(grad * 0.5, var, slots, rate)

    class Renamed(opt.SGD):
        """Updates by the formula of its base."""

    v = df.Variable([1.0])
    Halved(1.0).apply_gradients([(df.constant([1.0]), v)])
    assert v.numpy().tolist() == [0.5] and not counts
    Renamed(0.5).apply_gradients([(df.constant([1.0]), v)])
    assert v.numpy().tolist() == [0.0] and counts == [1]


def test_other_threads_see_all_or_nothing():
    variables, optimizer = [df.Variable(0.0) for _ in range(40)], opt.SGD(1.0)
    grads, over, mixed = [df.constant(-1.0)] * 40, threading.Event(), []

    def look():
        while not over.is_set():
            values = {x.item() for x in values_together(variables)}
            if len(values) > 1:
                mixed.append(values)

    watcher = threading.Thread(target=look)
    watcher.start()
    for _ in range(500):
        optimizer.apply_gradients(zip(grads, variables, strict=True))
    over.set()
    watcher.join()
    assert not mixed and variables[-1].item() == 500


@pytest.mark.parametrize("rows, error", [
    ([(df.constant([1.0]), df.constant([1.0]), 0.5)], DTypeError),
    ([(df.Variable([1.0]),) * 9], ValueError),
    ([[1, 2]], TypeError),
    ([], None),
])
def test_bad_rows(rows, error):
    if error is None:
        apply_each("sgd_update", rows, {})
    else:
        with pytest.raises(error):
            apply_each("sgd_update", rows, {})
