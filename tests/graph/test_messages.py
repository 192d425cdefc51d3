"""Common mistakes in traced functions, and their messages."""

import re

import pytest

import dualflow as df
from dualflow.errors import InvalidArgumentError, RetracingWarning, TracedValueError

X = df.constant([1., 2., 3., 4.])


def trace(body, *args):
    return df.function(body, name="f", autograph=False)(*args)


def here(text):
    """Return a pattern of this file's name and a line, then `text`."""
    return rf"{re.escape(__file__)}:\d+, in {text}"


@pytest.mark.parametrize("body, says", [
    (lambda x: x if df.reduce_sum(x) > 0 else -x,
     r"bool\(\) needs the value of greater:0 \(bool \(\), made at " + here("<lambda>")
     + r"\), a traced tensor, which has none while f is traced; use dualflow.where"),
    (lambda x: [e for e in df.boolean_mask(x, x > 0.)],
     r"iteration needs the value of gather_nd:0 \(float32 \(None,\), made at "),
    (lambda x: range(df.argmax(x)), r"in range\(\) needs .* use dualflow.gather\(x, i\), dualflow"),
    (lambda x: int(df.argmax(x)), r"int\(\) needs the value of argmax:0 .* or a Python number"),
    (lambda x: x.numpy(), r"\.numpy\(\) needs .* dualflow\.print\(x\), or return it"),
    (lambda x: memoryview(x), r"the buffer protocol"),
], ids=["if", "for", "range", "int", "numpy", "memory"])
def test_values_of_traced_tensors_are_unavailable(body, says):
    with pytest.raises(TracedValueError, match=says):
        trace(body, X)


@pytest.mark.parametrize("ask, says", [
    (bool, r"bool\(\)"), (int, r"int\(\)"), (float, r"float\(\)"),
    (lambda v: v.item(), r"\.item\(\)"), (lambda v: v.numpy(), r"\.numpy\(\)"),
    (lambda v: 1. in v, "`in`"),
])
def test_values_of_variables_are_unavailable_while_tracing(ask, says):
    v = df.Variable(1., name="rate")
    with pytest.raises(TracedValueError, match=rf"{says} needs the value of rate:0 .*a variable's "
                       "value, made at " + here("<lambda>")):
        trace(lambda: ask(v))


def test_tensor_of_another_trace_raises():
    kept = {}
    f = df.function(lambda x: kept.update(y=x * 2.), name="f")
    with pytest.warns(RetracingWarning, match="f changed kept") as caught:
        f(X)
    assert caught[0].filename == __file__
    for g in (f, df.function(lambda x: x, name="g")):
        with pytest.raises(TracedValueError, match=r"a call of a function: multiply:0 .* is a "
                           "traced tensor of f, made at " + here(".*lists, tuples, dicts")):
            g(kept["y"])


def test_wrong_arguments_raise_type_error():
    f = df.function(lambda x, y: x, name="f")
    with pytest.raises(TypeError, match=r"f: missing a required argument: 'y'; .* \(x, y\)"):
        f(X)
    with pytest.raises(TypeError, match="f: got an unexpected keyword argument 'axis'"):
        f(X, X, axis=1)


@pytest.mark.parametrize("signature, says", [
    (df.TensorSpec([None]), "input_signature is a TensorSpec, expected a list"),
    ([df.float32], r"input_signature\[0\] is dualflow\.float32, expected a TensorSpec"),
    ([{"x": (None, 3)}], r"input_signature\[0\]\['x'\]\[0\] is None, expected a TensorSpec"),
])
def test_invalid_input_signatures_raise(signature, says):
    with pytest.raises(InvalidArgumentError, match=says):
        df.function(lambda x: x, input_signature=signature)(X)


def test_tensors_of_an_explicit_graph():
    g = df.Graph("g")
    with g.as_default():
        x = g.placeholder([2], name="p")
        y = x * 2.
        with pytest.raises(TracedValueError, match=r"as a Python `bool` .* placeholder p made at "):
            bool(x)
    with pytest.raises(TracedValueError, match=r"tensor of g, made at .* a session's run\(\)"):
        y.numpy()


def test_warnings_point_at_the_caller():
    @df.function
    def f(x):
        with df.GradientTape() as tape:
            tape.watch(x)
        return x

    with pytest.warns(df.errors.GradientWarning) as caught:
        f(df.constant(1))
    assert [w.filename for w in caught] == [__file__]


def test_new_optimizer_slots_on_a_later_call_raise():
    optimizer, variables = df.optimizers.Adam(), [df.Variable(1.), df.Variable(1.)]
    f = df.function(lambda g, k: optimizer.apply_gradients([(g, variables[k])]))
    f(df.constant(1.), 0)
    with pytest.raises(InvalidArgumentError, match=r"an optimizer makes its own .* by build\("):
        f(df.constant(1.), 1)


def test_generators_and_coroutines():
    def rows(x):
        yield x

    async def later(x):
        return x

    for body in (rows, later):
        with pytest.raises(InvalidArgumentError, match=f"{body.__name__} is a generator or"):
            df.function(body)


def test_endless_recursion_of_functions_raises():
    @df.function
    def f(x, n):
        return f(x, n + 1)

    with pytest.raises(InvalidArgumentError, match=r"f calls itself while it is traced, \d+ deep"):
        f(X, 0)


def test_endless_python_recursion_raises():
    def deeper(x):
        return deeper(x)

    with pytest.raises(RecursionError):
        trace(deeper, X)


def test_item_assignment_raises():
    def set_item(x):
        x[0] = 1.

    for act in (lambda: set_item(X), lambda: trace(set_item, X)):
        with pytest.raises(TypeError, match="a tensor never changes"):
            act()
    with pytest.raises(TypeError, match=r"v\[\.\.\.\]\.assign\(value\)"):
        set_item(df.Variable(X))


def test_numpy_of_a_traced_tensor_is_an_attribute_error():
    """As in TensorFlow, where the attribute does not exist; other uses remain TypeErrors."""
    kept = []

    @df.function
    def leaks(x):
        kept.append(x + 1)
        with pytest.raises(AttributeError, match=r"\.numpy\(\) needs the value"):
            x.numpy()
        with pytest.raises(TypeError) as info:
            x.item()
        assert not isinstance(info.value, AttributeError)
        return x

    leaks(df.constant(1))
    with pytest.raises(AttributeError, match="has no value outside") as info:
        kept[0].numpy()
    assert isinstance(info.value, df.errors.TracedValueError)
    assert hasattr(kept[0], "numpy")
