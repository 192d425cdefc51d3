"""Python code while it is traced: permitted uses of values, variables, captured tensors and side
effects, and the errors for others."""

import inspect
import math
import pickle
import threading
import warnings

import numpy as np
import pytest

import dualflow as df
from dualflow.errors import InvalidArgumentError, RetracingWarning, TracedValueError
from dualflow.ops.random.random_generator import _Global


def number(x):
    return x.numpy().tolist()


# --- reading the value of a traced tensor -------------------------------------------------------

def line_of(word):
    """Return the number of the line of this file that ends with `# <word>`."""
    lines = inspect.getsource(inspect.getmodule(line_of)).splitlines()
    return next(k for k, text in enumerate(lines, 1) if text.endswith(f"# {word}"))


def branch(x):
    if df.reduce_sum(x) > 0.:                                                          # line if
        return x
    return -x


def loop_while(x):
    while df.reduce_sum(x) > 0.:                                                       # line while
        x = x - 1.
    return x


@pytest.mark.filterwarnings("ignore::dualflow.errors.RetracingWarning")      # about `seen`
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("ask", [
    bool, int, float, repr, str, "{:.2f}".format, df.Tensor.item, df.Tensor.tolist,
    lambda x: 2. in x, lambda x: 1.5 in x],
    ids=["bool", "int", "float", "repr", "str", "format", "item", "tolist", "not in", "in"])
def test_values_of_captured_tensors_are_available(ask, dtype):
    """The value of an eager tensor can be read in every way while tracing."""
    x = df.constant(1.5, dtype)
    want = ask(x)
    seen = []
    df.function(lambda y: (seen.append(ask(x)), y)[1])(df.ones([2]))
    assert repr(seen) == repr([want])


@pytest.mark.filterwarnings("ignore::dualflow.errors.RetracingWarning")      # about `seen`
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_lists_and_text_of_captured_tensors(dtype):
    flat = df.constant([1., 2.], dtype)
    deep = df.reshape(flat, [2] + [1] * 70)
    seen = []

    @df.function
    def f(y):
        seen.extend([flat.tolist(), repr(flat), 2. in flat, 3. in flat, deep.tolist()])
        return y

    f(df.ones([2]))
    assert seen == [[1., 2.], repr(flat), True, False, deep.tolist()]


def test_membership_of_a_traced_tensor_raises():
    x = df.constant([1., 2.])
    with pytest.raises(TracedValueError, match="made at"):
        df.function(lambda y: y in x)(df.constant(1.))


@pytest.mark.parametrize("f, word, says", [
    (branch, "line if", r"bool\(\).*(where|cond)"),
    (loop_while, "line while", r"bool\(\).*(where|while_loop)"),
])
def test_python_control_flow_on_a_traced_value_raises(f, word, says):
    with pytest.raises(TracedValueError, match=says) as info:
        df.function(f, autograph=False)(df.ones([3]))
    line = line_of(word)
    assert line in [entry.lineno + 1 for entry in info.traceback]
    assert f"{__file__}:{line}" in str(info.value)         # the line that created the tensor
    assert f.__name__ in str(info.value)


@pytest.mark.parametrize("ask, says", [
    (bool, r"bool\(\)"), (int, r"int\(\)"), (float, r"float\(\)"), (complex, r"complex\(\)"),
    (math.floor, "float"), (range, "index"), (lambda x: [1, 2][x], "index"),
    (lambda x: x.numpy(), r"\.numpy\(\)"), (lambda x: x.item(), r"\.item\(\)"),
    (lambda x: x.tolist(), "tolist"), (np.asarray, "NumPy"), (np.array, "NumPy"),
    (lambda x: np.allclose(np.ones(3), x), "NumPy"), (memoryview, "memory"),
    (lambda x: 1. in x, "in"), (lambda x: x and 1, "bool"), (lambda x: not x, "bool"),
    (lambda x: max(x, x + 1.), "bool"), (pickle.dumps, "pickling"), (df.from_dlpack, "DLPack"),
], ids=range(20))
def test_reading_the_value_of_a_traced_tensor_raises(ask, says):
    with pytest.raises(TracedValueError, match=says) as info:
        df.function(lambda x: ask(x), autograph=False)(df.constant(1.))
    assert "x:0 (float32 ()" in str(info.value) or "greater:0" in str(info.value)
    assert "; use " in str(info.value)
    assert (df.constant(1.) + 1.).item() == 2.


