"""Values of every row against its reference, eagerly."""

import functools

import numpy as np
import pytest

import dualflow as df
from tests.ops.case import Case
from tests.ops.cases import CASES

ROWS = [pytest.param(c, d, id=f"{i}-{c}-{d}") for i, c in enumerate(CASES) for d in c.dtypes]


def function(case: Case):
    return functools.reduce(getattr, case.function.split("."), df)


def make(case: Case, dtype: str, seed: int = 0) -> list:
    rng = np.random.default_rng(seed)
    return [a(rng, dtype) if callable(a) else a for a in case.args]


def wide(x):
    """Float arrays as float64, so that the reference is better than what it judges."""
    return x.astype(np.float64) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x


def assert_close(got: np.ndarray, want: np.ndarray, case: Case) -> None:
    want = np.asarray(want)
    assert got.shape == want.shape
    if got.dtype.kind != "f":
        np.testing.assert_array_equal(got, want)
        return
    finite = np.isfinite(want)
    np.testing.assert_array_equal(np.where(finite, 0, got), np.where(finite, 0, want))
    rounded = want.astype(got.dtype)
    size = np.abs(rounded[finite])
    unit = np.spacing(size) if case.rel is None else case.rel * size.max(initial=0)
    error = np.abs(got[finite].astype(np.float64) - want[finite])
    allowed = (max(case.ulp, 0.5000001) if case.rel is None else 1) * unit
    assert np.all(error <= allowed), f"{case}: error {np.max(error / unit)} units"


@pytest.mark.parametrize("case, dtype", ROWS)
def test_value(case, dtype):
    args = make(case, dtype)
    tensors = [df.constant(a) if isinstance(a, np.ndarray) else a for a in args]
    got = function(case)(*tensors, **case.kwargs)
    want = case.ref(*[wide(a) for a in args], **case.kwargs)
    many = isinstance(got, tuple)
    for g, w in zip(got if many else [got], want if many else [want], strict=True):
        assert_close(g.numpy(), w, case)
