"""Every exact rule of algebra on every dtype of its ops: optimised graphs return the bits of eager
mode for limits, both zeros, NaN, infinities, subnormal numbers and random bits."""

import numpy as np
import pytest

import dualflow as df
from dualflow import _core
from dualflow.graph.passes import algebra
from tests.graph.all_numbers import check, results, sample, typed
from tests.tables import DTYPES

ONE_OF = ["reduce_prod", "reduce_max", "reduce_min", "reduce_sum", "reduce_mean", "reduce_any",
          "reduce_all"]


def twice(name):
    return lambda a, b, c: _core.apply(name, _core.apply(name, a))


def of_one(name):
    return lambda a, b, c: _core.apply(name, df.expand_dims(a, 1), axes=[1], keepdims=False)


def of_squares(name, axis):
    return lambda a, b, c: _core.apply(name, df.square(df.reshape(a[:len(a) // 4 * 4], (-1, 4))),
                                       axes=[axis], keepdims=False)


# Expressions of two tensors and constants of their dtype.
PATTERNS = {
    "identity": lambda a, b, c: df.identity(a) + df.stop_gradient(b),
    "unbroadcast": lambda a, b, c: (_core.apply("unbroadcast", a, b),
                                    _core.apply("unbroadcast", a[:8], b[:1])),
    **{f"{name} twice": twice(name) for name in (
        "negative", "logical_not", "bitwise_not", "abs", "sign", "floor", "ceil", "round", "trunc",
        "relu", "relu6")},
    **{f"{name} of the same": lambda a, b, c, name=name: _core.apply(name, a, a) for name in (
        "maximum", "minimum", "bitwise_and", "bitwise_or", "logical_and", "logical_or")},
    "x + 0": lambda a, b, c: (a + c(0), c(0) + a, a + c(-0.0), c(-0.0) + a),
    "x - 0": lambda a, b, c: (a - c(0), a - c(-0.0)),
    "0 - x": lambda a, b, c: (c(0) - a, c(-0.0) - a),
    "x + -y": lambda a, b, c: (a + -b, -a + b, -a + -b),
    "x - -y": lambda a, b, c: (a - -b, -a - b, -a - -b),
    "(x + c) + d": lambda a, b, c: ((a + c(100)) + c(27), c(-3) + (a + c(200))),
    "(x c) d": lambda a, b, c: ((a * c(5)) * c(77), c(-3) * (c(100) * a)),
    **{f"sum of {n}": lambda a, b, c, n=n: df.add_n([a, b, -a, b, a][:n]) for n in range(1, 6)},
    "x x": lambda a, b, c: a * a,
    "x 1": lambda a, b, c: (a * c(1), c(1) * a, a * c(True)),
    "x -1": lambda a, b, c: (a * c(-1), c(-1) * a),
    "-x -y": lambda a, b, c: -a * -b,
    "x / 1": lambda a, b, c: _core.apply("divide", a, c(1)),
    "x / -1": lambda a, b, c: _core.apply("divide", a, c(-1)),
    "1 / x": lambda a, b, c: _core.apply("divide", c(1), a),
    "x / 2^k": lambda a, b, c: [_core.apply("divide", a, c(sign * 2.0 ** k)) for sign in (1, -1)
                                for k in (1, -1, 3, -14, 14, -24, 15, -126, 127, -133, -149, 1000,
                                          -1022, -1074)],
    "x / y": lambda a, b, c: [_core.apply("divide", a, c(value))
                              for value in (3, 0, -0.0, np.inf, np.nan, 7.0)],
    **{name: lambda a, b, c, name=name: [_core.apply(name, a, c(value)) for value in (
        3, -0.5, 0, -0.0, np.inf, np.nan)] for name in ("multiply_no_nan", "divide_no_nan")},
    "(-x)^2": lambda a, b, c: df.square(-a),
    "|x|^2": lambda a, b, c: df.square(df.abs(a)),
    "|-x|": lambda a, b, c: df.abs(-a),
    "|x - y|": lambda a, b, c: (df.abs(a + -b), df.abs(c(0) - a), df.abs(a * c(-1))),
    "sign of -x": lambda a, b, c: (df.sign(-a), df.nn.relu(-a)),
    "x^n": lambda a, b, c: [df.pow(a, c(n)) for n in (0, 1, 2, 3, 4, 5, 64)],
    "x^n of floats": lambda a, b, c: [df.pow(df.cast(a, df.float32) if a.dtype.is_integer else a, n)
                                      for n in (-2., -1., -.5, .5, 1., 2., 3., 4., 2.5)],
    "where": lambda a, b, c: (df.where(True, a, b), df.where(False, a, b),
                              df.where(df.logical_not(a > b), a, b), df.where(a > b, a, a)),
    **{f"{name} of one": of_one(name) for name in ONE_OF},
    **{f"{name} of squares, {axis}": of_squares(name, axis) for axis in (0, 1)
       for name in ("reduce_sum", "reduce_mean")},
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", PATTERNS)
def test_bits_of_eager_mode(name, dtype):
    check(PATTERNS[name], dtype)


@pytest.mark.parametrize("dtype", [x for x in DTYPES if "float" not in x])
def test_fast_math_of_integers_is_exact(dtype):
    for name, pattern in PATTERNS.items():
        if not name.startswith(("reduce_mean", "x / ")):        # these return floats
            check(pattern, dtype, fast_math=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_fast_math_keeps_dtypes(dtype):
    for name in (name for name in PATTERNS if name.startswith("reduce_mean")):
        a, b = sample(dtype)
        f = lambda a, b, name=name: PATTERNS[name](a, b, typed(dtype))  # noqa: E731
        want, got = results(f, a, b), results(df.function(f, fast_math=True), a, b)
        assert got is want or [x.dtype for x in got] == [x.dtype for x in want]


@pytest.mark.parametrize("dtype", DTYPES)
def test_casts_in_a_row(dtype):
    for via in DTYPES:
        check(lambda a, b, c, via=via: [df.cast(df.cast(a, via), to) for to in DTYPES], dtype)


def test_every_exact_rule_is_applied_by_a_pattern(monkeypatch):
    """A rule that is never applied lacks a pattern."""
    known = {(op.name, apply.__code__.co_firstlineno) for op, rules in algebra.RULES.items()
             for apply, fast in rules if not fast}
    seen = set()

    def watched(op, apply):
        def call(make, y, *inputs):
            found = apply(make, y, *inputs)
            if found is not None:
                seen.add((op.name, apply.__code__.co_firstlineno))
            return found

        return call

    for op, rules in algebra.RULES.items():
        monkeypatch.setitem(algebra.RULES, op, [(watched(op, apply), fast)
                                                for apply, fast in rules])
    for pattern in PATTERNS.values():
        for dtype in ("int32", "float32", "bool"):
            check(pattern, dtype)
    check(lambda a, b, c: df.cast(df.cast(a, df.float64), df.int32), "float32")
    assert known - seen == set()
