"""Random nested lists for tests of ragged tensors."""

import numpy as np
import pytest

import dualflow as df

MODES = [pytest.param(lambda f: f, id="eager"), pytest.param(df.function, id="traced")]


def rows(seed, levels=1, n=None, dtype="float32", most=4):
    """Return nested lists: the first dimension of size `n`, then ragged dimensions, some empty."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 5)) if n is None else n
    if levels == 0:
        return rng.integers(-9, 9, n).astype(dtype).tolist()
    return [rows(int(rng.integers(1 << 30)), levels - 1, int(rng.integers(0, most)), dtype, most)
            for _ in range(n)]


def ragged(nested, levels=1, dtype="float32"):
    return df.ragged.constant(nested, dtype, ragged_rank=levels)


CASES = [pytest.param(rows(seed, levels, n), levels, id=f"{seed}-{levels}")
         for seed, levels, n in [(0, 1, 5), (1, 1, 0), (2, 1, 1), (3, 2, 4), (4, 2, 0), (5, 3, 3),
                                 (6, 1, 7), (7, 2, 6)]] + [
    pytest.param([[], [], []], 1, id="empty"), pytest.param([[[]], []], 2, id="deep-empty")]


def flat(nested, levels):
    for _ in range(levels):
        nested = [x for row in nested for x in row]
    return nested


def mapped(function, nested, levels):
    """Apply a function to the lists at a depth."""
    return function(nested) if levels == 0 else [mapped(function, x, levels - 1) for x in nested]


def dense(nested, levels, fill=0.):
    """Return nested lists as an array, filled up."""
    sizes = []
    level = [nested]
    for _ in range(levels + 1):
        sizes.append(max([len(x) for x in level], default=0))
        level = [y for x in level for y in x]
    made = np.full(sizes, fill, "float32")

    def put(x, at):
        for k, y in enumerate(x):
            if len(at) == levels:
                made[(*at, k)] = y
            else:
                put(y, (*at, k))

    put(nested, ())
    return made
