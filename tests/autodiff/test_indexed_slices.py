"""Gradients of tables as IndexedSlices: when they stay sparse or become dense, and equal bits."""

import itertools

import numpy as np
import pytest

import dualflow as df
from dualflow._core import memory_stats, reset_peak_memory, set_num_threads
from dualflow.errors import InvalidArgumentError, OutOfRangeError, ShapeError

RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(6, 3)).astype("float32")
WEIGHTS = df.constant(RNG.normal(size=(6, 3)).astype("float32"))
FEW, MORE = df.constant([[2, 0], [2, -1]]), df.constant([1, 2, 2], "int64")


def rows(t, ids=FEW):
    return df.reduce_sum(df.sin(df.nn.embedding_lookup(t, ids)) * 1.7)


def dense(t):
    return df.reduce_sum(t * WEIGHTS)


def gradient(loss, t):
    with df.GradientTape() as tape:
        tape.watch(t)
        y = loss(t)
    return tape.gradient(y, t)


@pytest.mark.parametrize("source", [df.Variable, df.constant])
def test_gradient_of_gather_is_sparse(source):
    t = source(TABLE)
    g = gradient(rows, t)
    assert isinstance(g, df.IndexedSlices)
    assert g.indices.numpy().tolist() == [2, 0, 2, -1]
    assert g.values.shape == (4, 3) and g.dense_shape == g.shape == (6, 3)
    assert g.dtype is df.float32 and g.ndim == 2
    want = np.zeros((6, 3), "float32")
    np.add.at(want, [2, 0, 2, 5], np.cos(TABLE[[2, 0, 2, 5]]) * np.float32(1.7))
    np.testing.assert_allclose(df.convert_to_tensor(g), want, rtol=1e-6)
    np.testing.assert_array_equal(g.numpy(), np.asarray(g))


def test_sparse_sums_are_concatenated_in_order_of_accumulation():
    g = gradient(lambda t: rows(t, FEW) + rows(t, MORE), df.Variable(TABLE))
    assert g.indices.numpy().tolist() == [1, 2, 2, 2, 0, 2, -1]
    assert g.indices.dtype is df.int64 and g.values.shape == (7, 3)


@pytest.mark.parametrize("loss", [
    lambda t: rows(t) + dense(t), lambda t: dense(t) + rows(t), lambda t: rows(t * 2.),
    lambda t: df.reduce_sum(df.gather(t, [0, 0], axis=1)),
], ids=["after", "before", "computed", "axis"])
def test_uses_that_make_the_gradient_dense(loss):
    assert isinstance(gradient(loss, df.Variable(TABLE)), df.Tensor)


def test_gradients_of_reduced_precision_are_dense():
    g = gradient(rows, df.Variable(TABLE.astype("float16"), dtype="float16"))
    assert isinstance(g, df.Tensor) and g.dtype is df.float16


PIECES = {"rows": rows, "more": lambda t: rows(t, MORE), "dense": dense,
          "both": lambda t: rows(t) + dense(t) + rows(t, MORE)}


@pytest.mark.parametrize("names", [
    *itertools.product(PIECES, repeat=2), ("rows", "more", "dense"), ("rows", "dense", "more"),
    ("dense", "rows", "more"), ("more", "both", "rows")], ids="-".join)
def test_bits_are_independent_of_tracing(names):
    found = []
    for traced in [(), (0,), (1,), (0, 1, 2)]:
        pieces = [df.function(PIECES[n]) if k in traced else PIECES[n]
                  for k, n in enumerate(names)]
        t = df.Variable(TABLE)

        def run(pieces=pieces, t=t):
            return gradient(lambda x: sum([p(x) for p in pieces], 0.), t)

        found += [run(), df.function(run)()]
    assert len({type(g) for g in found}) == 1
    for g in found[1:]:
        np.testing.assert_array_equal(np.asarray(g), np.asarray(found[0]))


