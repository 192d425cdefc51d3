"""Copies of matrices with short rows, which are copied column by column."""

import numpy as np
import pytest

import dualflow as df

COPIES = {
    "reverse rows": (lambda x: df.reverse(x, [0]), lambda x: x[::-1]),
    "reverse columns": (lambda x: df.reverse(x, [1]), lambda x: x[:, ::-1]),
    "every second row": (lambda x: x[::2], lambda x: x[::2]),
    "last columns": (lambda x: x[:, 1:], lambda x: x[:, 1:]),
    "repeat": (lambda x: df.repeat(x, 3, axis=1), lambda x: np.repeat(x, 3, 1)),
    "roll": (lambda x: df.roll(x, 1, 1), lambda x: np.roll(x, 1, 1)),
    "pad": (lambda x: df.pad(x, [[2, 1], [1, 0]]), lambda x: np.pad(x, [[2, 1], [1, 0]])),
    "concat": (lambda x: df.concat([x, x[::-1]], 1), lambda x: np.concatenate([x, x[::-1]], 1)),
    "transpose": (df.transpose, np.transpose),
    "tile": (lambda x: df.tile(x, [2, 3]), lambda x: np.tile(x, [2, 3])),
    "broadcast": (lambda x: df.broadcast_to(x[:, None], [len(x), 5, x.shape[1]]),
                  lambda x: np.broadcast_to(x[:, None], [len(x), 5, x.shape[1]])),
    "three dimensions": (lambda x: df.reverse(df.reshape(x, [2, -1, x.shape[1]]), [0, 2]),
                         lambda x: x.reshape(2, -1, x.shape[1])[::-1, :, ::-1])}


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64"])
@pytest.mark.parametrize("name", COPIES)
def test_values(name, dtype):
    ours, numpys = COPIES[name]
    rng = np.random.default_rng(0)
    for rows in 2, 30, 21_000:              # one block, and several with threads
        for columns in range(1, 11):
            x = rng.integers(0, 250, (rows, columns)).astype(dtype)
            np.testing.assert_array_equal(ours(df.constant(x)).numpy(), numpys(x))
