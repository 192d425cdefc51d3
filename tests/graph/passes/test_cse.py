"""Equal nodes are computed once."""

import numpy as np
import pytest

import dualflow as df
from dualflow import _core, dtypes
from dualflow.graph.passes import cse
from tests.graph.build import assert_same, body, is_block, ops, passed, traced, values, variable, x


def test_equal_nodes_and_constants_merge():
    def f(a, b):
        return (a + b) * 2.0, (b + a) * 2.0

    is_block("""
        %2 = add(%0, %1)
        %3 = constant(2.0)
        %4 = multiply(%2, %3)
        return %4, %4
    """, passed(cse, traced(f, x(3), x(3))))


def test_different_attributes_inputs_or_order_do_not_merge():
    def f(a):
        return (df.reduce_sum(a, 0), df.reduce_sum(a, 1), df.reduce_max(a, 0), a - a * a,
                a * a - a)

    after = passed(cse, traced(f, x(3, 3)))
    assert ops(after).count("multiply") == 1
    assert ops(after).count("subtract") == 2
    assert len([op for op in ops(after) if op.startswith("reduce")]) == 3


def test_attributes_with_different_signs_of_zero_do_not_merge():
    def f(a):
        return df.nn.leaky_relu(a, 0.0), df.nn.leaky_relu(a, -0.0)

    assert len(ops(passed(cse, traced(f, x(5))))) == 2


def test_constants_of_different_dtype_shape_or_bits_do_not_merge():
    def f(a):
        return (a + df.constant(0.0), a + df.constant(-0.0), a + df.constant([0.0]),
                a + df.constant([0.0]))

    assert len([line for line in body(passed(cse, traced(f, x(3)))) if "constant" in line]) == 3


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
def test_constants_of_every_dtype(dtype):
    one, other, third = (df.cast(df.constant([1, 0, n]), dtype) for n in (1, 1, 0))

    def f(a):
        return df.where(a, one, third), df.where(a, other, third)

    assert ops(passed(cse, traced(f, x(3, dtype="bool")))) == [
        "where"]


def test_large_constants_merge_only_if_identical():
    big = np.zeros(100_000, np.float32)
    one, other = df.constant(big), df.constant(big)
    after = passed(cse, traced(lambda a: (a + one, a + one, a + other), x(100_000)))
    assert ops(after) == ["add", "add"]


def test_effects_do_not_merge():
    v = variable(3)

    def f(a):
        v.assign_add(a)
        v.assign_add(a)
        return a

    assert ops(passed(cse, traced(f, x(3)))) == ["assign_add", "assign_add"]


def test_several_outputs():
    def f(a):
        return (*df.split(a, 2), *df.split(a, 2))

    is_block("""
        %1, %2 = split(%0, axis=0, sizes=(), num=2)
        return %1, %2, %1, %2
    """, passed(cse, traced(f, x(4))))


COMMUTATIVE = [name for name in _core.ops() if _core.get_op(name).commutative]


@pytest.mark.parametrize("name", COMMUTATIVE)
def test_commutative_ops_have_equal_bits_when_swapped(name):
    op = _core.get_op(name)
    special = np.array(np.meshgrid([0.0, -0.0, 1.0, np.nan, np.inf, -np.inf, 1e-42], np.arange(7)))
    for dtype in op.dtypes:
        a = values(np.random.default_rng(0), (200,), dtype)
        b = values(np.random.default_rng(1), (200,), dtype)
        if dtype.startswith("float"):
            row = np.array(special[0][0], dtype)
            a = np.concatenate([a, np.repeat(row, 7)])
            b = np.concatenate([b, np.tile(row, 7)])
        pair = [df.constant(a), df.constant(b)]
        assert_same(*[_core.evaluate(op, p, None)[0] for p in (pair, pair[::-1])])
