"""Every row that takes float32, in float16 and bfloat16: each op computes in float32 and rounds
once; traced, without passes and in a larger cluster the bits are the same.

By default a row has its gradient in one of the two dtypes, and every third row of an op is traced
in one; with ``pytest --exhaustive`` all rows in both.
"""

import ml_dtypes
import numpy as np
import pytest

import dualflow as df
from dualflow.graph.ir import LEAVES
from tests import sampling
from tests.ops import harness
from tests.ops.cases import CASES
from tests.ops.test_traced import bits, calling, compare_call, surrounded

HALF_UNIT = {"float16": 2.0**-11, "bfloat16": 2.0**-8}      # of 1, in units in the last place
# `complex` has no 16-bit parts.
FLOAT = [c for c in CASES if "float32" in c.dtypes and c.op != "complex"]


def rows(cases, in_turn=False):
    """Return test parameters `case, half`: each row in both dtypes, or in one in turn."""
    return [pytest.param(c, half, id=f"{c}-{half}") for k, c in enumerate(cases)
            for half in (sampling.one_of(list(HALF_UNIT), k) if in_turn else HALF_UNIT)]


def halves(case, half):
    """Return the row's arrays as tensors, with floats cast to the 16-bit dtype."""
    found = []

    def take(value):
        if isinstance(value, np.ndarray | np.generic):
            x = df.constant(value)
            found.append(df.cast(x, half) if x.dtype is df.float32 else x)
        return value

    args = harness.each(take, harness.make(case, "float32"))
    return args, found


def widened(tensors):
    return [df.cast(x, df.float32) if x.dtype.is_floating else x for x in tensors]


def narrowed(tensors, like):
    """Round to 16-bit floats where `like` has them."""
    return [df.cast(x, y.dtype) if y.dtype.is_floating else x
            for x, y in zip(tensors, like, strict=True)]


def tensors_of(values):
    return [y for y in values if isinstance(y, df.Tensor)]


def forward(case, args):
    """Return the row as a function of its tensors."""
    def call(*tensors):
        turn = iter(tensors)
        filled = harness.each(lambda a: next(turn) if isinstance(a, np.ndarray | np.generic) else a,
                              args)
        return harness.results(harness.function(case)(*filled, **case.kwargs))
    return call


def n_ops(call, tensors):
    """Return the number of ops that compute; views only move elements."""
    graph = df.function(call, passes=False).graph_for(*tensors)
    return len([n for n in graph.nodes if n.op not in LEAVES and n.op.kind != "view"])


def close(got, want, half):
    """Check that values rounded after each of a few ops are close to float32 results."""
    for g, w in zip(got, want, strict=True):
        wide = df.complex128 if g.dtype.is_complex else df.float64
        g, w = (df.cast(x, wide).numpy() for x in (g, w))
        finite = np.isfinite(g) & np.isfinite(w)
        np.testing.assert_array_equal(np.isnan(g), np.isnan(w))
        size = np.abs(w[finite])
        allowed = 16 * HALF_UNIT[half] * np.maximum(size, 0.25 * size.max(initial=0)) + 1e-5
        assert np.all(np.abs(g[finite] - w[finite]) <= allowed), (g, w)


@pytest.mark.parametrize("case, half", rows(FLOAT))
def test_value(case, half):
    args, tensors = halves(case, half)
    call = forward(case, args)
    got, wide = tensors_of(call(*tensors)), tensors_of(call(*widened(tensors)))
    want = narrowed(wide, got)
    for g, w in zip(got, wide, strict=True):
        assert g.dtype == w.dtype or (g.dtype, w.dtype) == (half, "float32"), (g.dtype, w.dtype)
    if n_ops(call, tensors) <= 1 and case.op != "add_n":        # add_n is a chain of additions
        assert bits(got) == bits(want)
    else:
        close(got, wide, half)


def numbers_of(half):
    """Return NumPy's dtype, whose arithmetic is float32 rounded."""
    return np.dtype(half if half == "float16" else ml_dtypes.bfloat16)


