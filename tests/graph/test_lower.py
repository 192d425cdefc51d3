"""Slots and instructions of a planned graph."""

import numpy as np

import dualflow as df
from dualflow.graph.program.lower import cost_of
from dualflow.graph.program.spec import SlotKind


def compiled(f, *args, **options):
    return df.function(f, **options).compiled_for(*args)


X = df.reshape(df.range(6.), [2, 3])


def test_each_value_has_one_slot():
    spec = compiled(lambda x: df.exp(x) + df.exp(x) * x, X, passes=False).spec
    assert len(spec.slots) == 5                     # x, two exp, multiply, add


def test_cost_grows_with_elements():
    small, large = (compiled(lambda x: df.exp(x), df.ones([n])).plan.instructions[0]
                    for n in (4, 4000))
    assert cost_of(large) > cost_of(small) > 0
    assert compiled(lambda x: df.exp(x), df.ones([4000])).program.cost > 50


def test_output_order_and_repeated_outputs():
    f = df.function(lambda x: (x + 1., x, x + 2., df.constant(3.), x), passes=False)
    a, b, c, d, e = f(X)
    assert b is e is X
    np.testing.assert_array_equal(a.numpy() + 1., c.numpy())
    assert d.item() == 3.


def test_function_without_instructions():
    f = df.function(lambda x: (x, df.constant(1.)))
    assert f.compiled_for(X).spec.instructions == ()
    assert f(X)[0] is X and f(X)[1].item() == 1.


def test_dynamic_values_are_freed_after_their_last_reader():
    def f(x):
        kept = df.boolean_mask(x, x > 1.)
        return df.reduce_sum(kept), kept, df.reshape(kept, [-1, 1])

    for got, want in zip(df.function(f)(X), f(X), strict=True):
        np.testing.assert_array_equal(got.numpy(), want.numpy())


def test_long_instructions_poll_for_signals():
    def long(x):
        for _ in range(20):
            x = df.sort(x)
        return x

    large, small = (compiled(long, df.ones([n])).spec for n in (1_000_000, 10))
    polls = [k for k, x in enumerate(large.instructions) if x.poll]
    assert polls and polls == list(range(polls[0], 20, polls[0] + 1))
    assert not any(x.poll for x in small.instructions)


def test_read_and_returned_constant_is_stored_once():
    c = df.ones([2, 3])
    spec = compiled(lambda x: (x + c, df.identity(c)), X).spec
    assert len(spec.constants) == 1 and spec.constants[0] is c
    assert [x.number for x in (*spec.slots, *spec.results) if x.kind is SlotKind.CONSTANT] == [0, 0]


def test_spec_records_waves(serial_joins):
    spec = compiled(lambda a, b: (df.concat([a, b], 0), df.concat([b, a], 0)),
                    df.ones([200_000]), df.ones([1])).spec
    assert [x.wave for x in spec.instructions if x.op.name == "concat"] == [1, 1]
