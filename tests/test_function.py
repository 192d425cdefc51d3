"""Calling a dualflow.function: arguments and results of all kinds, methods, threads."""

import collections
import dataclasses
import functools
import gc
import inspect
import threading
import weakref
from typing import NamedTuple

import numpy as np
import pytest

import dualflow as df
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError


def n_traces(fn):
    return fn.experimental_get_tracing_count()


def number(x):
    return x.numpy().tolist()


class Pair(NamedTuple):
    a: object
    b: object


@dataclasses.dataclass
class Box:
    x: object
    y: object = 2.


# --- creating functions -------------------------------------------------------------------------

def test_decorator_with_and_without_arguments():
    @df.function
    def plain(x):
        """Doc."""
        return x + 1.

    @df.function(name="other", passes=False)
    def with_arguments(x):
        return x + 1.

    assert (plain.__name__, plain.__doc__, with_arguments.name) == ("plain", "Doc.", "other")
    assert number(plain(df.constant(1.))) == number(with_arguments(df.constant(1.))) == 2.


def test_call_on_function_lambda_partial_and_callable_object():
    class Adder:
        def __init__(self, n):
            self.n = n

        def __call__(self, x):
            return x + self.n

    def sub(x, y):
        return x - y

    x = df.constant([5., 6.])
    assert number(df.function(sub)(x, 1.)) == [4., 5.]
    assert number(df.function(lambda x: x * 2.)(x)) == [10., 12.]
    assert number(df.function(Adder(3.))(x)) == [8., 9.]
    assert number(df.function(functools.partial(sub, y=2.))(x)) == [3., 4.]
    assert number(df.function(functools.partial(sub, x))(df.constant(1.))) == [4., 5.]
    assert number(df.function(df.tanh)(df.constant(0.))) == 0.


def test_not_callable():
    with pytest.raises(InvalidArgumentError, match="expected a callable"):
        df.function(3)


def test_python_runs_once():
    seen = []

    @df.function
    def f(x):
        seen.append(type(x).__name__)
        return x * 2.

    with pytest.warns(df.errors.RetracingWarning, match="seen"):
        f(df.constant(1.))
    for k in range(5):
        assert number(f(df.constant(float(k)))) == 2. * k
    assert seen == ["Symbol"]


# --- methods ------------------------------------------------------------------------------------

class Model:
    traced = 0

    def __init__(self, w):
        self.w = df.Variable(w)

    @df.function
    def __call__(self, x):
        Model.traced += 1
        return x * self.w

    @df.function(input_signature=[df.TensorSpec([None])])
    def signed(self, x):
        return x + self.w


def test_methods_trace_per_instance():
    Model.traced = 0
    one, two = Model(2.), Model(10.)
    x = df.constant([1., 2.])
    for _ in range(3):
        assert number(one(x)) == [2., 4.]
        assert number(two(x)) == [10., 20.]
    assert Model.traced == 2
    one.w.assign(5.)
    assert number(one(x)) == [5., 10.]
    assert number(two.signed([1., 2., 3.])) == [11., 12., 13.]
    assert "first call" in one.__call__.trace_report()


def test_instances_are_collectable():
    model = Model(2.)
    model(df.constant([1.]))
    model.signed([1.])
    gone = weakref.ref(model), weakref.ref(model.w)
    del model
    gc.collect()
    assert [g() for g in gone] == [None, None]


def test_static_and_class_methods():
    class A:
        @staticmethod
        @df.function
        def double(x):
            return x * 2.

        @classmethod
        @df.function
        def named(cls, x):
            assert cls is A
            return x * 3.

    assert number(A.double(df.constant(1.))) == 2.
    assert number(A.named(df.constant(1.))) == 3.


def test_bound_method_wrapped_by_call():
    class A:
        k = 4.

        def f(self, x):
            return x * self.k

    a = A()
    assert number(df.function(a.f)(df.constant(2.))) == 8.


