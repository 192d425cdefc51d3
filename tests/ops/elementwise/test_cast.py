"""cast: one rounding, equal limits on every machine, gradients in the source dtype."""

import numpy as np
import pytest

import dualflow as df
from tests.ops.case import INTS, UNSIGNED


def bfloat16(values):
    """Round to bfloat16 and return float64: NumPy has no bfloat16 dtype."""
    return df.cast(df.cast(values, df.bfloat16), df.float64).numpy()


def test_float64_to_float16_rounds_once():
    # 1 + 2^-11 is halfway between two float16 values; float32 cannot represent the additional
    # 2^-40.
    x = np.array([1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-11, 1 + 3 * 2.0**-11 - 2.0**-40])
    x = np.concatenate([x, -x, x * 2.0**-14, x * 2.0**-20, [65519.9999999, 65520, 1e300, 1e-300]])
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(df.cast(x, df.float16).numpy(), x.astype("f2"))


def test_every_float16_round_trips():
    x = np.arange(1 << 16, dtype="u2").view("f2")
    for dtype in (df.float32, df.float64):
        wide = df.cast(x, dtype)
        np.testing.assert_array_equal(wide.numpy(), x.astype(wide.numpy().dtype))
        np.testing.assert_array_equal(df.cast(wide, df.float16).numpy(), x)


def test_random_floats_to_float16():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 1 << 32, 20_000, dtype="u4").view("f4")
    x = np.concatenate([x, rng.uniform(-7e4, 7e4, 9999).astype("f4"),
                        rng.uniform(-1e-4, 1e-4, 9999).astype("f4")])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(df.cast(x, df.float16).numpy(), x.astype("f2"))


def test_to_bfloat16_rounds_once():
    half = 1 + 2.0**-8
    assert bfloat16(np.array([half, half + 2.0**-40, half - 2.0**-40])).tolist() == [
        1, 1 + 2.0**-7, 1]
    n = (1 << 62) + (1 << 54)           # halfway between two bfloat16 values
    assert bfloat16(np.array([n, n + 1, n - 1])).tolist() == [2.0**62, 2.0**62 + 2.0**55, 2.0**62]
    assert bfloat16(np.array([-n, -n - 1])).tolist() == [-(2.0**62), -(2.0**62) - 2.0**55]
    assert np.isnan(bfloat16(np.array([np.nan])))


def test_uint64_rounds_once():
    n = np.array([2**64 - 1, 2**63 + 2**52, 2**63 + 2**52 + 1, 2**53 + 1, 2**60 + 2**36 + 1, 7, 0],
                 "uint64")
    for dtype in ("float32", "float64"):
        np.testing.assert_array_equal(df.cast(n, dtype).numpy(), n.astype(dtype))
    half = 2**63 + 2**55                # halfway between two bfloat16 values
    assert bfloat16(np.array([half, half + 1, half - 1], "uint64")).tolist() == [
        2.0**63, 2.0**63 + 2.0**56, 2.0**63]
    x = np.array([2049, 2051, 65519, 65520], "uint64")
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(df.cast(x, df.float16).numpy(), x.astype("f2"))


def test_limits_of_unsigned_dtypes():
    for dtype in UNSIGNED:
        top = np.array([np.iinfo(dtype).max, 0, 1], dtype)
        for other in (*INTS, "float64"):
            np.testing.assert_array_equal(df.cast(top, other).numpy(), top.astype(other))
            back = np.array([-1, 0, 1]).astype(other)
            if other != "float64":
                np.testing.assert_array_equal(df.cast(back, dtype).numpy(), back.astype(dtype))


@pytest.mark.parametrize("source", ["float32", "float64"])
@pytest.mark.parametrize("target", INTS)
def test_floats_out_of_the_integer_range(source, target):
    info = np.iinfo(target)
    ends = [np.inf, -np.inf, np.nan, 1e30, -1e30, float(info.max), float(info.min)]
    got = df.cast(np.array(ends * 5, source), target).numpy()[:7].tolist()
    assert got == [info.max, info.min, 0, info.max, info.min, info.max, info.min]


@pytest.mark.parametrize("source", ["float32", "float64"])
@pytest.mark.parametrize("target", ["int8", "uint8", "int16", "uint16", "int32"])
def test_vectors_of_floats_are_truncated_and_limited(source, target):
    """Whole vectors and their remainders; values within and beyond the range."""
    rng, info = np.random.default_rng(0), np.iinfo(target)
    x = rng.normal(size=1001) * 10 ** rng.uniform(0, 12, 1001)
    x[::50], x[25] = rng.integers(-300, 300, 21) + .75, np.nan
    for n in (7, 8, 33, 1001):
        y = x[:n].astype(source).astype("float64")
        want = np.where(np.isnan(y), 0, np.clip(np.trunc(y), info.min, info.max))
        assert df.cast(x[:n].astype(source), target).numpy().tolist() == want.tolist()


def test_integers_keep_low_bits_and_saturate_cast_limits():
    x = np.array([-129, 127, 128, 300, -1], "i4")
    np.testing.assert_array_equal(df.cast(x, "int8").numpy(), x.astype("i1"))
    assert df.saturate_cast(x, "int8").numpy().tolist() == [-128, 127, 127, 127, -1]
    assert df.saturate_cast(x, "uint8").numpy().tolist() == [0, 127, 128, 255, 0]
    assert df.saturate_cast([1e9, -1e9], "float16").numpy().tolist() == [65504, -65504]


def test_gradient_has_the_source_dtype():
    x = df.constant([1.0, 2.0])
    with df.GradientTape() as tape:
        tape.watch(x)
        y = df.cast(x, df.float64) * 3
    g = tape.gradient(y, x)
    assert g.dtype is df.float32 and g.numpy().tolist() == [3, 3]


def test_a_tensor_that_has_the_dtype_is_returned():
    x = df.constant([1., 2.])
    assert df.cast(x, "float32") is x and df.cast(x, "float64") is not x
    with df.Graph().as_default():
        assert df.cast(x, "float32", name="copy").name.startswith("copy")
    with df.GradientTape() as tape:
        tape.watch(x)
        y = df.cast(x, df.float32)
        z = y * y
    np.testing.assert_array_equal(tape.gradient(z, x).numpy(), [2., 4.])
