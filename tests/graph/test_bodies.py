"""Nodes that own graphs: their facts, the rules of the IR, and every traversal of bodies."""

import numpy as np
import pytest

import dualflow as df
from dualflow._core import current_graph, evaluate, get_op, symbol
from dualflow.graph import ir, passes
from dualflow.graph.inspect.draw import picture, to_dot, to_svg
from dualflow.graph.inspect.profile import flops_of
from dualflow.graph.ir import CALL, PARAMETER, Graph, Input
from dualflow.graph.passes import cse, dead_code, inline, updates, versions
from dualflow.graph.passes.options import Options
from dualflow.graph.trace.static_value import static_value
from dualflow.graph.trace.trace import Trace
from tests.graph.bodies import leaves_first, outlined
from tests.graph.build import (
    assert_exact,
    assert_same,
    body,
    lines,
    ops,
    passed,
    text,
    traced,
    variable,
    x,
)

EXP, ADD, ASSIGN_ADD = get_op("exp"), get_op("add"), get_op("assign_add")


def call_of(graph, f, *inputs):
    """Add a call of the graph of `f` to `graph`."""
    inner = traced(f, *[x(*y.shape, dtype=y.dtype.name) for y in inputs])
    for k, y in enumerate(inner.inputs):
        y.node.data = Input(k)
    return graph.add(CALL, inputs, name="inner", bodies=[inner])


def calling(f, *parameters, g=lambda y: y * 2.0):
    """Return a graph of `g` applied to a call of `f`."""
    graph = traced(lambda *args: args, *parameters)
    y = call_of(graph, f, *graph.inputs).outputs[0]
    twice = call_of(graph, g, y)
    graph.outputs = [twice.outputs[0], y]
    return graph


def softplus(a):
    return df.math.log(1.0 + df.exp(a))


def nested(depth):
    """Return exp of the argument within `depth` nested calls, each of which adds 1."""
    graph = traced(df.exp, x(2))
    for _ in range(depth):
        graph.inputs[0].node.data = Input(0)
        outer = traced(lambda a: [a], x(2))
        y = outer.add(CALL, outer.inputs, bodies=[graph]).outputs[0]
        outer.outputs = [outer.add(ADD, (y, outer.constant(df.constant(1.0)))).outputs[0]]
        graph = outer
    return graph


def broken(graph, match):
    with pytest.raises(ir.IRError, match=match):
        ir.check(graph)


# --- facts ---

def test_node_summarises_effects_of_its_bodies():
    pure = call_of(Graph(), softplus, *traced(lambda a: a, x(2)).inputs)
    assert (pure.writes, pure.effect, pure.may_raise, pure.written) == (0, False, False, [])
    graph = traced(lambda a, i: df.gather(a, i), x(3), x(dtype="int32"))
    assert call_of(Graph(), lambda a, i: df.gather(a, i), *graph.inputs).may_raise
    shown = call_of(Graph(), lambda a: df.print(a) or a, *graph.inputs[:1])
    assert shown.effect and shown.may_raise and not shown.writes


def writing():
    """Return a graph of a variable and a call that adds to it, and the call."""
    v = variable(3)
    graph = traced(lambda a: [a, v.value()], x(3))
    inner = Graph("update")
    a, w = [inner.add_leaf(PARAMETER, y, data=Input(k)) for k, y in enumerate(graph.outputs)]
    inner.inputs = [a, w]
    doubled = inner.add(ADD, (a, a)).outputs[0]
    inner.outputs = [doubled, inner.add(ASSIGN_ADD, (w, doubled)).outputs[0]]
    call = graph.add(CALL, graph.outputs, bodies=[inner])
    graph.outputs = list(call.outputs)
    return graph, call


def test_call_writes_the_variables_of_its_body():
    graph, call = writing()
    ir.check(graph)
    assert (call.writes, call.effect, call.may_raise) == (2, True, False)
    assert [(b.name, a.index) for b, a in call.written] == [(call.inputs[1].name, 1)]
    assert body(inline.run(ir.copy(graph), Options())) == [
        "%2 = add(%0, %0)", "%3 = assign_add(%1, %2)", "return %2, %3"]
    passed(inline, graph)


def test_late_read_of_an_overwritten_variable_is_copied():
    graph, call = writing()
    graph.outputs = [call.inputs[1]]
    broken(graph, "is returned but call overwrites it")
    after = passed(versions, graph)
    assert ops(after) == ["identity", "call"]
    assert ops(passes.optimize(graph, Options(check=True))) == ops(passes.optimize(
        after, Options(check=True)))


def test_passing_a_written_variable_twice_raises():
    graph, call = writing()
    call.inputs = (call.inputs[1], call.inputs[1])
    broken(graph, "which is an input twice")
    after = passed(versions, graph)
    assert body(after)[0].startswith("%2 = identity(%1)")


