"""Rewriting passes on every dtype: ops of constants, broadcasts and swapped operands, updates of
variables, reductions in other shapes, products of transposed, constant and broadcast matrices.
Results have the bits of eager mode."""

import itertools

import numpy as np
import pytest

import dualflow as df
from dualflow import _core
from tests import sampling
from tests.graph.all_numbers import check, results, sample
from tests.graph.build import assert_same
from tests.tables import DTYPES, OPS, attrs_of, dtypes_of

SLOW = 20           # ns per element
REDUCTIONS = ["reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_mean", "reduce_any",
              "reduce_all", "reduce_euclidean_norm", "reduce_logsumexp", "reduce_variance",
              "reduce_std"]


def given(op, x, y):
    """Return operands of an op from two tensors of its key dtype, without values that raise."""
    values = [x, y, x, y][:op.n_in]
    if op.n_in == 3 and op.key == 1:
        values = [df.cast(y, df.bool), x, y]
    if op.may_raise(x.dtype):
        at = op.checked_input
        values[at] = df.where(df.equal(values[at], df.zeros_like(values[at])),
                              df.ones_like(values[at]), values[at])
        if x.dtype.is_integer and not x.dtype.is_unsigned:      # no quotient out of range
            values[at] = df.abs(values[at] // df.cast(df.constant(2), x.dtype)) + df.cast(
                df.constant(1), x.dtype)
    return values


def compare(f, *args):
    """Compare the optimised graph with eager mode."""
    want, got = results(f, *args), results(df.function(f), *args)
    assert isinstance(want, list), want         # the op supports the dtype
    for g, w in zip(got, want, strict=True):
        assert_same(g, w)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_elementwise(op):
    """Fold the op, apply it to broadcasts, and next to the op with swapped operands."""
    for dtype in sampling.part(dtypes_of(op), 2, OPS.index(op)):
        a, b = sample(dtype)
        n = 600 if op.cost < SLOW else 100
        a, b = a[-n:], b[-n:]
        for attrs in attrs_of(op, dtype):
            def f(x, y, attrs=attrs):
                return _core.apply(op.name, *given(op, x, y), **attrs)

            compare(lambda x, y, f=f: (f(x, y), f(y, x)), a, b)
            compare(lambda f=f, a=a, b=b: (f(a, b), f(b[:1], a[:7])))
            row = df.reshape(a[:5], (1, 5))
            compare(lambda x, y, f=f: f(df.broadcast_to(x, (3, 5)), df.broadcast_to(y, (3, 5))),
                    row, row)
            compare(lambda x, y, f=f: f(df.broadcast_to(x, (3, 5)), df.broadcast_to(y, (3, 5))),
                    a[0], row)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, dtype):
    """Reshape results; reduce splat constants and rows of one element."""
    def reduced(x, axes, keepdims):
        return _core.apply(name, x, axes=axes, keepdims=keepdims)

    def pattern(a, b, c):
        x = df.reshape(a[-120:], (4, 30))
        return (df.expand_dims(reduced(x, [1], False), 1), df.squeeze(reduced(x, [0], True)),
                reduced(df.reshape(x, (4, 30, 1)), [2], False), reduced(x, [], False),
                reduced(df.transpose(x), [0], True), reduced(df.broadcast_to(x[0, 0], (4, 7)), [1],
                                                             False),
                reduced(df.broadcast_to(x[:, :1], (4, 3)), [0, 1], True))

    check(pattern, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_updates(dtype):
    """Apply successive assignments that become sums, with reads of earlier values."""
    def run(wrap):
        a, b = sample(dtype)
        v = df.Variable(a, trainable=False)

        def f(x):
            old = v.value()
            v.assign_add(x)
            v.assign_sub(old)
            v.assign_add(x)
            return v.value(), df.maximum(old, x)

        f = wrap(f)
        return [y for _ in range(2) for y in (*f(b), v.value())]

    try:
        want = run(lambda f: f)
    except df.errors.DualflowError:
        with pytest.raises(df.errors.DualflowError):
            run(df.function)
        return
    for g, w in zip(run(df.function), want, strict=True):
        assert_same(g, w)


PRODUCTS = [x for x in DTYPES if x not in ("bool", "int8", "int16", "uint8", "uint16")]
SIZES = [1, 2, 7, 33, 70]


def matrices(dtype, m, k, n):
    """Return small integers and fractions, whose sums in another order have other bits."""
    rng = np.random.default_rng([m, k, n])
    draw = lambda *shape: df.cast(df.constant(rng.normal(size=shape) * 9), dtype)  # noqa: E731
    return draw(m, k), draw(k, n), draw(k, m), draw(n, k), draw(n)


@pytest.mark.parametrize("dtype", PRODUCTS)
def test_products(dtype):
    activation = df.square if df.as_dtype(dtype).is_complex else df.nn.relu
    sizes = list(itertools.product(SIZES, repeat=3))
    for m, k, n in sizes[::3]:
        a, b, at, bt, bias = matrices(dtype, m, k, n)

        def all_ways(a, b, at, bt, bias):
            return (df.matmul(df.transpose(at), b), df.matmul(a, df.transpose(bt)),
                    df.matmul(df.transpose(at), df.transpose(bt)),
                    df.matmul(at, b, transpose_a=True) + bias,
                    activation(df.matmul(a, bt, transpose_b=True) - bias),
                    df.transpose(df.matmul(df.transpose(b), df.transpose(a))),
                    df.reduce_sum(df.matmul(a, b) * bias, 0))

        compare(all_ways, a, b, at, bt, bias)
        compare(lambda a, at, b=b, bt=bt, bias=bias, f=all_ways: f(a, b, at, bt, bias), a, at)
        compare(lambda a, b=b: (df.matmul(a, df.broadcast_to(b[:1], b.shape)),
                                df.matmul(a, df.ones_like(b))), a)
