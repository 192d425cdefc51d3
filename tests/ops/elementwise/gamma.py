import math

import numpy as np
from scipy import special

from tests.ops.case import case, positive, sample


def lgamma(x):
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):        # at the poles, and beyond 1e305
        return math.inf


def np_trigamma(n, x):
    """Return terms of the series, plus the integral over the remainder with three corrections."""
    terms, rest = 1 / (x[..., None] + np.arange(1000)) ** 2, x + 1000
    tail = 1 / rest + 1 / (2 * rest**2) + 1 / (6 * rest**3) - 1 / (30 * rest**5)
    return terms[..., ::-1].sum(-1) + tail


# Python's lgamma loses digits near its zeros 1 and 2, so float64 errors cannot be given in ulp.
np_lgamma = np.vectorize(lgamma, otypes=[float])
case("lgamma", args=[positive(3, 4)], ref=np_lgamma, dtypes=("float32",), function="math.lgamma",
     ulp=2)
case("lgamma", args=[sample((3, 4), 3, 9)], ref=np_lgamma, dtypes=("float64",),
     function="math.lgamma", rel=1e-15, edges=False)
# Values from NIST DLMF 5.4: -euler_gamma, and values that follow by recurrence and reflection.
EULER = 0.57721566490153286061
case("digamma", args=[np.array([1, 2, 0.5, -0.5, 10])], dtypes=("float64",), rel=4e-16,
     function="math.digamma", ref=lambda x: np.array([
         -EULER, 1 - EULER, -EULER - 2 * math.log(2), 0.03648997397857652055902367,
         2.25175258906672110764743]))
case("polygamma", args=[1, positive(3, 4)], ref=np_trigamma, function="math.polygamma", grad=(1,),
     ulp=20, edges=False)
case("polygamma", args=[1, np.array([1, 2, 0.5, -0.5])], dtypes=("float64",), grad=(1,), ulp=6,
     function="math.polygamma",
     ref=lambda n, x: np.pi**2 * np.array([1 / 6, 1 / 6, 0.5, 0.5]) + [0, -1, 0, 4])
case("polygamma", args=[2, np.array([1.0, 2.0])], dtypes=("float64",), grad=(1,), ulp=6,
     function="math.polygamma",
     ref=lambda n, x: -2 * 1.2020569031595942854 + np.array([0, 2]))
for dtype, limit in (("float32", {"ulp": 1}), ("float64", {"rel": 1e-13})):  # SciPy's: 4e-14
    case("zeta", args=[3.5, positive(4)], ref=special.zeta, function="math.zeta", grad=(1,),
         edges=False, dtypes=(dtype,), **limit)
