"""Fourier transforms: NumPy's values at many lengths, gradients by differences in both parts, equal
bits in graphs, on any number of threads and at each SIMD level, and messages."""

import numpy as np
import pytest

import dualflow as df
from tests import levels
from tests.ops.signal.transforms import DTYPES, LENGTHS, RNG, assert_close, bits, numbers
from tests.threads.child import run

S = df.signal


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", LENGTHS)
def test_lengths(n, dtype):
    for shape, axis in (((n,), 0), ((3, n), 1), ((2, n, 5), 1), ((n, 4), 0)):
        if n > 5000 and len(shape) == 3:
            continue
        x = numbers(*shape, dtype=dtype)
        wide = x.astype("complex128")
        assert_close(S.fftnd(x, axes=[axis]), np.fft.fft(wide, axis=axis), dtype)
        assert_close(S.ifftnd(x, axes=[axis]), np.fft.ifft(wide, axis=axis), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_batches_of_short_rows(dtype):
    for shape in ((1000, 8), (67, 31), (33, 2), (5, 3), (40, 16), (64, 1), (100, 37)):
        x = numbers(*shape, dtype=dtype)
        assert_close(S.fft(x), np.fft.fft(x.astype("complex128")), dtype)


@pytest.mark.parametrize("columns", [1, 2, 3, 7, 8, 9, 33, 300])
def test_columns(columns):
    for n in (6, 16, 37, 60):
        x = numbers(2, n, columns)
        assert_close(S.fftnd(x, axes=[1]), np.fft.fft(x, axis=1), "complex128")


@pytest.mark.parametrize("name", ["fft", "ifft", "fft2d", "ifft2d", "fft3d", "ifft3d"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_last_dimensions(name, dtype):
    x = numbers(2, 4, 5, 6, dtype=dtype)
    n_axes = int(name[-2]) if name.endswith("d") else 1
    numpy = np.fft.ifftn if name.startswith("i") else np.fft.fftn
    want = numpy(x.astype("complex128"), axes=range(-n_axes, 0))
    assert_close(getattr(S, name)(x), want, dtype)


AXES = [(None, None), (None, [0]), ([3], None), ([4, 9], None), ([4, 9], [2, 0]), ([7, 2], [0, 1]),
        (None, [-1, 0])]


@pytest.mark.parametrize("lengths, axes", AXES)
@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
def test_axes_lengths_and_norms(lengths, axes, norm):
    x = numbers(3, 4, 6)
    shape = lengths and tuple(lengths)
    over = axes if lengths is None or axes else range(-len(lengths), 0)
    for name in ("fftn", "ifftn", "rfftn", "irfftn"):
        given = x.real if name == "rfftn" else x
        want = getattr(np.fft, name)(given, shape, over, norm)
        assert_close(getattr(S, f"{name}d")(given, lengths, axes, norm), want, want.dtype.name)


# Shapes of the tests of NumPy's and SciPy's transforms: sizes from 1, primes, lengths that truncate
# and pad, empty batches, and transforms along each axis.
@pytest.mark.parametrize("shape", [(1,), (1, 1), (2,), (30,), (6, 5), (17, 3), (0, 6), (5, 0, 3),
                                   (3, 1, 13), (2, 3, 4, 5), (1, 31), (1, 37, 2)])
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
def test_shapes(shape, norm):
    x = numbers(*shape)
    for axis in range(-len(shape), len(shape)):
        size = shape[axis]
        for n in {size, 1, 2, size - 1, size + 1, 2 * size, 37} - {0, -1}:
            for name in ("fft", "ifft", "rfft", "irfft"):
                given = x.real if name == "rfft" else x
                want = getattr(np.fft, name)(given, n, axis, norm)
                got = getattr(S, f"{name}nd")(given, [n], [axis], norm)
                assert_close(got, want, want.dtype.name)
    if 0 not in shape:
        for name in ("fftn", "ifftn", "rfftn", "irfftn"):
            for lengths in (None, [n + 1 for n in shape], [max(n - 1, 1) for n in shape]):
                if name == "irfftn" and lengths is None and shape[-1] == 1:
                    continue        # 0 results
                given = x.real if name == "rfftn" else x
                axes = range(len(shape))
                want = getattr(np.fft, name)(given, lengths, axes, norm)
                got = getattr(S, f"{name}d")(given, lengths, axes, norm)
                assert_close(got, want, want.dtype.name)


def test_round_trips():
    for n in (8, 9, 37, 1024, 20000):
        x = numbers(2, n)
        assert_close(S.ifft(S.fft(x)), x, "complex128")
        assert_close(S.irfft(S.rfft(x.real), n), x.real, "float64")
        assert_close(S.ifftnd(S.fftnd(x, norm="ortho"), norm="ortho"), x, "complex128")


def test_exact_values():
    """Roots of unity at multiples of a quarter are exact, so small transforms are too."""
    np.testing.assert_array_equal(S.fft([0, 1, 0, 0]), [1, -1j, -1, 1j])
    for n in (8, 64, 1024):
        delta = np.zeros(n)
        delta[0] = 1
        np.testing.assert_array_equal(S.fft(delta), np.ones(n))
        np.testing.assert_array_equal(S.fft(np.ones(n)), n * delta)


def test_order_of_frequencies():
    for shape in ((5,), (6,), (3, 4, 5)):
        x = RNG.normal(size=shape)
        for axes in (None, 0, [-1], list(range(len(shape)))):
            assert (S.fftshift(x, axes).numpy() == np.fft.fftshift(x, axes)).all()
            assert (S.ifftshift(x, axes).numpy() == np.fft.ifftshift(x, axes)).all()
    for n in (1, 2, 7, 8):
        np.testing.assert_allclose(S.fftfreq(n, 0.5), np.fft.fftfreq(n, 0.5), rtol=1e-7)
        np.testing.assert_allclose(S.rfftfreq(n, 0.5), np.fft.rfftfreq(n, 0.5), rtol=1e-7)


def test_dtypes():
    for given, want in (("float64", "complex128"), ("float32", "complex64"),
                        ("float16", "complex64"), ("int32", "complex64"), ("bool", "complex64")):
        x = df.cast([1, 0, 3, 2], given)
        assert S.fft(x).dtype.name == S.rfft(x).dtype.name == want
        np.testing.assert_allclose(S.fft(x), np.fft.fft(df.cast(x, "float64").numpy()), rtol=1e-6)
    assert S.irfft([1., 2.]).dtype is df.float32
    assert S.irfft(numbers(3)).dtype is df.float64


def test_empty():
    for shape in ((0, 4), (3, 0), (0,)):
        assert S.fft(np.zeros(shape, "complex64")).shape == shape
    assert S.rfft(np.zeros((0, 5))).shape == (0, 3)
    assert S.irfft(np.zeros((0, 3), "complex64")).shape == (0, 4)
    np.testing.assert_array_equal(S.fftnd(np.zeros((2, 0)), [4], [1]), np.zeros((2, 4)))


def test_not_finite_numbers_stay_in_their_row():
    for n in (8, 37, 64):
        x = numbers(3, n)
        x[1, 2] = np.inf
        y = S.fft(x).numpy()
        assert np.isfinite(y[[0, 2]]).all() and not np.isfinite(y[1]).any()
        for y in (S.rfft(x.real).numpy(), S.irfft(x, n).numpy()):
            assert np.isfinite(y[[0, 2]]).all() and not np.isfinite(y[1]).all()


# --- gradients -------------------------------------------------------------------------------

TRANSFORMS = {
    "fft": (S.fft, (2, 6)), "ifft": (S.ifft, (2, 5)), "fft of a prime": (S.fft, (2, 37)),
    "fft2d": (S.fft2d, (2, 3, 4)), "ifft3d": (S.ifft3d, (2, 3, 2)),
    "fftnd": (lambda x: S.fftnd(x, [5, 2], [1, 0], "ortho"), (3, 4)),
    "ifftnd": (lambda x: S.ifftnd(x, [5], [0], "forward"), (3, 4)),
    "rfft": (lambda x: S.rfft(df.math.real(x)), (2, 6)),
    "rfft of pairs": (lambda x: S.rfft(df.math.real(x)), (34,)),
    "rfft of a prime": (lambda x: S.rfft(df.math.real(x)), (37,)),
    "rfft of an axis": (lambda x: S.rfftnd(df.math.real(x), [6], [0], "ortho"), (5, 2)),
    "irfft of pairs": (S.irfft, (18,)),
    "irfft of an axis": (lambda x: S.irfftnd(x, [5], [0], "forward"), (4, 2)),
    "rfft odd": (lambda x: S.rfft(df.math.real(x), 5), (2, 6)),
    "rfft padded": (lambda x: S.rfft(df.math.imag(x), 9), (2, 6)),
    "irfft": (S.irfft, (2, 4)), "irfft odd": (lambda x: S.irfft(x, 7), (2, 4)),
    "irfft cut": (lambda x: S.irfft(x, 4), (2, 4)),
    "irfft padded": (lambda x: S.irfft(x, 11), (4,)),
    "irfft2d": (S.irfft2d, (3, 4)), "rfftnd": (
        lambda x: S.rfftnd(df.math.real(x), [4, 3], [1, 0], "forward"), (2, 5)),
    "fftshift": (S.fftshift, (3, 4)),
}


def loss(transform):
    """Return a real function that depends on both parts of a transform."""
    def of(x):
        y = transform(x)
        weights = df.reshape(df.cast(df.range(df.size(y)) % 5 + 1, df.float64), y.shape)
        return df.reduce_sum(df.sin(df.math.real(y)) * weights + df.square(df.math.imag(y)))
    return of


def differences(f, x, eps=1e-6):
    """Return the derivative by the real part plus i times the derivative by the imaginary part."""
    g = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        for part in (1, 1j):
            step = np.zeros_like(x)
            step[at] = eps * part
            g[at] += part * (f(df.constant(x + step)) - f(df.constant(x - step))).item() / 2 / eps
    return g


def gradient_of(f, x):
    with df.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_gradients(name):
    transform, shape = TRANSFORMS[name]
    f, x = loss(transform), numbers(*shape)
    got = gradient_of(f, df.constant(x))
    np.testing.assert_allclose(got, differences(f, x), rtol=1e-5, atol=1e-6)

    def slope(x):
        return df.reduce_sum(df.square(df.abs(gradient_of(f, x))))

    second = gradient_of(slope, df.constant(x))
    np.testing.assert_allclose(second, differences(slope, x), rtol=1e-4, atol=1e-3)


def test_gradient_of_the_fft_is_the_inverse():
    g = numbers(3, 6)
    x = df.constant(numbers(3, 6))
    with df.GradientTape() as tape:
        tape.watch(x)
        y = S.fft(x)
    np.testing.assert_allclose(tape.gradient(y, x, output_gradients=df.constant(g)),
                               np.fft.ifft(g) * 6, rtol=1e-12)


# --- graphs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TRANSFORMS)
def test_traced_functions(name):
    transform, shape = TRANSFORMS[name]
    x = df.constant(numbers(*shape))
    f = loss(transform)
    for function in (transform, lambda x: gradient_of(f, x)):
        want = bits(function(x))
        assert bits(df.function(function)(x)) == want
        assert bits(df.function(function, passes=False)(x)) == want


def test_unknown_sizes():
    f = df.function(lambda x: (S.fft(x), S.irfft(S.rfft(df.math.real(x)))),
                    input_signature=[df.TensorSpec([None, None], "complex128")])
    for n in (2, 8, 64, 74, 1024):
        x = numbers(3, n)
        y, back = f(df.constant(x))
        assert_close(y, np.fft.fft(x), "complex128")
        np.testing.assert_allclose(back, x.real, atol=1e-12)


def test_lengths_from_shapes():
    f = df.function(lambda x, y: S.irfft(S.rfft(x, y.shape[0]), x.shape[0]))
    x, y = RNG.normal(size=12), np.zeros(20)
    np.testing.assert_allclose(f(df.constant(x), df.constant(y)),
                               np.fft.irfft(np.fft.rfft(x, 20), 12), atol=1e-12)


def test_vectorized_map():
    x = numbers(4, 3, 5)
    got = df.vectorized_map(S.fft, df.constant(x))
    np.testing.assert_allclose(got, np.fft.fft(x), atol=1e-12)
    got = df.vectorized_map(lambda row: S.fftnd(row, axes=[0]), df.constant(x))
    np.testing.assert_allclose(got, np.fft.fft(x, axis=1), atol=1e-12)
    got = df.vectorized_map(S.rfft, df.constant(x.real))
    np.testing.assert_allclose(got, np.fft.rfft(x.real), atol=1e-12)
    got = df.vectorized_map(S.irfft, df.constant(x))
    np.testing.assert_allclose(got, np.fft.irfft(x), atol=1e-12)


def test_derivatives_along_a_direction():
    x, v = df.constant(RNG.normal(size=6)), df.constant(RNG.normal(size=6))
    with df.autodiff.ForwardAccumulator(x, v) as forward:
        y = df.math.imag(S.fft(df.square(x)))
    np.testing.assert_allclose(forward.jvp(y), np.fft.fft(2 * x.numpy() * v.numpy()).imag,
                               atol=1e-12)


CHILD = """
import hashlib, numpy as np, dualflow as df
rng = np.random.default_rng(1)
seen = hashlib.sha256()
for dtype in ("complex64", "complex128"):
    for shape, axis in (((64, 1024), 1), ((1, 1 << 16), 1), ((300, 200), 0), ((7, 1009), 1),
                        ((1000, 6), 1), ((2, 37, 90), 1)):
        x = (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
        y = df.signal.fftnd(x, axes=[axis]).numpy()
        want = np.fft.fft(x.astype("complex128"), axis=axis)
        assert np.abs(y - want).max() <= np.abs(want).max() * (1e-6 if dtype == "complex64"
                                                               else 1e-14)
        seen.update(y.tobytes())
        if axis == 1:
            half = df.signal.rfft(x.real)
            for part in (half, df.signal.irfft(half, shape[-1])):
                seen.update(part.numpy().tobytes())
print(seen.hexdigest())
"""


@pytest.mark.parametrize("level", ["", "baseline"])
def test_equal_bits_on_any_number_of_threads(level):
    if level:
        levels.skip_unless_available(level)
    environment = {"DUALFLOW_ISA": level} if level else {}
    results = {run(CHILD, DUALFLOW_NUM_THREADS=str(n), **environment) for n in (1, 2, 3)}
    assert len(results) == 1


# --- messages --------------------------------------------------------------------------------


@pytest.mark.parametrize("call, error, text", [
    (lambda: S.fft(1j), df.errors.ShapeError, r"fft: shape \(\), expected at least 1"),
    (lambda: S.fft2d([1.]), df.errors.ShapeError, r"fft2d: shape \(1,\), expected at least 2"),
    (lambda: S.rfft3d([[1.]]), df.errors.ShapeError, "rfft3d: .*at least 3"),
    (lambda: S.rfft([1j]), df.errors.DTypeError, "rfft: complex128, expected real .*math.real"),
    (lambda: S.rfft([1., 2.], 0), df.errors.InvalidArgumentError, "rfft: fft_length is 0"),
    (lambda: S.irfft([1.]), df.errors.InvalidArgumentError, "irfft: fft_length is 0"),
    (lambda: S.rfft([1., 2.], [2, 3]), df.errors.InvalidArgumentError,
     "rfft: fft_length has 2 numbers for 1 axes"),
    (lambda: S.fftnd([1j], axes=[1]), df.errors.InvalidArgumentError, r"fftnd: axes are \[1\]"),
    (lambda: S.fftnd([[1j]], axes=[0, -2]), df.errors.InvalidArgumentError, "each axis once"),
    (lambda: S.fftnd([1j], norm="unit"), df.errors.InvalidArgumentError, "fftnd: norm is 'unit'"),
    (lambda: S.fftnd([1j], [-1]), df.errors.InvalidArgumentError, "fftnd: fft_length is -1"),
    (lambda: S.fft("a"), df.errors.DualflowError, "fft"),
    (lambda: S.fftshift([1], 3), df.errors.InvalidArgumentError, "fftshift: axes"),
    (lambda: S.fftfreq(0), df.errors.InvalidArgumentError, "fftfreq"),
])
def test_bad_input(call, error, text):
    with pytest.raises(error, match=text):
        call()
