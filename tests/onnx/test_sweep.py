"""Files of elementwise ops, and of random programs of them, at the extreme values of every dtype.

`pytest -m soak` tests every row of the op table in every dtype; the default run tests one dtype of
each. onnxruntime is used as well if installed.
"""

import random
import warnings

import numpy as np
import pytest

pytest.importorskip("onnx")

import dualflow as df
from dualflow.onnx.exporters import RULES
from tests.onnx import extremes
from tests.onnx.runtimes import model_of
from tests.ops import harness
from tests.ops.case import COMPLEX, INTS, sample
from tests.ops.cases import CASES

# Runtimes whose results are not compared, by op, with reasons.
RUNTIMES = ("reference", "runtime")
SKIPPED = {
    "erf": (RUNTIMES, "approximated in float32 by the reference evaluator"),
    "erfc": (("load", *RUNTIMES), "written as 1 - erf, which loses digits"),
    "gelu": (RUNTIMES, "the standard's formula gives NaN at -infinity"),
    "softsign": (RUNTIMES, "the standard's formula gives NaN at infinities"),
    "selu": (RUNTIMES, "the standard rounds its constants to float32"),
    "sign": (("runtime",), "0 for NaN in float16"),
    "pow": (RUNTIMES, "computed in float64 by onnxruntime, of integers"),
    "sigmoid_grad": (("runtime",), "sigmoid is 0 too early"),
    "silu_grad": (("runtime",), "sigmoid is 0 too early"),
    "tanh_grad": (("runtime",), "sigmoid is 0 too early"),
    "gelu_grad": (RUNTIMES, "by erf"),
    "normalize_by": (("runtime",), "drops pairs of casts, and so the rounding to float16"),
}
# Relative errors of formulas with cancellation, or with subnormal factors.
ERRORS = {"gelu_grad": 0.05, "silu_grad": 0.05, "selu_grad": 0.05}
# Formulas that round to zero, and operators that may return either zero.
UNSIGNED_ZEROS = {"gelu_grad", "selu_grad", "elu_grad", "maximum", "minimum", "clip_by_value",
                  "relu", "relu6", "sign"}
ROWS = [c for c in CASES if c.op in RULES and harness.elementwise(c)]
REAL = {c: [d for d in c.dtypes if d not in COMPLEX] for c in ROWS}     # ONNX files hold these
ALL = [(c, d) for c in ROWS for d in dict.fromkeys([
    *REAL[c], *(("float16", "bfloat16") if "float32" in c.dtypes else ())])]
SAMPLED = [(c, d) for k, c in enumerate(ROWS)
           for j, d in enumerate(REAL[c]) if j == k % len(REAL[c])]


def arguments(case, dtype):
    """Return the row's arguments with the extreme values of a dtype as samples, or None."""
    if case.op == "pow" and dtype in INTS:
        return None                     # negative exponents are rejected
    samples = [a for a in case.args if isinstance(a, sample)]
    first = ["bool"] if case.op == "where" else []
    arrays = extremes.outer([*first, *[dtype] * (len(samples) - len(first))])
    if case.op in ("floordiv", "floormod") and dtype in INTS:
        arrays[1] = arrays[1][arrays[1] != 0].reshape(1, -1)
    drawn = iter(arrays)
    return [next(drawn) if isinstance(a, sample) else a for a in case.args]


def compared(case, arrays, want):
    """Return where results count: casts to 32 or 64 bits beyond their range are undefined."""
    wide = want[0].dtype.kind in "iu" and want[0].dtype.itemsize >= 4
    if case.op == "cast" and wide and arrays[0].dtype.kind not in "biu":
        return np.abs(np.nan_to_num(arrays[0].astype("float64"), nan=np.inf)) < 2. ** 31
    return True


