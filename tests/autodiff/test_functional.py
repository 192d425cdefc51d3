import gc
import weakref

import numpy as np
import pytest

import dualflow as df
from dualflow import testing
from dualflow.errors import DTypeError, GradientWarning, InvalidArgumentError, ShapeError


def cube(x):
    return x * x * x


@pytest.mark.parametrize("x", [2.0, df.constant(2.), df.Variable(2.), np.float32(2.)])
def test_grad(x):
    assert df.grad(cube)(x).item() == 12


def test_orders():
    f, values = cube, []
    for _ in range(4):
        values.append(f(df.constant(2.)).item())
        f = df.grad(f)
    assert values == [8., 12., 12., 6.]
    assert df.grad(df.grad(df.grad(df.grad(cube))))(2.).item() == 0


def test_value_and_grad():
    value, g = df.value_and_grad(lambda a, b: a * b * b, argnums=(1, 0))(2., 3.)
    assert (value.item(), [x.item() for x in g]) == (18., [12., 9.])


def test_negative_argnums():
    assert df.grad(lambda a, b: a * b * b, argnums=-1)(2., 3.).item() == 12


def test_aux():
    g, note = df.grad(lambda x: (x * x, "seen"), has_aux=True)(3.)
    assert (g.item(), note) == (6., "seen")
    (value, note), g = df.value_and_grad(lambda x: (x * x, "seen"), has_aux=True)(3.)
    assert (value.item(), note, g.item()) == (9., "seen", 6.)
    with pytest.raises(InvalidArgumentError, match="pair"):
        df.grad(cube, has_aux=True)(3.)


def test_same_tensor_as_two_arguments():
    x = df.constant(3.)
    for g in (df.grad(lambda a, b: a * b * b)(x, x), df.grad(lambda a, b: b * a, 1)(x, x) * 3.):
        assert g.item() == 9


def test_nested_arguments():
    params = {"w": df.constant([1., 2.]), "b": [df.constant(3.), 4.]}
    g = df.grad(lambda p: df.matmul(df.reshape(p["w"], (1, 2)), df.ones((2, 1)))
                * p["b"][0] * p["b"][1])(params)
    np.testing.assert_array_equal(g["w"].numpy(), [12., 12.])
    assert [x.item() for x in g["b"]] == [12., 9.]


def test_unused_argument_has_zeros():
    g = df.grad(lambda a, b: a * a, argnums=1)(2., [1., 2.])
    np.testing.assert_array_equal(g.numpy(), [0., 0.])


def test_bad_arguments():
    with pytest.raises(DTypeError, match="int32"):
        df.grad(cube)(2)
    with pytest.raises(ShapeError, match=r"\(2,\)"):
        df.grad(cube)([1., 2.])
    with pytest.raises(InvalidArgumentError, match="argument 1"):
        df.grad(cube, argnums=1)(2.)


def test_under_an_outer_tape():
    x = df.Variable(2.)
    with df.GradientTape() as tape:
        y = df.grad(cube)(x) * x
    assert tape.gradient(y, x).item() == 36


def test_jacobian_and_hessian():
    a = np.array([1., 2., 3.])
    np.testing.assert_array_equal(df.autodiff.jacobian(cube)(a).numpy(), np.diag(3 * a * a))

    def f(x):
        a, b, c = df.unstack(x)
        return a * b * c

    want = np.array([[0, 3, 2], [3, 0, 1], [2, 1, 0]], float)
    np.testing.assert_array_equal(df.autodiff.hessian(f)(a).numpy(), want)


# --- custom gradients ---


@df.custom_gradient
def log1pexp(x):
    e = df.exp(x)
    return df.log(1. + e), lambda g: g * (1. - 1. / (1. + e))


def test_custom_gradient():
    x = df.constant(100.)
    assert df.grad(log1pexp)(x).item() == 1
    s = 1 / (1 + np.exp(-0.5))
    slopes = []
    f = log1pexp
    for _ in range(3):
        f = df.grad(f)
        slopes.append(f(np.array(0.5)).item())
    np.testing.assert_allclose(slopes, [s, s * (1 - s), s * (1 - s) * (1 - 2 * s)], rtol=1e-12)


def test_custom_gradient_replaces_the_derivative():
    @df.custom_gradient
    def reverse(x):
        return x, lambda g: -g

    x = df.Variable([1., 2.])
    with df.GradientTape() as tape:
        y = reverse(x * 1.) * reverse(x)
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), [-2., -4.])


def test_custom_gradient_of_several_arguments():
    @df.custom_gradient
    def swap(a, b):
        return {"b": b * 2., "a": (a * 3.,)}, lambda ga, gb: (gb, None)

    a, b = df.Variable(1.), df.Variable(2.)
    with df.GradientTape() as tape:
        out = swap(a, b)
        y = out["a"][0] * 5. + out["b"]
    with pytest.warns(GradientWarning):
        ga, gb = tape.gradient(y, [a, b])
    assert ga.item() == 1 and gb is None


