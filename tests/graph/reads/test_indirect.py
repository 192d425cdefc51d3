"""Attributes of objects that a traced function finds by an index, a loop or a call: values without
an access path."""

import numpy as np
import pytest

import dualflow as df
from tests.graph.reads.test_changes import Net, X


def by_index(holder, x):
    for i in range(len(holder.nets)):
        x = x * holder.nets[i].k
    return x


def by_counter(holder, x):
    i = 0
    while i < len(holder.nets):
        x = x * holder.nets[i].k
        i += 1
    return x


def enumerated(holder, x):
    for i, net in enumerate(holder.nets):
        x = x * net.k + i
    return x


def in_pairs(holder, x):
    for net, (_, other) in zip(reversed(holder.nets), holder.table.items(), strict=True):
        x = x * net.k + other.k
    return x


def unpacked(holder, x):
    first, second = holder.nets
    third, fourth = holder.table["a"], holder.table.get("b")
    return x * first.k + second.k * third.k - fourth.k


def chosen(holder, x):
    net = holder.nets[0] if holder.table["a"].k > 0 else holder.nets[1]
    other = holder.nets[-1:][0]
    return (net or other).k * x + other.k


def assigned_twice(holder, x):
    net = holder.nets[0]
    x = x * net.k
    net = holder.nets[1]
    return x + net.k


def attribute_of_attribute(holder, x):
    for _, net in enumerate(holder.nets):
        net.inner = holder.table["b"]
        x = x * net.inner.k
    return x


def in_a_function(holder, x):
    nets = holder.nets

    def inside(y):
        return y * nets[0].k + sum([net.k for net in nets[1:]])
    return inside(x)


INDIRECT = [by_index, by_counter, enumerated, in_pairs, unpacked, chosen, assigned_twice,
            attribute_of_attribute, in_a_function]


@pytest.mark.parametrize("read", INDIRECT, ids=lambda f: f.__name__)
def test_objects_without_a_path(read):
    """Each object that the function reaches may be the one whose attribute it reads."""
    class Holder:
        def __init__(self):
            self.nets, self.table = [Net(1.0), Net(2.0)], {"a": Net(3.0), "b": Net(4.0)}

    holder = Holder()
    f = df.function(lambda x: read(holder, x))
    for net in (*holder.nets, *holder.table.values()):
        for k in (0.5, 7.0):
            net.k = k
            np.testing.assert_array_equal(f(X), read(holder, X))
            before = f.experimental_get_tracing_count()
            np.testing.assert_array_equal(f(X), read(holder, X))
            assert f.experimental_get_tracing_count() == before


def test_other_attributes_of_reachable_objects_are_not_compared():
    nets = [Net(1.0), Net(2.0)]

    @df.function
    def f(x):
        for i, net in enumerate(nets):
            x = x * net.k + i
        return x

    f(X)
    for net in nets:
        net.training, net.extra = False, 1
    f(X)
    assert f.experimental_get_tracing_count() == 1
