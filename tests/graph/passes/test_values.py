"""Statically known properties of values."""

import pytest

import dualflow as df
from dualflow import dtypes
from dualflow._core import get_op
from dualflow.graph.passes import values
from tests.graph.build import traced, x


def test_splat_constants():
    def f(a):
        return (df.constant(2.0) + a, df.ones((2, 3)) + a, df.constant([[3]]) + a,
                df.constant([1.0, 1.0, 1.0]) + a, a + a)

    found = [y.node.inputs[0] for y in traced(f, x(2, 3)).outputs]
    found[2] = found[2].node.inputs[0] if found[2].node.type == "cast" else found[2]
    assert [values.number(c) for c in found] == [2.0, 1.0, 3, None, None]


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
def test_splat_constants_of_every_dtype(dtype):
    c = df.cast(df.constant(1), dtype)
    graph = traced(lambda a: df.where(a, c, c), x(3, dtype="bool"))
    expected = None if dtype.is_complex else 1
    assert values.number(graph.outputs[0].node.inputs[1]) == expected


def test_source():
    graph = traced(lambda a: df.broadcast_to(a, (2, 3)), x(3))
    assert values.source(graph.outputs[0]) is graph.inputs[0]
    assert values.source(graph.inputs[0]) is graph.inputs[0]


def test_stand_in_keeps_name_and_line():
    graph = traced(lambda a: df.exp(a, name="mine"), x(3))
    made = values.replacement(graph, graph.nodes[-1], get_op("reduce_sum"), graph.inputs[0],
                              axes=(0,),
                              keepdims=False)
    assert (made.node.name, made.shape) == ("mine", ())
    assert made.node.line == graph.nodes[-2].line
    assert not values.is_known(traced(lambda a: df.unique(a)[0], x(3)).outputs[0])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("shape", [(2,), (1,) * 70 + (2,)])
def test_same_tensor_compares_bits(dtype, shape):
    zero, again, minus, one = [df.reshape(df.constant([v, 1.], dtype), shape)
                               for v in (0., 0., -0., 1.)]
    assert values.same_tensor(zero, again)
    assert not values.same_tensor(zero, minus)
    assert not values.same_tensor(zero, one)
    assert not values.same_tensor(zero, df.reshape(zero, (2, 1)))
    assert not values.same_tensor(zero, df.cast(zero, "float64"))
