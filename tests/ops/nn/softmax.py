import numpy as np

from tests.ops.case import FLOATS, case, normal, sample

# Relative to the largest result: a few roundings of exp, the sum and the quotient.
REL = 5e-7
# Sums of thousands of values of both signs.
SUMS = 4e-6


def softmax(x, axis=-1):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def log_softmax(x, axis=-1):
    x = x - np.max(x, axis=axis, keepdims=True)
    return x - np.log(np.sum(np.exp(x), axis=axis, keepdims=True))


def labels(n, *shape):
    """Return random class indices below n."""
    return lambda rng, dtype: rng.integers(0, n, shape)


def sparse(labels, logits):
    picked = np.take_along_axis(log_softmax(logits), labels[..., None].astype("int64"), -1)
    return -picked[..., 0]


for op, ref in (("softmax", softmax), ("log_softmax", log_softmax)):
    for shape, axis in (((5, 7), -1), ((3, 4, 6), 1), ((2, 70), 1), ((9,), 0), ((4, 1), -1)):
        case(op, args=[normal(*shape)], kwargs={"axis": axis}, ref=ref, function=f"nn.{op}",
             rel=REL, signed_zero=False, large=[normal(300, 7, 50)] if axis == 1 else None)

for shape, axis in (((4, 6), -1), ((4, 6), 0), ((3, 2, 4), 1), ((2, 70), 1), ((5,), 0)):
    case("softmax_grad", args=[normal(*shape), normal(*shape)], kwargs={"axis": axis},
         ref=lambda g, y, axis: y * (g - np.sum(g * y, axis, keepdims=True)),
         function="ops.nn.softmax.softmax_grad", rel=SUMS, grad=(0, 1),
         large=[normal(300, 7, 50)] * 2 if axis == 1 else None)
    case("log_softmax_grad", args=[normal(*shape), normal(*shape)], kwargs={"axis": axis},
         ref=lambda g, y, axis: g - np.exp(y) * np.sum(g, axis, keepdims=True),
         function="ops.nn.softmax.log_softmax_grad", rel=SUMS, grad=(0, 1), signed_zero=False,
         large=[normal(300, 7, 50)] * 2 if axis == 1 else None)
    case("softmax_cross_entropy", args=[sample(shape, 0, 1), normal(*shape)],
         kwargs={"axis": axis},
         ref=lambda z, x, axis: -np.sum(z * log_softmax(x, axis), axis=axis),
         function="nn.softmax_cross_entropy_with_logits", rel=REL, grad=(0, 1),
         large=[sample((300, 7, 50), 0, 1), normal(300, 7, 50)] if axis == 1 else None)
    case("softmax_cross_entropy_grad",
         args=[sample(shape, 0, 1), normal(*shape), normal(*np.delete(shape, axis))],
         kwargs={"axis": axis},
         ref=lambda z, x, g, axis: np.expand_dims(g, axis) * (
             np.sum(z, axis, keepdims=True) * softmax(x, axis) - z),
         function="ops.nn.softmax.cross_entropy_grad", rel=SUMS, grad=(0, 1, 2), signed_zero=False)

for rows, n in (((5,), 7), ((2, 3), 40), ((), 5), ((3,), 1)):
    case("sparse_softmax_cross_entropy", args=[labels(n, *rows), normal(*rows, n)], ref=sparse,
         function="nn.sparse_softmax_cross_entropy_with_logits", dtypes=FLOATS, rel=2e-6,
         grad=(1,), signed_zero=False,
         large=[labels(50, 4000), normal(4000, 50)] if rows == (5,) else None)

case("sparse_softmax_cross_entropy_grad", args=[labels(7, 5), normal(5, 7), normal(5)],
     ref=lambda z, x, g: g[:, None] * (softmax(x) - (np.arange(x.shape[1]) == z[:, None])),
     function="ops.nn.softmax.sparse_grad", rel=REL, grad=(1, 2), signed_zero=False)

case("sigmoid_cross_entropy", args=[sample((3, 4), 0, 1), normal(3, 4)],
     ref=lambda z, x: np.maximum(x, 0) - x * z + np.log1p(np.exp(-np.abs(x))),
     function="nn.sigmoid_cross_entropy_with_logits", rel=REL, grad=(0, 1), edges=False)
