"""Changes between calls of a traced function other than its arguments: each call does what Python
would do now."""

import collections
import functools
import gc
import time
import warnings
import weakref

import numpy as np
import pytest

import dualflow as df
from dualflow.graph.calls.unrepeated import is_count

X = df.constant([0.5, -1.0, 2.0])
PROGRAMS = {}


def program(make):
    """Register `make`; it returns a function of a tensor, and functions that change its state."""
    PROGRAMS[make.__name__] = make
    return make


class Net:
    scale = 2.0

    def __init__(self, k=3.0, training=True, act=df.tanh):
        self.k, self.training, self.act = k, training, act
        self.inner = None

    def call(self, x):
        y = self.act(x * self.k)
        return y * 0.5 if self.training else y

    @staticmethod
    def shift(x):
        return x + 1.0

    @classmethod
    def scaled(cls, x):
        return x * cls.scale


def put(owner, name, value):
    return lambda: setattr(owner, name, value)


@program
def attributes():
    net = Net()
    return net.call, [put(net, "training", False), put(net, "k", 5.0), put(net, "act", df.sin),
                      put(net, "training", True)]


@program
def attributes_of_attributes():
    outer = Net()
    outer.inner = Net()
    return (lambda x: outer.inner.call(x) + outer.inner.k), [
        put(outer.inner, "training", False), put(outer.inner, "k", 4.0),
        put(outer, "inner", Net(7.0)), lambda: setattr(outer.inner, "training", False)]


@program
def class_attributes():
    class Own(Net):
        pass

    net = Own()
    return (lambda x: x * net.scale + Own.scaled(x)), [
        put(Own, "scale", 7.0), put(net, "scale", 3.0), lambda: delattr(net, "scale"),
        put(Own, "shift", 1.0)]


G, HELPER, CFG, LIST, T = 2.0, None, {}, [], None


def helper_of_global(x):
    return x * G


@program
def globals_():
    def f(x):
        return HELPER(x) + G

    def change(**names):
        return lambda: globals().update(names)

    globals().update(G=2.0, HELPER=helper_of_global)
    return f, [change(G=3.0), change(HELPER=lambda x: x - 1.0), change(HELPER=helper_of_global),
               change(G=-1)]


@program
def closures():
    k, g = 1.0, df.sin

    def set_k(value):
        nonlocal k
        k = value

    def set_g(value):
        nonlocal g
        g = value

    def f(x):
        return g(x) * k

    return f, [lambda: set_k(2.0), lambda: set_g(df.cos), lambda: set_k(True)]


@program
def containers():
    def f(x):
        y = x * CFG["k"]
        for v in LIST:
            y = y + v
        return y * len(CFG)

    CFG.clear()
    LIST.clear()
    CFG["k"] = 2.0
    return f, [lambda: CFG.update(k=9.0), lambda: LIST.append(3.0), lambda: LIST.append(4.0),
               lambda: LIST.__setitem__(0, -1.0), lambda: LIST.pop(), lambda: CFG.update(z=0)]


@program
def containers_in_attributes():
    net = Net()
    net.layers, net.options = [Net(1.0), Net(2.0)], {"a": {"b": 2.0}}

    def f(x):
        for layer in net.layers:
            x = layer.call(x)
        for name, option in net.options.items():
            x = x * option["b"] + len(name)
        return x

    return f, [put(net.layers[1], "k", 0.25), lambda: net.layers.append(Net(9.0)),
               put(net.layers[0], "training", False), lambda: net.options["a"].update(b=3.0),
               lambda: net.options.update(other={"b": 0.5}), lambda: net.layers.reverse()]


@program
def defaults():
    box = {"k": 1.0}

    def helper(x, options=box, *, more=[2.0]):      # noqa: B006
        return x * options["k"] + more[0]

    def f(x):
        return helper(x)

    return f, [lambda: box.update(k=3.0), lambda: helper.__kwdefaults__["more"].__setitem__(0, 5.0)]


@program
def tensors():
    state = {"t": df.constant(2.0)}
    net = Net()
    net.bias = df.constant(1.0)

    def f(x):
        return x * state["t"] + net.bias + T

    globals().update(T=df.constant(0.5))
    return f, [lambda: state.update(t=df.constant(6.0)), put(net, "bias", df.constant(-1.0)),
               lambda: globals().update(T=df.constant(8.0)), lambda: state.update(t=3.0)]


