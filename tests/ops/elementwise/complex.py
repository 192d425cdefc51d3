import numpy as np

from tests.ops.case import COMPLEX, FLOATS, case, normal


def np_complex(re, im):
    """Return re + i im; `1j * inf` has the real part NaN."""
    z = np.empty(np.broadcast_shapes(re.shape, im.shape), np.result_type(re, np.complex64))
    z.real, z.imag = re, im
    return z


case("complex", args=[normal(3, 4), normal(4)], ref=np_complex, dtypes=FLOATS, grad=(0, 1))
for op, ref in (("real", np.real), ("imag", np.imag), ("conj", np.conj)):
    case(op, args=[normal(3, 4)], ref=ref, function=f"math.{op}", dtypes=COMPLEX)
case("angle", args=[normal(3, 4)], ref=np.angle, function="math.angle", dtypes=COMPLEX, ulp=2)
