"""Samples of distributions with parameters: moments, frequencies, threads, limits."""

import math

import numpy as np
import pytest

import dualflow as df
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError
from tests.ops import harness

N = 60_000


def chi_squared(counts, probabilities):
    """Return the standardized statistic over the k frequent classes, (chi^2 - k) / sqrt(2 k)."""
    want = np.asarray(probabilities) * counts.sum()
    often = want >= 10
    statistic = ((counts - want) ** 2 / np.where(often, want, 1))[often].sum()
    return (statistic - often.sum()) / math.sqrt(2 * often.sum())


@pytest.mark.parametrize("rate", [0.2, 3.0, 9.99, 10.0, 40.0, 300.0])
def test_poisson_frequencies(rate):
    x = df.random.stateless_poisson([N], [3, 1], rate).numpy()
    k = np.arange(x.max() + 1)
    p = [math.exp(i * math.log(rate) - rate - math.lgamma(i + 1)) for i in k]
    assert chi_squared(np.bincount(x), p) < 4


@pytest.mark.parametrize("n, p", [(1, 0.5), (9, 0.1), (40, 0.24), (40, 0.26), (60, 0.8),
                                  (500, 0.5), (3000, 0.99)])
def test_binomial_frequencies(n, p):
    x = df.random.stateless_binomial([N], [3, 1], n, p).numpy()
    assert x.min() >= 0 and x.max() <= n
    want = [math.exp(math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
                     + k * math.log(p) + (n - k) * math.log1p(-p)) for k in range(n + 1)]
    assert chi_squared(np.bincount(x, minlength=n + 1), want) < 4


@pytest.mark.parametrize("alpha", [0.05, 0.5, 1.0, 2.5, 400.0])
def test_gamma_moments(alpha):
    """Mean and variance are alpha; the mean of the logarithm is digamma(alpha)."""
    x = df.random.stateless_gamma([N], [3, 1], alpha, dtype="float64").numpy()
    error = math.sqrt(alpha / N)
    assert abs(x.mean() - alpha) < 5 * error
    assert abs(x.var() / alpha - 1) < 5 * math.sqrt((2 + 6 / alpha) / N)
    spread = math.sqrt(df.math.polygamma(1, alpha).item() / N)
    assert abs(np.log(x).mean() - df.math.digamma(alpha).item()) < 5 * spread


def test_categorical_frequencies():
    p = np.array([[0.1, 0.2, 0.0, 0.7], [0.0, 0.5, 0.5, 0.0]])
    with np.errstate(divide="ignore"):
        logits = (np.log(p) + [[3.0], [-400.0]]).astype("f4")
    x = df.random.stateless_categorical(logits, N, [1, 2])
    assert x.shape == (2, N) and x.dtype is df.int64
    for row, want in zip(x.numpy(), p, strict=True):
        counts = np.bincount(row, minlength=4)
        assert chi_squared(counts, want) < 4 and not counts[want == 0].any()
    assert df.random.categorical(logits, 5, df.int32, seed=1).dtype is df.int32
    a, b = (df.random.Generator(3).categorical(logits, 9).numpy() for _ in range(2))
    assert (a == b).all()


def test_samples_are_independent_of_threads_and_length():
    alphas = np.linspace(0.1, 30, 5001)
    results = []
    for n in (1, 2):
        with harness.threads(n):
            results.append(df.random.stateless_gamma([5001], [1, 2], alphas).numpy())
    assert results[0].tobytes() == results[1].tobytes()
    short = df.random.stateless_gamma([17], [1, 2], alphas[:17]).numpy()
    assert short.tobytes() == results[0][:17].tobytes()


def test_traced():
    def plain(logits, alpha):
        return (df.random.gamma([3], alpha), df.random.poisson([2], alpha),
                df.random.binomial([4, 2], 9, alpha / 4), df.random.categorical(logits, 3))

    draw = df.function(plain)
    given = df.constant([[0., 1.], [2., 3.], [0., 0.]]), df.constant([0.5, 2.])
    made = []
    for call in (draw, plain):
        df.random.set_seed(3)
        made.append([x.numpy().tobytes() for _ in range(2) for x in call(*given)])
    assert made[0] == made[1] and made[0][:4] != made[0][4:]


