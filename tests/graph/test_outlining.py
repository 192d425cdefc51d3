"""Calls of traced functions in traces: the recorded nodes become the body of a call, and Python may
still use inside values as if they were not in a body."""

import threading

import numpy as np
import pytest

import dualflow as df
from dualflow.graph import ir
from dualflow.graph.ir import CALL

X = df.constant([[.5, -1.], [2., .25]])
W = df.constant([[1., .5], [-.25, .75]])


def calls(f, *args):
    """Return the calls of a trace, inner ones first; the graph is checked."""
    compiled = f.compiled_for(*args)
    ir.check(compiled.graph)
    assert not [node for node in ir.walk(compiled.graph.nodes) if node.bodies]
    return [node for node in ir.walk(compiled.traced.nodes) if node.op is CALL]


def same(f, *args):
    """Return the calls of a traced function; its results must be Python's, whatever passes run."""
    want = df.nest.flatten(f(*args))
    for passes in (False, True):
        got = df.nest.flatten(df.function(f, passes=passes)(*args))
        for g, w in zip(got, want, strict=True):
            np.testing.assert_array_equal(g, w)
    return calls(df.function(f), *args)


@df.function
def layer(x, w):
    return df.tanh(x @ w)


def test_call_becomes_a_node():
    two = df.function(lambda x, w: layer(layer(x, w), w))
    first, second = calls(two, X, X)
    assert [call.bodies[0].name for call in (first, second)] == ["layer", "layer"]
    assert [node.type for node in first.bodies[0].nodes] == [
        "parameter", "parameter", "matmul", "tanh"]
    assert second.inputs[0] is first.outputs[0]


def test_nested_calls_become_nested_nodes():
    block = df.function(lambda x: layer(x, W) + 1., name="block")
    inner, outer = same(lambda x: block(x) * 2., X)
    assert inner in outer.bodies[0].nodes
    assert outer.bodies[0].name == "block"


def test_function_without_ops_adds_no_call():
    assert same(lambda x: df.function(lambda y: y)(x) + 1., X) == []


def test_gradients_read_inside_values():
    def f(x):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = df.reduce_sum(layer(layer(x, W), W))
        return tape.gradient(y, x)
    assert [len(call.outputs) for call in same(f, X)] == [2, 2]  # result, operand of tanh


def test_second_order_and_tapes_outside():
    def f(x):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = layer(df.exp(layer(x, W)), x)
        return tape.gradient(y, x)

    def around(f):
        with df.GradientTape() as tape:
            tape.watch(X)
            g = f(X)
        return tape.gradient(g, X)
    np.testing.assert_array_equal(around(df.function(f)), around(f))


def test_values_leaked_from_a_call_can_be_used():
    @df.function
    def f(x):
        kept = []

        def keep(x):
            kept.append(df.exp(x))
            kept.append(kept[0] + 1.)
        df.function(lambda: df.function(keep)(x))()
        return kept[0] * kept[1]
    np.testing.assert_array_equal(f(X), df.exp(X) * (df.exp(X) + 1.))
    inner, outer = calls(f, X)
    assert len(inner.outputs) == len(outer.outputs) == 2


def test_variables_are_written_in_order():
    def f(v):
        def g(k):
            before = v + 0.
            v.assign_add(df.fill([2], k))
            return before, v.value()
        g = df.function(g)
        a = g(1.)
        v.assign(v * 3.)
        b = df.function(lambda: g(2.))()
        return a, b, v.value()

    def run(wrap):
        v = df.Variable([1., 2.])
        made = [wrap(lambda: f(v))() for _ in range(2)]
        return [t.tolist() for t in df.nest.flatten([made, v.value()])]
    assert run(df.function) == run(lambda f: f)
    v = df.Variable([1., 2.])
    found = calls(df.function(lambda: f(v)))
    assert [call.writes.bit_count() for call in found] == [1, 1, 1]


def test_old_variable_version_from_inside_is_kept():
    def f(v, wrap):
        seen = []

        def g():
            seen.append(v.value())
            v.assign_add([1., 1.])
            seen.append(v.value())
            v.assign_add([1., 1.])
        wrap(g)()
        return seen[0] + seen[1] * 10.

    def run(wrap):
        v = df.Variable([1., 2.])
        g = wrap(lambda: f(v, wrap))
        return [t.tolist() for t in (g(), g(), v.value())]
    assert run(df.function) == run(lambda f: f)


