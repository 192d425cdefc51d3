"""pow: gradients at zero, integers."""

import math

import numpy as np
import pytest

import dualflow as df
from tests.ops.test_arithmetic import slope


def test_gradients_of_pow_at_zero():
    assert slope(df.pow, 0, 2) == [0, 0]
    assert slope(df.pow, 0, 1) == [1, 0]
    assert slope(df.pow, 0, 0) == [0, 0]
    assert slope(df.pow, 3, 0) == pytest.approx([0, math.log(3)])
    assert slope(df.pow, -2, 3) == [12, 0]


def test_second_derivative_of_pow_at_exponent_zero():
    # d/db d/da a^b = a^(b-1) (1 + b log a)
    def to_base(a, b):
        with df.GradientTape() as tape:
            tape.watch(a)
            y = df.pow(a, b)
        return tape.gradient(y, a)

    assert slope(to_base, 4, 0) == [0, 0.25]


def test_integer_powers():
    a = np.array([2, -1, -1, 1, 0, 3, -3], "i4")
    b = np.array([10, -3, -2, -5, -1, 0, 3], "i4")
    assert df.pow(a, b).numpy().tolist() == [1024, -1, 1, 1, 0, 1, -27]


def test_square_root_at_zero():
    assert slope(df.sqrt, 0) == [math.inf]
