"""Functions of complex numbers: values, special values, SIMD levels, threads."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dualflow as df
from dualflow import _core
from tests import levels
from tests.ops.harness import threads

ROOT = Path(__file__).resolve().parents[3]
SIZES = (0, 1, 3, 64, 1000)
DTYPES = ("complex64", "complex128")


def sigmoid(z):
    e = np.exp(np.where(z.real > 0, -z, z))
    return np.where(z.real > 0, 1, e) / (1 + e)


def expm1(z):
    x, y = z.real, z.imag
    return np.expm1(x) * np.cos(y) - 2 * np.sin(y / 2)**2 + 1j * (np.exp(x) * np.sin(y))


def log1p(z):
    x, y = z.real, z.imag
    far = np.log(1 + z)
    near = np.log1p(x * (2 + x) + y * y) / 2 + 1j * np.arctan2(y, 1 + x)
    return np.where(abs(z) < 0.5, near, far)


# Each function with its reference and its largest error in ulp of the larger part of the result, in
# complex64 and complex128. The docstrings state these figures.
FUNCTIONS = {
    "exp": (df.exp, np.exp, 3, 3),
    "expm1": (df.math.expm1, expm1, 1, 3),
    "log": (df.math.log, np.log, 2, 2),
    "log1p": (df.math.log1p, log1p, 1, 4),
    "sqrt": (df.sqrt, np.sqrt, 2, 2),
    "rsqrt": (df.math.rsqrt, lambda z: 1 / np.sqrt(z), 5, 5),
    "sin": (df.sin, np.sin, 3, 3),
    "cos": (df.cos, np.cos, 3, 3),
    "tan": (df.tan, np.tan, 1, 7),
    "asin": (df.asin, np.arcsin, 1, 4),
    "acos": (df.acos, np.arccos, 1, 5),
    "atan": (df.atan, np.arctan, 1, 5),
    "sinh": (df.sinh, np.sinh, 3, 3),
    "cosh": (df.cosh, np.cosh, 3, 3),
    "tanh": (df.tanh, np.tanh, 5, 5),
    "asinh": (df.asinh, np.arcsinh, 1, 4),
    "acosh": (df.acosh, np.arccosh, 1, 5),
    "atanh": (df.atanh, np.arctanh, 1, 5),
    "sigmoid": (df.sigmoid, sigmoid, 10, 10),
}


def points(n, dtype, seed=0):
    """Return numbers of moderate size, on the unit circle, near 1, and near multiples of pi/2."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n)), rng.normal(size=(2, n)) * np.exp(2 * rng.normal(size=(2, n)))
    k = rng.integers(-8, 8, (2, n)) * np.pi / 2 + rng.normal(size=(2, n)) / 1000
    kinds = [a[0] + 1j * a[1], np.clip(b[0], -80, 80) + 1j * np.clip(b[1], -80, 80),
             np.exp(1j * rng.uniform(-4, 4, n)), 1 + (a[0] + 1j * a[1]) / 1000, k[0] + 1j * k[1]]
    return np.choose(rng.integers(0, len(kinds), n), kinds).astype(dtype)


def errors(got, want):
    """Return errors in ulp of the larger part."""
    larger = np.maximum(abs(want.real), abs(want.imag)).astype(got.real.dtype)
    error = np.maximum(abs(got.real - want.real), abs(got.imag - want.imag))
    return error / np.spacing(larger)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name, dtype):
    f, reference, *limits = FUNCTIONS[name]
    for n in SIZES:
        z = points(n, dtype, seed=n)
        got = f(z).numpy()
        assert got.dtype == dtype and got.shape == (n,)
        bad = errors(got, reference(z.astype(np.clongdouble))) > limits[dtype == "complex128"]
        assert not bad.any(), (n, z[bad][:3], got[bad][:3])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_do_not_depend_on_position_or_threads(name):
    f = FUNCTIONS[name][0]
    z = np.concatenate([points(40_000, "complex64"), SPECIAL.astype("complex64")])
    whole = f(z).numpy().view("u4")
    np.testing.assert_array_equal(f(z[7:]).numpy().view("u4"), whole[14:])
    np.testing.assert_array_equal(df.function(f)(z).numpy().view("u4"), whole)
    for i in (0, 5, -1, -30):
        np.testing.assert_array_equal(f(z[i]).numpy().reshape(1).view("u4"), whole[2 * i:][:2])
    with threads(1):
        np.testing.assert_array_equal(f(z).numpy().view("u4"), whole)