@pytest.mark.parametrize("ask, says", [
    (bool, r"bool\(\)"), (int, r"int\(\)"), (float, r"float\(\)"), (complex, r"complex\(\)"),
    (range, "index"), (lambda v: v.numpy(), r"\.numpy\(\)"),
    (lambda v: v.item(), r"\.item\(\)"), (lambda v: v.tolist(), "tolist"), (np.asarray, "NumPy"),
    (pickle.dumps, "pickling"), (df.from_dlpack, "DLPack"),
], ids=range(11))
def test_reading_the_value_of_a_variable_raises(ask, says):
    v = df.Variable(1.)
    with pytest.raises(TracedValueError, match=says):
        df.function(lambda: ask(v))()
    v.assign(2.)
    assert float(v) == complex(v) == v.item() == 2.


def test_len_and_shape_are_known():
    @df.function
    def f(x):
        assert len(x) == 3 and x.shape == (3, 2) and x.ndim == 2 and x.size == 6
        assert x.dtype is df.float32
        return x * float(len(x))

    assert number(f(df.ones([3, 2]))) == [[3., 3.]] * 3


def test_str_and_repr_of_symbols():
    seen = []

    @df.function
    def f(x):
        seen[0:] = [repr(x), f"{x}", f"{x:>3}"]
        return x

    with pytest.warns(RetracingWarning, match="seen"):
        f(df.ones([2]))
    assert all("x:0" in s and "(2,)" in s for s in seen)


def test_leaked_tensor_names_the_line_that_created_it():
    kept = {}

    @df.function
    def f(x):
        kept["y"] = x * 2.                                                             # line made
        return x

    with pytest.warns(RetracingWarning, match="kept"):
        f(df.constant(1.))
    y = kept["y"]
    where = f"{__file__}:{line_of('line made')}"
    for use in (lambda: y + 1., lambda: df.exp(y), y.numpy, lambda: bool(y), lambda: df.Variable(y),
                lambda: f(y), lambda: df.function(lambda: y)(), lambda: df.stack([y, y]),
                lambda: df.function(lambda x: x + y)(df.constant(1.))):
        with pytest.raises(TracedValueError) as info:
            use()
        assert where in str(info.value), str(info.value)
        assert "multiply:0" in str(info.value)


def test_tensor_of_a_freed_graph():
    def make():
        g = df.Graph("gone")
        with g.as_default():
            return g.placeholder([2], name="p") + 1.

    y = make()
    with pytest.raises(TracedValueError, match="gone"):
        df.function(lambda: y * 2.)()


# --- captured tensors ---------------------------------------------------------------------------

def test_captured_tensors_and_arrays_are_constants():
    c, a = df.constant([1., 2.]), np.array([3., 4.], "float32")
    f = df.function(lambda x: x + c + a)
    assert number(f(df.zeros([2]))) == [4., 6.]
    a[:] = 100.
    assert number(f(df.zeros([2]))) == [4., 6.]


def test_changed_captured_number_is_read_again():
    k = [2.]
    f = df.function(lambda x: x * k[0])
    assert number(f(df.constant(1.))) == 2.
    k[0] = 5.
    assert number(f(df.constant(1.))) == 5.


# --- variables ----------------------------------------------------------------------------------

def both(make, *calls):
    """Run `make() -> (function, variables)` eagerly and traced; results and values must agree."""
    seen = []
    for mode in (lambda f: f, df.function, lambda f: df.function(f, passes=False)):
        f, variables = make()
        f = mode(f)
        steps = []
        for args in calls:
            out = f(*args)
            out = out if isinstance(out, tuple) else (out,)
            steps.append([x.numpy().tobytes() for x in out if x is not None]
                         + [v.numpy().tobytes() for v in variables])
        seen.append(steps)
    assert seen[0] == seen[1] == seen[2]


X = df.constant([1., 2., 3.])
CALLS = [(X,), (X * 2.,), (X - 7.,)]


