"""Python's operators on integers and bools."""

import numpy as np
import pytest

import dualflow as df


def test_operators_of_integers():
    a = df.constant([12, -7])
    assert (a & 10).numpy().tolist() == [12 & 10, -7 & 10]
    assert (3 | a).numpy().tolist() == [12 | 3, -7 | 3]
    assert (a ^ a).numpy().tolist() == [0, 0]
    assert (~a).numpy().tolist() == [~12, ~-7]
    assert (a << 2).numpy().tolist() == [48, -28]
    assert (a >> 1).numpy().tolist() == [6, -4]


def test_operators_of_bools_are_logical():
    a, b = df.constant([True, False]), df.constant([True, True])
    assert (a & b).dtype is df.bool_
    assert (a & b).numpy().tolist() == [True, False]
    assert (a | False).numpy().tolist() == [True, False]
    assert (a ^ b).numpy().tolist() == [False, True]
    assert (~a).numpy().tolist() == [False, True]


def test_bitwise_operators_of_floats_raise():
    with pytest.raises(df.errors.DTypeError, match=r"bitwise_and.*float32"):
        df.constant([1.0]) & df.constant([2.0])


def test_shifts_too_long_or_negative():
    a = np.array([5, -5], "i4")
    assert df.bitwise.left_shift(a, 32).numpy().tolist() == [0, 0]
    assert df.bitwise.right_shift(a, [99, -1]).numpy().tolist() == [0, -1]
