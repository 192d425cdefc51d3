"""Affine quantisation against integers computed by NumPy; scales from data; straight-through
gradients; the same bits in eager mode, traced, without passes and for unknown sizes."""

import numpy as np
import pytest

import dualflow as df
from tests.ops.test_traced import bits

q = df.quantization
RNG = np.random.default_rng(3)
X = RNG.normal(scale=3, size=(6, 8)).astype(np.float32)
X[0, :4] = 1e9, -np.inf, np.nan, 0.
BOUNDS = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-2 ** 15, 2 ** 15 - 1),
          "uint16": (0, 2 ** 16 - 1), "int32": (-2 ** 31, 2 ** 31 - 1)}


def reference(x, scale, zero, low, high):
    """Return the integers, computed in float64 from the quotient in the op's precision."""
    wide = np.float64 if high > 2 ** 16 else np.float32
    with np.errstate(invalid="ignore"):
        y = np.rint((x.astype(wide) / scale.astype(wide)).astype(np.float64)) + zero
    return np.where(np.isnan(y), 0, np.clip(y, low, high)).astype(np.int64)


def layouts():
    """Return axis, group size, and the shape and the spread of the parameters."""
    yield None, None, (), lambda p: p
    yield None, None, (6, 1), lambda p: p
    yield 0, None, (6,), lambda p: p[:, None]
    yield -1, None, (8,), lambda p: p
    yield 1, 4, (6, 2), lambda p: np.repeat(p, 4, 1)
    yield 0, 3, (2, 8), lambda p: np.repeat(p, 3, 0)


@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize("axis, size, shape, spread", list(layouts()))
def test_integers(dtype, axis, size, shape, spread):
    low, high = BOUNDS[dtype]
    scale = RNG.uniform(0.01, 0.5, shape).astype(np.float32)
    zero = RNG.integers(max(low, -100), min(high, 100), shape)
    got = q.quantize_affine(X, scale, zero, dtype, axis, size)
    assert got.dtype.name == dtype
    want = reference(X, spread(scale), spread(zero), low, high)
    assert got.numpy().astype(np.int64).tolist() == want.tolist()
    back = q.dequantize_affine(got, scale, zero, axis=axis, group_size=size)
    exact = (want - spread(zero)).astype(np.float32) * spread(scale)
    assert back.dtype is df.float32 and back.numpy().tolist() == exact.tolist()
    inside = np.abs(X) < 0.4
    if low < 0:
        assert (np.abs(back.numpy() - X)[inside] <= 0.50001 * np.broadcast_to(
            spread(scale), X.shape)[inside]).all()


@pytest.mark.parametrize("dtype, bits_, narrow, limits", [
    ("int8", 4, False, (-8, 7)), ("int8", 4, True, (-7, 7)), ("uint8", 4, False, (0, 15)),
    ("int8", 2, False, (-2, 1)), ("int8", None, True, (-127, 127))])
def test_fewer_bits(dtype, bits_, narrow, limits):
    y = q.quantize_affine([-1e9, -np.inf, 0.5, 1.5, 2.5, np.nan, np.inf], 1., dtype=dtype,
                          num_bits=bits_, narrow_range=narrow)
    low, high = limits
    assert y.tolist() == [low, low, 0, min(2, high), min(2, high), 0, high]


def test_reduced_floats():
    for dtype in (df.float16, df.bfloat16):
        x = df.cast(X[1:], dtype)
        want = q.quantize_affine(df.cast(x, df.float32), 0.1)
        assert q.quantize_affine(x, 0.1).numpy().tolist() == want.numpy().tolist()
        assert q.fake_quantize_affine(x, 0.1).dtype is dtype
        assert q.absmax_scale(x).dtype is df.float32
        assert q.dequantize_affine(want, 0.1, dtype=dtype).dtype is dtype
    assert q.absmax_scale(df.cast(X[1:], df.float64)).dtype is df.float64


# --- scales from data --------------------------------------------------------------------------


