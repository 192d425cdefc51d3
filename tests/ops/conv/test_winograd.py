"""Winograd convolutions of 3 x 3 and 5 x 5 filters: error, configuration, and when they are
used."""

import numpy as np
import pytest

import dualflow as df
from tests.ops import harness
from tests.ops.conv.convolution import backprop_filter, backprop_input, convolution

SHAPES = [
    ((8, 12, 12, 64), (3, 3, 64, 48), "SAME"),
    ((3, 21, 19, 33), (3, 3, 33, 17), "VALID"),
    ((5, 10, 23, 16), (3, 3, 16, 70), [(0, 0), (2, 1), (0, 3), (0, 0)]),
    ((6, 14, 13, 36), (5, 5, 36, 40), "SAME"),
    ((2, 11, 16, 17), (5, 5, 17, 33), [(0, 0), (5, 1), (0, 3), (0, 0)]),
]


@pytest.fixture
def exactly():
    """Return a function that sets exact convolutions for one test."""
    yield df.config.set_exact_convolutions
    df.config.set_exact_convolutions(False)


def operands(x_shape, w_shape, padding):
    """Return x and g of unit variance, and w that preserves it."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(x_shape, "float32")
    w = rng.standard_normal(w_shape, "float32") / np.float32(w_shape[0] * w_shape[2] ** 0.5)
    g = rng.standard_normal(df.nn.conv2d(x, w, 1, padding).shape, "float32")
    return x, w, g


def results(x, w, g, padding):
    x, w = df.constant(x), df.constant(w)
    with df.GradientTape() as tape:
        tape.watch([x, w])
        y = df.nn.conv2d(x, w, 1, padding)
    return [y, *tape.gradient(y, [x, w], output_gradients=df.constant(g))]


@pytest.mark.parametrize("x_shape, w_shape, padding", SHAPES)
def test_error(x_shape, w_shape, padding, exactly):
    """The error relative to the root mean square of the result is what docs/numerics.md states."""
    x, w, g = operands(x_shape, w_shape, padding)
    wide = [a.astype("float64") for a in (x, w, g)]
    want = [convolution(*wide[:2], padding=padding),
            backprop_input(x_shape, *wide[1:], padding=padding),
            backprop_filter(wide[0], w_shape, wide[2], padding=padding)]
    for exact, most in ((False, 2e-5), (True, 6e-6)):
        exactly(exact)
        for got, right in zip(results(x, w, g, padding), want, strict=True):
            error = np.abs(got.numpy() - right).max() / np.sqrt(np.mean(right * right))
            assert error < most


@pytest.mark.parametrize("x_shape, w_shape, padding", SHAPES)
def test_threads_give_the_same_bits(x_shape, w_shape, padding):
    given = operands(x_shape, w_shape, padding)
    bits = []
    for n in (1, 2, 3, 8):
        with harness.threads(n):
            bits.append([y.numpy().tobytes() for y in results(*given, padding)])
    assert all(b == bits[0] for b in bits)


def test_option_is_read_when_a_function_is_traced(exactly):
    x, w, _ = operands(*SHAPES[0])
    exactly(True)
    traced = df.function(lambda x, w: df.nn.conv2d(x, w, 1, "SAME"))
    exact = df.nn.conv2d(x, w, 1, "SAME").numpy()
    assert traced(x, w).numpy().tobytes() == exact.tobytes()
    exactly(False)
    fast = df.nn.conv2d(x, w, 1, "SAME").numpy()
    assert fast.tobytes() != exact.tobytes()
    assert traced(x, w).numpy().tobytes() == exact.tobytes()
    again = df.function(lambda x, w: df.nn.conv2d(x, w, 1, "SAME"))
    assert again(x, w).numpy().tobytes() == fast.tobytes()


def test_gradients_use_the_option_of_the_forward_pass(exactly):
    """Also if the option changes before the tape computes the gradient."""
    x, w, g = operands(*SHAPES[0])
    exactly(True)
    want = [y.numpy() for y in results(x, w, g, "SAME")[1:]]
    x, w = df.constant(x), df.constant(w)
    with df.GradientTape() as tape:
        tape.watch([x, w])
        y = df.nn.conv2d(x, w, 1, "SAME")
    exactly(False)
    got = tape.gradient(y, [x, w], output_gradients=df.constant(g))
    assert [a.numpy().tobytes() for a in got] == [a.tobytes() for a in want]


def test_second_order(exactly):
    x, w, g = operands(*SHAPES[1])
    second = []
    for exact in (False, True):
        exactly(exact)
        x, w = df.constant(x), df.constant(w)
        with df.GradientTape() as outer:
            outer.watch([x, w])
            with df.GradientTape() as inner:
                inner.watch([x, w])
                y = df.nn.conv2d(x, w, 1, "VALID")
                loss = df.reduce_sum(y * y * g)
            dx, dw = inner.gradient(loss, [x, w])
            total = df.reduce_sum(dx * dx) + df.reduce_sum(dw * dw)
        second.append([a.numpy() for a in outer.gradient(total, [x, w])])
    for fast, exact in zip(*second, strict=True):
        np.testing.assert_allclose(fast, exact, rtol=0, atol=2e-5 * np.abs(exact).max())


def test_float64_is_exact(exactly):
    x, w, _ = operands(*SHAPES[0])
    x, w = x.astype("float64"), w.astype("float64")
    fast = df.nn.conv2d(x, w, 1, "SAME").numpy()
    exactly(True)
    assert fast.tobytes() == df.nn.conv2d(x, w, 1, "SAME").numpy().tobytes()


def test_non_finite_values_affect_their_tile(exactly):
    """A tile of 4 x 4 with a non-finite value has no finite value; exact convolutions limit the
    effect to the windows that contain it."""
    x, w, _ = operands(*SHAPES[0])
    x[0, 5, 5, 0] = np.nan
    lost = ~np.isfinite(df.nn.conv2d(x, w, 1, "SAME").numpy()).all(-1)
    exactly(True)
    met = ~np.isfinite(df.nn.conv2d(x, w, 1, "SAME").numpy()).all(-1)
    assert met.sum() == 9 and (lost & met).sum() == 9 and not lost[1:].any()


@pytest.mark.parametrize("w_shape", [(3, 3, 16, 20), (3, 3, 1, 16), (5, 5, 16, 20)])
def test_images_without_rows(w_shape):
    """Padding alone gives output rows, and there is nothing to differentiate."""
    x, w = np.ones((8, 0, 20, 16), "f4"), np.ones(w_shape, "f4")
    edge = w_shape[0] // 2
    g = np.ones((8, 18 - 2 * edge, 20, w_shape[3]), "f4")
    y, dx, dw = results(x, w, g, [(0, 0), (9, 9), (edge, edge), (0, 0)])
    assert y.shape == g.shape and not y.numpy().any()
    assert dx.shape == x.shape and dw.shape == w_shape and not dw.numpy().any()


@pytest.mark.parametrize("w_shape, strides, dilations", [
    ((3, 3, 20, 24), 1, [2, 2]), ((3, 3, 20, 24), 1, [1, 2]), ((3, 3, 20, 24), [1, 2], None),
    ((5, 5, 20, 24), [2, 1], None), ((3, 5, 20, 24), 1, None)])
def test_other_convolutions_of_as_many_channels(w_shape, strides, dilations):
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(s, "float32") for s in ((4, 24, 25, 20), w_shape))
    got = df.nn.conv2d(x, w, strides, "SAME", dilations=dilations).numpy()
    want = convolution(x.astype("float64"), w.astype("float64"), strides, "SAME", dilations)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-3)