def variable_programs():
    def reads_by_reference(v, w, x):
        return v * x + w

    def writes(v, w, x):
        v.assign(x)
        w.assign_add(x)
        v.assign_sub(w)
        return v + w

    def reads_between(v, w, x):
        a = v * 2.
        v.assign_add(x)
        b = v * 2.
        v.assign(x * 3.)
        return a, b, v * 2.

    def keeps_an_old_value(v, w, x):
        old = v.value()
        v.assign_add(x)
        return old + v, old

    def swaps(v, w, x):
        a, b = v.value(), w.value()
        v.assign(b)
        w.assign(a)
        return a - b

    def assigns_the_other(v, w, x):
        v.assign(w)
        w.assign_add(x)
        return v.value(), w.value()

    def returns_what_it_wrote(v, w, x):
        y = v + x
        v.assign(y)
        return y, v.value(), v[1:], df.reshape(v, [3, 1])

    def writes_twice(v, w, x):
        v.assign(x + 1.)
        v.assign(x + 2.)
        return v.value()

    def one_value_for_both(v, w, x):
        y = df.exp(x * .1)
        v.assign(y)
        w.assign(y)
        v.assign_add(x)
        return y

    def shifts(v, w, x):
        v.assign(df.concat([v[1:], v[:1]], 0))
        w.assign(v[::-1] + w)
        return v * 1.

    def views(v, w, x):
        part = v[:2]
        v.assign_add(x)
        return part + v[:2], part

    def overlaps(v, w, x):
        v.assign_add(df.reshape(v, [3, 1])[:, 0])
        w.assign_sub(df.broadcast_to(w[2], [3]))
        v.assign(df.reshape(v, [3]) * v[1])
        return v + w

    def assigns_itself(v, w, x):
        v.assign(v)
        w.assign(df.reshape(df.reshape(w, [3, 1]), [3]))
        return v + w

    def writes_without_result(v, w, x):
        v.assign_add(x)

    return [f for f in list(locals().values()) if inspect.isfunction(f)]


@pytest.mark.parametrize("f", variable_programs(), ids=lambda f: f.__name__)
def test_variables_match_eager_mode(f):
    def make():
        v, w = df.Variable([10., 20., 30.]), df.Variable([-1., 0., 1.])
        return lambda x: f(v, w, x), (v, w)

    both(make, *CALLS)


def test_assignment_to_slices_of_variables():
    def make():
        v = df.Variable(df.zeros([4, 3]))

        def f(x):
            df.scatter_nd_update(v, [[1], [3]], df.stack([x, x * 2.]))
            y = df.reduce_sum(v)
            df.scatter_nd_update(v, [[0]], df.stack([x]))
            return y, v + 1.

        return f, (v,)

    if not hasattr(df, "scatter_nd_update"):
        pytest.skip("no op writes a slice")
    both(make, *CALLS)


def test_values_read_before_an_assignment_are_unchanged():
    v = df.Variable([1., 2.])

    @df.function
    def f():
        v.assign_add([1., 1.])

    before, array = v.value(), v.numpy()
    f()
    after = v.value()
    f()
    assert number(before) == array.tolist() == [1., 2.]
    assert number(after) == [2., 3.] and number(v) == [3., 4.]


def test_assignments_outside_are_visible():
    v = df.Variable([1., 2.])
    f = df.function(lambda: v * 2.)
    f()
    kept = df.constant([5., 6.])
    v.assign(kept)
    assert number(f()) == [10., 12.]
    g = df.function(lambda: v.assign_add([1., 1.]) and None, autograph=False)
    with pytest.raises(TracedValueError):
        g()
    df.function(lambda: [v.assign_add([1., 1.]), None][1])()
    assert number(kept) == [5., 6.] and number(v) == [6., 7.]


def test_variable_created_on_the_first_call():
    class Layer:
        w = None

        @df.function
        def __call__(self, x):
            if self.w is None:
                self.w = df.Variable(df.ones([3]) * 2., name="w")
            self.w.assign_add([1., 1., 1.])
            return x * self.w

    layer = Layer()
    assert number(layer(X)) == [3., 6., 9.]
    assert number(layer(X)) == [4., 8., 12.]
    assert number(layer(df.constant([[1., 1., 1.]]))) == [[5., 5., 5.]]
    assert layer.w.name == "w" and number(layer.w) == [5., 5., 5.]


