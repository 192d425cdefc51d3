"""Special functions: zeros of x log y, poles, orders out of range."""

import math

import numpy as np
import pytest

import dualflow as df
from tests.ops.elementwise.test_arithmetic import slope


def test_gradients_at_zero():
    assert slope(df.math.xlogy, 0, 0) == [0, 0]
    assert slope(df.math.xlogy, 0, 2) == [0, 0]
    assert slope(df.math.xlogy, 2, 4) == pytest.approx([math.log(4), 0.5])
    assert slope(df.math.xlog1py, 0, -1) == [0, 0]
    assert slope(df.math.xdivy, 0, 0) == [0, 0]


def test_sigmoid_and_softplus_do_not_overflow():
    x = np.array([-1e4, 1e4], "f4")
    assert df.sigmoid(x).numpy().tolist() == [0, 1]
    assert df.math.softplus(x).numpy().tolist() == [0, 1e4]
    assert df.math.log_sigmoid(x).numpy().tolist() == [-1e4, 0]
