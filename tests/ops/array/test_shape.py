"""Ops that move data: properties, views and invalid input, beyond the rows of the table."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

import dualflow as df

DTYPES = ["float32", "float64", "int16", "uint8", "uint16", "float16", "bool"]
SHAPES = hnp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=5)
WIDE = hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=40)


def numbers(shape, dtype="float32"):
    return (np.arange(np.prod(shape, dtype=int)) % 251).reshape(shape).astype(dtype)


def assert_same(got, want):
    assert got.shape == want.shape
    np.testing.assert_array_equal(got.numpy(), want)


quick = settings(max_examples=120)


@given(st.data(), SHAPES | WIDE, st.sampled_from(DTYPES))
@quick
def test_transpose(data, shape, dtype):
    x = numbers(shape, dtype)
    perm = data.draw(st.permutations(range(len(shape))))
    assert_same(df.transpose(x, perm), np.transpose(x, perm))
    assert_same(df.constant(x).T, x.T)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("few", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("n", [1, 7, 129, 1000])
def test_transpose_of_few_rows_or_columns(n, few, dtype):
    """Images of few channels and channel shuffles; also as part of larger tensors."""
    for shape in ([n, few], [few, n]):
        x = numbers(shape, dtype)
        assert_same(df.transpose(x), x.T)
        many = numbers([3, *shape, 2], dtype)
        for perm in ([0, 2, 1, 3], [2, 0, 1, 3], [1, 3, 2, 0], [0, 3, 2, 1]):
            assert_same(df.transpose(many, perm), many.transpose(perm))


@given(st.data(), SHAPES)
@quick
def test_reshape(data, shape):
    x = numbers(shape)
    other = list(data.draw(st.permutations(shape)))
    if other and 0 not in other and data.draw(st.booleans()):
        other[data.draw(st.integers(0, len(other) - 1))] = -1
    assert_same(df.reshape(x, other), x.reshape(other))


@given(st.data(), SHAPES.filter(len), st.sampled_from(DTYPES))
@quick
def test_concat_and_split(data, shape, dtype):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    sizes = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    parts = [numbers([*shape[:axis % len(shape)], n, *shape[axis % len(shape) + 1:]], dtype)
             for n in sizes]
    whole = np.concatenate(parts, axis)
    assert_same(df.concat(parts, axis), whole)
    for got, want in zip(df.split(whole, sizes, axis), parts, strict=True):
        assert_same(got, want)


@given(st.data(), SHAPES, st.sampled_from(DTYPES))
@quick
def test_pad(data, shape, dtype):
    x = numbers(shape, dtype)
    pairs = [data.draw(st.tuples(st.integers(0, 3), st.integers(0, 3))) for _ in shape]
    if x.ndim:
        assert_same(df.pad(x, pairs), np.pad(x, pairs))
    short = [tuple(min(p, max(n - 1, 0)) for p in pair)
             for pair, n in zip(pairs, shape, strict=True)]
    if x.size and x.ndim:
        assert_same(df.pad(x, short, "REFLECT"), np.pad(x, short, "reflect"))
        assert_same(df.pad(x, short, "SYMMETRIC"), np.pad(x, short, "symmetric"))


@given(st.data(), SHAPES.filter(len), st.integers(-9, 9))
@quick
def test_roll_and_repeat(data, shape, shift):
    x = numbers(shape)
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    assert_same(df.roll(x, shift, axis), np.roll(x, shift, axis))
    assert_same(df.repeat(x, abs(shift), axis), np.repeat(x, abs(shift), axis))
    each = [i % 3 for i in range(shape[axis])]
    assert_same(df.repeat(x, each, axis), np.repeat(x, each, axis))


@given(st.data(), SHAPES)
@quick
def test_tile_and_broadcast(data, shape):
    x = numbers(shape, "int16")
    times = [data.draw(st.integers(0, 3)) for _ in shape]
    assert_same(df.tile(x, times), np.tile(x, times) if times else x)
    target = [2, *[5 if n == 1 else n for n in shape]]
    assert_same(df.broadcast_to(x, target), np.broadcast_to(x, target))


@pytest.mark.parametrize("axis", [[-1], (0,)])
def test_expand_dims_takes_a_sequence_of_one_axis(axis):
    wanted = np.expand_dims(np.ones((2, 3)), axis).shape
    assert df.expand_dims(df.ones([2, 3]), axis).shape == wanted
    traced = df.function(lambda x: df.expand_dims(x, axis=axis))
    assert traced(df.ones([2, 3])).shape == wanted
    for wrong in ([], [0, 1], [[0]]):
        with pytest.raises(TypeError, match="expand_dims: axis"):
            df.expand_dims(df.ones([2, 3]), wrong)


@pytest.mark.parametrize("make", [
    lambda x: df.reshape(x, (6, 4)), lambda x: df.expand_dims(x, 1), lambda x: df.identity(x),
    lambda x: df.squeeze(df.expand_dims(x, 0)), lambda x: df.stop_gradient(x),
    lambda x: df.transpose(df.expand_dims(x, 0), (1, 0, 2, 3)),
    lambda x: df.broadcast_to(x, (1, 2, 3, 4)),
])
def test_views_share_memory(make):
    x = df.constant(numbers((2, 3, 4)))
    assert np.shares_memory(make(x).numpy(), x.numpy())


def test_high_rank():
    x = df.reshape([1, 2], (1,) * 253 + (2,))
    assert x.ndim == 254 and df.transpose(x).shape == (2,) + (1,) * 253
    assert df.tile(x, (2,) + (1,) * 253).shape == (2,) + (1,) * 252 + (2,)
    assert x[(0,) * 253].tolist() == [1, 2]
    assert df.reshape(x, (-1,)).tolist() == [1, 2]
    assert "shape=(1, 1" in repr(x)
    inner = x.tolist()
    for _ in range(253):
        (inner,) = inner
    assert inner == [1, 2]
    for bad in (lambda: df.expand_dims(x, 0), lambda: df.stack([x, x]), lambda: x[None],
                lambda: df.zeros((1,) * 255), lambda: df.reshape(x, (1,) * 254 + (2,))):
        with pytest.raises((ValueError, IndexError), match="254"):
            bad()


@pytest.mark.parametrize("call, error, words", [
    (lambda x: df.reshape(x, (4, 2)), ValueError, ["reshape", "(2, 3)", "6", "(4, 2)"]),
    (lambda x: df.reshape(x, (-1, -1)), ValueError, ["reshape", "more than one -1"]),
    (lambda x: df.reshape(x, (-1, 4)), ValueError, ["reshape", "(2, 3)", "(-1, 4)|(?, 4)"]),
    (lambda x: df.reshape(x, (-2, 3)), ValueError, ["reshape", "-2"]),
    (lambda x: df.reshape(x, (-1, 0)), ValueError, ["reshape"]),
    (lambda x: df.reshape(x, "ab"), TypeError, ["reshape", "'ab'"]),
    (lambda x: df.reshape(x, (2**40, 2**40)), (ValueError, OverflowError), ["reshape"]),
    (lambda x: df.squeeze(x, 0), ValueError, ["squeeze", "dimension 0", "(2, 3)"]),
    (lambda x: df.expand_dims(x, 4), ValueError, ["expand_dims", "axis 4"]),
    (lambda x: df.transpose(x, (0, 0)), ValueError, ["transpose", "(0, 0)", "(2, 3)"]),
    (lambda x: df.transpose(x, (0,)), ValueError, ["transpose", "2 dimensions"]),
    (lambda x: df.broadcast_to(x, (3, 3)), ValueError, ["broadcast_to", "(2, 3)", "(3, 3)"]),
    (lambda x: df.broadcast_to(x, (3,)), ValueError, ["broadcast_to", "(3,)"]),
    (lambda x: df.concat([x, x[:, :2]], 0), ValueError, ["concat", "(2, 3)", "(2, 2)"]),
    (lambda x: df.concat([x, x[0]], 0), ValueError, ["concat", "input 1", "(3,)"]),
    (lambda x: df.concat([], 0), ValueError, ["concat", "no tensors"]),
    (lambda x: df.concat([x, x], 2), ValueError, ["concat", "axis 2"]),
    (lambda x: df.stack([x, x[0]]), ValueError, ["stack", "input 1"]),
    (lambda x: df.split(x, 2, 1), ValueError, ["split", "2 equal parts"]),
    (lambda x: df.split(x, [1, 1], 1), ValueError, ["split", "(1, 1)", "3"]),
    (lambda x: df.split(x, [-1, -1], 1), ValueError, ["split", "one -1"]),
    (lambda x: df.split(x, 0), ValueError, ["split"]),
    (lambda x: df.split(x, 2**40), ValueError, ["split"]),
    (lambda x: df.unstack(x, num=3), ValueError, ["unstack", "2", "3"]),
    (lambda x: df.unstack(df.constant(1)), ValueError, ["unstack"]),
    (lambda x: df.slice(x, [0, 2], [1, 2]), IndexError, ["slice", "dimension 1", "3"]),
    (lambda x: df.pad(x, [[1, 1]]), ValueError, ["pad", "(2, 3)"]),
    (lambda x: df.pad(x, [[-1, 1], [0, 0]]), ValueError, ["pad", "-1"]),
    (lambda x: df.pad(x, [[2**63 - 1, 1], [0, 0]]), OverflowError, ["pad"]),
    (lambda x: df.pad(x, [[2, 0], [0, 0]], "REFLECT"), ValueError, ["pad", "0 to 1"]),
    (lambda x: df.pad(x, [[0, 0], [0, 0]], "WRAP"), ValueError, ["pad", "WRAP"]),
    (lambda x: df.roll(x, 1, 2), ValueError, ["roll", "axis 2"]),
    (lambda x: df.tile(x, [1]), ValueError, ["tile", "(2, 3)"]),
    (lambda x: df.tile(x, [-1, 1]), ValueError, ["tile", "-1"]),
    (lambda x: df.repeat(x, [1, 2], 1), ValueError, ["repeat", "(1, 2)"]),
    (lambda x: df.reverse(x, 2), ValueError, ["reverse", "axis 2"]),
    (lambda x: df.fill((10**12, 10**12), 0), OverflowError, ["1000000000000"]),
    (lambda x: df.zeros((10**9, 10**9)), (MemoryError, OverflowError), ["1000000000"]),
    (lambda x: df.zeros((2, -1)), ValueError, ["-1"]),
    (lambda x: df.fill((2,), x), ValueError, ["fill", "(2, 3)"]),
    (lambda x: df.constant(x, shape=(4,)), ValueError, ["constant", "(4,)"]),
    (lambda x: df.range(0, 5, 0), ValueError, ["range", "step is 0"]),
    (lambda x: df.range(x), ValueError, ["range", "(2, 3)"]),
    (lambda x: df.range(float("inf")), ValueError, ["range"]),
    (lambda x: df.linspace(0.0, 1.0, 0), ValueError, ["linspace", "num"]),
    (lambda x: df.one_hot(x, 3), TypeError, ["one_hot", "float32"]),
    (lambda x: df.one_hot([1], -1), ValueError, ["one_hot", "-1"]),
    (lambda x: df.eye(-1), ValueError, ["eye"]),
    (lambda x: df.linalg.band_part(x[0], 0, 0), ValueError, ["band_part", "(3,)"]),
    (lambda x: df.ensure_shape(x, [None, 4]), ValueError, ["ensure_shape", "(2, 3)"]),
    (lambda x: df.convert_to_tensor(x, df.int32), TypeError, ["float32", "int32"]),
])
def test_bad_input(call, error, words):
    with pytest.raises(error) as info:
        call(df.constant(numbers((2, 3))))
    for word in words:
        assert any(w in str(info.value) for w in word.split("|")), str(info.value)


@pytest.mark.parametrize("args, dtype", [
    ((5,), "int32"), ((2, 11, 3), "int32"), ((5, -5, -2), "int32"), ((0, -3), "int32"),
    ((0.0, 2.0, 0.25), "float32"), ((0, 3.0), "float32"), ((2**33, 2**33 + 3), "int64"),
])
def test_range(args, dtype):
    got = df.range(*args)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got.numpy(), np.arange(*args))


def test_range_of_whole_int64():
    edge = df.constant(2**63 - 1, df.int64)
    assert df.range(edge - 3, edge, 2).tolist() == [2**63 - 4, 2**63 - 2]
    with pytest.raises((MemoryError, OverflowError, ValueError)):
        df.range(df.constant(-2**63, df.int64), edge, 1)


@pytest.mark.parametrize("indexing", ["xy", "ij"])
def test_meshgrid(indexing):
    parts = [np.arange(2), np.arange(3) * 10, np.arange(4) * 100]
    for n in (1, 2, 3):
        for got, want in zip(df.meshgrid(*parts[:n], indexing=indexing),
                             np.meshgrid(*parts[:n], indexing=indexing), strict=True):
            assert_same(got, want)


def test_creation():
    assert df.eye(3, batch_shape=[2]).tolist() == [np.eye(3).tolist()] * 2
    assert df.eye(2, dtype=df.bool_).tolist() == [[True, False], [False, True]]
    assert df.one_hot([0, 1], 2, on_value=5, off_value=-1).tolist() == [[5, -1], [-1, 5]]
    for empty in ([], [[], []], np.zeros((0, 2)), df.range(0)):
        want = [*np.shape(empty), 3]
        assert df.one_hot(empty, 3).shape == df.function(lambda x: df.one_hot(x, 3))(
            df.cast(empty, df.int32)).shape == tuple(want)
    assert df.zeros(3, df.bfloat16).dtype is df.bfloat16
    assert df.ones_like(df.constant([1, 2]), df.float64).dtype is df.float64
    assert df.constant(3.0, shape=[2]).tolist() == [3, 3]
    assert df.convert_to_tensor(x := df.constant(1)) is x


def test_repr():
    assert repr(df.constant([[1.0, 2.0]])) == (
        "<dualflow.Tensor shape=(1, 2) dtype=float32\n[[1. 2.]]>")
    assert repr(df.constant(2)) == "<dualflow.Tensor shape=() dtype=int32 2>"
    assert repr(df.Variable(1.0, name="w")) == "<dualflow.Variable 'w' shape=() dtype=float32 1.0>"
    assert "1.5" in repr(df.constant([1.5], df.bfloat16))
    assert len(repr(df.zeros((1000, 1000)))) < 500
    assert "[]" in repr(df.zeros((0, 3)))


def test_membership():
    x = df.constant([[1, 2], [3, 4]])
    assert 3 in x and 9 not in x and "a" not in x
    for dtype in ("float16", "bfloat16", "bool", "uint8"):
        assert df.constant([1, 0], dtype).tolist() == [1, 0]
    assert df.zeros((2, 0)).tolist() == [[], []]


def test_stop_gradient_warns():
    x = df.constant(2.0)
    with df.GradientTape() as tape:
        tape.watch(x)
        y = df.stop_gradient(x) * 3
    with pytest.warns(UserWarning, match="stopped on purpose"):
        assert tape.gradient(y, x) is None
