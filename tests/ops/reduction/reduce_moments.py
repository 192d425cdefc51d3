import numpy as np

from tests.ops.case import BOOL, FLOATS, RING, case, normal, positive
from tests.ops.reduction.reduce import REL, over, reduction


def euclidean(x, axis=None, keepdims=False):
    return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))


def wide_mean(x, axis=None, keepdims=False):
    """Return the mean; integers are averaged in float32, int64 in float64."""
    dtype = x.dtype if x.dtype.kind in "fc" else "float64" if x.dtype == "int64" else "float32"
    return np.mean(x, axis=axis, keepdims=keepdims, dtype=dtype)


reduction("reduce_mean", wide_mean, RING + BOOL)
reduction("reduce_variance", over(np.var), FLOATS, "math.reduce_variance")
# The deviation of one value is 0, where it has no derivative.
reduction("reduce_std", over(np.std), FLOATS, "math.reduce_std",
          has_gradient=lambda kwargs: kwargs.get("axis") != ())
reduction("reduce_euclidean_norm", euclidean, FLOATS, "math.reduce_euclidean_norm")
case("reduce_variance", args=[normal(2, 3, 2, 3, 2)], kwargs={"axis": (0, 2, 4)}, ref=over(np.var),
     function="math.reduce_variance", rel=REL)


def p_norm(x, ord, axis=None, keepdims=False):
    return np.linalg.norm(x if axis is not None else x.ravel(), ord=None if ord == "fro" else ord,
                          axis=axis, keepdims=keepdims)


for kwargs in ({"ord": 2, "axis": 1}, {"ord": 1, "axis": 0}, {"ord": np.inf, "axis": 1},
               {"ord": 3, "axis": 0, "keepdims": True}, {"ord": 1, "axis": (0, 1)},
               {"ord": np.inf, "axis": (1, 0)}, {"ord": 2}):
    case("reduce_euclidean_norm", args=[positive(4, 5)], kwargs=kwargs, ref=p_norm,
         function="norm", rel=REL)
