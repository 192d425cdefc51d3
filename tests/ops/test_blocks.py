"""Every row at sizes just beyond the block constants of the kernels.

Kernels work in blocks: tiles of 1,024 elements, 2,048 columns of a cumulative sum, 4,096 elements
of a reduction or a search, chunks and grains of 16,384. Rows of the table are small, so only these
tests find a wrong offset of the second block. A size in the shapes of the samples is replaced by a
large one wherever it occurs; combinations that become invalid (an attribute holds the old size) are
skipped. By default a size of every second row of an op becomes the largest one that fits, which is
beyond all blocks; all sizes of all rows with ``pytest --exhaustive``.
"""

import dataclasses
import math

import numpy as np
import pytest

import dualflow as df
from dualflow import errors
from tests import sampling
from tests.ops import harness
from tests.ops.case import sample
from tests.ops.cases import CASES

SIZES = (2049, 4099, 16_387)
ELEMENTS_MAX = 400_000
# Elementwise ops have test_values.py::test_threads. Other skipped ops, with reasons:
LEFT_OUT = {
    "unstack": "makes as many tensors as the size",
    "cumprod": "products of many numbers leave the range: below, with numbers next to 1",
    "cumulative_recurrence": "likewise",
    "ctc_beam_search": "scalar code, and slow: a hundred beams in each step",
} | dict.fromkeys(("simple_rnn", "lstm", "gru"), "errors grow with steps: test_recurrent.py")
# Sums of both signs cancel, and the remainder depends on the chunks of the SIMD level.
OF_ONE_SIGN = "reduce_sum", "reduce_mean"
ROWS = [pytest.param(c, "float32" if "float32" in c.dtypes else c.dtypes[0], id=str(c))
        for c in harness.thinned(CASES, 2) if not harness.elementwise(c) and c.op not in LEFT_OUT]


def samples(args):
    found = []
    harness.each(lambda a: found.append(a) if isinstance(a, sample) else None, list(args))
    return found


def stretched(case, old, new):
    """Return the row's arguments with one size replaced; None if they become too large."""
    def change(a):
        if not isinstance(a, sample):
            return a
        return dataclasses.replace(a, shape=tuple([new if d == old else d for d in a.shape]))

    args = harness.each(change, list(case.args))
    return None if any(math.prod(a.shape) > ELEMENTS_MAX for a in samples(args)) else args


def fits(case, args):
    """Return True if the arguments are compatible and no result becomes huge."""
    def is_array(a):
        return isinstance(a, np.ndarray | np.generic)

    def call(*tensors):
        rest = iter(tensors)
        return harness.function(case)(
            *harness.each(lambda a: next(rest) if is_array(a) else a, args), **case.kwargs)

    tensors = []
    harness.each(lambda a: tensors.append(harness.tensor(a)) if is_array(a) else None, args)
    try:
        graph = df.function(call, passes=False).graph_for(*tensors)
    except (errors.DualflowError, TypeError, ValueError):
        return False
    return all(y.size <= ELEMENTS_MAX for node in graph.nodes for y in node.outputs)


@pytest.mark.parametrize("case, dtype", ROWS)
def test_sizes_beyond_a_block(case, dtype):
    sizes = {d for a in samples(case.args) for d in a.shape if d > 1}
    for old in sorted(sizes):
        for new in reversed(SIZES):
            args = stretched(case, old, new)
            if args is not None and fits(case, drawn := harness.make(case, dtype, args)):
                if case.op in OF_ONE_SIGN and dtype != "bool":
                    drawn = [np.abs(a) for a in drawn]
                harness.check(case, drawn)
                if not sampling.every:
                    break


@pytest.mark.parametrize("shape, axis", [((5, 5000), 0), ((3, 5000), 1), ((2, 300, 2100), 1),
                                         ((5000, 3), 0)])
def test_products_along_long_axes(shape, axis):
    x = 1 + np.random.default_rng(0).uniform(-1e-3, 1e-3, shape)
    got = df.math.cumprod(x.astype("f4"), axis).numpy()
    np.testing.assert_allclose(got, np.cumprod(x.astype("f4").astype("f8"), axis), rtol=1e-6)
    a = df.constant(x.astype("f8"))
    with df.GradientTape() as tape:             # by cumulative_recurrence
        tape.watch(a)
        y = df.math.cumprod(a, axis)
    slope = tape.gradient(y, a).numpy()
    want = np.flip(np.cumsum(np.flip(np.cumprod(x, axis), axis), axis), axis) / x
    np.testing.assert_allclose(slope, want, rtol=1e-10)


