"""Lists that contain slices are tuples of keys, as in TensorFlow."""

import numpy as np
import pytest

import dualflow as df

X = np.arange(24).reshape(2, 3, 4)


@pytest.mark.parametrize("key", [
    [slice(0, 1), slice(1, 3)], [slice(None), 1], [0, slice(1, None, 2), slice(None)],
    [..., slice(0, 2)], [slice(0, 0)], [slice(None), [2, 0]], [slice(None), None, ...]])
def test_a_list_with_a_slice_is_a_tuple(key):
    x, expected = df.constant(X), X[tuple(key)]
    for got in (x[key], df.function(lambda x: x[key])(x), df.Variable(X)[key]):
        assert got.shape == expected.shape and got.numpy().tolist() == expected.tolist()


def test_a_list_of_integers_is_an_index():
    assert df.constant(X)[[1, 0]].numpy().tolist() == X[[1, 0]].tolist()


def test_too_many_keys_raise():
    with pytest.raises(df.errors.OutOfRangeError):
        _ = df.constant(X)[[slice(None)] * 4]
