import numpy as np

from tests.ops.case import BOOL, FIELD, INTS, case, normal, positive, sample
from tests.ops.elementwise.arithmetic import unless_zero

case("divide", args=[normal(3, 4), positive(4)], ref=np.divide, grad=(0, 1), dtypes=FIELD,
     complex_ulp=4)
case("divide", args=[normal(3, 4), positive(4)], ref=np.divide, function="truediv", grad=(0, 1),
     dtypes=FIELD, complex_ulp=4)
# Integers become floats, which cannot represent the largest integers.
for name in ("divide", "truediv"):
    case("divide", args=[sample((6,), -9, 9), sample((6,), 1, 9)], ref=np.divide, function=name,
         dtypes=INTS + BOOL, edges=False, grad=(), name=f"{name} of integers")
case("divide_no_nan", args=[normal(3, 4), positive(4)], ref=unless_zero(np.divide),
     function="math.divide_no_nan", grad=(0, 1), dtypes=FIELD, complex_ulp=4)
case("divide_no_nan", args=[sample((6,), -9, 9), sample((6,), 0, 9)], edges=False, grad=(),
     ref=unless_zero(np.divide), function="math.divide_no_nan", dtypes=INTS + BOOL)
case("reciprocal", args=[positive(3, 4)], ref=np.reciprocal, function="math.reciprocal",
     dtypes=FIELD, complex_ulp=4)
nonzero = sample((4,), 1, 4, accepts=lambda b: b != 0)
# Integers reject a divisor of 0: tests/ops/elementwise/test_division.py.
case("floordiv", args=[sample((3, 4), -9, 9), sample((4,), 1, 4)], ref=np.floor_divide,
     function="math.floordiv", grad=())
case("floordiv", args=[sample((3, 4), -9, 9), nonzero], ref=np.floor_divide,
     function="math.floordiv", dtypes=INTS, grad=())
# The sign of b keeps the gradient away from its discontinuities.
case("floormod", args=[sample((3, 4), -0.9, -0.1), sample((4,), 1.5, 4)], ref=np.mod,
     function="math.floormod", grad=(0, 1))
case("floormod", args=[sample((3, 4), -9, 9), sample((4,), 1, 4)], ref=np.mod,
     function="math.mod", grad=())
for function in ("math.floormod", "math.mod"):
    case("floormod", args=[sample((3, 4), -9, 9), nonzero], ref=np.mod, function=function,
         dtypes=INTS, grad=())
for name in ("gcd", "lcm"):
    case(name, args=[sample((3, 4), -60, 60), sample((4,), -60, 60)], ref=getattr(np, name),
         function=f"math.{name}", dtypes=INTS, grad=())
