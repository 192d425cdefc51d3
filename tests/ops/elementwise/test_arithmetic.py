"""Arithmetic: behaviour that rows of the table cannot express."""

import numpy as np
import pytest

import dualflow as df


def slope(f, *values):
    """Return the gradient of f at scalars, one value per argument."""
    xs = [df.constant(np.array(float(v))) for v in values]
    with df.GradientTape() as tape:
        for x in xs:
            tape.watch(x)
        y = f(*xs)
    return [float(g) for g in tape.gradient(y, xs, unconnected_gradients="zero")]


def test_add_n_of_different_shapes_or_dtypes_raises():
    with pytest.raises(df.errors.ShapeError, match=r"add_n: input 2 is float32 \(3,\).*\(2,\)"):
        df.add_n([np.ones(2, "f4"), np.ones(2, "f4"), np.ones(3, "f4")])
    with pytest.raises(df.errors.InvalidArgumentError, match="add_n"):
        df.add_n([])
    with pytest.raises(df.errors.DTypeError, match=r"add_n.*bool"):
        df.add_n([[True], [False]])


def test_add_n_sums_from_the_first_to_the_last():
    xs = [np.array([v], "f4") for v in (1e8, 1, 1, -1e8)]
    assert df.add_n(xs).numpy()[0] == ((xs[0] + xs[1]) + xs[2] + xs[3])[0]


def test_gradient_of_add_n():
    assert slope(lambda a, b, c: df.add_n([a, b, c, a]), 1, 2, 3) == [2, 1, 1]


def test_gradients_at_kinks():
    assert slope(df.abs, 0) == [0]
    assert slope(df.sign, 3) == [0]
    assert slope(df.math.divide_no_nan, 2, 0) == [0, 0]
    assert slope(df.math.multiply_no_nan, 2, 0) == [0, 2]
    assert slope(lambda a, b: df.math.multiply_no_nan(a, b) * 0., float("inf"), 1) == [0, 0]
    assert slope(df.math.floormod, 7, 3) == [1, -2]


def test_gradient_of_sign_is_zero():
    """The gradient is not None, since the result is connected to the operand."""
    x = df.constant([-2., 0., 3.])
    with df.GradientTape() as tape:
        tape.watch(x)
        y = df.sign(x)
    assert tape.gradient(y, x).numpy().tolist() == [0., 0., 0.]


def test_integers_wrap_around():
    top = df.constant([127], dtype=df.int8)
    assert (top + 1).numpy().tolist() == [-128]
    least = df.constant([-128], dtype=df.int8)
    assert df.math.floordiv(least, -1).numpy().tolist() == [-128]
    assert df.math.floormod(least, -1).numpy().tolist() == [0]


def test_gradients_with_an_infinite_operand():
    inf = float("inf")
    x, y = df.constant([inf, 2.]), df.constant([0., 3.])
    with df.GradientTape() as tape:
        tape.watch([x, y])
        z = df.math.multiply_no_nan(x, y)
    to_x, to_y = tape.gradient(z, [x, y], output_gradients=df.constant([0., 1.]))
    assert to_x.numpy().tolist() == [0, 3] and to_y.numpy().tolist() == [0, 2]
