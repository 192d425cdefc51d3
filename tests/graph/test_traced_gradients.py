"""Tapes, custom gradients and optimizers inside traced functions return the bits of eager mode."""

import numpy as np
import pytest

import dualflow as df


def same_bits(f, *args, n=2):
    """Compare `f` eagerly, traced, and traced without passes."""
    want = f(*args)
    for traced in (df.function(f), df.function(f, passes=False)):
        for _ in range(n):
            got = traced(*args)
            for g, w in zip(flat(got), flat(want), strict=True):
                assert (g is None) == (w is None)
                if w is not None:
                    assert g.dtype is w.dtype
                    np.testing.assert_array_equal(g.numpy(), w.numpy())


def flat(x):
    return [z for y in x for z in flat(y)] if isinstance(x, list | tuple) else [x]


X = df.constant([[.3, -.7, 1.1], [2., -1., .5]])
W = df.constant([[.5, -.2], [.1, .7], [-.3, .4]])


def test_tape():
    def f(x, w):
        with df.GradientTape() as tape:
            tape.watch([x, w])
            y = df.reduce_sum(df.tanh(x @ w) ** 2)
        return y, tape.gradient(y, [x, w])

    same_bits(f, X, W)


def test_persistent_tape_and_stop_recording():
    def f(x):
        with df.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = df.exp(x) * x
            with tape.stop_recording():
                hidden = y * 10.
            z = df.sin(y) + hidden
        return tape.gradient(y, x), tape.gradient(z, x), tape.gradient(z, y)

    same_bits(f, X)


def test_nested_tapes():
    def f(x):
        with df.GradientTape() as outer:
            outer.watch(x)
            with df.GradientTape() as middle:
                middle.watch(x)
                with df.GradientTape() as inner:
                    inner.watch(x)
                    y = x * x * df.exp(x)
                d = inner.gradient(y, x)
            dd = middle.gradient(d, x)
        return y, d, dd, outer.gradient(dd, x)

    same_bits(f, X)


def test_jacobians_and_functional_derivatives():
    def f(x):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = df.nn.softmax(x)
        row = x[0]
        square_sum = lambda v: df.reduce_sum(v * v * v)  # noqa: E731
        return (tape.batch_jacobian(y, x), df.grad(square_sum)(row),
                df.autodiff.hessian(square_sum)(row), df.autodiff.jacobian(df.tanh)(row),
                df.value_and_grad(square_sum)(row))

    same_bits(f, X)


def test_output_gradients_and_unconnected():
    def f(x, w):
        with df.GradientTape() as tape:
            tape.watch([x, w])
            y = x * 2.
        return tape.gradient(y, [x, w], output_gradients=x, unconnected_gradients="zero")

    same_bits(f, X, W)


def test_unconnected_source_gives_none_and_warns():
    @df.function
    def f(x):
        with df.GradientTape() as tape:
            y = x * 2.
        return tape.gradient(y, x)

    with pytest.warns(df.errors.GradientWarning, match="does not watch") as caught:
        assert f(X) is None
    assert caught[0].filename == __file__


def test_variables_are_watched():
    v, w = df.Variable(W), df.Variable([1., 2.])

    def f(x):
        with df.GradientTape() as tape:
            y = df.reduce_mean(df.nn.relu(x @ v + w) ** 2)
        return tape.gradient(y, {"v": v, "w": w})

    want, got = f(X), df.function(f)(X)
    for key in want:
        np.testing.assert_array_equal(got[key].numpy(), want[key].numpy())


def test_variables_written_under_a_tape():
    def program():
        v = df.Variable([1., 2., 3.])

        def f(x):
            with df.GradientTape(persistent=True) as tape:
                a = v * v
                v.assign_add(x[0])
                b = a * v
            return tape.gradient(a, v), tape.gradient(b, v), v.value()

        return f

    eager, traced = program(), df.function(program())
    for _ in range(3):
        for g, w in zip(traced(X), eager(X), strict=True):
            np.testing.assert_array_equal(g.numpy(), w.numpy())


