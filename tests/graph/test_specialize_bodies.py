"""Specialisation of traces with calls: changing and data-dependent sizes, numbers of the call and
guards, inside bodies and outside."""

import numpy as np
import pytest

import dualflow as df
from dualflow.graph import ir
from dualflow.graph.passes.options import Options
from dualflow.graph.program.compile import Compiled, compile_trace
from dualflow.graph.trace.specialize import specialize
from tests.graph.bodies import outline
from tests.graph.build import assert_same


def sized(x, y, n):
    """Use sizes in attributes, with tensors and in branches."""
    rows = x.shape[0]
    pairs = df.reshape(x, [rows * 2, 2]) * rows
    wide = df.broadcast_to(df.reduce_sum(pairs), [rows, 4]) + x
    if rows == 1:
        wide = wide * 3.0
    return df.concat([wide, y * n], axis=0), pairs[-1] / n


def data_sized(x, y, n):
    """Use data-dependent sizes in the same ways."""
    kept = df.boolean_mask(x, x > 0.0)
    k = kept.shape[0]
    again = df.boolean_mask(y, y > 0.5)
    square = df.reshape(kept, [k, 1]) + df.reshape(kept, [1, k])
    more = df.broadcast_to(df.reduce_sum(square), [k + 1, x.shape[0]]) * k
    padded = df.concat([df.zeros([k]), kept * 2.0, df.ones([again.shape[0] + k])], axis=0)
    return df.reduce_sum(more) * n, padded, df.reduce_sum(again) / (k + 1)


def trace_of(f):
    """Return a new trace of `f` for any sizes and, in its third argument, any number."""
    g = df.function(lambda *args: f(*args), input_signature=[
        df.TensorSpec([None, 4]), df.TensorSpec([None, 4]), df.TensorSpec([])])
    return g.get_concrete_function().trace


def args_for(rows, seed):
    rng = np.random.default_rng(seed)
    return [df.constant(rng.normal(size=shape), df.float32) for shape in ((rows, 4), (3, 4), ())]


def run(trace, args, passes):
    shapes = {k: x.shape for k, x in enumerate(args)}
    compiled = compile_trace(trace, shapes, Options(passes=passes, check=True))
    return None if compiled is None else compiled.run(args)


@pytest.mark.parametrize("f", [sized, data_sized])
@pytest.mark.parametrize("seed", range(25))
def test_outlined_traces_specialise_to_equal_results(f, seed):
    rng = np.random.default_rng(seed)
    plain, trace = trace_of(f), trace_of(f)
    work = [trace]
    for _ in range(4):
        one = work[int(rng.integers(len(work)))]
        start = int(rng.integers(0, len(one.nodes)))
        outline(one, start, start + int(rng.integers(1, 9)))
        work += [body for node in one.nodes for body in node.bodies]
    for rows in (2, 5, 1):
        args = args_for(rows, seed)
        for passes in (True, False):
            want, got = run(plain, args, passes), run(trace, args, passes)
            assert (got is None) == (want is None)
            for g, w in zip(got or [], want or [], strict=True):
                assert_same(g, w)


def test_data_dependent_outer_size_becomes_a_body_input():
    """The size is known only at run time: a node outside computes it and passes it to the call."""
    def f(x):
        kept = df.boolean_mask(x, x > 0.0)
        return df.exp(df.reduce_sum(x)) + df.zeros([kept.shape[0]])

    g = df.function(f, input_signature=[df.TensorSpec([None])])
    trace = g.get_concrete_function().trace
    start = [node.type for node in trace.nodes].index("exp")
    assert outline(trace, start, start + 1)
    assert outline(trace, start, len(trace.nodes))
    given = len(next(node for node in trace.nodes if node.bodies).inputs)
    graph = specialize(trace, {0: (3,)})
    ir.check(graph)
    call = next(node for node in graph.nodes if node.bodies)
    assert len(call.inputs) == given + 1
    assert call.inputs[-1].node.type == "gather_nd"
    assert "dimension" in [node.type for node in call.bodies[0].nodes]
    x = df.constant([1.0, -1.0, 2.0])
    assert_same(Compiled(graph, Options(check=True)).run([x])[0], f(x))


def test_numbers_of_a_call_become_body_inputs():
    def f(x, r):
        kept = df.boolean_mask(x, x > 0.0)
        return df.reduce_sum(x) * (kept.shape[0] * r) + kept

    g = df.function(lambda x, r: f(x, r))
    x = df.constant([1.0, -1.0, 2.0])
    for r in (2.5, 3.5):
        g(x, r)
    trace = g._traces[-1].trace
    start = [node.type for node in trace.nodes].index("reduce_sum")
    assert outline(trace, start, len(trace.nodes))
    compiled = compile_trace(trace, {0: (3,)}, Options(check=True))
    for r in (5.5, 1.5):
        assert_same(compiled.run([x, r])[0], f(x, r))


def test_bodies_of_one_node_have_the_same_inputs():
    """Both bodies get the input, although only the second one needs the outer size."""
    def f(x):
        kept = df.boolean_mask(x, x > 0.0)
        return df.reduce_sum(x) + df.zeros([kept.shape[0]])

    trace = df.function(f, input_signature=[df.TensorSpec([None])]).get_concrete_function().trace
    start = [node.type for node in trace.nodes].index("reduce_sum")
    assert outline(trace, start, len(trace.nodes))
    call = next(node for node in trace.nodes if node.bodies)
    plain = ir.Graph("plain")
    plain.inputs = [plain.add_leaf(ir.PARAMETER, y, data=ir.Input(k), shape=y.known_shape)
                    for k, y in enumerate(call.inputs)]
    plain.outputs = plain.inputs[:1]
    call.own([plain, *call.bodies])
    trace.outputs = []
    made = next(node for node in specialize(trace, {0: (3,)}).nodes if node.bodies)
    assert [len(body.inputs) for body in made.bodies] == [len(made.inputs)] * 2
    assert len(made.inputs) == len(call.inputs) + 1
    for body in made.bodies:
        assert [y.node.data.place for y in body.inputs] == list(range(len(made.inputs)))
