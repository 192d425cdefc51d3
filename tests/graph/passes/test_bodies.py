"""Operands and results of bodies: hoisted, removed or moved inside."""

import dualflow as df
from dualflow._core import current_graph
from dualflow.graph import ir
from dualflow.graph.ir import LOOP, loop_parts
from dualflow.graph.passes import bodies, cse, dead_code, hoist, inline, versions
from dualflow.graph.passes.options import Options
from tests.graph.build import assert_same, ops, random_args, traced, x
from tests.graph.interpret import interpret


def after(f, *parameters):
    """Return the graph after the pass; it must compute the same."""
    graph = versions.run(inline.run(traced(f, *parameters), Options()), Options())
    args = random_args(graph)
    want = interpret(graph, args)
    changed = dead_code.run(cse.run(ir.copy(graph), Options()), Options())
    changed = dead_code.run(bodies.run(changed, Options()), Options())
    ir.check(changed)
    got = interpret(changed, args)
    for g, w in zip(got.outputs, want.outputs, strict=True):
        assert_same(g, w)
    assert list(got.variables) == list(want.variables)
    for v, w in want.variables.items():
        assert_same(got.variables[v], w)
    return changed


def only(graph, op):
    return next(node for node in graph.nodes if node.type == op)


def test_constants_move_into_bodies_and_values_are_passed_once():
    graph = after(lambda a, p: df.cond(p, lambda: a * 2. + df.sin(a), lambda: a * 3.),
                  x(2, 3), x(dtype="bool"))
    node = only(graph, "cond")
    assert [i.node.name for i in node.inputs] == ["b", "a"]
    assert "constant(2.0)" in node.bodies[1].text()
    assert "constant(3.0)" in node.bodies[0].text()


def test_unused_body_inputs_are_removed():
    graph = after(lambda a, b: df.scan(lambda c, r: (c + r[0], c), 0., (a, b))[0], x(4), x(4, 7))
    node = only(graph, "loop")
    parts = loop_parts(node)
    assert parts.sliced.stop - parts.sliced.start == 1
    assert len(node.outputs) == 1               # the stacked output is unused


def test_unchanged_carries_become_captured_inputs():
    graph = after(lambda a, b: df.while_loop(
        lambda i, a, b: i < 3, lambda i, a, b: (i + 1, a * b, b), (0, a, b)), x(2), x(2))
    node = only(graph, "loop")
    assert loop_parts(node).n_carried == 2
    assert graph.outputs[2].node.type == "identity"     # of the initial value of the carry
    assert graph.outputs[2].node.inputs == (graph.inputs[1],)


def test_carries_that_feed_only_themselves_are_removed():
    """`b` feeds only `c`, and `c` feeds no output."""
    graph = after(lambda a: df.while_loop(
        lambda i, a, b, c: i < 3, lambda i, a, b, c: (i + 1, a + 1., b * 2., c + b),
        (0, a, a, a))[1], x(2))
    node = only(graph, "loop")
    assert loop_parts(node).n_carried == 2
    assert ops(node.bodies[0]).count("add") == 2
    assert "multiply" not in ops(node.bodies[0])


def test_carries_for_condition_effects_and_versions_remain():
    v = df.Variable([1., 2.])
    kept = []                   # keeps alive the graphs of the calls

    def f(a):
        kept.append(current_graph())

        def body(i, a, b, c):
            df.print(b)
            v.assign(c)
            return i + 1, a + 1., b + 2., c + 3.
        return df.while_loop(lambda i, a, b, c: i < 3, body, (0, a, a, a))[1]

    graph = after(lambda a: f(a) * 0. + 1., x(2))
    assert loop_parts(only(graph, "loop")).n_carried == 4


def test_branch_of_a_constant_condition_is_inlined():
    v = df.Variable([1., 2.])

    def f(a):
        def then():
            v.assign(a)
            return a * 2.

        k = df.constant(1) * df.constant(1)         # constant, but unknown to Python
        return df.switch_case(k, [then, lambda: a + v, lambda: a]), v.value()

    graph = traced(f, x(2))
    args = random_args(graph)
    want = interpret(graph, args)
    done = df.graph.passes.optimize(graph, Options(check=True))
    assert "cond" not in ops(done)
    for g, w in zip(interpret(done, args).outputs, want.outputs, strict=True):
        assert_same(g, w)


def test_constants_in_nested_bodies():
    """Constants of the outer graph reach the innermost body in one run of the pass."""
    graph = after(lambda a: df.map_fn(lambda r: df.scan(
        lambda c, q: (c + q, c), 0., df.stack([r, r * 2.]))[0] * 5., a), x(3))
    outer = only(graph, "loop")
    assert len(outer.inputs) == 1
    assert outer.op is LOOP


def test_loop_invariant_nodes_are_hoisted():
    """They leave both loops, unless a node may raise or the value is only repeated."""
    v = df.Variable([1., 2., 3.])

    def f(a, w, k):
        def body(c, r):
            inner, _ = df.scan(lambda d, _: (d @ (df.transpose(w) * 2.), None), c, None, 3)
            v.assign_add([1., 1., 1.])
            return inner + df.tanh(v) + r + df.gather(w, k), None
        return df.scan(body, a, w)[0]

    graph = traced(f, x(1, 3), x(3, 3), x(dtype="int32"))
    args = random_args(graph)[:2] + [df.constant(1)]
    want = interpret(graph, args)
    done = hoist.run(bodies.run(versions.run(ir.copy(graph), Options()), Options()), Options())
    done = dead_code.run(done, Options())
    ir.check(done)
    for g, w in zip(interpret(done, args).outputs, want.outputs, strict=True):
        assert_same(g, w)
    loop = only(done, "loop")
    assert "transpose" in ops(done) and "multiply" in ops(done)
    assert "gather" in ops(loop.bodies[0]) and "tanh" in ops(loop.bodies[0])
    assert ops(only(loop.bodies[0], "loop").bodies[0]) == ["matmul"]