@program
def methods_replaced():
    class Own(Net):
        pass

    net = Own()
    return (lambda x: net.call(x)), [
        lambda: setattr(net, "call", lambda x: x * 10.0), lambda: delattr(net, "call"),
        lambda: setattr(Own, "call", lambda self, x: x + self.k), put(net, "k", 1.5)]


@program
def comprehensions():
    nets = [Net(1.0), Net(2.0)]

    def f(x):
        return df.add_n([net.k * x for net in nets if net.training])

    return f, [put(nets[0], "k", 4.0), put(nets[1], "training", False), lambda: nets.append(Net())]


@program
def loops_over_captured_lists():
    nets, table = [Net(1.0), Net(2.0)], {"a": Net(3.0)}

    def f(x):
        y = x * table["a"].k
        for net in nets:
            y = y + net.k * x if net.training else y
        return y

    return f, [put(nets[0], "k", 4.0), put(nets[1], "training", False), put(table["a"], "k", 7.0),
               lambda: nets.append(Net())]


@program
def lists_of_each_call():
    """A list that each call makes anew is not state; objects in it may be."""
    def f(x):
        found = [x, x * 2.]

        def total():
            return found[0] + found[1] * len(found)
        return total()

    return f, []


@program
def several_names_in_one_expression():
    """Python 3.13 combines loads and stores of two local variables in one instruction."""
    a, b = Net(1.0), Net(2.0)

    def f(x, y=3.0):
        p, q = a, b
        r = p
        return [q.k * x * r.k + (p.act(x) if q.training else x) * y for _ in range(2)][1]

    return f, [put(a, "k", 4.0), put(b, "training", False), put(b, "k", 0.5)]


@program
def names_of_attributes():
    net = Net()
    return (lambda x: x * getattr(net, "k") + hasattr(net, "extra")), [     # noqa: B009
        put(net, "k", 1.0), put(net, "extra", 1)]


@program
def slots():
    class Slots:
        __slots__ = ("__weakref__", "k")

    class Bare:
        __slots__ = ("k",)

    a, b = Slots(), Bare()
    a.k, b.k = 1.0, 2.0
    return (lambda x: x * a.k + b.k), [put(a, "k", 3.0), put(b, "k", 5.0)]


@program
def partials_and_decorators():
    def doubled(f):
        @functools.wraps(f)
        def g(x):
            return f(x) * factor
        return g

    factor, rate = 2.0, 1.0

    @doubled
    def inner(x, k=1.0):
        return x * k + rate

    call = functools.partial(inner)

    def f(x):
        return call(x)

    def change(name, value):
        def run():
            nonlocal factor, rate
            if name == "factor":
                factor = value
            else:
                rate = value
        return run

    return f, [change("factor", 5.0), change("rate", -2.0)]


@program
def nested_functions():
    net = Net()
    inner = df.function(lambda x: x * net.k)
    return (lambda x: inner(x) + 1.0), [put(net, "k", 8.0), put(net, "k", 3.0)]


@program
def read_while_mapping():
    net = Net()

    def step(x):
        return x * net.k

    return (lambda x: df.add_n(list(map(step, [x, x * 2.0])))), [put(net, "k", 8.0)]


@program
def branches_of_tensors():
    net = Net()

    def f(x):
        if df.reduce_sum(x) > 0.0:
            x = x * net.k
        for _ in df.range(2):
            x = x + net.scale
        return x

    return f, [put(net, "k", 5.0), put(net, "scale", -1.0)]


@program
def builtins_bound_anew():
    space = {"df": df}
    exec("def f(x):\n    return x * max(1., 3.)", space)
    return space["f"], [lambda: space.update(max=min), lambda: space.pop("max")]


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_call_matches_python(name):
    f, changes = PROGRAMS[name]()
    traced = df.function(f)
    for change in (lambda: None, *changes, lambda: None):
        change()
        np.testing.assert_array_equal(traced(X), f(X))
        np.testing.assert_array_equal(traced(X), f(X))


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_of_every_call(name):
    f, changes = PROGRAMS[name]()
    traced = df.function(f)
    for change in (lambda: None, *changes):
        change()
        np.testing.assert_array_equal(df.grad(lambda x: df.reduce_sum(traced(x)))(X),
                                      df.grad(lambda x: df.reduce_sum(f(x)))(X))


def test_method_that_reads_attributes():
    class Model:
        def __init__(self):
            self.training, self.k = True, 2.0

        @df.function
        def call(self, x):
            return x * self.k if self.training else x

    a, b = Model(), Model()
    b.k = 5.0
    for _ in range(2):
        np.testing.assert_array_equal(a.call(X), X * 2.0)
        np.testing.assert_array_equal(b.call(X), X * 5.0)
    a.training = False
    b.k = 3.0
    np.testing.assert_array_equal(a.call(X), X)
    np.testing.assert_array_equal(b.call(X), X * 3.0)


