"""Instructions with shapes or attributes known only at run time may return views of other buffers
and reuse state that an earlier run of the instruction cached. Results have the bits of eager
mode."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dualflow as df
from dualflow import _core
from tests.graph.test_program import ARENA, DYNAMIC, F32, I64, RESULT, Builder
from tests.graph.test_sizes_of_runs import gradient, same
from tests.live import live_bytes

X = np.random.default_rng(0).normal(size=(12, 3)).astype(np.float32)
BOUNDS = [0, 2, 2, 9, 11, 12, 14, -1, -4, -30, 2, 5, 5]      # of 12 rows; some windows are empty
PROGRAMS = {}


def program(f):
    PROGRAMS[f.__name__] = f
    return f


@program
def windows(x, bounds):
    total = df.constant(0.0)
    for i in bounds:
        total = total + df.reduce_sum(x[i:i + 3] * df.cast(i, df.float32))
    return total


@program
def windows_of_columns(x, bounds):
    total = df.zeros([12])
    for i in bounds:
        total = total + df.reduce_sum(x[:, i:i + 2], 1)
    return total


@program
def windows_of_what_is_carried(x, bounds):
    """The carried tensor is updated in place while a window of it is still needed."""
    total = df.constant(0.0)
    for i in bounds:
        before = x[i:i + 3]
        x = x * 1.5 + 1.0
        after = x[i:i + 3]
        total = total + df.reduce_sum(before * after - before)
    return total, x


@program
def blocks_of_what_is_carried(x, bounds):
    total = df.constant(0.0)
    for i in bounds:
        before = df.slice(x, [abs(i) % 8, 0], [3, 3])
        x = df.exp(-x)
        total = total + df.reduce_sum(before * df.slice(x, [abs(i) % 7, 1], [3, 2])[:, :1])
    return total, x


@program
def windows_that_are_carried(x, bounds):
    kept = x[:1]
    for i in bounds:
        kept = df.concat([x[i:i + 3], kept[:2]], 0)
    return kept


@program
def windows_that_are_returned(x, bounds):
    n = df.shape(bounds)[0]
    return x[:n], x[n - 5:n], df.slice(x, [n - 2, 0], [1, 3]), x[n:], x[n - 1:][:2][1:]


@program
def views_of_views(x, bounds):
    total = df.constant(0.0)
    for i in bounds:
        y = x[i:]
        z = df.reshape(y[:4], [-1])
        w = z[1:]
        total = total + df.reduce_sum(w) * 2.0 + df.reduce_sum(y) - df.reduce_sum(z * z)
    return total


@program
def blocks_in_another_shape(x, bounds):
    """The block is read in another shape, and its memory is reused."""
    total = df.zeros([6])
    for i in bounds:
        block = df.slice(x, [abs(i) % 10, 0], [2, 3])
        flat = df.reshape(block, [6])
        doubled = df.reshape(df.tanh(block), [6])
        total = total + df.cumsum(flat) * doubled + df.reverse(doubled, [0])
    return total


@program
def windows_in_branches(x, bounds):
    total = df.constant(0.0)
    for i in bounds:
        y = x[i:i + 4] if i > 2 else x[:i + 1]
        total = total + df.reduce_sum(df.sin(y))
    return total


@program
def windows_in_a_loop_in_a_loop(x, bounds):
    total = df.constant(0.0)
    for i in bounds:
        y = x[i:i + 5]
        for j in df.range(3):
            total = total + df.reduce_sum(y[j:j + 2] @ df.transpose(y[:j]))
            y = y * 0.5
    return total


@program
def products_of_windows(x, bounds):
    total = df.zeros([3, 3])
    for i in bounds:
        y = x[i:i + 3]
        total = total + df.matmul(y, y, transpose_a=True)
    return total


@program
def one_element(x, bounds):
    """Sums of one and of zero elements keep the sign of zero of eager mode."""
    total = df.constant(1.0)
    for i in bounds:
        y = -0.0 * x[i:i + 1, :1]
        total = total + 1.0 / df.reduce_sum(y) - df.reduce_max(df.concat([y, y + 1.0], 0))
    return total


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_match_eager(name):
    f = PROGRAMS[name]
    x, bounds = df.constant(X), df.constant(BOUNDS)
    want = f(x, bounds)
    for options in ({}, {"passes": False}):
        traced = df.function(f, **options)
        assert same(traced(x, bounds), want)
        assert same(traced(x, bounds), want)        # with state cached by the first run
        assert same(x, X)
    if name != "windows_that_are_carried":
        assert same(df.function(gradient(f))(x, bounds), gradient(f)(x, bounds))


def test_windows_of_an_assigned_variable():
    def f(v, bounds):
        total = df.constant(0.0)
        for i in bounds:
            before, block = v[i:i + 3], df.slice(v, [1, 0], [abs(i) % 4, 3])
            v.assign_add(df.ones([12, 3]))
            first = df.reduce_sum(v[i:i + 3][:1])
            total = total + df.reduce_sum(before * 3.0) + df.reduce_sum(block) * first
        return total, v[:abs(bounds[0]) + 2]

    v, w = df.Variable(X), df.Variable(X)
    traced = df.function(f)
    for bounds in (BOUNDS, [3, 3, 3], BOUNDS[::-1]):
        assert same(traced(v, df.constant(bounds)), f(w, df.constant(bounds)))
        assert same(v, w)


def test_results_own_their_memory():
    """A returned tensor is not a view of an argument."""
    b = Builder()
    x = b.arg(0, (4, 1))
    flat, kept = b.slot(DYNAMIC, (4,), last_use=1), b.slot(DYNAMIC, (4,), last_use=2)
    b.add("squeeze", (x,), (flat,), dynamic=True, axis=[1])
    b.add("identity", (flat,), (kept,), dynamic=True)
    made = b.build(1, [(DYNAMIC, kept, F32, (4,))])
    given = df.constant([[1.0], [2.0], [3.0], [4.0]])
    first = made.run([given])[0]
    second = made.run([given + 1.0])[0]
    places = [y.numpy().__array_interface__["data"][0] for y in (given, first, second)]
    assert len(set(places)) == 3
    assert first.tolist() == [1, 2, 3, 4] and second.tolist() == [2, 3, 4, 5]


@pytest.mark.parametrize("kind", [DYNAMIC, ARENA])
def test_viewed_memory_is_not_reused_early(kind):
    """Instruction 2 writes where the viewed value was, instruction 3 reads the view."""
    b = Builder()
    x = b.arg(0, (4, 2))
    block = b.temp((4, 2))
    index = b.constant(df.constant([1], df.int64))
    picked = (b.temp((2, 2)) if kind is ARENA else b.slot(DYNAMIC, (2, 2), last_use=3))
    out = b.result(0, (2, 2))
    code = [1, 1, 0, 1, 0, 3, 1, 0, 1, 1, 0, 0]      # begin from the vector, end 3
    slicing = {"index": _core.get_op("strided_slice").index, "encoded": code,
               "outputs": [F32.index, 2, 2, 2]}
    b.add("exp", (x,), (block,))
    b.add("dynamic_attrs", (block, index), (picked,), dynamic=kind is DYNAMIC,
          workspace=None if kind is DYNAMIC else b.reserve(1024), **slicing)
    b.add("negative", (x,), (block,))
    b.add("add", (picked, picked), (out,), dynamic=kind is DYNAMIC)
    made = b.build(1, [(RESULT, 0, F32, (2, 2))])
    given = df.constant(X[:4, :2])
    for _ in range(2):
        assert same(made.run([given])[0], 2.0 * df.exp(given)[1:3])


def test_arena_slot_written_twice():
    b = Builder()
    x, place, out = b.arg(0, (4, 2)), b.temp((2, 2)), b.result(0, (2, 2))
    index = b.constant(df.constant([1], df.int64))
    slicing = {"index": _core.get_op("strided_slice").index,
               "encoded": [1, 1, 0, 1, 0, 3, 1, 0, 1, 1, 0, 0],
               "outputs": [F32.index, 2, 2, 2]}
    first = b.temp((2, 2))
    b.add("dynamic_attrs", (x, index), (place,), workspace=b.reserve(1024), **slicing)
    b.add("negative", (place,), (first,))
    b.add("exp", (first,), (place,))
    b.add("add", (place, first), (out,))
    made = b.build(1, [(RESULT, 0, F32, (2, 2))])
    given = df.constant(X[:4, :2])
    want = df.exp(-given[1:3]) - given[1:3]
    for _ in range(2):
        assert same(made.run([given])[0], want) and same(given, X[:4, :2])


def test_write_in_the_wave_of_the_last_reader_of_a_view():
    """Instructions 2 and 3 form a wave: one reads a view, the other writes the viewed memory."""
    n = 1 << 16
    b = Builder()
    x, block, out = b.arg(0, (n, 1)), b.temp((n, 1)), b.result(0, (n,))
    flat = b.slot(DYNAMIC, (n,), last_use=2)
    b.add("exp", (x,), (block,))
    b.add("squeeze", (block,), (flat,), dynamic=True, axis=[1])
    b.add("tanh", (flat,), (out,), dynamic=True, wave=1, cost=1e6)
    b.add("negative", (x,), (block,), wave=1, cost=1e6)
    made = b.build(1, [(RESULT, 0, F32, (n,))])
    given = df.random.normal([n, 1], seed=1)
    want = df.tanh(df.exp(given))[:, 0]
    for _ in range(20):
        assert same(made.run([given])[0], want)


def test_cached_state_follows_argument_shapes():
    """Both runs use one frame: state cached for one shape is not used for another."""
    b = Builder()
    mask = b.arg(0, (6,), df.as_dtype("bool"))
    rows, flat = b.slot(DYNAMIC, (None, 1), I64, last_use=1), b.slot(DYNAMIC, (None,), I64,
                                                                     last_use=2)
    doubled, total = b.slot(DYNAMIC, (None,), I64, last_use=3), b.result(0, (), I64)
    b.add("where_indices", (mask,), (rows,), dynamic=True)
    b.add("squeeze", (rows,), (flat,), dynamic=True, axis=[1])
    b.add("add", (flat, flat), (doubled,), dynamic=True)
    b.add("reduce_sum", (doubled,), (total,), dynamic=True, axes=[0], keepdims=False)
    made = b.build(1, [(RESULT, 0, I64, ())])
    for chosen in ([0, 2], [1, 3], [], [5], [5], [0, 1, 2, 3, 4, 5], [0, 2], []):
        mask = df.constant(np.isin(np.arange(6), chosen))
        assert made.run([mask])[0].numpy() == 2 * sum(chosen)


def test_several_threads():
    f = df.function(PROGRAMS["windows_of_what_is_carried"])
    g = df.function(PROGRAMS["windows_in_branches"])
    given = [(df.constant(X * (k + 1)), df.constant(BOUNDS[k:] + BOUNDS[:k])) for k in range(8)]
    want = [(PROGRAMS["windows_of_what_is_carried"](*a), PROGRAMS["windows_in_branches"](*a))
            for a in given]
    f(*given[0]), g(*given[0])

    def work(k):
        return all(same((f(*given[j % 8]), g(*given[j % 8])), want[j % 8])
                   for j in range(k, k + 40))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))


def test_failure_in_the_middle_of_a_run():
    @df.function
    def f(x, bounds):
        total = df.constant(0.0)
        for i in bounds:
            total = total + df.reduce_sum(df.slice(x, [i, 0], [df.abs(i) + 1, 3]) * x[i:i + 1])
        return total

    x = df.constant(X)
    good, bad = df.constant([1, 1, 2, 0]), df.constant([1, 2, 11, 2])
    want = f(x, good)
    live = live_bytes()
    for _ in range(20):
        with pytest.raises(df.errors.DualflowError, match="12 elements from 11 on"):
            f(x, bad)
        assert same(f(x, good), want)
    assert live_bytes() == live


def test_idle_frames_hold_no_buffers():
    functions = [df.function(f) for f in PROGRAMS.values()]
    x, all_bounds = df.constant(X), [df.constant(b) for b in (BOUNDS, BOUNDS[:2])]

    def call_all():
        for f in functions:
            for bounds in all_bounds:
                f(x, bounds)
        return live_bytes()

    live = call_all()
    assert call_all() == live and call_all() == live


def test_buffers_are_reused_within_a_loop():
    """A loop of constant sizes allocates nothing from the second iteration on."""
    @df.function
    def f(x, n):
        total = df.constant(0.0)
        for _ in df.range(n):
            rows = df.boolean_mask(x, x[:, 0] > 0.0)[:, :2]
            total = total + df.reduce_sum(df.sin(x[:n - n + 5]) * 2.0) + df.reduce_sum(rows)
        return total

    @df.function
    def g(x, n):
        total = df.constant(0.0)
        for i in df.range(n):
            total = total + df.reduce_sum(df.sin(x[i % 4:i % 4 + 3, 1:]) * 2.0)
        return total

    def allocations(f, n):
        before = df.config.memory_stats()["allocations"]
        f(df.constant(X), df.constant(n))
        return df.config.memory_stats()["allocations"] - before

    for h in (f, g):
        h(df.constant(X), df.constant(8))
    assert allocations(g, 800) - allocations(g, 8) == 0
    assert allocations(f, 800) - allocations(f, 8) > 0       # data-dependent sizes: new buffers
