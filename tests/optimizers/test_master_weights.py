"""16-bit variables: updates compute in float32 on a master, whose rounding is the variable."""

import copy
import pickle

import numpy as np
import pytest

import dualflow as df
from dualflow._core import apply, set_num_threads
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError
from dualflow.ops.state.optimizer import sgd_update

HALVES = "bfloat16", "float16"
OPTIMIZERS = {
    "sgd": lambda: df.optimizers.SGD(0.1),
    "momentum": lambda: df.optimizers.SGD(0.1, momentum=0.9),
    "nesterov": lambda: df.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    "adam": lambda: df.optimizers.Adam(0.1),
    "amsgrad": lambda: df.optimizers.Adam(0.1, amsgrad=True),
    "adamw": lambda: df.optimizers.AdamW(0.1, weight_decay=0.1),
    "rmsprop": lambda: df.optimizers.RMSprop(0.1),
    "rmsprop with momentum": lambda: df.optimizers.RMSprop(0.1, momentum=0.5),
    "centered": lambda: df.optimizers.RMSprop(0.1, centered=True, momentum=0.5),
    "adagrad": lambda: df.optimizers.Adagrad(0.1),
    "decay": lambda: df.optimizers.SGD(0.1, weight_decay=0.1),
    "clipvalue": lambda: df.optimizers.SGD(0.1, clipvalue=0.5),
    "clipnorm": lambda: df.optimizers.Adam(0.1, clipnorm=0.5),
    "global_clipnorm": lambda: df.optimizers.SGD(0.1, global_clipnorm=0.5),
    "scaled": lambda: df.optimizers.SGD(0.1, loss_scale_factor=8.),
    "accumulated": lambda: df.optimizers.Adam(0.1, gradient_accumulation_steps=2),
    "averaged": lambda: df.optimizers.SGD(0.1, use_ema=True, ema_momentum=0.5),
    "overwritten": lambda: df.optimizers.SGD(0.1, use_ema=True, ema_overwrite_frequency=2),
    "schedule": lambda: df.optimizers.SGD(df.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)),
}
SHAPES = [(7, 3), (), (1300,)]


def bits(x):
    return np.asarray(x.numpy()).view(f"u{x.dtype.itemsize}")


