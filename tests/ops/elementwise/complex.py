import numpy as np

from tests.ops.case import COMPLEX, FLOATS, case, normal

case("complex", args=[normal(3, 4), normal(4)], ref=lambda re, im: re + 1j * im, dtypes=FLOATS,
     grad=(0, 1))
for op, ref in (("real", np.real), ("imag", np.imag), ("conj", np.conj)):
    case(op, args=[normal(3, 4)], ref=ref, function=f"math.{op}", dtypes=COMPLEX)
case("angle", args=[normal(3, 4)], ref=np.angle, function="math.angle", dtypes=COMPLEX, ulp=2)