@pytest.mark.parametrize("initial", [
    lambda: 3., lambda: [1., 2.], lambda: df.random.normal([2], seed=1),
    lambda: (lambda: df.ones([2])), lambda: df.Variable([4., 4.]),
    lambda: df.cast(df.range(3), df.float32) * 2., lambda: np.ones(2, "float32"),
], ids=range(7))
def test_initial_values_of_variables_created_in_a_function(initial):
    made = []

    @df.function
    def f(x):
        if not made:
            made.append(df.Variable(initial()))
        return made[0] + x

    value = initial()
    want = df.Variable(value() if callable(value) else value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(f(df.constant(1.)).numpy(), (want + 1.).numpy())
    np.testing.assert_array_equal(f(df.constant(2.)).numpy(), (want + 2.).numpy())


def test_initial_value_that_depends_on_an_argument_raises():
    with pytest.raises(InvalidArgumentError, match="depends on x:0, an argument"):
        df.function(lambda x: df.Variable(x * 2.) + 1.)(X)


def test_variable_created_on_every_call_raises():
    f = df.function(lambda x: df.Variable([1., 1., 1.]) + x, name="maker")
    for _ in range(2):
        with pytest.raises(InvalidArgumentError, match="maker makes a Variable"):
            f(X)


def test_variable_created_on_a_later_call():
    v = []

    @df.function
    def f(x, make):
        if make:
            v.append(df.Variable(1.))
        return x + 1.

    f(X, False)
    with pytest.raises(InvalidArgumentError, match="f makes a Variable"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f(X, True)
        f(X, "again")
    assert number(f(X, False)) == [2., 3., 4.]


def test_assignment_of_another_dtype_raises():
    v = df.Variable([1, 2, 3])
    with pytest.raises(df.errors.DTypeError):
        df.function(lambda x: v.assign_add(x))(X)
    assert number(v) == [1, 2, 3]


# --- side effects -------------------------------------------------------------------------------

COUNTS: dict = {}


def test_mutating_an_outer_list_warns_once():
    history = []

    @df.function
    def f(x):
        history.append(x.shape)
        return x

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f(X), f(X), f(df.ones([2])), f(df.ones([4]))
    said = [w for w in caught if issubclass(w.category, RetracingWarning)]
    assert len(said) == 1 and "f changed history" in str(said[0].message)
    assert said[0].filename == __file__


def test_mutating_a_global_dict_warns():
    @df.function
    def f(x):
        COUNTS["n"] = 1
        return x

    with pytest.warns(RetracingWarning, match="COUNTS"):
        f(X)
    COUNTS.clear()


def test_mutating_local_lists_does_not_warn():
    @df.function
    def f(x):
        parts = []
        for k in range(3):
            parts.append(x * float(k))
        return df.add_n(parts)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert number(f(X)) == [3., 6., 9.]


# --- sizes computed from other sizes ------------------------------------------------------------

@pytest.mark.parametrize("f", [
    lambda x: df.cast(df.range(x.shape[0]), df.float32) * x[:, 0],
    lambda x: df.cast(df.range(df.shape(x)[0]), df.float32) * x[:, 0],
    lambda x: df.gather(x, df.range(x.shape[0] - 1, -1, -1)),
    lambda x: df.range(1, 2 * df.size(x), 3) + 1,
    lambda x: df.range(0., 1., .1) + df.range(10.),
    lambda x: df.range(5, 0) + df.range(0),
    lambda x: df.reshape(df.range(df.size(x)), df.shape(x)),
    lambda x: x + df.random.normal(df.shape(x), seed=1),
    lambda x: df.reshape(x, [-1]) * df.random.uniform([df.size(x)], seed=1),
    lambda x: df.reshape(x, [-1]) * df.random.uniform(x.shape[0] * 2, seed=1),
    lambda x: df.add_n(df.split(x, x.shape[1], axis=1)),
], ids=range(11))
def test_ranges_and_shapes(f):
    traced = df.function(f, input_signature=[df.TensorSpec([None, 2])])
    for n in (3, 1, 4, 0):
        x = df.reshape(df.range(2. * n), [n, 2])
        for fn in (traced, df.function(f)):
            got, want = fn(x), f(x)
            assert got.dtype is want.dtype
            np.testing.assert_array_equal(got.numpy(), want.numpy())


def test_range_of_traced_bounds():
    f = df.function(lambda a, b: df.range(a, b) * 2)
    for a, b in [(0, 3), (2, 7), (5, 1)]:
        assert number(f(df.constant(a), df.constant(b))) == [2 * k for k in range(a, b)]
    with pytest.raises(InvalidArgumentError, match=r"range.*step is 0"):
        df.function(lambda: df.range(0, 5, 0))()


# --- random numbers -----------------------------------------------------------------------------

def test_random_ops_match_eager_and_differ_between_runs():
    def draw(x):
        return (df.random.normal([3]) + x, df.random.uniform([2], 0, 9, df.int32),
                df.nn.dropout(df.ones([20]), 0.5), df.random.shuffle(df.range(10)),
                df.random.truncated_normal([2], seed=5))

    f = df.function(draw)
    df.random.set_seed(3)
    want = [[y.numpy().tobytes() for y in draw(X)] for _ in range(4)]
    df.random.set_seed(3)
    got = [[y.numpy().tobytes() for y in f(X)] for _ in range(4)]
    assert got == want
    assert len({g[0] for g in got}) == len({g[2] for g in got}) == 4


def test_global_generator_first_used_by_a_function(monkeypatch):
    monkeypatch.setattr(_Global, "generator", None)
    f = df.function(lambda: df.random.normal([4]))
    assert number(f()) != number(f())


def test_generators():
    outside = df.random.Generator(7)
    f = df.function(lambda: outside.normal([4]))
    got = [number(f()) for _ in range(3)]
    again = df.random.Generator(7)
    assert got == [number(again.normal([4])) for _ in range(3)]
    inside = df.function(lambda: df.random.Generator(7).normal([4]))
    assert number(inside()) == number(inside()) == got[0]


def test_random_numbers_of_unknown_size():
    f = df.function(lambda x: x + df.random.normal(df.shape(x)),
                    input_signature=[df.TensorSpec([None])])
    df.random.set_seed(1)
    got = [number(f(df.zeros([n]))) for n in (3, 5, 2)]
    df.random.set_seed(1)
    assert got == [number(df.random.normal([n])) for n in (3, 5, 2)]


# --- threads ------------------------------------------------------------------------------------

def test_two_threads_trace_two_functions_concurrently():
    barrier = threading.Barrier(2)
    found = {}

    def work(k):
        @df.function
        def f(x):
            barrier.wait(10)
            y = x * k
            barrier.wait(10)
            return y + 1.

        found[k] = number(f(df.constant(2.)))

    threads = [threading.Thread(target=work, args=(k,)) for k in (3., 4.)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == {3.: 7., 4.: 9.}


@pytest.mark.parametrize("rank", [64, 65, 254])
def test_constants_of_any_rank(rank):
    c = df.reshape(df.constant([[1., 2., 3.], [4., 5., 6.]]), [2, *[1] * (rank - 2), 3])
    same = df.reshape(df.constant([[1., 2., 3.], [4., 5., 6.]]), [2, *[1] * (rank - 2), 3])

    def f(x):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = df.reduce_sum(df.exp(x * c) + same, -1)
        return df.reshape(y, [-1]), tape.gradient(y, x), df.reshape(df.transpose(c), [-1])

    x = df.constant([.1, .2, .3])
    traced = df.function(f)
    assert [y.tolist() for y in traced(x)] == [y.tolist() for y in f(x)]
    assert str(traced.graph_for(x)).count("= constant") == 2        # c, and its transpose


def test_reentered_name_scope_keeps_its_name():
    graph = df.Graph()
    with graph.as_default():
        names = []
        for enter in (graph.names.scope, graph.names.again, graph.names.again, graph.names.scope):
            with enter("layer"), graph.names.again("inner"):
                names.append(df.add(1., 2.).name)
    assert names == ["layer/inner/add:0", "layer/inner/add_1:0", "layer/inner/add_2:0",
                     "layer_1/inner/add:0"]
