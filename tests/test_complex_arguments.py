"""Complex tensors as arguments of every public function.

The calls of the docstring examples are repeated with complex numbers in place of each argument that
is a tensor, an array, a list or a float. A call returns a result that agrees with the real one if
all imaginary parts are 0 and that depends on the imaginary parts, or raises an error that names the
function, the dtype and df.math.real. Values are compared with NumPy's by the tests of the ops."""

import contextlib
import io
import re
import warnings

import numpy as np
import pytest

import dualflow as df
from dualflow import _core
from dualflow.errors import DTypeError
from tests.recorded import public_functions, recorded
from tests.sampling import one_of

FUNCTIONS = sorted(public_functions()[0])
NAMES = {part for name in FUNCTIONS for part in name.split(".")} | {*_core.ops()}
DTYPES = ["complex64", "complex128"]

# Assertions compare numbers of any dtype: complex numbers fail the comparison.
COMPARE = "complex numbers are compared with real ones"
SAME = "expects one dtype; the message names both"
REFUSED = {
    "df.assert_equal": COMPARE, "df.debugging.assert_near": COMPARE,
    "df.testing.assert_close": COMPARE, "df.testing.assert_ulp": COMPARE,
    "df.debugging.assert_type": SAME, "df.linalg.cholesky_solve": SAME, "df.linalg.lstsq": SAME,
    "df.linalg.solve": SAME, "df.linalg.triangular_solve": SAME, "df.scan": SAME,
    "df.broadcast_dynamic_shape": "sizes", "df.image.decode_and_crop_jpeg": "sizes",
}
# Functions whose result for x + 0i is not that for x, or has other dimensions.
OTHER_RESULT = {
    "df.bitcast": "the bits of both parts",
    "df.experimental.numpy.iscomplexobj": "the dtype",
    "df.experimental.numpy.isrealobj": "the dtype",
    "df.test.compute_gradient": "Jacobians with rows and columns for both parts",
}
# Functions that may drop an imaginary part.
DROPS = {
    "df.cast": "with a warning", "df.saturate_cast": "with a warning",
    "df.math.real": "its purpose",
    **{f"df.signal.{f}": "the spectrum of real numbers has real first and last coefficients"
       for f in ("irfft", "irfft2d", "irfft3d", "irfftnd")},
}
WARNS = {"df.linalg.logm": "SciPy's estimate of the error"}


def is_numeric(x):
    """Return True for values that are replaced: numbers in tensors, arrays, lists or floats."""
    if isinstance(x, df.Variable | np.ndarray) or type(x) is df.Tensor:
        return np.asarray(x).dtype.kind in "iuf"
    if isinstance(x, list | tuple) and x:
        return all(map(is_numeric, x)) or all(isinstance(i, int) for i in x)
    return isinstance(x, float)


def positions(args, options):
    """Yield functions that replace one argument, and the arguments: (replace, argument)."""
    for i, x in enumerate(args):
        if is_numeric(x):
            yield i, x, lambda new, i=i: ((*args[:i], new, *args[i + 1:]), options)
    for name, x in options.items():
        if is_numeric(x):
            yield name, x, lambda new, name=name: (args, {**options, name: new})


def forms(x):
    """Yield the ways to write an argument: its numbers, and a function that packs them. A list of
    tensors may be one argument with a further dimension, or several tensors."""
    if isinstance(x, df.Variable):
        yield [np.asarray(x)], lambda arrays: df.Variable(arrays[0])
        return
    items = [np.asarray(i) for i in x] if isinstance(x, list | tuple) else []
    if len({i.shape for i in items}) <= 1:
        yield [np.asarray(items if items else x)], lambda arrays: df.constant(arrays[0])
    if items and not all(isinstance(i, int | float) for i in x):
        yield items, lambda arrays: [df.constant(a) for a in arrays]


def run(function, args, options):
    """Return the result and None, or None and the exception; and the warnings."""
    df.random.set_seed(1)
    quiet = io.StringIO()
    with np.errstate(all="ignore"), warnings.catch_warnings(record=True) as caught, \
            contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
        warnings.simplefilter("always")
        try:
            return function(*args, **options), None, caught
        except (Exception, SystemExit) as error:
            return None, error, caught