def test_calls_with_effects_are_neither_dropped_nor_merged():
    graph = traced(lambda a: a, x(2))
    for _ in range(2):
        call_of(graph, lambda a: df.print(a) or a * 2.0, *graph.inputs)
    assert [len(ops(run(ir.copy(graph), Options()))) for run in (dead_code.run, cse.run)] == [
        2, 2]
    assert len(ops(updates.run(ir.copy(graph), Options()))) == 2


def test_unused_call_is_removed():
    graph = calling(softplus, x(2))
    graph.outputs = list(graph.inputs)
    assert ops(passed(dead_code, graph)) == []


# --- rules ---

def test_valid_graph_with_a_call():
    ir.check(calling(softplus, x(3)))


def test_body_inputs_must_match_node_inputs():
    graph = calling(softplus, x(3))
    graph.nodes[-1].bodies[0].inputs[0].node.data = Input(1)
    broken(graph, "the inputs are not those of the node")


def test_body_input_types_must_match_operands():
    graph = calling(softplus, x(3))
    graph.nodes.insert(0, traced(lambda a: a, x(4)).nodes[0])
    graph.nodes[0].outputs = (symbol(graph, graph.nodes[0], 0, df.float32, (4,)),)
    graph.nodes[-1].inputs = graph.nodes[0].outputs
    broken(graph, "is bound to")


def test_bodies_must_not_have_free_values_or_variables():
    graph = calling(softplus, x(3))
    inner = graph.nodes[-1].bodies[0]
    inner.nodes[-1].inputs = (graph.inputs[0], inner.inputs[0])
    broken(graph, "before it is defined")
    v = variable(3)
    broken(calling(lambda a: a * v, x(3)), "is neither an input nor a constant")


def test_last_body_outputs_must_be_the_written_variables():
    graph, call = writing()
    call.bodies[0].outputs.reverse()
    broken(graph, "the last outputs are not the last versions of the written inputs")


def test_changed_bodies_need_a_new_own_call():
    graph, call = writing()
    inner = call.bodies[0]
    inner.nodes.pop()
    inner.outputs[1] = inner.inputs[1]
    broken(graph, "its bodies have changed")
    call.own(call.bodies)
    ir.check(graph)
    assert call.writes == 2                 # the version output remains, unchanged
    assert not call.effect


def test_number_of_bodies_must_match_the_op():
    graph = calling(softplus, x(3))
    graph.nodes[-1].own([])
    with pytest.raises(df.errors.UnimplementedError, match="exists only as a graph node"):
        ir.check(graph)
    graph.nodes[-1].own(graph.nodes[-2].bodies * 2)
    broken(graph, "owns 2 bodies, expected 1")


def test_evaluate_of_a_call_raises():
    with pytest.raises(df.errors.UnimplementedError, match="exists only as a graph node"):
        evaluate(CALL, [df.ones([2])], None)


# --- traversal ---

def test_text():
    assert text(calling(softplus, x(3))) == """graph f:
  %0 = parameter(a) : float32 (3,)
  %1 = call(%0) : float32 (3,)
    body f:
      %0 = parameter(input 0) : float32 (3,)
      %1 = exp(%0) : float32 (3,)
      %2 = constant(1.0) : float32 ()
      %3 = add(%2, %1) : float32 (3,)
      %4 = log(%3) : float32 (3,)
      return %4
  %2 = call(%1) : float32 (3,)
    body f:
      %0 = parameter(input 0) : float32 (3,)
      %1 = constant(2.0) : float32 ()
      %2 = multiply(%0, %1) : float32 (3,)
      return %2
  return %2, %1"""


def test_copies_are_deep():
    graph = calling(softplus, x(3))
    made = ir.copy(graph)
    ir.check(made)
    assert text(made) == text(graph)
    assert not set(ir.graphs(made)) & set(ir.graphs(graph))
    assert not set(ir.walk(made.nodes)) & set(ir.walk(graph.nodes))


def test_walk_visits_bodies_before_their_node():
    graph = calling(softplus, x(3))
    assert [node.type for node in ir.walk(graph.nodes)] == [
        "parameter", "parameter", "exp", "constant", "add", "log", "call", "parameter", "constant",
        "multiply", "call"]
    deep = nested(3)
    assert [len(g.nodes) for g in ir.graphs(deep)] == [2, 4, 4, 4]


def test_inline_replaces_the_call():
    after = passed(inline, calling(softplus, x(3)))
    assert body(after) == ["%1 = exp(%0)", "%2 = constant(1.0)", "%3 = add(%2, %1)",
                           "%4 = log(%3)", "%5 = constant(2.0)", "%6 = multiply(%4, %5)",
                           "return %6, %4"]
    assert after.changes == 2


