"""Functions of real numbers raise an error for complex tensors that names the function, the dtype
and df.math.real; none drops an imaginary part."""

import warnings

import numpy as np
import pytest

import dualflow as df
from dualflow.errors import DTypeError

Z = df.constant([1 + 2j, 3 - 4j], df.complex64)
IMAGE = df.ones([1, 2, 2, 3], df.complex64)
REAL = {
    "relu": lambda: df.nn.relu(Z),
    "softmax": lambda: df.nn.softmax(Z),
    "argmax": lambda: df.argmax(Z),
    "reduce_max": lambda: df.reduce_max(Z),
    "maximum": lambda: df.maximum(Z, 1),
    "less": lambda: Z < 1,
    "sort": lambda: df.sort(Z),
    "top_k": lambda: df.math.top_k(Z),
    "floor": lambda: df.floor(Z),
    "round": lambda: round(Z, 2),
    "floordiv": lambda: Z // 2,
    "clip_by_value": lambda: df.clip_by_value(Z, 0, 1),
    "bitwise_and": lambda: df.bitwise.bitwise_and(Z, Z),
    "tensor_scatter_nd_max": lambda: df.tensor_scatter_nd_max(Z, [[0]], Z[:1]),
    "segment_min": lambda: df.math.segment_min(Z, [0, 0]),
    "softmax_cross_entropy": lambda: df.nn.softmax_cross_entropy_with_logits(Z, Z),
    "l2_loss": lambda: df.nn.l2_loss(Z),
    "compute_average_loss": lambda: df.nn.compute_average_loss(Z),
    "scale_regularization_loss": lambda: df.nn.scale_regularization_loss(Z),
    "max_pool": lambda: df.nn.max_pool2d(IMAGE, 2, 1, "SAME"),
    "resize": lambda: df.image.resize(IMAGE, [3, 3]),
    "adjust_brightness": lambda: df.image.adjust_brightness(IMAGE, 0.1),
    "per_image_standardization": lambda: df.image.per_image_standardization(IMAGE),
    "total_variation": lambda: df.image.total_variation(IMAGE),
    "kaiser_window": lambda: df.signal.kaiser_window(3, Z[0]),
    "crop_and_resize": lambda: df.image.crop_and_resize(
        df.ones([1, 2, 2, 1]), df.cast([[0, 0, 1, 1]], df.complex64), [0], [2, 2]),
    "adjust_hue": lambda: df.image.adjust_hue(df.ones([1, 1, 3]), Z[0]),
    "weighted_cross_entropy_with_logits": lambda: df.nn.weighted_cross_entropy_with_logits(
        [1., 1.], [0., 0.], Z),
    "constant": lambda: df.constant(Z, df.float32),
    "assign": lambda: df.Variable([1., 2.]).assign(Z),
    "random_gamma": lambda: df.random.gamma([1], alpha=Z),
}


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
def test_refused(name, traced):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DTypeError, match=rf"{name}: .*complex64.*df\.math\.real"):
            (df.function(REAL[name]) if traced else REAL[name])()


def test_dtypes_of_random_numbers():
    with pytest.raises(DTypeError, match=r"random_uniform: dtype is complex64"):
        df.random.uniform([2], dtype=df.complex64)


def test_real_arguments_have_no_hint():
    with pytest.raises(DTypeError) as error:
        df.math.conj(df.constant(True)) if False else df.complex(1, 2)
    assert "math.real" not in str(error.value)


def test_means_of_segments_and_norms_are_of_complex_numbers():
    z = np.array([1 + 2j, 3 - 4j, 1j], "complex64")
    x = df.constant(z)
    np.testing.assert_allclose(df.math.segment_mean(x, [0, 0, 1]), [z[:2].mean(), z[2]])
    np.testing.assert_allclose(df.math.unsorted_segment_mean(x, [1, 1, 0], 2),
                               [z[2], z[:2].mean()])
    norm = np.linalg.norm(z)
    assert df.linalg.global_norm([x]).dtype is df.float32
    np.testing.assert_allclose(df.linalg.global_norm([x, x[:0]]), norm, rtol=1e-6)
    np.testing.assert_allclose(df.clip_by_norm(x, 1.), z / norm, rtol=1e-6)
    (y,), found = df.clip_by_global_norm([x], 1.)
    np.testing.assert_allclose(y, z / norm, rtol=1e-6)
    np.testing.assert_allclose(found, norm, rtol=1e-6)


def test_attributes_are_real():
    """A number that is an attribute of an op may be a tensor, of a real dtype."""
    with pytest.raises(DTypeError, match=r"leaky_relu: alpha is complex64.*df\.math\.real"):
        df.nn.leaky_relu([1.], Z[0])
    with pytest.raises(DTypeError, match=r"dropout: rate is complex64.*df\.math\.real"):
        df.nn.dropout([1.], Z[0])