def arrays_of(result):
    if isinstance(result, df.SparseTensor | df.IndexedSlices):
        result = [result.indices, result.values]
    elif isinstance(result, df.RaggedTensor):
        result = result.flat_values
    if isinstance(result, list | tuple):
        return [a for r in result for a in arrays_of(r)]
    if isinstance(result, dict):
        return arrays_of([*result.values()])
    numbers = type(result) is df.Tensor or isinstance(result, df.Variable | np.ndarray | float
                                                      | int | complex)
    return [np.asarray(result)] if numbers else []


def is_close(a, b, tolerance):
    a, b = arrays_of(a), arrays_of(b)
    with np.errstate(all="ignore"):
        return len(a) == len(b) and all(
            x.shape == y.shape and (x.dtype.kind in "SUO" or np.allclose(
                x, y, tolerance, tolerance, equal_nan=True)) for x, y in zip(a, b, strict=True))


def of_parts(re, im):
    z = re.astype(np.complex128)
    z.imag = im
    return z


def refusal(error):
    """Return what the message of an error lacks."""
    text = str(error)
    said = re.match(r"(?:\w+\.)*(\w+)(\(\))?: ", text)
    if not isinstance(error, DTypeError):
        return f"{type(error).__name__}: {text}"
    dtypes = re.search("complex(64|128)", text)     # that of the other argument may be wider
    if not said or said[1] not in NAMES or not dtypes or "df.math.real" not in text:
        return f"expected the function, the dtype and df.math.real: {text}"
    return None


def problem(name, function, numbers, pack, replace, dtype):
    """Return what is wrong with a call with complex numbers, or None."""
    def called(change):
        return run(function, *replace(pack([change(a) for a in numbers])))

    limit = "float64" if dtype == "complex128" else "float32"
    real, failed, _ = called(lambda a: a.astype(limit))
    if failed is not None and limit == "float64":
        real, failed, _ = called(lambda a: a.astype("float32"))
    z, error, caught = called(lambda a: of_parts(a, 0.3 * a + 0.2).astype(dtype))
    if error is not None:
        if failed is not None:              # floats are refused as well
            fine = isinstance(error, TypeError | ValueError | NameError)
            return None if fine else f"{type(error).__name__}: {error}"
        return None if name in REFUSED else refusal(error)
    if caught and name not in WARNS and name not in DROPS:
        return f"warns: {caught[0].message}"
    if failed is not None:
        return f"accepts complex numbers, and refuses floats: {failed}"
    without, error, _ = called(lambda a: a.astype(dtype))
    if error is not None:
        return f"refuses imaginary parts of 0: {error}"
    tolerance = 1e-4 if dtype == "complex64" else 1e-6
    if name not in OTHER_RESULT and not is_close(without, real, tolerance):
        return f"returned {arrays_of(without)} for zero imaginary parts, {arrays_of(real)} for real"
    moved, error, _ = called(lambda a: a.astype(limit) * 1.1 + 0.05)
    depends = error is None and not is_close(moved, real, 1e-6)
    if depends and name not in DROPS and is_close(z, without, 1e-6):
        return f"ignores imaginary parts: {arrays_of(z)}"
    return None


@pytest.mark.parametrize("name", FUNCTIONS)
def test_complex_arguments(name):
    function, found = public_functions()[0][name], []
    tried = set()
    for args, options in recorded()[name]:
        for position, x, replace in positions(args, options):
            for k, (numbers, pack) in enumerate(forms(x)):
                if (position, k, numbers[0].ndim) in tried:
                    continue
                tried.add((position, k, numbers[0].ndim))
                for dtype in one_of(DTYPES, FUNCTIONS.index(name), len(tried)):
                    wrong = problem(name, function, numbers, pack, replace, dtype)
                    if wrong:
                        found.append(f"argument {position}, {dtype}: {wrong}")
    assert not found, "\n".join(found)


def test_most_functions_have_calls():
    calls = recorded()
    without = [name for name in FUNCTIONS if not calls[name]]
    assert len(FUNCTIONS) > 600 and len(without) < 30, without


def test_exceptions_have_functions():
    for table in (REFUSED, OTHER_RESULT, DROPS, WARNS):
        assert {*table} <= {*FUNCTIONS}
