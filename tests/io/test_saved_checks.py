"""Assertions in saved functions, and gradients that are Python code."""

import json

import pytest

import dualflow as df
from dualflow import errors
from dualflow.io import content


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "saved")


def saved(f, folder, *args):
    """Return a traced function, and the functions loaded from a saved and from a twice saved
    module."""
    module = df.Module()
    module.f = df.function(f)
    module.f(*args)
    df.save(module, folder)
    loaded = df.load(folder)
    df.save(loaded, folder + "2")
    return module.f, loaded.f, df.load(folder + "2").f


def statement(x):
    assert x > 0., "positive"
    return x


def bare_statement(x):
    assert x > 0.
    return x


def in_a_branch(x):
    if x < 2.:
        df.debugging.assert_positive(x, message="in a branch", summarize=1)
    for k in df.range(2):
        df.debugging.assert_greater(x, df.cast(k, df.float32) - 1.)
    return x


def cases(exclusive):
    return lambda x: df.case([(x > 0., lambda: x), (x > 1., lambda: -x)], exclusive=exclusive,
                             default=(lambda: x) if exclusive else None)


def broadcast(x):
    return df.cast(df.broadcast_dynamic_shape(df.cast(df.stack([x, 1.]), df.int64), [2, 3]),
                   df.float32)[0]


CHECKS = {
    "Assert": (lambda x: (df.Assert(x > 0., ["x is", x, "now"], summarize=2), x)[1], -1.),
    "assert_true": (lambda x: (df.debugging.assert_true(x > 0., [x]), x)[1], -1.),
    "assert_near": (lambda x: (df.debugging.assert_near(x, 1.), x)[1], 2.),
    "check_numerics": (lambda x: df.debugging.check_numerics(1. / x, "quotient"), 0.),
    "int": (lambda x: int(x * 2.), 1e30), "statement": (statement, -1.),
    "bare statement": (bare_statement, -1.), "branch": (in_a_branch, -1.),
    "case without a default": (cases(False), -1.), "exclusive case": (cases(True), 2.),
    "broadcast": (broadcast, 5.),
}


@pytest.mark.parametrize("name", CHECKS)
def test_checks_fire_in_loaded_functions(folder, name):
    f, bad = CHECKS[name]
    one = df.constant(1.)
    traced, loaded, again = saved(f, folder, one)
    with pytest.raises(Exception) as first:
        traced(df.constant(bad))
    for call in (loaded, again, df.function(loaded)):
        assert df.reduce_all(df.equal(call(one), traced(one))).item()
        with pytest.raises(type(first.value)) as error:
            call(df.constant(bad))
        assert str(error.value).split(" (made at")[0] == str(first.value).split(" (made at")[0]
    df.config.run_functions_eagerly(True)
    try:
        with pytest.raises(type(first.value)):
            loaded(df.constant(bad))
    finally:
        df.config.run_functions_eagerly(False)


def test_minimize_checks_for_gradients(folder):
    v, optimizer = df.Variable(1.), df.optimizers.SGD(0.5)

    def step(x):
        with df.GradientTape() as tape:
            y = df.cond(x > 0., lambda: v * 2., lambda: x * 2.)
        optimizer.minimize(y, [v], tape=tape)
        return v.value()

    traced, *loaded = saved(step, folder, df.constant(1.))
    v.assign(1.)
    for call in (traced, *loaded):
        with pytest.raises(errors.InvalidArgumentError, match="no gradient for any of"):
            call(df.constant(-1.))


def test_messages_that_json_does_not_hold_raise(folder):
    def f(x):
        assert x > 0., [x, object()]
        return x

    with pytest.raises(errors.UnimplementedError, match=r"cannot be saved: .*assert.* calls"):
        saved(f, folder, df.constant(1.))


def test_unknown_checks_of_a_file_raise(folder):
    saved(statement, folder, df.constant(1.))
    path = folder + "/module.safetensors"
    with content.content_of(path, "dualflow module 1") as found:
        tensors, said = found.read(), json.dumps(found.states["module"])
    assert said.count('"check_assert"') == 1
    content.write_content(path, "dualflow module 1", tensors, {
        "module": json.loads(said.replace('"check_assert"', '"exec"'))})
    with pytest.raises(errors.UnimplementedError, match="check 'exec' is unknown"):
        df.load(folder).f(df.constant(1.))


@df.custom_gradient
def own(x):
    return x * 2., lambda g: g * 7.


READ = df.Variable(3.)


@df.custom_gradient
def own_of_a_variable(x):
    return x * READ, lambda g, variables: (g * 7., [g * 5. for _ in variables])


def repeated(x):
    for _ in df.range(3):
        x = own(x)
    return x


GRADIENTS = [
    own, own_of_a_variable, repeated, lambda x: df.cond(x > 0., lambda: own(x), lambda: x),
    lambda x: df.function(lambda x: own(x) + 1.)(x),
    lambda x: df.while_loop(lambda x: x < 10., own, [x])[0],
    lambda x: df.scan(lambda a, b: own(a) + b, df.ones([3]), initializer=x),
    lambda x: own(own(x))]


@pytest.mark.parametrize("f", GRADIENTS, ids=range(len(GRADIENTS)))
def test_gradients_that_are_not_saved_raise(folder, f):
    """A gradient of another function is never used in place of the custom gradient."""
    x = df.constant(1.)
    traced, *loaded = saved(lambda x: f(x), folder, x)

    def gradient(call, of):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = call(x)
        return tape.gradient(y, of)

    assert gradient(traced, x) is not None
    for call in (*loaded, df.function(loaded[0])):
        assert call(x).tolist() == traced(x).tolist()
        with pytest.raises(errors.UnimplementedError, match="is Python code, and was not saved"):
            gradient(call, x)


def test_custom_gradients_inside_saved_functions_are_used(folder):
    def f(x):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = own(x) * x
        return tape.gradient(y, x)

    for call in saved(f, folder, df.constant(3.)):
        assert call(df.constant(3.)).item() == 2. * 3. + 7. * 3.
