import numpy as np

from tests.ops.case import FLOATS, MOVABLE, case, normal
from tests.ops.conv.pooling import listed, windows


def lanczos(radius):
    return lambda x: np.where(np.abs(x) < radius, np.sinc(x) * np.sinc(x / radius), 0)


def keys_cubic(x):
    x = np.abs(x)
    return np.where(x < 1, 1.5 * x**3 - 2.5 * x**2 + 1,
                    np.where(x < 2, -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2, 0))


def mitchell_cubic(x):
    x = np.abs(x)
    return np.where(x < 1, 7 * x**3 - 12 * x**2 + 16 / 3,
                    np.where(x < 2, -7 / 3 * x**3 + 12 * x**2 - 20 * x + 32 / 3, 0)) / 6


KERNELS = {"bilinear": lambda x: np.maximum(1 - np.abs(x), 0), "bicubic": keys_cubic,
           "mitchellcubic": mitchell_cubic, "lanczos3": lanczos(3), "lanczos5": lanczos(5),
           "gaussian": lambda x: np.where(np.abs(x) < 1.5, np.exp(-2 * x * x), 0)}


def weights(before, after, method, antialias):
    """Return the matrix of a resize along one dimension."""
    edges = np.arange(after + 1) * before / after
    pixels = np.arange(before)
    if method == "nearest":
        return pixels == (2 * np.arange(after)[:, None] + 1) * before // (2 * after)
    if method == "area":
        low, high = np.maximum(edges[:-1, None], pixels), np.minimum(edges[1:, None], pixels + 1)
        w = np.maximum(high - low, 0)
    else:
        wide = max(before / after, 1) if antialias else 1
        centres = (np.arange(after) + 0.5) * before / after
        w = KERNELS[method]((pixels + 0.5 - centres[:, None]) / wide)
    return w / w.sum(1, keepdims=True)


def np_resize(x, size, method="bilinear", antialias=False):
    for axis, n in zip((-3, -2), size, strict=True):
        w = weights(x.shape[axis], n, method, antialias)
        if method == "nearest":
            x = np.take(x, w.argmax(1), axis)
        else:
            x = np.moveaxis(np.tensordot(w, x, (1, axis)), 0, axis)
    return x


def np_patches(x, sizes, strides, rates, padding):
    n = x.ndim - 2
    pads = [padding] * n if isinstance(padding, str) else padding[1:-1]
    # An appended pixel of zeros represents padding.
    x = np.pad(x, [(0, 0), *[(0, 1)] * n, (0, 0)])
    for d, each in enumerate(zip(listed(sizes, n), listed(strides, n), pads, listed(rates, n),
                                 strict=True), 1):
        size = x.shape[2 * d - 1] - 1
        k, stride, pad, rate = each
        reach = (k - 1) * rate + 1
        inside = windows(size, *each)
        if pad == "SAME":
            before = max((len(inside) - 1) * stride + reach - size, 0) // 2
        else:
            before = 0 if pad == "VALID" else pad[0]
        at = np.arange(len(inside))[:, None] * stride - before + np.arange(k) * rate
        x = np.take(x, np.where((at >= 0) & (at < size), at, size), 2 * d - 1)
    x = x.transpose(0, *range(1, 2 * n, 2), *range(2, 2 * n + 1, 2), 2 * n + 1)
    return x.reshape(*x.shape[:n + 1], -1)


SMALL, TALL = normal(2, 5, 6, 3), normal(1, 9, 4, 17)
LARGE = normal(3, 70, 60, 37)

for _method in ("bilinear", "bicubic", "area", "lanczos3", "lanczos5", "gaussian",
                "mitchellcubic"):
    case("resample", args=[SMALL, (7, 4), _method], ref=np_resize, function="image.resize",
         rel=2e-6, large=[LARGE, (50, 90), _method] if _method == "bicubic" else None)
    case("resample_grad", args=[TALL, (4, 9), _method], kwargs={"antialias": True}, ref=np_resize,
         function="image.resize", rel=2e-6, name=f"resample_grad({_method}, antialias)",
         large=[LARGE, (20, 90), _method] if _method == "bilinear" else None)
case("resample", args=[normal(4, 1, 5), (3, 3)], ref=np_resize, function="image.resize", rel=2e-6)
case("gather", args=[SMALL, (7, 4), "nearest"], ref=np_resize, function="image.resize",
     dtypes=MOVABLE)
case("gather", args=[TALL, (4, 9), "nearest"], ref=np_resize, function="image.resize")

PADS = [[0, 0], [1, 2], [0, 1], [0, 0]]
case("extract_patches", args=[SMALL, 2, 1, 1, "VALID"], ref=np_patches, dtypes=MOVABLE,
     function="image.extract_patches", large=[LARGE, 3, 2, 1, "SAME"])
case("extract_patches", args=[SMALL, (3, 2), (2, 1), (1, 3), "SAME"], ref=np_patches,
     function="image.extract_patches")
case("extract_patches", args=[SMALL, 3, 2, 1, PADS], ref=np_patches,
     function="image.extract_patches")
case("extract_patches", args=[normal(1, 3, 4, 5, 2), 2, (1, 2, 3), 1, "SAME"], ref=np_patches,
     function="image.extract_patches")
case("extract_patches_grad", args=[normal(2, 9, 7, 3), (2, 3), (2, 1), (3, 2), "SAME"],
     ref=np_patches, function="image.extract_patches", name="extract_patches_grad(derivative)")

for _name, _ref in [("flip_left_right", lambda x: x[..., ::-1, :]),
                    ("flip_up_down", lambda x: x[..., ::-1, :, :])]:
    case("strided_slice", args=[SMALL], ref=_ref, function=f"image.{_name}", dtypes=MOVABLE)
case("transpose", args=[SMALL], ref=lambda x: np.swapaxes(x, -3, -2), function="image.transpose",
     dtypes=MOVABLE)
for _k in (1, 2, 3, 4):
    case("strided_slice", args=[normal(3, 4, 2), _k], ref=np.rot90, function="image.rot90",
         dtypes=MOVABLE if _k == 1 else FLOATS)
