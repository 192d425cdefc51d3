"""Generalized traces: one trace serves other numbers, sizes, variables and dicts; cases in which it
must not."""

import dataclasses
import gc
import threading
import warnings
import weakref

import numpy as np
import pytest

import dualflow as df


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def same(f, *calls):
    """Compare eager and traced results of all calls; return the traced function."""
    traced = df.function(f)
    for args in calls:
        want, got = f(*args), traced(*args)
        assert type(got) is type(want) and got.dtype is want.dtype
        np.testing.assert_array_equal(got.numpy(), want.numpy(), strict=True)
    return traced


x1 = df.constant([1., 2.])

# --- numbers: from program input to static value ------------------------------------------------

def scheduled(x, lr, training):
    y = x * 3.
    if training and lr > .5:
        y = y * 100.
    return y * lr


def test_number_decides_a_branch_in_another_mode():
    calls = [(x1, .1, False), (x1, .2, False), *[(x1, lr, True) for lr in (.3, .4, .6, .9)]]
    traced = same(scheduled, *calls, *calls[::-1], *calls)
    line = scheduled.__code__.co_firstlineno + 2
    assert f"lr: 0.4 became 0.6, by which Python decides at {__file__}:{line}" in (
        traced.trace_report())


@pytest.mark.parametrize("other", [
    df.ones([2, 2]), df.ones([2], df.float64), df.ones([5])], ids=["rank", "dtype", "batch"])
def test_number_decides_a_branch_for_other_tensor_types(other):
    def f(x, lr):
        if (x.ndim, x.dtype, x.shape) != (1, df.float32, (2,)) and lr > .5:
            return x * 100.
        return x * lr

    calls = [(x, lr) for x in (x1, other) for lr in (.1, .2, .3, .6, .9, .4)]
    same(f, *calls, *calls[::-1])


def test_number_decides_a_branch_after_tracing_raised():
    fail = [False]

    def f(x, lr, mode):
        if fail[0]:
            raise RuntimeError("while tracing")
        return x * 100. if mode and lr > .5 else x * lr

    traced = df.function(f)
    traced(x1, .1, False)
    fail[0] = True
    for mode in (False, True):
        with pytest.raises(RuntimeError, match="while tracing"):
            traced(x1, .2, mode)
    assert not traced._runtime and not traced._static
    fail[0] = False
    for mode in (True, False, True):
        for lr in (.3, .4, .6, .9, .1):
            assert traced(x1, lr, mode).tolist() == f(x1, lr, mode).tolist()


