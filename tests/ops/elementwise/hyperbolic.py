import numpy as np

from tests.ops.case import FIELD, case, normal, sample

INSIDE = sample((3, 4), -0.9, 0.9)

# docs/numerics.md lists the measured errors of these formulas.
case("sinh", args=[normal(3, 4)], ref=np.sinh, ulp=2,
     dtypes=FIELD, complex_ulp=6)
case("cosh", args=[normal(3, 4)], ref=np.cosh, ulp=2,
     dtypes=FIELD, complex_ulp=6)
case("tanh", args=[normal(3, 4)], ref=np.tanh, ulp=2,
     dtypes=FIELD, complex_ulp=6)
case("tanh_grad", args=[normal(3, 4), normal(3, 4)], ref=lambda g, x: g / np.cosh(x)**2, ulp=5,
     function="ops.elementwise.hyperbolic.tanh_grad", grad=(0, 1), edges=False)
case("asinh", args=[normal(3, 4)], ref=np.arcsinh, ulp=2,
     dtypes=FIELD, complex_ulp=6)
case("acosh", args=[sample((3, 4), 1.2, 4)], ref=np.arccosh, ulp=3,
     dtypes=FIELD, complex_ulp=6)
case("atanh", args=[INSIDE], ref=np.arctanh, ulp=2,
     dtypes=FIELD, complex_ulp=6)
