"""Functions of tf.quantization return the values that TensorFlow 2.21.0 returned on a CPU."""

import numpy as np
import pytest

import dualflow as df
from tests.ops.quantization.tensorflow_values import (
    CONCAT,
    PER_AXIS,
    PER_CHANNEL,
    ROUND_TRIP_AXIS_0,
    ROWS,
    X,
)

q = df.quantization
RANGES = [-1., -0.5, 0., -2.], [1., 2., 3., -1.]


def close(got, want):
    """Compare with a few roundings of float32: TensorFlow sums and multiplies in another order."""
    np.testing.assert_allclose(np.ravel(got.numpy()), np.float32(want), rtol=5e-7, atol=2e-7)


def equal(got, want):
    assert np.ravel(got.numpy()).tolist() == np.ravel(np.float32(want)).tolist()


def quantized(x, low, high, dtype, kw, axis=None):
    """Return what TensorFlow's rows hold: integers, range, and the dequantised values."""
    y = q.quantize(x, low, high, getattr(df, dtype), axis=axis, **kw)
    assert y.output.dtype is getattr(df, dtype.removeprefix("q"))
    back = q.dequantize(*y, mode=kw["mode"], axis=axis,
                        narrow_range=kw.get("narrow_range", False))
    return y, back


@pytest.mark.parametrize("name, args, kw, want", ROWS)
def test_row(name, args, kw, want):
    x = df.constant(X)
    if name == "quantize":
        y, back = quantized(x, *args, kw)
        assert y.output.tolist() == want[0]
        equal(y.output_min, want[1])
        equal(y.output_max, want[2])
        close(back, want[3])
        return
    inputs = [x, *map(df.constant, args)] if name.endswith("vars") else [x]
    with df.GradientTape() as tape:
        tape.watch(inputs)
        y = getattr(q, name)(*inputs, *([] if len(inputs) > 1 else args), **kw)
    equal(y, want[0])
    for got, expected in zip(tape.gradient(y, inputs), want[1:], strict=True):
        close(got, expected)
    if name.startswith("fake_quant"):
        given = getattr(q, f"{name}_gradient")(df.ones_like(x), x, *args, **kw)
        for got, expected in zip(given if len(inputs) > 1 else [given], want[1:], strict=True):
            close(got, expected)


def test_per_channel():
    x, low, high = df.reshape(X, [4, 4]), *map(df.constant, RANGES)
    with df.GradientTape() as tape:
        tape.watch([x, low, high])
        y = q.fake_quant_with_min_max_vars_per_channel(x, low, high)
    equal(y, PER_CHANNEL[0])
    given = q.fake_quant_with_min_max_vars_per_channel_gradient(df.ones_like(x), x, low, high)
    for found in (tape.gradient(y, [x, low, high]), given):
        for got, want in zip(found, PER_CHANNEL[1:], strict=True):
            close(got, want)


def test_ranges_per_slice():
    x = df.reshape(X, [4, 4])
    for mode, want in zip(("MIN_COMBINED", "SCALED"), PER_AXIS, strict=True):
        y, back = quantized(x, *RANGES, "qint8", {"mode": mode}, axis=-1)
        assert y.output.tolist() == want[0]
        equal(y.output_min, want[1])
        equal(y.output_max, want[2])
        close(back, want[3])
    equal(q.quantize_and_dequantize_v2(x, *RANGES, axis=0), ROUND_TRIP_AXIS_0)


@pytest.mark.parametrize("dtype", CONCAT)
def test_concat(dtype):
    parts = [q.quantize([-2., -.4, 0., .7, 1.9], low, high, getattr(df, dtype), mode="MIN_FIRST")
             for low, high in [(-1., 2.), (0.5, 2.), (-2., -0.5)]]
    y = q.quantized_concat(0, *map(list, zip(*parts, strict=True)))
    values, low, high = CONCAT[dtype]
    if dtype == "quint8":
        assert y.output.tolist() == values
    else:       # TensorFlow clips to the largest float32 below 2 ** 31
        np.testing.assert_allclose(y.output.numpy().astype(float), values, atol=600)
    assert (y.output_min.item(), y.output_max.item()) == (low, high)


def test_int32_saturates():
    """TensorFlow's conversion overflows to the least integer."""
    for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
        y = q.quantize([-9., 9.], -1., 2., df.qint32, mode=mode)
        assert y.output.tolist() == [-2 ** 31, 2 ** 31 - 1], mode


def test_names_of_dtypes():
    assert [df.qint8, df.qint16, df.qint32, df.quint8, df.quint16] == [
        df.int8, df.int16, df.int32, df.uint8, df.uint16]
    assert df.as_dtype("qint8") is df.int8 and df.dtypes.quint16 is df.uint16
    assert df.cast([1.5], df.qint32).dtype is df.int32


def test_a_range_of_zeros_passes_the_gradient():
    low, high = df.constant(0.), df.constant(0.)
    x = df.constant([-1., 0., 7.])
    with df.GradientTape() as tape:
        tape.watch([x, low, high])
        y = q.fake_quant_with_min_max_vars(x, low, high)
    assert y.tolist() == [0.] * 3
    assert [g.tolist() for g in tape.gradient(y, [x, low, high])] == [[1.] * 3, 0., 0.]
    given = q.fake_quant_with_min_max_vars_gradient(df.ones([3]), x, low, high)
    assert [g.tolist() for g in given] == [[1.] * 3, 0., 0.]


def test_gradients_at_nan():
    """TensorFlow's: NaN is neither within nor beyond the range."""
    nan = float("nan")
    x, low, high = df.Variable([nan, 0.3, -9., 9.]), df.Variable(-1.), df.Variable(2.)
    with df.GradientTape() as tape:
        y = q.fake_quant_with_min_max_vars(x, low, high)
    got = [g.tolist() for g in tape.gradient(y, [x, low, high])]
    assert got == [[0., 1., 0., 0.], 1., 1.] and np.isnan(y.numpy()[0])
    with df.GradientTape() as tape:
        y = q.fake_quant_with_min_max_args(x, -1., 2.)
    assert tape.gradient(y, x).tolist() == [0., 1., 0., 0.]
    per_channel = q.fake_quant_with_min_max_vars_per_channel
    got = df.grad(lambda x: df.reduce_sum(per_channel(x, [-1., -1.], [2., 2.])))(
        df.constant([[nan, 0.3], [nan, 9.]]))
    assert got.tolist() == [[0., 1.], [0., 0.]]