def test_empty_indices():
    t = df.Variable(TABLE)
    ids = df.constant(np.zeros((0, 2), "int32"))
    for f in (lambda: gradient(lambda x: rows(x, ids), t),
              df.function(lambda: gradient(lambda x: rows(x, ids), t))):
        g = f()
        assert g.values.shape == (0, 3) and g.indices.shape == (0,)
        assert not g.numpy().any()
        before = t.numpy().copy()
        df.optimizers.SGD(1.).apply_gradients([(g, t)])
        np.testing.assert_array_equal(t, before)


@pytest.mark.parametrize("wrap", [lambda f: f, df.function], ids=["eager", "traced"])
def test_second_order(wrap):
    t = df.Variable(TABLE)

    def second():
        with df.GradientTape() as outer:
            g = gradient(rows, t)
            z = df.reduce_sum(df.convert_to_tensor(g) ** 2)
        return outer.gradient(z, t)

    def of_the_rows():
        with df.GradientTape() as outer:
            g = gradient(rows, t)
        return outer.gradient(g, t)

    def reference(f):
        x = df.constant(TABLE, "float64")
        pick = df.one_hot([[2, 0], [2, 5]], 6, dtype="float64")
        first = df.grad(lambda x: df.reduce_sum(
            df.sin(df.tensordot(pick, x, axes=1)) * 1.7))
        return df.grad(lambda x: df.reduce_sum(f(first(x))))(x)

    np.testing.assert_allclose(np.asarray(wrap(second)()), reference(df.square), rtol=1e-5)
    np.testing.assert_allclose(np.asarray(wrap(of_the_rows)()), reference(lambda g: g), rtol=1e-5)


def test_functional_transforms_return_tensors():
    assert isinstance(df.grad(rows)(TABLE), df.Tensor)
    assert df.autodiff.hessian(rows)(TABLE).shape == (6, 3, 6, 3)
    t = df.Variable(TABLE)
    with df.GradientTape() as tape:
        y = df.gather(t, [1, 1])
    jacobian = tape.jacobian(y, t).numpy()
    assert jacobian.sum() == 6 and jacobian[1, 2, 1, 2] == 1


def test_custom_rules_get_dense_cotangents():
    seen = []

    @df.custom_gradient
    def same(x):
        def back(g):
            seen.append(type(g))
            return g
        return x * 1., back

    g = gradient(lambda t: rows(same(t)), df.Variable(TABLE))
    assert seen == [df.Tensor] and isinstance(g, df.Tensor)


def test_through_functions():
    t = df.Variable(TABLE)
    g = df.function(lambda: gradient(rows, t))()
    assert isinstance(g, df.IndexedSlices) and g.dense_shape == (6, 3)
    doubled = df.function(lambda g: g * 2.)(g)
    assert isinstance(doubled, df.IndexedSlices)
    np.testing.assert_array_equal(doubled.numpy(), g.numpy() * 2)
    np.testing.assert_array_equal(df.function(lambda g: df.exp(g))(g), df.exp(g.numpy()))
    assert [np.shape(x) for x in df.nest.flatten(g)] == [(4, 3), (4,), (), ()]
    with df.Graph().as_default() as graph:
        x = df.Variable(TABLE)
        found, = df.gradients(rows(x), x)
    assert isinstance(found, df.IndexedSlices) and found.values.graph is graph


def test_arithmetic():
    g = df.IndexedSlices(df.constant([[1., 2.], [3., 4.]]), df.constant([1, 1]), [3, 2])
    full = np.array([[0, 0], [4, 6], [0, 0]], "float32")
    for made, want in [(-g, -full), (g * 2, full * 2), (2. * g, full * 2), (g / 4., full / 4),
                       (g * df.constant(2.), full * 2), (g + g, full * 2), (g - g, full * 0)]:
        assert isinstance(made, df.IndexedSlices)
        np.testing.assert_array_equal(made.numpy(), want)
    x = np.arange(6, dtype="float32").reshape(3, 2)
    for made, want in [(g + x, full + x), (x + g, full + x), (df.constant(x) - g, x - full),
                       (g - df.Variable(x), full - x), (g * df.constant(x), full * x)]:
        assert isinstance(made, df.Tensor)
        np.testing.assert_array_equal(made, want)
    assert "dense_shape=(3, 2)" in repr(g)
    with pytest.raises(ShapeError, match=r"dense shapes \(3, 2\) and \(4, 2\)"):
        g + df.IndexedSlices(g.values, g.indices, [4, 2])
    with pytest.raises(InvalidArgumentError, match="dense_shape"):
        df.convert_to_tensor(df.IndexedSlices(g.values, g.indices))


