"""Calls of one trace: parameters that are part of it, tensors of any rank, refused arguments."""

import pytest

import dualflow as df
from dualflow import errors

FLOAT = df.TensorSpec(None, df.float32)


class Model:
    def __init__(self):
        self.weight, self.bias = df.constant(2.), df.Variable(3.)


def test_parameters_that_are_part_of_the_trace_may_be_left_out():
    @df.function
    def f(model, x, n=1, *, mode="up", y=None):
        return model.weight * x ** n + model.bias + (0. if y is None else y)

    model, x = Model(), df.constant(4.)
    square = f.get_concrete_function(model, x, 2)
    for args, kwargs in (((x,), {}), ((model, x), {"n": 2}), ((model, x, 2), {}), ((), {"x": x}),
                         ((x,), {"mode": "up"})):
        assert square(*args, **kwargs).item() == 35.
    more = f.get_concrete_function(model, x, 2, mode="down", y=x)
    assert more(x, y=df.constant(1.)).item() == more(x, df.constant(1.)).item() == 36.
    for args, kwargs in (((x,), {"n": 3}), ((Model(), x), {}), ((x, x), {}), ((), {}),
                         ((df.constant([4.]),), {}), ((x,), {"mode": "down"}), ((x,), {"k": 1})):
        with pytest.raises(TypeError, match="f: "):
            square(*args, **kwargs)


def test_parameters_of_methods_and_structures():
    class Net(df.Module):
        @df.function
        def f(self, scales, x):
            return x * scales["by"][0]

    net, x = Net(), df.constant(3.)
    assert net.f.get_concrete_function({"by": [2]}, x)(x).item() == 6.
    add = df.function(lambda *xs: sum(xs)).get_concrete_function(x, 2)
    assert add(x, 2).item() == 5.
    with pytest.raises(errors.SignatureError, match="this trace is for"):
        add(x)


def test_calls_in_a_trace_are_recorded():
    v = df.Variable(0.)

    @df.function
    def add(x, n):
        v.assign_add(x)
        return x * n

    trace = add.get_concrete_function(df.constant(1.), 3)
    outer = df.function(lambda x: trace(x) + trace(df.constant(2.)))
    assert outer(df.constant(1.)).item() == outer(df.constant(1.)).item() == 9.
    assert v.item() == 6.
    x = df.constant(1.)
    with df.GradientTape() as tape:
        tape.watch(x)
        y = outer(x)
    assert tape.gradient(y, x).item() == 3.


def test_unknown_rank():
    @df.function
    def power(a, b):
        return df.reduce_sum(a ** b)

    square = power.get_concrete_function(a=FLOAT, b=2)
    assert "power" in repr(square) and square.graph.nodes
    for shape in ((), (3,), (2, 3), (1, 2, 1, 2, 1, 1)):
        assert square(df.fill(shape, 2.)).item() == 4. * df.size(df.zeros(shape)).item()
        assert square(df.fill(shape, 2.), b=2).item() == square(a=df.fill(shape, 2.)).item()
    in_a_trace = df.function(lambda x: square(x) + square(x[0]))
    assert in_a_trace(df.fill([2, 2], 2.)).item() == 24.
    for args, kwargs in (((df.ones([2], df.int32),), {}), ((df.ones([2, 2]),), {"b": 3}),
                         ((df.ones([2]), 3), {})):
        with pytest.raises(TypeError, match="power: "):
            square(*args, **kwargs)


def test_unknown_rank_of_functions_that_admit_some_ranks():
    product = df.function(df.matmul, input_signature=[FLOAT, FLOAT]).get_concrete_function()
    assert product(df.ones([2, 3]), df.ones([3, 2])).shape == (2, 2)
    assert product(df.ones([4, 2, 3]), df.ones([4, 3, 2])).shape == (4, 2, 2)
    with pytest.raises(errors.ShapeError):
        df.function(lambda x: df.concat([x, df.ones([2, 3, 4, 5, 6, 7])], 0)
                    ).get_concrete_function(FLOAT)


def test_unknown_rank_is_saved_with_a_signature(tmp_path):
    class Scale(df.Module):
        def __init__(self):
            super().__init__()
            self.by = df.Variable(2.)

        @df.function(input_signature=[FLOAT])
        def __call__(self, x):
            return {"scaled": x * self.by}

    module = Scale()
    df.saved_model.save(module, tmp_path, signatures=module.__call__.get_concrete_function(FLOAT))
    loaded = df.saved_model.load(tmp_path)
    serve = loaded.signatures["serving_default"]
    assert serve.inputs[0].ndim is serve.outputs[0].ndim is None
    for shape in ((), (3,), (2, 3), (1, 2, 1, 2)):
        x = df.fill(shape, 3.)
        assert serve(x=x)["scaled"].tolist() == loaded(x)["scaled"].tolist() == (x * 2.).tolist()
    df.saved_model.save(loaded, tmp_path / "again", signatures=serve)
    again = df.saved_model.load(tmp_path / "again").signatures["serving_default"]
    assert again(x=df.constant([[1.]]))["scaled"].tolist() == [[2.]]


@pytest.mark.parametrize("bad", [df.ones([2, 2], df.int32), df.ones([2]), [df.ones([2])]],
                         ids=["shape", "dtype", "structure"])
def test_arguments_unlike_the_input_signature_are_type_errors(bad):
    f = df.function(lambda x: x, input_signature=[df.TensorSpec([None], df.int32)])
    assert f(df.constant([1])).tolist() == [1]
    with pytest.raises(TypeError):
        f(bad)