# --- arguments ----------------------------------------------------------------------------------

def test_defaults_keywords_args_and_kwargs():
    @df.function
    def f(x, y=2., *more, scale=1., **named):
        total = x * y * scale
        for m in more:
            total = total + m
        for key in sorted(named):
            total = total + named[key]
        return total

    x = df.constant(3.)
    assert number(f(x)) == 6.
    assert number(f(x, 3.)) == 9.
    assert number(f(x=x, y=df.constant(4.))) == 12.
    assert number(f(x, 1., x, 1., scale=2.)) == 10.
    assert number(f(x, a=x, b=df.constant(1.))) == 10.
    assert number(f(x, scale=df.constant(2.))) == 12.


def test_positional_keyword_and_default_arguments_share_a_trace():
    @df.function
    def f(x, y=2.):
        return x * y

    x = df.constant(3.)
    f(x), f(x, 2.), f(x=x), f(y=2., x=x)
    assert n_traces(f) == 1


@pytest.mark.parametrize("args, kwargs", [((), {}), ((1., 2., 3.), {}), ((1.,), {"z": 2.}),
                                          ((1.,), {"x": 1.})])
def test_wrong_arguments_raise_type_error(args, kwargs):
    f = df.function(lambda x, y=1.: x)
    with pytest.raises(TypeError):
        f(*args, **kwargs)


def test_nested_structures_in_and_out():
    @df.function
    def f(tree):
        pair, items, box = tree["pair"], tree["items"], tree["box"]
        return {"sum": pair.a + pair.b, "list": [i * 2. for i in items],
                "pair": Pair(items[0], box.x), "box": Box(box.x + 1., box.y), "none": None,
                "empty": (), "word": "w"}

    c = df.constant
    out = f({"pair": Pair(c(1.), c(2.)), "items": [c(3.), (c(4.)), c(5.)], "box": Box(c(6.), 7)})
    assert number(out["sum"]) == 3.
    assert [number(x) for x in out["list"]] == [6., 8., 10.]
    assert type(out["pair"]) is Pair and number(out["pair"].b) == 6.
    assert type(out["box"]) is Box and number(out["box"].x) == 7. and out["box"].y == 7
    assert out["none"] is None and out["empty"] == () and out["word"] == "w"
    assert list(out) == ["sum", "list", "pair", "box", "none", "empty", "word"]


def test_ordered_and_default_dicts():
    @df.function
    def f(d):
        return type(d)((k, v + 1.) for k, v in d.items())

    out = f(collections.OrderedDict(b=df.constant(1.), a=df.constant(2.)))
    assert type(out) is collections.OrderedDict and list(out) == ["b", "a"]
    d = collections.defaultdict(list, a=df.constant(1.))
    assert number(df.function(lambda d: d["a"] + 1.)(d)) == 2.
    assert number(df.function(lambda d: d)(d)["a"]) == 1.


def test_container_length_and_type_select_the_trace():
    f = df.function(lambda xs: df.add_n(list(xs)))
    c = df.constant(1.)
    assert number(f([c, c])) == 2.
    assert number(f([c, c, c])) == 3.
    assert number(f((c, c))) == 2.
    assert n_traces(f) == 3


def test_none_and_static_results():
    assert df.function(lambda x: None)(df.constant(1.)) is None
    assert df.function(lambda x: 3)(df.constant(1.)) == 3
    assert df.function(lambda x: (x.shape, x.dtype))(df.ones([2, 3])) == ((2, 3), df.float32)


def test_result_set_of_tensors_raises():
    with pytest.raises(InvalidArgumentError, match="in a set"):
        df.function(lambda x: {x})(df.constant(1.))
    assert df.function(lambda x: {1, 2})(df.constant(1.)) == {1, 2}