def test_clipping_sums_rows_of_equal_index_first():
    g = df.IndexedSlices(df.constant([[3., 0.], [5., 0.], [0., 4.]]), df.constant([1, 0, -2]),
                         [3, 2])
    full = g.numpy()
    assert np.linalg.norm(full) == np.float32(np.sqrt(50))
    clipped = df.clip_by_norm(g, 1.)
    assert isinstance(clipped, df.IndexedSlices)
    np.testing.assert_allclose(clipped.numpy(), full / np.sqrt(50), rtol=1e-6)
    (a, none, b), norm = df.clip_by_global_norm([g, None, df.constant([5., 5.])], 1.)
    assert norm.numpy() == 10 and none is None and isinstance(a, df.IndexedSlices)
    np.testing.assert_allclose(a.numpy(), full / 10, rtol=1e-6)
    np.testing.assert_allclose(b, [0.5, 0.5], rtol=1e-6)
    assert df.linalg.global_norm([g]).numpy() == np.float32(np.sqrt(50))


def test_index_out_of_range_names_op_and_shapes():
    g = df.IndexedSlices(df.zeros([2, 2]), df.constant([0, 7]), [3, 2])
    with pytest.raises(OutOfRangeError, match=r"gather_grad: indices\[1\] is 7.*\(3, 2\)"):
        df.convert_to_tensor(g)
    with pytest.raises(OutOfRangeError, match=r"merge_rows: indices\[1\] is 7"):
        df.clip_by_norm(g, 1.)
    with pytest.raises(OutOfRangeError, match=r"gather: indices\[0\] is 3.*\(3, 2\)"):
        df.nn.embedding_lookup(df.zeros([3, 2]), [3])


@pytest.mark.usefixtures("no_garbage")
@pytest.mark.parametrize("wrap", [lambda f: f, df.function], ids=["eager", "traced"])
def test_training_step_allocates_nothing_of_table_size(wrap):
    t = df.Variable(df.zeros([100_000, 16]))
    optimizer = df.optimizers.SGD(0.1)
    ids = df.constant([1, 5, 1, 99_999])

    @wrap
    def step():
        optimizer.apply_gradients([(gradient(lambda x: rows(x, ids) * 2., t), t)])

    step()
    reset_peak_memory()
    before = memory_stats()["live"]
    step()
    assert memory_stats()["peak"] - before < 100_000 * 16


def test_bits_are_independent_of_the_thread_count():
    t = df.constant(RNG.normal(size=(500, 40)).astype("float32"))
    ids = df.constant(RNG.integers(-500, 500, 9000))
    found = []
    for n in (1, 2, 3, 8):
        set_num_threads(n)
        g = gradient(lambda x: rows(x, ids), t)
        found.append((g.numpy(), df.clip_by_norm(g, 1.).numpy()))
    set_num_threads(2)
    for got in found[1:]:
        for a, b in zip(got, found[0], strict=True):
            np.testing.assert_array_equal(a, b)


def test_output_gradients_of_sparse_targets():
    """The output gradient of the dense gradient is gathered for each row of values."""
    x = df.constant([[1., 2.], [3., 4.], [5., 6.]])
    with df.GradientTape() as tape:
        tape.watch(x)
        with df.GradientTape() as inner:
            inner.watch(x)
            y = df.reduce_sum(df.gather(x, [2, 0, 2]) ** 3.)
        g = inner.gradient(y, x)
    assert isinstance(g, df.IndexedSlices)
    weights = df.constant([[1., 2.], [3., 4.], [5., 6.]])
    found = tape.gradient({"g": g, "none": [x]}, x, output_gradients={"g": weights, "none": [None]})
    want = weights * 6. * x * [[1.], [0.], [2.]] + 1.
    assert df.convert_to_tensor(found).tolist() == want.tolist()
