"""Branches and loops under vmap, where batched values may take different paths."""

import numpy as np
import pytest

import dualflow as df
from tests import sampling

X = np.array([-2., 0.5, 3., 40.], "float32")
ROWS = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")


def check(f, *given):
    """Compare values and gradients of the mapped function with a loop over the batch, in both
    modes."""
    mapped = df.vmap(f)
    want = np.stack([f(*[df.constant(x[k]) for x in given]) for k in range(len(given[0]))])
    np.testing.assert_array_equal(mapped(*given), want)
    np.testing.assert_array_equal(df.function(mapped)(*given), want)
    slope = df.grad(lambda x: df.reduce_sum(f(x)))
    if len(given) == 1:
        want = np.stack([slope(df.constant(x)) for x in given[0]])
        total = df.grad(lambda x: df.reduce_sum(mapped(x)))
        np.testing.assert_allclose(total(given[0]), want, 1e-6)
        np.testing.assert_array_equal(df.function(total)(given[0]), total(given[0]))


def test_cond_of_a_batched_value():
    check(lambda x: df.cond(x > 1., lambda: x * 2., lambda: -x * x), X)


def test_cond_of_a_shared_value():
    flag = df.constant(True)
    check(lambda x: df.cond(flag, lambda: x * 2., lambda: -x * x), X)


def test_switch():
    index = np.array([0, 1, 5, -1])
    check(lambda i, x: df.switch_case(i, [lambda: x, lambda: x * 2, lambda: x * 3]), index, X)


def test_while_of_a_batched_condition():
    check(lambda x: df.while_loop(lambda x: x < 100., lambda x: (x * x + 1.,), (x,))[0], X)


def test_while_with_a_limit():
    check(lambda x: df.while_loop(lambda x: x < 100., lambda x: (x * 2. + 5.,), (x,),
                                  maximum_iterations=2)[0], X)


def test_while_of_a_shared_condition():
    check(lambda x: df.while_loop(lambda k, x: k < 3, lambda k, x: (k + 1, x * x), (0, x))[1], X)


def test_carry_that_becomes_batched_in_a_later_iteration():
    def f(x):
        return df.while_loop(lambda k, a, b: k < 4, lambda k, a, b: (k + 1, b, a + x),
                             (0, df.constant(0.), df.constant(1.)))[1]
    check(f, X)


def test_batched_trip_count():
    n = np.array([0, 3, 1, 2])
    check(lambda n, x: df.while_loop(lambda k, y: k < n, lambda k, y: (k + 1, y * x), (0, x))[1],
          n, X)


@pytest.mark.parametrize("reverse", [False, True])
def test_scan(reverse):
    check(lambda r: df.scan(lambda c, x: (c * 0.5 + x, c * x), 1., r, reverse=reverse)[1], ROWS)
    check(lambda r: df.scan(lambda c, x: (c * 0.5 + x, c * x), 1., r, reverse=reverse)[0], ROWS)


def test_scan_of_shared_rows():
    rows = df.constant([1., 2., 3.])
    check(lambda x: df.scan(lambda c, r: (c * r, c + r), x, rows)[1], X)


def test_vmap_of_gradients_of_loops():
    f = df.grad(lambda r: df.scan(lambda c, x: (c * 0.5 + x * x, None), 1., r)[0])
    check(f, ROWS)


def test_vmap_of_gradients_of_branches():
    check(df.grad(lambda x: df.cond(x > 1., lambda: x * x, lambda: df.sin(x))), X)


def test_nested():
    inner = df.vmap(lambda x: df.cond(x > 0., lambda: df.exp(x), lambda: x))
    check(inner, ROWS)


def test_python_control_flow_in_a_function():
    def f(x):
        k = 0
        while x < 100. and k < 3:
            x = x * 2. + 5. if x > 0. else -x
            k += 1
        return x

    @df.function
    def mapped(x):
        return df.vmap(f)(x)

    np.testing.assert_array_equal(mapped(X), [f(float(x)) for x in X])


