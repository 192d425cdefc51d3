"""Ops of ragged tensors against Python and dense computation, in both modes, with gradients."""

import operator

import numpy as np
import pytest

import dualflow as df
from dualflow import errors
from tests.ops.ragged.random_rows import CASES, MODES, flat, mapped, ragged, rows

R = df.RaggedTensor
BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.eq, operator.ne,
          operator.lt, operator.le, operator.gt, operator.ge]


def list_of(x):
    return x.to_list() if isinstance(x, R) else x.tolist()


def close(x, want):
    """Compare nested lists of equal structure."""
    def leaves(v):
        return [y for z in v for y in leaves(z)] if isinstance(v, list) else [v]

    def form(v):
        return [form(y) for y in v] if isinstance(v, list) else 0

    got = list_of(x)
    assert form(got) == form(want)
    np.testing.assert_allclose(leaves(got), leaves(want), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("nested, levels", CASES)
def test_elementwise(mode, nested, levels):
    x = ragged(nested, levels)
    y = x.with_flat_values(x.flat_values * 0.5 + 20.)
    for op in BINARY:
        for a, b in ((x, y), (x, 3.), (3., y), (x, df.constant(3.)), (df.constant(2.), y)):
            want = op(*[z.flat_values if isinstance(z, R) else z for z in (a, b)])
            got = mode(op)(a, b)
            assert got.flat_values.tolist() == want.tolist()
            assert list_of(got.row_lengths()) == list_of(x.row_lengths())
    i = df.cast(x, df.int32)
    assert i.dtype is df.int32
    got = mode(lambda i: ((i // 4), (i % 4), (7 // (i * 0 + 2)), i ** 2, (i & 3) | 4, i ^ 1, ~i,
                          abs(i), -i, (i > 0) & (i < 5)))(i)
    v = i.flat_values.numpy()
    for g, want in zip(got, (v // 4, v % 4, v * 0 + 3, v ** 2, (v & 3) | 4, v ^ 1, ~v, abs(v), -v,
                             (v > 0) & (v < 5)), strict=True):
        np.testing.assert_array_equal(g.flat_values, want)
    for f in (df.square, df.exp, df.tanh, df.nn.relu, df.math.softplus, df.zeros_like,
              df.ones_like, df.identity, df.stop_gradient, lambda z: df.clip_by_value(z, -1., 1.),
              lambda z: df.where(z > 0., z, 0.), lambda z: df.maximum(z, 1.), df.nn.gelu,
              lambda z: df.math.squared_difference(z, 2.)):
        got = mode(f)(x)
        np.testing.assert_allclose(got.flat_values, f(x.flat_values), rtol=1e-6)
        assert list_of(got.row_lengths()) == list_of(x.row_lengths())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("nested, levels", CASES)
def test_broadcasting(mode, nested, levels):
    x, n = ragged(nested, levels), len(nested)
    column = np.arange(n, dtype="float32").reshape((n,) + (1,) * levels)
    want = [mapped(lambda v, k=k: [y + k for y in v], row, levels - 1)
            for k, row in enumerate(nested)]
    for a, b in ((x, df.constant(column)), (df.constant(column), x)):
        assert mode(operator.add)(a, b).to_list() == want
    assert (x + column).to_list() == want == (column + x).to_list()
    assert mode(operator.mul)(x, df.constant([[2.]])).to_list() == mapped(
        lambda v: [2 * y for y in v], nested, levels)


def test_broadcasting_of_inner_dimensions():
    x = df.ragged.constant([[[1, 2], [3, 4], [5, 6]], [[7, 8]]], ragged_rank=1)
    assert (x + df.constant([10, 20])).to_list() == [[[11, 22], [13, 24], [15, 26]], [[17, 28]]]
    assert (x + df.constant([[10]]))[1].tolist() == [[17, 18]]
    assert (x + df.constant([[[10, 20]], [[30, 40]]]))[1].tolist() == [[37, 48]]
    two = df.ragged.constant([[1, 2], [3, 4]])
    assert (two * df.constant([[1, 2], [3, 4]])).to_list() == [[1, 4], [9, 16]]
    deep = df.ragged.constant([[[1, 2], [3]], [[4]]])
    once = df.ragged.constant([[[10], [20]], [[30]]], ragged_rank=1)
    assert (deep + once).to_list() == [[[11, 12], [23]], [[34]]]
    with pytest.raises(errors.InvalidArgumentError, match=r"rows of \[2, 1\] and \[1, 2\] values"):
        df.ragged.constant([[1, 2], [3]]) + df.ragged.constant([[1], [2, 3]])
    with pytest.raises(errors.InvalidArgumentError, match="cannot be broadcast in dimension 1"):
        df.ragged.constant([[1, 2], [3]]) + df.constant([[1, 2], [3, 4]])
    with pytest.raises(errors.InvalidArgumentError, match="2 rows"):
        df.ragged.constant([[1, 2], [3]]) + df.constant([[1], [2], [3]])
    with pytest.raises(errors.InvalidArgumentError, match="at most 2 dimensions"):
        df.ragged.constant([[1, 2], [3]]) + df.constant([[[1]]])


def reduced(function, nested, levels, axis, empty):
    """Reduce lists along an axis."""
    if axis > 0:
        if axis == levels and levels == 1:
            return [function(r) if r else empty for r in nested]
        return [reduced(function, r, levels - 1, axis - 1, empty) for r in nested]
    if levels == 0:
        return function(nested) if nested else empty
    longest = max([len(r) for r in nested], default=0)
    columns = [[r[k] for r in nested if k < len(r)] for k in range(longest)]
    return [reduced(function, c, levels - 1, 0, empty) for c in columns]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("nested, levels", CASES)
def test_reductions(mode, nested, levels):
    x = ragged(nested, levels)
    for op, function, empty in ((df.reduce_sum, sum, 0.), (df.reduce_prod, np.prod, 1.),
                                (df.reduce_mean, np.mean, np.nan), (df.reduce_max, max, -np.inf),
                                (df.reduce_min, min, np.inf)):
        for axis in range(-1, levels + 1):
            got = mode(lambda x, op=op, axis=axis: op(x, axis=axis))(x)
            want = reduced(function, nested, levels, axis % (levels + 1), empty)
            if op in (df.reduce_max, df.reduce_min):    # rows without values differ
                got, want = [[y for y in z if abs(y) < 1e9]
                             for z in (flatten(list_of(got)), flatten(want))]
                np.testing.assert_array_equal(got, want)
            else:
                close(got, want)
        np.testing.assert_allclose(mode(op)(x), op(x.flat_values), rtol=1e-6)
        if levels == 2 and op in (df.reduce_sum, df.reduce_mean):
            close(mode(lambda x, op=op: op(x, axis=[1, 2]))(x),
                  [function(flat(r, 1)) if flat(r, 1) else empty for r in nested])
    positive = x > 0.
    close(mode(lambda p: df.reduce_any(p, 1))(positive) if levels == 1 else df.constant([]),
          [any(y > 0 for y in r) for r in nested] if levels == 1 else [])
    close(mode(lambda p: df.reduce_all(p, 1))(positive) if levels == 1 else df.constant([]),
          [all(y > 0 for y in r) for r in nested] if levels == 1 else [])
    kept = df.reduce_sum(x, axis=1, keepdims=True)
    assert kept.ndim == x.ndim and len(kept) == len(nested)


def flatten(v):
    return [y for z in v for y in flatten(z)] if isinstance(v, list) else [v]


def test_variance_and_inner_axes():
    x = ragged([[1., 2., 6.], [4.]])
    close(df.math.reduce_variance(x, 1), [np.var([1, 2, 6]), 0.])
    close(df.math.reduce_std(x, 1), [np.std([1, 2, 6]), 0.])
    y = R.from_row_splits([[1., 2.], [3., 4.], [5., 6.]], [0, 2, 3])
    close(df.reduce_sum(y, 2), [[3., 7.], [11.]])
    close(df.reduce_sum(y, 1), [[4., 6.], [5., 6.]])
    close(df.reduce_sum(y, [0, 2]), [14., 7.])
    with pytest.raises(errors.InvalidArgumentError, match="axis"):
        df.reduce_sum(x, 2)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("nested, levels", CASES)
def test_concat_stack_and_tile(mode, nested, levels):
    x = ragged(nested, levels)
    other = rows(99, levels, 3)
    y = ragged(other, levels)
    assert mode(lambda x, y: df.concat([x, y], 0))(x, y).to_list() == nested + other
    assert mode(lambda x: df.concat([x, x[:, ::-1], x], 1))(x).to_list() == [
        r + r[::-1] + r for r in nested]
    assert mode(lambda x: df.concat([x, x], -1))(x).to_list() == mapped(
        lambda v: v + v, nested, levels)
    assert mode(lambda x, y: df.stack([x, y], 0))(x, y).to_list() == [nested, other]
    assert mode(lambda x: df.stack([x, x], 1))(x).to_list() == [[r, r] for r in nested]
    assert mode(lambda x: df.tile(x, [2] + [1] * levels))(x).to_list() == nested * 2
    assert mode(lambda x: df.tile(x, [1, 2] + [1] * (levels - 1)))(x).to_list() == [
        r * 2 for r in nested]
    assert mode(lambda x: df.expand_dims(x, 0))(x).to_list() == [nested]
    assert mode(lambda x: df.expand_dims(x, 1))(x).to_list() == [[r] for r in nested]
    assert mode(lambda x: df.expand_dims(x, -1))(x).to_list() == mapped(
        lambda v: [[z] for z in v], nested, levels)
    assert mode(lambda x: df.reverse(x, [0]))(x).to_list() == nested[::-1]
    assert mode(lambda x: df.reverse(x, [-1]))(x).to_list() == mapped(
        lambda v: v[::-1], nested, levels)


def test_concat_with_dense_tensors():
    x = df.ragged.constant([[3, 1], [], [5]])
    assert df.concat([x, [[5, 3]]], 0).to_list() == [[3, 1], [], [5], [5, 3]]
    assert df.concat([[[9], [8], [7]], x], 1).to_list() == [[9, 3, 1], [8], [7, 5]]
    assert df.stack([x, [[1], [2], [3]]]).to_list() == [[[3, 1], [], [5]], [[1], [2], [3]]]
    with pytest.raises(errors.ShapeError, match="expected equally many"):
        df.concat([x, [[1]]], 1)
    with pytest.raises(errors.ShapeError, match="one rank"):
        df.concat([x, [1]], 0)


@pytest.mark.parametrize("mode", MODES)
def test_gather_and_lookups(mode):
    nested = rows(11, 2, 5)
    x = ragged(nested, 2)
    at = [3, 0, 0, 4]
    assert mode(df.gather)(x, df.constant(at)).to_list() == [nested[k] for k in at]
    assert mode(df.gather)(x, df.constant([[1, 2], [4, 4]])).to_list() == [
        [nested[1], nested[2]], [nested[4], nested[4]]]
    ids = df.ragged.constant([[0, 2], [], [1]])
    table = np.arange(12, dtype="float32").reshape(4, 3)
    got = mode(lambda t, i: df.nn.embedding_lookup(t, i))(df.constant(table), ids)
    assert got.to_list() == [[table[0].tolist(), table[2].tolist()], [], [table[1].tolist()]]
    flat_x = ragged([[1., 2., 3.], [4.], [5., 6.]])
    assert mode(lambda x, i: df.gather(x, i, axis=1, batch_dims=1))(
        flat_x, df.ragged.constant([[2, 0], [0], []], "int32")).to_list() == [[3., 1.], [4.], []]
    assert df.gather(flat_x, ids).to_list() == [[[1., 2., 3.], [5., 6.]], [], [[4.]]]
    assert mode(df.size)(x).item() == len(flat(nested, 2)) and mode(df.rank)(x).item() == 3
    assert mode(df.where)(flat_x > 2.).tolist() == [[0, 2], [1, 0], [2, 0], [2, 1]]
    assert df.one_hot(ids, 3).shape.as_list() == [3, None, 3]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("nested, levels", CASES)
def test_gradients(mode, nested, levels):
    x = ragged(nested, levels)
    splits = x.nested_row_splits

    def loss(v):
        z = R.from_nested_row_splits(v, splits)
        y = df.concat([z * z, z[:, ::-1]], 1)
        rest = df.reduce_sum(df.reduce_sum(y, 1) * 2.) + df.reduce_sum(z[1:].to_tensor(5.) ** 2)
        return rest + df.reduce_sum(df.reduce_max(z, -1) * 3.)

    got = mode(df.grad(loss))(x.flat_values).numpy() if x.flat_values.size else np.zeros(0)
    largest = []
    for row in ([nested] if levels == 0 else _innermost(nested, levels)):
        top = max(row, default=0)
        largest += [3. / row.count(top) if y == top else 0. for y in row]
    in_first = len(flat(nested[:1], levels))
    want = [4 * v + 2 + (2 * v if k >= in_first else 0) + m
            for k, (v, m) in enumerate(zip(flat(nested, levels), largest, strict=True))]
    np.testing.assert_allclose(got, want, rtol=1e-5)


def _innermost(nested, levels):
    return nested if levels == 1 else [v for row in nested for v in _innermost(row, levels - 1)]


def test_tapes():
    x = ragged([[1., 2.], [], [3.]])
    v = df.Variable([1., 2., 3.])
    with df.GradientTape() as tape:
        tape.watch(x.flat_values)
        y = df.reduce_sum(df.nn.embedding_lookup(v, df.ragged.constant([[0, 2], [2]])) ** 2)
        z = df.reduce_sum(x * x) + y
    a, b = tape.gradient(z, [x.flat_values, v])
    assert a.tolist() == [2., 4., 6.] and df.convert_to_tensor(b).tolist() == [2., 0., 12.]


@pytest.mark.parametrize("mode", MODES)
def test_functions_of_df_ragged(mode):
    assert mode(df.ragged.range)(df.constant([3, 0, 2])).to_list() == [[0, 1, 2], [], [0, 1]]
    got = mode(df.ragged.range)(df.constant([0, 5, 8]), df.constant([3, 5, 1]), df.constant(
        [2, 1, -3]))
    assert got.to_list() == [[0, 2], [], [8, 5, 2]]
    assert df.ragged.range([0.], [1.], 0.25).to_list() == [[0., 0.25, 0.5, 0.75]]
    assert df.ragged.range(3, dtype=df.int64).dtype is df.int64
    nested = rows(5, 2, 4)
    x = ragged(nested, 2)
    keep = mode(lambda x: df.ragged.boolean_mask(x, x > 0.))(x)
    assert keep.to_list() == mapped(lambda v: [y for y in v if y > 0], nested, 2)
    assert df.ragged.boolean_mask(x, [True, False, True, False]).to_list() == nested[::2]
    got = mode(lambda x: df.ragged.map_flat_values(df.add, x, x))(x)
    assert got.to_list() == mapped(lambda v: [2 * y for y in v], nested, 2)
    assert df.ragged.map_flat_values(df.add, 1, 2).item() == 3
    assert df.ragged.stack([[1, 2], [3]]).to_list() == [[1, 2], [3]]
    assert df.ragged.stack([x[0], x[1]]).to_list() == nested[:2]
    ids = mode(df.ragged.row_splits_to_segment_ids)(df.constant([0, 2, 2, 3]))
    assert ids.tolist() == [0, 0, 2]
    assert mode(df.ragged.segment_ids_to_row_splits)(ids).tolist() == [0, 2, 2, 3]
    assert df.ragged.segment_ids_to_row_splits([0], 3).tolist() == [0, 1, 1, 1]


def test_constants():
    assert df.ragged.constant(3).shape == () and df.ragged.constant([1, 2]).tolist() == [1, 2]
    assert df.ragged.constant([]).shape == (0,)
    assert df.ragged.constant([[], []]).dtype is df.float32
    x = df.ragged.constant([[[1, 2]], []], inner_shape=(2,))
    assert x.ragged_rank == 1 and x.shape.as_list() == [2, None, 2]
    assert df.ragged.constant([[1], []], dtype=df.float64).dtype is df.float64
    assert df.ragged.constant([np.array([1, 2]), np.array([3])]).to_list() == [[1, 2], [3]]


def test_map_fn():
    x = df.ragged.constant([[1, 2], [], [3]])
    assert df.map_fn(df.square, x).to_list() == [[1, 4], [], [9]]
    assert df.map_fn(df.reduce_sum, x).tolist() == [3, 0, 3]
    assert df.function(lambda x: df.map_fn(df.square, x))(x).to_list() == [[1, 4], [], [9]]
    spec = df.RaggedTensorSpec([None], df.int32, 0)
    got = df.map_fn(df.range, df.constant([2, 0, 1]), fn_output_signature=spec)
    assert got.to_list() == [[0, 1], [], [0]]
