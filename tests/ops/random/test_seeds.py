"""Seeds from seeds, stateless shuffling, and normal distributions between any bounds."""

import math

import numpy as np
import pytest

import dualflow as df
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError, UnimplementedError

INF = math.inf
truncated = df.random.stateless_parameterized_truncated_normal


def streams(seeds, n=4000):
    return np.array([df.random.stateless_normal([n], s).numpy() for s in seeds], np.float64)


def assert_independent(drawn):
    n = drawn.shape[1]
    assert np.abs(np.corrcoef(drawn) - np.eye(len(drawn))).max() < 5 / n**0.5
    assert len(np.unique(drawn)) > 0.99 * drawn.size


def test_split():
    seeds = df.random.split([3, 4], 5)
    assert seeds.shape == (5, 2) and seeds.dtype is df.int64
    assert df.random.split([3, 4]).tolist() == seeds[:2].tolist()
    assert df.random.split(df.constant([3, 4])).dtype is df.int32
    assert df.random.experimental.stateless_split([3, 4], num=5).tolist() == seeds.tolist()
    nested = df.random.split(seeds[0], 3)
    assert_independent(streams([[3, 4], *df.unstack(seeds), *df.unstack(nested)]))
    small = df.random.split(df.constant([3, 4], df.int32), 3)
    assert_independent(streams([[3, 4], *df.unstack(small)]))


def test_fold_in():
    seeds = [df.random.fold_in([3, 4], k) for k in (*range(4), -1, 2**40)]
    assert all(s.shape == (2,) and s.dtype is df.int64 for s in seeds)
    twice = df.random.fold_in(seeds[0], 1), df.random.fold_in(seeds[1], 0)
    other = df.random.fold_in([3, 5], 1)
    assert_independent(streams([[3, 4], *seeds, *twice, other]))
    narrow = df.constant([3, 4], df.int32)
    assert df.random.fold_in(narrow, df.constant(7)).dtype is df.int32
    assert df.random.fold_in(narrow, 2**40).dtype is df.int64
    assert df.random.experimental.stateless_fold_in([3, 4], 1).tolist() == seeds[1].tolist()


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_seeds_in_functions(dtype):
    def f(seed, k):
        a, b = df.unstack(df.random.split(seed))
        x = df.random.stateless_normal([3], a) + df.random.stateless_uniform([3], b)
        c = df.random.fold_in(seed, k)
        z = truncated([3], c, df.cast(k, df.float32), 2.0, -INF, 1.0)
        return x, c, z, df.random.experimental.stateless_shuffle(df.range(9), b)

    seed, k = df.constant([5, 6], dtype), df.constant(3, dtype)
    traced = df.function(f)
    want, got = f(seed, k), traced(seed, k)
    assert [x.numpy().tobytes() for x in want] == [x.numpy().tobytes() for x in got]
    assert all(x.dtype is y.dtype for x, y in zip(want, got, strict=True))


def test_a_loop_carries_a_seed():
    @df.function
    def f(seed, n):
        total = df.zeros([2])
        for _ in df.range(n):
            seed, now = df.unstack(df.random.split(seed))
            total += df.random.stateless_normal([2], now)
        return total

    seed, total = df.constant([1, 2]), df.zeros([2])
    got = f(seed, df.constant(3))
    for _ in range(3):
        seed, now = df.unstack(df.random.split(seed))
        total += df.random.stateless_normal([2], now)
    assert got.numpy().tobytes() == total.numpy().tobytes()


def test_stateless_shuffle():
    shuffle = df.random.experimental.stateless_shuffle
    x = np.arange(60).reshape(20, 3)
    y = shuffle(x, [1, 2]).numpy()
    assert (np.sort(y[:, 0]) == x[:, 0]).all() and (y[:, 2] == y[:, 0] + 2).all()
    assert (y != x).any() and (y == shuffle(x, [1, 2]).numpy()).all()
    assert (y != shuffle(x, [1, 3]).numpy()).any()
    assert shuffle(np.zeros((0, 3)), [1, 2]).shape == (0, 3)
    first = [shuffle([0, 1, 2], [s, 0]).numpy().tolist() for s in range(3000)]
    counts = [first.count([*p]) for p in {tuple(p) for p in first}]
    assert len(counts) == 6 and sum((c - 500) ** 2 / 500 for c in counts) < 20.5


def test_experimental_names():
    names = df.random.experimental
    assert names.Generator is df.random.Generator and names.Algorithm is df.random.Algorithm
    assert names.get_global_generator is df.random.get_global_generator
    assert names.set_global_generator is df.random.set_global_generator
    assert names.create_rng_state is df.random.create_rng_state


def upper(x):
    return 0.5 * math.erfc(x / math.sqrt(2))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mean, stddev, low, high", [
    (0, 1, -2, 2), (5, 2, 6, INF), (5, 2, -INF, 4), (0, 1, -INF, INF), (0, 3, 12, 12.5),
    (1, 0.5, -9, -8), (0, 1, -40, 40), (0, 1, 20, INF), (-3, 1, -50, -29), (0, 1, -0.5, 7)])
