import numpy as np

from tests.ops.case import BOOL, FLOATS, INTS, NUMBERS, case, normal, positive, sample

case("add", args=[normal(3, 4), normal(4)], ref=np.add, dtypes=NUMBERS, grad=(0, 1))
case("subtract", args=[normal(3, 1), normal(4)], ref=np.subtract, dtypes=NUMBERS, grad=(0, 1))
case("multiply", args=[normal(3, 4), normal(3, 1)], ref=np.multiply, dtypes=NUMBERS, grad=(0, 1))
case("divide", args=[normal(3, 4), positive(4)], ref=np.divide, grad=(0, 1))
case("divide", args=[normal(3, 4), positive(4)], ref=np.divide, function="truediv", grad=(0, 1))
# Integers become floats, which the largest do not fit.
for name in ("divide", "truediv"):
    case("divide", args=[sample((6,), -9, 9), sample((6,), 1, 9)], ref=np.divide, function=name,
         dtypes=INTS + BOOL, edges=False, grad=(), name=f"{name} of integers")


def unless_zero(f):
    def g(a, b):
        return np.where(b == 0, 0.0, f(a, b))
    return g


case("divide_no_nan", args=[normal(3, 4), positive(4)], ref=unless_zero(np.divide),
     function="math.divide_no_nan", grad=(0, 1))
case("divide_no_nan", args=[sample((6,), -9, 9), sample((6,), 0, 9)], edges=False, grad=(),
     ref=unless_zero(np.divide), function="math.divide_no_nan", dtypes=INTS + BOOL)
case("multiply_no_nan", args=[normal(3, 4), normal(4)], ref=unless_zero(np.multiply),
     function="math.multiply_no_nan", grad=(0, 1))
nonzero = sample((4,), 1, 4, accepts=lambda b: b != 0)
# Integers refuse a divisor of 0: tests/ops/test_arithmetic.py.
case("floordiv", args=[sample((3, 4), -9, 9), sample((4,), 1, 4)], ref=np.floor_divide,
     function="math.floordiv", grad=())
case("floordiv", args=[sample((3, 4), -9, 9), nonzero], ref=np.floor_divide,
     function="math.floordiv", dtypes=INTS, grad=())
# The sign of b keeps the gradient away from its jumps.
case("floormod", args=[sample((3, 4), -0.9, -0.1), sample((4,), 1.5, 4)], ref=np.mod,
     function="math.floormod", grad=(0, 1))
case("floormod", args=[sample((3, 4), -9, 9), sample((4,), 1, 4)], ref=np.mod,
     function="math.mod", grad=())
for function in ("math.floormod", "math.mod"):
    case("floormod", args=[sample((3, 4), -9, 9), nonzero], ref=np.mod, function=function,
         dtypes=INTS, grad=())
# two roundings
case("squared_difference", args=[normal(3, 4), normal(4)], ref=lambda a, b: (a - b) * (a - b),
     function="math.squared_difference", dtypes=NUMBERS, grad=(0, 1), ulp=2)
case("negative", args=[normal(3, 4)], ref=np.negative, dtypes=NUMBERS)
case("abs", args=[normal(3, 4)], ref=np.abs, dtypes=NUMBERS)
case("sign", args=[normal(3, 4)], ref=np.sign, dtypes=NUMBERS, signed_zero=False)
case("square", args=[normal(3, 4)], ref=np.square, dtypes=NUMBERS)
case("reciprocal", args=[positive(3, 4)], ref=np.reciprocal, function="math.reciprocal")

# Two roundings of partial sums no larger than three times the largest element.
case("add_n", args=[[normal(3, 4), normal(3, 4), normal(3, 4)]], ref=sum, dtypes=INTS)
case("add_n", args=[[normal(3, 4), normal(3, 4), normal(3, 4)]], ref=sum, dtypes=("float32",),
     rel=3e-7, large=[[normal(40_003), normal(40_003), normal(40_003)]])
case("add_n", args=[[normal(3, 4), normal(3, 4), normal(3, 4)]], ref=sum, dtypes=("float64",),
     rel=1e-15)
case("add_n", args=[[normal(5)]], ref=sum, dtypes=FLOATS, name="add_n of one")