def test_custom_gradient_and_stop_gradient():
    @df.custom_gradient
    def clipped(x):
        y = df.exp(x)
        return y, lambda g: df.clip_by_value(g * y, -1., 1.)

    def f(x):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = clipped(x) * df.stop_gradient(x) + clipped(clipped(x))
        return y, tape.gradient(y, x)

    same_bits(f, X)


@df.custom_gradient
def doubled_back(x, other):
    """Return `x` and `other` unchanged; the gradient rule doubles a cotangent."""
    return (x, other), lambda g, h: (g * 2., h)


def test_functions_with_a_custom_gradient_are_calls():
    g = df.Graph()
    with g.as_default():
        x, unused = g.placeholder([2], name="x"), g.placeholder([2], name="unused")
        y, _ = doubled_back(x * 3., unused)
        slope, = df.gradients(y * y, x)
    call = y.node
    assert (call.op.name, call.name) == ("call", "doubled_back")
    assert repr(call.data) == "the gradient of doubled_back"
    assert "      return %0, %1" in g.text()
    assert g.rules == [call.data.op.rule]
    np.testing.assert_array_equal(g.run(slope, {x: [1., 2.], unused: [0., 0.]}).numpy(), [36., 72.])


def test_placeholder_read_only_by_a_gradient_rule_need_not_be_fed():
    @df.custom_gradient
    def first(x, other):
        return x, lambda g: (g, g * other)

    g = df.Graph()
    with g.as_default():
        x, other = g.placeholder([], name="x"), g.placeholder([], name="other")
        y = first(x, other)
    assert g.run(y, {x: 2.}).item() == 2.


@pytest.mark.parametrize("passes", [True, False])
def test_values_passed_through_a_custom_gradient_survive_assignment(passes):
    def program():
        v = df.Variable([1., 2., 3.])

        def f(x):
            with df.GradientTape() as tape:
                y, z = doubled_back(v.value(), x)
                v.assign_add(x[0])
                w, _ = doubled_back(v.value(), z)
                loss = y * z + w
            return y, z, w, x, tape.gradient(loss, v), v.value()

        return f

    eager, traced = program(), df.function(program(), passes=passes)
    for _ in range(3):
        for got, want in zip(traced(X), eager(X), strict=True):
            np.testing.assert_array_equal(got.numpy(), want.numpy())


def test_sizes_of_values_passed_through_a_custom_gradient():
    def f(x):
        y, z = doubled_back(df.boolean_mask(x, x > 0.), x)
        if z.shape[0] == 2:
            z = z * 5.
        return df.reshape(y, [y.shape[0], 1]) * z.shape[0], z

    traced = df.function(lambda x: f(x), input_signature=[df.TensorSpec([None])])
    for n in (2, 3, 4, 2):
        x = df.constant(np.arange(n) - .5, df.float32)
        for got, want in zip(traced(x), f(x), strict=True):
            np.testing.assert_array_equal(got.numpy(), want.numpy())


def test_second_order_of_a_custom_gradient():
    @df.custom_gradient
    def cube(x):
        return x * x * x, lambda g: g * 3. * x * x

    def f(x):
        with df.GradientTape() as outer:
            outer.watch(x)
            with df.GradientTape() as inner:
                inner.watch(x)
                y = cube(x)
            d = inner.gradient(y, x)
        return d, outer.gradient(d, x)

    same_bits(f, X)


def test_df_gradients_in_a_traced_function():
    def f(x, w):
        y = df.tanh(x @ w)
        return df.gradients(y, [x, w])

    def eager(x, w):
        with df.GradientTape() as tape:
            tape.watch([x, w])
            y = df.tanh(x @ w)
        return tape.gradient(y, [x, w])

    for got, want in zip(df.function(f)(X, W), eager(X, W), strict=True):
        np.testing.assert_array_equal(got.numpy(), want.numpy())


def test_nested_functions_with_nested_tapes():
    def slope(x):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = df.sin(x) * x
        return tape.gradient(y, x)

    def of(inner):
        def f(x):
            with df.GradientTape() as tape:
                tape.watch(x)
                y = inner(x)
            return y, tape.gradient(y, x)

        return f

    traced = df.function(of(df.function(slope)))
    for got, want in zip(traced(X), of(slope)(X), strict=True):
        np.testing.assert_array_equal(got.numpy(), want.numpy())