@pytest.mark.parametrize("f, ref", [
    (df.math.reduce_variance, np.var), (df.math.reduce_std, np.std),
    (df.reduce_logsumexp, lambda x, axis: np.log(np.exp(x).sum(axis=axis)))])
@pytest.mark.parametrize("shape, axis", [((64, 5000), 0), ((3, 40_000), 1), ((2, 40_000, 3), 1)])
def test_reductions_of_later_blocks(f, ref, shape, axis):
    """Each row or column has another mean and maximum, which its later blocks must use."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=shape) + 9 * rng.normal(size=np.delete(shape, axis)).reshape(
        [1 if d == axis else n for d, n in enumerate(shape)])
    np.testing.assert_allclose(f(x.astype("f4"), axis).numpy(), ref(x, axis=axis), rtol=2e-5,
                               atol=2e-5)


@pytest.mark.parametrize("shape, axis", [((4, 9, 5000), 1), ((4, 9, 5000), 2), ((700, 130), 0)])
def test_softmax_of_many_columns(shape, axis):
    x = np.random.default_rng(2).normal(size=shape) * 3
    e = np.exp(x - x.max(axis, keepdims=True))
    want = e / e.sum(axis, keepdims=True)
    np.testing.assert_allclose(df.nn.softmax(x.astype("f4"), axis).numpy(), want, rtol=2e-6)
    np.testing.assert_allclose(df.nn.log_softmax(x.astype("f4"), axis).numpy(), np.log(want),
                               rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("axis", [0, 1])
def test_softmax_of_large_negative_rows(axis):
    """The maximum must not be initialised with 0."""
    x = np.full((3, 4), -1e4, "f4")
    assert (df.nn.softmax(x, axis).numpy() == np.float32(1 / x.shape[axis])).all()
    np.testing.assert_allclose(df.nn.log_softmax(x, axis).numpy(), -np.log(x.shape[axis]),
                               rtol=1e-6)
    np.testing.assert_allclose(df.reduce_logsumexp(x, axis).numpy(), -1e4 + np.log(x.shape[axis]))
    loss = df.nn.sparse_softmax_cross_entropy_with_logits([0, 1, 2], x).numpy()
    np.testing.assert_allclose(loss, np.log(4), rtol=1e-6)


@pytest.mark.parametrize("n", [100_000, 16_385])
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_long_updates(n, dtype):
    rng = np.random.default_rng(3)
    x, y = (rng.integers(-50, 50, n).astype(dtype) for _ in range(2))
    v = df.Variable(x)
    v.assign_add(y)
    np.testing.assert_array_equal(v.numpy(), x + y)
    v.assign_sub(y)
    np.testing.assert_array_equal(v.numpy(), x)


@pytest.mark.parametrize("a, b", [
    ((30, 1, 1023), (30, 3, 1023)), ((30, 1, 1025), (1, 3, 1025)), ((7, 1023), (1, 1023)),
    ((1023, 1), (1, 1025)), ((3, 1, 2049), (1, 5, 1)), ((5, 1, 1), (5, 1031, 3))])
def test_broadcast_runs_of_a_row(a, b):
    """Operands have runs of lengths one below, equal to, and one above a tile."""
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=a), rng.normal(size=b)
    np.testing.assert_array_equal((df.constant(x) - df.constant(y)).numpy(), x - y)
    np.testing.assert_array_equal((df.constant(y) - df.constant(x)).numpy(), y - x)


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
def test_operands_with_different_repeat_periods(order):
    """A tile starts where all operands start over."""
    rng = np.random.default_rng(6)
    args = [rng.normal(size=[(300, 5, 7), (5, 7), (7,)][k]) for k in order]
    args[0] = args[0] > 0
    np.testing.assert_array_equal(df.where(*map(df.constant, args)).numpy(), np.where(*args))


@pytest.mark.parametrize("f, ref", [(df.argmax, np.argmax), (df.argmin, np.argmin)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [10, 4099, 9000, 70_000])
def test_first_of_two_nans_wins(f, ref, dtype, n):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(n, 3)).astype(dtype)
    for column in range(3):
        first, second = sorted(rng.choice(n, 2, replace=False))
        x[[first, second], column] = np.nan
    assert f(df.constant(x), 0).numpy().tolist() == ref(x, 0).tolist()
    rows = np.ascontiguousarray(x.T)
    assert f(df.constant(rows), 1).numpy().tolist() == ref(rows, 1).tolist()
