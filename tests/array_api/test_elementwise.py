"""Elementwise functions against NumPy: all real dtypes, any shape, special values."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

import dualflow as df
from tests.array_api.against import ALL, FLOATS, INTS, NUMBERS, arrays, check, quick, xp

BITS, TRUTHS = ["bool", *INTS], ["bool"]
UNARY = {
    **dict.fromkeys(["acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp",
                     "expm1", "log", "log10", "log1p", "log2", "reciprocal", "sin", "sinh", "sqrt",
                     "tan", "tanh"], FLOATS),
    **dict.fromkeys(["abs", "ceil", "conj", "floor", "imag", "isfinite", "isinf", "isnan",
                     "negative", "positive", "real", "round", "sign", "signbit", "square",
                     "trunc"], NUMBERS),
    "bitwise_invert": BITS, "logical_not": TRUTHS,
}
BINARY = {
    **dict.fromkeys(["atan2", "copysign", "divide", "hypot", "logaddexp", "nextafter"], FLOATS),
    **dict.fromkeys(["add", "greater", "greater_equal", "less", "less_equal", "maximum", "minimum",
                     "multiply", "subtract"], NUMBERS),
    **dict.fromkeys(["bitwise_and", "bitwise_or", "bitwise_xor"], BITS),
    **dict.fromkeys(["equal", "not_equal"], ALL),
    **dict.fromkeys(["logical_and", "logical_or", "logical_xor"], TRUTHS),
}
BROADCAST = hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3, min_side=0)


@pytest.mark.parametrize("name", UNARY)
@given(st.data())
@quick
def test_unary_functions(name, data):
    check(name, data.draw(arrays(UNARY[name])))


def pair(data, dtypes, **elements):
    """Draw two arrays of one dtype that broadcast, or an array and a number."""
    dtype = data.draw(st.sampled_from(dtypes))
    shapes = data.draw(BROADCAST).input_shapes
    a, b = [data.draw(arrays([dtype], st.just(s), **elements)) for s in shapes]
    if dtype in FLOATS and data.draw(st.booleans()):
        b = 1.5
    return a, b


@pytest.mark.parametrize("name", BINARY)
@given(st.data())
@quick
def test_binary_functions(name, data):
    check(name, *pair(data, BINARY[name]))


@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
@given(st.data())
@quick
def test_division(name, data):
    a, b = pair(data, NUMBERS, min_value=-1000, max_value=1000)
    check(name, a, np.where(b == 0, np.ones_like(b), b) if isinstance(b, np.ndarray) else b)


@given(st.data())
@quick
def test_pow(data):
    check("pow", *pair(data, FLOATS))
    a, b = pair(data, INTS, min_value=0, max_value=5)
    check("pow", a, b)


@pytest.mark.parametrize("name", ["bitwise_left_shift", "bitwise_right_shift"])
@given(st.data())
@quick
def test_shifts(name, data):
    a = data.draw(arrays(INTS))
    check(name, a, (np.arange(a.size).reshape(a.shape) % 7).astype(a.dtype))


@given(st.data())
@quick
def test_clip(data):
    x = data.draw(arrays(NUMBERS))
    low, high = sorted(data.draw(st.tuples(st.integers(0, 100), st.integers(0, 100))))
    check("clip", x, low, high)
    check("clip", x, None, high)
    check("clip", x, np.asarray(low, x.dtype), None)
    check("clip", x, min=np.full((1,) * x.ndim, low, x.dtype), max=high)
    assert xp.clip(df.constant(x)).shape == x.shape


def test_logarithms_of_powers_are_exact():
    for dtype in (df.float32, df.float64):
        for k in range(-100, 100):
            assert xp.log2(xp.asarray(2.0 ** k, dtype=dtype)).item() == k
        for k in range(11 if dtype is df.float32 else 23):      # exactly representable powers of 10
            assert xp.log10(xp.asarray(10.0 ** k, dtype=dtype)).item() == k


def test_gradients():
    """Cover functions composed of several ops."""
    a, b = [0.3, -2.0, 5.0], [1.5, 3.0, -1.0]
    for name in ("hypot", "logaddexp", "copysign", "atan2"):
        df.testing.check_gradients(getattr(xp, name), [a, b])
    for name in ("log2", "log10"):
        df.testing.check_gradients(getattr(xp, name), [[0.5, 1.0, 3.0, 8.0, 100.0]])


def test_errors_name_the_function():
    with pytest.raises(TypeError, match="hypot: got int32, expected a floating dtype"):
        xp.hypot(xp.asarray(3), 4)
    with pytest.raises(TypeError, match="sin"):
        xp.sin(xp.asarray([1]))