def test_static_python_values():
    @df.function
    def f(x, mode, flag=False, op=df.add):
        if mode == "double":
            x = x * 2.
        if flag:
            x = -x
        return op(x, x)

    x = df.constant(1.)
    assert number(f(x, "double")) == 4.
    assert number(f(x, "other")) == 2.
    assert number(f(x, "other", True)) == -2.
    assert number(f(x, "other", False, df.multiply)) == 1.
    assert n_traces(f) == 4
    f(x, "double"), f(x, mode="other", flag=True)
    assert n_traces(f) == 4


def test_variables_in_results_are_their_values():
    v = df.Variable(1)
    inc = df.function(lambda v: v.assign_add(1))
    first, second = inc(v), inc(v)
    assert isinstance(first, df.Tensor) and (number(first), number(second)) == (2, 3)
    closed = df.function(lambda: {"a": [v.assign_add(1), 7], "b": v})
    first, second = closed(), closed()
    assert number(first["a"][0]) == number(first["b"]) == 4 and first["a"][1] == 7
    assert number(second["a"][0]) == 5 and number(v) == 5
    assert [number(x) for x in df.function(lambda: (inc(v), inc(v), v))()] == [6, 7, 7]
    w = df.Variable(3.)
    with df.GradientTape() as tape:
        y = df.function(lambda: [w, w * 2.])()
        z = y[0] * y[1]
    assert number(tape.gradient(z, w)) == 12.


def test_signatures():
    class Layer:
        @df.function
        def call(self, x, training=False):
            return x

    layer, f = Layer(), df.function(lambda a, b=3, *, c: a)
    assert str(inspect.signature(layer.call)) == "(x, training=False)"
    assert str(inspect.signature(Layer.call)) == "(self, x, training=False)"
    assert str(inspect.signature(f)) == "(a, b=3, *, c)"
    layer.call(df.ones([2]))
    text = layer.call.pretty_printed_concrete_signatures()
    assert "call(x: float32 (2,)" in text and "-> float32 (2,)" in text and "Args: x: " in text


def test_true_is_not_one():
    f = df.function(lambda x, k: x if k is True else x * 0.)
    assert number(f(df.constant(2.), True)) == 2.
    assert number(f(df.constant(2.), 1)) == 0.


def test_class_arguments_are_static():
    f = df.function(lambda x, k: x * (10. if k is float else k))
    x = df.constant(2.)
    for _ in range(2):
        assert number(f(x, float)) == 20.
        for k in (1., 2., 3., 4.):
            assert number(f(x, k)) == 2. * k
        assert number(f(x, float)) == 20.


def test_list_contents_are_read_on_each_call():
    f = df.function(lambda xs: xs[0] * 2.)
    xs = [df.constant(1.)]
    for k in range(4):
        xs[0] = df.constant(float(k))
        assert number(f(xs)) == 2. * k
    xs.append(df.constant(1.))
    assert number(f(xs)) == 6.


def test_unhashable_and_array_like_static_values():
    class Setting:
        __hash__ = None

        def __init__(self, k):
            self.k = k

        def __eq__(self, other):
            return self.k == other.k

    f = df.function(lambda x, s: x * float(s.k))
    s = Setting(2)
    assert number(f(df.constant(3.), s)) == 6.
    assert number(f(df.constant(3.), s)) == 6.
    assert n_traces(f) == 1
    assert number(f(df.constant(3.), Setting(4))) == 12.


def test_arrays_are_tensors():
    f = df.function(lambda a, b: a @ b)
    a = np.arange(6, dtype="float32").reshape(2, 3)
    for k in range(3):
        np.testing.assert_array_equal(f(a + k, a.T).numpy(), (a + k) @ a.T)
    assert n_traces(f) == 1
    assert number(f(np.ones((1, 1)), df.ones([1, 1], df.float64))) == [[1.]]


def test_numpy_scalars_are_numbers():
    f = df.function(lambda a: (a * 2, a * df.constant([1, 2])))
    for k in range(5):
        for a in (np.float32(k), np.int64(k)):
            alone, y = f(a)
            assert type(alone) is type(a) and alone == 2 * k
            assert y.dtype is (a * df.constant([1, 2])).dtype and number(y) == [k, 2 * k]
    assert n_traces(f) == 4