def test_concurrent_calls_with_different_numbers():
    traced, wrong = df.function(scheduled), []

    def call(k):
        for n in range(60):
            args = x1, (n + k) % 11 / 10, n % 3 == 0
            if traced(*args).tolist() != scheduled(*args).tolist():
                wrong.append(args)

    threads = [threading.Thread(target=call, args=(k,)) for k in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


# --- guards -------------------------------------------------------------------------------------

def test_number_combined_with_two_dtypes():
    def f(a, b, k):
        return df.cast(a * k, df.float64) + b * k

    traced = same(f, *[(df.constant(.1), df.constant(.1, df.float64), k) for k in (.1, .2, .3, .7)])
    assert traced.experimental_get_tracing_count() == 2


@pytest.mark.parametrize("sizes", [(3, 2, 5, 3, 1), (1, 3, 2), (5, 3)])
def test_two_guards_on_one_size(sizes):
    def f(x):
        n = x.shape[0]
        return x * (2. if n < 3 else 3.) * (5. if n == 3 else 7.)

    signature = [df.TensorSpec([None])]
    traced = df.function(f, input_signature=signature)
    for n in sizes:
        assert traced(df.ones([n])).tolist() == f(df.ones([n])).tolist()


QUESTIONS = {
    "<": lambda n: n < 3, "<=": lambda n: n <= 3, "==": lambda n: n == 3, "!=": lambda n: n != 3,
    ">": lambda n: n > 3, ">=": lambda n: n >= 3, "bool": lambda n: bool(n - 3),
    "float": lambda n: float(n) == 3., "hash": lambda n: hash(n) == 3, "& 1": lambda n: n & 1 == 1,
    "in": lambda n: n in {3, 4}, "max": lambda n: max(n, 3) == 3, "text": lambda n: f"{n}" == "3",
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("first", [2, 3, 4])
def test_branches_on_an_unknown_size(question, first):
    def f(x):
        return x * (2. if QUESTIONS[question](x.shape[0]) else 3.)

    traced = df.function(f, input_signature=[df.TensorSpec([None])])
    for n in (first, 2, 3, 4, 3, 2):
        assert traced(df.ones([n])).tolist() == f(df.ones([n])).tolist(), n


@pytest.mark.parametrize("question", ["<", "<=", "==", "!=", ">", ">="])
def test_branches_on_a_data_dependent_size(question):
    def f(x):
        m = df.boolean_mask(x, x > 0.)
        return m * (2. if QUESTIONS[question](m.shape[0]) else 3.)

    traced = df.function(f)
    for n in (2, 3, 4, 5):
        x = df.constant([1.] * n + [-1.] * (6 - n))
        assert traced(x).tolist() == f(x).tolist()


def test_number_as_a_scalar_attribute():
    same(lambda x, k: df.expand_dims(x, k), *[(df.ones([2, 3]), k) for k in (0, 1, 2, 0, 1)])
    same(lambda x, k: df.nn.leaky_relu(x, k), *[(x1 - 2., k) for k in (.1, .2, .3, 1, 2, 3, 4)])


def test_number_converted_to_float():
    same(lambda x, k: x * float(k), *[(x1, k) for k in (1, 2, -3, 1)])


def test_power_by_a_number_input_matches_eager():
    x = df.constant(np.linspace(.1, 3, 99).astype(np.float32))
    same(lambda x, p: x ** p, *[(x, p) for p in (3., 1.5, 2., 2.5, 2., 3.)])
    same(lambda x, p: x ** p, *[(x, p) for p in (3, 1, 2, 5, 2)])
    same(lambda x: df.reduce_sum(x) ** x.shape[0],
         *[(df.constant([.1] * n),) for n in (3, 4, 5, 2, 1, 2)])


def test_ints_of_all_widths():
    wide = 1, 2, 3, 2**31 - 1, 2**31, 2**40, -2**31, -2**31 - 1
    same(lambda x, n: df.constant(n), *[(x1, n) for n in wide])
    same(lambda x, n: df.cast(n * 1000, df.int64), *[(x1, n) for n in (1, 2, 3, 4, 2**24, 2**22)])
    same(lambda x, n: (x > 1.) * n, *[(x1, n) for n in (1, 2, 3, 2**33, 5)])


def test_nan_signed_zero_and_equal_keys():
    f = df.function(lambda x, k: x / k)
    for k in (0., -0., 0., 1., -0.):
        assert f(x1, k).tolist() == (x1 / k).tolist()
    f = df.function(lambda x, k: x if k else x * 2.)
    for _ in range(5):
        f(x1, float("nan"))
    assert f.experimental_get_tracing_count() == 1
    f = df.function(lambda x, d: df.add_n([v * k for k, v in d.items()]) + x)
    for key in (1, 1., True, 1):
        assert f(x1, {key: 2.}).dtype is (2. * df.constant(key) + x1).dtype


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.int32])
def test_numpy_scalars_promote_as_in_eager_mode(kind):
    for x in (x1, df.constant([1, 2]), df.constant([1.], df.float64)):
        traced = same(lambda x, k: x * k + k, *[(x, kind(k)) for k in (1, 2, 3, 4, 5)])
        assert traced.experimental_get_tracing_count() == 2
    same(lambda x, k: x if k else x * 2., *[(x1, np.bool_(k)) for k in (0, 1, 0, 1)])


def test_sets_are_compared_by_content():
    held = {1, 2}
    f = df.function(lambda x, s: x * float(len(s)))
    assert f(x1, held).tolist() == f(x1, held).tolist() == [2., 4.]
    held.add(3)
    assert f(x1, held).tolist() == [3., 6.]


# --- decisions that guards cannot detect --------------------------------------------------------

