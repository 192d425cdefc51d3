import numpy as np

from tests.ops.case import case, normal

REL = 2e-6


def window(v, radius):
    c = v.shape[-1]
    total = np.concatenate([np.zeros((*v.shape[:-1], 1)), np.cumsum(v, -1)], -1)
    at, radius = np.arange(c), min(radius, c)
    return total[..., np.minimum(at + radius + 1, c)] - total[..., np.maximum(at - radius, 0)]


def lrn(x, depth_radius=5, bias=1.0, alpha=1.0, beta=0.5):
    return x * (bias + alpha * window(x * x, depth_radius)) ** -beta


def lrn_grad(g, x, depth_radius=5, bias=1.0, alpha=1.0, beta=0.5):
    s = bias + alpha * window(x * x, depth_radius)
    return g * s ** -beta - 2 * alpha * beta * x * window(g * x * s ** (-beta - 1), depth_radius)


for shape, attrs in (((2, 1, 3, 7), {}), ((1, 2, 2, 40), {"depth_radius": 2, "beta": 0.75}),
                     ((1, 1, 1, 3), {"depth_radius": 0, "bias": 2.0, "alpha": 0.1}),
                     ((1, 1, 2, 5), {"depth_radius": 2**62, "alpha": 1e-3, "beta": 1.0})):
    large = normal(5, 9, 11, 30) if not attrs else None
    case("local_response_normalization", args=[normal(*shape)], kwargs=attrs, ref=lrn,
         function="nn.local_response_normalization", rel=REL, large=large and [large])
    case("local_response_normalization_grad", args=[normal(*shape), normal(*shape)], kwargs=attrs,
         ref=lrn_grad, function="ops.nn.local_response.local_response_normalization_grad",
         rel=4 * REL, grad=(0, 1), large=large and [large, large], signed_zero=False)
