"""Comparison of float32 results with float64 values before their rounding."""

from __future__ import annotations

import numpy as np


def assert_rounded(got: np.ndarray, want: np.ndarray, ulp: float, *args: np.ndarray) -> None:
    """Check that float32 `got` is within `ulp` of float64 `want`, in units of the float32 nearest
    to `want`; where that is not finite, both are equal. `args` are printed if it fails."""
    with np.errstate(all="ignore"):
        rounded = want.astype(np.float32)
        finite = np.isfinite(rounded)
        error = np.abs(got - want)[finite] / np.spacing(np.abs(rounded[finite])).astype(np.float64)
    np.testing.assert_array_equal(got[~finite], rounded[~finite])
    worst = error.argmax()
    assert error[worst] <= ulp, (error[worst], [a[finite][worst] for a in args],
                                 got[finite][worst], want[finite][worst])


def bits(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return n float32 values of all magnitudes and both signs, infinities and NaN among them."""
    x = rng.integers(0, 2**32, n, "u4").view("f4")
    x[np.isnan(x)] = np.nan         # quiet ones
    return x