def test_only_the_number_that_decides_stays_static():
    def f(x, n, lr):
        return x * lr * (2. if type(n) is int else 3.)

    traced = same(f, *[(x1, n, lr) for n in (1, 2) for lr in (.1, .2, .3)])
    before = traced.experimental_get_tracing_count()
    for lr in (.4, .5, .6):
        assert traced(x1, 2, lr).tolist() == f(x1, 2, lr).tolist()
    assert traced.experimental_get_tracing_count() == before


def test_branch_on_the_type_of_a_size():
    def f(x):
        return x * (2. if type(x.shape[0]) is int else 3.)

    traced = df.function(f, input_signature=[df.TensorSpec([None])])
    for n in (1, 2, 3):
        assert traced(df.ones([n])).tolist() == [2.] * n


def test_python_exception_for_a_new_number_is_raised():
    def f(x, n):
        return x * [1., 2.][n]

    traced = df.function(f)
    for n in (0, 1, 0):
        traced(x1, n)
    with pytest.raises(IndexError):
        traced(x1, 2)
    assert traced(x1, 1).tolist() == [2., 4.]


def test_captured_numbers_are_plain_ints_after_tracing():
    kept = []

    def f(x, n):
        del kept[:]
        kept[:] = [n, x.shape[0]]
        return x * n

    traced = df.function(f)
    for n in (1, 2, 3):
        traced(df.ones([n]), n)
    assert all(type(n) is int for n in kept)        # the last trace got plain numbers
    inner = []
    graph = df.Graph()
    with graph.as_default():
        inner.append(graph.placeholder([None]).shape[0])
    assert repr(inner[0]) == "None"


def test_inner_function_takes_numbers_as_inputs():
    inner = df.function(lambda x, k: x * k)
    traced = same(lambda x, k: inner(x, k) + inner(x, k + 1.), *[(x1, k) for k in (.1, .2, .3, .4)])
    assert traced.experimental_get_tracing_count() == 2


def test_returned_numbers_are_python_numbers_on_every_call():
    f = df.function(lambda x, n, r: {"n": n, "more": (n * 2, r / 2, x), "size": x.shape})
    for n in range(6):
        y = f(df.ones([n + 1]), n, n / 4)
        assert (y["n"], y["more"][:2], y["size"]) == (n, (n * 2, n / 8), (n + 1,))
        assert [type(v) for v in (y["n"], *y["more"][:2], *y["size"])] == [int, int, float, int]
    assert f.experimental_get_tracing_count() == 4
    f = df.function(lambda x: df.boolean_mask(x, x > 0.).shape[0] * 2)
    for n in (1, 2, 3):
        assert f(df.constant([1.] * n + [0.])) == 2 * n
        assert type(f(df.constant([1.] * n + [0.]))) is int
    f = df.function(lambda x, n: df.boolean_mask(x, x > 0.).shape[0] / n)
    for n in (1, 2, 3, 4):
        assert f(df.constant([1., 0., 2.]), n) == 2 / n
    assert f.experimental_get_tracing_count() == 2


def test_number_that_raises_gets_a_separate_trace():
    def f(x, n, v):
        v.assign_add(1.)
        try:
            return x * (1 / n), 2 ** n
        except ZeroDivisionError:
            return x * 7., n

    traced = df.function(f)
    v, w = df.Variable(0.), df.Variable(0.)
    for n in (1, 2, 3, 0, 4, 0, -1, 5, -1, 0):
        got, want = traced(x1, n, v), f(x1, n, w)
        assert got[0].tolist() == want[0].tolist() and v.item() == w.item()
        assert (type(got[1]), got[1]) == (type(want[1]), want[1])
    assert traced.experimental_get_tracing_count() == 4


# --- variables ----------------------------------------------------------------------------------

def test_variables_share_one_trace():
    runs = []

    def f(v, x):
        runs[len(runs):] = [1]
        v.assign_add(x)
        return v * 2.

    traced = df.function(f)
    variables = [df.Variable([float(k), 0.]) for k in range(4)]
    for _ in range(2):
        for k, v in enumerate(variables):
            before = v.numpy()
            assert traced(v, x1).tolist() == ((before + [1., 2.]) * 2).tolist()
            assert v.numpy().tolist() == (before + [1., 2.]).tolist(), k
    assert traced.experimental_get_tracing_count() == 1 and len(runs) <= 2
    assert traced(df.Variable([1., 1.], trainable=False), x1).tolist() == [4., 6.]


