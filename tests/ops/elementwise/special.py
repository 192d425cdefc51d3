import math

import numpy as np

from tests.ops.case import FIELD, case, normal, positive


def np_sigmoid(x):
    if x.dtype.kind == "c":
        return 1 / (1 + np.exp(-x))
    small = np.exp(-np.abs(x))
    return np.where(x < 0, small, 1) / (1 + small)


def np_log_sigmoid(x):
    return -np.logaddexp(0, -x)


def with_zero(f):
    def g(x, y):
        return np.where(x == 0, 0.0, f(x, y))
    return g


case("sigmoid", args=[normal(3, 4)], ref=np_sigmoid, ulp=3,
     dtypes=FIELD, complex_ulp=12)
case("sigmoid_grad", args=[normal(3, 4), normal(3, 4)],
     ref=lambda g, x: g * np_sigmoid(x) * np_sigmoid(-x), ulp=5,
     function="ops.elementwise.special.sigmoid_grad", grad=(0, 1), edges=False)
case("softplus", args=[normal(3, 4)], ref=lambda x: np.logaddexp(0, x), ulp=4,
     function="math.softplus")
case("log_sigmoid", args=[normal(3, 4)], ref=np_log_sigmoid, ulp=4, function="math.log_sigmoid")
case("xlogy", args=[normal(3, 4), positive(4)], ref=with_zero(lambda x, y: x * np.log(y)),
     function="math.xlogy", grad=(0, 1), ulp=3,
     dtypes=FIELD, complex_ulp=12)
case("xlog1py", args=[normal(3, 4), positive(4)], ref=with_zero(lambda x, y: x * np.log1p(y)),
     function="math.xlog1py", grad=(0, 1), ulp=3,
     dtypes=FIELD, complex_ulp=12)
case("xdivy", args=[normal(3, 4), positive(4)], ref=with_zero(np.divide), function="math.xdivy",
     grad=(0, 1),
     dtypes=FIELD, complex_ulp=12)
case("erf", args=[normal(3, 4)], ref=np.vectorize(math.erf, otypes=[float]), function="math.erf",
     ulp=2)
# float64 erfc is the C library's, with errors up to 3.7 ulp
case("erfc", args=[normal(3, 4)], ref=np.vectorize(math.erfc, otypes=[float]),
     function="math.erfc", ulp=5)
