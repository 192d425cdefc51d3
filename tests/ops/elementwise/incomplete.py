import numpy as np
from scipy import special

from tests.ops.case import case, positive, sample


def gamma_density(a, x):
    return np.exp((a - 1) * np.log(x) - x - special.gammaln(a))


def beta_density(a, b, x):
    return np.exp((a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - special.betaln(a, b))


def grad_a(a, x):
    """Return the derivative of P(a, x) in a, by differences of eighth order."""
    h = 0.02 * a
    weights = 4 / 5, -1 / 5, 4 / 105, -1 / 280
    return sum(w * (special.gammainc(a + k * h, x) - special.gammainc(a - k * h, x))
               for k, w in enumerate(weights, 1)) / h


def both(op, args, ref, function, grad):
    """Add rows for both dtypes: float32 is rounded once; SciPy's float64 errors are up to 4e-14."""
    for dtype, limit in (("float32", {"ulp": 1}), ("float64", {"rel": 1e-13})):
        case(op, args=args, ref=ref, function=function, grad=grad, dtypes=(dtype,), edges=False,
             **limit)


FIXED, OTHER = 2.5, 1.25         # arguments without a gradient: Python numbers, not tensors
SHAPE, RATE, FRACTION = positive(3, 4), positive(4), sample((3, 4), 0.05, 0.95)

both("igamma", [SHAPE, RATE], special.gammainc, "math.igamma", (1,))
both("igammac", [SHAPE, RATE], special.gammaincc, "math.igammac", (1,))
both("gamma_density", [SHAPE, RATE], gamma_density, "ops.elementwise.incomplete.gamma_density",
     (0, 1))
both("betainc", [FIXED, OTHER, FRACTION], special.betainc, "math.betainc", (2,))
both("beta_density", [SHAPE, RATE, FRACTION], beta_density,
     "ops.elementwise.incomplete.beta_density",
     (0, 1, 2))
for dtype, limit in (("float32", {"ulp": 2}), ("float64", {"rel": 1e-7})):
    case("igamma_grad_a", args=[FIXED, RATE], ref=grad_a, edges=False, dtypes=(dtype,),
         function="ops.elementwise.incomplete.igamma_grad_a", grad=(1,), **limit)
