"""Random numbers: published test vectors, distributions, reproducibility, invalid input."""

import math
import threading

import numpy as np
import pytest

import dualflow as df
from dualflow import config
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError
from tests.ops import harness
from tests.ops.case import INTS
from tests.ops.cases import CASES
from tests.ops.random.philox import philox, words


def test_philox_matches_published_vectors():
    assert philox(0, 0) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


@pytest.mark.parametrize("seed, counter", [(0, 0), (123456789012345, 77), (5, 2**32 - 3)])
@pytest.mark.parametrize("n", [1, 31, 32, 33, 64, 1025])
def test_uniform_is_philox(seed, counter, n):
    w = words(seed, counter, -(-n // 16))
    got = df.random.stateless_uniform([n], [seed, counter])
    assert (got.numpy() * 2.0**24 == (w >> np.uint64(8))[:n]).all()
    got = df.random.stateless_uniform([n], [seed, counter], dtype="float64")
    pairs = w[::2] | w[1::2] << np.uint64(32)
    assert (got.numpy() * 2.0**53 == (pairs >> np.uint64(11))[:n]).all()
    got = df.random.stateless_uniform([n], [seed, counter], -2**31, 2**31, dtype="int32")
    assert (got.numpy().astype(np.int64) + 2**31 == w[1::2][:n]).all()


DRAWS = [
    lambda n: df.random.normal([n]), lambda n: df.random.normal([n], dtype="float64"),
    lambda n: df.random.uniform([n], -1, 2), lambda n: df.random.uniform([n], dtype="float64"),
    lambda n: df.random.truncated_normal([n]),
    lambda n: df.random.truncated_normal([n], dtype="float64"),
    lambda n: df.random.uniform([n], maxval=10, dtype="int32"),
    lambda n: df.random.uniform([n], maxval=10, dtype="int64"),
    lambda n: df.random.uniform([n], maxval=10, dtype="uint8"),
]


@pytest.mark.parametrize("draw", DRAWS)
def test_samples_are_independent_of_threads_and_length(draw):
    n = 200_003
    results = []
    before = config.num_threads()
    try:
        for threads in (1, 2):
            config.set_num_threads(threads)
            df.random.set_seed(4)
            results.append(draw(n).numpy())
    finally:
        config.set_num_threads(before)
    assert results[0].tobytes() == results[1].tobytes()
    for short in (0, 1, 7, 1000):
        df.random.set_seed(4)
        assert draw(short).numpy().tobytes() == results[0][:short].tobytes()


@pytest.mark.parametrize("dtype", INTS)
def test_draws_do_not_overlap(dtype):
    g = df.random.Generator(1)
    a = g.uniform([16], maxval=100, dtype=dtype).numpy().tolist()
    b = g.uniform([16], maxval=100, dtype=dtype).numpy().tolist()
    assert a != b


NEIGHBOURS = [(1, 0), (0, 1), (2**32, 0), (0, 2**32), (-1, 0), (0, -1), (2**62, 0), (0, 2**62),
              (1, 1), (1, -1), (0, 8), (0, 128)]
SOURCES = [c for c in CASES if c.function.startswith("random.stateless")]


def of_key(case, key, n):
    """Return n draws of a random op; a permutation is drawn by its values."""
    args = [key if a is case.args[1] else a for a in case.args]
    args[0] = n if case.op == "random_permutation" else [n]
    return harness.function(case)(*args, **case.kwargs).numpy().astype(np.float64)


@pytest.mark.parametrize("case", SOURCES, ids=str)
def test_neighbouring_keys_are_uncorrelated(case):
    """No stream is another one shifted, reversed or scaled. Correlations of n independent pairs are
    below 5 / sqrt(n)."""
    n = 4096
    for key in ([0, 0], [1, 0], [7, 2**31], [-1, -1], [2**62, 5]):
        first = of_key(case, key, n)
        spectrum = np.fft.rfft(first - first.mean(), 2 * n)
        for step in NEIGHBOURS:
            other = [int(np.int64(np.uint64((k + s) % 2**64))) for k, s in zip(key, step,
                                                                              strict=True)]
            second = of_key(case, other, n)
            assert (first == second).mean() < 0.3       # a few integers agree by chance
            scale = n * first.std() * second.std()
            for b in (second, second[::-1]):
                shifted = np.fft.irfft(spectrum * np.fft.rfft(b - b.mean(), 2 * n).conj())
                assert np.abs(shifted).max() / scale < 6 / math.sqrt(n), (key, other)
            if len(np.unique(first)) > n // 2 and case.op != "random_permutation":
                assert np.isin(first, second).mean() < 0.01, (key, other)


def test_key_words_are_not_interchangeable():
    a, b = (df.random.stateless_uniform([1000], k).numpy() for k in ([3, 5], [5, 3]))
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.15 and not np.isin(a, b).all()


@pytest.mark.parametrize("draw", [
    lambda: df.random.normal([2000]), lambda: df.random.uniform([2000], dtype="float64"),
    lambda: df.random.truncated_normal([2000]), lambda: df.random.uniform([2000], 0, 99, "int64"),
    lambda: df.random.shuffle(df.range(2000)), lambda: df.nn.dropout(df.ones([2000]), 0.5),
    lambda: df.initializers.glorot_uniform([40, 50]),
])
def test_neighbouring_seeds_of_generators(draw):
    """All pairs of draws of one generator and of its neighbours differ."""
    drawn = []
    for seed in (0, 1, 2, 3, 2**32, 2**32 + 1, -1):
        df.random.set_seed(seed)
        drawn += [draw().numpy().ravel().astype(np.float64) for _ in range(4)]
    correlation = np.corrcoef(np.array(drawn)) - np.eye(len(drawn))
    assert np.abs(correlation).max() < 5 / math.sqrt(2000)


@pytest.mark.parametrize("low, high, dtype", [
    (-2**31, 2**31 - 1, "int32"), (-2**31, 2**31, "int32"), (0, 2**31 - 1, "int32"),
    (0, 2**32 - 1, "int64"), (0, 2**32 + 1, "int64"), (-1, 2**32, "int64"),
    (0, 2**63 - 1, "int64"), (-2**62 - 1, 2**62, "int64"), (-2**63, 2**63 - 1, "int64"),
    (-128, 127, "int8"), (0, 255, "uint8"), (-2**15, 2**15, "int16"),
    (0, 2**16, "uint16"), (2**32 - 3, 2**32, "uint32"), (0, 2**32, "uint32"),
    (0, 2**63 - 1, "uint64")])
def test_integers_are_the_high_word_of_an_exact_product(low, high, dtype):
    key, n = (77, 5), 500
    w = [int(x) for x in words(*key, -(-n // 8))]
    pairs = [a | b << 32 for a, b in zip(w[::2], w[1::2], strict=True)]
    bits, given = 64, pairs
    if dtype.endswith("int64"):
        bits, given = 128, [a | b << 64 for a, b in zip(pairs[::2], pairs[1::2], strict=True)]
    want = [low + (d * (high - low) >> bits) for d in given[:n]]
    got = df.random.stateless_uniform([n], key, low, high, dtype)
    assert got.numpy().tolist() == want


def kolmogorov(sample, cdf):
    """Return sqrt(n) times the largest distance to the distribution; above 1.95 once in 1000."""
    x = np.sort(sample.astype(np.float64))
    n = len(x)
    f = np.array([cdf(v) for v in x])
    steps = np.arange(n + 1) / n
    return math.sqrt(n) * max((steps[1:] - f).max(), (f - steps[:-1]).max())


def phi(x):
    return 0.5 * (1 + math.erf(x / math.sqrt(2)))


def cut(x):
    return (phi(x) - phi(-2)) / (phi(2) - phi(-2))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_distributions(dtype):
    n = 20_000
    g = df.random.Generator(11)
    assert kolmogorov(g.uniform([n], dtype=dtype).numpy(), lambda x: x) < 1.95
    assert kolmogorov(g.normal([n], dtype=dtype).numpy(), phi) < 1.95
    assert kolmogorov(g.truncated_normal([n], dtype=dtype).numpy(), cut) < 1.95


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_moments(dtype):
    n = 1_000_000
    x = df.random.normal([n], 3.0, 2.0, dtype, seed=5).numpy().astype(np.float64)
    z = (x - 3) / 2
    assert abs(z.mean()) < 5e-3 and abs(z.std() - 1) < 5e-3
    assert abs((z**3).mean()) < 2e-2 and abs((z**4).mean() - 3) < 5e-2
    assert abs((z[:-1] * z[1:]).mean()) < 5e-3 and 4.2 < np.abs(z).max() < 7
    t = df.random.truncated_normal([n], dtype=dtype, seed=5).numpy()
    assert np.abs(t).max() < 2 and abs(t.astype(np.float64).std() - 0.8796) < 3e-3
    u = df.random.uniform([n], -1.0, 3.0, dtype, seed=5).numpy()
    assert -1 <= u.min() < -0.9999 and 2.9999 < u.max() < 3


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_truncated_normal_inverts_the_distribution(dtype):
    u = df.random.uniform([500], dtype=dtype, seed=8).numpy().astype(np.float64)
    t = df.random.truncated_normal([500], dtype=dtype, seed=8).numpy().astype(np.float64)
    error = np.abs([cut(x) for x in t] - u).max()
    assert error < (3e-7 if dtype == "float32" else 1e-14)


def test_integers_are_uniform():
    x = df.random.uniform([600_000], -2, 4, "int32", seed=2).numpy()
    counts = np.bincount(x + 2, minlength=6)
    assert ((counts - 100_000) ** 2 / 100_000).sum() < 20.5  # chi squared, 5 degrees: 1 in 1000
    x = df.random.uniform([1000], -2**63, 2**63 - 1, "int64", seed=2).numpy()
    assert x.min() < -2**62 and x.max() > 2**62


def test_uniform_never_reaches_maxval():
    x = df.random.uniform([1_000_000], 1.0, 1.0 + 2**-22, seed=1).numpy()
    assert x.max() < np.float32(1.0 + 2**-22) and x.min() == 1
    assert (df.random.uniform([5], 2.0, 2.0).numpy() == 2).all()


def test_permutation():
    p = df.random.stateless_permutation(5000, [1, 0]).numpy()
    assert (np.sort(p) == np.arange(5000)).all()
    assert abs(np.corrcoef(p, np.arange(5000))[0, 1]) < .05
    first = [df.random.stateless_permutation(3, [s, 0]).numpy().tolist() for s in range(6000)]
    counts = [first.count(list(q)) for q in [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1),
                                             (2, 1, 0)]]
    assert sum((c - 1000) ** 2 / 1000 for c in counts) < 20.5
    assert df.random.stateless_permutation(0, [1, 0]).shape == (0,)


def test_shuffle():
    x = np.arange(60).reshape(20, 3)
    y = df.random.shuffle(x, seed=1).numpy()
    assert (np.sort(y[:, 0]) == x[:, 0]).all() and (y[:, 2] == y[:, 0] + 2).all()
    assert (y != x).any() and (y == df.random.shuffle(x, seed=1).numpy()).all()
    assert df.random.shuffle(np.zeros((0, 3))).shape == (0, 3)


def test_seeds():
    def draw(seed=None):
        return df.random.normal([4], seed=seed).numpy().tolist()

    df.random.set_seed(3)
    a, b = draw(), draw()
    assert a != b
    df.random.set_seed(3)
    assert draw(9) == draw(9)
    assert draw() == a and draw() == b
    assert df.random.Generator(2**64 - 1).seed == -1
    assert df.random.Generator().seed != df.random.Generator().seed


def test_threads_share_a_generator():
    g, seen = df.random.Generator(1), []

    def work():
        for _ in range(200):
            seen.append(g.uniform([1], 0, 2**62, "int64").numpy().tolist()[0])
    workers = [threading.Thread(target=work) for _ in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert len(set(seen)) == 800


def test_shapes_and_dtypes():
    assert df.random.normal([]).shape == ()
    assert df.random.normal(3).shape == (3,)
    assert df.random.normal([0, 3]).shape == (0, 3)
    assert df.random.uniform([3], dtype="float16").dtype is df.float16
    assert df.random.normal([3], dtype=df.bfloat16).dtype is df.bfloat16
    for dtype, n in (("float16", 2048), ("bfloat16", 256)):     # every value in [0, 1)
        x = df.cast(df.random.stateless_uniform([40_000], [3, 4], dtype=dtype), "float32").numpy()
        assert set(x * n) == set(range(n)) and abs(x.mean() - 0.5) < 0.01
        x = df.cast(df.random.stateless_uniform([40_000], [3, 5], -3, 3, dtype), "float32").numpy()
        assert x.min() == -3 and 2.9 < x.max() < 3
    mean = df.constant([[1.0], [100.0]])
    x = df.random.normal([2, 50], mean, 0.1).numpy()
    assert x.shape == (2, 50) and x[0].max() < 10 < x[1].min()


@pytest.mark.parametrize("call, error, text", [
    (lambda: df.random.normal([-1]), ShapeError, "random_normal.*-1"),
    (lambda: df.random.normal([2**40, 2**40]), Exception, "random_normal"),
    (lambda: df.random.normal([2], dtype="int32"), DTypeError, "random_normal.*int32"),
    (lambda: df.random.normal("ab"), DTypeError, "random_normal.*shape"),
    (lambda: df.random.uniform([2], 3.0, 1.0), InvalidArgumentError, "random_uniform.*3.*1"),
    (lambda: df.random.uniform([2], dtype="int32"), InvalidArgumentError, "maxval"),
    (lambda: df.random.uniform([2], 5, 5, "int32"), InvalidArgumentError, "random_integers.*5"),
    (lambda: df.random.uniform([2], 0, 300, "uint8"), InvalidArgumentError, "uint8"),
    (lambda: df.random.uniform([2], -2**63 + 1, 9, "int32"), InvalidArgumentError, "minval.*int32"),
    (lambda: df.random.uniform([2], -2**63, 9, "int32"), InvalidArgumentError, "minval.*int32"),
    (lambda: df.random.uniform([2], -2**63 + 1, -2**63, "int64"), InvalidArgumentError, "minval"),
    (lambda: df.random.uniform([2], 0, 2**16 + 1, "uint16"), InvalidArgumentError, "uint16"),
    (lambda: df.random.uniform([2], -1, 1, "uint64"), InvalidArgumentError, "uint64"),
    (lambda: df.random.stateless_normal([2], [1, 2, 3]), ShapeError, "key.*3"),
    (lambda: df.random.stateless_normal([2], df.constant([1.0, 2.0])), ShapeError, "key.*float32"),
    (lambda: df.random.stateless_permutation(-1, [1, 2]), InvalidArgumentError, "-1"),
    (lambda: df.random.shuffle(3), InvalidArgumentError, "scalar"),
])
def test_bad_input(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_permutation_is_fisher_yates():
    """The inside-out variant of Fisher and Yates, also beyond one tile of draws."""
    n = 1500
    w = words(7, 3, -(-n // 8))
    pairs = w[::2] | w[1::2] << np.uint64(32)
    want = list(range(n))
    for i in range(n):
        j = int(pairs[i]) * (i + 1) >> 64
        want[i] = want[j]
        want[j] = i
    assert df.random.stateless_permutation(n, [7, 3]).tolist() == want


BOUNDS = {
    "symmetric": lambda n: (-n, n), "negative": lambda n: (-n - 3, -n),
    "above": lambda n: (n, n + 2),
    "up to a constant": lambda n: (n, 500), "from a constant": lambda n: (1000, n + 1000),
    "negative to a constant": lambda n: (-n, -2), "one": lambda n: (n - 1, n)}


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_integers_with_traced_bounds(name, dtype):
    """The bounds are compared when the function runs: no guess of their values decides."""
    if dtype in ("int8", "int16") and "constant" in name:
        dtype = "int32"
    draw = {"stateless": lambda n: df.random.stateless_uniform(
                [50], [1, 2], *BOUNDS[name](n), dtype),
            "generator": lambda n: df.random.Generator.from_seed(3).uniform(
                [50], *BOUNDS[name](n), dtype)}
    for f in draw.values():
        traced = df.function(f)
        for n in (3, 40, 7):
            want = f(n).tolist()
            low, high = BOUNDS[name](n)
            assert min(want) >= low and max(want) < high
            assert traced(df.constant(n, "int32")).tolist() == want
            assert traced(df.constant(n, "int64")).tolist() == want


def test_wrong_traced_bounds():
    f = df.function(lambda low, high: df.random.uniform([4], low, high, "int8"))
    assert f(df.constant(-5), df.constant(5)).shape == (4,)
    for low, high in ((3, 3), (5, 2), (-129, 3), (0, 129), (-2**63, -2**63 + 2)):
        with pytest.raises(InvalidArgumentError, match="minval"):
            f(df.constant(low, df.int64), df.constant(high, df.int64))
    sized = df.function(lambda x: df.random.uniform([2], -x.shape[0], x.shape[0], "int64"),
                        input_signature=[df.TensorSpec([None])])
    assert max(abs(v) for n in (1, 4, 9) for v in sized(df.ones([n])).tolist()) <= 9
    with pytest.raises(InvalidArgumentError, match="minval"):
        sized(df.ones([0]))
    with pytest.raises(InvalidArgumentError, match="minval"):
        df.function(lambda n: df.random.uniform([4], 300, n, "int8"))(df.constant(3))
