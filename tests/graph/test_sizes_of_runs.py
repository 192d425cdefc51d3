"""Programs in which a traced integer is a size or a bound: results and gradients have the bits of
eager mode."""

import numpy as np
import pytest

import dualflow as df

X = np.arange(12.0).reshape(4, 3)
PROGRAMS = {}


def program(f):
    PROGRAMS[f.__name__] = f
    return f


@program
def slices(x, n):
    return x[:n], x[-n:], x[:-n], x[::n], x[::-n], x[n::-1], x[n, :n], x[..., n:], x[None, :n]


@program
def mean_of_a_slice(x, n):
    y = x[:n]
    return df.reduce_sum(y) / y.shape[0]


@program
def like_a_slice(x, n):
    y = x[:n]
    return df.zeros(y.shape, y.dtype) + y, df.ones_like(y), df.shape(y), df.size(y)


@program
def decided_by_the_size(x, n):
    y = x[:n]
    return y * 2.0 if y.shape[0] > 1 else x * 2.0


@program
def windows_in_a_loop(x, n):
    total = df.constant(0.0, x.dtype)
    for i in df.range(n):
        total = total + df.reduce_sum(x[i:i + 2] ** 2)
    return total


@program
def sizes_that_grow_in_a_loop(x, n):
    total, i = df.constant(0.0, x.dtype), df.constant(0)
    while i < n:
        total = total + df.reduce_sum(df.ones([i + 1], x.dtype)) * df.reduce_sum(x[:i + 1])
        i = i + 1
    return total


@program
def sizes_that_grow_in_a_called_loop(x, n):
    return df.while_loop(
        lambda i, s: i < n,
        lambda i, s: (i + 1, s + df.reduce_sum(df.fill([i + 2, i], 2.0)) * float(4)),
        (df.constant(0), df.constant(0.0)))


@program
def sizes_in_rows_of_a_scan(x, n):
    return df.scan(lambda c, i: (c + df.reduce_sum(x[:i]), c), df.constant(0.0, x.dtype),
                   df.range(n + 2))


@program
def sizes_of_branches(x, n):
    y = x[:n] if n > 1 else x[n:]
    return y * y


@program
def window_of_known_size(x, n):
    y = df.slice(x, [n - 1, 0], [2, n])
    assert y.shape[0] == 2              # known while tracing
    return y * y


@program
def products(x, n):
    return df.matmul(x[:n], x[:n], transpose_b=True), df.nn.softmax(x[:, :n], 1)


@program
def scattered(x, n):
    return df.tensor_scatter_nd_update(x, df.range(n)[:, None], df.zeros([n, 3], x.dtype))


@program
def joined(x, n):
    return df.concat([x[n:], x[:n] * 2.0], 0), df.roll(x, n, 0), df.tile(x[:n], [n, 1])


def leaves(outputs):
    return [np.asarray(y) for y in df.nest.flatten(outputs)]


def same(got, want):
    return [(y.shape, y.dtype, y.tobytes()) for y in leaves(got)] == [
        (y.shape, y.dtype, y.tobytes()) for y in leaves(want)]


def gradient(f):
    def call(x, n):
        with df.GradientTape() as tape:
            tape.watch(x)
            ys = [y * df.cos(y) for y in df.nest.flatten(f(x, n)) if y.dtype.is_floating]
        return tape.gradient(ys, x)
    return call


def second(f):
    def call(x, n):
        with df.GradientTape() as tape:
            tape.watch(x)
            g = gradient(f)(x, n)
            z = df.reduce_sum(g * g) if g is not None else df.reduce_sum(x)
        return tape.gradient(z, x)
    return call


@pytest.mark.parametrize("n", [2, 1, 3])
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_and_gradients_match_eager(name, order, n):
    f = PROGRAMS[name]
    f = (lambda f: f, gradient, second)[order](f)
    x, n = df.constant(X), df.constant(n)
    want = f(x, n)
    for options in ({}, {"passes": False}):
        assert same(df.function(f, **options)(x, n), want)


@pytest.mark.parametrize("signature", [None, [df.TensorSpec([None, 3])]], ids=["any", "given"])
def test_gradient_of_the_first_row_of_an_empty_batch(signature):
    def f(x):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = df.reduce_sum(x[:1] ** 2)
        return tape.gradient(y, x), y

    traced = df.function(f, input_signature=signature)
    around = df.function(lambda x: df.reduce_sum(x[:1] ** 2), input_signature=signature)
    for rows in (3, 0, 1, 0, 5):
        x = df.ones([rows, 3])
        assert same(traced(x), f(x))
        with df.GradientTape() as tape:
            tape.watch(x)
            y = around(x)
        assert same(tape.gradient(y, x), f(x)[0])


@pytest.mark.parametrize("f", [
    lambda x, n: df.tile(x, [n, 1]), lambda x, n: df.zeros([n, 3]), lambda x, n: x[:n],
    lambda x, n: df.math.unsorted_segment_sum(x, [0, 0, 0, 0], n),
    lambda x, n: df.repeat(x, n, axis=0), lambda x, n: df.slice(x, [n, 0], [1, -1]),
    lambda x, n: df.reduce_sum(x, n)], ids=range(7))
def test_invalid_size_in_a_branch_not_taken(f):
    def call(x, n):
        return df.cond(n >= 0, lambda: df.cast(df.reduce_sum(f(x, n)), df.float64),
                       lambda: df.constant(7.0, df.float64))

    def written(x, n):
        y = df.constant(7.0, df.float64)
        if n >= 0:
            y = df.cast(df.reduce_sum(f(x, n)), df.float64)
        return y

    for form in (call, written):
        traced = df.function(form)
        for n in (1, -3):
            assert same(traced(df.constant(X), df.constant(n)),
                        form(df.constant(X), df.constant(n)))


def test_one_trace_serves_all_sizes():
    traced = 0

    @df.function
    def f(x, n):
        nonlocal traced
        traced += 1
        return x[:n], df.zeros([n, 2])

    for n in range(5):
        y, z = f(df.constant(X), df.constant(n))
        assert y.shape == (n, 3) and z.shape == (n, 2)
    assert traced == 1


@pytest.mark.parametrize("call, message", [
    (lambda x, n: df.zeros([n]), "-1"),
    (lambda x, n: df.slice(x, [n, 0], [2, 2]), "2 elements from -1 on of dimension 0"),
    (lambda x, n: df.one_hot([0, 1], n), "depth is -1"),
    (lambda x, n: df.reduce_sum(x, n - 5), "0 <= -4"),
], ids=["zeros", "slice", "one_hot", "axis"])
def test_invalid_sizes_raise(call, message):
    with pytest.raises(df.errors.DualflowError, match=message):
        df.function(call)(df.constant(X), df.constant(-1))


def test_gradient_matches_central_differences():
    n = df.constant(2)
    f = df.function(PROGRAMS["windows_in_a_loop"])
    x = df.constant(X)
    with df.GradientTape() as tape:
        tape.watch(x)
        y = f(x, n)
    direction = np.random.default_rng(0).normal(size=X.shape)
    slope = (f(x + 1e-6 * direction, n) - f(x - 1e-6 * direction, n)) / 2e-6
    np.testing.assert_allclose((tape.gradient(y, x).numpy() * direction).sum(), slope.numpy(),
                               rtol=1e-8)


@pytest.mark.parametrize("periodic", [True, False])
def test_windows_of_every_length(periodic):
    f = df.function(lambda n: df.signal.hann_window(n, periodic))
    for n in range(7):
        np.testing.assert_array_equal(f(df.constant(n)), df.signal.hann_window(n, periodic))
