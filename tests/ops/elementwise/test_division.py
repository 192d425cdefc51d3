"""Division, and other ops that are undefined for some integers."""

from fractions import Fraction

import numpy as np
import pytest

import dualflow as df
from dualflow import _core

REFUSING = [op for op in map(_core.get_op, _core.ops())
            if op.kind == "elementwise" and any(op.may_raise(d) for d in df.dtypes.ALL)]
FUNCTIONS = {"floordiv": df.math.floordiv, "floormod": df.math.floormod, "pow": df.pow}
INTEGERS = [d for d in df.dtypes.ALL if d.is_integer]


def refused(op, dtype):
    """Return a value that the second input must not have, or None."""
    worst = df.constant([0 if op.name != "pow" or not np.iinfo(dtype.name).min else -1], dtype)
    return int(worst.numpy()[0]) if op.may_raise(dtype, worst) else None


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("op", REFUSING, ids=lambda op: op.name)
def test_undefined_integer_results_raise(op, dtype):
    """Eager and traced calls raise the same message for any element, but not for empty operands."""
    f, bad = FUNCTIONS[op.name], refused(op, dtype)
    assert (bad is None) == (op.name == "pow" and dtype.is_unsigned)
    if bad is None:
        return
    traced = df.function(lambda a, b: f(a, b) + 1)
    for n, at in ((1, 0), (3, 2), (1023, 1022), (1025, 1024), (5000, 17)):
        a, b = np.ones(n, dtype.name), np.ones(n, dtype.name)
        assert traced(a, b).numpy().tolist() == [1 + f(a, b).numpy()[0]] * n
        b[at] = bad
        for call in (f, traced, df.function(f, passes=False)):
            with pytest.raises(df.errors.InvalidArgumentError,
                               match=rf"{op.name}: input 1 .*expected integer.* flat index {at}\b"):
                call(df.constant(a), df.constant(b))
    for a, b in ((df.ones([2, 3], dtype), df.constant([1, 1, bad], dtype)),
                 (df.ones([2, 1], dtype), df.constant([[bad, 1, 1]], dtype)),
                 (df.constant(1, dtype), df.constant(bad, dtype)), (df.ones([2], dtype), bad)):
        for call in (f, df.function(f)):
            with pytest.raises(df.errors.InvalidArgumentError, match=op.name):
                call(a, b)
    none = df.ones([0, 3], dtype)
    for call in (f, df.function(f)):
        assert call(none, df.constant([bad], dtype)).shape == (0, 3)


@pytest.mark.parametrize("op", REFUSING, ids=lambda op: op.name)
def test_floats_never_raise(op):
    for dtype in (df.float32, df.float64):
        got = FUNCTIONS[op.name](df.constant([1., -1.], dtype), df.constant([0., -1.], dtype))
        assert np.isnan(got.numpy()[0]) or op.name != "floormod"


def test_constant_zero_divisor_raises_when_the_function_runs():
    """Constant folding neither hides the error nor raises it while tracing."""
    nought = df.function(lambda: df.constant([4, 2]) // df.constant([2, 0]))
    power = df.function(lambda: df.constant(2) ** -1)
    for f, op in ((nought, "floordiv"), (power, "pow")):
        with pytest.raises(df.errors.InvalidArgumentError, match=f"{op}: input 1"):
            f()


def test_where_does_not_guard_a_division():
    """As in TensorFlow, where computes both operands."""
    f = lambda i, j: df.where(j != 0, i // j, 0)        # noqa: E731
    i, j = df.constant([4, 6]), df.constant([2, 0])
    for call in (f, df.function(f)):
        with pytest.raises(df.errors.InvalidArgumentError, match="floordiv"):
            call(i, j)


@pytest.mark.parametrize("constant", [False, True])
def test_failed_division_leaves_variables_as_in_python(constant):
    """The update before the division is done, the later one is not; a divisor known to be nonzero
    may fuse and move."""
    u, v, w = (df.Variable([1, 2]) for _ in range(3))

    def step(i, j):
        v.assign_add(i)
        w.assign((w + i) // (2 if constant else j) * 3 + i)
        u.assign_add(i)
        return v + i

    for call in (step, df.function(step)):
        for x in (u, v, w):
            x.assign([1, 2])
        if constant:
            assert call(df.constant([4, 6]), df.constant([0, 0])).numpy().tolist() == [9, 14]
            assert w.numpy().tolist() == [10, 18]
            continue
        with pytest.raises(df.errors.InvalidArgumentError, match="floordiv"):
            call(df.constant([4, 6]), df.constant([1, 0]))
        assert [x.numpy().tolist() for x in (v, w, u)] == [[5, 8], [1, 2], [1, 2]]
    graph = str(df.function(step).graph_for(df.constant([4, 6]), df.constant([1, 1])))
    assert ("= floordiv(%" in graph) != constant


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floor_division_is_exact_near_integer_quotients(dtype):
    rng = np.random.default_rng(0)
    b = rng.uniform(-4, 4, 4000).astype(dtype)
    a = (b * rng.integers(-1000, 1000, 4000)).astype(dtype)        # next to a multiple
    a = np.concatenate([a, np.nextafter(a, a.dtype.type(9e9)),
                        rng.uniform(-1e-30, 1e-30, 4000).astype(dtype)])
    b = np.tile(b, 3)
    quotient, remainder = df.math.floordiv(a, b).numpy(), df.math.floormod(a, b).numpy()
    exact = [divmod(Fraction(float(x)), Fraction(float(y))) for x, y in zip(a, b, strict=True)]
    np.testing.assert_array_equal(quotient, np.array([float(q) for q, _ in exact], dtype))
    np.testing.assert_array_equal(remainder, np.array([float(r) for _, r in exact], dtype))


def test_floor_division_of_int32_is_exact():
    """Vectors divide in float64, whose quotient of large numbers is nearest to an integer."""
    rng = np.random.default_rng(0)
    least, most = -2**31, 2**31 - 1
    edges = np.array([least, least + 1, -2**30, -3, -2, -1, 1, 2, 3, 2**16, most - 1, most])
    quotients = rng.integers(-40_000, 40_000, 2000)
    near = quotients * rng.integers(1, 50_000, 2000) + rng.integers(-1, 2, 2000)
    a = np.concatenate([edges, near, rng.integers(least, most, 1003), [0, least, most]])
    for b in (*edges, rng.integers(1, 50_000, len(a)), rng.integers(-9, 0, len(a))):
        for n in (len(a), 1, 5):
            x, y = np.broadcast_arrays(a[:n], b[:n] if np.ndim(b) else b)
            got = df.math.floordiv(x.astype("int32"), y.astype("int32")).numpy()
            np.testing.assert_array_equal(got, (x // y).astype("int32"))      # MIN // -1 wraps
            got = df.math.floormod(x.astype("int32"), y.astype("int32")).numpy()
            np.testing.assert_array_equal(got, (x % y).astype("int32"))
