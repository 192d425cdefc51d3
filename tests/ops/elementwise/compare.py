import numpy as np

from tests.ops.case import ANY, BOOL, COMPLEX, NUMBERS, RING, case, normal, sample


class flags(sample):
    """Bools, for any dtype of the row."""

    def __call__(self, rng, dtype):
        return super().__call__(rng, "bool")


for op in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
    case(op, args=[sample((3, 4), -3, 3), sample((4,), -3, 3)], ref=getattr(np, op),
         dtypes=ANY + COMPLEX if "equal" in (op, op[4:]) else ANY, grad=())
case("subtract", args=[normal(4), normal(4)], ref=lambda x, y: np.abs(x - y) < 1e-5, dtypes=NUMBERS,
     function="math.approximate_equal", edges=False, grad=())

case("where", args=[flags((3, 4)), normal(3, 4), normal(4)], ref=np.where,
     dtypes=RING + BOOL, grad=(1, 2))
case("where", args=[flags((5, 1)), normal(4), normal(5, 4)], ref=np.where,
     dtypes=("float16",), grad=(), edges=False)
