import numpy as np

from tests.ops.case import FLOATS, INTS, case, normal, positive, sample


def np_int_pow(a, b):
    negative = np.where(a == 1, 1, np.where(a + 1 == 0, np.where(b % 2 == 0, 1, -1), 0))
    return np.where(b < 0, negative, np.power(a, np.where(b < 0, 0, b))).astype(a.dtype)


# docs/numerics.md has the measured errors of these formulas.
case("exp", args=[normal(3, 4)], ref=np.exp, ulp=2)
case("expm1", args=[normal(3, 4)], ref=np.expm1, function="math.expm1", ulp=2)
case("log", args=[positive(3, 4)], ref=np.log, ulp=2)
case("log1p", args=[positive(3, 4)], ref=np.log1p, function="math.log1p", ulp=2)
case("sqrt", args=[positive(3, 4)], ref=np.sqrt)
case("rsqrt", args=[positive(3, 4)], ref=lambda x: 1 / np.sqrt(x), function="math.rsqrt", ulp=1.5)
case("pow", args=[positive(3, 4), normal(4)], ref=np.power, dtypes=FLOATS, grad=(0, 1), ulp=2)
case("pow", args=[sample((3, 4), -3, 3), sample((4,), 0, 5)], ref=np_int_pow, dtypes=INTS,
     grad=())
