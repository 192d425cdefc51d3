"""Tracebacks show the user's lines; debugging.disable_traceback_filtering shows all."""

import traceback

import pytest

import dualflow as df

X = df.ones([2, 5])


def layer(x):
    return df.matmul(x, df.ones([3, 4]))


@df.function
def step(x):
    h = layer(x)
    return h + 1.


@df.custom_gradient
def broken(x):
    def gradient(g):
        raise KeyError("user")
    return x * 2., gradient


def tape_gradient():
    v = df.Variable([1., 2.])
    with df.GradientTape() as tape:
        y = broken(v)
    return tape.gradient(y, v)


def concrete():
    return step.get_concrete_function(X)


def wrong_concrete_call():
    return df.function(lambda x: x + 1.).get_concrete_function(X)(df.ones([3]))


def loop_over_dataset():
    return list(df.data.Dataset.range(3).map(lambda x: fail(x)))


def fail(x):
    raise KeyError(x.shape)


def loss(x):
    return df.reduce_sum(layer(x))


def user_error(*_):
    raise KeyError("user")


def loss_of_no_argument():
    fail(X)


def frames(error):
    return [(entry.filename.rpartition("/")[2], entry.name)
            for entry in traceback.extract_tb(error.__traceback__)]


CALLS = [
    (lambda: step(X), ["step", "layer"]),
    (lambda: df.function(tape_gradient)(), ["tape_gradient", "gradient"]),
    (concrete, ["concrete", "step", "layer"]),
    (wrong_concrete_call, ["wrong_concrete_call"]),
    (tape_gradient, ["tape_gradient", "gradient"]),
    (lambda: df.GradientTape().gradient(X, "no tensor"), []),
    (lambda: df.grad(loss)(X), ["loss", "layer"]),
    (lambda: df.value_and_grad(loss)(X), ["loss", "layer"]),
    (lambda: df.jvp(loss, (X,), (X,)), ["loss", "layer"]),
    (lambda: df.vjp(loss, X), ["loss", "layer"]),
    (lambda: df.jacrev(loss)(X), ["loss", "layer"]),
    (lambda: df.vmap(fail)(X), ["fail"]),
    (loop_over_dataset, ["loop_over_dataset", "<lambda>", "fail"]),
    # in eager mode
    (lambda: df.map_fn(fail, X), ["fail"]),
    (lambda: df.foldl(user_error, X), ["user_error"]),
    (lambda: df.foldr(user_error, X), ["user_error"]),
    (lambda: df.scan(user_error, X), ["user_error"]),
    (lambda: df.scan(user_error, 0., X), ["user_error"]),
    (lambda: df.while_loop(user_error, lambda x: x, [X]), ["user_error"]),
    (lambda: df.while_loop(lambda x: True, fail, [X]), ["fail"]),
    (lambda: df.cond(True, lambda: fail(X), lambda: X), ["<lambda>", "fail"]),
    (lambda: df.case([(True, lambda: fail(X))]), ["<lambda>", "fail"]),
    (lambda: df.switch_case(0, [user_error]), ["user_error"]),
    (lambda: df.vectorized_map(fail, X), ["fail"]),
    (lambda: df.numpy_function(fail, [X], df.float32), ["fail"]),
    (lambda: df.py_function(fail, [X], df.float32), ["fail"]),
    (lambda: df.register_op("failing", fail)(X), ["fail"]),
    (lambda: df.custom_gradient(fail)(X), ["fail"]),
    (lambda: df.recompute_grad(fail)(X), ["fail"]),
    (lambda: df.nest.map_structure(fail, {"a": [X]}), ["fail"]),
    (lambda: df.optimizers.SGD(.1).minimize(loss_of_no_argument, [df.Variable(1.)]),
     ["loss_of_no_argument", "fail"]),
    (lambda: df.data.Dataset.range(3).reduce(0, user_error), ["user_error"]),
]


@pytest.mark.parametrize("call, names", CALLS)
def test_only_frames_of_the_user(call, names):
    with pytest.raises(Exception) as caught:
        call()
    found = frames(caught.value)
    assert {file for file, _ in found} <= {"test_tracebacks.py"}
    found = [name for _, name in found]
    assert found[0].startswith("test_only") and found[-len(names):] == names if names else True


def test_an_eager_op_leaves_its_own_frames_below_the_users():
    """Hiding the frame of an op's function would cost a wrapper in each successful call."""
    with pytest.raises(df.errors.ShapeError) as caught:
        layer(X)
    assert [file for file, _ in frames(caught.value)] == [
        "test_tracebacks.py", "test_tracebacks.py", "matmul.py", "errors.pxi"]


def test_filtering_can_be_disabled():
    df.debugging.disable_traceback_filtering()
    try:
        assert not df.debugging.is_traceback_filtering_enabled()
        with pytest.raises(ValueError) as caught:
            step(X)
        files = {file for file, _ in frames(caught.value)}
        assert "function.py" in files and "matmul.py" in files
    finally:
        df.debugging.enable_traceback_filtering()
    assert df.debugging.is_traceback_filtering_enabled()


def test_causes_and_contexts_stay():
    @df.function
    def f(x):
        try:
            layer(x)
        except ValueError as error:
            raise KeyError("outer") from error

    @df.function
    def g(x):
        try:
            layer(x)
        finally:
            fail(x)

    with pytest.raises(KeyError) as caught:
        f(X)
    assert isinstance(caught.value.__cause__, df.errors.ShapeError)
    assert [name for _, name in frames(caught.value.__cause__)] == ["f", "layer"]
    with pytest.raises(KeyError) as caught:
        g(X)
    assert isinstance(caught.value.__context__, df.errors.ShapeError)
    assert caught.value.__cause__ is None


def test_a_cycle_of_contexts_ends():
    one, two = ValueError(), ValueError()
    one.__context__, two.__cause__ = two, one
    df.tracebacks.hide_frames(one)
    assert one.__context__ is two


def test_held_tracebacks_do_not_change():
    from dualflow.tracebacks import hide_frames
    df.debugging.disable_traceback_filtering()
    try:
        with pytest.raises(ValueError) as caught:
            step(X)
    finally:
        df.debugging.enable_traceback_filtering()
    before = caught.value.__traceback__
    n = len(traceback.extract_tb(before))
    hide_frames(caught.value)
    assert len(traceback.extract_tb(before)) == n > len(frames(caught.value))


def test_post_mortem_debugger_reaches_the_users_frame():
    import pdb
    with pytest.raises(ValueError) as caught:
        step(X)
    debugger = pdb.Pdb(readrc=False)
    stack, at = debugger.get_stack(None, caught.value.__traceback__)
    assert stack[at][0].f_code.co_name == "layer" and "x" in stack[at][0].f_locals


def test_the_error_of_a_second_call_has_one_frame_per_line():
    for _ in range(3):
        with pytest.raises(ValueError) as caught:
            step(X)
        assert [name for _, name in frames(caught.value)] == [
            "test_the_error_of_a_second_call_has_one_frame_per_line", "step", "layer"]
