"""Nodes that depend only on unwritten variables and constants run only after these have changed."""

import gc
import threading
import weakref

import numpy as np
import pytest

import dualflow as df
from dualflow.graph.passes import cache_invariants
from tests.graph.build import text

X = df.constant(np.random.default_rng(1).normal(size=(3, 4)).astype("float32"))


@pytest.fixture(autouse=True)
def any_size(monkeypatch):
    monkeypatch.setattr(cache_invariants, "LEAST_BYTES", 0)


def variable(*shape, seed=0):
    return df.Variable(np.random.default_rng(seed).normal(size=shape).astype("float32"))


def cached(f, *args):
    """Return the ops whose results a traced function caches for these arguments."""
    graph = f.graph_for(*args).cached
    return [] if graph is None else [x.node.op.name for x in graph.outputs]


def same(f, python, *args):
    assert f(*args).numpy().tobytes() == python(*args).numpy().tobytes()


def test_cached_results_follow_every_write():
    v, w, flag = variable(4, 5), variable(5), df.Variable(0)

    def python(x):
        return df.cast(df.cast(x, "bfloat16") @ df.cast(v, "bfloat16"), "float32") * df.exp(w)

    f = df.function(python)

    @df.function
    def train(x):
        v.assign_sub(df.matmul(x, df.ones([3, 5]), transpose_a=True))
        w.assign(w * 0.5)
        flag.assign_add(1)

    optimizer = df.optimizers.SGD(0.5)
    for change in [lambda: None, lambda: v.assign_add(df.ones([4, 5])), lambda: w.assign(-w),
                   lambda: train(X), lambda: optimizer.apply_gradients([(df.ones([5]), w)]),
                   lambda: v.assign(v), lambda: None]:
        change()
        same(f, python, X)
        same(f, python, X)
    assert cached(f, X) == ["pack_matrix", "exp"]


def test_cached_results_are_computed_only_after_changes():
    v, w = variable(10, 5), variable(7)
    f = df.function(lambda x: x[0, 0] * df.exp(v) + df.reduce_sum(w * x[0, 0]))
    runs = []
    for change in [lambda: None, lambda: None, lambda: w.assign_add(df.ones([7])),
                   lambda: v.assign_add(df.ones([10, 5])), lambda: None]:
        change()
        f(X)
        runs.append(f.compiled_for(X).executable.cached.runs)
    assert runs == [1, 1, 1, 2, 2]


def test_results_that_are_not_cached():
    v, w = variable(4, 5), variable(4, 5)

    @df.function
    def writes(x):
        w.assign_add(df.ones([4, 5]))
        return x @ df.exp(w)

    for f, want in [(writes, []),
                    (df.function(lambda x: x @ df.reshape(v, [4, 5])), []),    # view
                    (df.function(lambda x: (x, df.exp(v))), []),               # result
                    (df.function(lambda x: x[0, 0] + df.gather(v, [3, 0])), []),    # may raise
                    (df.function(lambda x: x[0, 0] + df.tile(v, [1, 9])), []),      # larger result
                    (df.function(lambda x: x @ df.reverse(df.exp(v), [0])), ["strided_slice"]),
                    (df.function(lambda x: x @ df.exp(v), passes=False), [])]:
        assert cached(f, X) == want
    before = w.numpy().copy()
    np.testing.assert_array_equal(writes(X).numpy(), (X @ df.exp(df.constant(before + 1))).numpy())


def test_constants():
    big = df.constant(np.random.default_rng(2).normal(size=(4, 20000)).astype("float32"))
    f = df.function(lambda x: x[0, 0] * df.exp(big))
    assert cached(f, X) == ["exp"]
    for _ in range(2):
        same(f, lambda x: x[0, 0] * df.exp(big), X)


def test_gradients_and_numerics_checks():
    v = variable(4, 5)
    python = lambda x: df.tanh(x @ df.exp(v))  # noqa: E731
    f = df.function(python)

    def slopes(call):
        with df.GradientTape() as tape:
            tape.watch(X)
            y = call(X)
        return tape.gradient(y, [X, v])

    for _ in range(2):
        for got, want in zip(slopes(f), slopes(python), strict=True):
            assert got.numpy().tobytes() == want.numpy().tobytes()
        v.assign(v * 0.5)
    df.debugging.enable_check_numerics()
    try:
        same(f, python, X)
        v.assign(df.fill([4, 5], 1000.))
        with pytest.raises(df.errors.DualflowError, match="exp"):
            f(X)
    finally:
        df.debugging.disable_check_numerics()


def test_printed_graph():
    v = variable(4, 5)
    f = df.function(lambda x: x @ df.exp(v), name="f")
    assert "cached value 0" in text(f.graph_for(X))
    program = f.compiled_for(X).spec.text(False)
    assert "program f, cached" in program and "exp" in program


@pytest.mark.usefixtures("no_garbage")
def test_cached_results_are_freed_with_the_program():
    v = variable(300, 300)
    x = df.ones([2, 300])
    f = df.function(lambda x: x @ df.exp(v))
    f(x)
    alive = weakref.ref(f.compiled_for(x))
    in_use = df.memory.stats()["in_use"]
    del f
    gc.collect()
    assert alive() is None
    assert df.memory.stats()["in_use"] <= in_use - 300 * 300 * 4


def test_run_reads_a_consistent_snapshot():
    """While another thread writes two variables together, cached results match the other
    variable."""
    v, w = df.Variable(df.zeros([64, 64])), df.Variable(df.zeros([64, 64]))
    differ = df.function(lambda x: df.reduce_max(df.abs(x * df.negative(v) + w)))

    @df.function
    def write(x):
        v.assign_add(x)
        w.assign_add(x)

    one, done = df.ones([64, 64]), threading.Event()

    def writing():
        while not done.is_set():
            write(one)

    writer = threading.Thread(target=writing)
    writer.start()
    try:
        assert [float(differ(one)) for _ in range(1000)] == [0.0] * 1000
    finally:
        done.set()
        writer.join()
    assert cached(differ, one) == ["negative"]