def test_aliased_and_captured_variables():
    w = df.Variable(1.)

    def f(a, b):
        a.assign_add(1.)
        b.assign_add(10.)
        w.assign_add(100.)
        return a + b + w

    traced = df.function(f)
    p, q = df.Variable(0.), df.Variable(0.)
    mirror = {id(v): df.Variable(v.value()) for v in (p, q, w)}
    for a, b in [(p, q), (p, p), (q, w), (w, w), (q, p), (w, p)]:
        total = {k: v.item() for k, v in ((id(v), v) for v in (p, q, w))}
        for v, by in ((a, 1.), (b, 10.), (w, 100.)):
            total[id(v)] += by
        assert traced(a, b).item() == total[id(a)] + total[id(b)] + total[id(w)]
        assert [v.item() for v in (p, q, w)] == [total[id(v)] for v in (p, q, w)]
    assert len(mirror) == 3


def test_gradients_with_respect_to_variable_arguments():
    @df.function
    def loss(v, x):
        return df.reduce_sum(v * v * x)

    @df.function
    def inside(v, x):
        with df.GradientTape() as tape:
            y = df.reduce_sum(v * v * x)
        return tape.gradient(y, v)

    for k in (1., 2., 3.):
        v = df.Variable([k, k])
        with df.GradientTape() as tape:
            y = loss(v, x1)
        assert tape.gradient(y, v).tolist() == inside(v, x1).tolist() == [2 * k, 4 * k]
    assert loss.experimental_get_tracing_count() == inside.experimental_get_tracing_count() == 1


def test_placeholder_variable_of_a_trace_holds_no_memory():
    f = df.function(lambda v: v.assign_add(df.ones([1000])) * 2.)
    v = df.Variable(df.zeros([1000]))
    f(v)
    stand_ins = f._traces[0]._stand_ins.values()
    assert [x.nbytes for x in stand_ins] == [4]
    assert v.numpy().tolist() == [1.] * 1000


def test_custom_gradient_that_uses_a_number():
    def f(x, k):
        @df.custom_gradient
        def scaled(x):
            return x * 2., lambda g: g * k
        with df.GradientTape() as tape:
            tape.watch(x)
            y = scaled(x)
        return tape.gradient(y, x)

    same(f, *[(x1, k) for k in (.1, .2, .3, .4)])


def test_optimizer_slots_of_variable_arguments_are_separate():
    optimizer, eager = df.optimizers.SGD(.1, momentum=.9), df.optimizers.SGD(.1, momentum=.9)

    def step(optimizer, v, x):
        with df.GradientTape() as tape:
            loss = df.reduce_sum(v * x)
        optimizer.minimize(loss, [v], tape=tape)
        return loss

    traced = df.function(step)
    for start in (1., 2.):
        v, w = df.Variable([start, 0.]), df.Variable([start, 0.])
        optimizer.build([v])
        eager.build([w])
        for _ in range(3):
            assert traced(optimizer, v, x1).item() == step(eager, w, x1).item()
            assert v.tolist() == w.tolist()


# --- structures ---------------------------------------------------------------------------------

def test_dict_key_order_shares_one_trace():
    f = df.function(lambda d: d["a"] - d["b"])
    a, b = df.constant(3.), df.constant(1.)
    for _ in range(3):
        assert f({"a": a, "b": b}).item() == f({"b": b, "a": a}).item() == 2.
    assert f.experimental_get_tracing_count() == 1


def test_dict_key_order_that_affects_the_result():
    f = df.function(lambda d: (df.concat(list(d.values()), 0), list(d)))
    a, b = df.constant([3.]), df.constant([1.])
    for _ in range(3):
        for d in ({"a": a, "b": b}, {"b": b, "a": a}):
            y, keys = f(d)
            assert y.tolist() == [v.item() for v in d.values()] and keys == list(d)


def test_keyword_arguments_in_any_order():
    f = df.function(lambda **kw: kw["a"] - kw["b"])
    a, b = df.constant(3.), df.constant(1.)
    assert f(a=a, b=b).item() == f(b=b, a=a).item() == 2.
    assert f.experimental_get_tracing_count() == 1


