"""Convolutions of complex numbers, composed of real ones."""

import numpy as np
import pytest

import dualflow as df
from dualflow.errors import DTypeError
from tests.ops import complex_checks as checks

REAL = "float64"


def convolve(x, w, stride=1):
    """Return the one-dimensional convolution without padding."""
    n = (x.shape[1] - w.shape[0]) // stride + 1
    return sum(np.einsum("bic,co->bio", x[:, k:k + (n - 1) * stride + 1:stride], w[k])
               for k in range(w.shape[0]))


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("kinds", [("complex128", "complex128"), ("complex128", REAL),
                                   (REAL, "complex128")])
def test_one_dimension(kinds, stride):
    x, w = checks.drawn(0, 2, 6, 4, dtype=kinds[0]), checks.drawn(1, 3, 4, 3, dtype=kinds[1])
    np.testing.assert_allclose(df.nn.conv1d(x, w, stride, "VALID"), convolve(x, w, stride),
                               rtol=1e-12, atol=1e-12)
    checks.check_gradients(lambda x, w: df.nn.conv1d(x, w, stride, "SAME"), x, w)


@pytest.mark.parametrize("f, shapes", [
    (lambda x, w: df.nn.conv1d(x, w, 1, "SAME"), ((1, 5, 4), (2, 2, 6))),       # two groups
    (lambda x, w: df.nn.conv1d(x, w, 1, "SAME", "NCW"), ((1, 3, 5), (2, 3, 2))),
    (lambda x, w: df.nn.conv1d(x, w, 1, "SAME"), ((2, 2, 5, 1), (2, 1, 2))),    # two batch sizes
    (lambda x, w: df.nn.conv2d(x, w, 1, "SAME", dilations=2), ((1, 4, 4, 2), (2, 2, 2, 2))),
    (lambda x, w: df.nn.conv3d(x, w, 1, "VALID"), ((1, 3, 3, 3, 1), (2, 2, 2, 1, 2)))])
def test_gradient(f, shapes):
    checks.check_gradients(f, *[checks.drawn(k, *shape) for k, shape in enumerate(shapes)])


def test_complex64_is_convolved_in_float32():
    x, w = checks.drawn(2, 2, 30, 5, dtype="complex64"), checks.drawn(3, 3, 5, 7, dtype="complex64")
    checks.near(df.nn.conv1d(x, w, 1, "VALID"), convolve(x.astype("complex128"), w), 16)


def test_refusals():
    x, w = df.constant(checks.drawn(4, 1, 4, 4, 2)), df.constant(checks.drawn(5, 2, 2, 2, 2))
    for name, f in (("depthwise_conv2d", lambda: df.nn.depthwise_conv2d(x, w, [1] * 4, "SAME")),
                    ("conv2d_transpose",
                     lambda: df.nn.conv2d_transpose(x, w, (1, 8, 8, 2), 2, "SAME")),
                    ("avg_pool", lambda: df.nn.avg_pool2d(x, 2, 2, "SAME"))):
        with pytest.raises(DTypeError, match=rf"{name}: .*complex128.*df\.math\.real"):
            f()