def test_scales_from_data():
    x = X[1:5]
    assert q.absmax_scale(x).numpy() == np.abs(x).max() / np.float32(127)
    assert (q.absmax_scale(x, axis=1).numpy() == np.abs(x).max(0) / np.float32(127)).all()
    grouped = np.abs(x.reshape(4, 2, 4)).max(2) / np.float32(7)
    assert (q.absmax_scale(x, num_bits=4, axis=1, group_size=4).numpy() == grouped).all()
    scale, zero = q.min_max_parameters(x, "uint8", axis=0)
    low, high = np.minimum(x.min(1), 0), np.maximum(x.max(1), 0)
    np.testing.assert_allclose(scale.numpy(), (high - low) / 255, rtol=3e-7)
    assert zero.dtype is df.int32 and zero.tolist() == np.rint(-low / scale.numpy()).tolist()
    y = q.quantize_affine(x, scale, zero, "uint8", axis=0)
    assert (np.ptp(y.numpy().astype(int), 1) >= 254).all()
    back = q.dequantize_affine(y, scale, zero, axis=0).numpy()
    assert (np.abs(back - x) <= scale.numpy()[:, None] * 0.5001).all()


def test_zeros_have_the_scale_1():
    x = df.constant([[0., 0.], [0., 2.54]])
    assert q.absmax_scale(x, axis=0).tolist() == [1., df.constant(2.54 / 127).item()]
    scale, zero = q.min_max_parameters(x, axis=0)
    assert scale[0].item() == 1. and zero.tolist() == [-128, -128]
    assert q.quantize_dynamic(df.zeros([2, 3])).values.tolist() == [[0] * 3] * 2
    assert q.quantize_dynamic(df.zeros([2, 3]), per_row=True).scale.tolist() == [[1.], [1.]]


def test_dynamic():
    x = X[1:]
    values, scale = q.quantize_dynamic(x, per_row=True)
    assert scale.numpy().tolist() == (np.abs(x).max(1, keepdims=True) / np.float32(127)).tolist()
    assert np.abs(values.numpy().astype(int)).max(1).tolist() == [127] * 5
    assert values.numpy().tolist() == np.rint(x / scale.numpy()).tolist()
    values, scale = q.quantize_dynamic(x, num_bits=4)
    assert scale.shape == () and np.abs(values.numpy()).max() == 7


# --- gradients ---------------------------------------------------------------------------------


def test_gradient_of_a_trained_scale():
    """The formulas of LSQ, and TensorFlow's gradient of the values."""
    x = df.constant(X[1:])
    for zero in (None, 3):
        scale = df.constant(0.05)
        with df.GradientTape() as tape:
            tape.watch([x, scale])
            y = q.fake_quantize_affine(x, scale, zero)
        to_x, to_scale = tape.gradient(y, [x, scale])
        v, at = X[1:] / np.float32(0.05), zero or 0
        low, high = -128 - at, 127 - at
        inside = (v >= low) & (v <= high)
        assert to_x.numpy().tolist() == inside.astype(np.float32).tolist()
        assert 0 < inside.sum() < inside.size or zero is None
        want = np.where(inside, np.rint(v) - v, np.clip(v, low, high)).astype(np.float64).sum()
        np.testing.assert_allclose(to_scale.item(), want, rtol=1e-4, atol=1e-4)
        same = q.dequantize_affine(q.quantize_affine(x, scale, zero), scale, zero)
        assert y.numpy().tolist() == same.numpy().tolist()


def test_gradients_of_dequantisation_are_those_of_finite_differences():
    values = df.constant(RNG.integers(-128, 127, (4, 6)), "int8")
    df.testing.check_gradients(
        lambda s: q.dequantize_affine(values, s, 5, dtype="float64", axis=1, group_size=3),
        [RNG.uniform(0.1, 1, (4, 2))], order=2)
    df.testing.check_gradients(
        lambda s: q.dequantize_affine(values, s, dtype="float64", axis=0), [RNG.uniform(1, 2, 4)])


def test_the_surrogate_of_fake_quantisation_has_its_gradient():
    """Straight-through: the gradient of the sum of products is that of the clipped values."""
    x, w = df.constant(X[1:]), df.constant(RNG.normal(size=(5, 8)), "float32")
    with df.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = df.reduce_sum(q.fake_quant_with_min_max_args(x, -2., 3.) * w)
        low, high = -2.0 - 2 / 255, 3.0     # the nudged range is within a step of the given one
        z = df.reduce_sum(df.clip_by_value(x, low, high) * w)
    a, b = tape.gradient(y, x).numpy(), tape.gradient(z, x).numpy()
    far = np.minimum(np.abs(X[1:] + 2), np.abs(X[1:] - 3)) > 0.03
    assert far.any() and (a == b)[far].all() and (a != 0).any() and (a == 0).any()


