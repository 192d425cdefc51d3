"""Sorting, searching and counting beyond the rows of the table."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dualflow as df
from dualflow import errors
from tests.ops.case import NUMBERS
from tests.ops.harness import threads

X = np.arange(6, dtype="float32").reshape(2, 3)
DTYPES = [*NUMBERS, "bool"]

BAD = [
    (lambda: df.sort(1.0), errors.ShapeError, "sort: got a scalar"),
    (lambda: df.sort(X, axis=2), errors.InvalidArgumentError,
     "sort: axis 2 for values of shape (2, 3)"),
    (lambda: df.sort(X, direction="UP"), errors.InvalidArgumentError, "sort: direction is 'UP'"),
    (lambda: df.argsort(X, axis=-3), errors.InvalidArgumentError, "argsort: axis -3"),
    (lambda: df.math.top_k(X, 4), errors.InvalidArgumentError,
     "top_k: k is 4 for input of shape (2, 3), expected 0 to 3"),
    (lambda: df.math.top_k(X, -1), errors.InvalidArgumentError, "top_k: k is -1"),
    (lambda: df.math.top_k(1.0, 1), errors.ShapeError, "top_k: got a scalar"),
    (lambda: df.searchsorted(X, [1.0]), errors.ShapeError,
     "searchsorted: sorted_sequence has shape"),
    (lambda: df.searchsorted(1.0, 1.0), errors.ShapeError, "searchsorted: "),
    (lambda: df.searchsorted(X[0], 1.0, side="top"), errors.InvalidArgumentError, "side is 'top'"),
    (lambda: df.searchsorted(X[0], 1.0, out_type="float32"), errors.DTypeError,
     "out_type is float32"),
    (lambda: df.unique(X), errors.ShapeError, "unique: x has shape (2, 3), expected 1 dim"),
    (lambda: df.unique(X[0], out_idx="int8"), errors.DTypeError, "unique: out_idx is int8"),
    (lambda: df.math.bincount([1, -2]), errors.OutOfRangeError, "bincount: element 1 of arr is -2"),
    (lambda: df.math.bincount([1.0]), errors.DTypeError, "bincount: input 0 is float32 (1,)"),
    (lambda: df.math.bincount([1], minlength=-1), errors.InvalidArgumentError, "minlength is -1"),
    (lambda: df.math.bincount(np.array([2**62])), (errors.SizeOverflowError, MemoryError),
     "bincount"),
    (lambda: df.math.in_top_k([0], X, 1), errors.ShapeError, "in_top_k: targets has shape (1,)"),
    (lambda: df.math.in_top_k([0.0, 1.0], X, 1), errors.DTypeError, "in_top_k: input 0 is float32"),
    (lambda: df.math.confusion_matrix([0, 3], [0, 1], 3), errors.OutOfRangeError,
     "confusion_matrix: labels[1] is 3, expected 0 <= class < 3"),
    (lambda: df.math.confusion_matrix([0], [0, 1]), errors.ShapeError,
     "confusion_matrix: labels has"),
    (lambda: df.math.confusion_matrix([0], [-1]), errors.OutOfRangeError, "predictions is -1"),
]


@pytest.mark.parametrize("call, error, text", BAD, ids=range(len(BAD)))
def test_bad_input(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)


def test_empty():
    assert df.sort(np.zeros((3, 0))).shape == (3, 0)
    assert df.argsort(np.zeros((0, 3)), axis=0).shape == (0, 3)
    assert df.math.top_k(np.zeros((2, 3)), 0).values.shape == (2, 0)
    assert df.searchsorted(np.zeros(0), [1.0, 2.0]).numpy().tolist() == [0, 0]
    assert df.unique(np.zeros(0)).y.shape == (0,)
    assert df.math.bincount(np.zeros(0, "int32")).shape == (0,)
    assert df.math.bincount(np.zeros(0, "int32"), minlength=3).numpy().tolist() == [0, 0, 0]
    assert df.math.confusion_matrix(np.zeros(0, "int32"), np.zeros(0, "int32")).shape == (0, 0)


def numbers(rng, dtype, shape):
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype.startswith("float"):
        x = rng.normal(size=shape).round(rng.integers(0, 4)).astype(dtype)
        x[rng.random(shape) < 0.05] = np.nan
        x[rng.random(shape) < 0.05] = -np.inf
        x[rng.random(shape) < 0.05] = -0.0
        return x
    info = np.iinfo(dtype)
    few = rng.random() < 0.5
    return rng.integers(-3 if few and info.min else info.min, 3 if few else info.max, shape,
                        dtype, endpoint=True)


@settings(max_examples=150)
@given(seed=st.integers(0, 10**6), dtype=st.sampled_from(DTYPES),
       n=st.one_of(st.integers(1, 200), st.sampled_from([1023, 1024, 1025, 5000, 20000])),
       rows=st.integers(1, 35))
def test_random_rows(seed, dtype, n, rows):
    rng = np.random.default_rng(seed)
    x = numbers(rng, dtype, (rows if n <= 1100 else 2, n))
    order = df.argsort(x).numpy()
    np.testing.assert_array_equal(order, np.argsort(x, -1, kind="stable"))
    np.testing.assert_array_equal(df.sort(x).numpy(), np.sort(x, -1))
    down = df.argsort(x, direction="DESCENDING").numpy()
    picked = np.take_along_axis(x, down, -1)
    np.testing.assert_array_equal(df.sort(x, direction="DESCENDING").numpy(), picked)
    for a, i in zip(picked, down, strict=True):
        known = a == a
        assert not known[np.argmin(known):].any() or known.all()      # NaN is sorted last
        real = a[known].astype("float64") if dtype != "int64" else a[known]
        assert np.all(real[:-1] >= real[1:])
        tied = real[:-1] == real[1:]
        assert np.all(np.diff(i[known])[tied] > 0)
    k = int(rng.integers(0, n + 1) if seed % 2 else min(n, seed % 12))
    values, indices = df.math.top_k(x, k)
    np.testing.assert_array_equal(indices.numpy(), down[:, :k])
    np.testing.assert_array_equal(values.numpy(), picked[:, :k])


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_first_few_of_a_row(dtype):
    """Elements are inserted into the first k, 256 at a time."""
    rng = np.random.default_rng(0)
    for n in (8, 17, 130, 256, 257, 700):
        for rows in (numbers(rng, dtype, (4, n)), np.sort(numbers(rng, dtype, (4, n)), -1)):
            order = df.argsort(rows, direction="DESCENDING").numpy()
            for k in (1, 2, 5, 15, 16, 17):
                if k > n:
                    continue
                values, indices = df.math.top_k(rows, k)
                np.testing.assert_array_equal(indices.numpy(), order[:, :k])
                picked = np.take_along_axis(rows, order[:, :k], -1)
                assert values.numpy().tobytes() == picked.tobytes()


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_positions_among_sorted_numbers(dtype, side):
    rng = np.random.default_rng(0)
    for n in (0, 1, 2, 3, 7, 64, 301):
        row, values = np.sort(numbers(rng, dtype, (n,))), numbers(rng, dtype, (400,))
        if dtype.startswith("float"):
            values[:3] = np.nan, np.inf, -np.inf
        np.testing.assert_array_equal(df.searchsorted(row, values, side=side).numpy(),
                                      np.searchsorted(row, values, side))


@pytest.mark.parametrize("axis", [0, 1, 2, -2])
def test_other_axes(axis):
    x = np.random.default_rng(0).normal(size=(5, 6, 7))
    np.testing.assert_array_equal(df.sort(x, axis).numpy(), np.sort(x, axis))
    np.testing.assert_array_equal(df.argsort(x, axis).numpy(), np.argsort(x, axis))


def test_sort_with_any_thread_count():
    x = np.random.default_rng(0).normal(size=(3, 300_000)).astype("float32")
    for n in (1, 2, 3):
        with threads(n):
            np.testing.assert_array_equal(df.sort(x).numpy(), np.sort(x, -1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [65_536, 100_001])
def test_long_rows(dtype, n):
    x = numbers(np.random.default_rng(n), dtype, (2, n))
    order = np.argsort(x, -1, kind="stable")
    np.testing.assert_array_equal(df.sort(x).numpy(), np.sort(x, -1))
    down = df.argsort(x, direction="DESCENDING").numpy()
    np.testing.assert_array_equal(df.math.top_k(x, n // 2).indices.numpy(), down[:, :n // 2])
    for count in (1, 3):
        with threads(count):
            np.testing.assert_array_equal(df.argsort(x).numpy(), order)


def test_long_rows_of_equal_and_extreme_values():
    same = np.full(70_000, 7)
    np.testing.assert_array_equal(df.argsort(same).numpy(), np.arange(70_000))
    ends = np.resize(np.array([2**63 - 1, -(2**63), 0]), 70_000)
    np.testing.assert_array_equal(df.sort(ends).numpy(), np.sort(ends))


def test_sort_gradient_along_other_axis():
    x = df.constant(np.random.default_rng(0).normal(size=(4, 3)))
    weights = np.arange(12.0).reshape(4, 3)
    with df.GradientTape() as tape:
        tape.watch(x)
        y = df.sort(x, axis=0, direction="DESCENDING") * weights
    want = np.zeros((4, 3))
    np.put_along_axis(want, np.argsort(-x.numpy(), 0), weights, 0)
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), want)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8", "uint32",
                                   "uint64"])
def test_random_searchsorted(dtype, side):
    rng = np.random.default_rng(1)
    for n in (1, 2, 3, 17, 1000):
        x, v = np.sort(numbers(rng, dtype, n)), numbers(rng, dtype, 500)
        got = df.searchsorted(x, v, side=side, out_type="int64").numpy()
        np.testing.assert_array_equal(got, np.searchsorted(x, v, side))


@pytest.mark.parametrize("dtype", DTYPES)
def test_random_unique(dtype):
    x = numbers(np.random.default_rng(3), dtype, 3000)
    y, idx, count = (t.numpy() for t in df.unique_with_counts(x))
    np.testing.assert_array_equal(y[idx], x)
    np.testing.assert_array_equal(count, np.bincount(idx))
    assert len(y) == len(np.unique(x))
    assert np.all(np.diff([np.argmax(idx == u) for u in range(len(y))]) > 0)


def test_bincount_bounds_and_weights():
    rng = np.random.default_rng(0)
    arr, weights = rng.integers(0, 20, 500), rng.normal(size=500)
    for low, high in ((None, None), (30, None), (None, 7), (30, 7)):
        want = np.bincount(arr, weights, minlength=low or 0)[:high]
        got = df.math.bincount(arr, weights, low, high).numpy()
        np.testing.assert_allclose(got, want, rtol=1e-12)
        count = df.math.bincount(arr, minlength=low, maxlength=high, dtype="int64").numpy()
        np.testing.assert_array_equal(count, np.bincount(arr, minlength=low or 0)[:high])


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("high", [1, 100, 512, 513, 5000])
def test_bincount_of_few_and_many_values(high, dtype):
    """Up to 512 counts are kept in tables, where neighbouring elements go to different ones."""
    rng = np.random.default_rng(high)
    for n in (0, 1, 2, 3, 515, 4096, 4099):
        for arr in (rng.integers(0, high, n), np.full(n, high - 1)):
            got = df.math.bincount(arr.astype(dtype), minlength=high).numpy()
            np.testing.assert_array_equal(got, np.bincount(arr, minlength=high))
            got = df.math.bincount(arr.astype(dtype), maxlength=high // 2, dtype="int64").numpy()
            np.testing.assert_array_equal(got, np.bincount(arr)[:high // 2])
    arr[-3] = -1
    with pytest.raises(errors.OutOfRangeError, match="element 4096 of arr is -1"):
        df.math.bincount(arr.astype(dtype))


def test_in_top_k_ties_and_bad_rows():
    predictions = [[1.0, 2.0, 2.0], [1.0, np.nan, 2.0], [3.0, 2.0, 1.0]]
    assert df.nn.in_top_k([1, 2, 5], predictions, 1).numpy().tolist() == [True, False, False]


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "float32"])
@pytest.mark.parametrize("n", [33, 64, 65, 128, 129, 256, 257, 1000, 4097, 65_537])
def test_lengths_at_which_algorithms_change(dtype, n):
    """Values are random, few, ascending, descending, or equal; single rows and batches."""
    rng = np.random.default_rng(n)
    rows = np.stack([rng.integers(-2**31, 2**31, n), rng.integers(0, 3, n), np.arange(n),
                     -np.arange(n), np.full(n, 7)]).astype("int32").astype(dtype)
    for x in (rows, rows[:1], np.resize(rows[:, :300], (20, min(n, 300)))):
        np.testing.assert_array_equal(df.sort(x).numpy(), np.sort(x))
        want = np.sort(x)[..., ::-1]
        np.testing.assert_array_equal(df.sort(x, direction="DESCENDING").numpy(), want)