def test_earlier_traces_are_reused():
    net = Net()
    traced = df.function(net.call)
    for _ in range(4):
        for training in (True, False):
            net.training = training
            np.testing.assert_array_equal(traced(X), net.call(X))
    assert traced.trace_report().startswith("call: 2 traces\n")
    assert "net.training" in traced.trace_report() or "self.training" in traced.trace_report()
    assert "True -> False" in traced.trace_report()
    assert "test_changes.py:" in traced.trace_report()


def test_counter_attribute_does_not_retrace_forever():
    class Model:
        def __init__(self):
            self.steps = 0

        def call(self, x):
            self.steps += 1
            return x * 2.0

    model = Model()
    traced = df.function(model.call)
    with pytest.warns(df.errors.RetracingWarning, match=r"call changes self\.steps .*assign_add"):
        for _ in range(5):
            traced(X)
    assert traced.trace_report().startswith("call: 1 trace\n")


@pytest.mark.parametrize(("change", "counted"), [
    ("self.n (f.py:3): 3 -> 4", True), ("self.n: -1.5 -> 0.25", True), ("n: 1e-05 -> 2", False),
    ("n: None -> 1", False), ("n: 3 -> -4", True), ("self.names: 'a: 1' -> 'b'", False),
    ("n was deleted", False)])
def test_changes_of_numbers_are_counts(change, counted):
    assert is_count(change) == counted


def test_concrete_function_reports_changed_state():
    net = Net()
    traced = df.function(net.call)
    concrete = traced.get_concrete_function(X)
    np.testing.assert_array_equal(concrete(X), net.call(X))
    net.k = 9.0
    with pytest.raises(df.errors.InvalidArgumentError, match=r"self\.k .*: 3\.0 -> 9\.0"):
        concrete(X)


def test_python_random_numbers_and_clocks_warn_once():
    @df.function
    def f(x):
        return x + np.random.normal() * 0.0 + time.time() * 0.0

    with pytest.warns(df.errors.RetracingWarning, match=r"f calls np\.random\.normal .*test_chan"):
        f(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f(df.ones([2]))


def test_exports_report_fixed_values(tmp_path):
    net = Net()
    traced = df.function(net.call)
    concrete = traced.get_concrete_function(X)
    df.export(tmp_path / "model", {"call": concrete})
    text = " ".join("".join([p.read_text() for p in tmp_path.rglob("*.h")]).split())
    assert "as it was traced: self.training (test_changes.py:" in text
    net.training = False
    with pytest.raises(df.errors.InvalidArgumentError, match="True -> False after it was traced"):
        df.export(tmp_path / "again", {"call": concrete})


def test_trace_is_freed_with_its_object():
    class Model(Net):
        @df.function
        def traced(self, x):
            return self.call(x) + self.inner.k

    model = Model()
    model.inner = Net()
    model.traced(X)
    gone = weakref.ref(model), weakref.ref(model.inner)
    del model
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


def test_guards_do_not_keep_old_objects_alive():
    outer = Net()
    outer.inner = Net()
    traced = df.function(lambda x: x * outer.inner.k)
    traced(X)
    gone = weakref.ref(outer.inner)
    outer.inner = Net(4.0)
    np.testing.assert_array_equal(traced(X), X * 4.0)
    gc.collect()
    assert gone() is None


def test_named_tuples_in_containers():
    pair = collections.namedtuple("pair", "a b")
    box = {"k": pair(1.0, [2.0])}
    traced = df.function(lambda x: x * box["k"].a + box["k"].b[0])
    np.testing.assert_array_equal(traced(X), X + 2.0)
    box["k"] = pair(3.0, [1.0])
    np.testing.assert_array_equal(traced(X), X * 3.0 + 1.0)
    box["k"].b[0] = 5.0
    np.testing.assert_array_equal(traced(X), X * 3.0 + 5.0)


@pytest.mark.parametrize("key", [0.5, None, 1, True, "k"])
def test_keys_of_every_kind(key):
    box = {0.5: 1.0, None: 2.0, 1: 3.0, "k": 4.0}
    traced = df.function(lambda x: x * box[0.5] + box[None] - box[1] + box[True] * box["k"])
    for number in (5.0, 6.0):
        box[key] = number
        np.testing.assert_array_equal(traced(X), traced.python_function(X))
