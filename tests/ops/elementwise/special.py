import math

import numpy as np

from tests.ops.case import case, normal, positive, sample


def np_sigmoid(x):
    small = np.exp(-np.abs(x))
    return np.where(x < 0, small, 1) / (1 + small)


def np_log_sigmoid(x):
    return -np.logaddexp(0, -x)


def with_zero(f):
    def g(x, y):
        return np.where(x == 0, 0.0, f(x, y))
    return g


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


case("sigmoid", args=[normal(3, 4)], ref=np_sigmoid, ulp=3)
case("sigmoid_grad", args=[normal(3, 4), normal(3, 4)],
     ref=lambda g, x: g * np_sigmoid(x) * np_sigmoid(-x), ulp=5,
     function="ops.elementwise.special.sigmoid_grad", grad=(0, 1), edges=False)
case("softplus", args=[normal(3, 4)], ref=lambda x: np.logaddexp(0, x), ulp=4,
     function="math.softplus")
case("log_sigmoid", args=[normal(3, 4)], ref=np_log_sigmoid, ulp=4, function="math.log_sigmoid")
case("xlogy", args=[normal(3, 4), positive(4)], ref=with_zero(lambda x, y: x * np.log(y)),
     function="math.xlogy", grad=(0, 1), ulp=3)
case("xlog1py", args=[normal(3, 4), positive(4)], ref=with_zero(lambda x, y: x * np.log1p(y)),
     function="math.xlog1py", grad=(0, 1), ulp=3)
case("xdivy", args=[normal(3, 4), positive(4)], ref=with_zero(np.divide), function="math.xdivy",
     grad=(0, 1))
case("erf", args=[normal(3, 4)], ref=np.vectorize(math.erf, otypes=[float]), function="math.erf",
     ulp=2)
# float64 erfc is the C library's, with errors up to 3.7 ulp
case("erfc", args=[normal(3, 4)], ref=np.vectorize(math.erfc, otypes=[float]),
     function="math.erfc", ulp=5)
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
