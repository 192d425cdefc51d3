"""pow: gradients at zero, integers."""

import math

import numpy as np
import pytest

import dualflow as df
from tests.ops.elementwise.test_arithmetic import slope


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
    a = np.array([2, -1, -1, 1, 0, 3, -3, 0], "i4")
    b = np.array([10, 3, 2, 5, 1, 0, 3, 0], "i4")
    assert df.pow(a, b).numpy().tolist() == [1024, -1, 1, 1, 0, 1, -27, 1]


def test_square_root_at_zero():
    assert slope(df.sqrt, 0) == [math.inf]


CORNERS = [0., -0., 1., -1., math.inf, -math.inf, math.nan, 2., -2., 0.5, -0.5, 3., 5e-324, -5e-324]


def slopes_of_pow(x, y):
    """Return TensorFlow's gradients, but 0 instead of 0 times infinity, where x**y is constant."""
    x, y = np.float64(x), np.float64(y)
    with np.errstate(all="ignore"):
        to_base, out = np.power(x, y - 1), np.power(x, y)
        log_x = np.log(x) if x > 0 else np.float64(0)
        return (0. if to_base == 0 or y == 0 else to_base * y,
                0. if out == 0 else out * log_x)


def test_gradient_of_pow_at_special_values():
    """docs/numerics.md lists the special values on which TensorFlow and PyTorch agree."""
    x, y = (a.ravel() for a in np.meshgrid(CORNERS, CORNERS))
    want = np.array([slopes_of_pow(a, b) for a, b in zip(x, y, strict=True)]).T

    def gradients(x, y):
        with df.GradientTape() as tape:
            tape.watch([x, y])
            z = df.pow(x, y)
        return tape.gradient(z, [x, y])

    for call in (gradients, df.function(gradients)):
        got = [g.numpy() for g in call(df.constant(x), df.constant(y))]
        np.testing.assert_allclose(got, want, rtol=1e-14)
        assert (np.signbit(got) == np.signbit(want))[(want == 0) & (np.array(got) == 0)].all()


@pytest.mark.parametrize("x, y, to_base, to_exponent", [
    (0, 0, 0, 0), (0, 1, 1, 0), (0, 2, 0, 0), (0, 0.5, math.inf, 0), (0, -1, -math.inf, math.nan),
    (-2, 2, -4, 0.), (-2, 3, 12, -0.), (-2, 0.5, math.nan, math.nan), (-2, -1, -0.25, -0.),
    (math.inf, -1, -0., 0), (0.5, math.inf, 0, 0), (2, -math.inf, 0, 0), (1, math.inf, math.inf, 0),
    (math.nan, 0, 0, 0), (2, 0, 0, math.log(2)), (1, math.nan, math.nan, 0)])
def test_gradient_of_pow_at_hand_derived_values(x, y, to_base, to_exponent):
    np.testing.assert_equal(slope(df.pow, x, y), pytest.approx([to_base, to_exponent],
                                                               nan_ok=True))
