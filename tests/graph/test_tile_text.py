"""Tile code as text."""

import dualflow as df
from dualflow.graph.ir.tile_text import flops_per_run, listing, to_text
from tests.graph.tile_code import Cluster


def code():
    c = Cluster(df.ones([4, 8]), shape=(4, 8), row_dims=1)
    a = c.step("multiply", 0, 0)
    b = c.step("multiply", a, a)
    s = c.reduce("reduce_sum", b)
    r = c.step("sqrt", s, space=1)
    d = c.step("divide", b, r)
    return c.code(d, s)


def test_attributes_are_skipped():
    c = Cluster(df.ones([4]), shape=(4,))
    c.step("exp", c.cast(0, df.float64))
    assert to_text(c.code(2)) == "cast, exp"


def test_text_counts_runs():
    assert to_text(code()) == "2 multiply, reduce_sum, sqrt, divide"


def test_flops():
    assert flops_per_run(code(), 32) == 32 * 4 + 4


def test_listing():
    assert listing(code(), 1) == (
        "{rows of 8: $1 = multiply($0, $0); $2 = multiply($1, $1); $3' = reduce_sum($2); "
        "$4' = sqrt($3); $5 = divide($2, $4); return $5, $3}")


def test_listing_of_attributes():
    c = Cluster(df.ones([4]), shape=(4,))
    c.step("leaky_relu", c.step("gelu", 0, approximate=1), alpha=0.25)
    assert listing(c.code(2), 1) == (
        "{$1 = gelu($0, approximate=True); $2 = leaky_relu($1, alpha=0.25); return $2}")