def test_forward_mode_and_batches():
    x = df.constant(X[1:])

    def f(row):
        return q.fake_quantize_affine(row, 0.05)

    y, tangent = df.jvp(f, (x,), (df.ones_like(x),))
    assert tangent.numpy().tolist() == (np.abs(X[1:] / np.float32(0.05) + 0.5) <= 127.5).astype(
        np.float32).tolist()
    assert df.vmap(f)(x).numpy().tolist() == y.numpy().tolist()


# --- modes -------------------------------------------------------------------------------------


def with_gradient(f):
    def call(*xs):
        with df.GradientTape() as tape:
            tape.watch([x for x in xs if x.dtype.is_floating])
            y = f(*xs)
        floats = [x for x in xs if x.dtype.is_floating]
        return [y, *tape.gradient(y * y, floats, unconnected_gradients="zero")]
    return call


WEIGHTS = df.constant(X[1:])
VECTOR = df.constant(RNG.uniform(0.01, 0.1, 8), "float32")
GROUPS = df.constant(RNG.uniform(0.01, 0.1, (5, 2)), "float32")
FUNCTIONS = {
    "quantize": (lambda x: q.quantize(x, -1., 2., df.qint8), [WEIGHTS]),
    "scaled": (lambda x, a, b: q.quantize(x, a, b, df.quint8, mode="SCALED", axis=1),
               [WEIGHTS, -VECTOR, VECTOR]),
    "vars": (with_gradient(q.fake_quant_with_min_max_vars),
             [WEIGHTS, df.constant(-1.), df.constant(2.)]),
    "channels": (with_gradient(q.fake_quant_with_min_max_vars_per_channel),
                 [WEIGHTS, -VECTOR * 20., VECTOR * 30.]),
    "round trip": (with_gradient(lambda x: q.quantize_and_dequantize_v2(x, 0., 0., axis=0)),
                   [WEIGHTS]),
    "affine": (lambda x, s: q.quantize_affine(x, s, 3, "uint8", axis=1), [WEIGHTS, VECTOR]),
    "grouped": (with_gradient(lambda x, s: q.fake_quantize_affine(x, s, axis=1, group_size=4)),
                [WEIGHTS, GROUPS]),
    "scales": (lambda x: [q.absmax_scale(x), *q.min_max_parameters(x, axis=1, group_size=4)],
               [WEIGHTS]),
    "dynamic": (lambda x: q.quantize_dynamic(x, per_row=True), [WEIGHTS]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_modes(name):
    f, inputs = FUNCTIONS[name]
    want = bits(f(*inputs))
    assert bits(df.function(f)(*inputs)) == want
    assert bits(df.function(f, passes=False)(*inputs)) == want
    any_size = [df.TensorSpec([None] * x.ndim, x.dtype) for x in inputs]
    assert bits(df.function(f, input_signature=any_size)(*inputs)) == want


def test_one_cluster():
    """A quantisation reads its input once and writes the integers."""
    def f(x, s):
        return q.quantize_affine(x, s, 3, axis=1)

    program = df.function(f).compiled_for(WEIGHTS, VECTOR).spec.text(lines=False)
    assert program.count("cluster(") == 1 and "round(" in program and "int8 (5, 8)" in program


# --- bad input ---------------------------------------------------------------------------------

S = [1., 1.]
ERRORS = [
    (lambda: q.quantize_affine([1.], 0.), "quantize_affine: scale has the value 0.0, expected"),
    (lambda: q.quantize_affine([1.], -1.), "scale has the value -1.0"),
    (lambda: q.quantize_affine([1.], np.nan), "scale has the value nan"),
    (lambda: q.quantize_affine([1.], np.inf), "scale has the value inf"),
    (lambda: q.quantize_affine([1., 2.], [1., 0.], axis=0), "scale has the value 0.0"),
    (lambda: q.dequantize_affine(df.constant([1], "int8"), 0.), "dequantize_affine: scale has"),
    (lambda: q.quantize_affine([1.], 1., 300), "zero_point has the value 300, expected -128 to"),
    (lambda: q.quantize_affine([1.], 1., 8, num_bits=4), "zero_point has the value 8"),
    (lambda: q.quantize_affine([1.], 1., 0.5), "zero_point is float32, expected an integer"),
    (lambda: q.quantize_affine(df.constant([1]), 1.), "x is int32, expected a floating dtype"),
    (lambda: q.quantize_affine([1.], 1., dtype="int64"), "dtype is int64, expected one of int8"),
    (lambda: q.quantize_affine([1.], 1., num_bits=9), "num_bits is 9, expected 2 to 8"),
    (lambda: q.quantize_affine([1., 2., 3.], S, axis=0), r"scale has shape \(2,\), expected"),
    (lambda: q.quantize_affine([1., 2.], S, axis=1), "axis is 1 for shape"),
    (lambda: q.quantize_affine([1.], S), "for one number per slice, pass axis"),
    (lambda: q.quantize_affine([1., 2., 3.], S, axis=0, group_size=2), "a divisor of 3"),
    (lambda: q.quantize_affine([1.], 1., group_size=2), "without an axis"),
    (lambda: q.quantize_affine([1., 2.], S, axis=0, group_size=2), r"expected \(1,\)"),
    (lambda: q.absmax_scale([1., np.nan]), "absmax_scale: x has values that are NaN"),
    (lambda: q.min_max_parameters([1., np.inf]), "min_max_parameters: x has values that are NaN"),
    (lambda: q.quantize_dynamic([1.], "uint8"), "dtype is uint8, expected int8"),
    (lambda: q.quantize_dynamic(1., per_row=True), "expected rows in its last dimension"),
    (lambda: q.quantize([1.], 1., 0., df.qint8), "min_range is 1.0 and max_range is 0.0"),
    (lambda: q.quantize([1.], np.nan, 0., df.qint8), "min_range has a value that is NaN"),
    (lambda: q.quantize([1.], -1., 1., df.int64), "T is int64"),
    (lambda: q.quantize([1.], -1., 1., df.qint8, "MIN"), "mode is 'MIN', expected one of"),
    (lambda: q.quantize([1.], -1., 1., df.qint8, round_mode="HALF_TO_EVEN"), "'SCALED'"),
    (lambda: q.quantize([1.], [-1.], S, df.qint8), r"max_range has shape \(2,\), expected \(\)"),
    (lambda: q.fake_quant_with_min_max_args([1.], 2., 2.), "expected min < max"),
    (lambda: q.fake_quant_with_min_max_args([1.], num_bits=1), "num_bits is 1, expected 2 to 16"),
    (lambda: q.fake_quant_with_min_max_vars([1.], 2., 1.), "expected min <= max"),
    (lambda: q.fake_quant_with_min_max_vars([1.], S, 1.), r"min has shape \(2,\), expected \(\)"),
    (lambda: q.fake_quant_with_min_max_vars_per_channel([1.], S, S), "one number per slice"),
    (lambda: q.quantize_and_dequantize_v2([1.], 1., 0., range_given=True), "input_min is 1.0"),
    (lambda: q.quantize_and_dequantize_v2([1.], 0., 0., round_mode="UP"), "round_mode is 'UP'"),
    (lambda: q.quantized_concat(0, [df.constant([1], "int8")], [], []), "got 1 values, 0 input"),
    (lambda: q.quantized_concat(0, [df.constant([1], "int8"), df.constant([1], "uint8")], S, S),
     r"values\[1\] is uint8, expected int8"),
]


@pytest.mark.parametrize("call, message", ERRORS)
def test_refused(call, message):
    with pytest.raises((df.errors.InvalidArgumentError, df.errors.DTypeError), match=message):
        call()


def test_scales_in_traces():
    """Known scales of a trace are refused; unknown ones give the documented integers."""
    with pytest.raises(df.errors.InvalidArgumentError, match="scale has the value 0"):
        df.function(lambda x: q.quantize_affine(x, 0.))(df.constant([1.]))
    f = df.function(lambda x, s: q.quantize_affine(x, s))
    x = df.constant([-1., 0., 2.])
    assert f(x, df.constant(0.)).tolist() == [-128, 0, 127]
    assert f(x, df.constant(np.nan, df.float32)).tolist() == [0, 0, 0]
    assert f(x, df.constant(-1.)).tolist() == [1, 0, -2]
    empty = df.function(q.fake_quant_with_min_max_vars)(x, df.constant(1.), df.constant(1.))
    assert np.isnan(empty.numpy()).all()
