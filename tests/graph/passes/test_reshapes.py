"""Ops that move elements run once or not at all."""

import pytest

import dualflow as df
from dualflow.graph.passes import reshapes
from tests.graph.build import (
    assert_exact,
    is_block,
    ops,
    passed,
    simplified,
    traced,
    variable,
    x,
)


def cleaned(graph, **options):
    """Return the graph after all passes, checked."""
    after = simplified(graph, **options)
    if not options.get("fast_math"):
        assert_exact(graph, after)
    return after


def test_chains_of_reshapes():
    def f(a):
        return df.squeeze(df.expand_dims(df.reshape(a, (3, 4)), 0)), df.reshape(df.reshape(
            a, (6, 2)), (12,))

    is_block("""
        %1 = reshape(%0, shape=(3, 4))
        return %1, %0
    """, cleaned(traced(f, x(12))))


def test_reshape_of_a_reduction_becomes_keepdims():
    def f(a):
        kept = df.reduce_sum(a, 0, keepdims=True)
        return (df.reshape(df.reduce_max(a, -1), (2, 1)), df.squeeze(kept), kept,
                df.reshape(df.reduce_min(a, (0, 1)), (1,)))

    is_block("""
        %1 = reduce_sum(%0, axes=(0,), keepdims=True)
        %2 = reduce_max(%0, axes=(-1,), keepdims=True)
        %3 = squeeze(%1, axis=())
        %4 = reduce_min(%0, axes=(0, 1), keepdims=False)
        %5 = reshape(%4, shape=(1,))
        return %2, %3, %1, %5
    """, cleaned(traced(f, x(2, 3))))


def test_reduction_without_keepdims_is_not_changed():
    def f(a):
        return df.expand_dims(df.argmax(a, 1), 1)

    assert ops(cleaned(traced(f, x(2, 3)))) == ["argmax", "expand_dims"]


def test_data_dependent_sizes():
    def f(a):
        return df.reshape(df.expand_dims(df.unique(a)[0], 0), (-1,))

    assert ops(passed(reshapes, traced(f, x(5)))) == ["unique", "expand_dims", "reshape"]


def test_transposes():
    def f(a):
        t = df.transpose(a, (1, 2, 0))
        return (df.transpose(t, (2, 0, 1)), df.transpose(t, (1, 0, 2)), df.transpose(a, (0, 1, 2)))

    is_block("""
        %1 = transpose(%0, perm=(2, 1, 0))
        return %0, %1, %0
    """, cleaned(traced(f, x(2, 3, 4))))


def test_transpose_of_dimensions_of_one_becomes_a_reshape():
    def f(a):
        return df.reshape(df.transpose(a, (2, 0, 1)), (6,))

    is_block("""
        %1 = reshape(%0, shape=(6,))
        return %1
    """, cleaned(traced(f, x(2, 3, 1))))


@pytest.mark.parametrize("flags", [(False, False), (True, False), (False, True), (True, True)])
def test_transposes_of_operands(flags):
    def f(a, b):
        return df.matmul(df.transpose(a, (0, 2, 1)), df.transpose(b), *flags)

    shapes = x(2, 5, 3) if flags[0] else x(2, 3, 5), x(3, 4) if flags[1] else x(4, 3)
    if flags[0]:
        shapes = x(2, 3, 5), shapes[1]
    a = x(2, 3, 5) if not flags[0] else x(2, 5, 3)
    graph = traced(f, a, x(4, 3) if not flags[1] else x(3, 4))
    after = passed(reshapes, graph)
    assert after.nodes[-1].attrs.as_dict() == {"transpose_a": not flags[0],
                                               "transpose_b": not flags[1]}


@pytest.mark.parametrize("m, k, n", [(2, 2, 2), (3, 7, 5), (17, 33, 9), (64, 100, 48), (5, 700, 3),
                                     (130, 257, 66)])
def test_transposed_products_have_the_same_bits(m, k, n):
    def f(a, b):
        return df.matmul(df.transpose(a), df.transpose(b))

    after = passed(reshapes, traced(f, x(k, m), x(n, k)))
    assert [node.type for node in after.nodes][-1] == "matmul"
    assert after.nodes[-1].inputs == tuple(after.inputs)


def test_products_with_a_vector_keep_the_transpose():
    def f(a, b):
        return df.matmul(df.transpose(a), b)

    vector = traced(f, x(100, 7), x(100, 1))
    assert ops(cleaned(vector)) == ["transpose", "matmul"]
    assert ops(cleaned(vector, fast_math=True)) == ["matmul"]
    assert ops(cleaned(traced(f, x(100, 7, dtype="int32"), x(100, 1, dtype="int32")))) == ["matmul"]


def test_transpose_with_other_readers_is_not_fused():
    def f(a):
        b = df.transpose(a, (0, 2, 1, 3))
        return df.matmul(b, df.transpose(b, (0, 1, 3, 2)))

    is_block("""
        %1 = transpose(%0, perm=(0, 2, 1, 3))
        %2 = matmul(%1, %1, transpose_a=False, transpose_b=True)
        return %2
    """, cleaned(traced(f, x(2, 4, 3, 5))))


