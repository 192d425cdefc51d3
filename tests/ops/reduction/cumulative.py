import numpy as np

from tests.ops.case import FIELD, RING, case, normal


def running(f, identity):
    """Return NumPy's function with TensorFlow's arguments, in the dtype of the input."""
    def ref(x, axis=0, exclusive=False, reverse=False):
        x = np.flip(x, axis) if reverse else x
        y = f(x, axis=axis, dtype=x.dtype)
        if exclusive:
            first = np.full_like(np.take(y, [0], axis), identity)
            y = np.concatenate([first, np.delete(y, -1, axis)], axis)
        return np.flip(y, axis) if reverse else y
    return ref


ATTRS = [{"axis": axis, "exclusive": exclusive, "reverse": reverse}
         for axis in (0, -1) for exclusive in (False, True) for reverse in (False, True)]

for kwargs in ATTRS:
    case("cumsum", args=[normal(5, 4)], kwargs=kwargs, ref=running(np.cumsum, 0), dtypes=RING,
         rel=1e-6, large=[normal(301, 257)])
    case("cumprod", args=[normal(5, 4)], kwargs=kwargs, ref=running(np.cumprod, 1), dtypes=RING,
         function="math.cumprod", rel=1e-6)
    case("cumulative_logsumexp", args=[normal(5, 4)], kwargs=kwargs, rel=1e-6,
         ref=lambda x, **how: np.log(running(np.cumsum, 0)(np.exp(x), **how)),
         function="math.cumulative_logsumexp", large=[normal(301, 257)],
         grad=() if kwargs["exclusive"] else (0,))  # -inf has no differences: test_softmax.py


def np_recurrence(a, b, axis, exclusive, reverse):
    """Return s[k] = b[k] + a[k - 1] s[k - 1] along the last axis; its rows use no other axis."""
    order = range(a.shape[-1])[::-1 if reverse else 1]
    s = np.zeros_like(b)
    for before, k in zip([None, *order], order, strict=False):
        if before is not None:
            s[..., k] = a[..., before] * s[..., before] + (b[..., before] if exclusive else 0)
        s[..., k] += 0 if exclusive else b[..., k]
    return s


for _exclusive in (False, True):
    for _reverse in (False, True):
        case("cumulative_recurrence", args=[normal(4, 5), normal(4, 5), -1, _exclusive, _reverse],
             function="ops.reduction.cumulative.cumulative_recurrence", ref=np_recurrence,
             grad=(0, 1), dtypes=FIELD,
             rel=1e-6)
