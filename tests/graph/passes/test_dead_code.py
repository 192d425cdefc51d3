"""Unused nodes are removed; parameters and effects remain."""

import pytest

import dualflow as df
from dualflow.graph import ir
from dualflow.graph.passes import dead_code
from tests.graph.build import clone, is_block, passed, traced, variable, x


def test_unused_nodes_constants_and_variables_are_removed():
    v = variable(3)

    def f(a, b):
        df.exp(a + v) * 2.0
        return a * 3.0

    after = passed(dead_code, traced(f, x(3), x(3)))
    is_block("""
        %2 = constant(3.0)
        %3 = multiply(%0, %2)
        return %3
    """, after)
    assert [p.node.name for p in after.inputs] == ["a", "b"]
    assert sum(node.op is ir.VARIABLE for node in after.nodes) == 0


def test_effects_and_their_operands_remain():
    v = variable(3)

    def f(a):
        v.assign_add(df.exp(a))
        return a

    is_block("""
        %1 = exp(%0)
        %3 = assign_add(%2, %1)
        return %0
    """, passed(dead_code, traced(f, x(3))))


def test_graph_without_dead_code_is_unchanged():
    graph = traced(lambda a: df.sin(a), x(3))
    kept = clone(graph)
    nodes = list(kept.nodes)
    assert dead_code.run(kept, None).nodes == nodes


def test_unused_nodes_that_may_raise_remain():
    v = variable(3)

    def f(a, i):
        df.exp(df.gather(a, i))
        v.assign_add(a)
        return a

    is_block("""
        %2 = gather(%0, %1, axis=0, batch_dims=0)
        %4 = assign_add(%3, %0)
        return %0
    """, dead_code.run(traced(f, x(3), x(dtype="int32")), None))


def test_unused_node_raises_as_in_eager_mode():
    v = df.Variable([1., 2.])

    @df.function
    def f(i):
        df.gather(v, i)
        v.assign_add([1., 1.])

    f(df.constant(1))
    with pytest.raises(df.errors.OutOfRangeError):
        f(df.constant(2))
    assert v.numpy().tolist() == [2., 3.]
