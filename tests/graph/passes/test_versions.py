"""Late readers of a variable's version read a copy."""

import pytest

import dualflow as df
from dualflow.graph import ir
from dualflow.graph.passes import optimize, versions
from dualflow.graph.passes.options import Options
from tests.graph.build import clone, is_block, passed, traced, variable, x
from tests.graph.interpret import interpret


def swap():
    v, w = variable(2, name="v"), variable(2, name="w")
    w.assign([7.0, 8.0])

    def f():
        old = v.value()
        v.assign(w)
        w.assign(old)
        return old * 1.0

    return traced(f)


def test_swap():
    graph = swap()
    with pytest.raises(ir.IRError):
        ir.check(graph)
    is_block("""
        %2 = identity(%0)
        %3 = assign(%0, %1)
        %4 = assign(%1, %2)
        %5 = constant(1.0)
        %6 = multiply(%2, %5)
        return %6
    """, passed(versions, graph))


def test_returned_old_value():
    v = variable(2)

    def f(a):
        old = v.value()
        v.assign_add(a)
        return old, v.value()

    is_block("""
        %2 = identity(%1)
        %3 = assign_add(%1, %0)
        return %2, %3
    """, passed(versions, traced(f, x(2))))


def test_swap_with_and_without_passes():
    graph = swap()
    want = [[7.0, 8.0], [1.0, 2.0]]
    for options in (Options(passes=False, check=True), Options(check=True)):
        after = optimize(clone(graph), options)
        assert [y.tolist() for y in interpret(after, []).variables.values()] == want


def test_swap_in_a_function():
    v, w = variable(2, name="v"), variable(2, name="w")
    w.assign([7.0, 8.0])

    @df.function
    def f():
        old = v.value()
        v.assign(w)
        w.assign(old)
        return old

    assert f().tolist() == [1.0, 2.0]
    assert (v.tolist(), w.tolist()) == ([7.0, 8.0], [1.0, 2.0])
