"""Convolutions against naive sums over taps."""

import itertools

import numpy as np

from tests.ops.case import case, normal


def per_dimension(value, n):
    value = [1 if value is None else value] if np.ndim(value) == 0 else list(value)
    return (value * n if len(value) == 1 else value)[-n:]


def zeros_around(size, kernel, stride, dilation, padding, d):
    """Return the padding before and after spatial dimension `d`."""
    if padding == "VALID":
        return 0, 0
    if padding == "SAME":
        missing = max((-(-size // stride) - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
        return missing // 2, missing - missing // 2
    return padding[d + 1]


def windows(shape, kernel, strides, dilations, padding):
    """Return the padding, output sizes, and for each tap its slices of the padded input."""
    n = len(kernel)
    s, d = per_dimension(strides, n), per_dimension(dilations, n)
    pads = [zeros_around(shape[i], kernel[i], s[i], d[i], padding, i) for i in range(n)]
    out = [(shape[i] + sum(pads[i]) - (kernel[i] - 1) * d[i] - 1) // s[i] + 1 for i in range(n)]
    taps = [(tap, tuple(slice(t * d[i], t * d[i] + (out[i] - 1) * s[i] + 1, s[i])
                        for i, t in enumerate(tap)))
            for tap in itertools.product(*map(range, kernel))]
    return pads, out, taps


def grouped(x, w):
    """Return x and w with the channels of x and of w's outputs split by group."""
    groups = max(x.shape[-1] // max(w.shape[-2], 1), 1)
    return (x.reshape(*x.shape[:-1], groups, x.shape[-1] // groups),
            w.reshape(*w.shape[:-1], groups, w.shape[-1] // groups))


def convolution(x, w, strides=1, padding="VALID", dilations=None):
    kernel = w.shape[:-2]
    pads, out, taps = windows(x.shape[1:-1], kernel, strides, dilations, padding)
    x, w = grouped(np.pad(x, [(0, 0), *pads, (0, 0)]), w)
    y = np.zeros((x.shape[0], *out, *w.shape[-2:]), np.result_type(x, w))
    for tap, at in taps:
        y += np.einsum("b...gc,cgm->b...gm", x[(slice(None), *at)], w[tap])
    return y.reshape(*y.shape[:-2], y.shape[-2] * y.shape[-1])


def backprop_input(sizes, w, g, strides=1, padding="VALID", dilations=None):
    kernel = w.shape[:-2]
    pads, _, taps = windows(sizes[1:-1], kernel, strides, dilations, padding)
    x, w = grouped(np.pad(np.zeros(sizes), [(0, 0), *pads, (0, 0)]), w)
    g = g.reshape(*g.shape[:-1], *w.shape[-2:])
    for tap, at in taps:
        x[(slice(None), *at)] += np.einsum("b...gm,cgm->b...gc", g, w[tap])
    inside = tuple(slice(p[0], p[0] + n) for p, n in zip(pads, sizes[1:-1], strict=True))
    return x[(slice(None), *inside)].reshape(sizes)


def lines(x):
    """Return the pixels of all images as rows of one matrix."""
    return x.reshape(x.shape[0], int(np.prod(x.shape[1:-2])), *x.shape[-2:])


def backprop_filter(x, sizes, g, strides=1, padding="VALID", dilations=None):
    kernel = sizes[:-2]
    pads, _, taps = windows(x.shape[1:-1], kernel, strides, dilations, padding)
    x, w = grouped(np.pad(x, [(0, 0), *pads, (0, 0)]), np.zeros(sizes))
    g = g.reshape(*g.shape[:-1], *w.shape[-2:])
    for tap, at in taps:
        w[tap] = np.einsum("bngc,bngm->cgm", lines(x[(slice(None), *at)]), lines(g))
    return w.reshape(sizes)


def channels_first(reference, *layouts):
    """Return `reference` for arrays with channels in dimension 1, at the positions `layouts`."""
    def of_first(*args, data_format, **kwargs):
        args = [np.moveaxis(a, 1, -1) if k in layouts else a for k, a in enumerate(args)]
        return np.moveaxis(reference(*args, **kwargs), -1, 1)
    return of_first


def row(x, w, function="nn.convolution", ref=convolution, large=None, **kwargs):
    # Error of a sum of k products, relative to the largest: k * 2^-24, with a margin for
    # cancellation.
    case("conv", args=[normal(*x), normal(*w)], ref=ref, function=function, rel=1e-5, grad=(0, 1),
         edges=False, signed_zero=False, large=large, kwargs=kwargs)


row((2, 5, 5, 3), (3, 3, 3, 4), strides=1, padding="SAME", function="nn.conv2d",
    large=[normal(9, 30, 31, 5), normal(3, 3, 5, 70)])
row((1, 6, 7, 2), (3, 2, 2, 3), strides=2, padding="VALID", function="nn.conv2d")
row((2, 7, 6, 2), (3, 3, 2, 5), strides=[2, 3], padding="SAME")
row((1, 8, 7, 1), (3, 2, 1, 2), dilations=[2, 3], padding="SAME")
row((1, 4, 5, 3), (3, 3, 3, 2), dilations=[3, 4], padding="SAME")       # taps only in the padding
row((2, 4, 4, 6), (3, 3, 2, 9), padding="SAME")                                # 3 groups
row((2, 5, 4, 6), (2, 2, 1, 6), strides=2)                                     # depthwise
row((2, 3, 4, 17), (1, 1, 17, 5), strides=1, padding="VALID", function="nn.conv2d")
row((2, 5, 4, 3), (1, 1, 3, 5), strides=2)
row((1, 5, 4, 2), (2, 3, 2, 3), padding=[[0, 0], [3, 0], [1, 4], [0, 0]])    # larger than a window
row((1, 1, 1, 1), (1, 1, 1, 1))
row((1, 1, 1, 2), (3, 3, 2, 2), padding="SAME")
row((2, 4, 3, 20), (2, 2, 20, 35), padding="SAME")
row((2, 9, 3), (4, 3, 5), strides=2, padding="SAME")
row((2, 9, 3), (3, 3, 2), dilations=3)
row((1, 4, 3, 5, 2), (2, 3, 2, 2, 3), padding="SAME", strides=[1, 2, 2])
row((2, 3, 4, 4, 4), (2, 2, 3, 2, 6), dilations=[2, 1, 1])
row((2, 16, 18, 17), (3, 3, 17, 19), strides=1, padding="SAME", function="nn.conv2d")  # Winograd
row((0, 5, 5, 3), (3, 3, 3, 4))
row((2, 5, 5, 0), (3, 3, 0, 4))
row((2, 5, 5, 3), (3, 3, 3, 0))
row((2, 0, 5, 3), (3, 3, 3, 4), padding="SAME")
row((1, 3, 5, 6), (2, 2, 3, 4), strides=[1, 1, 1, 2], padding="SAME", data_format="NCHW",
    ref=channels_first(convolution, 0))
row((2, 3, 9), (2, 3, 4), data_format="NCW", ref=channels_first(convolution, 0))
row((1, 2, 3, 4, 3), (2, 2, 2, 2, 3), data_format="NCDHW", padding="SAME",
    ref=channels_first(convolution, 0))


def gradients(x, w, y, **kwargs):
    """Add rows of both gradients of a convolution of these shapes."""
    shared = {"rel": 1e-5, "edges": False, "signed_zero": False, "kwargs": kwargs}
    first = kwargs.get("data_format") == "NCHW"
    sizes = (x[0], *x[2:], x[1]) if first else x

    def of_input(_, w, g, **kwargs):
        return backprop_input(sizes, w, g, **kwargs)

    case("conv_backprop_input", args=[x, normal(*w), normal(*y)], grad=(1, 2),
         ref=channels_first(of_input, 2) if first else of_input,
         function="nn.conv2d_backprop_input", **shared)
    if not first:
        case("conv_backprop_filter", args=[normal(*x), w, normal(*y)], ref=backprop_filter,
             grad=(0, 2), function="nn.conv2d_backprop_filter", **shared)


gradients((2, 5, 5, 3), (3, 3, 3, 4), (2, 5, 5, 4), strides=1, padding="SAME")
gradients((2, 6, 5, 17), (3, 2, 17, 3), (2, 6, 5, 3), strides=1, padding="SAME")
gradients((2, 7, 7, 2), (3, 2, 2, 18), (2, 3, 4, 18), strides=2,
          padding=[[0, 0], [0, 0], [1, 0], [0, 0]])
gradients((1, 5, 6, 4), (2, 2, 2, 6), (1, 4, 3, 6), strides=[1, 2], padding="VALID")
gradients((2, 3, 3, 5), (1, 1, 5, 4), (2, 3, 3, 4), strides=1, padding="VALID")
gradients((2, 3, 5, 4), (2, 2, 3, 4), (2, 4, 3, 2), strides=[1, 1, 2, 2], padding="SAME",
          data_format="NCHW")
gradients((0, 5, 5, 3), (3, 3, 3, 4), (0, 3, 3, 4), strides=1, padding="VALID")


def transposed(x, w, shape, **kwargs):
    def reference(g, w, sizes, strides=1, padding="SAME", dilations=None):
        return backprop_input(sizes, w, g, strides, padding, dilations)

    name = f"nn.conv{len(w) - 2}d_transpose"
    case("conv_backprop_input", args=[normal(*x), normal(*w), shape], ref=reference, function=name,
         rel=1e-5, grad=(0, 1), edges=False, signed_zero=False, kwargs=kwargs)


transposed((2, 3, 5), (4, 2, 5), (2, 6, 2), strides=2)
transposed((2, 3, 4, 5), (3, 3, 2, 5), (2, 5, 8, 2), strides=2)
transposed((1, 2, 3, 2, 3), (2, 2, 2, 4, 3), (1, 3, 4, 3, 4), strides=1, padding="VALID")
