"""Ragged tensors: constructors, conversions, indices, in both modes and as arguments."""

import numpy as np
import pytest

import dualflow as df
from dualflow import errors
from tests.ops.ragged.random_rows import CASES, MODES, dense, flat, mapped, ragged, rows

R = df.RaggedTensor
SLICES = [slice(None), slice(1, None), slice(None, -1), slice(0, 2), slice(-2, None),
          slice(None, None, 2), slice(None, None, -1), slice(3, 0, -2), slice(-1, -9, -1),
          slice(2, 1), slice(100, None), slice(None, 100, 3)]


@pytest.mark.parametrize("nested, levels", CASES)
def test_parts(nested, levels):
    x = ragged(nested, levels)
    assert x.to_list() == nested == x.tolist() and len(x) == len(nested)
    assert x.flat_values.tolist() == flat(nested, levels)
    assert x.ragged_rank == levels == len(x.nested_row_splits) and x.ndim == levels + 1
    assert x.shape.as_list() == [len(nested)] + [None] * levels
    assert x.dtype is df.float32 and x.nrows().item() == len(nested)
    assert x.row_splits.dtype is df.int64
    assert x.row_lengths().tolist() == [len(row) for row in nested]
    starts = np.cumsum([0, *[len(row) for row in nested]])
    assert x.row_starts().tolist() == starts[:-1].tolist()
    assert x.row_limits().tolist() == starts[1:].tolist()
    assert x.value_rowids().tolist() == [k for k, row in enumerate(nested) for _ in row]
    assert x.bounding_shape().tolist() == list(dense(nested, levels).shape)
    assert repr(x) == f"<dualflow.RaggedTensor {nested}>"
    if levels > 1:
        assert x.row_lengths(2).to_list() == [[len(y) for y in row] for row in nested]


@pytest.mark.parametrize("nested, levels", CASES)
def test_constructors(nested, levels):
    x = ragged(nested, levels)
    splits = x.nested_row_splits
    for made in (R.from_row_splits(x.values, x.row_splits),
                 R.from_row_lengths(x.values, x.row_lengths()),
                 R.from_row_starts(x.values, x.row_starts()) if nested else x,
                 R.from_row_limits(x.values, x.row_limits()),
                 R.from_value_rowids(x.values, x.value_rowids(), len(nested)),
                 R.from_nested_row_splits(x.flat_values, splits),
                 R.from_nested_row_lengths(x.flat_values, x.nested_row_lengths()),
                 R.from_nested_value_rowids(x.flat_values, x.nested_value_rowids(),
                                            [len(s) - 1 for s in splits])):
        assert made.to_list() == nested


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("nested, levels", CASES)
def test_conversions(mode, nested, levels):
    x = ragged(nested, levels)
    want = dense(nested, levels)
    np.testing.assert_array_equal(mode(lambda x: x.to_tensor())(x), want)
    np.testing.assert_array_equal(mode(lambda x: x.to_tensor(-1.))(x), dense(nested, levels, -1.))
    np.testing.assert_array_equal(mode(lambda x: df.sparse.to_dense(x.to_sparse()))(x), want)
    assert mode(lambda x: x.merge_dims(0, 1))(x).tolist() == flat(nested, 1)
    if levels > 1:
        assert mode(lambda x: x.merge_dims(1, 2))(x).to_list() == [flat(r, 1) for r in nested]
        assert mode(lambda x: x.merge_dims(0, 2))(x).tolist() == flat(nested, 2)
    else:
        back = mode(lambda x: R.from_sparse(x.to_sparse()))(x)
        assert back.to_list() == nested
        back = mode(lambda x: R.from_tensor(x.to_tensor(99.), padding=99.))(x)
        assert back.to_list() == nested
        back = mode(lambda x: R.from_tensor(x.to_tensor(), lengths=x.row_lengths()))(x)
        assert back.to_list() == nested
        cut = mode(lambda x: x.to_tensor(shape=[6, 2]))(x).numpy()
        padded = np.zeros((max(6, len(nested)), max(2, want.shape[1])), "float32")
        padded[:want.shape[0], :want.shape[1]] = want
        np.testing.assert_array_equal(cut, padded[:6, :2])


