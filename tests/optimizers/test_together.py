"""Variables updated in one call have the bits of variables updated one by one."""

import contextlib
import copy
import pickle
import threading
from random import Random

import numpy as np
import pytest

import dualflow as df
from dualflow import config
from dualflow._core import Updates, apply_each, snapshot_values
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError
from dualflow.optimizers.formula import Formula
from tests.optimizers.test_optimizers import SETTINGS

opt = df.optimizers
MAKE = [make for make, _ in SETTINGS] + [
    lambda: opt.SGD(0.1, weight_decay=0.1),
    lambda: opt.RMSprop(0.1, clipnorm=0.5), lambda: opt.Adam(0.1, global_clipnorm=0.5),
    lambda: opt.SGD(0.1, 0.9, clipvalue=0.1), lambda: opt.Adam(0.1, use_ema=True),
    lambda: opt.Adagrad(0.1, gradient_accumulation_steps=2),
    lambda: opt.Adam(opt.schedules.ExponentialDecay(0.1, 2, 0.5)), lambda: opt.SGD(lambda: 0.25)]
SHAPES = [((3, 5), "float32"), ((), "float64"), ((0, 2), "float32"), ((40_000,), "float32"),
          ((7,), "float16"), ((2, 3), "bfloat16")]



@pytest.fixture
def counts(monkeypatch):
    """A list of the number of variables that each call updates."""
    found, plain = [], Formula.update_each

    def update_each(formula, grads, *rest):
        found.append(len(grads))
        return plain(formula, grads, *rest)

    monkeypatch.setattr(Formula, "update_each", update_each)
    return found


@pytest.fixture(params=[1, 2])
def threads(request):
    before = config.num_threads()
    config.set_num_threads(request.param)
    yield
    config.set_num_threads(before)


def trained(make, apply):
    """Return the bytes of variables and optimizer state after four updates."""
    rng, optimizer = np.random.default_rng(5), make()
    variables = [df.Variable(rng.normal(size=shape), dtype=dtype) for shape, dtype in SHAPES]
    for _ in range(4):
        grads = [df.constant(rng.normal(size=v.shape), v.dtype) for v in variables]
        apply(optimizer, list(zip(grads, variables, strict=True)))
    return [v.numpy().tobytes() for v in (*variables, *optimizer.variables)]


def as_a_program(optimizer, pairs):
    """Run the update as a program, in which each variable has a separate instruction."""
    df.function(lambda: optimizer.apply_gradients(pairs))()


@pytest.mark.parametrize("make", MAKE)
def test_bits_match_single_updates(make, threads):
    assert trained(make, lambda o, pairs: o.apply_gradients(pairs)) == trained(make, as_a_program)


@pytest.mark.parametrize("make, _", SETTINGS)
def test_variables_are_updated_in_one_call(make, _, counts):
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
def test_invalid_gradient_updates_nothing(make, _, bad, error):
    optimizer, variables = make(), [df.Variable([1.0, 2.0]) for _ in range(3)]
    good = df.constant([1.0, 2.0])
    optimizer.apply_gradients([(good, v) for v in variables])
    held = [v.numpy().tobytes() for v in (*variables, *optimizer.variables)]
    with pytest.raises(error, match="its gradient"):
        optimizer.apply_gradients(zip([good, good, bad], variables, strict=True))
    assert [v.numpy().tobytes() for v in (*variables, *optimizer.variables)] == held


@pytest.mark.parametrize("make, _", SETTINGS)
def test_repeated_variable_is_updated_twice(make, _):
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


def rows_of(var):
    return df.IndexedSlices(df.ones([3, *var.shape[1:]], var.dtype), df.constant([1, 0, 1]),
                            var.shape)


@pytest.mark.parametrize("make", MAKE)
def test_sparse_and_dense_gradients_together(make, counts):
    """Variables with sparse gradients are updated one by one, all others together."""
    def run(apply):
        variables = [df.Variable(np.cos(np.arange(6.)).reshape(2, 3), dtype="float32")
                     for _ in range(4)]
        optimizer = make()
        for step in range(3):
            dense = df.constant(np.sin(np.arange(6.) + step).reshape(2, 3), "float32")
            apply(optimizer, [(dense if k % 2 == 0 else rows_of(v), v)
                              for k, v in enumerate(variables)])
        return [v.numpy().tobytes() for v in (*variables, *optimizer.variables)]

    alone = run(as_a_program)
    counts.clear()
    assert run(lambda o, pairs: o.apply_gradients(pairs)) == alone
    assert all(n in (2, 4) for n in counts)     # 4: sums and means, which are dense