def check(case, dtype):
    args = arguments(case, dtype)
    if args is None:
        return
    is_array = lambda a: isinstance(a, np.ndarray | np.generic)  # noqa: E731
    arrays = [np.asarray(a) for a in harness.results(args) if is_array(a)]
    want = harness.run(case, args)

    def fn(*xs):
        given = iter(xs)
        again = harness.each(lambda a: next(given) if is_array(a) else a, args)
        return harness.results(harness.function(case)(*again, **case.kwargs))

    try:
        model = model_of(fn, *[df.TensorSpec(a.shape, a.dtype.name) for a in arrays])
    except df.errors.UnimplementedError:
        return                          # Pow does not support all integers
    skip, _ = SKIPPED.get(case.op, ((), ""))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        extremes.check(want, model, arrays, rtol=ERRORS.get(case.op, 0.), skip=skip, 
                       where=compared(case, arrays, want), zeros=case.op not in UNSIGNED_ZEROS)


@pytest.mark.parametrize("case, dtype", [pytest.param(c, d, id=f"{c}-{d}") for c, d in SAMPLED])
def test_row(case, dtype):
    check(case, dtype)


@pytest.mark.soak
@pytest.mark.parametrize("case, dtype", [pytest.param(c, d, id=f"{c}-{d}") for c, d in ALL])
def test_every_row(case, dtype):
    check(case, dtype)


# --- random programs of ops whose results are exact -------------------------------------------

m = df.math
STEPS = {
    "add": lambda a, b, c: a + b, "subtract": lambda a, b, c: a - b,
    "multiply": lambda a, b, c: a * b, "negative": lambda a, b, c: -a,
    "abs": lambda a, b, c: df.abs(a), "sign": lambda a, b, c: df.sign(a),
    "minimum": lambda a, b, c: df.minimum(a, b), "maximum": lambda a, b, c: df.maximum(a, b),
    "clip": lambda a, b, c: df.clip_by_value(a, b, c),
    "where": lambda a, b, c: df.where(a < b, b, c), "equal": lambda a, b, c: df.where(
        df.equal(a, b), c, a),
    "floordiv": lambda a, b, c: m.floordiv(a, nonzero(b)),
    "floormod": lambda a, b, c: m.floormod(a, nonzero(b)),
    "bits": lambda a, b, c: a if a.dtype.is_floating else df.bitwise.bitwise_xor(a, b),
    "shift": lambda a, b, c: a if a.dtype.is_floating else df.bitwise.right_shift(
        df.bitwise.left_shift(a, 3), 2),
    "rounded": lambda a, b, c: df.floor(a) + m.trunc(b) if a.dtype.is_floating else a,
    "divide": lambda a, b, c: a / nonzero(b) if a.dtype.is_floating else a - c,
    "reversed": lambda a, b, c: df.reverse(a, [0]),
}


def nonzero(b):
    """Replace zeros: integers reject a divisor of 0, and the sign of a zero may be lost before."""
    return df.where(df.equal(b, 0), 1, b)


def check_program(seed):
    """Compare without signs of zeros: `maximum` and similar ops may return either."""
    chosen = random.Random(seed)
    dtype = chosen.choice([*INTS, "float32", "float64"])
    steps = [(chosen.choice(sorted(STEPS)), *[chosen.randrange(60) for _ in range(3)])
             for _ in range(chosen.randrange(1, 6))]
    values = extremes.ends(dtype)
    rng = np.random.default_rng(seed)
    arrays = [rng.choice(values, 64) for _ in range(3)]

    def fn(*args):
        made = list(args)
        for kind, *which in steps:
            made.append(STEPS[kind](*[made[-1 - k % len(made)] for k in which]))
        return made[3:]

    want = [y.numpy() for y in fn(*map(df.constant, arrays))]
    model = model_of(fn, *[df.TensorSpec(a.shape, dtype) for a in arrays])
    extremes.check(want, model, arrays, exact=True, zeros=False)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(40))
def test_program(seed):
    check_program(seed)


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_many_programs():
    for seed in range(40, 3000):
        try:
            check_program(seed)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
