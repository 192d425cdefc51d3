"""``x[key]`` against NumPy: basic keys of any kind, integer tensors, masks, and combinations."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

import dualflow as df

DTYPES = ["float32", "int64", "int16", "bool"]


def numbers(shape, dtype="float32"):
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


@st.composite
def arrays_and_keys(draw):
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=4))
    x = numbers(shape, draw(st.sampled_from(DTYPES)))
    return x, draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))


@given(arrays_and_keys())
@settings(max_examples=300)
def test_basic(pair):
    x, key = pair
    got = df.constant(x)[key].numpy()
    assert got.shape == x[key].shape
    np.testing.assert_array_equal(got, x[key])


@given(arrays_and_keys())
@settings(max_examples=100)
def test_gradient_of_basic(pair):
    x, key = pair
    x = df.constant(x, "float32")
    want = np.zeros(x.shape, "float32")
    want[key] = 2
    with df.GradientTape() as tape:
        tape.watch(x)
        y = x[key] * 2
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), want)


X = numbers((4, 3, 5, 2))
MASK = numbers((4, 3)) % 3 == 0


@pytest.mark.parametrize("key", [
    np.array([2, 0]), np.array([[2, -1], [0, 0]]), ([2, 0], [1, -1]), ([[2], [0]], [1, 2]),
    (0, [1, 1]), ([1, 1], 0), (slice(None), [0, 2]), (slice(1, 3), [0, 2], None),
    (..., [1, 0]), (slice(None), 1, [0, 4], slice(None, None, -1)), ([0, 1], None, 1),
    (0, slice(None), [1, 0]), ([1, 0], slice(None), [1, 0]), (None, [1, 2], slice(2), 0),
    ([0, 1], ..., [1, 0]), (slice(None), [0, 1], slice(None), 1), MASK, (MASK, slice(1, 4)),
    (MASK[:, 0],), (MASK[:, 0], 1), (slice(None), MASK[0]), (slice(None), MASK[0], [1]),
    (MASK, [0]), (np.int64(1),), np.uint8(2), (np.array(2), slice(None)), [], ([], 0),
    np.zeros((0, 2), int), np.zeros((4, 3), bool), (np.array([1, 2], "int8"), slice(None)),
], ids=str)
def test_advanced(key):
    want = X[key]
    got = df.constant(X)[key].numpy()
    assert got.shape == want.shape
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("key", [df.constant(1), df.constant([2, 0]), df.constant(MASK),
                                 df.Variable([1, 1]),
                                 (slice(df.constant(1), None), df.constant(-1))], ids=str)
def test_tensors_as_keys(key):
    def plain(k):
        if isinstance(k, slice):
            return slice(int(k.start), None)
        return k.numpy()

    want = X[tuple(map(plain, key)) if isinstance(key, tuple) else plain(key)]
    np.testing.assert_array_equal(df.constant(X)[key].numpy(), want)


def test_gradient_of_repeated_indices_is_summed():
    x = df.constant([1.0, 2.0, 3.0])
    with df.GradientTape() as tape:
        tape.watch(x)
        y = x[[0, 0, 2]]
    assert tape.gradient(y, x).tolist() == [2, 0, 1]


@pytest.mark.parametrize("key", [(), ..., 1, -1, slice(1, 3), slice(0, None, 1), (1, 2),
                                 (1, slice(0, 2)), (1, 2, slice(3, 4)), (0, None, 1)], ids=str)
def test_contiguous_slices_share_memory(key):
    x = df.constant(X)
    assert np.shares_memory(x[key].numpy(), x.numpy())


@pytest.mark.parametrize("key, error, words", [
    (4, IndexError, ["index 4", "dimension 0", "size 4"]),
    (-5, IndexError, ["index -5", "size 4"]),
    ((0, 3), IndexError, ["index 3", "dimension 1", "size 3"]),
    ((0, 0, 0, 0, 0), IndexError, ["5 indices", "4 dimensions"]),
    ((..., ...), IndexError, ["more than one ellipsis"]),
    (slice(None, None, 0), ValueError, ["step", "0"]),
    (1.5, TypeError, ["float32"]),
    ("a", TypeError, ["'a'"]),
    (slice("a", None), TypeError, ["slice"]),
    (True, TypeError, ["bool"]),
    ([9], IndexError, ["9", "4"]),
    (2**70, OverflowError, ["64 bits"]),
    (np.array([True, False]), (IndexError, ValueError), ["(2,)"]),
    (([0, 1], [0, 1, 2]), IndexError, ["broadcast"]),
    (np.array([1.0]), TypeError, ["float64"]),
], ids=str)
def test_errors(key, error, words):
    with pytest.raises(error) as info:
        df.constant(X)[key]
    for word in words:
        assert word in str(info.value)


def test_huge_bounds_of_slices():
    x = df.constant(X)
    np.testing.assert_array_equal(x[-2**80:2**80:2**70].numpy(), X[::2**40])
    np.testing.assert_array_equal(x[2**80:-2**80:-1].numpy(), X[::-1])


def test_iteration():
    x = df.constant([[1, 2], [3, 4]])
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]]
    _, b = x
    assert b[1].item() == 4
    with pytest.raises(TypeError):
        iter(df.constant(1))


# --- plain keys, which the core parses itself -----------------------------------------------------

class Whole(int):
    pass


BOUNDS = [None, 0, 1, -1, 5, -9, 2 ** 62, 2 ** 63 - 1, 2 ** 63, -2 ** 63, -2 ** 63 - 1, 2 ** 100,
          True, Whole(1), np.int8(1), 1.5, "1"]
KEYS = [0, -1, 2, -3, 2 ** 62, 2 ** 70, -2 ** 63, True, Whole(1), np.int64(1), (), (0,), (0, 1),
        (0, 1, 0), (slice(None),), (slice(None),) * 3, (0, slice(None)), (Whole(0), 1), (None, 0),
        (..., 0), (slice(1, None), -1), (True, 0), ("a", 0), (slice(None, None, 0),),
        *[slice(b) for b in BOUNDS], *[slice(b, None, -1) for b in BOUNDS],
        *[slice(None, None, b) for b in BOUNDS], *[(0, slice(b, 2)) for b in BOUNDS]]


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_plain_keys_match_the_general_path(key):
    def outcome(f, *args):
        try:
            y = f(*args)
            return y.shape, y.tolist()
        except Exception as error:
            return type(error), str(error).split(" (made at")[0]

    x = df.constant([[1., 2.], [3., 4.], [5., 6.]])
    want = outcome(df.ops.indexing.indexing.getitem, x, key)
    assert outcome(lambda: x[key]) == want
    assert outcome(lambda: df.Variable(x)[key]) == want
    assert outcome(df.function(lambda x: x[key]), x) == want


def test_operators_with_attributes_on_a_tape():
    x, v = df.constant([[1., 2.], [3., 4.]]), df.Variable([[1., 0.], [2., 1.]])
    with df.GradientTape() as tape:
        tape.watch(x)
        y = (x @ v)[0, 1] + (v @ x)[:, 1:][1][0] + x[1][0]
    plain = df.function(lambda x: (x @ v)[0, 1] + (v @ x)[:, 1:][1][0] + x[1][0])
    assert plain(x).item() == y.item() == 2. + 8. + 3.
    dx, dv = tape.gradient(y, [x, v])
    assert dx.tolist() == [[0., 1. + 2.], [1., 1.]] and dv.tolist() == [[0., 1.], [2., 2. + 4.]]
