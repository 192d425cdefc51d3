"""df.gradients: the values of a tape, in linear time."""

import numpy as np
import pytest

import dualflow as df
from dualflow.errors import InvalidArgumentError, TracedValueError


def both(f, *arrays):
    """Return gradients of f by a tape in eager mode, and by df.gradients."""
    eager = [df.constant(a) for a in arrays]
    with df.GradientTape() as tape:
        tape.watch(eager)
        y = f(*eager)
    wanted = tape.gradient(y, eager)
    g = df.Graph()
    with g.as_default():
        traced = [g.placeholder(x.shape, x.dtype) for x in eager]
        found = df.gradients(f(*traced), traced)
    found = g.run(found, dict(zip(traced, eager, strict=True)))
    return [x.numpy() for x in wanted], [x.numpy() for x in found]


@pytest.mark.parametrize("f", [
    lambda x, w: df.tanh(x @ w),
    lambda x, w: df.reduce_sum(df.nn.softmax(x @ w) * 3., axis=0),
    lambda x, w: df.exp(x)[:, 1:] @ w[1:] + x[0, 0],
    lambda x, w: df.concat([x, df.transpose(w)], 0) * df.reduce_mean(x),
    lambda x, w: df.add_n(list(df.unstack(x @ w))) / 2.,
], ids=range(5))
def test_same_bits_as_a_tape(f):
    rng = np.random.default_rng(1)
    wanted, found = both(f, rng.standard_normal((3, 4), "float32"),
                         rng.standard_normal((4, 2), "float32"))
    for a, b in zip(wanted, found, strict=True):
        np.testing.assert_array_equal(a, b)


def test_higher_orders():
    g = df.Graph()
    with g.as_default():
        x = g.placeholder([])
        d = x * x * x * x
        orders = []
        for _ in range(3):
            d, = df.gradients(d, x)
            orders.append(d)
    assert [v.item() for v in g.run(orders, {x: df.constant(2.)})] == [32., 48., 48.]


def test_grad_ys_several_targets_and_repeated_ones():
    g = df.Graph()
    with g.as_default():
        x = g.placeholder([2])
        dx, = df.gradients([x * 2., x * x, x * x], [x], [df.constant([1., 10.]), None, x])
        y = x * 3.
        twice, = df.gradients([y, y], x)
    dx, twice = g.run([dx, twice], {x: df.constant([1., 2.])})
    assert dx.tolist() == [2. + 2. + 2., 20. + 4. + 8.]
    assert twice.tolist() == [6., 6.]


def test_intermediate_source():
    g = df.Graph()
    with g.as_default():
        a = g.placeholder([])
        b = a * 3.
        da, db = df.gradients(b * b, [a, b])
        stopped, = df.gradients(b * b + a, a, stop_gradients=b)
    values = g.run([da, db, stopped], {a: df.constant(2.)})
    assert [v.item() for v in values] == [36., 12., 1.]


def test_unconnected():
    g = df.Graph()
    with g.as_default():
        x, other = g.placeholder([2]), g.placeholder([2])
        assert df.gradients(x * x, [other]) == [None]
        assert df.gradients(df.stop_gradient(x), [x]) == [None]
        assert df.gradients(df.argmax(x), [x]) == [None]
        zero, = df.gradients(x * x, other, unconnected_gradients="zero")
    assert g.run([zero], {x: df.constant([1., 1.]), other: df.constant([1., 1.])})[0].tolist() \
        == [0., 0.]


def test_variables_and_their_versions():
    """As with a tape, the gradient covers every value the variable has had, and does not pass
    through assignments."""
    v, w = df.Variable(2.), df.Variable(5.)
    g = df.Graph()
    with g.as_default():
        before = v * v
        v.assign(w * 3.)
        dv, dw = df.gradients(before + v * 7., [v, w])
    assert dv is not None
    assert dw is None
    assert v.numpy() == 2.


def test_custom_gradient():
    @df.custom_gradient
    def f(x, y):
        return x * y, lambda g: (g * 100., None)

    g = df.Graph()
    with g.as_default():
        x = g.placeholder([])
        with df.GradientTape() as tape:
            tape.watch(x)
            z = f(x, 4.) + x
        found = [*df.gradients(z, x), tape.gradient(z, x), z]
    assert [v.item() for v in g.run(found, {x: df.constant(2.)})] == [101., 101., 10.]


def test_broadcast_gradients_are_summed():
    g = df.Graph()
    with g.as_default():
        x, b = g.placeholder([4, 3]), g.placeholder([3])
        db, = df.gradients(x + b, b)
    feeds = {x: df.ones([4, 3]), b: df.ones([3])}
    assert g.run([db], feeds)[0].tolist() == [4., 4., 4.]


def test_gradient_nodes_are_in_a_scope():
    g = df.Graph()
    with g.as_default():
        x = g.placeholder([])
        before = len(g.nodes)
        df.gradients(df.sin(x), x, name="d")
    assert {n.name.split("/")[0] for n in g.nodes[before + 1:]} == {"d"}


def test_gradients_outside_of_graph_blocks():
    g = df.Graph()
    with g.as_default():
        x = g.placeholder([])
        y = x * x
    assert g.run(df.gradients(y, x), {x: 3.})[0].item() == 6.
    with pytest.raises(InvalidArgumentError, match=r"GradientTape"):
        df.gradients(df.constant(1.), df.constant(1.))
    with df.Graph().as_default(), pytest.raises(TracedValueError, match=r"gradients"):
        df.gradients(y, x)


def test_long_chain():
    g = df.Graph()
    with g.as_default():
        x = y = g.placeholder([])
        for _ in range(30_000):
            y = -y
        dx, = df.gradients(y, x)
    assert g.run([dx], {x: df.constant(1.)})[0].item() == 1.


def test_stacked_diamonds():
    """Each value is used twice: the number of paths doubles per level, the number of nodes does
    not."""
    g = df.Graph()
    with g.as_default():
        x = y = g.placeholder([], df.float64)
        for _ in range(60):
            y = y + y
        n = len(g.nodes)
        dx, = df.gradients(y, x)
    assert len(g.nodes) < 5 * n         # the cotangent of each use is a value
    assert g.run([dx], {x: df.constant(1., df.float64)})[0].item() == 2. ** 60
