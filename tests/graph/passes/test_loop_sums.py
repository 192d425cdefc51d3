"""Gradients of rows that a loop reads are stacked and added after the loop, with the bits of eager
mode."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import dualflow as df
from dualflow.graph.ir import LOOP, walk

SPECIAL = np.array([0., -0., 1., -1., np.inf, 1e-45, 3e38, .1])
ORDERS = {
    "all": [0, 1, 2, 3], "some": [2, 0], "backwards": [3, 2, 1], "repeated": [1, 1, 2, 1],
    "same": [2, 2, 2], "one": [3], "negative": [-1, -3, 0],
}


def parts_of_loops(f, *args):
    """Return the numbers of gather_grad in loops and outside of them, after the passes."""
    nodes = df.function(f).graph_for(*args).nodes
    inside = [node for node in walk([n for n in nodes if n.op is LOOP]) if node.op is not LOOP]
    return [sum([node.type == "gather_grad" for node in some]) for some in (inside, nodes)]


def slope(axis, weights, order, dtype="float32", eager=False):
    """Return the gradient of a sum over a loop that reads rows of x in an order."""
    order = [int(i) for i in order]

    def f(x, w):
        with df.GradientTape() as tape:
            tape.watch(x)
            total = df.zeros_like(df.gather(x, 0, axis=axis))
            if eager:
                for k, i in enumerate(order):
                    total = total + df.gather(x, i, axis=axis) * w[k]
            else:
                at = df.constant(order)
                for k in df.range(len(order)):
                    total = total + df.gather(x, at[k], axis=axis) * w[k]
        return tape.gradient(total, x, output_gradients=weights)
    return f


def arrays(seed, axis, steps, dtype="float32", shape=(4, 4, 4)):
    rng = np.random.default_rng(seed)
    row = np.delete(shape, axis)
    x, w = rng.normal(size=shape).astype(dtype), rng.choice(SPECIAL, (steps, *row)).astype(dtype)
    with np.errstate(over="ignore"):
        g = rng.choice(SPECIAL, row).astype(dtype)
    return df.constant(x), df.constant(w), df.constant(g)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("order", ORDERS)
def test_bits(order, axis):
    """Zeros of both signs, repeated rows, and both directions: a loop and an eager loop agree."""
    for dtype in ("float32", "float64"):
        x, w, g = arrays(0, axis, len(ORDERS[order]), dtype)
        f = slope(axis, g, ORDERS[order])
        want = df.function(f, passes=False)(x, w).numpy().tobytes()
        assert slope(axis, g, ORDERS[order], eager=True)(x, w).numpy().tobytes() == want
        assert df.function(f)(x, w).numpy().tobytes() == want
        assert parts_of_loops(f, x, w)[0] == 0


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32), axis=st.integers(-3, 2),
       order=st.lists(st.integers(-4, 3), min_size=1, max_size=8))
def test_random_orders(seed, axis, order):
    x, w, g = arrays(seed, axis, len(order))
    f = slope(axis, g, order)
    want = df.function(f, passes=False)(x, w).numpy().tobytes()
    assert df.function(f)(x, w).numpy().tobytes() == want
    assert slope(axis, g, order, eager=True)(x, w).numpy().tobytes() == want


def recurrent(x, u):
    z, h = x @ u, df.zeros([3, 2], x.dtype)
    for t in df.range(4):
        a, b = df.split(z[:, t], 2, axis=1)
        h = df.tanh(a * h + b)
    return df.reduce_sum(h * h)


def test_rows_of_steps():
    """The layer of a hand-written recurrent network, against differences."""
    rng = np.random.default_rng(1)
    x, u = df.constant(rng.normal(size=(3, 4, 5))), df.constant(rng.normal(size=(5, 4)))
    both = df.grad(recurrent, argnums=(0, 1))
    traced, plain = df.function(both)(x, u), df.function(both, passes=False)(x, u)
    assert parts_of_loops(both, x, u) == [0, 0]        # each row once, in order: transposed only
    for a, b in zip(traced, plain, strict=True):
        assert a.numpy().tobytes() == b.numpy().tobytes()
    for k, g in enumerate(traced):
        direction, h = rng.normal(size=g.shape), 1e-5
        up, down = (recurrent(*[v + s * h * direction if j == k else v
                                for j, v in enumerate((x, u))]).item() for s in (1, -1))
        np.testing.assert_allclose((g.numpy() * direction).sum(), (up - down) / (2 * h), rtol=1e-7)


def gates(x, u, order, size):
    """Return a function of the rows of x, read in three slices in an iteration, as in a GRU."""
    h = df.zeros([x.shape[0], size], x.dtype)
    for t in order:
        z = df.sigmoid(x[:, t, :size] + h @ u)
        r = df.sigmoid(x[:, t, size:2 * size] + h)
        h = z * h + (1 - z) * df.tanh(x[:, t, -size - 1:-1] + r * h)
    return df.reduce_sum(h * h)


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 1, 0], [2], [1, 1, 2], [-1, 0]], ids=str)
def test_slices_of_rows(order):
    """Slices that overlap, of all rows or some, in any order; repeated rows stay in the loop."""
    for dtype in ("float32", "float64"):
        rng = np.random.default_rng(3)
        x = df.constant(rng.normal(size=(2, 4, 10)).astype(dtype))
        u = df.constant(rng.normal(size=(3, 3)).astype(dtype))

        def traced(x, u):
            return df.grad(lambda x: gates(x, u, df.constant(order), 3))(x)

        want = df.grad(gates)(x, u, order, 3).numpy()
        for passes in (True, False):
            got = df.function(traced, passes=passes)(x, u).numpy()
            assert got.tobytes() == want.tobytes()
        if len({*order}) == len(order):
            assert parts_of_loops(traced, x, u)[0] == 0
    w, h = rng.normal(size=x.shape), 1e-5
    up, down = (gates(x + s * h * w, u, order, 3).item() for s in (1, -1))
    np.testing.assert_allclose((want * w).sum(), (up - down) / (2 * h), rtol=1e-7)


@pytest.mark.parametrize("second", [[3, 2, 1, 0], [1, 0, 3, 2], [0, 0, 1, 2]], ids=str)
def test_two_rows_of_an_iteration(second):
    """A row has two terms, of different iterations: their sum has no order."""
    x = df.constant(np.random.default_rng(4).choice(SPECIAL[:5], (4, 6)).astype("float32"))

    def f(x, eager=False):
        at, a, b = df.constant(second), df.zeros([6]), df.zeros([6])
        for t in range(4) if eager else df.range(4):
            a = a * 2. + x[t]
            b = b * 3. - (x[second[t]] if eager else x[at[t]])
        return df.reduce_sum(a + b)

    g = df.grad(f)
    want = df.grad(lambda x: f(x, eager=True))(x).numpy().tobytes()
    assert df.function(g)(x).numpy().tobytes() == want
    assert df.function(g, passes=False)(x).numpy().tobytes() == want
    assert parts_of_loops(g, x)[0] == 0


@pytest.mark.parametrize("axis", [0, 1])
def test_neighbouring_rows(axis):
    """Rows that are computed in an iteration are added to the memory of one tensor: the loop has
    neither a tensor of zeros per row nor a copy of the sum per iteration."""
    def f(x, steps):
        total = df.zeros([5], x.dtype)
        for t in steps:
            total = df.tanh(total + df.gather(x, t, axis=axis) * df.gather(x, t - 1, axis=axis))
        return df.reduce_sum(total)

    x = df.constant(np.random.default_rng(5).normal(size=(4, 5) if axis == 0 else (5, 4)))
    g = df.grad(lambda x: f(x, df.range(1, 4)))
    want = df.grad(lambda x: f(x, range(1, 4)))(x).numpy()
    for passes in (True, False):
        assert df.function(g, passes=passes)(x).numpy().tobytes() == want.tobytes()
    if axis == 0:
        *_, loop = [n for n in df.function(g).graph_for(x).nodes if n.op is LOOP]
        assert "where" not in {node.type for node in walk([loop])}
    numeric = np.zeros(x.shape)
    for k in np.ndindex(*x.shape):
        h = np.zeros(x.shape)
        h[k] = 1e-6
        numeric[k] = (f(x + h, range(1, 4)) - f(x - h, range(1, 4))).item() / 2e-6
    np.testing.assert_allclose(want, numeric, rtol=1e-6, atol=1e-8)


def test_second_order():
    x = df.constant(np.random.default_rng(2).normal(size=(4, 3)))

    def f(x):
        total = df.zeros([3], "float64")
        for t in df.range(4):
            total = df.tanh(total + x[t] * x[3 - t])
        return df.reduce_sum(total * total)

    g = df.grad(lambda x: df.reduce_sum(df.sin(df.grad(f)(x))))
    assert df.function(g)(x).numpy().tobytes() == df.function(g, passes=False)(
        x).numpy().tobytes()


def test_loops_that_stay():
    """The loop may end early, have no iteration, or read more rows than the tensor has elements:
    rows are added in each iteration, without a tensor of zeros."""
    def early(x):
        total = df.zeros([3])
        for t in df.range(4):
            if df.reduce_sum(total) > 100.:
                break
            total = total + x[:, t] * x[:, t]
        return df.reduce_sum(total)

    def often(x):
        total = df.zeros([3])
        for t in df.range(100):
            total = total + x[:, t % 4] * x[:, t % 4]
        return df.reduce_sum(total)

    x = df.constant(np.ones((3, 4), "float32"))
    for f in (early, often):
        g = df.grad(f)
        assert df.function(g)(x).numpy().tobytes() == df.function(g, passes=False)(
            x).numpy().tobytes()
        assert parts_of_loops(g, x)[0] == 0
        *_, loop = [n for n in df.function(g).graph_for(x).nodes if n.op is LOOP]
        assert "add_rows" in {node.type for node in walk([loop])}

    @df.function
    def of_any_length(x, n):
        with df.GradientTape() as tape:
            tape.watch(x)
            total = df.zeros([3])
            for t in df.range(n):
                total = total + x[:, t] * 2.
        return tape.gradient(total, x, unconnected_gradients="zero")

    for n in (0, 1, 3):
        want = np.zeros((3, 4), "float32")
        want[:, :n] = 2
        np.testing.assert_array_equal(of_any_length(x, df.constant(n)), want)


def test_several_tensors_and_readers():
    def f(x, y):
        a = df.zeros([2])
        for t in df.range(3):
            a = a + x[t] * y[:, t]
        return df.reduce_sum(df.exp(a)), a

    x, y = (df.constant(np.random.default_rng(s).normal(size=n).astype("float32"))
            for s, n in ((0, (3, 2)), (1, (2, 3))))

    def both(x, y):
        with df.GradientTape() as tape:
            tape.watch([x, y])
            value, a = f(x, y)
        gx, gy = tape.gradient(value, [x, y])
        return gx, gy, gx + df.transpose(gy), a

    for p, q in zip(df.function(both)(x, y), df.function(both, passes=False)(x, y), strict=True):
        assert p.numpy().tobytes() == q.numpy().tobytes()
    assert parts_of_loops(both, x, y)[0] == 0
