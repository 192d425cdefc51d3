"""Inner functions, branches and loop bodies return values whose sizes, or whose numbers, depend on
data; the outer function uses the sizes."""

import numpy as np
import pytest

import dualflow as df
from dualflow.errors import TracedValueError

X = df.constant([[1., 0., 2.], [0., 0., 3.]])


def sparse_of_size(x):
    """Return a sparse tensor of which only a number depends on data."""
    n = df.cast(df.reduce_sum(df.stop_gradient(x)), df.int32)
    return df.SparseTensor([[0, 0], [1, 2]], df.stack([x[0, 0], x[1, 2]]), [n, 3])


KINDS = {
    "size": (sparse_of_size, df.sparse.to_dense),
    "sparse": (df.sparse.from_dense, df.sparse.to_dense),
    "sum": (lambda x: df.sparse.reduce_sum(sparse_of_size(x), 1), lambda y: y),
    "ragged": (lambda x: df.RaggedTensor.from_tensor(x, padding=0.), lambda r: r.to_tensor()),
    "rows": (lambda x: df.RaggedTensor.from_row_lengths(
        x[x > 0.], df.math.count_nonzero(x, 1)), lambda r: r[1:].to_tensor(1.)),
    "mask": (lambda x: df.boolean_mask(x, x > 0.), lambda y: y * df.cast(df.size(y), y.dtype)),
    "where": (lambda x: df.gather_nd(x, df.where(x > 0.)), lambda y: df.tile(y, [2])),
    "unique": (lambda x: df.reshape(x, [-1]) * df.cast(df.shape(
        df.unique(df.reshape(x, [-1]))[0])[0], x.dtype), lambda y: y),
    "zeros": (lambda x: x * df.cast(df.size(df.zeros([df.cast(x[0, 2], df.int32)])), x.dtype),
              lambda y: y),
}


def called(f, x):
    return f(x)


def called_in_a_branch(f, x):
    return df.cond(x[0, 0] > 0., lambda: f(x), lambda: f(x * 2.))


def called_in_the_other_branch(f, x):
    return df.cond(x[0, 1] > 0., lambda: f(x), lambda: f(x * 2.))


def called_in_a_python_branch(f, x):
    y = f(x)
    if x[0, 0] > 0.:
        y = f(x * 3.)
    return y


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("call", [called, called_in_a_branch, called_in_the_other_branch,
                                  called_in_a_python_branch])
@pytest.mark.parametrize("depth", [1, 2])
def test_results(kind, call, depth):
    make, use = KINDS[kind]

    def outer(wrap, x):
        f = make
        for _ in range(depth):
            f = wrap(lambda x, f=f: f(x))
        with df.GradientTape() as tape:
            tape.watch(x)
            y = use(call(f, x))
            loss = df.reduce_sum(y * y)
        return y, tape.gradient(loss, x)

    compare(outer, X)


@pytest.mark.parametrize("kind", KINDS)
def test_loop_bodies(kind):
    make, use = KINDS[kind]

    def outer(wrap, x):
        f = wrap(make)

        def step(i, y):
            return i + 1, y * 2. + df.reduce_sum(use(f(x * (1. + y * 0.)))) + df.cast(i, y.dtype)

        with df.GradientTape() as tape:
            tape.watch(x)
            _, y = df.while_loop(lambda i, y: i < 3, step, (0, df.constant(1.)))
        return y, tape.gradient(y, x)

    compare(outer, X)


@pytest.mark.parametrize("kind", ["size", "sparse", "ragged"])
def test_composite_carries(kind):
    make, use = KINDS[kind]

    def outer(wrap, x):
        f = wrap(lambda s, x: s.with_values(s.values * df.reduce_sum(x)))
        s = wrap(make)(x)
        with df.GradientTape() as tape:
            tape.watch(x)
            for _ in df.range(2):
                s = f(s, x) if kind != "ragged" else s.with_flat_values(
                    s.flat_values * df.reduce_sum(x))
            y = df.reduce_sum(use(s))
        return y, tape.gradient(y, x)

    compare(outer, X)


def test_numbers_returned_by_themselves():
    @df.function
    def inner(x):
        s = sparse_of_size(x)
        return s.dense_shape[0], s

    @df.function
    def outer(x):
        n, s = inner(x)
        return df.zeros([n]), df.range(df.cast(s.dense_shape[0], df.int32)), s

    zeros, numbers, s = outer(X)
    assert zeros.shape == (6,)
    assert numbers.tolist() == [0, 1, 2, 3, 4, 5]
    assert s.shape == (6, 3)


@pytest.mark.parametrize("number", [lambda x: sparse_of_size(x).dense_shape[0],
                                    lambda x: df.where(x > 0.).shape[0]])
def test_number_of_a_branch_used_outside(number):
    @df.function
    def f(x):
        kept = []

        def branch():
            kept.append(number(x))
            return x

        df.cond(x[0, 0] > 0., branch, lambda: x)
        return df.zeros([kept[0]])

    with pytest.raises(TracedValueError, match=r"was made inside cond.*return it from the func"):
        f(X)


def compare(f, x):
    """Check that `f(wrap, x)` returns the same bits in plain Python, traced and without passes."""
    want = f(lambda g: g, x)
    for passes in (False, True):
        def wrap(g, passes=passes):
            return df.function(g, passes=passes)
        for got in (wrap(lambda x, w=wrap: f(w, x))(x), f(wrap, x)):
            for a, b in zip(got, want, strict=True):
                np.testing.assert_array_equal(a, b)