def test_empty_batch():
    none, n = np.zeros(0, "float32"), np.zeros(0, "int32")
    for f in (lambda x: df.while_loop(lambda x: x < 9., lambda x: (x + 1.,), (x,))[0],
              lambda x: df.cond(x > 0., lambda: x, lambda: -x),
              lambda x: df.scan(lambda c, r: (c + r, c), x, df.ones([2]))[0]):
        for mapped in (df.vmap(f), df.function(df.vmap(f))):
            assert mapped(none).shape == (0,)
    counted = df.vmap(lambda k: df.while_loop(lambda x: x < 9, lambda x: (x + 1,), (k,),
                                              maximum_iterations=k)[0])
    assert counted(n).shape == (0,)


LOOPS = {
    "as long as data wants": lambda x: df.while_loop(lambda x: x < 100., lambda x: (x * x + 1.,),
                                                     (x,))[0],
    "with a limit": lambda x: df.while_loop(lambda x: x < 100., lambda x: (x * x + 1.,), (x,),
                                            maximum_iterations=2)[0],
    "of a number of rounds": lambda x: df.while_loop(
        lambda k, y: k < df.cast(x, df.int32), lambda k, y: (k + 1, df.sin(y * x)), (0, x))[1],
    "limited by data": lambda x: df.while_loop(
        lambda y: True, lambda y: (df.sin(y * x),), (x,),
        maximum_iterations=df.cast(df.abs(x), df.int32))[0],
}


@pytest.mark.parametrize("loop", LOOPS)
def test_gradients_of_loops_of_unknown_length(loop):
    """These run row by row."""
    check(df.grad(LOOPS[loop]), X)
    nested = df.vmap(df.vmap(df.grad(LOOPS[loop])))
    want = [df.grad(LOOPS[loop])(df.constant(x)).item() for x in X]
    np.testing.assert_array_equal(nested(X.reshape(2, 2)), np.reshape(np.float32(want), (2, 2)))
    shared = df.vmap(df.value_and_grad(lambda w, x: LOOPS[loop](x * w)), in_axes=(None, 0))
    np.testing.assert_array_equal(df.function(shared)(1., X)[0], shared(1., X)[0])


# --- gradients of mapped gradients, through control flow -----------------------------------------

PLACE = df.constant([0.3, -0.5, 0.8], "float64")


def by_differences(f, x):
    """Return the gradient of a number, by finite differences."""
    steps = 1e-5 * df.eye(x.shape[0], dtype="float64")
    return np.stack([(f(x + h) - f(x - h)).numpy() / 2e-5 for h in df.unstack(steps)])


def with_rule(f):
    """Return a function with its gradient as a custom rule, which reads the argument later."""
    return df.custom_gradient(lambda x: (f(x), lambda g: df.vjp(f, x)[1](g)[0]))


def iterated(f):
    return lambda x: df.scan(lambda y, row: (f(y) * 0.5 + row, y * row), x,
                             df.stack([x, x * 2., x * 3.]))[0]


def repeated(f):
    return lambda x: df.while_loop(lambda k, y: k < 2, lambda k, y: (k + 1, f(y) * 0.5 + y),
                                   (df.constant(0), x))[1]


def chosen(f):
    return lambda x: df.cond(df.reduce_sum(x) > 0., lambda: f(x), lambda: f(x * 0.5) * 2.)


@pytest.mark.parametrize("derivative", ["value", "grad", "vjp", "jvp", "tape"])
@pytest.mark.parametrize("f", [df.sin, with_rule(df.sin), df.recompute_grad(df.sin)],
                         ids=["plain", "rule", "recompute"])
@pytest.mark.parametrize("control", [iterated, repeated, chosen])
def test_gradients_of_mapped_derivatives(control, f, derivative):
    inner = control(f)
    made = {"value": inner, "grad": df.grad(lambda x: df.reduce_sum(inner(x))),
            "vjp": lambda x: df.vjp(inner, x)[1](x)[0],
            "jvp": lambda x: df.jvp(inner, (x,), (x,))[1],
            "tape": lambda x: df.reduce_sum(df.autodiff.jacobian(inner)(x), 0)}[derivative]

    def number(x):
        return df.reduce_sum(df.vmap(made)(df.stack([x, x * -2.])) ** 2)

    np.testing.assert_allclose(df.grad(number)(PLACE), by_differences(number, PLACE), atol=1e-7)


