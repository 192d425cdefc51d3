"""where: its two forms, and conditions that are not bool."""

import numpy as np
import pytest

import dualflow as df
from tests.ops.elementwise.test_arithmetic import slope


def test_condition_must_be_bool():
    with pytest.raises(df.errors.DTypeError, match=r"input 0 is int32 \(2,\), expected bool"):
        df.where([1, 0], [1.0, 2.0], 0.0)


def test_both_or_no_values_must_be_given():
    with pytest.raises(df.errors.InvalidArgumentError, match="where"):
        df.where([True], [1.0])
    assert df.where([[False, True], [True, False]]).numpy().tolist() == [[0, 1], [1, 0]]


def test_nan_in_the_other_operand_affects_neither_value_nor_gradient():
    def f(x):
        return df.where(x > 0, x * x, float("nan"))

    assert slope(f, 3) == [6]


def test_where_of_float16():
    a, b = np.array([1, 2], "f2"), np.array([3, 4], "f2")
    assert df.where([True, False], a, b).numpy().tolist() == [1, 4]
