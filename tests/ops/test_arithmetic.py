"""Arithmetic: what a row of the table can't say."""

from fractions import Fraction

import numpy as np
import pytest

import dualflow as df


def slope(f, *values):
    """The gradient of f at scalars, one number per argument."""
    xs = [df.constant(np.array(float(v))) for v in values]
    with df.GradientTape() as tape:
        for x in xs:
            tape.watch(x)
        y = f(*xs)
    return [float(g) for g in tape.gradient(y, xs, unconnected_gradients="zero")]


def test_add_n_refuses_what_is_not_of_one_shape():
    with pytest.raises(df.errors.ShapeError, match=r"add_n: input 2 is float32 \(3,\).*\(2,\)"):
        df.add_n([np.ones(2, "f4"), np.ones(2, "f4"), np.ones(3, "f4")])
    with pytest.raises(df.errors.InvalidArgumentError, match="add_n"):
        df.add_n([])
    with pytest.raises(df.errors.DTypeError, match=r"add_n.*bool"):
        df.add_n([[True], [False]])


def test_add_n_sums_from_the_first_to_the_last():
    xs = [np.array([v], "f4") for v in (1e8, 1, 1, -1e8)]
    assert df.add_n(xs).numpy()[0] == ((xs[0] + xs[1]) + xs[2] + xs[3])[0]


def test_add_n_gives_its_gradient_to_all():
    assert slope(lambda a, b, c: df.add_n([a, b, c, a]), 1, 2, 3) == [2, 1, 1]


def test_gradients_where_a_formula_has_a_corner():
    assert slope(df.abs, 0) == [0]
    assert slope(df.sign, 3) == [0]
    assert slope(df.math.divide_no_nan, 2, 0) == [0, 0]
    assert slope(df.math.multiply_no_nan, 2, 0) == [0, 2]
    assert slope(df.math.floormod, 7, 3) == [1, -2]


def test_sign_has_a_gradient_of_zeros():
    """Not none: what it is made from is connected."""
    x = df.constant([-2., 0., 3.])
    with df.GradientTape() as tape:
        tape.watch(x)
        y = df.sign(x)
    assert tape.gradient(y, x).numpy().tolist() == [0., 0., 0.]


def test_integers_wrap_around_and_divide_by_zero_to_zero():
    top = df.constant([127], dtype=df.int8)
    assert (top + 1).numpy().tolist() == [-128]
    assert df.math.floordiv([5, -5], 0).numpy().tolist() == [0, 0]
    assert df.math.floormod([5, -5], 0).numpy().tolist() == [0, 0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floor_division_is_exact_around_whole_quotients(dtype):
    rng = np.random.default_rng(0)
    b = rng.uniform(-4, 4, 4000).astype(dtype)
    a = (b * rng.integers(-1000, 1000, 4000)).astype(dtype)        # next to a multiple
    a = np.concatenate([a, np.nextafter(a, a.dtype.type(9e9)),
                        rng.uniform(-1e-30, 1e-30, 4000).astype(dtype)])
    b = np.tile(b, 3)
    quotient, remainder = df.math.floordiv(a, b).numpy(), df.math.floormod(a, b).numpy()
    exact = [divmod(Fraction(float(x)), Fraction(float(y))) for x, y in zip(a, b, strict=True)]
    np.testing.assert_array_equal(quotient, np.array([float(q) for q, _ in exact], dtype))
    np.testing.assert_array_equal(remainder, np.array([float(r) for _, r in exact], dtype))
