import numpy as np

from tests.ops.case import case, normal, positive, sample

# Relative to the largest result: a few roundings, and the sums around combined means.
REL = 2e-6


def spread(v, x, first):
    """Reshape one value per channel to broadcast against x."""
    return v.reshape(-1, *(1,) * (x.ndim - 2)) if first else v


def grouped(x, groups, first):
    n, c = x.shape[0], x.shape[1 if first else -1]
    groups = c if groups == -1 else groups
    shape = (n, groups, c // groups, -1) if first else (n, -1, groups, c // groups)
    return x.reshape(shape), (2, 3) if first else (1, 3)


def standard(x, groups, epsilon, first):
    """Return x normalized, and its factors; groups None: channels over the whole batch."""
    seen, axes = grouped(x, -1 if groups is None else groups, first)
    axes = (0, *axes) if groups is None else axes
    rate = 1 / np.sqrt(seen.var(axes, keepdims=True) + epsilon)
    return (seen - seen.mean(axes, keepdims=True)) * rate, rate, axes


def with_parameters(z, scale, offset, first):
    z = z if scale is None else z * spread(scale, z, first)
    return z if offset is None else z + spread(offset, z, first)


def group_norm(x, groups, scale=None, offset=None, epsilon=1e-5, data_format="NHWC"):
    first = data_format.startswith("NC")
    z = standard(x, groups, epsilon, first)[0].reshape(x.shape)
    return with_parameters(z, scale, offset, first)


def instance_norm(x, *rest, **kwargs):
    return group_norm(x, -1, *rest, **kwargs)


def fused_batch_norm(x, scale, offset, mean=None, variance=None, epsilon=0.001,
                     data_format="NHWC", is_training=True, exponential_avg_factor=1.0):
    first = data_format.startswith("NC")
    over = tuple(d for d in range(x.ndim) if d != (1 if first else x.ndim - 1))
    if not is_training:
        z = (x - spread(mean, x, first)) / np.sqrt(spread(variance, x, first) + epsilon)
        return with_parameters(z, scale, offset, first), mean, variance
    z = standard(x, None, epsilon, first)[0].reshape(x.shape)
    n, f = x.size // scale.size, exponential_avg_factor
    new = x.mean(over), x.var(over) * (n / max(n - 1, 1))
    old = (0, 0) if f == 1 else (mean, variance)
    return (with_parameters(z, scale, offset, first),
            *((1 - f) * a + f * b for a, b in zip(old, new, strict=True)))


def back(g, x, scale, groups, first, epsilon):
    z, rate, axes = standard(x, groups, epsilon, first)
    gs = (g * spread(scale[0], x, first) if scale else g).reshape(z.shape)
    d = rate * (gs - gs.mean(axes, keepdims=True) - z * (gs * z).mean(axes, keepdims=True))
    over = tuple(k for k in range(x.ndim) if k != (1 if first else x.ndim - 1))
    sums = ((g * z.reshape(x.shape)).sum(over), g.sum(over)) if scale else ()
    return (d.reshape(x.shape), *sums)


def fused_batch_norm_grad(g, x, *scale, channels_first=False, epsilon=0.001):
    return back(g, x, scale, None, channels_first, epsilon)


def group_norm_grad(g, x, *scale, groups=-1, channels_first=False, epsilon=1e-5):
    return back(g, x, scale, groups, channels_first, epsilon)


def only_y(f):
    return lambda *args, **kwargs: f(*args, **kwargs)[0]


GRAD = "ops.nn.batch_norm."
GROUP_GRAD = "ops.nn.group_norm."
# Channels last uses different kernels for rows, columns and areas: one channel, with and without
# a column reduction, blocks of columns.
SHAPES = (((8, 3), None), ((5, 6), None), ((2, 4, 6), None), ((3, 2, 3, 4), (9, 16, 17, 12)),
          ((2, 1, 3, 2, 4), (2, 3, 5, 2, 600)), ((1, 5, 1), None), ((2, 3, 700), None))
for shape, large in SHAPES:
    for data_format in ("NHWC", "NCHW"):
        first = data_format == "NCHW"
        size, c = shape, shape[-1]
        big = large and (*large[:1], large[-1], *large[1:-1]) if first else large
        if first:
            size = (shape[0], c, *shape[1:-1])
        x, scale, offset = normal(*size), positive(c), normal(c)
        attrs = {"channels_first": first}
        case("fused_batch_norm", args=[x, scale, offset], kwargs={"data_format": data_format},
             ref=fused_batch_norm, function="nn.fused_batch_norm", rel=REL, grad=(),
             signed_zero=False,
             large=[normal(*big), positive(large[-1]), normal(large[-1])] if large else None)
        case("fused_batch_norm_grad", args=[x, x, scale], kwargs=attrs, ref=fused_batch_norm_grad,
             function=GRAD + "fused_batch_norm_grad", rel=4 * REL, grad=(0, 1, 2),
             signed_zero=False,
             large=[normal(*big), normal(*big), positive(large[-1])] if large else None)
        if shape[0] * c > 1000:
            continue
        for groups in sorted({1, c, 2 if c % 2 == 0 else 1}):
            if np.prod(shape[1:]) // groups < 2:
                continue        # every result is 0 up to rounding errors
            case("group_norm", args=[x, groups, scale, offset], kwargs={"data_format": data_format},
                 ref=group_norm, function="nn.group_norm", rel=REL, grad=(0, 2, 3),
                 signed_zero=False,
                 large=[normal(*big), groups, positive(large[-1]), normal(large[-1])]
                 if large else None)
            case("group_norm_grad", args=[x, x, scale], kwargs={"groups": groups, **attrs},
                 ref=group_norm_grad, function=GROUP_GRAD + "group_norm_grad", rel=4 * REL,
                 grad=(0, 1, 2), signed_zero=False,
                 large=[normal(*big), normal(*big), positive(large[-1])] if large else None)

x = normal(2, 3, 4)
case("fused_batch_norm", args=[x, positive(4), normal(4), normal(4), positive(4)],
     kwargs={"exponential_avg_factor": .25}, ref=fused_batch_norm, function="nn.fused_batch_norm",
     rel=REL, grad=(), signed_zero=False)
case("fused_batch_norm", args=[x, positive(4), normal(4), normal(4), positive(4)],
     kwargs={"is_training": False}, ref=fused_batch_norm, function="nn.fused_batch_norm",
     rel=REL, grad=(0, 1, 2), signed_zero=False)
case("fused_batch_norm", args=[x, positive(3), normal(3), normal(3), positive(3)],
     kwargs={"data_format": "NCHW", "exponential_avg_factor": 0.}, ref=fused_batch_norm,
     function="nn.fused_batch_norm", rel=REL, grad=(), signed_zero=False)
case("group_norm", args=[x, 2], ref=group_norm, function="nn.group_norm", rel=REL,
     signed_zero=False)
case("group_norm_grad", args=[x, x], kwargs={"groups": 2}, ref=group_norm_grad, rel=4 * REL,
     function=GROUP_GRAD + "group_norm_grad", grad=(0, 1), signed_zero=False)
case("group_norm", args=[normal(2, 9, 4), positive(4)], ref=instance_norm,
     function="nn.instance_norm", rel=REL, grad=(0, 1), signed_zero=False)
case("group_norm", args=[x, None, normal(3)], kwargs={"data_format": "NCHW"}, ref=instance_norm,
     function="nn.instance_norm", rel=REL, grad=(0, 2), signed_zero=False)
case("normalize_by", args=[sample((3, 4)), normal(4), normal(3, 1), normal(1)],
     ref=lambda x, m, f, o: (x - m) * f + o, function="ops.nn.batch_norm.normalize_by", rel=REL,
     grad=(0, 1, 2, 3), edges=False)
case("normalize_by", args=[x, normal(4), positive(4), normal(4), positive(2, 1, 1), 1e-3],
     ref=lambda x, m, v, o, s, e: (x - m) / np.sqrt(v + e) * s + o,
     function="nn.batch_normalization", rel=REL, grad=(0, 1, 2, 3, 4), edges=False)
case("normalize_by", args=[x, normal(4), positive(4), None, None, 1e-3],
     ref=lambda x, m, v, o, s, e: (x - m) / np.sqrt(v + e),
     function="nn.batch_normalization", rel=REL, grad=(0, 1, 2), edges=False)
