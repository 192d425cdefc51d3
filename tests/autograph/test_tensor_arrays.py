"""Tensor arrays in converted loops and branches have the bits of eager mode, gradients included."""

import pytest

import dualflow as df
from tests.autograph.test_gradients import gradients
from tests.graph.build import assert_same


def written_in_a_loop(x):
    a = df.TensorArray(df.float32, 4)
    for i in range(df.cast(x[0], df.int32)):
        a = a.write(i, x[i] * 2.)
    return a.stack()


def written_in_one_branch_or_the_other(x):
    a, b = df.TensorArray(df.float32, 4), df.TensorArray(df.float32, 4)
    for i in range(df.cast(x[0], df.int32)):
        if x[i] > 1.5:
            a = a.write(i, x[i] * 2.)
        else:
            b = b.write(i, x[i] * 3.)
    return a.stack() + b.stack()


def written_at_known_numbers(x):
    a = df.TensorArray(df.float32, 2)
    if x[1] > 2.:
        a = a.write(0, x[1])
    else:
        y = x[2] * x[2]
        a = a.write(1, y)
    return a.stack()


def beside_numbers_in_a_dict(x):
    state, i = {"rows": df.TensorArray(df.float32, 4), "sum": 0.}, 0
    while i < df.cast(x[0], df.int32):
        state["rows"] = state["rows"].write(3 - i, x * x[i])
        state["sum"] += x[i]
        i += 1
    return df.reduce_sum(state["rows"].stack()) * state["sum"]


def read_in_a_loop(x):
    a = df.TensorArray(df.float32, 4).unstack(x)
    y = a.read(0)
    while y < 30.:
        y = y * a.read(1) + a.read(2)
        a = a.write(1, y / 2.)
    return y + df.reduce_sum(a.stack())


def grown_in_a_loop(x):
    a = df.TensorArray(df.float32, 0, dynamic_size=True)
    for i in range(df.cast(x[0], df.int32)):
        a = a.write(2 * i, x[i] * x)
    return a.stack() * df.cast(a.size(), df.float32)


def grown_in_a_branch(x):
    a = df.TensorArray(df.float32, 0, dynamic_size=True)
    for i in range(df.cast(x[0], df.int32)):
        if x[i] > 1.5:
            a = a.write(i, x[i] * 2.)
    return a.stack()


def grown_and_read(x):
    a = df.TensorArray(df.float32, 1, dynamic_size=True, element_shape=[])
    i = 0
    while i < df.cast(x[0], df.int32):
        a = a.write(i + 1, x[i] * a.read(i // 2) + x[i])
        i += 1
    return a.stack()


@pytest.mark.parametrize("f", [written_in_a_loop, written_in_one_branch_or_the_other,
                               written_at_known_numbers, beside_numbers_in_a_dict, read_in_a_loop,
                               grown_in_a_loop, grown_in_a_branch, grown_and_read])
@pytest.mark.parametrize("x", [[3., 2., 1., 4.], [4., 4., 1.25, 3.], [2., 1.5, 2.5, .5]])
def test_tensor_arrays(f, x):
    x = df.constant(x)
    want, slopes = f(x), gradients(f, x)
    for passes in (True, False):
        traced = df.function(f, passes=passes)
        assert_same(traced(x), want)
        assert_same(gradients(traced, x)[0], slopes[0])
    assert_same(df.function(lambda x: gradients(f, x))(x)[0], slopes[0])
