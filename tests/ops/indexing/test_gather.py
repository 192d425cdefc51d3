"""gather and scatter beyond the rows of the table: invalid input, empty input, random layouts."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dualflow as df
from dualflow import errors
from tests.ops.harness import threads
from tests.ops.indexing.gather import np_gather, np_gather_nd

X = np.arange(10, dtype="float32").reshape(5, 2)

BAD = [
    (lambda: df.gather(X, [0, 1, 2, 7]), errors.OutOfRangeError,
     "gather: indices[3] is 7, expected -5 <= index < 5 (axis 0 of params with shape (5, 2))"),
    (lambda: df.gather(X, [[0, 1], [-3, 0]], axis=1), errors.OutOfRangeError,
     "gather: indices[1, 0] is -3, expected -2 <= index < 2 (axis 1 of params"),
    (lambda: df.gather(X, 5), errors.OutOfRangeError, "gather: indices is 5"),
    (lambda: df.gather(X, [2**40]), errors.OutOfRangeError, "is 1099511627776"),
    (lambda: df.gather(np.zeros((0, 3)), [0]), errors.OutOfRangeError, "(0, 3)"),
    (lambda: df.gather(X, [0.5]), errors.DTypeError, "gather: input 1 is float32 (1,)"),
    (lambda: df.gather(X, [True]), errors.DTypeError, "gather: input 1 is bool (1,)"),
    (lambda: df.gather(X, [0], axis=2), errors.InvalidArgumentError, "gather: axis 2"),
    (lambda: df.gather(1.0, [0]), errors.InvalidArgumentError, "gather: axis 0 of a scalar"),
    (lambda: df.gather(X, [0], batch_dims=2), errors.InvalidArgumentError, "gather: "),
    (lambda: df.gather(X, [[0]], axis=0, batch_dims=1), errors.InvalidArgumentError,
     "gather: batch_dims is 1 with indices of shape (1, 1) and axis 0, expected 0 to 0"),
    (lambda: df.gather(X, [[0], [0]], batch_dims=1), errors.ShapeError,
     "gather: shapes (5, 2) and, of indices, (2, 1) differ in batch dimension 0"),
    (lambda: df.gather_nd(X, [[0, 2]]), errors.OutOfRangeError,
     "gather_nd: indices[0, 1] is 2, expected -2 <= index < 2 (axis 1 of params with shape (5, 2)"),
    (lambda: df.gather_nd(X, 1), errors.ShapeError, "gather_nd: indices is a scalar"),
    (lambda: df.gather_nd(X, [[0, 0, 0]]), errors.ShapeError,
     "3 numbers per index, expected at most 2"),
    (lambda: df.gather_nd(X, [[0]], batch_dims=-1), errors.InvalidArgumentError, "gather_nd: "),
    (lambda: df.scatter_nd([[3]], [1.0], (3,)), errors.OutOfRangeError,
     "scatter_nd: indices[0, 0]"),
    (lambda: df.scatter_nd([[0]], [[1.0]], (3,)), errors.ShapeError,
     "scatter_nd: updates has shape (1, 1), expected (1,)"),
    (lambda: df.scatter_nd([[0]], [1.0], (-3,)), errors.ShapeError, "(-3,)"),
    (lambda: df.scatter_nd([[0]], [True], (3,)), errors.DTypeError, "scatter_nd: input 1 is bool"),
    (lambda: df.scatter_nd([[0, 0]], [1.0], (2**40, 2**40)), errors.SizeOverflowError,
     "scatter_nd"),
    (lambda: df.tensor_scatter_nd_add(X, [[9]], [[1.0, 2.0]]), errors.OutOfRangeError,
     "tensor_scatter_nd_add: indices[0, 0] is 9, expected -5 <= index < 5 (axis 0 of tensor"),
    (lambda: df.tensor_scatter_nd_update(X, [[0]], [1.0]), errors.ShapeError,
     "tensor_scatter_nd_update: updates has shape (1,), expected (1, 2)"),
    (lambda: df.tensor_scatter_nd_max([True], [[0]], [True]), errors.DTypeError, "bool"),
    (lambda: df.boolean_mask(X, [True]), errors.ShapeError, "boolean_mask: mask has shape (1,)"),
    (lambda: df.boolean_mask(X, True), errors.ShapeError, "boolean_mask: mask has shape ()"),
    (lambda: df.boolean_mask(X, [1, 0, 1, 0, 1]), errors.DTypeError, "boolean_mask: mask is int32"),
    (lambda: df.boolean_mask(X, [True, False], axis=3), errors.ShapeError, "boolean_mask"),
    (lambda: df.math.segment_sum(X, [0, 1, 1, 0, 2]), errors.InvalidArgumentError,
     "segment_sum: segment_ids[3] is 0 after 1"),
    (lambda: df.math.segment_sum(X, [0, 1]), errors.ShapeError,
     "segment_sum: segment_ids has shape"),
    (lambda: df.math.unsorted_segment_sum(X, [0, 1, 1, 0, 2], 2), errors.OutOfRangeError,
     "segment_sum: indices[4] is 2, expected index < 2"),
    (lambda: df.math.unsorted_segment_sum(X, [0] * 5, -1), errors.InvalidArgumentError,
     "num_segments is -1"),
]


@pytest.mark.parametrize("call, error, text", BAD, ids=range(len(BAD)))
def test_bad_input(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)


def test_first_bad_index_of_many_is_named():
    indices = np.zeros(1 << 20, "int32")
    indices[[777_777, 900_000]] = 5
    with pytest.raises(errors.OutOfRangeError, match=r"indices\[777777\] is 5"):
        df.gather(X, indices)


def test_empty():
    assert df.gather(X, np.zeros((0, 3), "int64")).shape == (0, 3, 2)
    assert df.gather(np.zeros((3, 0)), [2]).shape == (1, 0)
    assert df.gather_nd(X, np.zeros((2, 0), "int32")).shape == (2, 5, 2)
    assert df.scatter_nd(np.zeros((0, 1), "int32"), np.zeros(0), (3,)).numpy().tolist() == [0, 0, 0]
    assert df.scatter_nd(np.zeros((1, 1), "int32"), np.zeros((1, 0)), (3, 0)).shape == (3, 0)
    assert df.boolean_mask(X, np.zeros(5, bool)).shape == (0, 2)
    assert df.boolean_mask(np.zeros((0, 3)), np.zeros((0, 3), bool)).shape == (0,)
    assert df.math.segment_sum(np.zeros((0, 2)), np.zeros(0, "int32")).shape == (0, 2)
    assert df.where(df.constant(True)).shape == (1, 0)


@pytest.mark.parametrize("width", [1, 2, 3, 7, 15, 16, 17, 63, 64, 65, 129])
def test_rows_of_every_width(width):
    rng = np.random.default_rng(width)
    x = rng.integers(0, 255, (50, width)).astype("uint8")
    indices = rng.integers(-50, 50, 333)
    np.testing.assert_array_equal(df.gather(x, indices).numpy(), x[indices])


@settings(max_examples=60)
@given(st.data())
def test_random_gather(data):
    ndim = data.draw(st.integers(1, 5))
    shape = data.draw(st.lists(st.integers(1, 4), min_size=ndim, max_size=ndim))
    axis = data.draw(st.integers(0, ndim - 1))
    batch = data.draw(st.integers(0, min(axis, 3)))
    rest = data.draw(st.lists(st.integers(0, 3), max_size=2))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    x = rng.normal(size=shape).astype(data.draw(st.sampled_from(["float32", "int8", "float64"])))
    indices = rng.integers(-shape[axis], shape[axis], (*shape[:batch], *rest))
    indices = indices.astype(data.draw(st.sampled_from(["int32", "int64"])))
    got = df.gather(x, indices, axis=axis, batch_dims=batch).numpy()
    np.testing.assert_array_equal(got, np_gather(x, indices, axis, batch))
    spread = df.ops.indexing.gather.gather_grad(got.astype("float64"), indices, shape, axis,
                                                batch).numpy()
    ones = df.ops.indexing.gather.gather_grad(np.ones(got.shape), indices, shape, axis,
                                              batch).numpy()
    np.testing.assert_allclose(spread, ones * x, rtol=1e-12)


@settings(max_examples=40)
@given(st.data())
def test_random_gather_nd(data):
    ndim = data.draw(st.integers(1, 4))
    shape = data.draw(st.lists(st.integers(1, 4), min_size=ndim, max_size=ndim))
    batch = data.draw(st.integers(0, min(ndim - 1, 3)))
    depth = data.draw(st.integers(1, ndim - batch))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    x = rng.normal(size=shape)
    size = (*shape[:batch], data.draw(st.integers(1, 5)))
    indices = np.stack([rng.integers(-n, n, size) for n in shape[batch:batch + depth]], -1)
    got = df.gather_nd(x, indices, batch_dims=batch).numpy()
    np.testing.assert_array_equal(got, np_gather_nd(x, indices, batch))


@pytest.mark.parametrize("width", [1, 3, 40, 300])
def test_duplicates_are_added_in_order(width):
    rng = np.random.default_rng(0)
    ids, data = rng.integers(-1, 40, 30_000), rng.normal(size=(30_000, width)).astype("float32")
    want = np.zeros((40, width))            # long sums: in float64, rounded once
    np.add.at(want, ids[ids >= 0], data[ids >= 0])
    want = want.astype("float32")
    for n in (1, 2, 3):
        with threads(n):
            got = df.math.unsorted_segment_sum(data, ids, 40).numpy()
        np.testing.assert_array_equal(got, want)


def test_update_keeps_the_last_duplicate_and_its_gradient():
    x, updates = df.constant([1.0, 2.0, 3.0]), df.constant([7.0, 8.0, 9.0])
    with df.GradientTape() as tape:
        tape.watch([x, updates])
        y = df.tensor_scatter_nd_update(x, [[0], [2], [0]], updates) * [2.0, 3.0, 4.0]
    assert y.numpy().tolist() == [18.0, 6.0, 32.0]
    gx, gu = tape.gradient(y, [x, updates])
    assert gx.numpy().tolist() == [0.0, 3.0, 0.0]
    assert gu.numpy().tolist() == [0.0, 4.0, 2.0]


def test_second_derivative_with_respect_to_updates():
    x, updates = df.constant([1.0, 2.0, 3.0]), df.constant([7.0, 8.0, 9.0])
    with df.GradientTape() as outer:
        outer.watch([x, updates])
        with df.GradientTape() as inner:
            inner.watch([x, updates])
            y = df.tensor_scatter_nd_update(x, [[0], [2], [0]], updates) ** 3.0
        gx, gu = inner.gradient(y, [x, updates])
        z = df.reduce_sum(gx) * 10.0 + df.reduce_sum(gu * [1.0, 2.0, 3.0])
    hx, hu = outer.gradient(z, [x, updates])
    assert hx.numpy().tolist() == [0.0, 10.0 * 6.0 * 2.0, 0.0]
    assert hu.numpy().tolist() == [0.0, 2.0 * 6.0 * 8.0, 3.0 * 6.0 * 9.0]


def test_gradient_of_scatter_max_ties():
    x, updates = df.constant([1.0, 5.0]), df.constant([1.0, 0.0, 9.0])
    with df.GradientTape() as tape:
        tape.watch([x, updates])
        y = df.tensor_scatter_nd_max(x, [[0], [0], [1]], updates)
    gx, gu = tape.gradient(y, [x, updates])
    assert gx.numpy().tolist() == [0.5, 0.0]
    assert gu.numpy().tolist() == [0.5, 0.0, 1.0]


@pytest.mark.parametrize("name", ["tensor_scatter_nd_max", "tensor_scatter_nd_min"])
@pytest.mark.parametrize("width", [(), (3,)])
def test_nan_updates_propagate(name, width):
    x, updates = np.zeros((4, *width), "f4"), np.ones((3, *width), "f4")
    updates[1] = np.nan
    y = getattr(df, name)(x, [[0], [2], [2]], updates).numpy()
    assert np.isnan(y[2]).all() and not np.isnan(y[[0, 1, 3]]).any()


def test_gradient_of_products_with_zeros():
    """The gradient of a factor is the product of the others; elements have one, two or no factor
    0."""
    tensor = df.constant([2.0, 3.0, 0.0, 5.0], df.float64)
    updates = df.constant([0.0, 4.0, 0.0, 0.0, 6.0, 7.0, 8.0], df.float64)
    at = [[0], [0], [1], [1], [2], [3], [3]]
    with df.GradientTape() as tape:
        tape.watch([tensor, updates])
        y = df.tensor_scatter_nd_mul(tensor, at, updates)
    assert y.tolist() == [0, 0, 0, 280]
    slopes = tape.gradient(y, [tensor, updates])
    assert [g.tolist() for g in slopes] == [[0, 0, 6, 56], [8, 0, 0, 0, 0, 40, 35]]


def test_empty_segments():
    x, ids = df.constant([[1., 2.], [3., 4.]]), df.constant([2, 0])
    for name, empty in (("max", -np.inf), ("min", np.inf), ("prod", 1), ("mean", 0),
                        ("sqrt_n", 0)):
        f = getattr(df.math, f"unsorted_segment_{name}")
        made = f(x, ids, 4).numpy()
        assert (made[[0, 2]] == [[3, 4], [1, 2]]).all() and (made[[1, 3]] == empty).all(), name
        assert f(x[:0], ids[:0], 2).numpy().tolist() == [[empty] * 2] * 2
        for call in (f, df.function(f)):
            with pytest.raises(df.errors.OutOfRangeError):
                call(x, ids, 2)
    with pytest.raises(df.errors.InvalidArgumentError, match="sorted"):
        df.math.segment_max(x, ids)
    with pytest.raises(df.errors.DTypeError, match="segment_mean: data is int32"):
        df.math.segment_mean([1, 2], [0, 0])
