import numpy as np

from tests.ops.case import NUMBERS, case, normal

POOLED = tuple(d for d in NUMBERS if d != "uint64")


def windows(size, k, stride, padding, dilation=1):
    """Return the pixels of each window along one dimension, by a naive loop."""
    reach = (k - 1) * dilation + 1
    if padding == "SAME":
        count = -(-size // stride)
        before = max((count - 1) * stride + reach - size, 0) // 2
    else:
        before, after = (0, 0) if padding == "VALID" else padding
        count = (size + before + after - reach) // stride + 1
    return [[p for p in range(o * stride - before, o * stride - before + reach, dilation)
             if 0 <= p < size] for o in range(count)]


def spread(size, count):
    return [list(range(o * size // count, -(-(o + 1) * size // count))) for o in range(count)]


def listed(value, n):
    """Return a list with one value per spatial dimension."""
    value = [value] if np.ndim(value) == 0 else list(value)
    return value * n if len(value) == 1 else value


def np_pooled(kind, x, lists, data_format):
    """Return the pooled images; `lists` has the pixels of the windows for each spatial
    dimension."""
    first = data_format is not None and data_format.startswith("NC")
    x = np.moveaxis(x, 1, -1) if first else x
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    for d, pixels in enumerate(lists, 1):
        longest = max(map(len, pixels))
        at = np.array([p + [0] * (longest - len(p)) for p in pixels])
        real = np.array([[True] * len(p) + [False] * (longest - len(p)) for p in pixels])
        real = real.reshape(real.shape + (1,) * (x.ndim - d - 1))
        taken = np.take(x, at, d)
        if kind == "MAX":
            x = np.where(real, taken, x.dtype.type(lowest)).max(d + 1)
        else:
            x = np.where(real, taken, 0).sum(d + 1) / real.sum(1)
    return np.moveaxis(x, -1, 1) if first else x


def np_pool(x, window_shape, pooling_type, strides=1, padding="VALID", data_format=None,
            dilations=1):
    n, first = x.ndim - 2, data_format is not None and data_format.startswith("NC")
    sizes = x.shape[2:] if first else x.shape[1:-1]
    pads = [padding] * n if isinstance(padding, str) else padding[2:] if first else padding[1:-1]
    lists = [windows(*each) for each in zip(sizes, listed(window_shape, n), listed(strides, n),
                                            pads, listed(dilations, n), strict=True)]
    return np_pooled(pooling_type, x, lists, data_format)


def np_max(x, ksize, strides, padding, data_format=None):
    return np_pool(x, ksize, "MAX", strides, padding, data_format)


def np_avg(x, ksize, strides, padding, data_format=None):
    return np_pool(x, ksize, "AVG", strides, padding, data_format)


def np_with_argmax(x, ksize, strides, padding, include_batch_in_index=False):
    """Return the maxima and flat indices, from one array of the pixels of all windows."""
    numbers = np.broadcast_to(np.arange(x[0].size).reshape(x[:1].shape), x.shape)
    if include_batch_in_index:
        numbers = np.arange(x.size).reshape(x.shape)
    taken, outside = x.astype("f8"), np.zeros(x.shape, bool)
    for d in (1, 3):                # height, then width after the pixels of each height
        pixels = windows(x.shape[(d + 1) // 2], listed(ksize, 2)[d // 2],
                         listed(strides, 2)[d // 2], padding)
        longest = max(map(len, pixels))
        at = np.array([p + [-1] * (longest - len(p)) for p in pixels])
        taken, numbers = np.take(taken, at, d), np.take(numbers, at, d)
        beyond = (at < 0).reshape(at.shape + (1,) * (taken.ndim - d - 2))
        outside = np.take(outside, at, d) | beyond
    taken = np.where(outside, -np.inf, taken)

    def flat(a):                    # (batch, high, k, wide, k, channels)
        a = a.transpose(0, 1, 3, 5, 2, 4)
        return a.reshape(*a.shape[:4], -1)

    best = flat(taken).argmax(-1)[..., None]
    return (np.take_along_axis(flat(taken), best, -1)[..., 0].astype(x.dtype),
            np.take_along_axis(flat(numbers), best, -1)[..., 0])


UNEVEN = [[0, 0], [1, 0], [1, 2], [0, 0]]       # explicit padding for windows of 3 pixels
LARGE = normal(4, 61, 50, 37)

case("max_pool", args=[normal(2, 5, 6, 3), 2, 2, "VALID"], ref=np_max, function="nn.max_pool",
     dtypes=POOLED, large=[LARGE, 2, 2, "VALID"])
case("max_pool", args=[normal(2, 5, 6, 19), (3, 2), (2, 1), "SAME"], ref=np_max, dtypes=POOLED,
     function="nn.max_pool2d", large=[LARGE, 3, 2, "SAME"])
case("max_pool", args=[normal(1, 7, 5, 2), 3, 2, UNEVEN], ref=np_max, function="nn.max_pool2d")
case("max_pool", args=[normal(2, 3, 5, 6), 2, 2, "SAME", "NCHW"], ref=np_max,
     function="nn.max_pool2d")
case("max_pool", args=[normal(2, 9, 4), 3, 2, "SAME"], ref=np_max, function="nn.max_pool1d",
     dtypes=POOLED)
case("max_pool", args=[normal(1, 4, 5, 3, 2), 2, 1, "VALID"], ref=np_max, function="nn.max_pool3d",
     dtypes=POOLED)
case("max_pool", args=[normal(2, 9, 8, 3), (2, 3), "MAX"], function="nn.pool", ref=np_pool,
     kwargs={"dilations": (3, 2), "strides": (2, 1), "padding": "SAME"}, dtypes=POOLED)
case("max_pool_pick", args=[normal(2, 5, 6, 3), 3, 2, "SAME"], ref=np_max, function="nn.max_pool",
     name="max_pool_pick(second derivative)")
case("max_pool_grad", args=[normal(2, 5, 6, 3), 3, 1, "SAME"], ref=np_max, function="nn.max_pool",
     name="max_pool_grad(derivative)")
case("max_pool", args=[normal(2, 5, 6, 3), 3, 2, "SAME"], ref=np_with_argmax,
     function="nn.max_pool_with_argmax", dtypes=POOLED)
case("max_pool", args=[normal(3, 4, 5, 2), (2, 3), 1, "VALID"], ref=np_with_argmax,
     kwargs={"include_batch_in_index": True}, function="nn.max_pool_with_argmax")

case("avg_pool", args=[normal(2, 5, 6, 3), 2, 2, "VALID"], ref=np_avg, function="nn.avg_pool",
     rel=1e-6, large=[LARGE, 2, 2, "VALID"])
case("avg_pool", args=[normal(2, 5, 6, 19), (3, 2), (2, 1), "SAME"], ref=np_avg, rel=1e-6,
     function="nn.avg_pool2d", large=[LARGE, 3, 1, "SAME"])
case("avg_pool", args=[normal(1, 7, 5, 2), 3, 2, UNEVEN], ref=np_avg, rel=1e-6,
     function="nn.avg_pool2d")
case("avg_pool", args=[normal(2, 3, 5, 6), 2, 2, "SAME", "NCHW"], ref=np_avg, rel=1e-6,
     function="nn.avg_pool2d")
case("avg_pool", args=[normal(2, 75, 4), 70, 2, "SAME"], ref=np_avg, rel=1e-6,
     function="nn.avg_pool1d")
case("avg_pool", args=[normal(1, 4, 5, 3, 2), 2, 1, "VALID"], ref=np_avg, rel=1e-6,
     function="nn.avg_pool3d")
case("avg_pool", args=[normal(2, 9, 8, 3), (2, 3), "AVG"], function="nn.pool", ref=np_pool,
     kwargs={"dilations": (3, 2), "strides": (2, 1), "padding": "SAME"}, rel=1e-6)
case("avg_pool_grad", args=[normal(2, 5, 6, 3), 3, 1, "SAME"], ref=np_avg, rel=1e-6,
     function="nn.avg_pool", name="avg_pool_grad(derivative)")
