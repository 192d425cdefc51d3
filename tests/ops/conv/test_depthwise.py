"""Depthwise and separable convolutions of random sizes, on any number of threads, and invalid
arguments."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dualflow as df
from tests.ops import harness
from tests.ops.conv.convolution import backprop_filter, backprop_input
from tests.ops.conv.depthwise import depthwise, grouped
from tests.ops.conv.test_convolution import whole


@st.composite
def geometries(draw):
    def each(low, high):
        return [draw(st.integers(low, high)) for _ in range(2)]

    channels, outputs = draw(st.sampled_from([2, 3, 7, 16, 17, 67])), draw(st.integers(1, 3))
    size, kernel, strides, dilations = each(1, 14), each(1, 5), each(1, 3), each(1, 2)
    padding = draw(st.sampled_from(["SAME", "VALID", "explicit"]))
    if padding == "explicit":
        padding = [(0, 0), *zip(each(0, 6), each(0, 6), strict=True), (0, 0)]
    if padding != "SAME":
        added = [0, 0] if padding == "VALID" else [sum(p) for p in padding[1:-1]]
        size = [max(s, (k - 1) * d + 1 - a)
                for s, k, d, a in zip(size, kernel, dilations, added, strict=True)]
    return ((draw(st.integers(1, 3)), *size, channels), (*kernel, channels, outputs),
            {"strides": strides, "padding": padding, "dilations": dilations})


def results(x, w, g, kwargs):
    """Return a depthwise convolution and both its gradients."""
    x, w = df.constant(x), df.constant(w)
    with df.GradientTape() as tape:
        tape.watch([x, w])
        y = df.nn.depthwise_conv2d(x, w, **kwargs)
    return [y, *tape.gradient(y, [x, w], output_gradients=df.constant(g))]


def references(x, w, g, kwargs):
    return [depthwise(x, w, **kwargs), backprop_input(x.shape, grouped(w), g, **kwargs),
            backprop_filter(x, grouped(w).shape, g, **kwargs).reshape(w.shape)]


@given(geometries(), st.sampled_from(["float32", "float64"]))
@settings(max_examples=120, derandomize=True)
def test_random_sizes(sizes, dtype):
    x_shape, w_shape, kwargs = sizes
    rng = np.random.default_rng(0)
    x, w = whole(rng, *x_shape, dtype=dtype), whole(rng, *w_shape, dtype=dtype)
    g = whole(rng, *depthwise(x, w, **kwargs).shape, dtype=dtype)
    for got, want in zip(results(x, w, g, kwargs), references(x, w, g, kwargs), strict=True):
        assert got.dtype.name == dtype
        np.testing.assert_array_equal(got.numpy(), want)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel", [3, 5])
@pytest.mark.parametrize("channels", [3, 16, 17, 67])
def test_lines_of_all_widths(channels, kernel, dtype):
    """Three and five taps have kernels that share sources between neighbouring results."""
    rng = np.random.default_rng(1)
    w = whole(rng, kernel, kernel, channels, 1, dtype=dtype)
    for width in range(1, 22):
        x = whole(rng, 1, 4, width, channels, dtype=dtype)
        for pads in ((kernel // 2, kernel // 2), (kernel - 1, 1), (0, kernel - 1)):
            if width + sum(pads) < kernel:
                continue
            kwargs = {"strides": 1, "padding": [(0, 0), (2, 2), pads, (0, 0)]}
            g = whole(rng, *depthwise(x, w, **kwargs).shape, dtype=dtype)
            for got, want in zip(results(x, w, g, kwargs), references(x, w, g, kwargs),
                                 strict=True):
                np.testing.assert_array_equal(got.numpy(), want)


@pytest.mark.parametrize("x_shape, w_shape, kwargs", [
    ((9, 14, 14, 72), (5, 5, 72, 1), {"strides": 1, "padding": "SAME"}),
    ((9, 28, 28, 40), (3, 3, 40, 1), {"strides": 1, "padding": "SAME"}),
    ((9, 21, 20, 33), (5, 4, 33, 2), {"strides": 2, "padding": "SAME"}),
    ((2, 3, 900, 6), (2, 7, 6, 3), {"strides": [1, 3], "padding": "VALID", "dilations": [1, 2]}),
])
def test_threads_give_the_same_bits(x_shape, w_shape, kwargs):
    rng = np.random.default_rng(1)
    x, w = rng.standard_normal(x_shape, "float32"), rng.standard_normal(w_shape, "float32")
    g = rng.standard_normal(df.nn.depthwise_conv2d(x, w, **kwargs).shape, "float32")
    bits = []
    for n in (1, 2, 3, 8):
        with harness.threads(n):
            bits.append([y.numpy().tobytes() for y in results(x, w, g, kwargs)])
    assert all(b == bits[0] for b in bits)
    wide = [a.astype("float64") for a in (x, w, g)]
    for got, want in zip(results(x, w, g, kwargs), references(*wide, kwargs), strict=True):
        # Blocked sum of n products: errors grow as the square root of n, up to 10^4 here.
        np.testing.assert_allclose(got.numpy(), want, rtol=0, atol=4e-6 * np.abs(want).max())


def test_groups_of_one_channel_in_any_rank():
    rng = np.random.default_rng(2)
    x, w = whole(rng, 2, 40, 8), whole(rng, 3, 8, 1)
    line = df.nn.conv1d(x, np.moveaxis(w, -2, -1), 1, "SAME")
    image = df.nn.depthwise_conv2d(x[:, None], w[None], 1, "SAME")
    assert line.tolist() == image[:, 0].tolist()
    volume = df.nn.conv3d(np.stack([x, x], 1)[:, :, None], np.ones((2, 1, 1, 1, 8), "f4"), 1,
                          "VALID")
    np.testing.assert_array_equal(volume[:, 0, 0].numpy(), 2 * x)


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_unknown_batch_and_sizes(data_format):
    rng = np.random.default_rng(3)
    w, mix = df.Variable(whole(rng, 3, 3, 2, 2)), df.Variable(whole(rng, 1, 1, 4, 3))

    def step(x):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = df.nn.separable_conv2d(x, w, mix, [2, 2], "SAME", data_format)
            loss = df.reduce_sum(y * y)
        return [y, *tape.gradient(loss, [x, w, mix])]

    shape = [None, None, None, 2] if data_format == "NHWC" else [None, 2, None, None]
    traced = df.function(step, input_signature=[df.TensorSpec(shape, df.float32)])
    for n, h in ((1, 5), (4, 8), (0, 3)):
        x = df.constant(whole(rng, n, *[h if d is None else d for d in shape[1:]]))
        for got, want in zip(traced(x), step(x), strict=True):
            assert got.numpy().tobytes() == want.numpy().tobytes()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_reduced_precision_is_summed_in_float32(dtype):
    rng = np.random.default_rng(4)
    x, w = (df.cast(rng.standard_normal(s), dtype) for s in ((2, 6, 6, 20), (5, 5, 20, 1)))
    got = df.nn.depthwise_conv2d(x, w, 1, "SAME")
    wide = df.nn.depthwise_conv2d(df.cast(x, df.float32), df.cast(w, df.float32), 1, "SAME")
    assert got.dtype.name == dtype
    assert df.cast(got, df.float32).tolist() == df.cast(df.cast(wide, dtype), df.float32).tolist()


X, W, G = np.ones((2, 5, 6, 4), "f4"), np.ones((3, 3, 4, 2), "f4"), np.ones((2, 5, 6, 8), "f4")


@pytest.mark.parametrize("call, error, words", [
    (lambda: df.nn.depthwise_conv2d(X, W[:, :, :2], 1, "SAME"), ValueError,
     ["depthwise_conv2d", "(2, 5, 6, 4)", "(3, 3, 2, 2)", "each of 4 channels"]),
    (lambda: df.nn.depthwise_conv2d(X, W, [1, 0, 1, 1], "SAME"), ValueError,
     ["depthwise_conv2d", "strides is [1, 0, 1, 1]"]),
    (lambda: df.nn.depthwise_conv2d(X[0], W, 1, "SAME"), ValueError, ["(5, 6, 4)", "4 dim"]),
    (lambda: df.nn.depthwise_conv2d(X, W[0], 1, "SAME"), ValueError, ["(3, 4, 2)", "height"]),
    (lambda: df.nn.depthwise_conv2d(X[:, :2], W, 1, "VALID"), ValueError, ["fits"]),
    (lambda: df.nn.depthwise_conv2d_backprop_input((2, 5, 6, 3), W, G, 1, "SAME"), ValueError,
     ["depthwise_conv2d_backprop_input", "(2, 5, 6, 3)", "(3, 3, 4, 2)"]),
    (lambda: df.nn.depthwise_conv2d_backprop_filter(X, (3, 3, 4), G, 1, "SAME"), ValueError,
     ["filter_sizes is (3, 3, 4)", "4 sizes"]),
    (lambda: df.nn.depthwise_conv2d_backprop_filter(X, (3, 3, 4, 3), G, 1, "SAME"), ValueError,
     ["(2, 5, 6, 8)"]),
    (lambda: df.nn.separable_conv2d(X, W, np.ones((1, 1, 4, 3), "f4"), 1, "SAME"), ValueError,
     ["separable_conv2d", "(3, 3, 4, 2)", "(1, 1, 4, 3)", "channels * n"]),
    (lambda: df.nn.separable_conv2d(X, W, np.ones((3, 1, 8, 3), "f4"), 1, "SAME"), ValueError,
     ["(3, 1, 8, 3)"]),
])
def test_bad_input(call, error, words):
    with pytest.raises(error) as info:
        call()
    for word in words:
        assert word in str(info.value), str(info.value)
