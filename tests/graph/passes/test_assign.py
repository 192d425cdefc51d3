"""Updates become a computed value and an assignment."""

import dualflow as df
from dualflow.graph.passes import assign
from tests.graph.build import is_block, passed, traced, variable, x


def test_add_and_subtract_become_assignments():
    v, w = variable(3, name="v"), variable(3, name="w")

    def f(a):
        v.assign_add(a)
        w.assign_sub(a)
        return v * 2.0

    is_block("""
        %2 = add(%1, %0)
        %3 = assign(%1, %2)
        %5 = subtract(%4, %0)
        %6 = assign(%4, %5)
        %7 = constant(2.0)
        %8 = multiply(%2, %7)
        return %8
    """, passed(assign, traced(f, x(3))))


def test_only_the_last_of_several_assignments_remains():
    v = variable(3)

    def f(a):
        v.assign(a)
        v.assign_add(a)
        v.assign_sub(v * a)
        return v.value()

    is_block("""
        %2 = add(%0, %0)
        %3 = multiply(%2, %0)
        %4 = subtract(%2, %3)
        %5 = assign(%1, %4)
        return %4
    """, passed(assign, traced(f, x(3))))


def test_assignments_around_another_writer_both_remain():
    v = variable(3)

    def f(a):
        v.assign(a)
        df._core.apply("sgd_update", v, a, df.constant(0.5))
        v.assign_add(a)
        return v.value()

    is_block("""
        %2 = assign(%1, %0)
        %3 = constant(0.5)
        %4 = sgd_update(%2, %0, %3)
        %5 = add(%4, %0)
        %6 = assign(%4, %5)
        return %5
    """, passed(assign, traced(f, x(3))))


def test_self_assignment_is_removed():
    v = variable(3)

    def f(a):
        v.assign(v)
        return v * a

    is_block("""
        %2 = multiply(%1, %0)
        return %2
    """, passed(assign, traced(f, x(3))))


def test_versions_of_other_variables_are_not_read_late():
    v, w = variable(3, name="v"), variable(3, name="w")

    def f(a):
        v.assign(w)
        w.assign_add(a)
        v.assign_add(a)
        return v.value()

    is_block("""
        %3 = assign(%1, %2)
        %4 = add(%2, %0)
        %5 = assign(%2, %4)
        %6 = add(%3, %0)
        %7 = assign(%3, %6)
        return %6
    """, passed(assign, traced(f, x(3))))


def test_without_writes_nothing_changes():
    graph = traced(lambda a: a + 1.0, x(3))
    assert assign.run(graph, None) is graph
    assert graph.changes == 0
