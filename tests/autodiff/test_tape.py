import numpy as np
import pytest

import dualflow as df


def test_square():
    x = df.constant([1., 2.])
    with df.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), [2., 4.])


def test_second_order():
    x = df.Variable([1., 2., 3.])
    with df.GradientTape() as outer:
        with df.GradientTape() as inner:
            y = x * x * x
        g = inner.gradient(y, x)
    np.testing.assert_array_equal(g.numpy(), [3., 12., 27.])
    np.testing.assert_array_equal(outer.gradient(g, x).numpy(), [6., 12., 18.])


def test_asked_twice():
    x = df.Variable(2.)
    with df.GradientTape() as tape:
        y = x * x
    assert tape.gradient(y, x).item() == 4
    with pytest.raises(RuntimeError, match="persistent=True"):
        tape.gradient(y, x)


def test_not_watched():
    x = df.constant(2.)
    with df.GradientTape() as tape:
        y = x * x
    with pytest.warns(df.errors.GradientWarning, match="does not watch"):
        assert tape.gradient(y, x) is None
