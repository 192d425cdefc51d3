"""Constant folding; no large constant is created."""

import dualflow as df
from dualflow.graph.passes import fold
from tests.graph.build import body, is_block, lines, ops, passed, simplified, traced, x


def test_constants_fold():
    def f(a):
        return a + df.exp(df.constant([0.0, 0.0, 0.0])) * 2.0

    after = passed(fold, traced(f, x(3)))
    assert ops(after) == ["add"]
    assert "%4 = constant([2.0, 2.0, 2.0])" in lines(after)


def test_shapes_fold_when_known():
    def f(a):
        return df.size(a) + df.shape(a)[0]

    after = passed(fold, traced(f, x(3, 4)))
    assert ops(after) == []
    assert body(after)[-1] == "return %4"


def test_data_dependent_shapes_do_not_fold():
    def f(a):
        return df.size(df.unique(a)[0])

    assert ops(passed(fold, traced(f, x(3)))) == ["unique", "size"]


def test_folding_through_broadcasts():
    def f(a):
        return a + df.exp(df.zeros((2, 3)) - 1.0) * df.ones((2, 1))

    assert ops(simplified(traced(f, x(2, 3)))) == ["add"]


def test_huge_constants_are_not_created():
    def f(a):
        return (df.zeros((10**6, 10**6)) + 1.0)[0, 0] + a

    graph = traced(f, x())
    assert [op for op in ops(passed(fold, graph, exact=False)) if op == "broadcast_to"]
    assert ops(simplified(graph)) == ["add"]


def test_size_limit_of_folded_constants():
    c = df.constant([[1.0, 2.0]] * 10)

    def f():
        return df.transpose(c)

    assert ops(passed(fold, traced(f), fold_limit=19)) == ["transpose"]
    assert ops(passed(fold, traced(f), fold_limit=20)) == []


def test_effects_and_random_numbers_do_not_fold():
    v = df.Variable([1.0])

    def f(key):
        v.assign([2.0])
        return df._core.apply("random_uniform", key, shape=(2,), minval=0.0,
                              maxval=1.0, dtype="float32")

    after = passed(fold, traced(f, x(2, dtype="int64")), exact=False)
    assert ops(after) == ["assign", "random_uniform"]


def test_several_outputs():
    def f(a):
        one, two = df.split(df.constant([1.0, 2.0]), 2)
        return a + one, a + two

    is_block("""
        %1 = constant([1.0, 2.0])
        %2 = constant([1.0])
        %3 = constant([2.0])
        %4 = add(%0, %2)
        %5 = add(%0, %3)
        return %4, %5
    """, passed(fold, traced(f, x(1))))


def test_failing_nodes_do_not_fold():
    def f(a):
        return a + df.gather(df.constant([1.0, 2.0]), df.constant(7))

    assert ops(passed(fold, traced(f, x(2)), exact=False)) == ["gather", "add"]


def test_ops_without_broadcasting_get_full_constants():
    def f(a):
        return df.matmul(a, df.ones((3, 2))), a + df.ones((3, 3)), df.matmul(a, df.ones((3, 300)))

    is_block("""
        %1 = constant(1.0)
        %2 = broadcast_to(%1, shape=(3, 2))
        %3 = constant(...)
        %4 = matmul(%0, %3, transpose_a=False, transpose_b=False)
        %5 = constant(1.0)
        %6 = broadcast_to(%5, shape=(3, 3))
        %7 = add(%0, %6)
        %8 = constant(1.0)
        %9 = broadcast_to(%8, shape=(3, 300))
        %10 = matmul(%0, %9, transpose_a=False, transpose_b=False)
        return %4, %7, %10
    """, passed(fold, traced(f, x(3, 3)), fold_limit=100))