def same_bits(found, want):
    for a, b in zip(found, want, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(bits(a), bits(b))


def trained(make, dtype, of_masters, wrap=lambda f: f, steps=4, shapes=SHAPES):
    """Return the variables and the optimizer after some steps with 16-bit gradients. `of_masters`:
    whether the variables are float32 and the gradients are converted first."""
    rng = np.random.default_rng(7)
    starts = [df.constant(rng.normal(size=shape), dtype) for shape in shapes]
    variables = [df.Variable(df.cast(x, df.float32) if of_masters else x) for x in starts]
    optimizer = make()

    @wrap
    def step(grads):
        optimizer.apply_gradients(zip(grads, variables, strict=True))

    for _ in range(steps):
        grads = [df.constant(rng.normal(size=shape), dtype) for shape in shapes]
        step([df.cast(g, df.float32) if of_masters else g for g in grads])
    return variables, optimizer


def slots_of(optimizer, variables, without=()):
    return [x for v in variables for name, x in optimizer.slots[v].items() if name not in without]


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("wrap", [lambda f: f, df.function], ids=["eager", "traced"])
def test_updates_have_the_bits_of_float32_updates_of_the_master(name, dtype, wrap):
    want, their = trained(OPTIMIZERS[name], dtype, True)
    variables, optimizer = trained(OPTIMIZERS[name], dtype, False, wrap)
    masters = [optimizer.slots[v]["master"] for v in variables]
    same_bits(masters, want)
    same_bits(slots_of(optimizer, variables, ["master"]), slots_of(their, want))
    same_bits(variables, [df.cast(x, dtype) for x in masters])


def test_repeated_updates_are_one_call():
    for dtype in ("float32", "bfloat16"):
        _, optimizer = trained(OPTIMIZERS["sgd"], dtype, False)
        assert optimizer._again is not None


def test_variables_of_several_dtypes_train_together():
    def train(dtypes):
        rng = np.random.default_rng(3)
        starts = [df.constant(rng.normal(size=5), "bfloat16") for _ in dtypes]
        variables = [df.Variable(df.cast(x, dtype)) for x, dtype in zip(starts, dtypes,
                                                                       strict=True)]
        optimizer = df.optimizers.Adam(0.1)
        for _ in range(3):
            grads = [df.cast(df.constant(rng.normal(size=5), "bfloat16"), v.dtype)
                     for v in variables]
            optimizer.apply_gradients(zip(grads, variables, strict=True))
        return [optimizer.slots[v].get("master", v) for v in variables]

    found, want = train(["bfloat16", "float32", "bfloat16"]), train(["float32"] * 3)
    same_bits(found, want)


@pytest.mark.parametrize("name", ["sgd", "adam", "adagrad", "clipvalue", "decay"])
def test_rows(name):
    rng, shape = np.random.default_rng(5), (11, 600)
    start = df.constant(rng.normal(size=shape), "bfloat16")
    steps = [(df.constant(rng.integers(0, 11, n)), df.constant(rng.normal(size=(n, 600)),
                                                               "bfloat16")) for n in (4, 17)]
    found = []
    for dtype in ("bfloat16", "float32"):
        v, optimizer = df.Variable(df.cast(start, dtype)), OPTIMIZERS[name]()
        for ids, rows in steps:
            optimizer.apply_gradients([(df.IndexedSlices(df.cast(rows, dtype), ids, shape), v)])
        found.append([optimizer.slots[v].pop("master", v), *slots_of(optimizer, [v], ["master"])])
        same_bits([v], [df.cast(found[-1][0], dtype)])
    same_bits(*found)


@pytest.mark.parametrize("dtype", HALVES)
def test_bits_are_independent_of_the_thread_count(dtype):
    found = []
    for n in (1, 2, 3, 8):
        set_num_threads(n)
        variables, optimizer = trained(OPTIMIZERS["adam"], dtype, False, steps=2,
                                       shapes=[(300, 333)])
        found.append([*variables, *slots_of(optimizer, variables)])
    set_num_threads(2)
    for got in found[1:]:
        same_bits(got, found[0])


@pytest.mark.parametrize("name", ["sgd", "decay"])
def test_assigned_elements_replace_those_of_the_master(name):
    v, optimizer = df.Variable([1., 2., 3.], dtype="bfloat16"), OPTIMIZERS[name]()
    gradient = df.constant([1e-4, 1e-4, 1e-4], "bfloat16")
    optimizer.apply_gradients([(gradient, v)])
    before = optimizer.slots[v]["master"].numpy().copy()
    v.assign(df.constant([v.numpy()[0], 5., float("nan")], "bfloat16"))
    optimizer.apply_gradients([(df.zeros(3, "bfloat16"), v)])
    after = optimizer.slots[v]["master"].numpy()
    if name == "sgd":
        assert after[0] == before[0] != 1. and after[1] == 5.
    else:
        assert 0 < abs(after[0] - before[0]) < 0.02 and 2. < after[1] < 5.
    assert np.isnan(after[2])


def test_finalized_values():
    v, optimizer = df.Variable([0.], dtype="bfloat16"), df.optimizers.SGD(
        1., use_ema=True, ema_momentum=0.5)
    for _ in range(2):
        optimizer.apply_gradients([(df.constant([-4.], "bfloat16"), v)])
    optimizer.finalize_variable_values([v])
    assert v.numpy().item() == 6. == optimizer.slots[v]["master"].numpy().item()


def test_overridden_updates_get_the_master():
    class Own(df.optimizers.Optimizer):
        slot_names = ("sum",)

        def update(self, grad, var, slots, rate):
            assert grad.dtype == var.dtype == slots[0].dtype == df.float32
            slots[0].assign_add(grad)
            var.assign_sub(slots[0] * df.cast(rate, df.float32))

    found = []
    for dtype in ("bfloat16", "float32"):
        v, optimizer = df.Variable([1., 2.], dtype=dtype), Own(1e-3)
        for _ in range(5):
            optimizer.apply_gradients([(df.constant([1., -1.], dtype), v)])
        found.append(optimizer.slots[v].get("master", v))
    same_bits(found[:1], found[1:])


def test_a_network_reaches_the_loss_of_float32():
    """Steps below half a unit in the last place vanish if the weights have only 8 bits."""
    rng = np.random.default_rng(0)
    x = df.constant(rng.normal(size=(256, 8)), df.float32)
    y = df.constant(np.tanh(x.numpy() @ rng.normal(size=(8, 1)) / 4), df.float32)
    starts = [rng.normal(size=shape) / np.sqrt(shape[0]) for shape in [(8, 32), (32, 1)]]

    def loss_after(dtype, with_master=True):
        a, b = (df.Variable(df.cast(df.constant(w, "bfloat16"), dtype)) for w in starts)
        optimizer = df.optimizers.SGD(0.01)

        @df.function
        def step():
            with df.GradientTape() as tape:
                hidden = df.tanh(df.cast(x, dtype) @ a)
                loss = df.reduce_mean(df.square(df.cast(hidden @ b, df.float32) - y))
            grads = tape.gradient(loss, [a, b])
            if with_master:
                optimizer.apply_gradients(zip(grads, [a, b], strict=True))
            else:
                for g, v in zip(grads, [a, b], strict=True):
                    sgd_update(v, g, 0.01)
            return loss

        for _ in range(600):
            loss = step()
        return loss.numpy().item()

    full, master = loss_after("float32"), loss_after("bfloat16")
    assert abs(master - full) < 0.05 * full
    assert loss_after("bfloat16", False) > 1.3 * full


def test_checkpoints_restore_masters(tmp_path):
    def fresh():
        return df.Variable([1., 2.], dtype="bfloat16"), df.optimizers.Adam(1e-3)

    def step(v, optimizer, n):
        for k in range(n):
            optimizer.apply_gradients([(df.constant([0.5, -1. + k], "bfloat16"), v)])

    v, optimizer = fresh()
    step(v, optimizer, 3)
    path = df.train.Checkpoint(v=v, optimizer=optimizer).save(str(tmp_path / "c"))
    step(v, optimizer, 2)
    for built in (False, True):
        again, other = fresh()
        if built:
            other.build([again])
        status = df.train.Checkpoint(v=again, optimizer=other).restore(path)
        status.assert_existing_objects_matched()
        step(again, other, 2)
        same_bits([again, *slots_of(other, [again])], [v, *slots_of(optimizer, [v])])


@pytest.mark.parametrize("how", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_continue_identically(how):
    variables, optimizer = trained(OPTIMIZERS["adam"], "bfloat16", False)
    theirs, other = how((variables, optimizer))
    for vs, opt in ((variables, optimizer), (theirs, other)):
        opt.apply_gradients([(df.ones_like(v), v) for v in vs])
    same_bits(slots_of(other, theirs), slots_of(optimizer, variables))


@pytest.mark.parametrize(("inputs", "error", "words"), [
    (("float32", "float32", "float32"), DTypeError, "float32.*float16 or bfloat16"),
    (("bfloat16", "bfloat16", "bfloat16"), DTypeError, "its master is bfloat16.*float32"),
    (("bfloat16", "float32", "float16"), DTypeError, "its gradient is float16"),
    (("bfloat16", "float32", "int32"), DTypeError, "int32"),
])
def test_bad_dtypes(inputs, error, words):
    var, master, grad = (df.ones(3, dtype) for dtype in inputs)
    with pytest.raises(error, match=f"sgd_update_mixed.*{words}"):
        apply("sgd_update_mixed", df.Variable(var), df.Variable(master), grad, df.constant(1.))


def test_a_master_of_another_shape_is_refused():
    with pytest.raises(ShapeError, match=r"sgd_update_mixed.*master is float32 \(3,\)"):
        apply("sgd_update_mixed", df.Variable(df.ones(2, "float16")), df.Variable(df.ones(3)),
              df.ones(2, "float16"), df.constant(1.))


@pytest.mark.parametrize("dtype", HALVES)
def test_16_bit_gradients_of_float32_variables(dtype):
    rng = np.random.default_rng(1)
    g, start = df.constant(rng.normal(size=70_001), dtype), rng.normal(size=70_001)
    found = []
    for grad in (g, df.cast(g, df.float32)):
        v, m = df.Variable(start, dtype="float32"), df.Variable(df.zeros(70_001))
        apply("momentum_update", v, m, grad, df.constant(0.1), momentum=0.9, nesterov=True)
        found.append([v, m])
    same_bits(*found)


class Holder(df.Module):
    """An optimizer as a checkpoint of an earlier version contains it: slots have 16 bits."""

    def __init__(self, optimizer, v):
        super().__init__()
        self.iterations, self.learning_rate = optimizer.iterations, optimizer.learning_rate
        self.slots = {name: {"v": df.Variable(df.cast(slot, v.dtype))}
                      for name, slot in optimizer.slots[v].items() if name != "master"}


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("built", [False, True])
def test_slots_of_16_bits_are_widened(tmp_path, half, built):
    def step(v, optimizer):
        optimizer.apply_gradients([(df.constant([0.3, -7.], half), v)])

    v, optimizer = df.Variable([1., 2.], dtype=half, name="v"), df.optimizers.Adam(0.1)
    step(v, optimizer)
    holder = Holder(optimizer, v)
    path = df.train.Checkpoint(v=v, optimizer=holder).save(str(tmp_path / "c"))
    assert dict(df.train.list_variables(path)).keys() >= {"optimizer/slots/m/v", "v"}
    again, other = df.Variable([5., 6.], dtype=half, name="v"), df.optimizers.Adam(0.1)
    if built:
        step(again, other)
    status = df.train.Checkpoint(v=again, optimizer=other).restore(path)
    other.build([again])
    assert status.unmatched == []
    slots = other.slots[again]
    for name, held in holder.slots.items():
        assert slots[name].dtype == "float32"
        assert slots[name].tolist() == df.cast(held["v"], "float32").tolist()
    assert slots["master"].tolist() == df.cast(v, "float32").tolist()
    assert again.tolist() == v.tolist()
    step(again, other)
    assert again.tolist() != v.tolist() and np.isfinite(slots["master"].numpy()).all()


def test_a_variable_of_another_dtype_is_refused(tmp_path):
    """Only slots are converted: a file of a 16-bit variable does not fit a float32 variable."""
    v, optimizer = df.Variable([1., 2.], dtype="bfloat16", name="v"), df.optimizers.Adam(0.1)
    optimizer.apply_gradients([(df.ones([2], "bfloat16"), v)])
    path = df.train.Checkpoint(v=v, optimizer=optimizer).save(str(tmp_path / "c"))
    wide = df.Variable([3., 4.], name="v")
    with pytest.raises(InvalidArgumentError, match=r"v is bfloat16 .* in the checkpoint, float32"):
        df.train.Checkpoint(v=wide, optimizer=df.optimizers.Adam(0.1)).restore(path)
    assert wide.tolist() == [3., 4.]