def test_sizes_and_numbers_in_inner_functions():
    """Number inputs are read inside, outside, and computed from sizes of inside values."""
    def f(x, n):
        def g(y):
            y = df.concat([y, y], 0)
            return y / y.shape[0] * n, y
        z, y = df.function(g)(x)
        return z + n / y.shape[0], df.reshape(y, [-1, y.shape[0]]), y.shape[0] * n

    traced = df.function(f)
    for rows, n in [(1, 2.), (2, 3.), (3, 4.), (4, 5.), (5, .5)]:
        got, want = traced(df.ones([rows, 2]), n), f(df.ones([rows, 2]), n)
        assert [np.asarray(g).tolist() for g in got] == [np.asarray(w).tolist() for w in want]
    assert traced.experimental_get_tracing_count() < 5
    compiled = traced.compiled_for(df.ones([7, 2]), 1.5)
    assert len(compiled.graph.inputs) <= 3      # a number is passed once


def test_branches_in_inner_functions_are_guarded():
    def f(x):
        def g(y):
            return y * 2. if y.shape[0] > 2 else y * 3.
        return df.function(g)(df.concat([x, x], 0))
    traced = df.function(f)
    for rows in (1, 2, 3, 1, 4):
        x = df.ones([rows, 2])
        assert traced(x).tolist() == f(x).tolist()


def test_functions_with_data_dependent_sizes_are_not_outlined():
    def f(x):
        def g(x):
            kept = df.boolean_mask(x, x > 0.)
            return kept, kept.shape[0]
        kept, n = df.function(g)(x)
        return df.reduce_sum(kept) / df.cast(n, df.float32)
    assert same(f, X) == []


def test_error_caught_by_python():
    def f(x):
        def g(x):
            y = df.exp(x)
            return y + df.ones([7])
        try:
            return df.function(g)(x)
        except df.errors.ShapeError:
            return df.sin(x)
    assert same(f, X) == []


def test_effects_keep_their_order(capfd):
    @df.function
    def f(x):
        df.print("one")
        df.function(lambda: df.print("two"))()
        df.print("three")
        return x
    f(X)
    assert capfd.readouterr().out.split() == ["one", "two", "three"]


def test_random_numbers_are_drawn_in_order():
    def run(wrap):
        generator = df.random.Generator(3)

        def f(x):
            a = generator.normal([2])
            b = wrap(lambda: generator.normal([2]) + a)()
            return x + generator.normal([2]), b
        g = wrap(f)
        return [t.tolist() for _ in range(2) for t in g(X)]
    assert run(df.function) == run(lambda f: f)


def test_custom_gradient_becomes_a_call():
    @df.custom_gradient
    def log1pexp(x):
        e = df.exp(x)
        return df.log(1. + e), lambda g: g * (1. - 1. / (1. + e))

    def f(x):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = log1pexp(x * 2.)
        return y, tape.gradient(y, x)
    call, = same(f, X)
    assert [node.type for node in call.bodies[0].nodes if node.type != "parameter"] == [
        "exp", "add", "log"]
    assert len(call.outputs) == 2               # the result, and e as residual


def test_graph_gradients_through_calls():
    f = df.function(lambda x: df.gradients(df.reduce_sum(layer(df.exp(x), W)), x)[0])
    with df.GradientTape() as tape:
        tape.watch(X)
        y = df.reduce_sum(layer(df.exp(X), W))
    np.testing.assert_array_equal(f(X), tape.gradient(y, X))


def test_explicit_graph_stays_flat():
    """All nodes of an explicit graph can be fetched by name."""
    g = df.Graph()
    with g.as_default():
        x = g.placeholder([2, 2], name="x")
        y = layer(x, X)
    assert "tanh" in [node.op.name for node in g.get_operations()]
    np.testing.assert_array_equal(g.run(y, {x: X}), layer(X, X))


@pytest.mark.parametrize("threads", [4])
def test_gradient_construction_while_other_threads_compile(threads):
    """A gradient adds outputs to a call while other threads copy the trace for their sizes."""
    f = df.function(lambda x: df.reduce_sum(layer(df.exp(layer(x, W)), W)),
                    input_signature=[df.TensorSpec([None, 2])])
    f(X)
    wrong = []

    def differentiate(k):
        try:
            for rows in range(1 + k, 60, threads):
                x = df.ones([rows, 2])
                with df.GradientTape() as tape:
                    tape.watch(x)
                    y = f(x) if rows % 2 else f(x + 0.)
                if tape.gradient(y, x) is None:
                    wrong.append(rows)
        except Exception as error:
            wrong.append(error)
    workers = [threading.Thread(target=differentiate, args=(k,)) for k in range(threads)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert wrong == []