def test_inner_dimensions_and_uniform_rows():
    x = R.from_row_splits([[1, 2], [3, 4], [5, 6]], [0, 2, 2, 3])
    assert x.shape.as_list() == [3, None, 2] and x.to_list() == [[[1, 2], [3, 4]], [], [[5, 6]]]
    assert x.to_tensor().tolist() == [[[1, 2], [3, 4]], [[0, 0], [0, 0]], [[5, 6], [0, 0]]]
    assert x.to_tensor([7, 8])[1].tolist() == [[7, 8], [7, 8]]
    assert x.merge_dims(1, 2).to_list() == [[1, 2, 3, 4], [], [5, 6]]
    assert x.to_sparse().indices.tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1],
                                              [2, 0, 0], [2, 0, 1]]
    assert x[:, :1, 1].to_list() == [[2], [], [6]] and x[0, 1, 0].item() == 3
    y = R.from_uniform_row_length([1, 2, 3, 4, 5, 6], 2)
    assert y.shape.as_list() == [3, 2] and y.uniform_row_length == 2 and y[:, 1].tolist() == [
        2, 4, 6]
    assert R.from_uniform_row_length([], 0, nrows=3).to_list() == [[], [], []]
    z = R.from_tensor(np.arange(24).reshape(2, 3, 4), ragged_rank=2)
    assert z.ragged_rank == 2 and z.to_tensor().tolist() == np.arange(24).reshape(2, 3, 4).tolist()
    assert R.from_tensor([[[1], [2]], [[3], [0]]], padding=[0]).to_list() == [[[1], [2]], [[3]]]


@pytest.mark.parametrize("nested, levels", CASES)
def test_slices(nested, levels):
    x = ragged(nested, levels)
    for key in SLICES:
        assert x[key].to_list() == nested[key]
        assert x[:, key].to_list() == [row[key] for row in nested]
        assert x[key, key].to_list() == [row[key] for row in nested[key]]
        assert x[..., key].to_list() == mapped(lambda v, k=key: v[k], nested, levels)
    for k in range(-len(nested), len(nested)):
        assert x[k].tolist() == nested[k]
        if levels > 1:
            for j in range(len(nested[k])):
                assert x[k, j].tolist() == nested[k][j] == x[k, j, :].tolist()
    assert [row.tolist() for row in x] == nested
    assert x[None].to_list() == [nested] and x[:, None].to_list() == [[row] for row in nested]
    assert len(x.numpy()) == len(nested)


def test_slices_in_traces():
    nested = rows(8, 2, 5)
    x = ragged(nested, 2)
    keys = SLICES[:7]

    @df.function
    def f(x, k):
        return [x[key] for key in keys], [x[:, key] for key in keys], x[k], x[k][:, 1:]

    for k in (1, -1, 3):
        whole, inner, row, part = f(x, df.constant(k))
        assert [y.to_list() for y in whole] == [nested[key] for key in keys]
        assert [y.to_list() for y in inner] == [[row[key] for row in nested] for key in keys]
        assert row.to_list() == nested[k] and part.to_list() == [v[1:] for v in nested[k]]


