"""Values of every row against its reference in eager mode: as written, long, sliced, 1 and 2
threads; by default in one or two dtypes, except as written.

tests/ops/test_levels.py runs this file at every SIMD level.
"""

import numpy as np
import pytest

from dualflow import _core
from tests.ops import harness
from tests.ops.cases import CASES

ELEMENTWISE = [c for c in CASES if harness.elementwise(c)]
LONG = 40_003          # more than a tile and a thread's block, not a multiple of a vector
ODD = (1, 2, 3, 7, 15, 17, 31, 33, 65, 1023, 1025)


@pytest.mark.parametrize("case, dtype", harness.rows())
def test_value(case, dtype):
    harness.check(case, harness.make(case, dtype))


@pytest.mark.parametrize("case, dtype", harness.rows(dtypes="one"))
def test_value_of_slices(case, dtype):
    """Slices of the first dimension share memory, so their data is not aligned."""
    def sliced(value):
        if isinstance(value, np.ndarray) and value.ndim and value.shape[0]:
            return harness.tensor(np.concatenate([value[:1], value]))[1:]
        return harness.tensor(value)

    harness.check(case, harness.make(case, dtype), sliced)


@pytest.mark.parametrize("case, dtype", harness.rows(ELEMENTWISE, "two"))
def test_tails(case, dtype):
    for n in ODD:
        harness.check(case, harness.make(case, dtype, harness.reshaped(case, (n,))))


@pytest.mark.parametrize("case, dtype", harness.rows(
    [c for c in CASES if c in ELEMENTWISE or c.large is not None], "one"))
def test_threads(case, dtype):
    """Long inputs give correct results, with equal bits for any thread count."""
    large = harness.reshaped(case, (LONG,)) if case.large is None else case.large
    args = harness.make(case, dtype, large)
    with harness.threads(1):
        one = harness.check(case, args)
    with harness.threads(2):
        two = harness.run(case, args)
    assert [y.tobytes() for y in one] == [y.tobytes() for y in two], _core.isa()