# --- training steps -----------------------------------------------------------------------------

OPTIMIZERS = {
    "sgd": lambda: df.optimizers.SGD(.1),
    "momentum": lambda: df.optimizers.SGD(.1, momentum=.9),
    "nesterov": lambda: df.optimizers.SGD(.1, momentum=.9, nesterov=True),
    "adam": lambda: df.optimizers.Adam(.01),
    "adamw": lambda: df.optimizers.AdamW(.01),
    "rmsprop": lambda: df.optimizers.RMSprop(.01),
    "adagrad": lambda: df.optimizers.Adagrad(.1),
    "schedule": lambda: df.optimizers.SGD(df.optimizers.schedules.ExponentialDecay(.1, 2, .5)),
    "clipnorm": lambda: df.optimizers.Adam(.01, clipnorm=.1),
    "global_clipnorm": lambda: df.optimizers.Adam(.01, global_clipnorm=.1),
}


def training(make_optimizer):
    """Return losses and final variables of ten steps of a small network, as bytes."""
    rng = np.random.default_rng(0)
    sizes = [5, 7, 3]
    weights = [df.Variable(rng.normal(size=s).astype("float32") * .5)
               for s in zip(sizes, sizes[1:], strict=False)]
    biases = [df.Variable(df.zeros([n])) for n in sizes[1:]]
    optimizer = make_optimizer()
    batches = [(df.constant(rng.normal(size=(4, 5)), df.float32), df.constant([0, 1, 2, 1]))
               for _ in range(10)]

    def step(x, labels):
        with df.GradientTape() as tape:
            hidden = df.nn.relu(x @ weights[0] + biases[0])
            logits = hidden @ weights[1] + biases[1]
            loss = df.reduce_mean(df.nn.sparse_softmax_cross_entropy_with_logits(
                labels=labels, logits=logits))
        variables = weights + biases
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    def run(wrap):
        f = wrap(step)
        losses = [f(*b).numpy().tobytes() for b in batches]
        slots = [s.numpy().tobytes() for s in optimizer.variables]
        return losses, [v.numpy().tobytes() for v in weights + biases], slots

    return run


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_steps(name):
    if name == "adamw" and not hasattr(df.optimizers, "AdamW"):
        pytest.skip("no AdamW")
    eager, traced, plain = (training(OPTIMIZERS[name]) for _ in range(3))
    want = eager(lambda f: f)
    assert traced(df.function) == want
    assert plain(lambda f: df.function(f, passes=False)) == want


def test_learning_rate_change_between_steps():
    def program():
        v = df.Variable([1., 2.])
        optimizer = df.optimizers.SGD(1.)

        def step():
            optimizer.minimize(lambda: df.reduce_sum(v * v), [v])

        return v, optimizer, step

    seen = []
    for wrap in (lambda f: f, df.function):
        v, optimizer, step = program()
        step = wrap(step)
        values = []
        for rate in (.5, .25, .125):
            optimizer.learning_rate = rate
            step()
            values.append(v.numpy().tolist())
        seen.append(values)
    assert seen[0] == seen[1]


def test_rule_that_raises():
    """The call succeeds, and so does the gradient of an output that does not need the rule."""
    @df.custom_gradient
    def broken(x):
        def slope(g):
            raise df.errors.InvalidArgumentError("no slope")
        return x * 2., slope

    x = df.ones([2])
    for f in (broken, lambda x: (broken(x), x * 3.)):
        with df.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = df.nest.flatten(df.function(f)(x))
        assert y[0].tolist() == [2., 2.]
        with pytest.raises(df.errors.InvalidArgumentError, match="no slope"):
            tape.gradient(y[0], x)
    assert tape.gradient(y[1], x).tolist() == [3., 3.]


@pytest.mark.parametrize("persistent", [False, True])
def test_gradient_of_an_output_with_respect_to_another(persistent):
    x = df.constant([0.5, 1.])
    f = df.function(lambda x: (h := df.exp(x), h * h))
    with df.GradientTape(persistent=persistent) as tape:
        tape.watch(x)
        h, y = f(x)
        z = y * 3.
    np.testing.assert_allclose(tape.gradient(z, h).numpy(), 6 * h.numpy(), rtol=1e-6)
