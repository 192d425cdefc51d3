import numpy as np

from tests.ops.case import FIELD, case, normal, sample

INSIDE = sample((3, 4), -0.9, 0.9)

# docs/numerics.md lists the measured errors of these formulas.
case("sin", args=[normal(3, 4)], ref=np.sin, ulp=2,
     dtypes=FIELD, complex_ulp=6)
case("cos", args=[normal(3, 4)], ref=np.cos, ulp=2,
     dtypes=FIELD, complex_ulp=6)
case("tan", args=[INSIDE], ref=np.tan, ulp=2,
     dtypes=FIELD, complex_ulp=6)
case("asin", args=[INSIDE], ref=np.arcsin, ulp=2,
     dtypes=FIELD, complex_ulp=6)
case("acos", args=[INSIDE], ref=np.arccos, ulp=2,
     dtypes=FIELD, complex_ulp=6)
case("atan", args=[normal(3, 4)], ref=np.arctan, ulp=2,
     dtypes=FIELD, complex_ulp=6)
case("atan2", args=[normal(3, 4), sample((4,), 0.5, 3)], ref=np.arctan2, grad=(0, 1), ulp=2)
