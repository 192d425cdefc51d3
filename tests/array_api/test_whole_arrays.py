"""Functions of whole arrays against NumPy: reductions, sorting, sets, shapes, indexing,
creation."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

import dualflow as df
from tests.array_api.against import (
    ALL,
    FLOATS,
    INTS,
    NUMBERS,
    SHAPES,
    arrays,
    assert_same,
    axes,
    check,
    quick,
    small,
    xp,
)

FILLED = hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4)
AXIS = hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4)


def wide(x):
    """Return the dtype of sums; the default integer dtype is int32."""
    if x.dtype.kind in "iu" and x.dtype.itemsize < 4:
        return np.dtype("int32" if x.dtype.kind == "i" else "uint32")
    return x.dtype


@pytest.mark.parametrize("name", ["sum", "prod"])
@given(st.data())
@quick
def test_sums(name, data):
    x = data.draw(small(NUMBERS))
    axis, keepdims = axes(data, x.ndim), data.draw(st.booleans())
    got = getattr(xp, name)(df.constant(x), axis=axis, keepdims=keepdims)
    want = getattr(np, name)(x, axis=axis, keepdims=keepdims, dtype=wide(x))
    assert_same(got, want, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("name, dtypes", [("mean", NUMBERS), ("std", FLOATS), ("var", FLOATS)])
@given(st.data())
@quick
def test_moments(name, dtypes, data):
    x = data.draw(small(dtypes))
    more = {} if name == "mean" else {"correction": data.draw(st.sampled_from([0, 1, 0.5, 3]))}
    check(name, x, axis=axes(data, x.ndim), keepdims=data.draw(st.booleans()), **more, rtol=1e-5,
          atol=1e-5)


@pytest.mark.parametrize("name", ["max", "min"])
@given(st.data())
@quick
def test_extremes(name, data):
    x = data.draw(arrays(NUMBERS, FILLED))
    check(name, x, axis=axes(data, x.ndim), keepdims=data.draw(st.booleans()))


@pytest.mark.parametrize("name", ["all", "any", "count_nonzero"])
@given(st.data())
@quick
def test_any_and_all(name, data):
    x = data.draw(arrays(ALL))
    check(name, x, axis=axes(data, x.ndim), keepdims=data.draw(st.booleans()))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@given(st.data())
@quick
def test_argmax_and_argmin(name, data):
    x = data.draw(arrays(ALL, FILLED))
    check(name, x, axis=axes(data, x.ndim, several=False), keepdims=data.draw(st.booleans()))


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
@given(st.data())
@quick
def test_cumulative(name, data):
    x = data.draw(small(NUMBERS, AXIS))
    check(name, x, axis=data.draw(st.integers(-x.ndim, x.ndim - 1)), dtype=wide(x).name,
          include_initial=data.draw(st.booleans()), rtol=1e-5, atol=1e-4)
    check(name, x.ravel(), dtype=wide(x).name, rtol=1e-5, atol=1e-4)


@given(st.data())
@quick
def test_order(data):
    x = data.draw(arrays(ALL, AXIS))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    check("sort", x, axis=axis)
    got = xp.argsort(df.constant(x), axis=axis)
    assert_same(got, np.argsort(x, axis=axis, stable=True))
    down = xp.argsort(df.constant(x), axis=axis, descending=True)
    assert_same(xp.take_along_axis(df.constant(x), down, axis=axis),
                xp.sort(df.constant(x), axis=axis, descending=True).numpy())
    assert_same(check("take_along_axis", x, got.numpy(), axis=axis), np.sort(x, axis=axis))


def test_descending_order_is_stable():
    assert xp.argsort(xp.asarray([1, 2, 1, 2]), descending=True).tolist() == [1, 3, 0, 2]


@given(st.data())
@quick
def test_searchsorted(data):
    row = data.draw(small(NUMBERS, AXIS))
    row, x = np.sort(row.ravel()), data.draw(small([row.dtype.name]))
    side = data.draw(st.sampled_from(["left", "right"]))
    check("searchsorted", row, x, side=side)
    check("searchsorted", row[::-1].copy(), x, side=side,
          sorter=np.arange(row.size)[::-1].copy())


@pytest.mark.parametrize("name", ["unique_all", "unique_counts", "unique_inverse",
                                  "unique_values"])
@given(st.data())
@quick
def test_sets(name, data):
    x = data.draw(arrays(ALL) | small(ALL))
    got, want = getattr(xp, name)(df.constant(x)), getattr(np, name)(x)
    if name == "unique_values":
        got, want = (got,), (np.sort(want),)            # NumPy's order is unspecified
    assert_same(tuple(got), tuple(want))
    if name != "unique_values":
        assert got._fields == want._fields


@given(st.data())
@quick
def test_where_and_nonzero(data):
    x = data.draw(arrays(ALL))
    check("where", x.astype(bool), x, np.zeros_like(x))
    check("where", x.astype(bool), x, x.ravel()[0].item() if x.size else 1)
    if x.ndim:
        check("nonzero", x)


@given(st.data())
@quick
def test_shapes(data):
    x = data.draw(arrays(ALL))
    check("reshape", x, (-1,) if x.size else x.shape)
    check("permute_dims", x, tuple(data.draw(st.permutations(range(x.ndim)))))
    check("expand_dims", x, data.draw(st.integers(-x.ndim - 1, x.ndim)), numpy_name="expand_dims")
    check("squeeze", x, tuple(d for d, n in enumerate(x.shape) if n == 1))
    check("broadcast_to", x, (2, *x.shape))
    check("broadcast_arrays", x, x[None], np.ones((1,) * x.ndim))
    check("flip", x, axis=axes(data, x.ndim))
    check("roll", x, data.draw(st.integers(-5, 5)), axis=axes(data, x.ndim) or None)
    check("tile", x, tuple(data.draw(st.lists(st.integers(0, 2), max_size=4))))
    check("repeat", x, 2, axis=axes(data, x.ndim, several=False))
    dims = list(range(x.ndim))
    check("moveaxis", x, dims, data.draw(st.permutations(dims)))


@given(st.data())
@quick
def test_concat_and_parts(data):
    x = data.draw(arrays(ALL, AXIS))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    check("concat", [x, x[::-1].copy()], axis=axis)
    check("concat", [x, x[:0]], axis=None)
    check("stack", [x, x], axis=axis)
    check("unstack", x, axis=axis)
    check("repeat", x, np.arange(x.shape[axis]), axis=axis)


@given(st.data())
@quick
def test_diff(data):
    x = data.draw(small(ALL, AXIS))
    axis, n = data.draw(st.integers(-x.ndim, x.ndim - 1)), data.draw(st.integers(0, 3))
    check("diff", x, axis=axis, n=n, atol=1e-5)
    check("diff", x, axis=axis, prepend=x, append=x, atol=1e-5)


@given(st.data())
@quick
def test_take(data):
    x = data.draw(arrays(ALL, FILLED))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    n = x.shape[axis]
    index = data.draw(hnp.arrays(st.sampled_from(INTS[:4]), AXIS,
                                 elements=st.integers(-n, n - 1)))
    check("take", x, index, axis=axis)
    check("take", x.ravel(), index % x.size)


@given(st.data())
@quick
def test_creation(data):
    shape = data.draw(SHAPES)
    dtype = data.draw(st.sampled_from(ALL))
    for name in ("ones", "zeros"):
        assert check(name, shape, dtype=dtype).dtype == dtype
        check(f"{name}_like", np.ones(shape, dtype))
    for got in (xp.empty(shape, dtype=dtype), xp.empty_like(xp.ones(shape, dtype=dtype))):
        assert got.shape == shape and got.dtype == dtype
    check("full", shape, 1, dtype=dtype)
    assert check("full_like", np.ones(shape, dtype), 0).dtype == dtype
    rows, columns, k = data.draw(st.tuples(st.integers(0, 4), st.none() | st.integers(0, 4),
                                           st.integers(-6, 6)))
    assert check("eye", rows, columns, k=k, dtype=dtype).dtype == dtype
    x = data.draw(arrays(ALL, hnp.array_shapes(min_dims=2, max_dims=3, min_side=0)))
    check("tril", x, k=k)
    check("triu", x, k=k)
    check("meshgrid", *[np.arange(n) for n in shape], indexing=data.draw(
        st.sampled_from(["xy", "ij"])))


@given(st.data())
@quick
def test_ranges(data):
    start, step = data.draw(st.tuples(st.integers(-50, 50), st.sampled_from([-3, -1, 1, 2])))
    stop = data.draw(st.integers(-50, 50))
    check("arange", start, stop, step)
    check("arange", stop)
    check("arange", start, stop, step, dtype=data.draw(st.sampled_from([*INTS[:4], *FLOATS])))
    check("arange", 0.0, 10.0, 0.5)
    check("arange", 2**63, 2**63 + 5, 2, dtype="uint64")
    num = data.draw(st.integers(0, 9))
    check("linspace", start, stop, num, endpoint=data.draw(st.booleans()), atol=1e-5,
          dtype=data.draw(st.sampled_from(FLOATS)))


@pytest.mark.parametrize("call, message", [
    (lambda: xp.sum(xp.ones(2), axis=3), "axis"),
    (lambda: xp.take(xp.ones((2, 2)), xp.asarray([0])), "take: x has shape"),
    (lambda: xp.squeeze(xp.ones((2, 2)), 0), "squeeze"),
    (lambda: xp.squeeze(xp.ones((1, 2)), (0, 0)), "squeeze: axes"),
    (lambda: xp.moveaxis(xp.ones((2, 2)), (0, 1), 0), "moveaxis: source"),
    (lambda: xp.broadcast_arrays(xp.ones(2), xp.ones(3)), "broadcast_arrays: shapes"),
    (lambda: xp.concat([]), "concat: got no arrays"),
    (lambda: xp.cumulative_sum(xp.ones((2, 2))), "cumulative_sum: x has shape"),
    (lambda: xp.nonzero(xp.asarray(1)), "nonzero: x has shape"),
    (lambda: xp.tril(xp.ones(3)), "tril: x has shape"),
    (lambda: xp.diff(xp.asarray(1)), "diff: x has shape"),
    (lambda: xp.asarray([1], copy=False), "asarray: a list is copied"),
    (lambda: xp.asarray(xp.ones(1), dtype=df.int8, copy=False), "asarray: float32 is copied"),
    (lambda: xp.take_along_axis(xp.ones((2, 2)), xp.asarray([0])), "take_along_axis: x has shape"),
])
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


DATE = np.array(["2000"], "datetime64[D]")


@pytest.mark.parametrize("call, name", [
    (lambda x: xp.diff(x, axis=DATE), "diff: axis"), (lambda x: xp.diff(x, n=DATE), "diff: n"),
    (lambda x: xp.take_along_axis(x, xp.argsort(x), axis=DATE), "take_along_axis: axis"),
    (lambda x: xp.vecdot(x, x, axis=DATE), "vecdot: axis"),
    (lambda x: xp.cumulative_sum(x, axis=DATE), "cumulative_sum: axis"),
    (lambda x: xp.expand_dims(x, DATE), "expand_dims: axis"),
    (lambda x: xp.eye(2, k=DATE), "eye: k"), (lambda x: xp.tril(x, k=DATE), "tril: k"),
    (lambda x: xp.triu(x, k=DATE), "triu: k")])
def test_axes_and_diagonals_that_are_no_integers(call, name):
    with pytest.raises(df.errors.DTypeError, match=f"{name} is .*expected an integer"):
        call(xp.ones((2, 2)))


def test_differences_of_any_order():
    x = xp.ones((2, 3))
    assert xp.diff(x, n=1 << 40).shape == (2, 0) and xp.diff(x, n=3, axis=0).shape == (0, 3)


@pytest.mark.parametrize("f", [xp.std, xp.var])
def test_correction_that_is_no_number(f):
    with pytest.raises(df.errors.DTypeError, match=r"correction is .*expected a number"):
        f(xp.ones(3), correction=DATE)


def test_arange_beyond_the_dtype_raises():
    with pytest.raises(OverflowError, match="299 does not fit int8"):
        xp.arange(300, dtype=df.int8)


def test_copies():
    own = np.arange(3.0)
    x = xp.from_dlpack(own)
    same, copied = xp.asarray(x), xp.asarray(x, copy=True)
    shared = xp.asarray(own, copy=False)
    own[0] = 7
    assert same[0].item() == x[0].item() == shared[0].item() == 7 and copied[0].item() == 0
    assert xp.asarray(x) is x and xp.astype(x, df.float64, copy=False) is x


def test_zero_dimensional_masks():
    x = xp.asarray([1, 2])
    assert x[xp.asarray(True)].tolist() == [[1, 2]] and x[xp.asarray(False)].shape == (0, 2)
    assert x[xp.zeros((0,), dtype=df.bool_)].shape == (0,)
    with pytest.raises(IndexError, match="a mask of shape"):
        x[xp.asarray([True])]
