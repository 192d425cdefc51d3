"""Dilated convolutions with padding, which skip the taps outside the image."""

import numpy as np
import pytest

import dualflow as df
from tests.ops import harness
from tests.ops.conv.convolution import convolution
from tests.ops.conv.test_convolution import references, results, whole

# Regions of few and of many rows, several in a tile; batches; taps that are outside everywhere;
# strides; one line, three dimensions, groups; sums of several passes; too many taps or regions to
# skip any.
SHAPES = [
    ((1, 28, 28, 40), (3, 3, 40, 70), {"padding": "SAME", "dilations": 12}),
    ((3, 14, 13, 20), (3, 3, 20, 33), {"padding": "SAME", "dilations": [12, 5]}),
    ((2, 20, 19, 7), (3, 3, 7, 65), {"padding": "SAME", "dilations": 24}),
    ((2, 9, 8, 17), (4, 2, 17, 5), {"padding": "SAME", "dilations": [9, 40]}),
    ((2, 30, 31, 24), (3, 3, 24, 16), {"padding": "SAME", "dilations": 4, "strides": 2}),
    ((2, 30, 31, 24), (3, 3, 24, 16), {"padding": "SAME", "dilations": [6, 1], "strides": [1, 3]}),
    ((2, 30, 31, 24), (3, 3, 24, 16), {"padding": "VALID", "dilations": 12}),
    ((2, 12, 11, 24), (3, 3, 24, 16),
     {"padding": [(0, 0), (20, 3), (0, 30), (0, 0)], "dilations": [6, 7], "strides": [3, 1]}),
    ((1, 6, 7, 3), (2, 3, 3, 4),
     {"padding": [(0, 0), (40, 9), (9, 40), (0, 0)], "dilations": [3, 5]}),
    ((3, 60, 20), (3, 20, 50), {"padding": [(0, 0), (32, 0), (0, 0)], "dilations": 16}),
    ((1, 90, 4), (40, 4, 20), {"padding": "SAME", "dilations": 2}),
    ((1, 300, 4), (70, 4, 20), {"padding": "SAME", "dilations": 3}),
    ((2, 7, 8, 9, 6), (3, 3, 3, 6, 20), {"padding": "SAME", "dilations": [2, 1, 4]}),
    ((2, 15, 14, 24), (3, 3, 8, 30), {"padding": "SAME", "dilations": 6}),
    ((1, 11, 12, 300), (3, 3, 300, 40), {"padding": "SAME", "dilations": 6}),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("x_shape, w_shape, kwargs", SHAPES)
def test_values_and_gradients(x_shape, w_shape, kwargs, dtype):
    rng = np.random.default_rng(0)
    x, w = whole(rng, *x_shape, dtype=dtype), whole(rng, *w_shape, dtype=dtype)
    g = whole(rng, *convolution(x, w, **kwargs).shape, dtype=dtype)
    want = references(x, w, g, kwargs)
    for threads in (1, 2):
        with harness.threads(threads):
            for got, expected in zip(results(x, w, g, kwargs), want, strict=True):
                np.testing.assert_array_equal(got.numpy(), expected)


@pytest.mark.parametrize("x_shape, w_shape, kwargs", SHAPES)
def test_threads_and_epilogues_give_the_same_bits(x_shape, w_shape, kwargs):
    rng = np.random.default_rng(1)
    x, w = (df.constant(rng.standard_normal(s, "float32")) for s in (x_shape, w_shape))
    plain = df.nn.convolution(x, w, **kwargs)
    bias, residual = (df.constant(rng.standard_normal(s, "float32"))
                      for s in (w_shape[-1:], plain.shape))

    def steps(x):
        y = df.nn.convolution(x, w, **kwargs)
        return df.nn.relu(y + bias + residual), df.tanh(y + bias)

    want = [y.numpy().tobytes() for y in steps(x)]
    for threads in (1, 2, 8):
        with harness.threads(threads):
            assert [y.numpy().tobytes() for y in df.function(steps)(x)] == want
            for step in (0, 1):
                one = df.function(lambda x: steps(x)[step])(x)      # noqa: B023
                assert one.numpy().tobytes() == want[step]


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("x_shape, w_shape, kwargs", [SHAPES[0], SHAPES[1], SHAPES[5], SHAPES[14]])
def test_filters_that_are_not_finite(x_shape, w_shape, kwargs, value):
    """A tap outside the image adds nothing, whatever its weights are."""
    rng = np.random.default_rng(2)
    x, w = rng.random(x_shape, "float32") + 0.5, rng.standard_normal(w_shape, "float32")
    w[0, 2] = 0
    zeros = df.nn.convolution(x, w, **kwargs).numpy()
    met = convolution(np.ones_like(x), (np.arange(9).reshape(3, 3, 1, 1) == 2) * np.ones_like(w),
                      **kwargs) > 0
    w[0, 2] = value
    for threads in (1, 2):
        with harness.threads(threads):
            eager = df.nn.convolution(x, w, **kwargs)
            graph = df.function(lambda x: df.nn.relu(df.nn.convolution(x, w, **kwargs)))(x)
            np.testing.assert_array_equal(eager.numpy(), np.where(met, value, zeros))
            np.testing.assert_array_equal(graph.numpy(), df.nn.relu(eager).numpy())
