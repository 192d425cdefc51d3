"""jacfwd, jacrev and hessian."""

import numpy as np
import pytest

import dualflow as df
from dualflow.errors import InvalidArgumentError

A = np.random.default_rng(0).normal(size=(2, 3))
B = np.random.default_rng(1).normal(size=3)


def f(a, b):
    return {"p": df.tanh(a) @ df.reshape(b, [3, 1]), "q": df.reduce_sum(a * b)}


def numbers(argnum):
    """Return the Jacobians of both results by finite differences."""
    args, step = [A, B], 1e-6
    found = {"p": [], "q": []}
    for k in range(args[argnum].size):
        ends = []
        for sign in (1, -1):
            moved = [x.copy() for x in args]
            moved[argnum].flat[k] += sign * step
            ends.append(f(*map(df.constant, moved)))
        for key in found:
            found[key].append((ends[0][key].numpy() - ends[1][key].numpy()) / (2 * step))
    return {key: np.stack(columns, -1).reshape(*columns[0].shape, *args[argnum].shape)
            for key, columns in found.items()}


@pytest.mark.parametrize("transform", [df.jacfwd, df.jacrev])
@pytest.mark.parametrize("traced", [False, True])
def test_jacobians(transform, traced):
    run = transform(f, argnums=(0, 1))
    got = (df.function(run) if traced else run)(df.constant(A), df.constant(B))
    want = [numbers(0), numbers(1)]
    for key in ("p", "q"):
        for k in range(2):
            np.testing.assert_allclose(got[key][k], want[k][key], 1e-6, 1e-8)
    one = transform(f, argnums=-1)(A, B)
    np.testing.assert_allclose(one["p"], want[1]["p"], 1e-6, 1e-8)


def test_structures():
    for transform in (df.jacfwd, df.jacrev):
        made = transform(lambda t: t["x"] * t["y"])({"x": [1., 2.], "y": 3.})
        assert made["x"].tolist() == [[3., 0.], [0., 3.]] and made["y"].tolist() == [1., 2.]


def test_hessian():
    def number(x):
        return df.reduce_sum(df.sin(x) ** 3) + x[0] * x[1]

    x = df.constant(B)
    want = df.autodiff.hessian(number)(x).numpy()
    np.testing.assert_allclose(df.hessian(number)(x), want, 1e-12)
    np.testing.assert_array_equal(df.function(df.hessian(number))(x), df.hessian(number)(x))


def test_vmap_of_a_jacobian():
    """Compare with batch_jacobian."""
    rows = df.vmap(df.jacfwd(lambda x: x * x))([[1., 2.], [3., 4.]])
    assert rows.tolist() == [[[2., 0.], [0., 4.]], [[6., 0.], [0., 8.]]]


def test_no_elements():
    assert df.jacfwd(lambda x: x)(df.zeros([0])).shape == (0, 0)
    assert df.jacrev(lambda x: x)(df.zeros([0])).shape == (0, 0)


def test_errors():
    with pytest.raises(InvalidArgumentError, match="argnums names argument 2"):
        df.jacfwd(f, argnums=2)(A, B)


DERIVATIVES = {
    "jacrev": df.jacrev, "jacfwd": df.jacfwd,
    "vjp": lambda f: lambda x: df.vjp(f, x)[1](df.ones_like(f(x)))[0],
    "jvp": lambda f: lambda x: df.jvp(f, (x,), (df.sin(x),))[1]}


@pytest.mark.parametrize("outer", ["jacrev", "jacfwd"])
@pytest.mark.parametrize("middle", DERIVATIVES)
@pytest.mark.parametrize("inner", DERIVATIVES)
def test_nested_derivatives_of_jacobians(inner, middle, outer):
    """A gradient rule recorded in one vmap runs in the trace of another."""
    x = df.constant([0.3, -0.5, 0.8], "float64")
    below = DERIVATIVES[middle](DERIVATIVES[inner](lambda x: df.sin(x) * x * df.reduce_sum(x)))
    made = DERIVATIVES[outer](below)(x)
    h = 1e-5
    for k in range(3):
        step = h * df.one_hot(k, 3, dtype="float64")
        wanted = (below(x + step) - below(x - step)) / (2 * h)
        np.testing.assert_allclose(made[..., k], wanted, atol=1e-8)
    np.testing.assert_array_equal(df.function(DERIVATIVES[outer](below))(x), made)
