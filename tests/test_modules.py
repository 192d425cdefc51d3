"""Module: names, variables and modules inside."""

import copy
import pickle
from typing import NamedTuple

import pytest

import dualflow as df
from dualflow import errors


class Dense(df.Module):
    def __init__(self, n_in, n_out, name=None):
        super().__init__(name)
        self.w = df.Variable(df.ones([n_in, n_out]), name="w")
        self.b = df.Variable(df.zeros([n_out]), name="b")
        self.steps = df.Variable(0, trainable=False, name="steps")

    @df.function
    def __call__(self, x):
        self.steps.assign_add(1)
        return x @ self.w + self.b


class Pair(NamedTuple):
    first: object
    second: object


class Net(df.Module):
    def __init__(self):                         # needs no super().__init__()
        self.zeroth = df.Variable(0., name="zeroth")
        self.layers = [Dense(2, 3), {"b": (Dense(3, 3, "middle"),), "a": Dense(3, 1)}]
        self.alone = {"k": df.Variable(1., name="alone")}
        self.pair = Pair(df.Variable(2., name="pair"), 3)
        self.again = self.layers[0]
        self.parent = self
        self.text, self.number, self.nothing = "text", 3, None


def test_variables_of_attributes_in_order_then_of_modules():
    net = Net()
    layers = ["b", "steps", "w"] * 3
    assert [v.name for v in net.variables] == ["alone", "pair", "zeroth", *layers]
    assert [v.name for v in net.non_trainable_variables] == ["steps"] * 3
    assert len(net.trainable_variables) == 9 and len(set(map(id, net.variables))) == 12
    first, last, middle = net.again, net.layers[1]["a"], net.layers[1]["b"][0]
    assert net.submodules == (first, middle, last)
    assert net.variables[3] is first.b and isinstance(net.variables, tuple)
    assert df.Module().variables == df.Module().submodules == ()


def test_names():
    class HTTPServer2Layer(df.Module):
        pass

    assert HTTPServer2Layer().name == "http_server2_layer"
    assert Net().name == "net" and Dense(1, 1, "Layer_1").name == "Layer_1"
    for bad in ("a b", "1x", "", "a/b"):
        with pytest.raises(errors.InvalidArgumentError,
                           match=f"Dense: name is '{bad}', expected a Py"):
            Dense(1, 1, bad)


def test_name_scopes():
    class Outer(df.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner(name="inside")

        @df.Module.with_name_scope
        def __call__(self, x):
            return self.inner(x) + 1.

    class Inner(df.Module):
        @df.Module.with_name_scope
        def __call__(self, x):
            "Doubles."
            return x + x

    outer = Outer()
    nodes = df.function(outer).get_concrete_function(df.constant(1.)).graph.nodes
    assert {"outer/inside/add", "outer/add"} <= {node.name for node in nodes}
    assert outer(df.constant(1.)).item() == 3. and Inner.__call__.__doc__ == "Doubles."
    with outer.name_scope as scope:
        assert scope == "outer/"


def test_variables_created_after_init():
    class Lazy(df.Module):
        def __init__(self):
            super().__init__()
            self.w = None

        @df.function
        def __call__(self, x):
            if self.w is None:
                self.w = df.Variable(df.ones([x.shape[-1]]))
            return x * self.w

    lazy = Lazy()
    assert lazy.variables == ()
    lazy(df.ones([2, 3]))
    assert [v.shape for v in lazy.variables] == [(3,)]


def test_training_and_gradients():
    net = Dense(2, 1)
    with df.GradientTape() as tape:
        y = df.reduce_sum(net(df.ones([4, 2])))
    gradients = tape.gradient(y, net.trainable_variables)
    assert [g.tolist() for g in gradients] == [[4.], [[4.], [4.]]] and net.steps.item() == 1


def test_copies_have_separate_variables():
    net = Dense(2, 1)
    net(df.ones([1, 2]))
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        other.w.assign_add(df.ones([2, 1]))
        assert other(df.ones([1, 2])).item() == 4. and net(df.ones([1, 2])).item() == 2.


def test_variables_of_other_objects():
    class Holder:
        def __init__(self):
            self.held = df.Variable(1.)

        def __df_tensor__(self):
            return self.held

    net = df.Module()
    net.x = Holder()
    assert net.variables == (net.x.held,)