@pytest.mark.parametrize("half", HALF_UNIT)
@pytest.mark.parametrize("op", ["add", "subtract", "multiply", "divide", "maximum", "less", "equal",
                                "sqrt", "negative", "abs", "floor", "square"])
def test_every_half(half, op):
    """Check NaN, infinities, subnormals, overflow and ties: every value, each with another one."""
    x = np.arange(1 << 16, dtype="u2").view(numbers_of(half))
    y = np.random.default_rng(0).permutation(x)
    args = (x, y) if op in ("add", "subtract", "multiply", "divide", "maximum", "less",
                            "equal") else (x,)
    got = getattr(df, op)(*args).numpy()
    with np.errstate(all="ignore"):
        want = getattr(np, op)(*args)
        number = ~np.isnan(want)
    assert got.dtype == want.dtype
    if got.dtype == bool:
        np.testing.assert_array_equal(got, want)
        return
    assert not np.isnan(got[number].astype("f4")).any() and np.all(got[~number] != got[~number])
    got, want = got.view("u2")[number], want.view("u2")[number]
    if op == "maximum":                 # NumPy's choice among signed zeros is arbitrary
        got, want = (np.where(bits == 0x8000, 0, bits) for bits in (got, want))
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("half", HALF_UNIT)
def test_sums_and_products_round_once(half):
    """A long sum rounded at each step would stop growing."""
    x = df.fill([5000], df.cast(1.0, half))
    assert float(df.reduce_sum(x)) == 4992 + 8 * (half == "float16")
    assert float(df.reduce_mean(x)) == 1
    assert df.matmul(x[None], x[:, None]).numpy() == df.reduce_sum(x).numpy()
    assert float(df.cumsum(x)[-1]) == float(df.reduce_sum(x))
    assert float(df.math.segment_sum(x, np.zeros(5000, "int32"))[0]) == float(df.reduce_sum(x))


@pytest.mark.parametrize("half", HALF_UNIT)
def test_python_scalars_round_once(half):
    """Scalars with tensors and in lists are rounded from float64, as in NumPy for float16."""
    unit = 2 * HALF_UNIT[half]
    x = df.cast([0.0, 0.0], half)
    number = 1 + unit / 2 + 2.0**-40            # float32 cannot distinguish it from a tie
    traced = df.function(lambda x: x + number)
    for y in (x + number, traced(x), df.constant([number] * 2, half),
              df.fill([2], df.constant(number, half)), df.Variable([number] * 2, dtype=half)):
        assert y.dtype == half and df.cast(y, "float64").tolist() == [1 + unit] * 2


@pytest.mark.parametrize("half", HALF_UNIT)
def test_errors_name_the_dtype(half):
    x = df.zeros([2, 3], half)
    for call, text in [(lambda: df.nn.softmax(x, axis=5),
                        f"softmax: .*; {half} is computed in float32"),
                       (lambda: x @ x, "matmul: a has shape .* and b .*"),
                       (lambda: df.bitwise.bitwise_and(x, x), f"bitwise_and: input 0 is {half}"),
                       (lambda: df.reduce_any(x), f"reduce_any: input 0 is {half}"),
                       (lambda: x + df.zeros([4], half), "add: ")]:
        with pytest.raises(df.errors.DualflowError, match=text):
            call()


@pytest.mark.parametrize("case, half", rows([c for c in FLOAT if c.grad], in_turn=True))
def test_gradient(case, half):
    """The gradient is float32's up to rounding of the results and of each op of the rule.

    The cotangent differs between elements: for equal ones the gradient of softmax would consist of
    rounding errors only.
    """
    args, tensors = halves(case, half)

    def slopes(xs):
        watched = [x for x in xs if x.dtype.is_floating]
        with df.GradientTape() as tape:
            tape.watch(watched)
            y = [y for y in tensors_of(forward(case, args)(*xs)) if y.dtype.is_floating]
        rng = np.random.default_rng(0)
        seeds = [df.cast(rng.choice([.5, 1, 1.5], v.shape), v.dtype) for v in y]
        return tape.gradient(y, watched, output_gradients=seeds, unconnected_gradients="zero")

    got, want = slopes(tensors), slopes(widened(tensors))
    assert [g.dtype for g in got] == [x.dtype for x in tensors if x.dtype.is_floating]
    close(got, want, half)


