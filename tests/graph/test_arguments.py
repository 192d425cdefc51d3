"""Argument structures: leaves, paths, and the keys by which calls are compared."""

import collections
import dataclasses
import decimal
import fractions
from typing import Any, NamedTuple

import numpy as np
import pytest

import dualflow as df
from dualflow.graph.calls.arguments import (
    Arguments,
    NumberLeaf,
    StaticLeaf,
    TensorLeaf,
    flatten,
    leaf_key,
    rebuild,
)


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass
class Config:
    rate: Any
    sizes: Any


class Rate:
    """An object that compares by value, as configurations do."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return self.value == other.value

    def __hash__(self):
        return hash(self.value)


STRUCTURES = [
    1, None, (), [], {}, (1, [2, {"a": 3}]), Point(1, [2]), Config(.1, (1, 2)),
    collections.OrderedDict(b=1, a=2), collections.defaultdict(list, a=[1]), {"k": Point(1, None)},
]


@pytest.mark.parametrize("structure", STRUCTURES, ids=range(len(STRUCTURES)))
def test_flatten_and_rebuild_round_trip(structure):
    leaves, paths = [], []
    treedef = flatten(structure, "s", leaves, paths)
    hash(treedef)
    again = rebuild(treedef, iter(leaves))
    assert again == structure and type(again) is type(structure)
    assert len(paths) == len(leaves) == len(set(paths))


def test_paths():
    leaves, paths = [], []
    flatten({"a": [1, Point(2, 3)], 5: Config(4, ())}, "tree", leaves, paths)
    assert leaves == [1, 2, 3, 4]
    assert paths == ["tree['a'][0]", "tree['a'][1].x", "tree['a'][1].y", "tree[5].rate"]


def test_keys_of_leaves():
    x = df.ones([2, 3])
    assert leaf_key(x) == TensorLeaf(df.float32, (2, 3))
    assert leaf_key(df.TensorSpec([None, 3])) == TensorLeaf(df.float32, (None, 3))
    assert TensorLeaf(df.float32, (None, 3)).matches(leaf_key(x))
    assert not TensorLeaf(df.float32, (None, 2)).matches(leaf_key(x))
    assert not TensorLeaf(df.float32, (None,)).matches(leaf_key(x))
    assert not TensorLeaf(df.float64, (2, 3)).matches(leaf_key(x))
    assert str(TensorLeaf(df.float32, (None,))) == "float32 (None,)"


@pytest.mark.parametrize("a, b, same", [
    (1, 1, True), (1, True, False), (1, 1., False), ("a", "a", True), (None, None, True),
    ((1, 2), (1, 2), True), (float("nan"), float("inf"), False), (df.float32, df.float64, False),
    (len, len, True), (len, max, False), ({1}, {1}, True), ({1}, {True}, False),
    (0., -0., False), (float("nan"), float("nan"), True), ((0.,), (-0.,), False),
    (frozenset([1]), frozenset([1.]), False), (0j, -0j, False), (slice(1), slice(1), True),
    (slice(1), slice(True), False), (range(3), range(0, 3, 1), True), (bytearray(b"a"),
    bytearray(b"a"), True), (decimal.Decimal("1"), decimal.Decimal("1.0"), False),
    (fractions.Fraction(1, 2), fractions.Fraction(1, 2), True), (Rate(.5), Rate(.5), True),
    (Rate(0.), Rate(-0.), False), (Rate(1), Rate(True), False),
    (Rate((1, 0.)), Rate((1, -0.)), False),
    (np.float64(1), 1., False), (np.float64(0.), np.float64(-0.), False),
    (np.int64(1), np.int32(1), False), (np.int64(1), np.int64(1), True),
])
def test_static_leaves_compare_type_and_value(a, b, same):
    assert (StaticLeaf(a) == StaticLeaf(b)) is same
    assert not same or hash(StaticLeaf(a)) == hash(StaticLeaf(b))


def test_number_leaf_admits_values_of_its_type():
    assert NumberLeaf(int).matches(StaticLeaf(3))
    assert not NumberLeaf(int).matches(StaticLeaf(3.))
    assert not NumberLeaf(int).matches(StaticLeaf(True))
    assert str(NumberLeaf(float)) == "any float"


def test_binding():
    def f(a, b=2, *rest, c, **more):
        return a, b, rest, c, more

    arguments = Arguments(f, "f", None)
    treedef, leaves, paths = arguments.bind((1, 2, 3, 4), {"c": 5, "d": 6})
    assert leaves == [1, 2, 3, 4, 5, 6]
    assert paths == ["a", "b", "rest[0]", "rest[1]", "c", "more['d']"]
    assert arguments.call(f, treedef, leaves) == (1, 2, (3, 4), 5, {"d": 6})
    assert arguments.bind((1,), {"c": 0})[1] == [1, 2, 0]


@pytest.mark.parametrize("kind", [np.float32, np.ndarray, df.Tensor, float])
def test_classes_are_static_arguments_and_results(kind):
    f = df.function(lambda x, dtype: (x, dtype))
    x = df.ones([2])
    for _ in range(3):
        assert f(x, kind)[1] is kind and f(x, dtype=kind)[1] is kind
