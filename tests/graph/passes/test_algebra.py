"""Each rewrite rule on printed IR; exact rules also on NaN, infinities and both zeros."""

import math

import numpy as np
import pytest

import dualflow as df
from dualflow import dtypes
from dualflow.graph.passes import algebra
from tests.graph.build import is_block, ops, passed, random_args, simplified, traced, variable, x
from tests.graph.interpret import interpret

MINUS_ZERO = df.constant(-0.0)
TRUE, FALSE = df.constant(True), df.constant(False)


def left(f, *parameters, **options):
    """Return the ops that remain after the exact rules and dead code elimination."""
    return ops(simplified(passed(algebra, traced(f, *parameters), **options)))


SAME = {                    # functions that return their first argument
    "identity": lambda a: df.identity(df.stop_gradient(a)),
    "x - 0": lambda a: a - 0.0,
    "x + -0": lambda a: a + MINUS_ZERO,
    "-0 + x": lambda a: MINUS_ZERO + a,
    "x * 1": lambda a: a * 1.0,
    "1 * x": lambda a: 1.0 * a,
    "x / 1": lambda a: a / 1.0,
    "minus minus": lambda a: df.negative(-a),
    "x + --0": lambda a: a + df.negative(df.zeros((4, 5))) * 1.0,
    "ones": lambda a: a * df.ones_like(a),
    "where": lambda a: df.where(TRUE, a, a * 2.0),
    "where same": lambda a: df.where(a > 0, a, a),
    "max": lambda a: df.maximum(a, a),
    "min": lambda a: df.minimum(a, a),
    "cast": lambda a: df.cast(df.cast(a, df.float64), df.float32),
    "add_n": lambda a: df.add_n([a]),
    "prod": lambda a: df.reduce_prod(df.expand_dims(a, 1), 1),
    "max of one": lambda a: df.reduce_max(df.expand_dims(a, 1), 1),
    "min of one": lambda a: df.reduce_min(df.expand_dims(a, 0), 0),
}


@pytest.mark.parametrize("name", SAME)
def test_identities_are_removed(name):
    graph = traced(SAME[name], x(4, 5))
    passed(algebra, graph)
    after = simplified(graph)
    assert ops(after) == []
    assert after.outputs == after.inputs