@pytest.mark.parametrize("make, error, message", [
    (lambda: R.from_row_splits([1, 2], [0, 2, 1]), errors.ShapeError, "decreases from 2 to 1"),
    (lambda: R.from_row_splits([1, 2], [1, 2]), errors.ShapeError, "begins with 1, expected 0"),
    (lambda: R.from_row_splits([1, 2], [0, 1]), errors.ShapeError,
     "ends with 1, expected the number of values, 2"),
    (lambda: R.from_row_splits([1, 2], []), errors.ShapeError, "is empty"),
    (lambda: R.from_row_splits([1, 2], [[0, 2]]), errors.ShapeError, r"expected \(n,\)"),
    (lambda: R.from_row_splits([1, 2], [0., 2.]), errors.DTypeError, "expected integers"),
    (lambda: R.from_row_lengths([1, 2], [1, 2]), errors.ShapeError, "ends with 3"),
    (lambda: R.from_row_lengths([1, 2], [3, -1]), errors.ShapeError, "decreases"),
    (lambda: R.from_row_starts([1, 2], [1, 2]), errors.ShapeError, "begins with 1"),
    (lambda: R.from_row_limits([1, 2], [1, 1]), errors.ShapeError, "ends with 1"),
    (lambda: R.from_value_rowids([1, 2], [1, 0]), errors.InvalidArgumentError, "do not decrease"),
    (lambda: R.from_value_rowids([1, 2], [0, 5], 3), errors.InvalidArgumentError, "below 3"),
    (lambda: R.from_value_rowids([1, 2], [0]), errors.ShapeError, "ends with 1"),
    (lambda: R.from_uniform_row_length([1, 2, 3], 2), errors.ShapeError, "3 values in rows of 2"),
    (lambda: R.from_nested_row_splits([1], [[0, 1], [0, 2]]), errors.ShapeError, "ends with 2"),
    (lambda: R.from_tensor([1, 2]), errors.InvalidArgumentError, "ragged_rank"),
    (lambda: R.from_tensor([[1]], lengths=[1], padding=0), errors.InvalidArgumentError, "one of"),
    (lambda: R.from_tensor([[1]], lengths=[1, 1]), errors.ShapeError, "2 lengths of 1 rows"),
    (lambda: df.ragged.constant([1, [2]]), errors.InvalidArgumentError, "one depth"),
    (lambda: df.ragged.constant([["a"], [2]]), errors.InvalidArgumentError, "numbers and text"),
    (lambda: df.ragged.constant([[1]], ragged_rank=2), errors.InvalidArgumentError, "ragged_rank"),
    (lambda: ragged([[1.]])[1], errors.OutOfRangeError, "1 rows"),
    (lambda: ragged([[1.]])[:, 0], errors.InvalidArgumentError, "use a slice"),
    (lambda: ragged([[1.]])[0, 0, 0], errors.InvalidArgumentError, "2 dimensions"),
    (lambda: ragged([[1.]])["a"], errors.DTypeError, "expected integers, slices"),
    (lambda: ragged([[1.]])[:, ::0], errors.InvalidArgumentError, "step 0"),
    (lambda: ragged([[1.]]).with_values([1., 2.]), errors.ShapeError, "2 new values, expected 1"),
    (lambda: ragged([[1.]]).merge_dims(1, 0), errors.InvalidArgumentError, "axes 1 to 0"),
    (lambda: ragged([[1.]]).to_tensor([1., 2.]), errors.ShapeError, "default_value"),
    (lambda: bool(ragged([[1.]])), errors.DTypeError, "truth value"),
    (lambda: df.RaggedTensorSpec(None), errors.InvalidArgumentError, "rank"),
    (lambda: df.matmul(ragged([[1.]]), [[1.]]), errors.DTypeError, "to_tensor"),
])
def test_bad_input(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_text():
    x = df.ragged.constant([["a", "b"], [], ["c"]])
    assert x.to_list() == [[b"a", b"b"], [], [b"c"]] and x.dtype == df.string
    assert x[0].tolist() == [b"a", b"b"] and x[:, -1:].to_list() == [[b"b"], [], [b"c"]]
    assert x.to_tensor("-").tolist() == [[b"a", b"b"], [b"-", b"-"], [b"c", b"-"]]
    assert (x == "a").to_list() == [[True, False], [], [False]]
    assert (x + "!").to_list() == [[b"a!", b"b!"], [], [b"c!"]]
    assert df.concat([x, x], 1).to_list()[0] == [b"a", b"b"] * 2
    assert R.from_tensor(df.constant([["a", ""], ["b", "c"]]), padding="").to_list() == [
        [b"a"], [b"b", b"c"]]
    upper = df.ragged.map_flat_values(df.strings.upper, x)
    assert upper.to_list() == [[b"A", b"B"], [], [b"C"]]


def test_functions_take_and_return_ragged_tensors():
    @df.function
    def f(x):
        return x * 2., {"rows": x[1:]}

    for n in range(5, 12):              # the sizes 0 and 1 have traces of their own
        nested = rows(n, 2, n, most=6)
        x = ragged(nested, 2)
        before = f.experimental_get_tracing_count()
        double, rest = f(x)
        assert isinstance(double, R) and rest["rows"].to_list() == nested[1:]
        assert double.to_list() == mapped(lambda v: [2 * y for y in v], nested, 2)
    assert f.experimental_get_tracing_count() == before

    @df.function(input_signature=[df.RaggedTensorSpec([None, None, None], df.float32)])
    def g(x):
        return df.reduce_sum(x, axis=2)

    nested = rows(3, 2, 4)
    assert g(ragged(nested, 2)).to_list() == [[sum(v) for v in row] for row in nested]
    cf = f.get_concrete_function(ragged(nested, 2))
    assert cf(ragged(nested, 2))[0].ragged_rank == 2


def test_loops_and_branches():
    @df.function
    def f(x, n):
        k = df.constant(0)
        while k < n:
            x = x * 2.
            k += 1
        y = x[1:]
        if n > 2:
            y = x[:1]
        return x, y

    nested = [[1., 2.], [], [3.]]
    x, y = f(ragged(nested), df.constant(3))
    assert x.to_list() == [[8., 16.], [], [24.]] and y.to_list() == [[8., 16.]]
    x, y = f(ragged(nested), df.constant(1))
    assert x.to_list() == [[2., 4.], [], [6.]] and y.to_list() == [[], [6.]]
    made = df.cond(df.constant(True), lambda: ragged(nested), lambda: ragged([[1.]]))
    assert made.to_list() == nested
