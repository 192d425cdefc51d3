"""Convolutions of random sizes, on any number of threads, traced, and invalid arguments."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dualflow as df
from dualflow import _core
from tests.ops import harness
from tests.ops.conv.convolution import backprop_filter, backprop_input, convolution

CHANNELS = (1, 2, 3, 7, 13, 16, 17, 31, 48, 67)
PADDING = st.sampled_from(["SAME", "VALID", "explicit"])


def whole(rng, *shape, dtype="float32"):
    """Return small integers, whose products and sums are exact in any order."""
    return rng.integers(-3, 4, shape).astype(dtype)


@st.composite
def geometries(draw):
    n = draw(st.integers(1, 3))

    def each(low, high):
        return [draw(st.integers(low, high)) for _ in range(n)]

    groups = draw(st.sampled_from([1, 1, 2, 3]))
    channels, outputs = (draw(st.sampled_from(CHANNELS)) for _ in range(2))
    batch, size, kernel = draw(st.integers(1, 3)), each(1, 9), each(1, 4)
    strides, dilations, padding = each(1, 3), each(1, 2), draw(PADDING)
    if padding == "explicit":
        padding = [(0, 0), *zip(each(0, 4), each(0, 4), strict=True), (0, 0)]
    if padding != "SAME":
        added = [0] * n if padding == "VALID" else [sum(p) for p in padding[1:-1]]
        size = [max(s, (k - 1) * d + 1 - a)
                for s, k, d, a in zip(size, kernel, dilations, added, strict=True)]
    return ((batch, *size, channels * groups), (*kernel, channels, outputs * groups),
            {"strides": strides, "padding": padding, "dilations": dilations})


def results(x, w, g, kwargs):
    """Return a convolution and both its gradients."""
    x, w = df.constant(x), df.constant(w)
    with df.GradientTape() as tape:
        tape.watch([x, w])
        y = df.nn.convolution(x, w, **kwargs)
    return [y, *tape.gradient(y, [x, w], output_gradients=df.constant(g))]


def references(x, w, g, kwargs):
    return [convolution(x, w, **kwargs), backprop_input(x.shape, w, g, **kwargs),
            backprop_filter(x, w.shape, g, **kwargs)]


@given(geometries(), st.sampled_from(["float32", "float64"]), st.booleans())
@settings(max_examples=150, derandomize=True)
def test_random_sizes(sizes, dtype, first):
    x_shape, w_shape, kwargs = sizes
    rng = np.random.default_rng(0)
    x, w = whole(rng, *x_shape, dtype=dtype), whole(rng, *w_shape, dtype=dtype)
    g = whole(rng, *convolution(x, w, **kwargs).shape, dtype=dtype)
    for got, want in zip(results(x, w, g, kwargs), references(x, w, g, kwargs), strict=True):
        assert got.dtype.name == dtype
        np.testing.assert_array_equal(got.numpy(), want)
    if first:
        padding = kwargs["padding"]
        if not isinstance(padding, str):
            kwargs["padding"] = [padding[0], padding[-1], *padding[1:-1]]
        got = df.nn.convolution(np.ascontiguousarray(np.moveaxis(x, -1, 1)), w,
                                data_format=["NCW", "NCHW", "NCDHW"][len(w_shape) - 3], **kwargs)
        np.testing.assert_array_equal(np.moveaxis(got.numpy(), 1, -1),
                                      results(x, w, g, sizes[2] | {"padding": padding})[0].numpy())


# Each takes another path through the kernels, in several jobs, and beyond one pass or slice.
LARGE = [
    ((9, 14, 15, 3), (5, 5, 3, 40), {"padding": "SAME"}),
    ((3, 30, 31, 3), (7, 7, 3, 64), {"padding": "SAME", "strides": 2}),
    ((5, 28, 28, 1), (5, 5, 1, 32), {"padding": "SAME"}),
    ((2, 9, 9, 130), (3, 3, 130, 150), {"padding": "SAME"}),
    ((40, 6, 6, 64), (1, 1, 64, 33), {"padding": "VALID"}),
    ((1, 7, 7, 130), (1, 1, 130, 112), {"padding": "VALID"}),
    ((40, 7, 7, 20), (1, 1, 20, 33), {"padding": "VALID", "strides": 2}),
    ((3, 20, 20, 24), (3, 3, 6, 32), {"padding": "SAME", "dilations": 2}),
    ((2, 2000, 5), (9, 5, 20), {"padding": "SAME"}),
    ((2, 900, 1, 3), (3, 1, 3, 8), {"padding": "SAME"}),
    ((2, 8, 9, 10, 5), (3, 3, 3, 5, 20), {"padding": "SAME"}),
]


@pytest.mark.parametrize("kernel, stride", [((1, 3), 2), ((2, 2), 3), ((3, 3), 5), ((3, 1), 9)])
def test_elements_between_windows_have_no_gradient(kernel, stride):
    """Of images that are large enough to be divided into bands."""
    x, w = np.zeros((1, 60, 50, 32), "f4"), np.ones((*kernel, 32, 32), "f4")
    kwargs = {"strides": stride, "padding": "VALID"}
    g = np.ones(convolution(x, w, **kwargs).shape, "f4")
    want = backprop_input(x.shape, w, g, **kwargs)
    for _ in range(3):  # scratch memory with results of earlier calls
        np.testing.assert_array_equal(results(x, w, g, kwargs)[1].numpy(), want)


@pytest.mark.parametrize("x_shape, w_shape, kwargs", LARGE)
def test_threads_give_the_same_bits(x_shape, w_shape, kwargs):
    rng = np.random.default_rng(1)
    x, w = rng.standard_normal(x_shape, "float32"), rng.standard_normal(w_shape, "float32")
    shape = df.nn.convolution(x, w, **kwargs).shape
    g = rng.standard_normal(shape, "float32")
    bits = []
    for n in (1, 2, 3, 8):
        with harness.threads(n):
            bits.append([y.numpy().tobytes() for y in results(x, w, g, kwargs)])
    assert all(b == bits[0] for b in bits)
    wide = [a.astype("float64") for a in (x, w, g)]
    for got, want in zip(results(x, w, g, kwargs), references(*wide, kwargs), strict=True):
        # Blocked sum of n products: errors grow as the square root of n, up to 10^4 here.
        np.testing.assert_allclose(got.numpy(), want, rtol=0, atol=4e-6 * np.abs(want).max())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_reduced_precision_is_summed_in_float32(dtype):
    rng = np.random.default_rng(2)
    x, w = (df.cast(rng.standard_normal(s), dtype) for s in ((2, 6, 6, 40), (3, 3, 40, 5)))
    got = df.nn.conv2d(x, w, 1, "SAME")
    wide = df.nn.conv2d(df.cast(x, df.float32), df.cast(w, df.float32), 1, "SAME")
    assert got.dtype.name == dtype
    assert df.cast(got, df.float32).tolist() == df.cast(df.cast(wide, dtype), df.float32).tolist()


def test_batch_dimensions():
    rng = np.random.default_rng(3)
    x, w = whole(rng, 2, 3, 6, 5, 4), whole(rng, 3, 2, 4, 7)
    want = convolution(x.reshape(6, 6, 5, 4), w, 1, "SAME").reshape(2, 3, 6, 5, 7)
    np.testing.assert_array_equal(df.nn.conv2d(x, w, 1, "SAME").numpy(), want)
    assert df.nn.conv1d(np.ones((2, 3, 0, 5, 2), "f4"), w[0, :, :2], 1, "VALID").shape == (
        2, 3, 0, 4, 7)


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_unknown_batch_and_sizes(data_format):
    rng = np.random.default_rng(4)
    w = df.Variable(whole(rng, 3, 3, 2, 4))

    def step(x):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = df.nn.conv2d(x, w, 2, "SAME", data_format)
            up = df.nn.conv2d_transpose(y, w, x.shape, 2, "SAME", data_format)
            loss = df.reduce_sum(up * up * x)
        return [y, up, *tape.gradient(loss, [x, w])]

    shape = [None, None, None, 2] if data_format == "NHWC" else [None, 2, None, None]
    traced = df.function(step, input_signature=[df.TensorSpec(shape, df.float32)])
    for n, h in ((1, 5), (4, 8), (0, 3)):
        x = whole(rng, *[{None: h}.get(d, d) for d in shape])[:n]
        x = df.constant(np.resize(x, (n, *x.shape[1:])))
        for got, want in zip(traced(x), step(x), strict=True):
            assert got.numpy().tobytes() == want.numpy().tobytes()


def test_tensorflow_names():
    rng = np.random.default_rng(5)
    x, w = whole(rng, 2, 7, 7, 3), whole(rng, 2, 2, 3, 4)
    dilated = df.nn.atrous_conv2d(x, w, 3, "VALID")
    np.testing.assert_array_equal(dilated.numpy(), convolution(x, w, 1, "VALID", 3))
    back = df.nn.atrous_conv2d_transpose(dilated, w, x.shape, 3, "VALID")
    np.testing.assert_array_equal(back.numpy(), backprop_input(x.shape, w, dilated.numpy(), 1,
                                                               "VALID", 3))
    same = df.nn.conv_transpose(dilated, w, x.shape, 1, "VALID", dilations=3)
    assert same.tolist() == back.tolist()


X, W, G = np.ones((2, 5, 6, 4), "f4"), np.ones((3, 3, 4, 6), "f4"), np.ones((2, 5, 6, 6), "f4")
CALLS = {"conv": ((X, W), {}), "conv_backprop_input": ((W, G), {"shape": X.shape}),
         "conv_backprop_filter": ((X, G), {"shape": W.shape})}


@pytest.mark.parametrize("call, error, words", [
    (lambda: df.nn.conv2d(X[:, :2], W, 1, "VALID"), ValueError,
     ["conv", "(2, 2, 6, 4)", "(3, 3, 4, 6)", "dimension 1", "3 wide", "image 2", "fits"]),
    (lambda: df.nn.conv2d(X, W, 1, "VALID", dilations=3), ValueError, ["dilation 3", "7 wide"]),
    (lambda: df.nn.conv2d(X, W, 0, "SAME"), ValueError, ["conv2d", "strides is 0"]),
    (lambda: df.nn.conv2d(X, W, [1, 1, 1, 2], "SAME"), ValueError, ["strides", "channels"]),
    (lambda: df.nn.conv2d(X, W, [1, 2, 3], "SAME"), ValueError, ["strides is [1, 2, 3]"]),
    (lambda: df.nn.conv2d(X, W, 1, "SAME", dilations=-1), ValueError, ["dilations is -1"]),
    (lambda: df.nn.conv2d(X, W, "a", "SAME"), TypeError, ["strides", "'a'"]),
    (lambda: df.nn.conv2d(X, W[:, :, :3], 1, "SAME"), ValueError,
     ["conv", "(2, 5, 6, 4)", "(3, 3, 3, 6)", "multiple"]),
    (lambda: df.nn.conv2d(X, W[:, :, :1], 1, "SAME"), ValueError, ["(3, 3, 1, 6)", "groups"]),
    (lambda: df.nn.conv2d(X[..., :0], W, 1, "SAME"), ValueError, ["(2, 5, 6, 0)"]),
    (lambda: df.nn.conv2d(X, W[:, :, :0], 1, "SAME"), ValueError, ["(3, 3, 0, 6)"]),
    (lambda: df.nn.conv2d(X, W[:0], 1, "SAME"), ValueError, ["(0, 3, 4, 6)", "1 or more"]),
    (lambda: df.nn.conv2d(X[0], W, 1, "SAME"), ValueError, ["conv2d", "(5, 6, 4)", "4 or more"]),
    (lambda: df.nn.conv3d(X, W, 1, "SAME"), ValueError, ["conv3d", "(3, 3, 4, 6)"]),
    (lambda: df.nn.conv2d(X, W, 1, "FULL"), ValueError, ["padding is 'FULL'"]),
    (lambda: df.nn.conv2d(X, W, 1, [[1, 1], [1, 1]]), ValueError, ["padding", "4 dimensions"]),
    (lambda: df.nn.conv2d(X, W, 1, [[0, 0], [1, -1], [1, 1], [0, 0]]), ValueError, ["padding"]),
    (lambda: df.nn.conv2d(X, W, 1, [[0, 0], [1, 1], [1, 1], [1, 0]]), ValueError, ["channels"]),
    (lambda: df.nn.conv2d(X, W, 1, "SAME", "NWC"), ValueError, ["data_format is 'NWC'"]),
    (lambda: df.nn.conv2d(X.astype(int), W.astype(int), 1, "SAME"), TypeError, ["conv", "int"]),
    (lambda: df.nn.convolution(X, W[0, 0]), ValueError, ["convolution", "(4, 6)"]),
    (lambda: df.nn.conv2d_transpose(G, W, X.shape[1:], 1), ValueError,
     ["conv2d_transpose", "output_shape is (5, 6, 4)"]),
    (lambda: df.nn.conv2d_transpose(G, W, (2, 6, 6, 4), 1), ValueError,
     ["conv2d_transpose", "(2, 6, 6, 4)", "(2, 5, 6, 6)"]),
    (lambda: df.nn.conv2d_transpose(G, W, (2, 5, 6, -4), 1), ValueError, ["-4"]),
    (lambda: df.nn.conv2d_backprop_filter(X, (3, 3, 4, 5), G, 1, "SAME"), ValueError,
     ["conv2d_backprop_filter", "(3, 3, 4, 5)"]),
])
def test_bad_input(call, error, words):
    with pytest.raises(error) as info:
        call()
    for word in words:
        assert word in str(info.value), str(info.value)


@pytest.mark.parametrize("op", ["conv", "conv_backprop_input", "conv_backprop_filter"])
@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("name", ["strides", "dilations", "pads"])
def test_attributes_of_minus_one_are_no_unknown_sizes(name, same, op):
    attrs = {"strides": [1, 1], "dilations": [1, 1], "same": same, "exact": True,
             "pads": [] if same else [1, 1, 1, 1]}
    attrs[name] = [-1, *attrs[name][1:]]
    inputs, shape = CALLS[op]
    with pytest.raises(ValueError, match=rf"{op}: {name} has -1 .* expected \d values"):
        _core.apply(op, *inputs, **shape, **attrs)


NUMBERS = st.sampled_from([0, 1, 2, 3, 7, -1, -2, 2**31, 2**32 - 1, 2**62, 2**63 - 1, -2**63])


@given(st.sampled_from(["conv", "conv_backprop_input", "conv_backprop_filter"]), st.data())
@settings(max_examples=300, derandomize=True)
def test_random_attributes_do_not_crash(op, data):
    """Random integers as attributes give a result or an error, without a crash or size overflow."""
    def numbers(n):
        if data.draw(st.booleans()):
            return data.draw(st.lists(st.sampled_from([1, 2]), min_size=n, max_size=n))
        return data.draw(st.lists(NUMBERS, min_size=n, max_size=n + (data.draw(NUMBERS) == 7)))

    attrs = {"strides": numbers(2), "dilations": numbers(2), "same": data.draw(st.booleans()),
             "pads": numbers(data.draw(st.sampled_from([0, 4]))), "exact": data.draw(st.booleans())}
    if op != "conv":
        near = st.sampled_from([(2, 5, 6, 4), (3, 3, 4, 6), (1, 1, 4, 6), (2, 5, 6, 2**60)])
        attrs["shape"] = list(data.draw(near)) if data.draw(st.booleans()) else numbers(4)
    inputs, _ = CALLS[op]
    try:
        y = _core.apply(op, *inputs, **attrs)
    except (ValueError, OverflowError, MemoryError, TypeError):
        return
    assert y.size <= 10**7


@pytest.mark.parametrize("x_shape, w_shape, strides", [
    ((64, 63, 3), (7, 5, 3, 32), 2), ((75, 40, 2), (5, 5, 1, 34), 3),
    ((20, 17, 18, 2), (3, 4, 3, 2, 32), 2), ((3, 40, 40, 3), (3, 5, 5, 3, 32), 2)])
def test_gradient_of_one_image_equals_the_gradient_in_a_batch(x_shape, w_shape, strides):
    """A single image is split into bands for the threads."""
    rng = np.random.default_rng(5)
    x, w = (df.constant(rng.standard_normal(s, "float32")) for s in ((9, *x_shape), w_shape))

    def flow(x, g):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = df.nn.convolution(x, w, strides, "VALID" if x_shape[0] == 64 else "SAME")
        return tape.gradient(y, x, output_gradients=g(y.shape))

    g = rng.standard_normal((9, 40000), "float32")
    all_at_once = flow(x, lambda shape: g[:, :np.prod(shape[1:])].reshape(shape))
    bits = set()
    for threads in (1, 2, 3, 8):
        with harness.threads(threads):
            one = flow(x[8:], lambda shape: g[8, :np.prod(shape[1:])].reshape(shape))
        np.testing.assert_allclose(one.numpy()[0], all_at_once.numpy()[8], rtol=0, atol=3e-5)
        bits.add(one.numpy().tobytes())
    assert len(bits) == 1


def at_far_dilations(x, w, stride, dilation):
    """SAME convolution of one dimension by its definition, and its gradients for ones."""
    size, kernel = x.shape[1], w.shape[0]
    n = -(-size // stride)
    before = max((n - 1) * stride + (kernel - 1) * dilation + 1 - size, 0) // 2
    y, dx, dw = np.zeros((1, n, w.shape[2])), np.zeros(x.shape), np.zeros(w.shape)
    for o in range(n):
        for t in range(kernel):
            at = o * stride + t * dilation - before
            if 0 <= at < size:
                y[0, o] += x[0, at] @ w[t]
                dx[0, at] += w[t].sum(1)
                dw[t] += x[0, at][:, None]
    return y, dx, dw


@pytest.mark.parametrize("dilation", [3, 9, 10, 17, 18, 19, 20, 40, 2**32 + 1, 2**40, 2**60])
@pytest.mark.parametrize("kernel, stride", [(1, 1), (2, 1), (3, 1), (3, 2), (4, 3), (4, 20)])
def test_dilations_beyond_the_image(dilation, kernel, stride):
    """Memory and time depend on the image, not on a dilation that leads outside."""
    rng = np.random.default_rng(3)
    for size in (1, 2, 9):
        x = rng.integers(-4, 5, (1, size, 2)).astype("float32")
        w = rng.integers(-4, 5, (kernel, 2, 3)).astype("float32")
        with df.GradientTape() as tape:
            one, by = df.constant(x), df.constant(w)
            tape.watch((one, by))
            y = df.nn.conv1d(one, by, stride, "SAME", dilations=dilation)
        got = (y, *tape.gradient(y, (one, by)))
        for value, expected in zip(got, at_far_dilations(x, w, stride, dilation), strict=True):
            assert value.numpy().tolist() == expected.tolist()


@pytest.mark.parametrize("far", [10**4, 2**32 + 1, 2**58])
def test_dilations_beyond_two_dimensions(far):
    x, w = df.reshape(df.range(36.0), (1, 3, 3, 4)), df.ones((3, 3, 4, 2))
    each = df.ones((3, 3, 4, 2))
    for call, filters in ((df.nn.conv2d, w), (df.nn.depthwise_conv2d, each)):
        strides = 1 if call is df.nn.conv2d else [1, 1, 1, 1]
        with df.GradientTape() as tape:
            tape.watch((x, filters))
            y = call(x, filters, strides, "SAME", dilations=[far, far])
        dx, dw = tape.gradient(y, (x, filters))
        centre = call(x, filters[1:2, 1:2], strides, "SAME")
        assert y.numpy().tolist() == centre.numpy().tolist()
        assert (dx.numpy() == 2).all()
        assert dw.numpy().sum() == dw[1, 1].numpy().sum() == 2 * x.numpy().sum()


def test_strides_beyond_the_image():
    far = 2**40
    y = df.nn.conv1d(df.reshape(df.range(1.0, 6.0), (1, 5, 1)), df.ones((3, 1, 1)), far,
                     [[0, 0], [far, far], [0, 0]])
    assert y.numpy().ravel().tolist() == [0, 1 + 2 + 3, 0]
