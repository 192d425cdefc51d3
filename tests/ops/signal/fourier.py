import numpy as np

from tests.ops.case import case, normal


def np_dct(x):
    """Return the discrete cosine transform of type 2."""
    n = x.shape[-1]
    k, j = np.arange(n)[:, None], np.arange(n)
    return 2 * x @ np.cos(np.pi * (k * (2 * j + 1) % (4 * n)) / (2 * n)).T


# A real function of real numbers by the complex op: rows of the table have real samples.
case("fft", args=[normal(3, 12)], function="signal.dct", ref=np_dct, rel=1e-6,
     large=[normal(301, 257)])
case("fft", args=[normal(2, 37)], function="signal.dct", ref=np_dct, rel=1e-6)
case("rfft", args=[normal(3, 12)], function="signal.rfft", ref=np.fft.rfft, rel=1e-6,
     large=[normal(301, 258)])
case("rfft", args=[normal(2, 37)], function="signal.rfft", ref=np.fft.rfft, rel=1e-6)
