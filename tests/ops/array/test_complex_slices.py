"""Slices of complex numbers."""

import numpy as np
import pytest

import dualflow as df


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_gradient_outside_of_a_slice_is_zero(dtype):
    x = df.ones([200], dtype)
    for _ in range(20):
        garbage = df.fill([200], df.cast(7 + 7j, dtype)) * 3      # dirties memory that is reused
        del garbage
        with df.GradientTape() as tape:
            tape.watch(x)
            y = x[50:60]
        want = np.zeros(200)
        want[50:60] = 1
        np.testing.assert_array_equal(tape.gradient(y, x), want)
