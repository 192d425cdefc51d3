"""Tile code as text."""

import dualflow as df
from dualflow.graph.tile_text import decode, flops_per_run, to_text
from tests.graph.tile_code import Cluster


def code():
    c = Cluster(df.ones([4, 8]), shape=(4, 8), row_dims=1)
    a = c.step("multiply", 0, 0)
    b = c.step("multiply", a, a)
    s = c.fold("reduce_sum", b)
    r = c.step("sqrt", s, space=1)
    d = c.step("divide", b, r)
    return c.code(d, s)


def test_decode():
    decoded = decode(code())
    assert decoded.row_length == 8
    assert [(s.op, s.per_row) for s in decoded.steps] == [
        ("multiply", False), ("multiply", False), ("reduce_sum", True), ("sqrt", True),
        ("divide", False)]
    assert decoded.steps[4].reads == (2, 4)
    assert decoded.outputs == (5, 3)


def test_attributes_are_skipped():
    c = Cluster(df.ones([4]), shape=(4,))
    c.step("exp", c.cast(0, df.float64))
    assert to_text(c.code(2)) == "cast, exp"


def test_text_counts_runs():
    assert to_text(code()) == "2 multiply, reduce_sum, sqrt, divide"


def test_flops():
    assert flops_per_run(code(), 32) == 32 * 4 + 4
