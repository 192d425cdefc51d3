"""gather_rows: rows of several tensors at the same indices."""

import numpy as np
import pytest

import dualflow as df
from dualflow import errors
from dualflow._core import gather_rows

X = np.arange(60, dtype=np.float32).reshape(10, 6)


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "bool", "float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 5), (0,)])
def test_rows_match_numpy(dtype, shape):
    x = df.cast(df.reshape(df.range(10 * int(np.prod(shape))), (10, *shape)), dtype)
    order = df.constant([7, 0, 9, 3, 3], df.int64)
    got, = gather_rows([x], order, 1, 4)
    assert got.dtype is x.dtype and got.shape == (3, *shape)
    assert got.tolist() == [x.tolist()[i] for i in (0, 9, 3)]


def test_tapes_and_empty_ranges():
    x = df.constant(X)
    order = df.constant([2, 1], df.int64)
    with df.GradientTape() as tape:
        tape.watch(x)
        rows, none = gather_rows([x], order, 0, 2)[0], gather_rows([x], order, 1, 1)[0]
        y = df.reduce_sum(rows)
    with pytest.warns(errors.GradientWarning):
        assert tape.gradient(y, x) is None
    assert none.shape == (0, 6)
    assert gather_rows([], order, 0, 2) == []


@pytest.mark.parametrize("order, begin, end", [
    ([0, 1], 0, 3), ([0, 1], -1, 1), ([0, 1], 2, 1), ([[0, 1]], 0, 1), ([0., 1.], 0, 1),
    ([0, 10], 0, 2)])
def test_invalid_indices_raise(order, begin, end):
    order = df.constant(order)
    order = df.cast(order, df.int64) if order.dtype.is_integer else order
    with pytest.raises((errors.InvalidArgumentError, errors.OutOfRangeError)):
        gather_rows([df.constant(X)], order, begin, end)


def test_arguments_must_be_tensors():
    order = df.constant([0], df.int64)
    with pytest.raises(TypeError):
        gather_rows([X], order, 0, 1)
    with pytest.raises(errors.InvalidArgumentError):
        gather_rows([df.constant(1.)], order, 0, 1)
    with pytest.raises(TypeError):
        gather_rows([df.constant(X)], None, 0, 1)

    @df.function
    def traced(x, order):
        return gather_rows([x], df.constant([0], df.int64), 0, 1)[0]

    with pytest.raises(errors.TracedValueError):
        traced(df.constant(X), order)


def test_many_rows_with_any_thread_count():
    x = df.constant(np.random.default_rng(0).normal(size=(5000, 64)).astype(np.float32))
    order = df.random.stateless_permutation(5000, [1, 2])
    got = gather_rows([x, order], order, 0, 5000)
    assert (got[0].numpy() == x.numpy()[order.numpy()]).all()
    assert (got[1].numpy() == order.numpy()[order.numpy()]).all()
