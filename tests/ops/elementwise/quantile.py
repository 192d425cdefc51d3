"""Inverses by Newton's method on Python's erf and erfc, whichever is accurate at the point."""

import math

import numpy as np

from tests.ops.case import case, sample


def inverse_of_tail(t):
    """Return y >= 0 with erfc(y) = t, for t from 0 to 1."""
    if t == 0:
        return math.inf
    low, high = 0.0, 28.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erfc(middle) > t else (low, middle)
    y = (low + high) / 2
    if t < 1e-200:                  # erfc loses digits: use the series of its log
        for _ in range(9):
            z = 1 / (2 * y * y)
            series = 1 - z * (1 - 3 * z * (1 - 5 * z * (1 - 7 * z * (1 - 9 * z))))
            log_erfc = -y * y - math.log(y * math.sqrt(math.pi)) + math.log(series)
            y += (log_erfc - math.log(t)) / (2 * y)
        return y
    density = 2 / math.sqrt(math.pi) * math.exp(-y * y)
    return y + (math.erfc(y) - t) / density


def np_erfinv(x):
    if not abs(x) <= 1:
        return math.nan
    if abs(x) > 0.5:
        return math.copysign(inverse_of_tail(1 - abs(x)), x)
    y = x * math.sqrt(math.pi) / 2
    for _ in range(8 if y else 0):
        y -= (math.erf(y) - x) / (2 / math.sqrt(math.pi) * math.exp(-y * y))
    return y


def np_erfcinv(x):
    if not 0 <= x <= 2:
        return math.nan
    if 0.5 < x < 1.5:
        return np_erfinv(1 - x)
    return inverse_of_tail(x) if x < 1 else -inverse_of_tail(2 - x)


def np_ndtri(p):
    return -math.sqrt(2) * np_erfcinv(2 * p)


def each(f):
    return np.vectorize(f, otypes=[float])


case("erfinv", args=[sample((3, 4), -0.95, 0.95)], ref=each(np_erfinv), function="math.erfinv",
     ulp=12)
case("erfinv", args=[np.array([1e-320, 1e-18, 0.85, 0.8500001, 1 - 1e-9, 1 - 2.0**-53])],
     ref=each(np_erfinv), function="math.erfinv", dtypes=("float64",), ulp=12, grad=())
case("erfcinv", args=[sample((3, 4), 0.1, 1.9)], ref=each(np_erfcinv),
     function="math.erfcinv", ulp=12, signed_zero=False)
case("erfcinv", args=[np.array([1e-300, 1e-30, 1e-9, 0.15, 1.85, 2 - 1e-9])],
     ref=each(np_erfcinv), function="math.erfcinv", dtypes=("float64",), ulp=12, grad=())
case("ndtri", args=[sample((3, 4), 0.05, 0.95)], ref=each(np_ndtri), function="math.ndtri",
     ulp=12, signed_zero=False)
case("ndtri", args=[np.array([1e-300, 1e-30, 1e-9, 0.0749, 0.0751, 1 - 1e-9])],
     ref=each(np_ndtri), function="math.ndtri", dtypes=("float64",), ulp=12, grad=())