def test_equal_bodies_are_merged():
    graph = traced(lambda a, b: [a, b], x(3), x(3))
    a, b = graph.inputs
    made = [call_of(graph, f, y) for f, y in (
        (softplus, a), (softplus, a), (softplus, b), (lambda t: df.exp(1.0 + t), a),
        (lambda t: df.math.log(2.0 + df.exp(t)), a))]
    graph.outputs = [node.outputs[0] for node in made]
    after = passed(cse, graph)
    assert lines(after)[-1] == "return %2, %2, %3, %4, %5"
    assert len(ops(after)) == 4


def test_known_values_through_calls():
    trace = Trace("f")
    c = trace.constant(df.constant([1.0, 2.0]))
    y = call_of(trace, lambda a: call_of(current_graph(), df.exp, a).outputs[0], c).outputs[0]
    assert_same(static_value(y, None), df.exp(c.node.data))


def test_several_bodies():
    """Traversals visit all bodies, although no op has more than one yet."""
    graph = calling(softplus, x(3))
    first, second = graph.nodes[-2:]
    second.own([*second.bodies, *ir.copy(graph).nodes[-2].bodies])
    assert len(ir.graphs(graph)) == 4
    assert [node.type for node in ir.walk([second])] == [
        "parameter", "constant", "multiply", "parameter", "exp", "constant", "add", "log", "call"]
    assert text(graph).count("body f:") == 3
    made = ir.copy(graph)
    assert text(made) == text(graph)
    assert [len(node.bodies) for node in made.nodes] == [0, 1, 2]
    first.inputs = second.inputs = tuple(graph.inputs)
    assert len(ops(cse.run(graph, Options()))) == 2
    first.own(ir.copy(graph).nodes[-1].bodies[::-1])
    assert len(ops(cse.run(graph, Options()))) == 2
    first.own(first.bodies[::-1])
    assert lines(cse.run(graph, Options()))[-1] == "return %1, %1"


def test_drawings_frame_the_nodes_of_a_body():
    drawn = picture(nested(2))
    titles = [box.title for box in drawn.boxes]
    assert titles == ["a", "call", "call", "exp", "add  1.0", "add  1.0", "result"]
    assert [box.n_bodies for box in drawn.boxes] == [0, 0, 1, 2, 1, 0, 0]
    edges = [(a, b) for a, b, _ in drawn.edges]
    assert edges == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)]
    assert to_svg(nested(2)).count('class="body"') == 2
    assert to_dot(nested(2)).count("subgraph") == 2


def test_flops_include_bodies():
    call = calling(softplus, x(3)).nodes[1]
    assert flops_of(call, call.inputs, call.outputs) == 9
    assert flops_of(*next((n, n.inputs, n.outputs) for n in nested(2).nodes if n.bodies)) == 4


@pytest.mark.parametrize("seed", range(40))
def test_random_outlining_preserves_results(seed):
    """The results do not depend on which parts of a program are moved into (nested) calls."""
    graph = leaves_first(versions.run(program(seed), Options()))
    rng = np.random.default_rng(seed)
    calls = outlined(graph, rng)
    assert "call" in ops(calls)
    ir.check(calls)
    assert text(ir.copy(calls)) == text(calls)
    after = inline.run(ir.copy(calls), Options())
    ir.check(after)
    assert text(after) == text(graph)
    assert_exact(graph, calls, seeds=1)
    want, got = [passes.optimize(g, Options(check=True)) for g in (graph, calls)]
    assert text(got) == text(want)


STEPS = [lambda p, q: p + q, lambda p, q: p * q, lambda p, q: df.exp(-p),
         lambda p, q: df.stack([p, q])[1], lambda p, q: df.reduce_sum(p) * q]


def program(seed):
    """Return a graph of random ops and updates of two variables."""
    rng = np.random.default_rng(seed)
    v, w = variable(3, name="v"), variable(3, name="w")

    def f(a, b):
        made = [a, b, v.value()]
        for _ in range(int(rng.integers(8, 30))):
            p, q = [made[int(k)] for k in rng.integers(0, len(made), 2)]
            kind = int(rng.integers(0, 9))
            if kind < len(STEPS):
                made.append(STEPS[kind](p, q))
            elif kind == 5:
                made.append(v + p)
            elif kind == 6:
                made.append(w.value())
            elif kind == 7:
                v.assign(p * 0.5)
            else:
                [v, w][int(rng.integers(2))].assign_add(df.tanh(p))
        return made[-3:]

    return traced(f, x(3), x(3))


# --- depth ---

DEPTH = 1500


def test_deeply_nested_calls():
    """No traversal recurses: this depth would exceed the interpreter's recursion limit."""
    graph = nested(DEPTH)
    ir.check(graph)
    made = ir.copy(graph)
    assert len(ir.graphs(made)) == DEPTH + 1
    for run in (cse.run, versions.run, dead_code.run):
        made = run(made, Options())
    assert len(ops(inline.run(made, Options()))) == DEPTH + 1
    assert len(ops(passes.optimize(graph, Options()))) == 1
    assert text(nested(1100)).count("body f:") == 1100
