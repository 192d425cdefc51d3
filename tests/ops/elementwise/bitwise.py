import numpy as np

from tests.ops.case import BOOL, INTS, case, sample

A, B = sample((3, 4), -9, 9), sample((4,), -9, 9)


def fits(a, b):
    return (b >= 0) & (b < 8 * a.dtype.itemsize)


def np_left(a, b):
    return np.where(fits(a, b), np.left_shift(a, np.where(fits(a, b), b, 0)), a.dtype.type(0))


def np_right(a, b):
    sign = np.where(a < 0, np.invert(np.zeros_like(a)), np.zeros_like(a))
    return np.where(fits(a, b), np.right_shift(a, np.where(fits(a, b), b, 0)), sign)


for op in ("and", "or", "xor"):
    case(f"bitwise_{op}", args=[A, B], ref=getattr(np, f"bitwise_{op}"), dtypes=INTS + BOOL,
         function=f"bitwise.bitwise_{op}", grad=())
    case(f"logical_{op}", args=[A, B], ref=getattr(np, f"logical_{op}"), dtypes=BOOL,
         function=f"math.logical_{op}", grad=())
case("bitwise_not", args=[A], ref=np.invert, dtypes=INTS + BOOL, function="bitwise.bitwise_not",
     grad=())
case("logical_not", args=[A], ref=np.logical_not, dtypes=BOOL, grad=())
case("left_shift", args=[A, sample((4,), 0, 9)], ref=np_left, dtypes=INTS,
     function="bitwise.left_shift", grad=())
case("right_shift", args=[A, sample((4,), 0, 9)], ref=np_right, dtypes=INTS,
     function="bitwise.right_shift", grad=())