class Slotted:
    __slots__ = ("w",)

    def __init__(self, w):
        self.w = w

    @df.function
    def scaled(self, x, k=2.):
        return x * self.w * k


@dataclasses.dataclass(slots=True)
class Config:
    rate: float

    @df.function
    def scaled(self, x):
        self.rate += 0.
        return x * self.rate


def test_methods_of_classes_with_slots():
    one, two = Slotted(3.), Slotted(5.)
    for _ in range(3):
        assert one.scaled(x1).tolist() == [6., 12.]
        assert two.scaled(x1, k=1.).tolist() == [5., 10.]
    assert Config(.5).scaled(x1).tolist() == [.5, 1.]
    for k in range(200):
        assert Slotted(float(k)).scaled(x1).tolist() == [2. * k, 4. * k]
    assert len(Slotted.scaled._methods.by_id) <= 65

    class Weak:
        __slots__ = ("__weakref__", "w")
        scaled = Slotted.__dict__["scaled"]

    weak = Weak()
    weak.w = 2.
    assert weak.scaled(x1).tolist() == [4., 8.]
    gone = weakref.ref(weak)
    del weak
    gc.collect()
    assert gone() is None


def test_concrete_function_takes_defaults_and_keywords():
    f = df.function(lambda x, k=2., *, flip=False: -x * k if flip else x * k)
    concrete = f.get_concrete_function(x1)
    assert concrete(x1).tolist() == concrete(x=x1, k=2.).tolist() == [2., 4.]
    assert f.get_concrete_function(x1, flip=True)(x1, flip=True).tolist() == [-2., -4.]
    with pytest.raises(df.errors.InvalidArgumentError, match="flip: False"):
        concrete(x1, flip=True)
    with pytest.raises(TypeError):
        concrete()
    assert Slotted(3.).scaled.get_concrete_function(x1)(x1).tolist() == [6., 12.]
    d = {"b": x1, "a": x1}
    g = df.function(lambda d: d["a"] + d["b"])
    assert g.get_concrete_function(d)(d).tolist() == [2., 4.]


@pytest.mark.parametrize("use", [lambda n: n >> 1, lambda n: n << 2, lambda n: ~n, lambda n: -n,
                                 lambda n: n // 2, lambda n: n % 3, lambda n: divmod(n, 2)[1],
                                 lambda n: abs(n), lambda n: n ** 2, lambda n: n / 2])
def test_int_arithmetic_shares_one_trace(use):
    f = df.function(lambda x, n: x * use(n))
    for n in range(1, 9):
        assert f(df.constant(2.), n).item() == 2. * use(n)
    assert f.experimental_get_tracing_count() == 2


@pytest.mark.parametrize("sizes", [(5, 1, 4, 5, 3, 1, 6, 5), (3, 4, 6, 1, 5, 2, 1, 5),
                                   (1, 5, 1, 5, 2, 3, 1)])
@pytest.mark.parametrize("attempt", [
    lambda x: x + df.ones([5]), lambda x: df.reshape(x, [1, 5]), lambda x: x[3:4] + x[:1],
    lambda x: df.concat([x[None], df.ones([1, 5])], 0), lambda x: df.slice(x, [2], [2]),
    lambda x: df.matmul(x[None], df.ones([5, 2])), lambda x: df.ensure_shape(x, [5])])
def test_caught_error_that_depends_on_a_size(attempt, sizes):
    """A size may be valid where another size raises, so the trace must not be reused."""
    def g(x):
        try:
            return df.reduce_sum(attempt(x))
        except df.errors.DualflowError:
            return df.reduce_sum(x) * 100.

    for f in (df.function(g), df.function(g, input_signature=[df.TensorSpec([None])])):
        for n in sizes:
            x = df.range(1., n + 1.)
            assert f(x).item() == g(x).item()


def test_caught_error_that_depends_on_a_number():
    def g(x, k):
        try:
            return df.expand_dims(x, k)
        except df.errors.DualflowError:
            return x

    f = df.function(g)
    for k in (0, 3, 1, 2, 0, 5, 1, 3):
        assert f(df.ones([2]), k).shape == g(df.ones([2]), k).shape