PARTS = [0., -0., 1., -1., 2.5, -0.5, np.inf, -np.inf, np.nan]
SPECIAL = np.array([complex(a, b) for a in PARTS for b in PARTS])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", sorted({*FUNCTIONS} - {"rsqrt", "sigmoid", "expm1", "log1p"}))
def test_special_values_and_sides_of_branch_cuts(name, dtype):
    """NumPy's functions are those of the C library, with the values of C11, Annex G."""
    f, reference, *_ = FUNCTIONS[name]
    with np.errstate(all="ignore"):
        want = reference(SPECIAL)
    got = f(SPECIAL.astype(dtype)).numpy()
    for g, w in ((got.real, want.real), (got.imag, want.imag)):
        np.testing.assert_allclose(g, w, rtol=1e-6, atol=0)
        known = ~np.isnan(w)
        np.testing.assert_array_equal(np.signbit(g)[known], np.signbit(w)[known])


INF, NAN = np.inf, np.nan
# From C11, Annex G (exp, log, sqrt), and of e^z - 1, log(1 + z) and 1 / (1 + e^-z) their limits.
HAND_DERIVED = [
    ("exp", complex(INF, 0), complex(INF, 0)), ("exp", complex(-INF, INF), 0),
    ("exp", complex(INF, NAN), complex(INF, NAN)), ("exp", complex(0, INF), complex(NAN, NAN)),
    ("exp", complex(-INF, 1), 0), ("exp", complex(NAN, 0), complex(NAN, 0)),
    ("log", complex(0, 0), complex(-INF, 0)), ("log", complex(-0., 0), complex(-INF, np.pi)),
    ("log", complex(-INF, INF), complex(INF, 3 * np.pi / 4)),
    ("log", complex(INF, NAN), complex(INF, NAN)), ("log", complex(-1, 0.), complex(0, np.pi)),
    ("log", complex(-1, -0.), complex(0, -np.pi)),
    ("sqrt", complex(-4, 0.), complex(0, 2)), ("sqrt", complex(-4, -0.), complex(0, -2)),
    ("sqrt", complex(NAN, INF), complex(INF, INF)), ("sqrt", complex(-INF, 1), complex(0, INF)),
    ("expm1", complex(INF, 0), complex(INF, 0)), ("expm1", complex(-INF, 1), complex(-1, 0)),
    ("expm1", complex(0, -0.), complex(0, -0.)), ("expm1", complex(NAN, 1), complex(NAN, NAN)),
    ("log1p", complex(-1, 0), complex(-INF, 0)), ("log1p", complex(-2, -0.), complex(0, -np.pi)),
    ("log1p", complex(1e-30, 1e-30), complex(1e-30, 1e-30)),
    ("sigmoid", complex(INF, NAN), 1), ("sigmoid", complex(-INF, INF), 0),
    ("sigmoid", complex(2000, 1), 1), ("sigmoid", complex(0, 0), 0.5),
    ("sigmoid", complex(1, INF), complex(NAN, NAN)),
    ("rsqrt", complex(INF, 0), 0), ("rsqrt", complex(-4, 0.), complex(0, -0.5)),
    ("tanh", complex(INF, INF), 1), ("tanh", complex(1000, 1), 1),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name, z, want", HAND_DERIVED)
def test_hand_derived_values(name, z, want, dtype):
    got = FUNCTIONS[name][0](np.array([z, 0.3, z], dtype)).numpy()[[0, 2]]
    for part in (np.real, np.imag):
        np.testing.assert_allclose(part(got), np.full(2, part(want)), rtol=1e-6, atol=0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_magnitudes_up_to_the_limits(dtype):
    big, tiny = np.finfo(dtype).max, np.finfo(dtype).tiny
    z = np.array([complex(big, -big) / 2, complex(tiny, tiny), complex(tiny, big), tiny * 1j],
                 dtype)
    for name in ("log", "sqrt"):
        f, reference, *_ = FUNCTIONS[name]
        np.testing.assert_allclose(f(z), reference(z.astype(np.clongdouble)).astype(dtype),
                                   rtol=4 * np.finfo(dtype).eps)
    # The exponential overflows, its product with the cosine does not.
    x = np.log(float(big)) + 0.5
    z = np.array([complex(x, 1.5), complex(x, 0.5)], dtype)
    got = df.exp(z).numpy()
    want = np.exp(z[:1].astype(np.clongdouble)).real
    np.testing.assert_allclose(got.real[:1], want.astype(got.real.dtype),
                               rtol=4 * np.finfo(dtype).eps)
    assert np.isinf(got.real[1])


def test_the_logarithm_near_the_unit_circle_is_exact_in_both_parts():
    z = np.exp(1j * np.linspace(0.1, 3, 100)).astype("complex64")
    want = np.log(z.astype(np.clongdouble))
    np.testing.assert_allclose(df.math.log(z).numpy().real, want.real, rtol=3e-5, atol=0)


# --- powers -------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", DTYPES)
def test_integer_powers_are_products(dtype):
    z = points(1000, dtype)
    x = df.constant(z)
    square, cube = x * x, x * x * x
    np.testing.assert_array_equal(x**2, square)
    np.testing.assert_array_equal(x**3, cube)
    np.testing.assert_array_equal(x**4, square * square)
    np.testing.assert_array_equal(x**1, z)
    np.testing.assert_array_equal(x**0, np.ones_like(z))
    np.testing.assert_array_equal(x**-1, df.math.reciprocal(x))
    for f in (lambda x: x**2, lambda x: x**3, lambda x: x**7, lambda x: x**-2, lambda x: x**0.5):
        np.testing.assert_array_equal(df.function(f)(x), f(x))
    gaussian = df.constant([1 + 2j, -3 + 1j], dtype)
    assert (gaussian**5).numpy().tolist() == [(1 + 2j)**5, (-3 + 1j)**5]


@pytest.mark.parametrize("dtype", DTYPES)
def test_powers(dtype):
    x = points(1000, dtype, seed=1)
    mixed = np.resize([2, 2.5, 3 + 1j, -2, 0, 0.5, -0.5, 1j, 7, 65, -1.5 - 1j, 1], 1000)
    x[:300], y = x[0], mixed.astype(dtype)
    y[600:] = points(400, dtype, seed=2)
    x, y = x[abs(y * np.log(x.astype("complex128"))) < 60], y[abs(y * np.log(x)) < 60]
    want = np.exp(y.astype(np.clongdouble) * np.log(x.astype(np.clongdouble)))
    want[y == 0] = 1
    got = df.pow(x, y).numpy()
    limit = 20 if dtype == "complex64" else 4 + 3 * abs(y * np.log(x))
    assert (errors(got, want) <= limit).all()
    np.testing.assert_array_equal(df.function(df.pow)(x, y), got)
    alone = [df.pow(a, b).numpy() for a, b in zip(x[:40], y[:40], strict=True)]
    np.testing.assert_array_equal(got[:40], alone)


def test_special_powers():
    x = np.array([0, 0, 0, 0, NAN, 1e-200 + 1e-200j, 1e200, -4, INF])
    y = np.array([0, 2.5, -1, 1 + 1j, 0, -2, -2, 0.5, -1])
    got = df.pow(x, y).numpy()
    assert got[[0, 1, 4]].tolist() == [1, 0, 1] and np.isnan(got[[2, 3]]).all()
    assert got[6] == 0 and got[7] == 2j and got[8] == 0
    assert not np.isfinite(got[5])


def test_powers_of_real_operands():
    np.testing.assert_allclose(df.pow(df.constant([2., -2.]), 1j).numpy(),
                               np.array([2, -2], "c8")**1j, rtol=1e-6)
    assert df.pow(df.constant([1j], "complex64"), df.constant([2])).dtype == df.complex64
    assert df.pow(df.constant([1j], "complex64"), df.constant([2.], "float64")).dtype \
        == df.complex128


# --- other functions ----------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_products_that_a_zero_decides(n, dtype):
    x, y = points(n, dtype, seed=3), points(n, dtype, seed=4)
    x[::3], y[::3] = 0, [NAN, INF][n % 2]
    rest = x != 0
    some = {"rtol": 20 * np.finfo(dtype).eps}
    for f, want in (
            (df.math.xlogy, x[rest] * np.log(y[rest])),
            (df.math.xlog1py, x[rest] * log1p(y[rest])),
            (df.math.xdivy, x[rest] / y[rest]),
            (lambda x, y: df.math.multiply_no_nan(y, x), x[rest] * y[rest])):
        got = f(x, y).numpy()
        assert (got[~rest] == 0).all()
        size = abs(want).max(initial=0)
        np.testing.assert_allclose(got[rest], want, atol=size * some["rtol"], **some)


@pytest.mark.parametrize("dtype", DTYPES)
def test_tests_of_either_part(dtype):
    for n in (0, 1, 81, 700):
        z = np.resize(SPECIAL, n).astype(dtype)
        np.testing.assert_array_equal(df.math.is_nan(z), np.isnan(z))
        np.testing.assert_array_equal(df.math.is_inf(z), np.isinf(z))
        np.testing.assert_array_equal(df.math.is_finite(z), np.isfinite(z))


def test_polar():
    size, angle = np.array([1., 2., -1.], "f4"), np.array([[0.5], [4.]], "f4")
    got = df.math.polar(size, angle).numpy()
    assert got.dtype == "complex64"
    np.testing.assert_allclose(got, size * np.exp(1j * angle), rtol=1e-6)
    assert df.math.polar(2., df.constant(0., "float64")).numpy() == 2
    with pytest.raises(df.errors.DTypeError, match="float32"):
        df.math.polar(1j, 1.)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["abs", "angle", "conj", "sign"])
def test_special_values_of_sizes_and_angles(name, dtype):
    z = SPECIAL.astype(dtype)
    f = getattr(df, name, None) or getattr(df.math, name)
    with np.errstate(all="ignore"):
        got, want = f(z).numpy(), getattr(np, name)(z)
    for part in ("real", "imag"):
        np.testing.assert_allclose(getattr(got, part), getattr(want, part), rtol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_signs_of_zeros(dtype):
    got = df.sign(df.constant([0., -0., complex(0., -0.), complex(-0., -0.)], dtype)).numpy()
    for part in (got.real, got.imag):
        assert (part == 0).all() and not np.signbit(part).any()


def test_parts_and_angles_of_infinite_real_numbers():
    x = df.constant([np.inf, -np.inf, -2., 0.])
    assert df.math.imag(x).tolist() == [0, 0, 0, 0] and df.math.imag(True).item() is False
    np.testing.assert_allclose(df.math.angle(x), [0, np.pi, np.pi, 0], rtol=1e-6)
    assert df.function(df.math.imag)(x).tolist() == [0, 0, 0, 0]


def test_functions_without_a_complex_meaning_refuse():
    z = df.constant([1 + 1j])
    for f in (df.math.softplus, df.math.erf, df.math.lgamma, df.round, df.floor, df.atan2):
        with pytest.raises(df.errors.DTypeError, match="complex128"):
            f(*[z] * (2 if f is df.atan2 else 1))


@pytest.mark.parametrize("level", [x for x in ("baseline", "avx2", "avx512") if x != _core.isa()])
def test_other_levels(level):
    levels.skip_unless_available(level)
    chosen = "test_values or special or powers or exact or limits or hand or zero_decides"
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k", chosen,
         str(Path(__file__).relative_to(ROOT))],
        cwd=ROOT, env={**os.environ, "DUALFLOW_ISA": level}, capture_output=True, text=True,
        timeout=600, check=False)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-1000:]
