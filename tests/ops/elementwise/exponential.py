import numpy as np

from tests.ops.case import FIELD, INTS, case, normal, positive, sample

# docs/numerics.md lists the measured errors of these formulas.
case("exp", args=[normal(3, 4)], ref=np.exp, ulp=2,
     dtypes=FIELD, complex_ulp=6)
case("expm1", args=[normal(3, 4)], ref=np.expm1, function="math.expm1", ulp=2,
     dtypes=FIELD, complex_ulp=6)
case("log", args=[positive(3, 4)], ref=np.log, ulp=2,
     dtypes=FIELD, complex_ulp=6)
case("log1p", args=[positive(3, 4)], ref=np.log1p, function="math.log1p", ulp=2,
     dtypes=FIELD, complex_ulp=6)
case("sqrt", args=[positive(3, 4)], ref=np.sqrt,
     dtypes=FIELD, complex_ulp=6)
case("rsqrt", args=[positive(3, 4)], ref=lambda x: 1 / np.sqrt(x), function="math.rsqrt", ulp=1.5,
     dtypes=FIELD, complex_ulp=6)
case("pow", args=[positive(3, 4), normal(4)], ref=np.power, dtypes=FIELD, grad=(0, 1), ulp=2,
     complex_ulp=40)


def power(x, exponent):
    """Return x to the power of a number by C's pow; for some numbers NumPy computes roots."""
    return np.power(x, np.full(x.shape, exponent, x.dtype))


MIXED = np.array([-2, -1, -.5, 0, .5, 1, 2, 3, 4, 2.5, 7])[:, None]

for exponent in (-2., -1., -.5, 0., .5, 1., 2., 3., 4., 2.5):
    case("pow", args=[normal(3, 4), exponent], ref=power, ulp=2,
         grad=(0,) if exponent == int(exponent) else ())
case("pow", args=[normal(11, 7), lambda _, dtype: MIXED.astype(dtype)], ref=np.power, ulp=2,
     grad=())
# Integers reject negative exponents: tests/ops/elementwise/test_division.py.
case("pow", args=[sample((3, 4), -3, 3), sample((4,), 0, 5, accepts=lambda b: b >= 0)],
     ref=np.power, dtypes=INTS, grad=())