def test_variables_as_arguments():
    @df.function
    def f(v, by):
        v.assign_add(by)
        return v * 2.

    v, w = df.Variable(1.), df.Variable(10.)
    assert number(f(v, 1.)) == 4.
    assert number(f(v, 1.)) == 6.
    assert number(f(w, 1.)) == 22.
    assert number(v) == 3. and number(w) == 11.


def test_arguments_of_high_rank_get_separate_traces():
    f = df.function(lambda x: x * 2.)
    for shape in ([1] * 10 + [6], [1] * 10 + [2, 3], [1] * 9 + [3, 2], [1] * 10 + [6], [6]):
        for _ in range(3):
            assert f(df.ones(shape)).shape == tuple(shape)


def test_no_arguments():
    v = df.Variable(1.)
    f = df.function(lambda: v * 2.)
    assert number(f()) == 2.
    v.assign(4.)
    assert number(f()) == 8.


# --- input_signature ----------------------------------------------------------------------------

def test_input_signature_traces_once():
    traced = []

    @df.function(input_signature=[df.TensorSpec([None, 2]), df.TensorSpec([], df.int32)])
    def f(x, k):
        traced.append(x.shape)
        return df.reduce_sum(x, axis=0) * df.cast(k, df.float32)

    with pytest.warns(df.errors.RetracingWarning):
        for n in (3, 1, 5, 0, 3):
            assert number(f(df.ones([n, 2]), df.constant(2, df.int32))) == [2. * n] * 2
    assert n_traces(f) == 1 and len(traced) == 2        # Python read a size: traced again
    assert number(f([[1., 2.], [3, 4]], 10)) == [40., 60.]
    assert number(f(np.ones((4, 2), "float32"), 1)) == [4., 4.]
    assert number(f(k=1, x=[[1., 2.]])) == [1., 2.]


def test_nested_input_signature():
    spec = {"a": df.TensorSpec([None]), "b": (df.TensorSpec([2], df.int32), df.TensorSpec([]))}
    f = df.function(lambda t: df.reduce_sum(t["a"]) * t["b"][1], input_signature=[spec])
    i = df.constant([1, 2], df.int32)
    assert number(f({"a": df.ones([7]), "b": (i, df.constant(2.))})) == 14.
    with pytest.raises(ShapeError, match=r"t\['b'\]\[0\]"):
        f({"a": df.ones([7]), "b": (df.constant([1], df.int32), df.constant(2.))})
    with pytest.raises(DTypeError, match=r"t\['b'\]\[0\].*float32.*int32"):
        f({"a": df.ones([7]), "b": (df.ones([2]), df.constant(2.))})
    with pytest.raises(ShapeError, match=r"t\['a'\].*t\['b'\]\[1\]"):
        f({"a": df.ones([7]), "b": (i,)})


@pytest.mark.parametrize("x, error, says", [
    (df.ones([2, 3]), ShapeError, r"argument x is float32 \(2, 3\), expected float32 \(None, 2\)"),
    (df.ones([2]), ShapeError, r"argument x is float32 \(2,\)"),
    (df.ones([2, 2], df.float64), DTypeError, r"argument x is float64 \(2, 2\)"),
    (np.ones((2, 2), "int32"), DTypeError, "argument x is int32"),
    ([[1., 2.], [3.]], ShapeError, "x"),
    ("word", (TypeError, ValueError), "x"),
    (None, (TypeError, ValueError), "x"),
])
def test_input_signature_mismatch_raises_before_anything_runs(x, error, says):
    v, ran = df.Variable(0.), []

    def f(x):
        ran.append(1)
        v.assign_add(1.)
        return x

    with pytest.raises(error, match=says):
        df.function(f, input_signature=[df.TensorSpec([None, 2])])(x)
    assert not ran and number(v) == 0.