@pytest.mark.parametrize("sparse_first", [False, True])
def test_sparse_and_dense_gradients_of_one_variable(sparse_first, counts):
    """The order matters, so they are applied one by one."""
    found = []
    for apply in (lambda o, pairs: o.apply_gradients(pairs), as_a_program):
        v, optimizer = df.Variable([[1.0], [2.0]]), opt.SGD(0.5, momentum=0.5)
        pairs = [(df.constant([[3.0], [1.0]]), v), (rows_of(v), v)]
        apply(optimizer, pairs[::-1] if sparse_first else pairs)
        found.append(v.numpy().tolist())
    assert not counts and found[0] == found[1]


def test_only_sparse_gradients(counts):
    table = df.Variable(df.zeros([3, 2]))
    rows = df.IndexedSlices(df.ones([1, 2]), df.constant([1]), (3, 2))
    opt.SGD(0.5).apply_gradients([(rows, table)])
    assert table.numpy().tolist() == [[0, 0], [-0.5, -0.5], [0, 0]]


# The cost class of each option: "again" is one C call that repeats no checks, "together" one C call
# with checks, "one by one" a call per variable.
WAYS = {
    "plain": ({}, "again"), "weight_decay": ({"weight_decay": 0.1}, "together"),
    "clipnorm": ({"clipnorm": 0.5}, "together"), "clipvalue": ({"clipvalue": 0.5}, "together"),
    "global_clipnorm": ({"global_clipnorm": 0.5}, "together"),
    "use_ema": ({"use_ema": True}, "together"),
    "ema_overwrite_frequency": ({"use_ema": True, "ema_overwrite_frequency": 2}, "together"),
    "loss_scale_factor": ({"loss_scale_factor": 4.0}, "together"),
    "gradient_accumulation_steps": ({"gradient_accumulation_steps": 2}, "together"),
    "a schedule": ({"learning_rate": opt.schedules.ExponentialDecay(0.1, 2, 0.5)}, "together"),
    "a function": ({"learning_rate": lambda: 0.1}, "together"),
}
KINDS = {
    "SGD": opt.SGD, "momentum": lambda **k: opt.SGD(momentum=0.5, **k),
    "nesterov": lambda **k: opt.SGD(momentum=0.5, nesterov=True, **k), "Adam": opt.Adam,
    "amsgrad": lambda **k: opt.Adam(amsgrad=True, **k), "AdamW": opt.AdamW,
    "AdamW amsgrad": lambda **k: opt.AdamW(amsgrad=True, **k), "RMSprop": opt.RMSprop,
    "RMSprop momentum": lambda **k: opt.RMSprop(momentum=0.5, **k),
    "centered": lambda **k: opt.RMSprop(centered=True, **k), "Adagrad": opt.Adagrad,
}


def way_of(optimizer, counts, grads):
    """Return how the second and third updates of the variables run."""
    variables = [df.Variable([[1.0, 2.0]], dtype=g.dtype) for g in grads]
    for _ in range(3 * (optimizer.gradient_accumulation_steps or 1)):
        optimizer.apply_gradients(zip(grads, variables, strict=True))
    assert optimizer.iterations.item() == 3
    return {(): "one by one", (len(grads),): "again"}.get(tuple(counts), "together" if counts == [
        len(grads)] * 3 else counts)


