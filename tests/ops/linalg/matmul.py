import numpy as np

import dualflow as df
from tests.ops.case import COMPLEX, case, normal, sample

DTYPES = ("float32", "float64", "int32", "int64", "uint32", "uint64", *COMPLEX)


def product(a, b, transpose_a=False, transpose_b=False):
    a = np.swapaxes(a, -1, -2) if transpose_a else a
    b = np.swapaxes(b, -1, -2) if transpose_b else b
    return a @ b


def row(a, b, **kwargs):
    # Error of a sum of k products, relative to the largest: k * 2^-24, with a margin for
    # cancellation.
    case("matmul", args=[normal(*a), normal(*b)], ref=product, dtypes=DTYPES, rel=1e-5,
         grad=(0, 1), edges=False, kwargs=kwargs)


row((3, 4), (4, 5))
row((4, 3), (4, 5), transpose_a=True)
row((3, 4), (5, 4), transpose_b=True)
row((4, 3), (5, 4), transpose_a=True, transpose_b=True)
row((2, 3, 4), (2, 4, 5))
row((2, 1, 3, 4), (3, 4, 5))
row((3, 4), (2, 4, 5))
row((2, 4, 3), (5, 4), transpose_a=True, transpose_b=True)
row((3, 0), (0, 2))
row((0, 3), (3, 2))
row((2, 0, 3, 4), (4, 5))
row((1, 33), (33, 1))


def product_int32(a, b, output_type=None, **kwargs):
    return product(a.astype("int32"), b.astype("int32"), **kwargs)


for shapes in (((3, 4), (4, 5)), ((2, 1, 9, 7), (3, 7, 20))):
    case("matmul_int32", args=[sample(s, -128, 127) for s in shapes], ref=product_int32,
         function="matmul", dtypes=("int8", "uint8"), grad=(), edges=False,
         kwargs={"output_type": df.int32})