def test_custom_gradient_without_tape():
    assert log1pexp(0.).item() == np.float32(np.log(2.))


def test_custom_gradient_takes_keywords():
    @df.custom_gradient
    def scaled(x, by=1.):
        return x * by, lambda g: g * by

    assert df.grad(lambda x: scaled(x, by=7.))(2.).item() == 7


def test_custom_gradient_must_return_a_pair():
    with pytest.raises(InvalidArgumentError, match="cube"):
        df.custom_gradient(cube)(2.)


def test_custom_gradient_nested():
    @df.custom_gradient
    def outer(x):
        return log1pexp(x) * 2., lambda g: g * df.grad(log1pexp)(x) * 2.

    testing.assert_close(df.grad(outer)(0.), 1.)
    testing.assert_close(df.grad(df.grad(outer))(0.), 0.5)


def test_gradient_functions_are_freed_with_the_tape():
    class Held:
        pass

    held = Held()
    gone = weakref.ref(held)

    def build(held):
        @df.custom_gradient
        def f(x):
            return x * 2., lambda g: g * 2. if held else tape

        with df.GradientTape(persistent=True) as tape:
            f(df.Variable(1.))

    build(held)
    del held
    gc.collect()
    assert gone() is None


# --- custom gradients of variables ---

def own_product(w, b):
    @df.custom_gradient
    def product(x):
        def gradient(g, variables):
            assert variables == [w, b] or variables is None
            return g * w * 10., [df.reduce_sum(g * x) * 100., None]

        return x * w + b, gradient

    return product


@pytest.fixture
def w():
    return df.Variable(2., name="w")


@pytest.mark.parametrize("wrap", [lambda f: f, df.function], ids=["eager", "traced"])
@pytest.mark.parametrize("inside", [True, False])
def test_custom_gradient_of_variables(wrap, inside, w):
    product = own_product(w, df.Variable(1.))
    x = df.constant([3., 4.])

    def step(forward):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = forward(x) + w
        return y, *tape.gradient(y, [x, w])

    f = wrap(lambda x: step(product)) if inside else lambda x: step(wrap(product))
    y, gx, gw = f(x)
    assert y.tolist() == [9., 11.]
    assert (gx.tolist(), gw.item()) == ([20., 20.], 702.)


@pytest.mark.parametrize("wrap", [lambda f: f, df.function], ids=["eager", "traced"])
def test_second_order_of_variables_with_a_custom_gradient(wrap, w):
    f = wrap(own_product(w, df.Variable(1.)))
    x = df.constant(3.)
    with df.GradientTape() as outer:
        outer.watch(x)
        with df.GradientTape() as inner:
            inner.watch(x)
            y = f(x) * x
        gx, gw = inner.gradient(y, [x, w])
        z = gx * gw
    assert (gx.item(), gw.item()) == (7. + 10. * 6., 100. * 9.)
    assert [g.item() for g in outer.gradient(z, [x, w])] == [
        900. * (10. * 2. + 10. * 2.) + 67. * 200. * 3., 900. * (100. * 3. + 10. * 3.)]


def test_custom_gradient_that_drops_variables_raises(w):
    @df.custom_gradient
    def f(x):
        return x * w, lambda g: g * 2.

    for h in (f, df.function(f), df.function(lambda x: f(x))):
        with pytest.raises(InvalidArgumentError, match=r"reads w, .*variables="):
            h(df.constant(1.))


@pytest.mark.parametrize("give", [lambda g: g, lambda g: (g, []), lambda g: (g, g)])
def test_custom_gradient_must_return_one_gradient_per_variable(give, w):
    f = df.custom_gradient(lambda x: (x * w, lambda g, variables: give(g)))
    with df.GradientTape() as tape:
        y = f(df.constant(1.))
    with pytest.raises(InvalidArgumentError, match="list of gradients of its 1 variables"):
        tape.gradient(y, w)


def test_variables_excluded_from_a_custom_gradient(w):
    frozen = df.Variable(5., trainable=False)

    @df.custom_gradient
    def f(x, v):
        frozen.assign_add(1.)
        return x * v * frozen * df.stop_gradient(frozen), lambda g: (g, g * 3.)

    with df.GradientTape() as tape:
        y = f(df.constant(1.), w)
    assert tape.gradient(y, w).item() == 3.


def test_variables_read_by_functions_inside_a_custom_gradient(w):
    inner = df.function(lambda x: x * w)
    inner(df.constant(1.))

    @df.custom_gradient
    def f(x):
        return inner(x), lambda g, variables: (g, [g * len(variables)])

    with df.GradientTape() as tape:
        y = f(df.constant(1.))
    assert tape.gradient(y, w).item() == 1.