@pytest.mark.parametrize("option", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_cost_class_of_each_option(kind, option, counts):
    options, want = WAYS[option]
    if option == "weight_decay" and KINDS[kind]().decays_itself:
        want = "again"                      # implemented by their op
    grads = [df.constant([[0.5, -1.0]], dtype) for dtype in ("float32", "float64", "float32")]
    assert way_of(KINDS[kind](**options), counts, grads) == want


@pytest.mark.parametrize("kind", KINDS)
def test_cost_class_of_sparse_gradients(kind, counts):
    """Sparse gradients run separately, the other gradients of a step in one call."""
    rows = df.IndexedSlices([[0.5, -1.0]], [0], (1, 2))
    assert way_of(KINDS[kind](), counts, [df.constant([[1.0, 2.0]]), rows]) == [1, 1, 1]


def test_every_optimizer_has_a_cost_class():
    assert {type(make()) for make in KINDS.values()} == {
        x for x in vars(opt).values() if isinstance(x, type) and issubclass(x, opt.Optimizer)
        and x is not opt.Optimizer}


def test_overridden_update_is_called(counts):
    class Halved(opt.SGD):
        def update(self, grad, var, slots, rate):
            super().update(grad * 0.5, var, slots, rate)

    class Renamed(opt.SGD):
        """Inherits the formula of its base."""

    v = df.Variable([1.0])
    Halved(1.0).apply_gradients([(df.constant([1.0]), v)])
    assert v.numpy().tolist() == [0.5] and not counts
    Renamed(0.5).apply_gradients([(df.constant([1.0]), v)])
    assert v.numpy().tolist() == [0.0] and counts == [1]


def test_update_of_all_variables_is_atomic():
    variables, optimizer = [df.Variable(0.0) for _ in range(40)], opt.SGD(1.0)
    grads, over, mixed = [df.constant(-1.0)] * 40, threading.Event(), []

    def look():
        while not over.is_set():
            values = {x.item() for x in snapshot_values(variables)}
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
def test_invalid_rows_raise(rows, error):
    if error is None:
        apply_each("sgd_update", rows, {})
    else:
        with pytest.raises(error):
            apply_each("sgd_update", rows, {})


# --- repeated updates -----------------------------------------------------------------------------


def changes():
    """Yield changes that may happen between two updates."""
    def learning_rate(o, pairs):
        o.learning_rate = 0.25

    def schedule(o, pairs):
        o.learning_rate = opt.schedules.ExponentialDecay(0.1, 2, 0.5)

    def clipnorm(o, pairs):
        o.clipnorm = 0.5

    def decay(o, pairs):
        o.weight_decay = 0.5

    def epsilon(o, pairs):
        o.epsilon = 0.5

    def iterations(o, pairs):
        o.iterations = 7

    def fewer(o, pairs):
        pairs.pop()

    def others(o, pairs):
        pairs[0] = (pairs[0][0], df.Variable(pairs[0][1]))

    def none(o, pairs):
        pairs[0] = (None, pairs[0][1])

    def rows(o, pairs):
        pairs[0] = (df.IndexedSlices([[1.0, 2.0]], [1], (2, 2)), pairs[0][1])

    def a_copy(o, pairs):
        copied = copy.deepcopy((o, [v for _, v in pairs]))
        pairs[:] = [(g, v) for (g, _), v in zip(pairs, copied[1], strict=True)]
        return copied[0]

    return [learning_rate, schedule, clipnorm, decay, epsilon, iterations, fewer, others, none,
            rows, a_copy]


@pytest.mark.parametrize("make", [lambda: opt.Adam(0.1), lambda: opt.SGD(0.1, 0.9),
                                  lambda: opt.RMSprop(0.1)])
@pytest.mark.parametrize("change", changes(), ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore::dualflow.errors.GradientWarning")
def test_changes_between_updates_take_effect(make, change):
    found = []
    for apply in (lambda o, pairs: o.apply_gradients(pairs), as_a_program):
        o = make()
        pairs = [(df.constant([[1.0, 2.0], [k, 3.0]]), df.Variable([[1.0, 2.0], [3.0, 4.0]]))
                 for k in range(3)]
        for k in range(6):
            if k == 3:
                o = change(o, pairs) or o
            apply(o, pairs)
        found.append([v.numpy().tobytes() for v in (*[v for _, v in pairs], *o.variables)])
    assert found[0] == found[1]


def test_user_formulas_are_called_each_time():
    class Mine(opt.SGD):
        calls = 0

        def formula(self):
            Mine.calls += 1
            return super().formula()

    o, v = Mine(0.1), df.Variable([1.0])
    for _ in range(3):
        o.apply_gradients([(df.constant([1.0]), v)])
    assert Mine.calls == 3 and o.iterations.item() == 3


def test_value_read_before_an_update_is_unchanged():
    o, v = opt.SGD(1.0), df.Variable([1.0])
    held = []
    for _ in range(4):
        held.append((v.value(), o.iterations.value()))
        o.apply_gradients([(v.value(), v)])
    assert [(x.item(), n.item()) for x, n in held] == [(1.0, 0), (0.0, 1), (0.0, 2), (0.0, 3)]


V, G, RATE, COUNT = (df.Variable([1.0]), df.constant([1.0]), df.Variable(0.5),
                     df.Variable(0, dtype=df.int64))


@pytest.mark.parametrize("name, rows, rest, count", [
    ("add", [(G, G)], (), COUNT), ("no op", [], (), COUNT), ("assign_add", [(V, G, G)], (), COUNT),
    ("sgd_update", [(V, G, RATE)], (), COUNT), ("sgd_update", [(V, G)], (RATE,), COUNT),
    ("sgd_update", [(V, G, df.Variable(0.5))], (RATE,), COUNT),
    ("sgd_update", [(V, G, 0.5)], (0.5,), COUNT), ("sgd_update", [(G, G, RATE)], (RATE,), COUNT),
    ("sgd_update", [(V, df.constant(1.0), RATE)], (RATE,), COUNT), ("sgd_update", [1], (), COUNT),
    ("sgd_update", [], (RATE,), RATE), ("sgd_update", [], (), df.Variable([0, 0], dtype=df.int64))])
def test_invalid_updates_raise(name, rows, rest, count):
    with pytest.raises((TypeError, ValueError, DTypeError, ShapeError)):
        Updates(name, rows, {}, rest, count)


@pytest.mark.parametrize("pairs", [[], [1], [(1,)], [(1, 2)], [[1, 2]], [(None, None)]])
def test_other_pairs_do_not_match_a_prepared_update(pairs):
    v, rate = df.Variable([1.0]), df.Variable(0.5)
    again = Updates("sgd_update", [(v, df.constant([1.0]), rate)], {}, (rate,),
                    df.Variable(0, dtype=df.int64))
    assert not again.again(pairs) and not again.again([(df.constant([1.0], df.float64), v)])
    assert again.again([(df.constant([1.0]), v)]) and v.numpy().tolist() == [0.5]


# --- random sequences of updates ---

def everything(optimizer, variables):
    return [x.numpy().tobytes() for x in [*variables, *optimizer.variables]]


CHANGES = {
    "learning_rate": [0.5, 0.25, df.optimizers.schedules.ExponentialDecay(0.5, 2, 0.5),
                      lambda: 0.125],
    "iterations": [0, 7], "clipnorm": [None, 0.5], "clipvalue": [None, 0.5],
    "global_clipnorm": [None, 0.5], "loss_scale_factor": [None, 4.0], "weight_decay": [None, 0.25],
    "momentum": [0.5, 0.75], "nesterov": [True, False], "beta_1": [0.5, 0.75],
    "epsilon": [1e-3, 1e-2], "rho": [0.5, 0.75],
}


def changed(optimizer, random):
    """Change one attribute, or none."""
    name = random.choice([*CHANGES, "nothing"])
    value = random.choice(CHANGES.get(name, [None]))
    clips = {"clipnorm", "clipvalue", "global_clipnorm"}
    if hasattr(optimizer, name) and not (name in clips and value is not None and any(
            getattr(optimizer, other) is not None for other in clips - {name})):
        with contextlib.suppress(InvalidArgumentError):     # slots that do not exist
            setattr(optimizer, name, value)


def given(k, variables, random):
    """Return gradients of some kind for some of the variables, in some order."""
    kind = random.choice(["plain"] * 5 + ["few", "turned", "None", "numbers", "rows"])
    pairs = [(df.constant(np.cos(np.arange(v.size) + k).reshape(v.shape), v.dtype), v)
             for v in variables]
    if kind == "few":
        return pairs[1:]
    if kind == "turned":
        return pairs[::-1]
    if kind == "None":
        return [(None, pairs[0][1]), *pairs[1:]]
    if kind == "numbers":
        return [(pairs[0][0].numpy(), pairs[0][1]), *pairs[1:]]
    if kind == "rows":
        return [(df.IndexedSlices(pairs[0][0], df.range(2), variables[0].shape), variables[0]),
                *pairs[1:]]
    return iter(pairs)


@pytest.mark.filterwarnings("ignore::dualflow.errors.GradientWarning")
@pytest.mark.parametrize("make", [
    lambda: df.optimizers.SGD(0.5), lambda: df.optimizers.SGD(0.5, momentum=0.25),
    df.optimizers.Adam, df.optimizers.AdamW, lambda: df.optimizers.Adam(amsgrad=True),
    lambda: df.optimizers.RMSprop(0.5), lambda: df.optimizers.Adagrad(0.5),
    lambda: df.optimizers.SGD(0.5, use_ema=True)])
@pytest.mark.parametrize("seed", range(4))
def test_repeated_updates_match_new_ones(make, seed):
    """Random changes happen between the updates."""
    made = []
    for anew in (False, True):
        random, optimizer = Random(seed), make()
        variables = [df.Variable(np.sin(np.arange(6) + k).reshape(2, 3), dtype=dtype)
                     for k, dtype in enumerate(["float32", "float64", "float32"])]
        seen = []
        for k in range(40):
            changed(optimizer, random)
            if random.random() < 0.05:
                optimizer, variables = copy.deepcopy((optimizer, variables))
            if random.random() < 0.05:
                optimizer, variables = pickle.loads(pickle.dumps((optimizer, variables))) \
                    if not callable(optimizer._rate) else (optimizer, variables)
            if anew:
                optimizer.__dict__["_again"] = None
            optimizer.apply_gradients(given(k, variables, random))
            seen.append(everything(optimizer, variables))
        made.append(seen)
    assert made[0] == made[1]
