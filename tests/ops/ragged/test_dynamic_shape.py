"""DynamicRaggedShape: sizes of ragged tensors, and ops that take them as shapes."""

import numpy as np
import pytest

import dualflow as df
from dualflow import errors
from tests.ops.ragged.random_rows import CASES, MODES, flat, mapped, ragged

Shape, Rows = df.experimental.DynamicRaggedShape, df.experimental.RowPartition


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("nested, levels", CASES)
def test_shapes(mode, nested, levels):
    x = ragged(nested, levels)

    def f(x):
        s = df.shape(x)
        values = df.reshape(x.flat_values, [-1])
        return (df.zeros(s), df.ones(s, df.int32), df.fill(s, 7.), df.reshape(values, s),
                df.reshape(x, s), df.broadcast_to(5., s), df.broadcast_to(x, s), s[0],
                s.inner_shape, df.reshape(df.broadcast_to(values, [2, s.inner_shape[0]])[1], s))

    zeros, ones, sevens, same, again, fives, copy, n, inner, row = mode(f)(x)
    for made, value in ((zeros, 0), (ones, 1), (sevens, 7), (fives, 5)):
        assert made.to_list() == mapped(lambda r, v=value: [v] * len(r), nested, levels)
    for made in (same, again, copy, row):
        assert made.to_list() == nested
    assert n.item() == len(nested) and inner.tolist() == [len(flat(nested, levels))]
    s = df.shape(x)
    assert s == Shape.from_tensor(x) and (s.rank, s.num_row_partitions) == (levels + 1, levels)
    assert s.static_shape.as_list() == [len(nested)] + [None] * levels
    assert s[:1] == Shape([], [len(nested)]) and s[:levels + 1] == s
    assert [s.is_uniform(d) for d in range(levels + 1)] == [True] + [False] * levels
    with pytest.raises(ValueError, match="ragged"):
        s[1]


def test_lengths_and_partitions():
    assert repr(df.shape(df.ragged.constant([[1], [2, 3, 4], [], [5, 6]]))) == (
        "<DynamicRaggedShape lengths=[4, (1, 3, 0, 2)] num_row_partitions=1>")
    made = Shape.from_lengths([4, (2, 1, 0, 8), 12])
    assert made == Shape([Rows.from_row_lengths([2, 1, 0, 8])], [11, 12]) and made.rank == 3
    assert repr(made) == "<DynamicRaggedShape lengths=[4, (2, 1, 0, 8), 12] num_row_partitions=1>"
    assert made[2].item() == 12 and made[-1].item() == 12 and made[:2].inner_shape.tolist() == [11]
    assert made[2:] == Shape([], [12]) and df.zeros(made[:1]).shape == (4,)
    deep = Shape.from_lengths([2, 3, (1, 0, 2, 1, 1, 0), 2])
    assert deep.num_row_partitions == 2 and deep[1].item() == 3 and deep.is_uniform(1)
    assert df.ones(deep).shape.as_list() == [2, 3, None, 2] and deep != made
    assert Shape.from_lengths([3, 2]).inner_shape.tolist() == [3, 2]
    for rows in (Rows.from_row_lengths([2, 0, 1]), Rows.from_row_splits([0, 2, 2, 3]),
                 Rows.from_value_rowids([0, 0, 2])):
        assert rows.row_splits().tolist() == [0, 2, 2, 3] and rows.nrows().item() == 3
        assert rows.row_lengths().tolist() == [2, 0, 1] and rows.nvals().item() == 3
        assert rows.value_rowids().tolist() == [0, 0, 2] and rows.uniform_row_length is None
    assert Rows.from_uniform_row_length(3, 2).row_splits().tolist() == [0, 3, 6]
    text = df.constant([["a", "b"], ["c", "d"], ["e", "f"]])
    shape = df.shape(df.ragged.constant([[1], [2, 3, 4], [], [5, 6]]))
    assert df.reshape(text, shape).to_list() == [[b"a"], [b"b", b"c", b"d"], [], [b"e", b"f"]]
    assert df.fill(shape, "x").to_list()[3] == [b"x", b"x"]


@pytest.mark.parametrize("mode", MODES)
def test_broadcasting(mode):
    like = df.ragged.constant([[1, 2], [], [3]])
    found = mode(lambda r: (df.broadcast_to([[1], [2], [3]], df.shape(r)),
                            df.broadcast_to(df.constant([[1.], [2.], [3.]])[:, 0][:, None],
                                            df.shape(r))))(like)
    assert [x.to_list() for x in found] == [[[1, 1], [], [3]], [[1., 1.], [], [3.]]]
    wide = Shape.from_lengths([2, (1, 2), 3])
    one = df.ragged.constant([[[1]], [[2], [3]]], ragged_rank=1)
    assert mode(lambda x: df.broadcast_to(x, wide))(one).to_list() == [
        [[1] * 3], [[2] * 3, [3] * 3]]
    with df.GradientTape() as tape:
        x = df.constant([[2.], [3.], [4.]])
        tape.watch(x)
        y = df.reduce_sum(df.square(mode(lambda x: df.broadcast_to(x, df.shape(like)))(x)))
    np.testing.assert_array_equal(tape.gradient(y, x), [[8.], [0.], [8.]])


@pytest.mark.parametrize("make, error", [
    (lambda: Shape([Rows.from_row_lengths([2])], [3]), errors.ShapeError),
    (lambda: Shape.from_lengths([2, (1,)]), errors.ShapeError),
    (lambda: Shape.from_lengths([(1,)]), errors.InvalidArgumentError),
    (lambda: Rows.from_row_splits([0, 2, 1]), errors.ShapeError),
    (lambda: Shape.from_lengths([2, (1, 3)])[1:], errors.InvalidArgumentError),
    (lambda: Shape.from_lengths([2, (1, 3)]).is_uniform(2), errors.InvalidArgumentError),
    (lambda: bool(Shape.from_lengths([2])), errors.DTypeError),
    (lambda: df.reshape([1, 2], Shape.from_lengths([2, (1, 3)])), errors.ShapeError),
    (lambda: df.broadcast_to([1, 2], Shape.from_lengths([2, (1, 3)])), errors.ShapeError),
    (lambda: df.reshape([1, 2], df.ragged.constant([[1]])), TypeError),
    (lambda: df.zeros(df.ragged.constant([[1]])), TypeError),
    (lambda: df.transpose([1], Shape.from_lengths([2])), TypeError),
])
def test_bad_input(make, error):
    with pytest.raises(error):
        make()
