"""Elementwise rows at the limits of their dtypes: NaN, infinities, signed zeros, subnormals."""

import dataclasses

import numpy as np
import pytest

from tests.ops import harness
from tests.ops.case import COMPLEX, FLOATS, INTS, sample
from tests.ops.cases import CASES

# Special values of complex numbers: tests/ops/elementwise/test_complex.py.
ROWS = [row for row in harness.rows([c for c in CASES if c.edges and harness.elementwise(c)])
        if row.values[1] not in COMPLEX]


def edges(dtype):
    if dtype in FLOATS:
        info = np.finfo(dtype)
        tiny, small, big = info.smallest_subnormal, info.smallest_normal, info.max
        ends = [0, tiny, small, info.eps, 0.5, 1, 2, 100, big, np.inf, np.nan]
        return np.array([*ends, *(-np.array(ends[:-1]))], dtype)
    if dtype in INTS:
        info = np.iinfo(dtype)
        return np.array([info.min, info.max, 0, 1, *([-1] if info.min else [])], dtype)
    return np.array([False, True])


def grid(case, dtype):
    """Return all pairs of edge values, one array per sample, interleaved with ordinary values."""
    samples = [a for a in case.args if isinstance(a, sample)]
    rng = np.random.default_rng(1)
    grids = [g.ravel() for g in np.meshgrid(*[edges(dtype)] * len(samples))]
    arrays = []
    for a, at_edge in zip(samples, grids, strict=True):
        drawn = dataclasses.replace(a, shape=(2 * at_edge.size,))(rng, dtype)
        if drawn.dtype != at_edge.dtype:      # a sample with a fixed dtype
            arrays.append(drawn)
            continue
        drawn[::2] = at_edge
        arrays.append(a.keep(drawn))
    turn = iter(arrays)
    return [next(turn) if isinstance(a, sample) else a for a in case.args]


@pytest.mark.parametrize("case, dtype", ROWS)
def test_edges(case, dtype):
    harness.check(case, grid(case, dtype))