def test_kernels_release_their_memory():
    """The first row of each op, once more after a first call, which may create constants."""
    left = {}
    for case in {c.op: c for c in reversed(FLOAT)}.values():
        args, tensors = halves(case, "float16")
        call = forward(case, args)
        call(*tensors)
        before = df.config.memory_stats()["live"]
        call(*tensors)
        if df.config.memory_stats()["live"] > before:
            left[str(case)] = df.config.memory_stats()["live"] - before
    assert not left


def pytest_generate_tests(metafunc):
    if metafunc.function in (test_traced, test_passes_off, test_inside_a_larger_cluster):
        metafunc.parametrize("case, half", rows(harness.thinned(FLOAT, 3), in_turn=True))


def test_traced(case, half):
    args, tensors = halves(case, half)
    compare_call(calling(case, args, len(tensors)), tensors, lambda call, _: df.function(call))


def test_passes_off(case, half):
    args, tensors = halves(case, half)
    compare_call(calling(case, args, len(tensors)), tensors,
                 lambda call, _: df.function(call, passes=False))


def test_inside_a_larger_cluster(case, half):
    args, tensors = halves(case, half)
    compare_call(surrounded(calling(case, args, len(tensors))), tensors,
                 lambda call, _: df.function(call))


@pytest.mark.parametrize(("shape", "axes"), [
    ((3, 5), None), ((7, 20_000), 1), ((7, 20_000), 0), ((2, 40_000), None), ((600, 70), 0),
    ((300, 5_000), 0), ((5, 300, 70), [0, 2]), ((4, 3, 5, 6), [1, 3]), ((0, 3), 0), ((3, 0), 1),
    ((2, 513, 40), 1), ((2, 512, 4_100), 1)])
@pytest.mark.parametrize("dtype", [df.bfloat16, df.float16])
@pytest.mark.parametrize("reduction", [
    df.reduce_sum, df.reduce_max, df.math.reduce_variance, df.reduce_logsumexp])
def test_reductions_in_pieces(reduction, dtype, shape, axes):
    """Rows and columns longer than a piece, and parts of pieces."""
    x = df.cast(df.random.stateless_normal(shape, [3, 4]), dtype)
    expected = df.cast(reduction(df.cast(x, df.float32), axes), dtype)
    assert reduction(x, axes).numpy().tobytes() == expected.numpy().tobytes()


@pytest.mark.parametrize("shape", [(5, 7), (600, 33), (3, 4_096), (2, 4_097), (4, 0), (0, 4), (9,)])
@pytest.mark.parametrize("dtype", [df.bfloat16, df.float16])
def test_softmax_in_pieces(dtype, shape):
    """Rows up to a piece, and longer ones. The gradient of softmax reads its rounded result."""
    given = [df.cast(df.random.stateless_normal(shape, [k, 5]), dtype) for k in range(2)]
    wide = [df.cast(x, df.float32) for x in given]
    apply = df._core.apply
    for name, inputs in (("softmax", 1), ("log_softmax", 1), ("softmax_grad", 2),
                         ("log_softmax_grad", 2), ("softmax_cross_entropy", 2)):
        got, expected = [apply(name, *x[:inputs], axis=-1) for x in (given, wide)]
        assert got.numpy().tobytes() == df.cast(expected, dtype).numpy().tobytes()
    g = got
    got, expected = [apply("softmax_cross_entropy_grad", *x, axis=-1) for x in (
        [*given, g], [*wide, df.cast(g, df.float32)])]
    assert got.numpy().tobytes() == df.cast(expected, dtype).numpy().tobytes()
