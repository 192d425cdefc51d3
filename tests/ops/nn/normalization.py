import numpy as np

from tests.ops.case import case, normal, positive, sample

# Relative to the largest result: a few roundings, and the roundings of two sums.
REL = 1e-6
LAST = (((4, 9), -1), ((3, 2, 5), (1, 2)), ((2, 70), -1), ((7,), None), ((5, 1), 1))
OTHER = (((3, 5, 4), 1), ((6, 3), 0), ((2, 3, 4, 2), (-1, 1)))


def over(axis):
    return tuple(axis) if isinstance(axis, tuple | list) else axis


def layer_norm(x, scale=None, offset=None, epsilon=1e-5, axis=-1):
    axis = over(axis)
    z = (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + epsilon)
    z = z if scale is None else z * scale
    return z if offset is None else z + offset


def rms_norm(x, scale=None, epsilon=1e-6, axis=-1):
    z = x / np.sqrt(np.square(x).mean(over(axis), keepdims=True) + epsilon)
    return z if scale is None else z * scale


def l2_normalize(x, axis=None, epsilon=1e-12):
    return x / np.sqrt(np.maximum(np.square(x).sum(over(axis), keepdims=True), epsilon))


def flow(g, z, rate, axes, squares):
    """Return the cotangent of x for z = (x - mean) rate, with mean(z^2) or sum(z^2) fixed."""
    mean = np.sum if squares == "sum" else np.mean
    flow = g - z * mean(g * z, axes, keepdims=True)
    return rate * (flow - g.mean(axes, keepdims=True) if squares == "deviation" else flow)


def last(x, ndim):
    return tuple(range(x.ndim - ndim, x.ndim)), tuple(range(x.ndim - ndim))


def layer_norm_grad(g, x, *scale, ndim=1, epsilon=1e-5):
    axes, rows = last(x, ndim)
    z = layer_norm(x, axis=axes, epsilon=epsilon)
    gs = g * scale[0] if scale else g
    d = flow(gs, z, 1 / np.sqrt(x.var(axes, keepdims=True) + epsilon), axes, "deviation")
    return (d, (g * z).sum(rows), g.sum(rows)) if scale else (d,)


def rms_norm_grad(g, x, *scale, ndim=1, epsilon=1e-6):
    axes, rows = last(x, ndim)
    z = rms_norm(x, axis=axes, epsilon=epsilon)
    gs = g * scale[0] if scale else g
    rate = 1 / np.sqrt(np.square(x).mean(axes, keepdims=True) + epsilon)
    d = flow(gs, z, rate, axes, "mean")
    return (d, (g * z).sum(rows)) if scale else (d,)


def l2_normalize_grad(g, x, ndim=1, epsilon=1e-12):
    axes, _ = last(x, ndim)
    rate = 1 / np.sqrt(np.square(x).sum(axes, keepdims=True))
    return flow(g, x * rate, rate, axes, "sum")


for shape, axis in LAST + OTHER:
    sizes = np.ones(shape).sum(over(axis), keepdims=True).shape
    sizes = [n for n, kept in zip(shape, sizes, strict=True) if n != kept or n == 1]
    case("layer_norm", args=[normal(*shape)], kwargs={"axis": axis}, ref=layer_norm, rel=REL,
         function="nn.layer_norm", signed_zero=False)
    case("rms_norm", args=[normal(*shape)], kwargs={"axis": axis}, ref=rms_norm, rel=REL,
         function="nn.rms_norm")
    case("l2_normalize", args=[normal(*shape)], kwargs={"axis": axis}, ref=l2_normalize, rel=REL,
         function="nn.l2_normalize")
    if (shape, axis) not in LAST or sizes == [1]:
        continue
    case("layer_norm", args=[normal(*shape), positive(*sizes), normal(*sizes)],
         kwargs={"axis": axis}, ref=layer_norm, function="nn.layer_norm", rel=REL, grad=(0, 1, 2),
         signed_zero=False)
    case("rms_norm", args=[normal(*shape), positive(*sizes)], kwargs={"axis": axis}, ref=rms_norm,
         function="nn.rms_norm", rel=REL, grad=(0, 1))
    ndim = {"ndim": len(sizes)}
    function = "ops.nn.normalization."
    for rest in ([], [positive(*sizes)]):
        both = tuple(range(2 + len(rest)))
        case("layer_norm_grad", args=[normal(*shape), normal(*shape), *rest], kwargs=ndim,
             ref=layer_norm_grad, function=function + "layer_norm_grad", rel=4 * REL, grad=both,
             signed_zero=False)
        case("rms_norm_grad", args=[normal(*shape), normal(*shape), *rest], kwargs=ndim,
             ref=rms_norm_grad, function=function + "rms_norm_grad", rel=4 * REL, grad=both,
             signed_zero=False)
    case("l2_normalize_grad", args=[normal(*shape), normal(*shape)], kwargs=ndim,
         ref=l2_normalize_grad, function=function + "l2_normalize_grad", rel=4 * REL, grad=(0, 1),
         signed_zero=False)

# Rows that fit in L1, rows of several chunks, and more rows than a block.
for shape in ((300, 70), (3, 40_000), (2000, 5)):
    small = tuple(min(n, 6) for n in shape)
    case("layer_norm", args=[normal(*small), positive(small[1]), normal(small[1])], ref=layer_norm,
         function="nn.layer_norm", rel=REL, grad=(0, 1, 2), signed_zero=False,
         large=[normal(*shape), positive(shape[1]), normal(shape[1])])
    case("layer_norm_grad", args=[normal(*small), normal(*small), positive(small[1])],
         ref=layer_norm_grad, function="ops.nn.normalization.layer_norm_grad", rel=4 * REL,
         grad=(0, 1, 2), signed_zero=False,
         large=[normal(*shape), normal(*shape), positive(shape[1])])
    case("rms_norm_grad", args=[normal(*small), normal(*small), positive(small[1])],
         ref=rms_norm_grad, function="ops.nn.normalization.rms_norm_grad", rel=4 * REL,
         grad=(0, 1, 2), signed_zero=False,
         large=[normal(*shape), normal(*shape), positive(shape[1])])
    case("l2_normalize_grad", args=[normal(*small), normal(*small)], ref=l2_normalize_grad,
         function="ops.nn.normalization.l2_normalize_grad", rel=4 * REL, grad=(0, 1),
         signed_zero=False, large=[normal(*shape), normal(*shape)])

# Broadcast parameters, and only one of the two.
case("layer_norm", args=[normal(3, 4), positive(3, 1), normal(1)], ref=layer_norm, rel=REL,
     function="nn.layer_norm", grad=(0, 1, 2), signed_zero=False)
case("layer_norm", args=[normal(3, 8), positive(8)], ref=layer_norm, function="nn.layer_norm",
     rel=REL, grad=(0, 1), signed_zero=False)
case("layer_norm", args=[normal(3, 4), None, normal(4)], ref=layer_norm, function="nn.layer_norm",
     rel=REL, grad=(0, 2), signed_zero=False)
case("rms_norm", args=[normal(2, 3, 4), positive(2, 1, 1)], kwargs={"axis": (1, 2)}, ref=rms_norm,
     function="nn.rms_norm", rel=REL, grad=(0, 1))
case("l2_normalize", args=[sample((3, 4), -1e-9, 1e-9)], kwargs={"axis": 1}, ref=l2_normalize,
     function="nn.l2_normalize", rel=REL, grad=())
