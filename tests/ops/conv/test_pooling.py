"""Pooling on random shapes against a naive reference, and invalid arguments."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dualflow as df
from dualflow import _core
from tests.ops import harness
from tests.ops.conv.pooling import np_pool

SPACE_LAST = {1: "NWC", 2: "NHWC", 3: "NDHWC"}
SPACE_FIRST = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


@st.composite
def pools(draw):
    """Draw arguments of `nn.pool`: odd sizes, images of one pixel, prime numbers of channels."""
    n = draw(st.integers(1, 3))
    sizes = [draw(st.sampled_from([1, 2, 3, 5, 7, 12][:9 - 2 * n])) for _ in range(n)]
    window = [draw(st.integers(1, 4)) for _ in range(n)]
    dilations = [draw(st.integers(1, 3)) for _ in range(n)]
    reaches = [(k - 1) * d + 1 for k, d in zip(window, dilations, strict=True)]
    padding = draw(st.sampled_from(["VALID", "SAME", "explicit"]))
    if padding == "explicit":
        padding = [[0, 0], *([draw(st.integers(0, r - 1)) for _ in "ba"] for r in reaches), [0, 0]]
    sizes = [max(m, r) for m, r in zip(sizes, reaches, strict=True)] if padding == "VALID" else [
        max(m, r if padding != "SAME" else 1, d) for m, r, d in zip(sizes, reaches, dilations,
                                                                   strict=True)]
    shape = [draw(st.sampled_from([0, 1, 2])), *sizes, draw(st.sampled_from([1, 3, 17, 37]))]
    return shape, {"window_shape": window, "strides": [draw(st.integers(1, 4)) for _ in range(n)],
                   "dilations": dilations, "padding": padding}


@settings(max_examples=60)
@given(pools(), st.sampled_from(["MAX", "AVG"]), st.booleans(), st.integers(0, 9))
def test_any_windows(given_pool, kind, channels_first, seed):
    """Check values, gradients, layouts, and equal bits for any thread count."""
    shape, args = given_pool
    n = len(shape) - 2
    x = np.random.default_rng(seed).normal(size=shape).astype("f4").round(1)
    want = np_pool(x.astype("f8"), pooling_type=kind, **args)
    data_format = SPACE_LAST[n]
    if channels_first:
        x, want, data_format = np.moveaxis(x, -1, 1), np.moveaxis(want, -1, 1), SPACE_FIRST[n]
        if not isinstance(args["padding"], str):
            args["padding"] = [[0, 0], [0, 0], *args["padding"][1:-1]]
    x = df.constant(np.ascontiguousarray(x))

    def both(threads):
        with harness.threads(threads), df.GradientTape() as tape:
            tape.watch(x)
            y = df.nn.pool(x, pooling_type=kind, data_format=data_format, **args)
            return y.numpy(), tape.gradient(y, x, output_gradients=df.cos(y)).numpy()

    y, dx = both(1)
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-6)
    assert dx.shape == tuple(x.shape)
    np.testing.assert_allclose(dx.sum(), np.cos(y.astype("f8")).sum(), rtol=1e-4, atol=1e-4)
    for threads in (2, 3, 8):
        again = both(threads)
        assert again[0].tobytes() == y.tobytes() and again[1].tobytes() == dx.tobytes()


def gradient(pool, x, g):
    with df.GradientTape() as tape:
        tape.watch(x)
        y = pool(x)
    return tape.gradient(y, x, output_gradients=df.constant(g))


def test_gradient_of_ties_goes_to_the_first_pixel():
    x = df.constant(np.array([[1, 3, 3, 3, 2, 3]], "f4")[:, :, None])
    dx = gradient(lambda x: df.nn.max_pool1d(x, 3, 1, "VALID"), x, np.array([[1, 2, 4, 8]],
                                                                           "f4")[:, :, None])
    assert dx.numpy().ravel().tolist() == [0, 3, 4, 8, 0, 0]


def test_second_order():
    """Some maxima are at the first pixel of their window."""
    x = df.constant(np.random.default_rng(0).normal(size=(2, 6, 8, 3)))

    def second(pool):
        with df.GradientTape() as outer:
            outer.watch(x)
            with df.GradientTape() as tape:
                tape.watch(x)
                y = df.reduce_sum(df.sin(pool(x)))
            z = df.reduce_sum(df.square(tape.gradient(y, x)))
        return outer.gradient(z, x).numpy()

    np.testing.assert_array_equal(
        second(lambda x: df.nn.max_pool2d(x, 2, 2, "VALID")),
        second(lambda x: df.reduce_max(df.reshape(x, [2, 3, 2, 4, 2, 3]), [2, 4])))


def test_gradients_are_summed_in_window_order():
    """A pixel is in many windows, whose gradients give this sum only in that order."""
    x = np.zeros((1, 9, 1), "f4")
    x[0, 4] = 1
    g = np.array([1e8, 1, -1e8, 1, 3], "f4")
    dx = gradient(lambda x: df.nn.max_pool1d(x, 5, 1, "VALID"), df.constant(x), g[None, :, None])
    want = np.float32(0)
    for each in g:
        want += each
    assert dx.numpy().ravel()[4] == want and np.count_nonzero(dx.numpy()) == 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_first_nan_is_the_maximum(dtype):
    x = np.arange(2 * 4 * 4 * 33, dtype=dtype).reshape(2, 4, 4, 33)
    x[0, 1, 0, 5] = x[0, 1, 1, 5] = x[1, 2, 3, 32] = np.nan
    y, at = df.nn.max_pool_with_argmax(x, 2, 2, "VALID")
    assert np.argwhere(np.isnan(y.numpy())).tolist() == [[0, 0, 0, 5], [1, 1, 1, 32]]
    assert at.numpy()[0, 0, 0, 5] == (1 * 4 + 0) * 33 + 5
    assert at.numpy()[1, 1, 1, 32] == (2 * 4 + 3) * 33 + 32
    lowest = np.full((1, 2, 2, 1), -np.inf, dtype)
    y, at = df.nn.max_pool_with_argmax(lowest, 2, 2, "VALID")
    assert (y.item(), at.item()) == (-np.inf, 0)


def test_window_without_a_pixel():
    """The dilation exceeds the image: the window has neither a maximum nor a mean."""
    x = df.constant(np.full((1, 1, 1), 5.0, "f4"))
    pad = [[0, 0], [1, 2], [0, 0]]
    for kind, empty in (("MAX", -np.inf), ("AVG", 0)):
        def pool(x, kind=kind):
            return df.nn.pool(x, 2, kind, padding=pad, dilations=2)
        assert pool(x).numpy().ravel().tolist() == [empty, 5]
        dx = gradient(pool, x, np.array([[[3.0], [4.0]]], "f4"))
        assert dx.numpy().ravel().tolist() == [4]


def test_padding_is_ignored():
    x = np.full((1, 3, 3, 1), -2, "f4")
    pad = [[0, 0], [1, 1], [1, 1], [0, 0]]
    for padding in ("SAME", pad):
        assert (df.nn.max_pool(x, 3, 1, padding).numpy() == -2).all()
        assert (df.nn.avg_pool(x, 3, 1, padding).numpy() == -2).all()


def test_large_windows_of_int8():
    x = np.random.default_rng(0).integers(-128, 128, (1, 300, 3)).astype("int8")
    assert (df.nn.max_pool(x, 300, 1, "VALID").numpy() == x.max(1, keepdims=True)).all()


def test_traced_with_an_unknown_batch():
    traced = df.function(lambda x: df.nn.max_pool(x, 2, 2, "SAME"),
                         input_signature=[df.TensorSpec([None, None, 5, 3])])
    for n in (0, 1, 3):
        x = np.random.default_rng(n).normal(size=(n, 4 + n, 5, 3)).astype("f4")
        assert (traced(x).numpy() == df.nn.max_pool(x, 2, 2, "SAME").numpy()).all()
    assert traced(np.zeros((2, 9, 5, 3), "f4")).shape == (2, 5, 3, 3)


X = df.constant(np.ones((1, 4, 5, 2), "f4"))
HUGE = 2**62

MESSAGES = [
    (lambda: df.nn.max_pool(X, 5, 1, "VALID"),
     r"max_pool: along spatial dimension 0 the window spans 5 and the padded image 4"),
    (lambda: df.nn.avg_pool(X, (2, 6), 1, [[0, 0], [0, 0], [0, 0], [0, 0]]),
     "avg_pool: along spatial dimension 1 the window spans 6 and the padded image 5"),
    (lambda: df.nn.max_pool(X, 2, 0, "SAME"), "max_pool: .* stride 0 .* expected 1 or more"),
    (lambda: df.nn.max_pool(X, 0, 1, "SAME"), "max_pool: .* size 0"),
    (lambda: df.nn.pool(X, 2, "MAX", dilations=0), "max_pool: .* dilation 0"),
    (lambda: df.nn.pool(X, 2, "MIN"), "pool: pooling_type is 'MIN', expected 'MAX' or 'AVG'"),
    (lambda: df.nn.max_pool(X, 2, 2, "FULL"), "max_pool: padding is 'FULL', expected 'VALID'"),
    (lambda: df.nn.max_pool(X, 2, 2, [[1, 1], [0, 0], [0, 0], [0, 0]]), "max_pool: padding is"),
    (lambda: df.nn.max_pool(X, 2, 2, [[0, 0], [0, 2], [0, 0], [0, 0]]),
     "max_pool: paddings of spatial dimension 0 are 0 and 2, expected .* less than the window, 2"),
    (lambda: df.nn.max_pool(X, 2, 2, 3), "max_pool: padding is 3"),
    (lambda: df.nn.max_pool(X, (1, 2, 2, 2), 2, "SAME"), r"max_pool: ksize is \(1, 2, 2, 2\)"),
    (lambda: df.nn.max_pool(X, (2, 2, 2), 2, "SAME"), r"max_pool: ksize is \(2, 2, 2\)"),
    (lambda: df.nn.max_pool(X, "a", 2, "SAME"), "max_pool: ksize is 'a', expected integers"),
    (lambda: df.nn.max_pool1d(X, 2, 2, "SAME"), r"max_pool1d: input is float32 \(1, 4, 5, 2\)"),
    (lambda: df.nn.max_pool(X[0, 0], 2, 2, "SAME"), r"max_pool: input is float32 \(5, 2\)"),
    (lambda: df.nn.max_pool(X, 2, 2, "SAME", "NWC"), "data_format .* is 'NWC', expected 'NHWC' or"),
    (lambda: df.nn.max_pool(X, 2, 2, "SAME", 7), "data_format .* is 7"),
    (lambda: df.nn.max_pool_with_argmax(X, 2, 2, "SAME", "NCHW"), "max_pool_with_argmax: data_for"),
    (lambda: df.nn.max_pool_with_argmax(X, 2, 2, "SAME", output_dtype="int8"), "int64 or int32"),
    (lambda: df.nn.adaptive_avg_pool(X, 0), "avg_pool: 0 windows along spatial dimension 0"),
    (lambda: df.nn.max_pool(df.zeros([1, 0, 5, 2]), 1, 1, "SAME"),
     r"max_pool: an image of shape \(1, 0, 5, 2\), expected 1 pixel or more along spatial"),
    (lambda: df.nn.max_pool(X, HUGE, 1, "SAME"), "max_pool: .* overflows 64 bits"),
    (lambda: df.nn.avg_pool(df.cast(X, "int32"), 2, 2, "SAME"), "avg_pool: input 0 is int32"),
    (lambda: df.nn.max_pool(X > 0, 2, 2, "SAME"), "max_pool: input 0 is bool"),
    (lambda: df.nn.adaptive_max_pool(df.zeros([0, 2**40, 1]), 1), "max_pool: images of .* pixels"),
]


@pytest.mark.parametrize("call, message", MESSAGES, ids=range(len(MESSAGES)))
def test_invalid_argument_raises_with_message(call, message):
    with pytest.raises((ValueError, TypeError, OverflowError), match=message):
        call()


EDGES = st.sampled_from([-2**63, -1, 0, 1, 2, 3, 4, 5, 2**31, 2**40, HUGE, 2**63 - 1])
LISTS = st.lists(EDGES, max_size=4)


@settings(max_examples=200)
@given(st.sampled_from(["max_pool", "avg_pool", "max_pool_pick", "max_pool_grad", "avg_pool_grad"]),
       LISTS, LISTS, LISTS, LISTS, st.integers(-1, 4), st.lists(EDGES, max_size=5), st.booleans())
def test_random_attributes(op, window, strides, dilations, paddings, rule, shape, as_bytes):
    places = df.constant(np.array([-1, 0, 7, 2**31 - 1] * 10, "int32").reshape(1, 4, 5, 2))
    places = df.cast(places, "uint8") if as_bytes else places
    attrs = {"shape": shape} if op.endswith("grad") else {}
    if op == "max_pool":
        attrs["places"] = places.dtype
    inputs = [X, places][:_core.get_op(op).n_in]
    with contextlib.suppress(ValueError, OverflowError, MemoryError):
        _core.apply(op, *inputs, window=window, strides=strides, dilations=dilations,
                    paddings=paddings, rule=rule, **attrs)


@pytest.mark.parametrize("stride", [1, 2**31, 2**63 - 1])
@pytest.mark.parametrize("window", [1, 2, 5])
def test_strides_and_dilations_of_any_size(stride, window):
    y = df.nn.pool(X, window, "MAX", strides=stride, padding="SAME")
    assert y.shape == ((1, 4, 5, 2) if stride == 1 else (1, 1, 1, 2))
    assert (df.nn.pool(X, 1, "AVG", dilations=2**63 - 1) == X).numpy().all()
