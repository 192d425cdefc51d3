"""The reference interpreter of graphs."""

import numpy as np

import dualflow as df
from tests.graph.build import traced, variable, x
from tests.graph.interpret import interpret


def test_outputs_and_variables():
    v = variable(3)

    def f(a):
        v.assign_add(a)
        w = v * 2.0
        v.assign(w)
        return w, df.unique(a)[0]

    graph = traced(f, x(3))
    for _ in range(2):                  # the variable itself is not written
        (w, u), written = interpret(graph, [df.constant([1.0, 1.0, 4.0])])
        assert w.tolist() == [4.0, 6.0, 14.0]
        assert u.tolist() == [1.0, 4.0]
        assert {key.name: value.tolist() for key, value in written.items()} == {"v": w.tolist()}
    assert v.tolist() == [1.0, 2.0, 3.0]


def test_ops_that_write_several_variables():
    v, m = variable(2, name="v"), variable(2, name="m")

    def f(a):
        df._core.apply("momentum_update", v, m, a, df.constant(0.5), momentum=0.9, nesterov=False)
        return v.value()

    _, written = interpret(traced(f, x(2)), [df.constant([1.0, -1.0])])
    want = f(df.constant([1.0, -1.0]))
    np.testing.assert_array_equal(written[v].numpy(), want.numpy())
    np.testing.assert_array_equal(written[m].numpy(), m.numpy())
