"""Depthwise and separable convolutions: the number of groups is the number of channels."""

import numpy as np

from tests.ops.case import case, normal
from tests.ops.conv.convolution import (
    backprop_filter,
    backprop_input,
    channels_first,
    convolution,
)


def grouped(w):
    return w.reshape(*w.shape[:2], 1, w.shape[2] * w.shape[3])


def depthwise(x, w, **kwargs):
    return convolution(x, grouped(w), **kwargs)


def separable(x, w, mix, **kwargs):
    return np.einsum("bijc,cm->bijm", depthwise(x, w, **kwargs), mix[0, 0])


def row(x, w, ref=depthwise, large=None, **kwargs):
    # Error of a sum of k products, relative to the largest: k * 2^-24, with a margin for
    # cancellation.
    case("conv", args=[normal(*x), normal(*w)], ref=ref, function="nn.depthwise_conv2d", rel=1e-5,
         grad=(0, 1), edges=False, signed_zero=False, large=large, kwargs=kwargs)


row((2, 6, 5, 3), (3, 3, 3, 1), strides=1, padding="SAME",
    large=[normal(9, 30, 31, 37), normal(3, 3, 37, 1)])
row((1, 6, 7, 4), (3, 2, 4, 3), strides=2, padding="VALID")
row((1, 7, 8, 17), (2, 3, 17, 2), strides=[2, 3], padding="SAME")
row((1, 9, 8, 2), (3, 3, 2, 1), strides=1, padding="SAME", dilations=[2, 3])
row((1, 9, 12, 2), (3, 4, 2, 1), strides=[2, 3], padding="VALID", dilations=2)
row((1, 4, 3, 5), (2, 2, 5, 1), strides=1, padding=[[0, 0], [3, 0], [1, 4], [0, 0]])
row((2, 1, 1, 3), (3, 3, 3, 2), strides=1, padding="SAME")
row((2, 5, 5, 1), (3, 3, 1, 4), strides=1, padding="VALID")
row((0, 5, 5, 3), (3, 3, 3, 2), strides=1, padding="SAME")
row((1, 3, 5, 6), (2, 2, 3, 2), strides=[1, 1, 1, 2], padding="SAME", data_format="NCHW",
    ref=channels_first(depthwise, 0))


def gradients(x, w, y, **kwargs):
    """Add rows of both gradients of a convolution of these shapes."""
    shared = {"rel": 1e-5, "edges": False, "signed_zero": False, "kwargs": kwargs}
    case("conv_backprop_input", args=[x, normal(*w), normal(*y)], grad=(1, 2),
         ref=lambda _, w, g, **kwargs: backprop_input(x, grouped(w), g, **kwargs),
         function="nn.depthwise_conv2d_backprop_input", **shared)
    case("conv_backprop_filter", args=[normal(*x), w, normal(*y)], grad=(0, 2),
         ref=lambda x, _, g, **kwargs: backprop_filter(
             x, (*w[:2], 1, w[2] * w[3]), g, **kwargs).reshape(w),
         function="nn.depthwise_conv2d_backprop_filter", **shared)


gradients((2, 5, 6, 3), (3, 3, 3, 2), (2, 5, 6, 6), strides=1, padding="SAME")
gradients((1, 8, 7, 2), (3, 2, 2, 1), (1, 3, 3, 2), strides=2, padding="VALID")

for first in (False, True):
    case("conv", args=[normal(*(2, 3, 5, 4) if first else (2, 5, 4, 3)), normal(3, 3, 3, 2),
                       normal(1, 1, 6, 5)],
         ref=channels_first(separable, 0) if first else lambda *args, data_format, **kwargs:
             separable(*args, **kwargs),
         function="nn.separable_conv2d", rel=1e-5, grad=(0, 1, 2), edges=False, signed_zero=False,
         kwargs={"strides": [1, 1, 2, 2] if first else 2, "padding": "SAME",
                 "data_format": "NCHW" if first else "NHWC"})
