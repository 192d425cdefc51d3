import statistics

import numpy as np

from tests.ops.case import case
from tests.ops.random.philox import draws, words

KEY = [12345, 7]


def uniform(shape, key):
    return (words(*key, -(-shape[0] // 32)) >> np.uint64(8))[:shape[0]] * 2.0**-24


def integers(shape, key, low, high, dtype):
    return np.array([low + (int(d) * (high - low) >> 64) for d in draws(key, shape[0])], dtype)


def normal(shape, key):
    """Return normals by Box and Muller, in groups of 16 words: 8 radii and 8 angles in float64."""
    pairs = draws(key, shape[0]).reshape(-1, 2, 8) >> np.uint64(11)
    r = np.sqrt(-2 * np.log((pairs[:, 0] + 0.5) * 2.0**-53))
    angle = pairs[:, 1] * 2.0**-53 * (2 * np.pi)
    return np.stack([r * np.cos(angle), r * np.sin(angle)], 1).ravel()


def truncated(shape, key):
    inverse = statistics.NormalDist().inv_cdf
    low, high = (statistics.NormalDist().cdf(x) for x in (-2, 2))
    u = (draws(key, shape[0]) >> np.uint64(11)) * 2.0**-53
    return np.array([inverse(low + x * (high - low)) for x in u])


def permutation(n, key):
    p = list(range(n))
    for i, d in enumerate(draws(key, n)):
        j = int(d) * (i + 1) >> 64
        p[i], p[j] = p[j], i
    return np.array(p)


F32, I64 = ("float32",), ("int64",)
case("random_uniform", args=[[70], KEY], ref=uniform, function="random.stateless_uniform",
     dtypes=F32, grad=(), edges=False)
case("random_integers", args=[[40], KEY, -3, 9, "int32"], ref=integers,
     function="random.stateless_uniform", dtypes=("int32",), grad=())
case("random_normal", args=[[64], KEY], kwargs={"dtype": "float64"}, dtypes=("float64",),
     ref=lambda shape, key, dtype: normal(shape, key), function="random.stateless_normal",
     rel=1e-14, grad=())
case("truncated_normal", args=[[64], KEY], kwargs={"dtype": "float64"}, dtypes=("float64",),
     ref=lambda shape, key, dtype: truncated(shape, key),
     function="random.stateless_truncated_normal", rel=1e-14, grad=())
case("random_permutation", args=[100, KEY], ref=permutation, dtypes=I64, grad=(),
     function="random.stateless_permutation")