def test_batch_transposes_are_not_fused_into_products():
    def f(a, b):
        return df.matmul(df.transpose(a, (1, 0, 2)), b)

    assert ops(cleaned(traced(f, x(2, 3, 4), x(4, 5)))) == ["transpose", "matmul"]


def test_broadcasts():
    def f(a, b):
        wide = df.broadcast_to(df.broadcast_to(a, (1, 3)), (2, 3))
        return df.broadcast_to(b, (2, 3)), wide

    is_block("""
        %2 = broadcast_to(%0, shape=(2, 3))
        return %1, %2
    """, cleaned(traced(f, x(3), x(2, 3))))


def test_reshapes_of_splat_constants():
    def f(a):
        return df.transpose(df.reshape(df.ones((6, 5))[:, 1:], (2, 3, 4)))

    is_block("""
        %1 = constant(1.0)
        %2 = broadcast_to(%1, shape=(4, 3, 2))
        return %2
    """, cleaned(traced(f, x(1))))


def test_elementwise_ops_broadcast_themselves():
    def f(a, b):
        return df.broadcast_to(a, (2, 3)) * b, df.exp(df.broadcast_to(a, (2, 3))) + 1.0

    is_block("""
        %2 = multiply(%0, %1)
        %3 = exp(%0)
        %4 = constant(1.0)
        %5 = add(%3, %4)
        %6 = broadcast_to(%5, shape=(2, 3))
        return %2, %6
    """, cleaned(traced(f, x(3), x(2, 3))))


def test_empty_tensors():
    def f(a, b):
        return df.broadcast_to(a, (0, 3)) * b, df.transpose(df.transpose(b))

    cleaned(traced(f, x(1, 3), x(0, 3)))


def test_variables_are_not_read_late():
    v = variable(3, 4)

    def f(a):
        t = df.transpose(v)
        u = df.reshape(df.transpose(t), (12,))
        v.assign_add(a)
        return df.matmul(t, a), u

    after = cleaned(traced(f, x(3, 4)))
    assert "transpose" in ops(after)
    assert ops(after)[-1] == "matmul"


def test_unknown_sizes_are_not_assumed_equal():
    def f(a):
        u = df.unique(a)[0]
        return df.broadcast_to(df.constant([1.0]), (3,)) * u

    cleaned(traced(f, x(1)))


def test_transpose_of_batch_dimensions_is_not_fused():
    def f(a, b):
        return (df.matmul(df.transpose(a, [1, 0, 3, 2]), b),
                df.matmul(df.transpose(a, [1, 0, 2, 3]), b),
                df.matmul(df.transpose(a, [0, 1, 3, 2]), b))

    after = cleaned(traced(f, x(2, 2, 3, 3), x(2, 2, 3, 3)))
    assert ops(after).count("transpose") == 2       # the third is fused


def test_elementwise_op_of_an_empty_broadcast():
    """A divisor of 0 raises only if an element is divided by it."""
    def f(a, b):
        return df.broadcast_to(a, [0, 2]) // df.broadcast_to(b, [0, 2])

    a, b = df.constant([4, 6]), df.constant([2, 0])
    for call in (f, df.function(f), df.function(f, passes=False)):
        assert call(a, b).shape == (0, 2)


def test_row_of_a_slice():
    """The row is read before the slice is cut."""
    is_block("""
        %2 = constant(2)
        %3 = floormod(%1, %2)
        %4 = gather(%0, %3, axis=0, batch_dims=0)
        %5 = strided_slice(%4, begin=(1,), end=(3,), strides=(1,), kind=(0,))
        return %5
    """, cleaned(traced(lambda a, i: a[:, 1:3][i % 2], x(2, 3), x(dtype="int32"))))


@pytest.mark.parametrize(("f", "moves"), [
    (lambda a, i: df.gather(a[::-1, :, 1], i, axis=1), True),
    (lambda a, i: df.gather(a[1, ..., 1:3], i), True),
    (lambda a, i: df.gather(a[:, None, :, ::2], i, axis=2), True),
    (lambda a, i: df.gather(a[:, None, :, ::2], i), True),
    (lambda a, i: df.gather(a[..., :1], i, axis=-2), True),
    (lambda a, i: df.gather_nd(a[..., 1:], df.stack([i, i])), True),
    (lambda a, i: df.gather(a[1:], i), False),                              # not whole
    (lambda a, i: df.gather(a[:, None], i - i, axis=1), False),             # a new dimension
    (lambda a, i: df.gather_nd(a[:, :3], df.stack([i, i])), False),
    (lambda a, i: df.gather(a[..., 1:], [i, i]), False),                    # several rows
    (lambda a, i: df.gather(a[..., 1:], i) + df.reduce_sum(a[..., 1:]), False),     # a reader
])
def test_rows_of_slices(f, moves):
    graph = simplified(traced(lambda a, i: f(a, i % 2), x(4, 5, 6), x(dtype="int32")))
    assert_exact(traced(lambda a, i: f(a, i % 2), x(4, 5, 6), x(dtype="int32")), graph)
    names = [name for name in ops(graph) if name in ("gather", "gather_nd", "strided_slice")]
    assert names[0].startswith("gather") == moves