def test_input_signature_with_too_many_specs_raises():
    with pytest.raises(ShapeError, match="input_signature"):
        df.function(lambda x: x, input_signature=[df.TensorSpec([]), df.TensorSpec([])])(1.)


# --- nested functions ---------------------------------------------------------------------------

def test_functions_are_inlined():
    @df.function
    def inner(x, n):
        return x * float(n)

    @df.function
    def outer(x):
        return inner(x, 2) + inner(x, 3)

    assert number(outer(df.constant(1.))) == 5.
    assert n_traces(inner) == 0
    assert "multiply" in str(outer.graph_for(df.constant(1.))) or \
        "cluster" in str(outer.graph_for(df.constant(1.)))
    assert number(inner(df.constant(1.), 4)) == 4.


def test_endless_recursion_raises():
    @df.function
    def f(x):
        return f(x) + 1.

    with pytest.raises(InvalidArgumentError, match="calls itself while it is traced"):
        f(df.constant(1.))

    @df.function
    def a(x):
        return b(x)

    @df.function
    def b(x):
        return a(x)

    with pytest.raises(InvalidArgumentError, match="calls itself"):
        a(df.constant(1.))


def test_recursion_that_ends():
    @df.function
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    assert number(power(df.constant(2.), 5)) == 32.
    assert number(power(df.constant(2.), 3)) == 8.


def test_functions_as_arguments():
    square = df.function(lambda x: x * x)
    apply = df.function(lambda f, x: f(x) + 1.)
    assert number(apply(square, df.constant(3.))) == 10.


# --- results ------------------------------------------------------------------------------------

def test_results_never_share_memory_with_later_calls():
    v = df.Variable(df.zeros([4]))

    @df.function
    def f(x):
        v.assign_add(x)
        y = x * 2.
        return y, v.value(), y[1:3], df.reshape(y, [2, 2]), y

    kept = [f(df.fill([4], float(k))) for k in range(50)]
    total = 0.
    for k, (y, now, part, square, again) in enumerate(kept):
        total += k
        assert number(y) == number(again) == [2. * k] * 4
        assert number(now) == [total] * 4
        assert number(part) == [2. * k] * 2 and number(square) == [[2. * k] * 2] * 2


def test_arguments_constants_and_variables_returned():
    c, v = df.constant([7., 8.]), df.Variable([1., 2.])
    f = df.function(lambda x: (x, c, v, x, c, df.zeros([2])))
    x = df.constant([1., 1.])
    first = f(x)
    v.assign([5., 5.])
    second = f(x)
    assert first[0] is first[3] is x
    assert number(first[1]) == number(first[4]) == [7., 8.]
    assert number(first[2]) == [1., 2.] if isinstance(first[2], df.Tensor) else first[2] is v
    assert number(second[2]) == [5., 5.]
    assert number(second[5]) == [0., 0.]


def test_results_hold_the_current_python_numbers():
    f = df.function(lambda x, k: (x * k, k, k + 1.))
    x = df.constant(1.)
    for k in (1., 2., 3., 4.):
        out = f(x, k)
        assert [float(o) for o in out] == [k, k, k + 1.]


def test_empty_tensors():
    f = df.function(lambda x: (x + 1., df.reduce_sum(x), df.concat([x, x], 0)))
    y, total, both = f(df.zeros([0, 3]))
    assert y.shape == (0, 3) and number(total) == 0. and both.shape == (0, 3)


def test_many_arguments_and_results():
    f = df.function(lambda xs: [x + float(k) for k, x in enumerate(xs)])
    xs = [df.constant(1.)] * 100
    for _ in range(2):
        assert [number(y) for y in f(xs)] == [1. + k for k in range(100)]


def test_every_dtype():
    for dtype in df.dtypes.ALL:
        x = df.cast(df.constant([0, 1, 1]), dtype)
        y, z = df.function(lambda x: (df.identity(x), df.concat([x, x], 0)))(x)
        assert y.dtype is z.dtype is dtype
        assert number(df.cast(z, df.int32)) == [0, 1, 1, 0, 1, 1]


