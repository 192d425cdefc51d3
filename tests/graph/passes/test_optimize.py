"""All passes together: order, checks, linear time, and exactness on random programs."""

import functools

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import dualflow as df
from dualflow.graph import ir
from dualflow.graph.passes import PASSES, ROUNDS, optimize, versions
from dualflow.graph.passes.options import Options
from tests.graph.build import (
    assert_exact,
    assert_same,
    ops,
    simplified,
    text,
    traced,
    values,
    variable,
    x,
)


def test_input_graph_is_unchanged():
    graph = traced(lambda a: df.exp(a * 1.0) + 0.0 * a, x(3))
    before = text(graph)
    assert text(optimize(graph, Options())) != before
    assert text(graph) == before


def test_passes_off():
    graph = traced(lambda a: df.exp(a * 1.0), x(3))
    names = []
    after = optimize(graph, Options(passes=False), lambda name, _: names.append(name))
    assert text(after) == text(graph)
    assert names == ["inline", "versions"]


def test_watch_sees_every_pass_in_order():
    names = []
    optimize(traced(lambda a: a * 1.0, x(3)), Options(), lambda name, _: names.append(name))
    order = [one.name for one in PASSES]
    assert list(dict.fromkeys(names)) == list(dict.fromkeys(order))
    assert len(names) <= ROUNDS * len(order)


def test_broken_pass_is_detected(monkeypatch):
    def run(graph, options):
        graph.nodes.reverse()
        return graph

    monkeypatch.setattr(versions, "run", run)
    with pytest.raises(ir.IRError):
        optimize(traced(lambda a: df.exp(a), x(3)), Options(check=True))


def test_long_graphs():
    def f(a):
        y = a
        for i in range(5000):
            y = df.sin(y) * 1.0 + float(i % 7)
        return y

    assert ops(simplified(traced(f, x(4)))) == ["sin", "add"] * 5000


# --- random programs ---

SHAPE = (3, 4)
ONE = [lambda a: -a, df.exp, df.abs, df.square, df.nn.relu, df.floor, df.identity,
       df.stop_gradient, df.sign, lambda a: a ** 2.0, lambda a: df.math.reciprocal(a),
       lambda a: df.transpose(df.transpose(a)), lambda a: df.reshape(df.reshape(a, (12,)), SHAPE),
       lambda a: df.reshape(df.transpose(df.reshape(a, (4, 3))), SHAPE),
       lambda a: df.broadcast_to(a[0], SHAPE), lambda a: df.broadcast_to(a[:, :1], SHAPE),
       lambda a: df.broadcast_to(df.reduce_max(a), SHAPE),
       lambda a: a + df.reduce_sum(a, 1, keepdims=True), lambda a: df.zeros_like(a),
       lambda a: df.ones_like(a), lambda a: df.cast(df.cast(a, df.float64), df.float32),
       lambda a: df.cast(df.cast(a, df.int32), df.float32),
       lambda a: df.matmul(df.matmul(a, df.transpose(a)), a),
       lambda a: df.matmul(df.transpose(df.transpose(a)[:3]), df.ones((3, 4))),
       lambda a: df.expand_dims(df.squeeze(df.expand_dims(a, 1), 1), 2)[..., 0]]
TWO = [df.add, df.subtract, df.multiply, df.divide, df.maximum, df.minimum,
       lambda a, b: df.where(a > b, a, b), lambda a, b: df.where(df.logical_not(a > b), b, a),
       lambda a, b: df.add_n([a, b]), lambda a, b: df.add_n([a, b, a])]
CONSTANTS = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.0, float("inf"), float("nan")]
TO_VARIABLE = ["assign", "assign_add", "assign_sub"]

step = st.one_of(
    st.tuples(st.just("one"), st.integers(0, len(ONE) - 1), st.integers(0, 60)),
    st.tuples(st.just("two"), st.integers(0, len(TWO) - 1), st.integers(0, 60),
              st.integers(0, 60)),
    st.tuples(st.just("number"), st.integers(0, 3), st.sampled_from(CONSTANTS), st.booleans(),
              st.integers(0, 60)),
    st.tuples(st.just("write"), st.sampled_from(TO_VARIABLE), st.integers(0, 1),
              st.integers(0, 60)),
    st.tuples(st.just("read"), st.integers(0, 1)),
)


def program(steps, variables):
    """Return the function of the steps; each step picks among the previous values, newest first."""
    def f(a, b):
        made = [a, b]

        def pick(k):
            return made[-1 - k % len(made)]

        for kind, *rest in steps:
            if kind == "one":
                made.append(ONE[rest[0]](pick(rest[1])))
            elif kind == "two":
                made.append(TWO[rest[0]](pick(rest[1]), pick(rest[2])))
            elif kind == "number":
                operands = [pick(rest[3]), rest[1]]
                made.append(TWO[rest[0]](*(operands if rest[2] else operands[::-1])))
            elif kind == "write":
                getattr(variables[rest[1]], rest[0])(pick(rest[2]))
            else:
                made.append(variables[rest[0]].value())
        return made[-3:]

    return f


@settings(max_examples=150)
@given(st.lists(step, min_size=5, max_size=40))
def test_random_programs_keep_every_bit(steps):
    variables = [variable(*SHAPE, name="v"), variable(*SHAPE, name="w")]
    graph = traced(program(steps, variables), x(*SHAPE), x(*SHAPE))
    off = optimize(graph, Options(passes=False, check=True))
    after = optimize(graph, Options(check=True))
    assert_exact(graph, off, seeds=1)
    assert_exact(graph, after, seeds=2)
    assert len(after.nodes) <= 2 * len(off.nodes)


@settings(max_examples=100)
@given(st.lists(step, min_size=20, max_size=60), st.integers(0, 99))
def test_random_programs_as_functions_match_eager(steps, seed):
    args = [df.constant(values(np.random.default_rng([seed, k]), SHAPE, "float32"))
            for k in range(2)]

    def run(as_function):
        variables = [variable(*SHAPE, name="v"), variable(*SHAPE, name="w")]
        f = as_function(program(steps, variables))
        return [*f(*args), *f(*args), *variables]

    want = run(lambda f: f)
    for passes in (False, True):
        got = run(functools.partial(df.function, passes=passes))
        for g, w in zip(got, want, strict=True):
            assert_same(g, w)
