"""Limits: where gradients go when operands are equal, and NaN."""

import numpy as np

import dualflow as df
from tests.ops.test_arithmetic import slope


def test_ties_go_to_the_first():
    assert slope(df.maximum, 2, 2) == [1, 0]
    assert slope(df.minimum, 2, 2) == [1, 0]


def test_clip_passes_gradients_between_its_limits_and_on_them():
    assert slope(df.clip_by_value, 0, 0, 1) == [1, 0, 0]
    assert slope(df.clip_by_value, 1, 0, 1) == [1, 0, 0]
    assert slope(df.clip_by_value, -1, 0, 1) == [0, 1, 0]
    assert slope(df.clip_by_value, 2, 0, 1) == [0, 0, 1]


def test_nan_stays():
    nan = float("nan")
    assert np.isnan(df.maximum([nan, 1.0], [1.0, nan]).numpy()).all()
    assert np.isnan(df.minimum([nan, 1.0], [1.0, nan]).numpy()).all()
    assert np.isnan(df.clip_by_value([nan], 0.0, 1.0).numpy()).all()
