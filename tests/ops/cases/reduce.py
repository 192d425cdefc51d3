import numpy as np

from tests.ops.case import BOOL, FLOATS, MOVABLE, NUMBERS, case, normal, positive, sample

# Sums: relative to the largest result, since terms cancel.
REL = 1e-6


def over(f):
    """NumPy's reduction `f` with our argument names."""
    return lambda x, axis=None, keepdims=False: f(x, axis=axis, keepdims=keepdims)


def same_dtype(f):
    """The same, in the dtype of the input: integers wrap around."""
    return lambda x, axis=None, keepdims=False: f(x, axis=axis, keepdims=keepdims, dtype=x.dtype)


def euclidean(x, axis=None, keepdims=False):
    return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))


def logsumexp(x, axis=None, keepdims=False):
    return np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims))


def wide_mean(x, axis=None, keepdims=False):
    """Integers are averaged in float32, int64 in float64."""
    dtype = x.dtype if x.dtype.kind == "f" else "float64" if x.dtype == "int64" else "float32"
    return np.mean(x, axis=axis, keepdims=keepdims, dtype=dtype)


AXES = (
    {},
    {"axis": 1},
    {"axis": 0, "keepdims": True},
    {"axis": (-1, 0)},
    {"axis": ()},
)
LARGE = [normal(301, 517)]
FOLDS = (
    ("reduce_sum", same_dtype(np.sum), NUMBERS, normal),
    ("reduce_mean", wide_mean, NUMBERS + BOOL, normal),
    ("reduce_max", over(np.max), NUMBERS, normal),
    ("reduce_min", over(np.min), NUMBERS, normal),
    ("reduce_prod", same_dtype(np.prod), NUMBERS, normal),
    ("reduce_logsumexp", logsumexp, FLOATS, normal),
    ("reduce_variance", over(np.var), FLOATS, normal),
    ("reduce_std", over(np.std), FLOATS, normal),
    ("reduce_euclidean_norm", euclidean, FLOATS, normal),
)
for op, ref, dtypes, numbers in FOLDS:
    function = op if op in ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod",
                            "reduce_logsumexp") else f"math.{op}"
    for kwargs in AXES:
        # The deviation of one number is 0, where it has no derivative.
        grad = () if op == "reduce_std" and kwargs.get("axis") == () else (0,)
        case(op, args=[numbers(3, 5, 4)], kwargs=kwargs, ref=ref, function=function,
             dtypes=dtypes, rel=REL, grad=grad, large=LARGE if kwargs == {"axis": 1} else None)

case("reduce_sum", args=[positive(70_003)], ref=over(np.sum), rel=REL)
case("reduce_sum", args=[normal(2, 3, 2, 3, 2)], kwargs={"axis": (0, 2, 4)}, ref=over(np.sum),
     rel=REL)
case("reduce_variance", args=[normal(2, 3, 2, 3, 2)], kwargs={"axis": (0, 2, 4)}, ref=over(np.var),
     function="math.reduce_variance", rel=REL)

for op, ref in (("reduce_any", np.any), ("reduce_all", np.all)):
    for kwargs in AXES:
        case(op, args=[sample((3, 2, 4))], kwargs=kwargs, ref=over(ref), dtypes=BOOL, grad=())

for op, ref in (("argmax", np.argmax), ("argmin", np.argmin)):
    for shape, axis in (((7,), 0), ((3, 70, 5), 1), ((4, 1030), -1), ((5000, 3), 0)):
        case(op, args=[sample(shape, -9, 9)], kwargs={"axis": axis}, ref=ref,
             dtypes=NUMBERS + BOOL, grad=(), large=[sample((40, 80, 51))] if axis == 1 else None)

for kwargs in ({}, {"axis": 0}, {"axis": (0, 1), "keepdims": True}):
    case("reduce_sum", args=[sample((3, 4), -1, 1)], kwargs=kwargs, ref=over(np.count_nonzero),
         function="math.count_nonzero", dtypes=MOVABLE, grad=())


def p_norm(x, ord, axis=None, keepdims=False):
    return np.linalg.norm(x if axis is not None else x.ravel(), ord=None if ord == "fro" else ord,
                          axis=axis, keepdims=keepdims)


for kwargs in ({"ord": 2, "axis": 1}, {"ord": 1, "axis": 0}, {"ord": np.inf, "axis": 1},
               {"ord": 3, "axis": 0, "keepdims": True}, {"ord": 1, "axis": (0, 1)},
               {"ord": np.inf, "axis": (1, 0)}, {"ord": 2}):
    case("reduce_euclidean_norm", args=[positive(4, 5)], kwargs=kwargs, ref=p_norm,
         function="norm", rel=REL)