def test_unknown_batch():
    f = df.function(lambda x: df.random.stateless_categorical(x, 2, [1, 2]),
                    input_signature=[df.TensorSpec([None, 3], df.float32)])
    for n in (1, 4, 0):
        x = df.ones([n, 3])
        assert f(x).tolist() == df.random.stateless_categorical(x, 2, [1, 2]).tolist()


def test_shapes_and_dtypes():
    assert df.random.gamma([4], [[1.], [2.]], [1., 2., 3.]).shape == (4, 2, 3)
    assert df.random.gamma([], 2).shape == () and df.random.poisson(3, 2).shape == (3,)
    assert df.random.poisson([2], [[1., 2.]], df.int64).shape == (2, 1, 2)
    assert df.random.gamma([2], 3., dtype="float16").dtype is df.float16
    assert df.random.stateless_poisson([2], [1, 2], 5.).dtype is df.int32
    assert df.random.binomial([2], 5, 0.5, "float32").dtype is df.float32
    g = df.random.Generator(1)
    assert g.gamma([2, 3], [1., 2., 3.]).shape == (2, 3) and g.poisson([2], 4.).shape == (2,)
    large = df.random.stateless_poisson([5], [1, 2], 1e12, "int64").numpy()
    assert (abs(large - 1e12) < 6e6).all() and len(set(large)) == 5


def test_rate_has_a_gradient():
    b = df.constant([1., 2.])
    with df.GradientTape() as tape:
        tape.watch(b)
        y = df.random.gamma([3], [.5, 2.], b, seed=1)
    want = -(y / b).numpy().sum(0)
    np.testing.assert_allclose(tape.gradient(y, b).numpy(), want, rtol=1e-6)


def test_degenerate_and_invalid_parameters():
    """Degenerate parameters give constants, invalid ones NaN; gamma samples are at least tiny."""
    def drawn(function, *parameters, **kwargs):
        draw = getattr(df.random, f"stateless_{function}")
        return draw([4], [1, 2], *parameters, **kwargs).numpy()

    wide = {"output_dtype": "float64"}
    assert drawn("binomial", [0., 5., 9., 3.], [0.5, 0., 1., -0.]).tolist() == [0, 0, 9, 0]
    assert np.isnan(drawn("binomial", [-1., 5., 5., np.nan], [0.5, -.1, 1.1, .5], **wide)).all()
    assert drawn("poisson", [0., -0., 0., -0.]).tolist() == [0] * 4
    assert np.isnan(drawn("poisson", [-1., np.nan, np.inf, -np.inf], dtype="float32")).all()
    assert np.isnan(drawn("gamma", [-1., np.nan, -1., -np.inf])).all()
    tiny = np.finfo("f4").tiny
    assert (drawn("gamma", [0., 1e-5, 1e-3, 1e-9]) >= tiny).all()
    assert (drawn("gamma", [0., -0., -0., 0.]) == tiny).all()


@pytest.mark.parametrize("call, error, text", [
    (lambda: df.random.gamma([2], 1., dtype="int32"), DTypeError, "random_gamma.*int32"),
    (lambda: df.random.stateless_gamma([2], [1, 2, 3], 1.), ShapeError, "random_gamma.*key"),
    (lambda: df.random.stateless_poisson([2], [1, 2], [1., 2., 3.]), Exception, "broadcast"),
    (lambda: df.random.poisson("ab", 2.), DTypeError, "random_poisson.*shape"),
    (lambda: df.random.categorical([1., 2.], 2), ShapeError, "categorical.*2 dimensions"),
    (lambda: df.random.categorical([[1, 2]], 2), DTypeError, "categorical.*int32"),
    (lambda: df.random.categorical([[1., 2.]], -2), (ShapeError, InvalidArgumentError), "-2"),
])
def test_bad_input(call, error, text):
    with pytest.raises(error, match=text):
        call()
