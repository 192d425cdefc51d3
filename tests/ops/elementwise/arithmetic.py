import numpy as np

from tests.ops.case import COMPLEX, FIELD, INTS, NUMBERS, RING, case, normal

case("add", args=[normal(3, 4), normal(4)], ref=np.add, dtypes=RING, grad=(0, 1))
case("subtract", args=[normal(3, 1), normal(4)], ref=np.subtract, dtypes=RING, grad=(0, 1))
case("multiply", args=[normal(3, 4), normal(3, 1)], ref=np.multiply, dtypes=RING, grad=(0, 1),
     complex_ulp=3)


def unless_zero(f):
    def g(a, b):
        return np.where(b == 0, 0.0, f(a, b))
    return g


case("multiply_no_nan", args=[normal(3, 4), normal(4)], ref=unless_zero(np.multiply),
     function="math.multiply_no_nan", grad=(0, 1), dtypes=FIELD, complex_ulp=3)
# rounded twice
case("squared_difference", args=[normal(3, 4), normal(4)], function="math.squared_difference",
     ref=lambda a, b: (a - b) * np.conj(a - b), dtypes=RING, grad=(0, 1), ulp=2, complex_ulp=3)
case("negative", args=[normal(3, 4)], ref=np.negative, dtypes=RING)
case("abs", args=[normal(3, 4)], ref=np.abs, dtypes=NUMBERS)
case("abs", args=[normal(3, 4)], ref=np.abs, dtypes=COMPLEX, ulp=2,
     name="abs of complex numbers")
case("sign", args=[normal(3, 4)], ref=np.sign, dtypes=RING, complex_ulp=3)
case("square", args=[normal(3, 4)], ref=np.square, dtypes=RING, complex_ulp=3)

# Two roundings of partial sums of at most three times the largest element.
case("add_n", args=[[normal(3, 4), normal(3, 4), normal(3, 4)]], ref=sum, dtypes=INTS)
case("add_n", args=[[normal(3, 4), normal(3, 4), normal(3, 4)]], ref=sum,
     dtypes=("float32", "complex64"), rel=3e-7,
     large=[[normal(40_003), normal(40_003), normal(40_003)]])
case("add_n", args=[[normal(3, 4), normal(3, 4), normal(3, 4)]], ref=sum,
     dtypes=("float64", "complex128"), rel=1e-15)
case("add_n", args=[[normal(5)]], ref=sum, dtypes=FIELD, name="add_n of one")