INTEGERS = {
    "x + 0": lambda a: a + 0,
    "x - 0": lambda a: a - 0,
    "x * 1": lambda a: a * 1,
    "~~x": lambda a: ~(~a),
    "and": lambda a: df.bitwise.bitwise_and(a, a),
    "sum of one": lambda a: df.reduce_sum(df.expand_dims(a, 1), 1),
    "wider and back": lambda a: df.cast(df.cast(a, df.int64), df.int32),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_identities_are_removed(name):
    assert left(INTEGERS[name], x(4, 5, dtype="int32")) == []


INEXACT = {                 # rewriting these would change bits
    "x + 0": lambda a: a + 0.0,
    "0 + x": lambda a: 0.0 + a,
    "x - -0": lambda a: a - MINUS_ZERO,
    "0 - x": lambda a: 0.0 - a,
    "x - x": lambda a: a - a,
    "x * 0": lambda a: a * 0.0,
    "x / x": lambda a: a / a,
    "x / 3": lambda a: a / 3.0,
    "sum of one": lambda a: df.reduce_sum(df.expand_dims(a, 1), 1),
    "mean of one": lambda a: df.reduce_mean(df.expand_dims(a, 1), 1),
    "pow 2.5": lambda a: a ** 2.5,
    "pow of 16 bits": lambda a: df.cast(a, df.float16) ** 3.0,
    "c c": lambda a: (a * 3.0) * 5.0,
    "c + c": lambda a: (a + 3.0) + 5.0,
    "narrower and back": lambda a: df.cast(df.cast(a, df.float16), df.float32),
    "x x x x": lambda a: df.square(a) * a * a,
    "a c + b c": lambda a: a * a[0] + df.exp(a) * a[0],
    "sqrt": lambda a: df.math.reciprocal(df.sqrt(a)),
}


@pytest.mark.parametrize("name", INEXACT)
def test_inexact_rewrites_are_not_applied(name):
    graph = traced(INEXACT[name], x(4, 5))
    assert ops(passed(algebra, graph)) == ops(graph)


REWRITTEN = {
    "x + -y": (lambda a, b: a + -b, ["subtract"]),
    "-x + y": (lambda a, b: -a + b, ["subtract"]),
    "x - -y": (lambda a, b: a - -b, ["add"]),
    "-x * -y": (lambda a, b: -a * -b, ["multiply"]),
    "x * -1": (lambda a, b: a * -1.0, ["negative"]),
    "x / -1": (lambda a, b: a / -1.0, ["negative"]),
    "-0 - x": (lambda a, b: MINUS_ZERO - a, ["negative"]),
    "x / 8": (lambda a, b: a / 8.0, ["multiply"]),
    "x / -0.25": (lambda a, b: a / -0.25, ["multiply"]),
    "x / 2^127": (lambda a, b: a / 2.0 ** 127, ["multiply"]),
    "x / 2^-127": (lambda a, b: a / 2.0 ** -127, ["multiply"]),
    "x / 2^-130": (lambda a, b: a / 2.0 ** -130, ["divide"]),
    "x / 0": (lambda a, b: a / 0.0, ["divide"]),
    "1 / x": (lambda a, b: 1.0 / a, ["reciprocal"]),
    "pow 2": (lambda a, b: a ** 2.0, ["square"]),
    "pow 3": (lambda a, b: a ** 3, ["square", "multiply"]),
    "pow -1": (lambda a, b: a ** -1.0, ["reciprocal"]),
    "pow -2": (lambda a, b: a ** -2.0, ["reciprocal", "square"]),
    "pow 0.5": (lambda a, b: a ** 0.5, ["pow"]),
    "x x": (lambda a, b: a * a, ["square"]),
    "no nan": (lambda a, b: df.math.multiply_no_nan(a, 3.0), ["multiply"]),
    "no nan, / 0": (lambda a, b: df.math.divide_no_nan(a, 0.0), ["divide_no_nan"]),
    "no nan, / nan": (lambda a, b: df.math.divide_no_nan(a, math.nan), ["divide"]),
    "(-x)^2": (lambda a, b: df.square(-a), ["square"]),
    "|x|^2": (lambda a, b: df.square(df.abs(a)), ["square"]),
    "|-x|": (lambda a, b: df.abs(-a), ["abs"]),
    "||x||": (lambda a, b: df.abs(df.abs(a)), ["abs"]),
    "sign": (lambda a, b: df.sign(df.sign(a)), ["sign"]),
    "floor": (lambda a, b: df.floor(df.floor(a)), ["floor"]),
    "ceil": (lambda a, b: df.math.ceil(df.math.ceil(a)), ["ceil"]),
    "round": (lambda a, b: df.round(df.round(a)), ["round"]),
    "relu": (lambda a, b: df.nn.relu(df.nn.relu(a)), ["relu"]),
    "relu6": (lambda a, b: df.nn.relu6(df.nn.relu6(a)), ["relu6"]),
    "not not": (lambda a, b: df.logical_not(df.logical_not(a > b)), ["greater"]),
    "where not": (lambda a, b: df.where(df.logical_not(a > b), a, b), ["greater", "where"]),
    "where false": (lambda a, b: df.where(FALSE, a, df.exp(b)), ["exp"]),
    "sum of two": (lambda a, b: df.add_n([a, b]), ["add"]),
    "sum of three": (lambda a, b: df.add_n([a, b, a]), ["add", "add"]),
    "sum of five": (lambda a, b: df.add_n([a, b, a, b, b]), ["add_n"]),
    "casts": (lambda a, b: df.cast(df.cast(a, df.float64), df.int32), ["cast"]),
}


@pytest.mark.parametrize("name", REWRITTEN)
def test_exact_rewrites(name):
    f, want = REWRITTEN[name]
    assert left(f, x(4, 5), x(4, 5)) == want


INTEGERS_REWRITTEN = {
    "0 - x": (lambda a: 0 - a, ["negative"]),
    "(x + c) + c": (lambda a: 3 + (a + 5), ["add"]),
    "(x c) c": (lambda a: (3 * a) * 5, ["multiply"]),
    "x^1": (lambda a: a ** 1, []),
    "x^2": (lambda a: a ** 2, ["square"]),
    "x^3": (lambda a: a ** 3, ["square", "multiply"]),
    "x^4": (lambda a: a ** 4, ["square", "square"]),
    "x^5": (lambda a: a ** 5, ["pow"]),
    "through a float": (lambda a: df.cast(df.cast(a, df.float64), df.int16), ["cast", "cast"]),
    "to a wider integer": (lambda a: df.cast(df.cast(a, df.float64), df.int64), ["cast"]),
}


@pytest.mark.parametrize("name", INTEGERS_REWRITTEN)
@pytest.mark.parametrize("dtype", ["int32", "uint16", "uint32"])
def test_exact_integer_rewrites(name, dtype):
    f, want = INTEGERS_REWRITTEN[name]
    assert left(f, x(4, 5, dtype=dtype)) == want


@pytest.mark.parametrize("a", dtypes.ALL, ids=str)
def test_redundant_casts(a):
    """Check values near the limits of `a`."""
    if a is df.bfloat16:
        sample = df.cast(df.constant([1.0, -0.0, 3.3e38, 0.1]), a)
    elif a.is_floating:
        limits = np.finfo(a.name)
        sample = df.constant(np.array([0.1, -0.0, limits.max, limits.tiny, np.nan, -np.inf, 300.5],
                                      a.name))
    elif a.is_bool:
        sample = df.constant([True, False])
    elif a.is_complex:
        sample = df.constant(np.array([0.1 + 3j, -0.0 - 0j, np.inf - 1j, 1e30 + 1e-30j], a.name))
    else:
        limits = np.iinfo(a.name)
        sample = df.constant(np.array([limits.min, limits.min + 1, 0, 1, limits.max - 1,
                                       limits.max], a.name))
    for b in dtypes.ALL:
        for c in dtypes.ALL:
            if algebra.passes_through(a, b, c):
                one, two = df.cast(sample, c), df.cast(df.cast(sample, b), c)
                if not c.is_complex:
                    one, two = df.cast(one, df.float64), df.cast(two, df.float64)
                one, two = ([df.math.real(y).numpy(), df.math.imag(y).numpy()] for y in (one, two))
                np.testing.assert_array_equal(one, two, str((a, b, c)))
                np.testing.assert_array_equal(np.signbit(one), np.signbit(two), str((a, b, c)))


FAST = {
    "x + 0": (lambda a, b: a + 0.0, []),
    "x x x": (lambda a, b: a * a * a, ["square", "multiply"]),
    "x x x x": (lambda a, b: a * a * a * a, ["square", "square"]),
    "x^6": (lambda a, b: a * a * a * a * a * a, ["square", "multiply", "square"]),
    "x^8": (lambda a, b: math.prod([a] * 7, start=a), ["square", "square", "square"]),
    "pow 2.5": (lambda a, b: a ** 2.5, ["pow"]),
    "x / 3": (lambda a, b: a / 3.0, ["multiply"]),
    "x / inf": (lambda a, b: a / math.inf, ["divide"]),
    "(x c) c": (lambda a, b: (a * 3.0) * 5.0, ["multiply"]),
    "(x + c) + c": (lambda a, b: 3.0 + (5.0 + a), ["add"]),
    "a c + b c": (lambda a, b: a * b + b * df.exp(a), ["exp", "add", "multiply"]),
    "sum of one": (lambda a, b: df.reduce_sum(df.expand_dims(a, 1), 1), []),
    "rsqrt": (lambda a, b: df.math.reciprocal(df.sqrt(a)), ["rsqrt"]),
}


@pytest.mark.parametrize("name", FAST)
def test_fast_math_rewrites(name):
    f, want = FAST[name]
    graph = traced(f, x(4, 5), x(4, 5))
    after = simplified(graph, fast_math=True)
    assert ops(after) == want
    args = [df.abs(a) for a in random_args(graph)]
    args = [df.where(df.math.is_finite(a), a, df.ones_like(a)) for a in args]
    expected, got = (interpret(g, args).outputs[0].numpy() for g in (graph, after))
    np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_long_product_becomes_squares():
    after = simplified(traced(lambda a: math.prod([a] * 31, start=a), x(3)), fast_math=True)
    assert ops(after) == ["square"] * 5


def test_rewritten_results_keep_their_shape():
    def f(a):
        return a * df.ones((4, 5)), df.where(TRUE, a, df.zeros((4, 5))), a - df.zeros((4, 1))

    graph = traced(f, x(5))
    after = passed(algebra, graph)
    assert [y.shape for y in after.outputs] == [(4, 5)] * 3
    assert len(ops(after)) == len(ops(graph))


def test_data_dependent_sizes():
    def f(a):
        u, v = df.unique(a)[0], df.unique(df.abs(a))[0]
        return u * 1.0, df.where(TRUE, u, v), u * u

    after = passed(algebra, traced(f, x(1)))
    assert ops(after) == ["unique", "abs", "unique", "where", "square"]


def test_rewrites_do_not_read_variables_late():
    v = variable(3)

    def f(a):
        old = df.identity(v)
        twice = df.negative(-v)
        v.assign_add(a)
        return old, twice * a

    after = passed(algebra, traced(f, x(3)))
    assert ops(after).count("identity") == 1
    assert "negative" in ops(after)


def test_rewrites_keep_names_and_lines():
    after = passed(algebra, traced(lambda a: df.multiply(a, a, name="mine"), x(3)))
    node = after.nodes[-1]
    assert (node.type, node.name) == ("square", "mine")


def test_rule_for_an_unknown_op_raises():
    with pytest.raises(Exception, match="no op"):
        algebra.rule("no_such_op")(lambda make, y: None)


def test_printed_graph():
    def f(a):
        return (a * 1.0 + -(a * 2.0)) / 4.0

    is_block("""
        %1 = constant(1.0)
        %2 = constant(2.0)
        %3 = multiply(%0, %2)
        %4 = negative(%3)
        %5 = subtract(%0, %3)
        %6 = constant(4.0)
        %7 = constant(0.25)
        %8 = multiply(%5, %7)
        return %8
    """, passed(algebra, traced(f, x(3))))


@pytest.mark.parametrize("reduction", [df.reduce_sum, df.reduce_mean])
@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_of_squares(reduction, axis, dtype):
    a = df.constant(np.random.default_rng(3).normal(size=(70, 600)), dtype)
    f = lambda a: reduction(a * a, axis, keepdims=axis == 1)  # noqa: E731
    name = f"{reduction.__name__}_of_squares"
    assert left(f, x(70, 600, dtype=dtype)) == [name]
    assert df.function(f)(a).numpy().tobytes() == f(a).numpy().tobytes()


def test_sums_of_rounded_squares_are_not_rewritten():
    assert left(lambda a: df.reduce_sum(a * a), x(3, 4, dtype="float16")) == [
        "square", "reduce_sum"]
    assert left(lambda a: df.reduce_sum(a * a), x(3, 4, dtype="int32")) == ["square", "reduce_sum"]
