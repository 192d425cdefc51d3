"""Gradients of a tape around a call of a traced function."""

import subprocess
import sys

import numpy as np
import pytest

import dualflow as df
from tests.programs import around


@pytest.fixture
def w():
    return df.Variable([[1., 2.], [3., 4.]], name="w")


def gradients(function, w):
    x = df.constant([[.1, .2], [.3, .4]])
    with df.GradientTape() as tape:
        tape.watch(x)
        y, s = function(x)
        loss = df.reduce_sum(y * y) * s
    return [g.tolist() for g in tape.gradient(loss, [x, w])]


def second(function, w):
    x = df.constant([[.1, .2], [.3, .4]])
    with df.GradientTape() as outer:
        outer.watch(x)
        with df.GradientTape() as inner:
            inner.watch(x)
            y, s = function(x)
            loss = df.reduce_sum(y * y) * s
        gx, gw = inner.gradient(loss, [x, w])
        z = df.reduce_sum(gx * gx) + df.reduce_sum(gw)
    return [g.numpy() for g in outer.gradient(z, [x, w])]


def forward(w):
    return lambda x: (df.tanh(x @ w), df.reduce_sum(x))


def test_first_order(w):
    assert gradients(df.function(forward(w)), w) == gradients(forward(w), w)


def test_second_order(w):
    for got, want in zip(second(df.function(forward(w)), w), second(forward(w), w), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_repeated_calls_with_and_without_a_tape(w):
    f = df.function(forward(w))
    first = gradients(f, w)
    x = df.constant([[.1, .2], [.3, .4]])
    assert f(x)[0].tolist() == forward(w)(x)[0].tolist()
    w.assign_add([[1., 1.], [1., 1.]])
    assert gradients(f, w) == gradients(forward(w), w) != first


def test_call_without_watched_values_is_not_recorded():
    f = df.function(lambda x: x * x)
    with df.GradientTape(watch_accessed_variables=False) as tape:
        f(df.constant(2.))
    assert len(tape._tape) == 0


def test_gradient_uses_the_random_numbers_of_the_forward_run():
    f = df.function(lambda x: x * df.random.uniform([3]))
    x = df.constant([1., 1., 1.])
    with df.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert tape.gradient(y, x).tolist() == y.tolist()


def test_gradient_uses_the_old_value_of_a_variable():
    v = df.Variable(3.)

    @df.function
    def step():
        y = v * v
        v.assign_add(1.)
        return y

    with df.GradientTape() as tape:
        y = step()
    assert (y.item(), v.numpy().item(), tape.gradient(y, v).item()) == (9., 4., 6.)


def second_order(f, *xs):
    """Return gradients, and gradients of their squares, by tapes around one call of `f`."""
    with df.GradientTape(persistent=True) as outer:
        outer.watch(xs)
        with df.GradientTape() as inner:
            inner.watch(xs)
            y = f(*xs)
        gs = inner.gradient(y, xs)
        z = sum([df.reduce_sum(g * g) for g in gs if g is not None], df.constant(0.))
    return gs, outer.gradient(z, xs)


def bits(values):
    return [None if x is None else (x.shape, x.numpy().tobytes()) for x in values]


def test_second_order_through_effects(capsys):
    def program():
        v = df.Variable(3.)

        def step(x):
            v.assign_add(1.)
            df.print("once")
            return x * x * v * df.random.uniform([])

        return step

    results = []
    for wrap in (lambda f: f, df.function):
        f = wrap(program())
        for _ in range(2):
            df.random.set_seed(3)
            first, then = second_order(f, df.constant(2.))
            results.append(bits([*first, *then]))
    assert results[0] == results[2] and results[1] == results[3] != results[0]
    assert capsys.readouterr().out == "once\n" * 4


def test_second_order_of_a_constant_gradient():
    """The backward program has no results, so recording must not access the first result."""
    v = df.Variable([1., 2.])
    f = df.function(lambda x: df.stop_gradient(x) + df.constant([3., 4.]))
    x = df.constant([1., 2.])
    with df.GradientTape() as outer:
        outer.watch(x)
        with df.GradientTape() as inner:
            inner.watch(x)
            y = f(x * x)
        g = inner.gradient(y, [x, v], unconnected_gradients="zero")
        total = df.reduce_sum(g[0] * g[0])
    assert [d.numpy().tolist() for d in outer.gradient(total, [x, v], unconnected_gradients="zero")
            ] == [[0., 0.], [0., 0.]]


def test_random_programs(request):
    """Check first to third order with shared inputs, variables, effects and custom gradients."""
    for seed in range(20_000 if request.config.getoption("exhaustive") else 60):
        around.check(seed)


# --- bit equality with eager mode ---

X = df.constant([[.3, -1.2, 2.5], [.7, .1, -.4]])
Y = df.constant([1.5, -.25, .125])


def around_calls(f, wrap, *xs):
    """Return gradients of first and second order around two calls of `f`, whose operands are also
    used before and after the calls."""
    f = wrap(f)
    with df.GradientTape(persistent=True) as outer:
        outer.watch(xs)
        with df.GradientTape() as inner:
            inner.watch(xs)
            y = df.reduce_sum(xs[0] * .1) + df.reduce_sum(df.sin(xs[-1]))
            outputs = [*f(*xs), *f(*[x * 1.1 for x in xs])]
            y = y + sum([df.reduce_sum(m * m) * .3 for m in outputs], df.constant(0.))
            y = y + df.reduce_sum(xs[0] * xs[0]) + df.reduce_sum(xs[-1] * .7)
        gs = inner.gradient(y, [*xs, outputs[0]])
        z = sum([df.reduce_sum(g * g) for g in gs if g is not None], df.constant(0.))
    return bits([y, *gs, *outer.gradient(z, xs)])


@df.custom_gradient
def rounded(x):
    return df.round(x * 4.), lambda g: g * 4.


@df.custom_gradient
def scaled(x, y, by=1.):
    e = df.sin(df.tanh(x))
    return (e * y, y * by), lambda g, h: (rounded(g) * e, h * x * by)


def custom(x, y):
    return [rounded(x) * y, *scaled(rounded(x) + y, y, by=3.)]


def in_functions(x, y):
    inner = df.function(lambda a: rounded(a) * a)
    return [inner(x) + inner(x * y), y]


def grads(x, y):
    value, g = df.value_and_grad(lambda a: df.reduce_sum(df.sin(a) * a))(x)
    return [df.grad(lambda a: df.reduce_sum(a * a * rounded(a)))(x) * y, g * value]


def taped(x, y):
    with df.GradientTape() as tape:
        tape.watch(y)
        z = df.exp(y) * y
    return [tape.gradient(z, y) * x, z]


def masked(x, y):
    return [df.boolean_mask(x, x > 0.) * df.reduce_sum(y), rounded(df.boolean_mask(y, y > 0.))]


def captured(x, y):
    return [x * Y * y * Y, df.sin(Y) * Y]


def chain(x, y):
    z = x * y
    return [z, z * z, df.stop_gradient(z), x, z, z + 0., df.identity(z)]


def unused(x, y):
    df.debugging.assert_true(df.reduce_all(x < 100.))
    return [df.cast(df.argmax(x, -1), df.float32) * y[0], x * 2.]


@pytest.mark.parametrize("f", [custom, in_functions, grads, taped, masked, captured, chain, unused])
@pytest.mark.parametrize("xs", [(X, Y), (Y, Y)], ids=["two", "one twice"])
def test_gradients_have_the_bits_of_eager_mode(f, xs):
    want = around_calls(f, lambda f: f, *xs)
    assert around_calls(f, df.function, *xs) == want
    specs = [df.TensorSpec([None, 3][-x.ndim:]) for x in xs]
    assert around_calls(f, lambda f: df.function(f, input_signature=specs), *xs) == want
    assert around_calls(f, lambda f: df.function(f).get_concrete_function(*specs), *xs) == want


def test_cotangents_are_summed_in_program_order():
    def f(x):
        return x * .1, df.exp(x) * x, x / 3.

    def g(wrap, x):
        h = wrap(f)
        with df.GradientTape() as tape:
            tape.watch(x)
            y = sum([df.reduce_sum(z) for z in (x * 1e-3, *h(x), x * 7., *h(x), df.sin(x))])
        return tape.gradient(y, x)

    x = df.random.normal([1000], seed=1)
    assert bits([g(df.function, x)]) == bits([g(lambda f: f, x)])
    graph = df.Graph()
    with graph.as_default():
        p = graph.placeholder([1000])
        y = sum([df.reduce_sum(z) for z in (p * 1e-3, *f(p), p * 7., *f(p), df.sin(p))])
        d, = df.gradients(y, p)
    assert bits([graph.run(d, {p: x})]) == bits([g(lambda f: f, x)])


def test_minimize_with_a_straight_through_estimator():
    def train(wrap):
        w = df.Variable([.3, -.8])
        loss = wrap(lambda: df.reduce_sum((rounded(w) - 1.) ** 2))
        optimizer = df.optimizers.SGD(.01, momentum=.9)
        for _ in range(4):
            optimizer.minimize(loss, [w])
        return w.numpy().tobytes()

    assert train(df.function) == train(lambda f: f)


def test_later_tapes_identify_results_as_in_eager_mode():
    f = df.function(lambda x: (x, x + 0., df.stop_gradient(x), x * 1., df.identity(x)))
    for _ in range(2):
        x = df.constant([1., 2.])
        ys = f(x)
        with df.GradientTape(persistent=True) as tape:
            tape.watch(x)
            zs = [y * 2. for y in ys]
        found = [tape.gradient(z, x, unconnected_gradients="zero").tolist() for z in zs]
        assert found == [[2., 2.]] + [[0., 0.]] * 4
        with df.GradientTape(persistent=True) as tape:
            tape.watch(ys[1])
            z = ys[3] * 2.
        assert tape.gradient(z, ys[1], unconnected_gradients="zero").tolist() == [0., 0.]


def test_unused_outputs_do_not_affect_gradients():
    f = df.function(lambda x: (x * 2., df.math.log(x)))
    x = df.constant([0., 1.])
    with df.GradientTape() as tape:
        tape.watch(x)
        y, _ = f(x)
    assert tape.gradient(y, x).tolist() == [2., 2.]


def test_intermediate_value_as_a_source():
    f = df.function(lambda x: (x * 2., (x * 2.) ** 2., df.exp(x)))
    g = df.function(lambda x: (y := x * 3., df.sin(y) * y))
    x = df.constant(.5)
    with df.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z = g(x)
        a, b, _ = f(z)
        w = y * z + a * b
    with df.GradientTape(persistent=True) as plain:
        plain.watch(x)
        y2, z2 = g.python_function(x)
        a2, b2, _ = f.python_function(z2)
        w2 = y2 * z2 + a2 * b2
    assert bits(tape.gradient(w, [y, z, a, x])) == bits(plain.gradient(w2, [y2, z2, a2, x]))


@df.custom_gradient
def decides(x):
    n = x.shape[0]
    return x * 2., lambda g: g * float(n) if n > 2 else g * 100.


def test_gradient_rules_that_branch_on_sizes_and_numbers():
    def f(x, k):
        def rule(g):
            return g * k * 3. if k > .5 else g * 7.

        centered = decides(x) - df.reduce_mean(x, 0, keepdims=True)
        return centered * df.custom_gradient(lambda x: (x * k, rule))(x)

    traced = df.function(f)
    for n, k in [(3, .1), (4, .2), (5, .3), (1, .4), (2, .4), (6, .6), (7, .6), (7, .1)]:
        x = df.ones([n, 1]) * .3
        found = []
        for h in (traced, f):
            with df.GradientTape() as tape:
                tape.watch(x)
                y = h(x, k)
            found.append(bits([y, tape.gradient(y, x)]))
        assert found[0] == found[1]


def test_gradient_rule_reads_variables_when_it_runs():
    v = df.Variable(2.)

    @df.custom_gradient
    def f(x):
        return x * 1., lambda g: g * v

    traced = df.function(lambda x: f(x))
    for h in (traced, f):
        x = df.constant(1.)
        with df.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = h(x)
        first = tape.gradient(y, x).item()
        v.assign_add(1.)
        assert tape.gradient(y, x).item() == first + 1.


def test_missing_rule_affects_only_its_own_sources():
    v = df.Variable([1., 2.])

    def f(x):
        return df.reduce_sum(v * 2.) + df.custom_gradient(fails)(x)

    def fails(x):
        def rule(g):
            raise df.errors.UnimplementedError("no rule")

        return df.reduce_sum(x), rule

    for h in (f, df.function(f)):
        x = df.ones([2])
        with df.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = h(x)
        assert tape.gradient(y, v).tolist() == [2., 2.]
        with pytest.raises(df.errors.UnimplementedError, match="no rule"):
            tape.gradient(y, x)


def test_data_dependent_sizes_share_one_program():
    f = df.function(lambda x: df.reduce_sum(df.square(df.boolean_mask(x, x > 0.))))
    for n in range(6):
        x = df.constant(np.where(np.arange(6) < n, 2., -1.).astype(np.float32))
        with df.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        assert tape.gradient(y, x).tolist() == [4. * (k < n) for k in range(6)]


def test_returned_value_of_a_written_variable_depends_on_it():
    """An outside tape differentiates with respect to the variable through its returned value."""
    def f(v, x):
        v.assign_add(x)
        return v.value(), x * 2.

    found = []
    for call in (f, df.function(f)):
        v, x = df.Variable([1., 2.]), df.constant([.5, .25])
        with df.GradientTape() as tape:
            tape.watch(x)
            y, z = call(v, x)
            loss = df.reduce_sum(y * y * z)
        found.append([g.tolist() for g in tape.gradient(loss, [v, x])])
    assert found[0] == found[1]
    assert found[0][0] == [3., 2.25]


def test_calls_without_a_tape_load_no_gradients_of_calls():
    code = ("import sys, dualflow as df; f = df.function(lambda x: x * x)\n"
            "x = df.Variable(3.); f(x)\n"
            "before = 'dualflow.graph.calls.differentiate' in sys.modules\n"
            "with df.GradientTape() as tape:\n    y = f(x)\n"
            "print(before, float(tape.gradient(y, x)))")
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False 6.0\n"