# --- get_concrete_function ----------------------------------------------------------------------

def test_get_concrete_function():
    f = df.function(lambda x, k=2.: x * k)
    c = f.get_concrete_function(df.TensorSpec([None, 2]))
    assert number(c(df.ones([1, 2]), 2.)) == [[2., 2.]]
    assert number(c(np.ones((3, 2), "float32"), 2.)) == [[2., 2.]] * 3
    with pytest.raises(InvalidArgumentError, match=r"float32 \(3,\).*float32 \(None, 2\)"):
        c(df.ones([3]), 2.)
    with pytest.raises(InvalidArgumentError, match="float64"):
        c(df.ones([1, 2], df.float64), 2.)
    assert f.get_concrete_function(df.TensorSpec([None, 2])) is c
    assert number(f(df.ones([5, 2]))) == [[2., 2.]] * 5
    assert n_traces(f) == 1


def test_get_concrete_function_of_a_signature():
    f = df.function(lambda x: x + 1., input_signature=[df.TensorSpec([None])])
    c = f.get_concrete_function()
    assert number(c(df.ones([2]))) == [2., 2.]
    assert f.get_concrete_function() is c
    for n in (2, 3, 3):             # the trace for any size serves them
        assert number(f.get_concrete_function(df.ones([n]))(df.ones([n]))) == [2.] * n
    assert n_traces(f) == 1


def test_get_concrete_function_when_python_reads_the_size():
    f = df.function(lambda x: x + 1. if x.shape[0] > 3 else x * 2.)
    for n in (2, 3, 5, 2, 6, 6, 7):
        want = [2.] * n
        assert number(f.get_concrete_function(df.ones([n]))(df.ones([n]))) == want
    assert n_traces(f) <= 4


# --- threads ------------------------------------------------------------------------------------

def test_concurrent_first_calls_trace_once():
    ready, traced, found = threading.Barrier(8), [], []
    v = []

    @df.function
    def f(x):
        traced.append(1)
        if not v:
            v.append(df.Variable(2.))
        y = x * v[0]
        for _ in range(200):
            y = y + 1.
        return y

    def work():
        ready.wait()
        found.append(number(f(df.constant(1.))))

    threads = [threading.Thread(target=work) for _ in range(8)]
    with pytest.warns(df.errors.RetracingWarning):
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert found == [202.] * 8 and len(v) == 1
    assert n_traces(f) == 1 and len(traced) == 2    # traced again because variables were created


def test_tracing_does_not_affect_other_threads():
    inside, seen = threading.Event(), []
    go = threading.Event()

    def eager():
        inside.wait()
        seen.append((df.constant(1.) + 1.).item())
        go.set()

    thread = threading.Thread(target=eager)
    thread.start()

    @df.function
    def f(x):
        inside.set()
        go.wait(10)
        return x + 1.

    assert number(f(df.constant(1.))) == 2.
    thread.join()
    assert seen == [2.]


# --- running eagerly ----------------------------------------------------------------------------

def test_run_functions_eagerly():
    seen = []

    @df.function
    def f(x):
        seen.append(x.numpy().item())
        return x + 1.

    df.config.run_functions_eagerly(True)
    try:
        assert number(f(df.constant(1.))) == 2.
        assert number(f(df.constant(5.))) == 6.
    finally:
        df.config.run_functions_eagerly(False)
    assert seen == [1., 5.]


def test_function_can_be_called_after_tracing_raised():
    fail = [True]

    @df.function
    def f(x):
        if fail[0]:
            raise KeyError("mine")
        return x + 1.

    with pytest.raises(KeyError, match="mine"):
        f(df.constant(1.))
    fail[0] = False
    assert number(f(df.constant(1.))) == 2.
    assert (df.constant(1.) + 1.).item() == 2.
