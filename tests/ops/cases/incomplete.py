import numpy as np
from scipy import special

from tests.ops.case import case, positive, sample


def gamma_density(a, x):
    return np.exp((a - 1) * np.log(x) - x - special.gammaln(a))


def beta_density(a, b, x):
    return np.exp((a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - special.betaln(a, b))


def grad_a(a, x):
    """The slope of P(a, x) in a, by differences of eighth order."""
    h = 0.02 * a
    weights = 4 / 5, -1 / 5, 4 / 105, -1 / 280
    return sum(w * (special.gammainc(a + k * h, x) - special.gammainc(a - k * h, x))
               for k, w in enumerate(weights, 1)) / h


# SciPy's own errors in float64 are up to 3e-14 here; ours are 2e-15 (docs/numerics.md).
OWN = {"rel": 1e-13, "edges": False}
FRACTION = sample((3, 4), 0.05, 0.95)

case("igamma", args=[positive(3, 4), positive(4)], ref=special.gammainc, function="math.igamma",
     grad=(0, 1), **OWN)
case("igammac", args=[positive(3, 4), positive(4)], ref=special.gammaincc,
     function="math.igammac", grad=(0, 1), **OWN)
case("igamma_grad_a", args=[positive(3, 4), positive(4)], ref=grad_a, rel=1e-7, edges=False,
     function="ops.incomplete.igamma_grad_a", grad=(1,))
case("gamma_density", args=[positive(3, 4), positive(4)], ref=gamma_density, grad=(0, 1),
     function="ops.incomplete.gamma_density", **OWN)
case("betainc", args=[positive(3, 4), positive(4), FRACTION], ref=special.betainc,
     function="math.betainc", grad=(2,), **OWN)
case("beta_density", args=[positive(3, 4), positive(4), FRACTION], ref=beta_density,
     function="ops.incomplete.beta_density", grad=(0, 1, 2), **OWN)
case("zeta", args=[sample((3, 4), 1.5, 9), positive(4)], ref=special.zeta, function="math.zeta",
     grad=(1,), **OWN)