def test_truncated_normals_have_their_distribution(mean, stddev, low, high, dtype):
    n = 20_000
    x = truncated([n], [7, 8], *[df.constant(float(v), dtype) for v in (mean, stddev, low, high)])
    assert x.dtype.name == dtype
    x = np.sort(x.numpy().astype(np.float64))
    assert x[0] >= low and x[-1] <= high
    a, b = (low - mean) / stddev, (high - mean) / stddev
    x = (x - mean) / stddev
    if a + b < 0:
        x, a, b = -x[::-1], -b, -a
    f = np.array([(upper(a) - upper(v)) / (upper(a) - upper(b)) for v in x])
    steps = np.arange(n + 1) / n
    assert math.sqrt(n) * max((steps[1:] - f).max(), (f - steps[:-1]).max()) < 1.95


@pytest.mark.parametrize("low, high", [(31.0, INF), (100.0, INF), (-INF, -40.0), (50.0, 50.01),
                                       (1e6, INF)])
def test_truncated_normals_deep_in_a_tail(low, high):
    """The distance from the bound, times the bound, is close to an exponential distribution."""
    x = truncated([20_000], [7, 8], 0.0, df.constant(1.0, df.float64), low, high).numpy()
    assert x.min() >= low and x.max() <= high
    near = min(abs(low), abs(high))
    steps = np.sort((np.abs(x) - near) * near)
    total = -math.expm1(-(max(abs(low), abs(high)) - near) * near)
    f = -np.expm1(-steps) / total
    assert np.abs(f - np.arange(20_000) / 20_000).max() < 0.02


def test_truncated_normals_of_invalid_parameters_are_nan():
    x = truncated([5], [1, 2], [0, 0, 0, math.nan, 0], [1, 0, -1, 1, 1], [-1, -1, -1, -1, 2],
                  [1, 1, 1, 1, 1]).numpy()
    assert np.isnan(x).tolist() == [False, True, True, True, True]
    assert truncated([0], [1, 2]).shape == (0,) and truncated([], [1, 2]).shape == ()
    assert truncated([4], [1, 2], minvals=1.5, maxvals=1.5).tolist() == [1.5] * 4


def test_truncated_normals_broadcast():
    low, high = [-1.0, -2.0, -1000.0], [[10000.0], [1.0]]
    x = truncated([10, 2, 3], [7, 17], 0.0, df.ones([2, 3]), low, high).numpy()
    assert x.shape == (10, 2, 3) and x.dtype == np.float32
    assert (x >= low).all() and (x <= high).all()
    assert truncated([2], [1, 2], df.constant([0.0, 1.0], df.float16)).dtype is df.float16


@pytest.mark.parametrize("values", [
    (0.5, 1.5, -1.0, INF), (0.5, 1.5, -1.0, 2.0), (3.0, 0.5, -INF, 2.0), (0.0, 1.0, 35.0, 36.0),
    (0.0, 1.0, -INF, INF)])
def test_gradients_of_truncated_normals(values):
    def f(*parameters):
        return df.reduce_sum(truncated([5], [1, 2], *parameters))

    variables = [df.Variable(v, dtype=df.float64) for v in values]
    with df.GradientTape() as tape:
        y = f(*variables)
    for k, g in enumerate(tape.gradient(y, variables)):
        if math.isinf(values[k]):
            assert float(g) == 0
            continue
        moved = []
        for step in (1e-5, -1e-5):
            there = [df.constant(v + step * (i == k), df.float64) for i, v in enumerate(values)]
            moved.append(float(f(*there)))
        assert abs((moved[0] - moved[1]) / 2e-5 - float(g)) < 1e-5 * (1 + abs(float(g)))


@pytest.mark.parametrize("call, error, text", [
    (lambda: df.random.split([1, 2, 3]), ShapeError, "key.*3"),
    (lambda: df.random.split([1, 2], -1), ShapeError, "-1"),
    (lambda: df.random.split([1, 2], alg="threefry"), UnimplementedError, "ThreeFry"),
    (lambda: df.random.fold_in([1, 2], [1, 2]), (DTypeError, ShapeError), "fold_in: data"),
    (lambda: df.random.fold_in([1, 2], df.constant([1])), ShapeError, r"fold_in.*\(1,\)"),
    (lambda: df.random.fold_in([1, 2], 1.5), DTypeError, "fold_in.*1.5"),
    (lambda: df.random.fold_in([1, 2], df.constant(1.5)), DTypeError, "fold_in.*float32"),
    (lambda: df.random.experimental.stateless_shuffle(3, [1, 2]), InvalidArgumentError, "scalar"),
    (lambda: truncated([2], [1, 2, 3]), ShapeError, "key.*3"),
    (lambda: truncated([2], [1, 2], [1.0, 2.0, 3.0]), Exception, "3"),
])
def test_bad_input(call, error, text):
    with pytest.raises(error, match=text):
        call()
