"""jvp, vjp, hvp and ForwardAccumulator; every op's jvp is in tests/transforms/test_every_op.py."""

import numpy as np
import pytest

import dualflow as df
from dualflow.autodiff import ForwardAccumulator
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError

X = np.random.default_rng(0).normal(size=(3, 4))
V = np.random.default_rng(1).normal(size=(3, 4))


def f(x):
    return df.nn.softmax(df.tanh(x) @ df.transpose(x))


def test_accumulator():
    x, w = df.constant([2., 3.]), df.Variable([1., 1.])
    with ForwardAccumulator([x, w], [df.constant([1., 0.]), df.constant([0., 1.])]) as acc:
        y = x * x * w
        within = acc.jvp(y)
    assert within.tolist() == acc.jvp(y).tolist() == [4., 9.]
    assert acc.jvp([y, x])[1].tolist() == [1., 0.]
    other = df.constant(1.)
    assert acc.jvp(other) is None and acc.jvp(other, "zero").item() == 0.
    assert acc.jvp(df.constant([1, 2])) is None


def test_accumulators_nest():
    x, one = df.constant(2.), df.constant(1.)
    with ForwardAccumulator(x, one) as outer:
        with ForwardAccumulator(x, one) as inner:
            y = x ** 3
        slope = inner.jvp(y)
    assert (slope.item(), outer.jvp(slope).item(), outer.jvp(y).item()) == (12., 12., 12.)


def test_tapes_record_accumulators():
    x = df.constant(2.)
    with df.GradientTape() as tape:
        tape.watch(x)
        with ForwardAccumulator(x, df.constant(1.)) as acc:
            y = df.sin(x)
        slope = acc.jvp(y)
    assert tape.gradient(slope, x).item() == pytest.approx(-np.sin(2.), 1e-6)


@pytest.mark.parametrize("traced", [False, True])
def test_jvp(traced):
    def run(x, v):
        return df.jvp(f, (x,), (v,))

    y, along = (df.function(run) if traced else run)(df.constant(X), df.constant(V))
    step = 1e-6
    want = (f(df.constant(X + step * V)) - f(df.constant(X - step * V))) / (2 * step)
    np.testing.assert_allclose(along, want, 1e-6, 1e-8)
    np.testing.assert_array_equal(y, f(df.constant(X)))


def test_jvp_in_a_graph_has_no_dead_reverse_pass():
    """The tangent of a product costs two products, as with a dedicated rule."""
    @df.function
    def along(a, v):
        return df.jvp(lambda a: df.matmul(df.tanh(a), a), (a,), (v,))[1]

    plan = along.compiled_for(df.ones([4, 4]), df.ones([4, 4])).spec.text(lines=False)
    assert plan.count("= matmul") == 2


def test_structures_and_aux():
    y, along, note = df.jvp(lambda a, b: ({"s": a["x"] * b, "n": df.constant(1)}, "note"),
                            ({"x": [1., 2.]}, 3.), ({"x": [1., 0.]}, 1.), has_aux=True)
    assert note == "note" and y["s"].tolist() == [3., 6.]
    assert along["s"].tolist() == [4., 2.] and along["n"].item() == 0


def test_vjp():
    y, back = df.vjp(f, X)
    with df.GradientTape() as tape:
        x = df.constant(X)
        tape.watch(x)
        want = f(x)
    g = np.random.default_rng(2).normal(size=y.shape)
    expected = tape.gradient(want, x, output_gradients=df.constant(g))
    np.testing.assert_array_equal(back(g)[0], expected)
    np.testing.assert_array_equal(back(g)[0], back(g)[0])
    _, back, note = df.vjp(lambda a, b: ([a * b, a], "note"), 2., 3., has_aux=True)
    assert note == "note" and [g.item() for g in back([1., 10.])] == [13., 2.]


@pytest.mark.parametrize("traced", [False, True])
def test_hvp(traced):
    def number(x, s):
        return df.reduce_sum(f(x) ** 2) * s

    def run(x, v):
        return df.hvp(number, (x, df.constant(2., "float64")), (v, df.zeros([], "float64")))[0]

    got = (df.function(run) if traced else run)(df.constant(X), df.constant(V))
    whole = df.hessian(lambda x: number(x, 2.))(df.constant(X)).numpy()
    np.testing.assert_allclose(got, np.tensordot(whole, V, 2), 1e-9)


def test_loops_and_branches():
    def g(x):
        y = df.while_loop(lambda x: x < 100., lambda x: (x * x,), (x,))[0]
        return df.scan(lambda c, a: (c * a, c), y, df.stack([x, x * x]))[0]

    for run in (lambda x: df.jvp(g, (x,), (1.,))[1],
                df.function(lambda x: df.jvp(g, (x,), (1.,))[1])):
        assert run(df.constant(3.)).item() == pytest.approx(11 * 3. ** 10, 1e-6)


@pytest.mark.parametrize("error, message, call", [
    (ShapeError, "a tangent is float32 (2,), expected float32 (3,)",
     lambda: df.jvp(df.sin, ([1., 2., 3.],), ([1., 2.],))),
    (InvalidArgumentError, "in the same structure", lambda: df.jvp(df.sin, (1.,), (1., 2.))),
    (InvalidArgumentError, "expected a tuple", lambda: df.jvp(df.sin, 1., 1.)),
    (InvalidArgumentError, "f is 3", lambda: df.vjp(3, 1.)),
    (DTypeError, "int32", lambda: df.jvp(df.sin, (1,), (1.,))),
    (ShapeError, "expected one number", lambda: df.hvp(df.sin, ([1., 2.],), ([1., 2.],))),
    (ShapeError, "vjp: a gradient is", lambda: df.vjp(df.sin, 1.)[1]([1., 2.])),
    (InvalidArgumentError, "has_aux", lambda: df.jvp(df.sin, (1.,), (1.,), has_aux=True)),
    (DTypeError, "ForwardAccumulator", lambda: ForwardAccumulator(df.constant(1), 1.)),
])
def test_errors(error, message, call):
    with pytest.raises(error) as raised:
        call()
    assert message in str(raised.value)


def test_jvp_of_a_rule_whose_cotangents_cancel():
    """The cotangents of the sums cancel, but the tangent is the tangent of the sums."""
    def centred(x):
        y = df.math.cumulative_logsumexp(x)
        return y - df.reduce_mean(y)

    x, v = X[0], V[0]
    want = (centred(df.constant(x + 1e-6 * v)) - centred(df.constant(x - 1e-6 * v))) / 2e-6
    np.testing.assert_allclose(df.jvp(centred, (x,), (v,))[1], want, 1e-6, 1e-8)
