"""Updates by IndexedSlices are bit-identical to updates by the equal dense gradients."""

import numpy as np
import pytest

import dualflow as df
from dualflow._core import set_num_threads
from dualflow.errors import DTypeError, OutOfRangeError, ShapeError
from dualflow.ops.state.optimizer import sgd_update

OPTIMIZERS = {
    "sgd": lambda: df.optimizers.SGD(0.1),
    "momentum": lambda: df.optimizers.SGD(0.1, momentum=0.9),
    "nesterov": lambda: df.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    "adam": lambda: df.optimizers.Adam(0.1),
    "adamw": lambda: df.optimizers.AdamW(0.1, weight_decay=0.1),
    "rmsprop": lambda: df.optimizers.RMSprop(0.1),
    "rmsprop with momentum": lambda: df.optimizers.RMSprop(0.1, momentum=0.5),
    "centered": lambda: df.optimizers.RMSprop(0.1, centered=True, momentum=0.5),
    "adagrad": lambda: df.optimizers.Adagrad(0.1),
    "clipvalue": lambda: df.optimizers.SGD(0.1, clipvalue=0.5),
}


def batches(shape, counts, seed=0):
    """Yield the indices, most of them repeated, and the rows of one step per count."""
    rng = np.random.default_rng(seed)
    for n in counts:
        yield (df.constant(rng.integers(-shape[0], shape[0], n)),
               rng.normal(size=(n, *shape[1:])))


def trained(make, shape, dtype, counts, by_rows, wrap=lambda f: f):
    """Return a variable and the optimizer's state after one step per count. `by_rows`: whether the
    gradients are IndexedSlices, or converted to dense tensors."""
    rng = np.random.default_rng(7)
    v = df.Variable(rng.normal(size=shape), dtype=dtype)
    v.assign(df.where(df.constant(rng.random(shape) < 0.2), df.constant(-0., dtype), v))
    optimizer = make()

    @wrap
    def step(values, ids):
        g = df.IndexedSlices(values, ids, shape)
        optimizer.apply_gradients([(g if by_rows else df.convert_to_tensor(g), v)])

    for ids, values in batches(shape, counts):
        step(df.constant(values, dtype), ids)
    return [v.numpy(), *[s.numpy() for s in optimizer.variables]]


def check(found, want):
    for a, b in zip(found, want, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(np.signbit(a), np.signbit(b))


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("wrap", [lambda f: f, df.function], ids=["eager", "traced"])
def test_same_bits_as_dense(name, dtype, wrap):
    if dtype == "float16" and name not in ("sgd", "adam"):
        return
    for shape, counts in [((7, 3), (5, 9, 0)), ((11,), (6, 1, 30)), ((5, 2, 700), (3, 8, 3)),
                         ((3, 0), (2, 2, 2))]:
        want = trained(OPTIMIZERS[name], shape, dtype, counts, False)
        found = trained(OPTIMIZERS[name], shape, dtype, counts, True, wrap)
        if dtype == "float16":      # IndexedSlices round the sums once less
            np.testing.assert_allclose(found[0], want[0], rtol=2e-2, atol=2e-2)
        else:
            check(found, want)


@pytest.mark.parametrize("name", ["sgd", "momentum", "adam", "centered", "adagrad"])
def test_bits_are_independent_of_the_thread_count(name):
    found = []
    for n in (1, 2, 3, 8):
        set_num_threads(n)
        found.append(trained(OPTIMIZERS[name], (3000, 33), "float32", (4000, 100, 9000), True))
    set_num_threads(2)
    for got in found[1:]:
        check(got, found[0])
    check(found[0], trained(OPTIMIZERS[name], (3000, 33), "float32", (4000, 100, 9000), False))


@pytest.mark.parametrize("name", ["adam", "sgd"])
def test_clipping_uses_the_norm_of_the_dense_gradient(name):
    for option in ("clipnorm", "global_clipnorm"):
        make = {"adam": df.optimizers.Adam, "sgd": df.optimizers.SGD}[name]
        both = [trained(lambda make=make, option=option: make(0.1, **{option: 0.3}), (7, 3),
                        "float64", (5, 9, 30), by_rows) for by_rows in (False, True)]
        np.testing.assert_allclose(both[1][0], both[0][0], rtol=1e-12)


def test_training_a_model_with_a_table():
    """Tape, table, dense layer and Adam: traced and eager modes agree."""
    rng = np.random.default_rng(1)
    start = rng.normal(size=(50, 8)).astype("float32"), rng.normal(size=(8, 2)).astype("float32")
    ids = df.constant(rng.integers(0, 50, (4, 6)))
    found = []
    for wrap in (lambda f: f, df.function):
        table, w = map(df.Variable, start)
        optimizer = df.optimizers.Adam(0.01)

        @wrap
        def step(table=table, w=w, optimizer=optimizer):
            with df.GradientTape() as tape:
                y = df.matmul(df.reduce_sum(df.nn.embedding_lookup(table, ids), axis=1), w)
                loss = df.reduce_sum(df.square(y))
            optimizer.apply_gradients(
                zip(tape.gradient(loss, [table, w]), [table, w], strict=True))
            return loss

        losses = [step().numpy() for _ in range(4)]
        assert losses[-1] < losses[0]
        found.append([*losses, table.numpy(), w.numpy()])
    check(*found)


def test_invalid_rows_raise():
    v = df.Variable(df.zeros([4, 2]))
    ids = df.constant([0, 1])
    with pytest.raises(OutOfRangeError, match=r"sgd_update_rows: indices\[1\] is 4, expected -4 <= "
                       r"index < 4 \(axis 0 of the variable with shape \(4, 2\)\)"):
        sgd_update(v, df.IndexedSlices(df.ones([2, 2]), df.constant([0, 4])), 1.)
    np.testing.assert_array_equal(v, np.zeros((4, 2)))      # unchanged
    with pytest.raises(ShapeError, match=r"rows of its gradient are float32 \(2, 3\)"):
        sgd_update(v, df.IndexedSlices(df.ones([2, 3]), ids), 1.)
    with pytest.raises(ShapeError, match=r"shape \(5, 2\).*shape \(4, 2\)"):
        sgd_update(v, df.IndexedSlices(df.ones([2, 2]), ids, [5, 2]), 1.)
    with pytest.raises(DTypeError, match="float64"):
        sgd_update(v, df.IndexedSlices(df.ones([2, 2], "float64"), ids), 1.)
    with pytest.raises(DTypeError, match="int32 or int64"):
        sgd_update(v, df.IndexedSlices(df.ones([2, 2]), df.constant([0., 1.])), 1.)


@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize("name", sorted(OPTIMIZERS.keys() - {"sgd", "adagrad", "clipvalue"}))
def test_state_does_not_end_below_the_normal_range(name, by_rows):
    """Each step would be slow if it did."""
    v, optimizer = df.Variable(df.ones([3, 2])), OPTIMIZERS[name]()
    zeros = df.IndexedSlices(df.zeros([2, 2]), df.constant([0, 2]), [3, 2])
    gradient = zeros if by_rows else df.convert_to_tensor(zeros)
    optimizer.apply_gradients([(gradient, v)])
    slots = [s for s in optimizer.variables if s.shape == v.shape]
    for s in slots:
        s.assign(df.fill(s.shape, 1e-37))
    for _ in range(100):
        optimizer.apply_gradients([(gradient, v)])
    least = np.finfo("f4").tiny
    assert slots and not any([((s.numpy() > 0) & (s.numpy() < least)).any() for s in slots])
