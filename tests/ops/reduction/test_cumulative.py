"""Cumulative ops beyond the rows of the table: few columns, short rows."""

import numpy as np
import pytest

import dualflow as df


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("op", ["cumsum", "cumprod", "cumulative_logsumexp"])
def test_bits_depend_neither_on_other_columns_nor_on_the_axis(op, exclusive, reverse):
    rng = np.random.default_rng(0)

    def run(x, axis):
        return getattr(df.math, op)(x, axis, exclusive=exclusive, reverse=reverse).numpy()

    for dtype in ("float32", "float64", "int8", "int64"):
        if op == "cumulative_logsumexp" and not dtype.startswith("float"):
            continue
        for n in (1, 2, 5, 40):
            x = (4 * rng.normal(size=(n, 3000))).astype(dtype)
            wide = run(x, 0)
            np.testing.assert_array_equal(run(x.T, 1), wide.T)
            for cols in (1, 2, 3, 4, 7):
                np.testing.assert_array_equal(run(x[:, :cols], 0), wide[:, :cols])
                blocks = x[:, :10 * cols].reshape(n, 10, cols).transpose(1, 0, 2)
                got = run(blocks, 1).transpose(1, 0, 2).reshape(n, -1)
                np.testing.assert_array_equal(got, wide[:, :10 * cols])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_logsumexp_of_infinities(dtype):
    x = np.array([-np.inf, -np.inf, 1, np.inf, np.inf, 0], dtype)
    got = df.math.cumulative_logsumexp(x).tolist()
    assert got == [-np.inf, -np.inf, 1, np.inf, np.inf, np.inf]
    got = df.math.cumulative_logsumexp(np.stack([x] * 5, 1)).numpy()      # by rows
    assert (got[:, 3] == [-np.inf, -np.inf, 1, np.inf, np.inf, np.inf]).all()