def test_jacobians_of_nested_loops():
    """Shared values stay shared, so that a carry keeps its shape."""
    def f(x):
        def step(carry, row):
            last, made = df.scan(lambda a, b: (df.tanh(a * b) + a, a * b), df.reduce_sum(carry),
                                 carry * row)
            return made + last, last
        return df.scan(step, x, x)[0]

    def branch(x):
        def step(carry, row):
            return df.cond(row > 0., lambda: df.sin(carry), lambda: carry * row), row
        return df.scan(step, x, x)[0]

    for g in (f, branch):
        wanted = np.stack([by_differences(lambda x, k=k, g=g: g(x)[k], PLACE) for k in range(3)])
        np.testing.assert_allclose(df.jacfwd(g)(PLACE), wanted, atol=1e-7)
        np.testing.assert_allclose(df.jacrev(g)(PLACE), wanted, atol=1e-7)


@pytest.mark.parametrize("derivative", [
    lambda f: df.grad(lambda x: df.reduce_sum(df.jacrev(df.grad(f))(x) * x)),
    lambda f: df.jacrev(df.jacrev(df.grad(f)))])
def test_third_derivatives_of_a_loop_by_jacrev_in_a_function(derivative):
    def f(x):
        return df.reduce_sum(df.scan(lambda c, _: (c, df.sin(x) * x), 0., length=1)[1][0])

    x = df.constant([.3, -.5, .8], df.float64)
    got, want = df.function(derivative(f))(x), derivative(f)(x)
    assert abs(got - want).numpy().max() < 1e-12


# --- rules that read values in loops of a mapped function that is recorded, not run ---

def stacked(x):
    """Return the rows that a scan stacks: the gradient checks which rows have cotangents."""
    return df.scan(lambda c, r: (df.tanh(c * r) + c, c * r), df.reduce_sum(x), x)[1]


JACOBIANS = {"jacfwd": df.jacfwd, "jacrev": df.jacrev, "jacobian": df.autodiff.jacobian}


TWICE = {"stacked": stacked, "recompute": df.recompute_grad(stacked),
         "rule": iterated(with_rule(df.sin))}


@pytest.mark.parametrize(("name", "inner", "outer"), [
    (name, inner, outer) for k, name in enumerate(TWICE) for j, inner in enumerate(JACOBIANS)
    for outer in sampling.one_of(list(JACOBIANS), k, j)])
def test_jacobians_of_jacobians_of_a_loop(name, inner, outer):
    f = TWICE[name]
    g = JACOBIANS[outer](lambda x: df.reduce_sum(JACOBIANS[inner](f)(x), 1))
    wanted = np.stack([by_differences(lambda x, k=k: df.reduce_sum(df.jacrev(f)(x)[k]), PLACE)
                       for k in range(3)])
    np.testing.assert_allclose(g(PLACE), wanted, atol=1e-7)
    np.testing.assert_allclose(df.function(g)(PLACE), g(PLACE), rtol=0, atol=1e-12)


def test_gradients_of_nested_vmaps_of_a_loop_with_a_custom_rule():
    def number(x):
        rows = lambda x: df.stack([x, x * 0.5])                         # noqa: E731
        inner = lambda x: df.vmap(iterated(with_rule(df.sin)))(rows(x))     # noqa: E731
        return df.reduce_sum(df.vmap(inner)(rows(x)) ** 2)

    wanted = by_differences(number, PLACE)
    for g in (df.grad(number), df.function(df.grad(number))):
        np.testing.assert_allclose(g(PLACE), wanted, atol=1e-7)


