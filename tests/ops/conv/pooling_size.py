import numpy as np

from tests.ops.case import ANY, NUMBERS, case, normal
from tests.ops.conv.pooling import POOLED, listed, np_pooled, spread


def adaptive(kind):
    def ref(x, output_size, data_format=None):
        first = data_format is not None and data_format.startswith("NC")
        sizes = x.shape[2:] if first else x.shape[1:-1]
        counts = listed(output_size, len(sizes))
        return np_pooled(kind, x, [spread(n, m) for n, m in zip(sizes, counts, strict=True)],
                         data_format)
    return ref


def over_space(f):
    return lambda x, data_format=None: f(x, tuple(range(1, x.ndim - 1)))


case("max_pool", args=[normal(2, 7, 5, 3), (3, 2)], ref=adaptive("MAX"), dtypes=POOLED,
     function="nn.adaptive_max_pool", large=[normal(3, 70, 50, 20), (11, 7)])
case("max_pool", args=[normal(2, 3, 4, 5), (6, 2), "NCHW"], ref=adaptive("MAX"),
     function="nn.adaptive_max_pool")
case("avg_pool", args=[normal(2, 7, 5, 3), (3, 2)], ref=adaptive("AVG"), rel=1e-6,
     function="nn.adaptive_avg_pool", large=[normal(3, 70, 50, 20), (11, 7)])
case("avg_pool", args=[normal(2, 3, 4, 5, 2), (2, 7, 1)], ref=adaptive("AVG"), rel=1e-6,
     function="nn.adaptive_avg_pool")
case("reduce_max", args=[normal(2, 7, 5, 3)], ref=over_space(np.max), dtypes=NUMBERS,
     function="nn.global_max_pool")
case("reduce_mean", args=[normal(2, 7, 5, 3)], ref=over_space(np.mean), rel=1e-6,
     dtypes=ANY, function="nn.global_avg_pool")
