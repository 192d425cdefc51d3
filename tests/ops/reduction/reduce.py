import numpy as np

from tests.ops.case import BOOL, FLOATS, MOVABLE, NUMBERS, RING, case, normal, positive, sample

# Sums: relative to the largest result, since terms may cancel.
REL = 1e-6


def over(f):
    """Return NumPy's reduction `f` with dualflow's argument names."""
    return lambda x, axis=None, keepdims=False: f(x, axis=axis, keepdims=keepdims)


def same_dtype(f):
    """Return `over(f)` in the dtype of the input: integers wrap around."""
    return lambda x, axis=None, keepdims=False: f(x, axis=axis, keepdims=keepdims, dtype=x.dtype)


def logsumexp(x, axis=None, keepdims=False):
    return np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims))


AXES = (
    {},
    {"axis": 1},
    {"axis": 0, "keepdims": True},
    {"axis": (-1, 0)},
    {"axis": ()},
)
LARGE = [normal(301, 517)]


def reduction(op, ref, dtypes, function=None, has_gradient=lambda kwargs: True):
    for kwargs in AXES:
        case(op, args=[normal(3, 5, 4)], kwargs=kwargs, ref=ref, function=function or op,
             dtypes=dtypes, rel=REL, grad=(0,) if has_gradient(kwargs) else (),
             large=LARGE if kwargs == {"axis": 1} else None)


reduction("reduce_sum", same_dtype(np.sum), RING)
reduction("reduce_max", over(np.max), NUMBERS)
reduction("reduce_min", over(np.min), NUMBERS)
reduction("reduce_prod", same_dtype(np.prod), RING)
reduction("reduce_logsumexp", logsumexp, FLOATS)
case("reduce_sum", args=[positive(70_003)], ref=over(np.sum), rel=REL)
case("reduce_sum", args=[normal(2, 3, 2, 3, 2)], kwargs={"axis": (0, 2, 4)}, ref=over(np.sum),
     rel=REL)

for op, ref in (("reduce_any", np.any), ("reduce_all", np.all)):
    for kwargs in AXES:
        case(op, args=[sample((3, 2, 4))], kwargs=kwargs, ref=over(ref), dtypes=BOOL, grad=())

# Without elements: the value of the reduction's start.
for kwargs in ({}, {"axis": 0}, {"axis": (0, 1), "keepdims": True}):
    for op, ref in (("reduce_any", np.any), ("reduce_all", np.all)):
        case(op, args=[sample((0, 3))], kwargs=kwargs, ref=over(ref), dtypes=BOOL, grad=())
    for op, ref in (("reduce_sum", np.sum), ("reduce_prod", np.prod)):
        case(op, args=[normal(0, 3)], kwargs=kwargs, ref=same_dtype(ref), dtypes=NUMBERS, grad=())

for op, ref in (("argmax", np.argmax), ("argmin", np.argmin)):
    for shape, axis in (((7,), 0), ((3, 70, 5), 1), ((4, 1030), -1), ((5000, 3), 0)):
        case(op, args=[sample(shape, -9, 9)], kwargs={"axis": axis}, ref=ref,
             dtypes=NUMBERS + BOOL, grad=(), large=[sample((40, 80, 51))] if axis == 1 else None)

for kwargs in ({}, {"axis": 0}, {"axis": (0, 1), "keepdims": True}):
    case("reduce_sum", args=[sample((3, 4), -1, 1)], kwargs=kwargs, ref=over(np.count_nonzero),
         function="math.count_nonzero", dtypes=MOVABLE, grad=())