@pytest.mark.parametrize("inner", [lambda f: f, df.function], ids=["eager", "traced"])
def test_rows_without_cotangents_are_not_zero(inner):
    """If the branch is not taken, the carry gets no cotangent: zero times its infinite slope would
    be NaN. """
    @inner
    def f(x):
        return df.scan(lambda c, r: (df.sqrt(c * 0.), df.cond(r > 100., lambda: c, lambda: r * r)),
                       x[0], x)[1]

    def products(x):
        back = df.vjp(f, x)[1]
        return df.vmap(lambda u: back(u)[0])(df.stack([x, x * 2.]))

    g = df.grad(lambda x: df.reduce_sum(products(x) * x))
    x = df.constant([.3, .5, .8], "float64")
    for h in (g, df.function(g), df.grad(lambda x: df.reduce_sum(g(x)))):
        assert np.isfinite(h(x).numpy()).all()
    np.testing.assert_allclose(df.function(g)(x), 18. * x.numpy() ** 2, rtol=1e-12)
    hessian = df.hessian(lambda x: df.reduce_sum(f(x) ** 2))
    for h in (hessian, df.function(hessian)):
        np.testing.assert_allclose(h(x), np.diag(12. * x.numpy() ** 2), rtol=1e-12)


def test_third_order_of_a_checkpointed_loop():
    """The rows that only some gradients read determine the trip counts of their loops."""
    def loop(x):
        test = lambda k, y: (k < 4.) & (df.reduce_sum(y * y) < 2.)         # noqa: E731
        return df.while_loop(test, lambda k, y: (k + 1., y * 1.5 + df.sin(y) * .1),
                             (df.constant(0., "float64"), x))[1]

    def second(x):
        hessian = df.hessian(lambda x: df.reduce_sum(df.recompute_grad(loop)(x)))(x)
        return df.reduce_sum(df.linalg.matvec(hessian, df.sin(x)))

    wanted = by_differences(second, PLACE)
    for g in (df.grad(second), df.function(df.grad(second))):
        np.testing.assert_allclose(g(PLACE), wanted, atol=1e-6)


# --- sizes computed in a branch and read by second derivatives of that branch ---

def doubled_in_a_branch(x):
    """A loop in a branch: the gradient reads as many rows as the loop had iterations."""
    return df.cond(df.reduce_sum(x) > 0., lambda: df.while_loop(
        lambda y: df.reduce_sum(y * y) < 9., lambda y: (y * 1.5 + df.sin(y * x) * x,), (x,))[0],
        lambda: x * x)


def doubled_in_branches(x):
    return df.cond(df.reduce_sum(x) > -1., lambda: doubled_in_a_branch(x) * x, lambda: x)


def doubled_in_a_branch_of_a_loop(x):
    return df.scan(lambda c, r: (df.tanh(doubled_in_a_branch(c)) + r, r), x, df.stack([x, x]))[0]


def along(f):
    return lambda x: df.jvp(f, (x,), (df.sin(x),))[1]


def pulled(f):
    return lambda x: df.vjp(f, x)[1](df.sin(x))[0]


def slope(f):
    return df.grad(lambda x: df.reduce_sum(f(x)))


BRANCHES = [doubled_in_a_branch, doubled_in_branches, doubled_in_a_branch_of_a_loop]
THIRD = {"jvp": (along, along, along), "grad": (slope, slope, slope),
         "mixed": (pulled, slope, along)}


@pytest.mark.parametrize("derivatives", THIRD)
@pytest.mark.parametrize("f", BRANCHES)
def test_third_derivatives_of_a_loop_in_a_branch(f, derivatives):
    """By default one of three traces: each function and each derivative has all of them."""
    first, second, third = THIRD[derivatives]

    def number(x):
        return df.reduce_sum(second(first(f))(x) * df.cos(x))

    g = third(number)
    if third is along:
        wanted = by_differences(number, PLACE) @ df.sin(PLACE).numpy()
    else:
        wanted = by_differences(number, PLACE)
    any_size = [df.TensorSpec([None], "float64")]
    traces = [df.function(g, any_size), df.function(g), df.function(g, passes=False)]
    turns = BRANCHES.index(f), list(THIRD).index(derivatives)
    for made in (g, *sampling.one_of(traces, *turns)):
        np.testing.assert_allclose(made(PLACE), wanted, rtol=1e-6)
