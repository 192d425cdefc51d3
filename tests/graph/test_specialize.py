"""Specialisation from unknown sizes to the sizes of a call: attributes, guards, numbers."""

import numpy as np
import pytest

import dualflow as df
from dualflow._core import Dim, GuardError
from dualflow.graph import ir
from dualflow.graph.trace.dims import formula
from dualflow.graph.trace.specialize import deciding_arguments, specialize
from dualflow.graph.trace.trace import Trace


def traced(f, *shapes, hint=5):
    trace = Trace("f")
    with trace.recording():
        args = [trace.parameter(k, f"x{k}", df.float32, shape,
                                [hint if d is None else d for d in shape])
                for k, shape in enumerate(shapes)]
        out = f(*args)
    trace.outputs = list(out) if isinstance(out, tuple) else [out]
    return trace


def shapes_for(trace, *shapes):
    graph = specialize(trace, dict(enumerate(shapes)))
    if graph is None:
        return None
    ir.check(graph)
    return [y.shape for y in graph.outputs]


def test_attributes_follow_the_sizes():
    trace = traced(lambda x: (df.reshape(x, [x.shape[0] // 2, 2 * x.shape[1]]),
                              df.zeros([x.shape[0] + 1]), df.concat([x, x], 0)), (None, 3), hint=4)
    assert shapes_for(trace, (4, 3)) == [(2, 6), (5,), (8, 3)]
    assert shapes_for(trace, (10, 3)) == [(5, 6), (11,), (20, 3)]


def test_sizes_from_the_shape_op():
    trace = traced(lambda x: df.reshape(x, [df.shape(x)[1], -1]), (None, None))
    assert shapes_for(trace, (2, 3)) == [(3, 2)]
    assert shapes_for(trace, (7, 1)) == [(1, 7)]


def test_guards():
    trace = traced(lambda x: x if x.shape[0] > 3 else x + 1., (None,))
    assert shapes_for(trace, (4,)) == [(4,)]
    assert shapes_for(trace, (3,)) is None


def test_incompatible_sizes_raise_without_guards():
    trace = traced(lambda x, y: x + y, (None,), (None,))
    assert shapes_for(trace, (4,), (1,)) == [(4,)]
    with pytest.raises(df.errors.ShapeError, match=r"\(4,\) and \(3,\)"):
        shapes_for(trace, (4,), (3,))


def test_sizes_as_numbers_become_constants():
    trace = traced(lambda x: df.reduce_sum(x) / x.shape[0], (None,))
    graph = specialize(trace, {0: (8,)})
    assert [n.data.item() for n in graph.nodes if n.op is ir.CONSTANT] == [8.]
    assert len(graph.inputs) == 1


def test_data_dependent_size_is_computed_at_run_time():
    def f(x):
        kept = df.boolean_mask(x, x > 0.)
        return df.reduce_sum(kept) / kept.shape[0]

    fn = df.function(f)
    for values in ([1., 2., -1., 3.], [4., -1., -1., -1.]):
        assert fn(df.constant(values)).numpy() == f(df.constant(values)).numpy()


def test_numbers_with_guards():
    from_number = []

    def f(x, a, b):
        return df.zeros([a]) + x * b

    fn = df.function(f)
    x = df.constant(1.)
    for a, b in [(1, 1.), (2, 2.), (3, 3.), (3, 4.)]:
        np.testing.assert_array_equal(fn(x, a, b).numpy(), f(x, a, b).numpy())
    deciding = [deciding_arguments(c.trace) for c in fn._traces]
    assert all(1 not in d for d in deciding), from_number


def test_number_of_a_call_is_a_formula():
    trace = Trace("f")
    with trace.recording():
        x = trace.parameter(0, "x", df.float32, (None,), (3,))
        n = Dim(5, "argument", (1,), trace)
        trace.outputs = [x * ((n + 2) * (n + 2) / x.shape[0])]
    first, second = (specialize(trace, {0: (6,)}) for _ in range(2))
    made = first.inputs[1].node.data
    assert repr(made) == "a number, truediv(mul(add(leaf 1, 2), add(leaf 1, 2)), 6)"
    assert made == second.inputs[1].node.data != specialize(trace, {0: (7,)}).inputs[1].node.data
    assert made.number([None, 1]) == 1.5
    assert made.number([None, 2]) == 16 / 6
    with pytest.raises(GuardError, match="not of type float"):
        made.number([None, 2j])


def test_long_formula():
    trace = Trace("f")
    with trace.recording():
        n = Dim(1, "argument", (0,), trace)
        for _ in range(2000):
            n = (n + n) % 1_000_003
    made = formula(n, None)
    assert made.value([1]) == pow(2, 2000, 1_000_003)
    assert len(made.steps) == 1 + 3 * 2000 and len(str(made)) <= 60


def test_specialize_is_deterministic_and_leaves_the_trace_unchanged():
    trace = traced(lambda x: df.exp(x) * x.shape[0], (None,))
    before = str(trace)
    first, second = (str(specialize(trace, {0: (6,)})) for _ in range(2))
    assert first == second and str(trace) == before
