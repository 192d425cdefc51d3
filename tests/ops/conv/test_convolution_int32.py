"""Convolutions of int8 and uint8 with int32 sums, against NumPy's int64 arithmetic."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dualflow as df
from tests.ops import harness
from tests.ops.conv.convolution_int32 import integers
from tests.ops.conv.test_convolution import geometries
from tests.ops.linalg.test_integer_products import DTYPES, drawn, instructions


@settings(max_examples=60)
@given(geometry=geometries(), dtypes=st.tuples(*[st.sampled_from(DTYPES)] * 2),
       seed=st.integers(0, 2**32 - 1))
def test_random_convolutions(geometry, dtypes, seed):
    *sizes, kwargs = geometry
    rng = np.random.default_rng(seed)
    x, w = (drawn(rng, s, dtype) for s, dtype in zip(sizes, dtypes, strict=True))
    zero = drawn(rng, (), dtypes[0])

    def convolve(x, w, zero):
        return df.nn.conv_int32(x, w, zero_point=zero, **kwargs)

    expected = integers(x, w, zero_point=zero, **kwargs)
    for threads in (1, 2):
        with harness.threads(threads):
            results = (convolve(x, w, zero), df.function(convolve)(x, w, zero))
        for made in results:
            assert made.dtype == df.int32
            np.testing.assert_array_equal(made.numpy(), expected)


@pytest.mark.parametrize("x", DTYPES)
@pytest.mark.parametrize("w", DTYPES)
@pytest.mark.parametrize("filters", [(3, 3, 64, 40), (3, 3, 1, 64), (1, 1, 64, 40), (3, 3, 8, 64)])
def test_extremes_of_many_pixels(x, w, filters):
    """All products are of the largest magnitude, in several chunks of pixels."""
    images = np.full((2, 30, 31, 64), np.iinfo(x).min or 255, x)
    w = np.full(filters, np.iinfo(w).min or 255, w)
    zero = np.array(np.iinfo(x).max, x)
    for strides in (1, 2):
        kwargs = {"padding": "SAME", "strides": strides, "zero_point": zero}
        np.testing.assert_array_equal(df.nn.conv_int32(images, w, **kwargs).numpy(),
                                      integers(images, w, **kwargs))


@pytest.mark.parametrize("filters", [(3, 3, 16, 24), (1, 1, 16, 24), (1, 1, 4, 24), (3, 3, 1, 16)])
def test_steps_after_a_convolution_are_one_instruction(filters):
    rng = np.random.default_rng(5)
    x, w = drawn(rng, (2, 9, 16, 8), "uint8").transpose(0, 1, 3, 2), drawn(rng, filters, "int8")
    scale = np.linspace(0.001, 0.01, filters[-1]).astype("float32")

    @df.function
    def scaled(x):
        y = df.nn.conv_int32(x, w, padding="SAME", zero_point=3)
        return df.saturate_cast(df.round(df.cast(y, df.float32) * scale) + 5., df.uint8)

    x = np.ascontiguousarray(x)
    y = integers(x, w, padding="SAME", zero_point=3).astype("float32") * scale
    np.testing.assert_array_equal(scaled(x).numpy(),
                                  np.clip(np.rint(y) + 5, 0, 255).astype("uint8"))
    assert instructions(scaled, df.constant(x)) == ["conv_int32_cluster"]


def test_channels_first():
    rng = np.random.default_rng(6)
    x, w = drawn(rng, (2, 3, 8, 9), "uint8"), drawn(rng, (2, 3, 3, 5), "int8")
    made = df.nn.conv_int32(x, w, padding="SAME", data_format="NCHW", zero_point=9)
    expected = integers(x.transpose(0, 2, 3, 1), w, padding="SAME", zero_point=9)
    np.testing.assert_array_equal(made.numpy(), expected.transpose(0, 3, 1, 2))


@pytest.mark.parametrize("x, w, kwargs, error, words", [
    ("float32", "int8", {}, "DTypeError", "float32"),
    ("int8", "int16", {}, "DTypeError", "int16"),
    ("int8", "int8", {"zero_point": [1, 2]}, "InvalidArgumentError", "zero"),
    ("int8", "int8", {"zero_point": df.constant(1, df.uint8)}, "DTypeError", "uint8"),
    ("uint8", "int8", {"zero_point": -1}, "OverflowError", "-1"),
    ("int8", "int8", {"strides": 0}, "InvalidArgumentError", "strides"),
    ("int8", "int8", {"padding": "FULL"}, "InvalidArgumentError", "padding")])
def test_bad_arguments(x, w, kwargs, error, words):
    kind = getattr(df.errors, error, OverflowError)
    with pytest.raises(kind, match="conv_int32") as raised:
        df.nn.conv_int32(np.ones((1, 4, 4, 2), x), np.ones((3, 3, 2, 2), w), **kwargs)
    assert words in str(raised.value)


@pytest.mark.parametrize("x, w", [((4, 4, 2), (3, 3, 2, 2)), ((1, 2, 4, 4, 2), (3, 3, 2, 2)),
                                  ((1, 4, 4, 2), (3, 2)), ((1, 4, 4, 3), (3, 3, 2, 2)),
                                  ((1, 2, 2, 2), (3, 3, 2, 2))])
def test_bad_shapes(x, w):
    with pytest.raises(df.errors.ShapeError, match="conv_int32"):
        df.nn.conv_int32(np.ones(x, "int8"), np.ones(w, "int8"))
