"""maximum, minimum and clipping: gradients of ties, and NaN."""

import numpy as np
import pytest

import dualflow as df
from tests.ops.elementwise.test_arithmetic import slope


def test_gradient_of_ties_goes_to_the_first_operand():
    assert slope(df.maximum, 2, 2) == [1, 0]
    assert slope(df.minimum, 2, 2) == [1, 0]


def test_gradient_of_clip_is_passed_within_and_on_the_limits():
    assert slope(df.clip_by_value, 0, 0, 1) == [1, 0, 0]
    assert slope(df.clip_by_value, 1, 0, 1) == [1, 0, 0]
    assert slope(df.clip_by_value, -1, 0, 1) == [0, 1, 0]
    assert slope(df.clip_by_value, 2, 0, 1) == [0, 0, 1]


def test_nan_propagates():
    nan = float("nan")
    assert np.isnan(df.maximum([nan, 1.0], [1.0, nan]).numpy()).all()
    assert np.isnan(df.minimum([nan, 1.0], [1.0, nan]).numpy()).all()
    assert np.isnan(df.clip_by_value([nan], 0.0, 1.0).numpy()).all()


@pytest.mark.parametrize("dtype, huge", [("float16", 6e4), ("bfloat16", 3e38), ("float32", 3e38),
                                         ("float64", 1e300)])
def test_clip_by_norm_if_squares_overflow(dtype, huge):
    tensors = [df.constant([huge, -huge, huge], dtype), df.constant([[huge]], dtype)]

    def clip(a, b):
        return (*df.clip_by_global_norm([a, b], 1.)[0], df.clip_by_norm(a, 3. ** .5))

    for f in (clip, df.function(clip)):
        a, b, c = [t.tolist() for t in f(*tensors)]
        assert a == pytest.approx([.5, -.5, .5], rel=1e-2)
        assert b == [pytest.approx([.5], rel=1e-2)]
        assert c == pytest.approx([1., -1., 1.], rel=1e-2)
    tiny = df.constant([1e-300, 0.], "float64")
    assert df.linalg.global_norm([tiny]).item() == 1e-300
