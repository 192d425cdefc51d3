"""Ops implemented in Python: equal results in eager mode, traced, unoptimised, in loops, and in
graphs that are run later."""

import contextlib
import functools
import gc
import threading
import weakref

import numpy as np
import pytest

import dualflow as df
from tests.threads.child import run


def same_bits(got, want):
    """Assert equal bits, NaN included, and equal dtypes and shapes."""
    got, want = [df.nest.flatten(x) for x in (got, want)]
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        if b is None:
            assert a is None
            continue
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.numpy().tobytes() == b.numpy().tobytes(), (a, b)


def sample(*shape, dtype=np.float32):
    return df.constant(np.random.default_rng(3).standard_normal(shape).astype(dtype))


cube = df.register_op("cube", lambda x: x.numpy() ** 3, gradient=lambda g, y, x: 3. * x * x * g)
affine = df.register_op("affine", lambda x, w, shift: x.numpy() @ w.numpy() + np.float32(shift),
                        infer=lambda x, w, shift: ((x.shape[0], w.shape[1]), x.dtype),
                        gradient=lambda g, y, x, w, shift: (lambda: g @ df.transpose(w),
                                                            df.transpose(x) @ g))
halves = df.register_op("halves", lambda x: [x.numpy()[:, ::2], x.numpy()[:, 1::2]],
                        infer=lambda x: [((x.shape[0], x.shape[1] // 2), x.dtype)] * 2,
                        gradient=lambda g, ys, x: df.reshape(df.stack(g, -1), x.shape))
rank = df.register_op("rank", lambda x: x.numpy().argsort().argsort(),
                      infer=lambda x: (x.shape, df.int64))
positive = df.register_op("positive", lambda x: x.numpy()[x.numpy() > 0],
                          infer=lambda x: ([None], x.dtype),
                          gradient=lambda g, y, x: df.scatter_nd(
                              df.where(x > 0)[:, 0:1], g, x.shape))
norm = df.register_op("norm", lambda x: float(np.linalg.norm(x.numpy())),
                      infer=lambda x: ((), x.dtype), gradient=lambda g, y, x: g * x / y)
seven = df.register_op("seven", lambda: 7., infer=lambda: df.TensorSpec([], df.float32))


def doubled(x):
    return df.py_function(lambda v: df.tanh(v) * v, [x], x)


def any_size(x):
    return df.py_function(lambda v: df.tanh(v) * v, [x], df.float32)


def both(x):
    y, z = df.py_function(lambda v: (df.sin(v), df.reduce_sum(v * v)), [x],
                          [x, df.TensorSpec([], df.float32)])
    return df.reduce_sum(y) * z


# name: (function, inputs, True if it has a gradient)
CASES = {
    "cube": (cube, [sample(3, 4)], True),
    "half": (cube, [df.cast(sample(5), df.float16)], False),
    "empty": (cube, [sample(0, 4)], True),
    "scalar": (cube, [sample()], True),
    "two inputs, a number": (functools.partial(affine, shift=.5), [sample(3, 4), sample(4, 2)],
                             True),
    "two outputs": (lambda x: halves(x)[0] * 2. + halves(x)[1], [sample(3, 4)], True),
    "one output unused": (lambda x: halves(x)[1], [sample(3, 4)], True),
    "integers": (rank, [sample(7)], False),
    "size from data": (lambda x: positive(x) * 2., [sample(9)], True),
    "a number": (norm, [sample(6)], True),
    "no input": (lambda x: x * seven(), [sample(3)], True),
    "chain": (lambda x: df.reduce_sum(cube(df.sin(cube(x) + x))), [sample(8)], True),
    "numpy_function": (lambda x: df.numpy_function(np.sort, [x], df.float32), [sample(8)], False),
    "py_function": (doubled, [sample(8)], True),
    "py_function of any size": (any_size, [sample(8)], True),
    "py_function of two": (both, [sample(8)], True),
    "scan": (lambda x: df.scan(lambda c, r: cube(c) * .1 + r * .5, x, initializer=x[0]),
             [sample(5, 3)], True),
    "while_loop": (lambda x: df.while_loop(lambda k, _: k < 3, lambda k, v: (
        k + 1, cube(v) * .2 + doubled(v)), (0, x))[1], [sample(4)], True),
    "cond": (lambda x: df.cond(df.reduce_sum(x) > 0., lambda: cube(x), lambda: x * norm(x)),
             [sample(4)], True),
}


@pytest.fixture(params=CASES, ids=lambda name: name.replace(" ", "_"))
def case(request):
    return CASES[request.param]


def traced(f, inputs, **options):
    f = df.function(f, **options)
    return [f(*inputs) for _ in range(2)][1]


def test_values(case):
    f, inputs, _ = case
    eager = f(*inputs)
    same_bits(traced(f, inputs), eager)
    same_bits(traced(f, inputs, passes=False), eager)
    any_size = [df.TensorSpec([None] * x.ndim, x.dtype) for x in inputs]
    same_bits(traced(f, inputs, input_signature=any_size), eager)


def test_in_a_graph(case):
    f, inputs, has_gradient = case
    g = df.Graph()
    with g.as_default():
        xs = [g.placeholder([None] * x.ndim, x.dtype) for x in inputs]
        y = f(*xs)
        gradients = df.gradients(df.reduce_sum(y), xs) if has_gradient else []
    feeds = dict(zip(xs, inputs, strict=True))
    same_bits(g.run(y, feeds), f(*inputs))
    same_bits(g.run(gradients, feeds), gradient(f, 1, *inputs) if has_gradient else [])


def gradient(f, order, *xs):
    """Return all gradients of an order; an order differentiates the last one's sum of squares."""
    with df.GradientTape() as tape:
        for x in xs:
            tape.watch(x)
        ys = [f(*xs)] if order == 1 else gradient(f, order - 1, *xs)
        total = df.add_n([df.reduce_sum(y if order == 1 else y * y) for y in ys if y is not None])
    return tape.gradient(total, list(xs))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.filterwarnings("ignore::dualflow.errors.GradientWarning")
def test_gradients(case, order):
    f, inputs, has_gradient = case
    if not has_gradient:
        return
    eager = gradient(f, order, *inputs)
    whole = functools.partial(gradient, f, order)
    same_bits(traced(whole, inputs), eager)
    same_bits(traced(whole, inputs, passes=False), eager)
    same_bits(gradient(df.function(f), order, *inputs), eager)      # tape outside of the function


@pytest.mark.parametrize("name", ["two inputs, a number", "two outputs", "size from data",
                                  "a number", "py_function", "py_function of two", "scan"])
def test_gradients_match_finite_differences(name):
    f, inputs, _ = CASES[name]
    xs = [x.numpy().astype(np.float64) for x in inputs]
    for k, g in enumerate(gradient(f, 1, *inputs)):
        step = np.random.default_rng(5).standard_normal(xs[k].shape)

        def at(t, k=k, step=step):
            moved = [x + t * step if i == k else x for i, x in enumerate(xs)]
            return df.reduce_sum(f(*[df.constant(x.astype(np.float32)) for x in moved])).item()

        slope = (at(1e-2) - at(-1e-2)) / 2e-2
        assert np.sum(g.numpy() * step) == pytest.approx(slope, rel=2e-2, abs=2e-2)


def test_third_order():
    f = functools.partial(gradient, lambda x: df.reduce_sum(cube(x)) + df.reduce_sum(doubled(x)), 3)
    x = sample(4)
    same_bits(traced(f, [x]), f(x))


def test_numeric_attribute_may_change():
    """A Python number in the attributes is a value of the trace."""
    op = df.register_op("plus", lambda x, n: x.numpy() + np.float32(n))
    f = df.function(lambda x, n: op(x, n=n) * n)
    for n in (1, 2, 3., 4):
        assert f(df.ones([2]), n).tolist() == [(1 + n) * n] * 2


def test_changing_sizes_share_a_trace():
    f = df.function(lambda x, w: affine(x, w, shift=1.) * 2.)
    for n in range(2, 7):
        assert f(df.ones([n, 3]), df.ones([3, 2])).shape == (n, 2)
    assert len(f.trace_report().splitlines()) <= 4, f.trace_report()


def test_py_function_with_changing_sizes_shares_a_trace():
    f = df.function(lambda x: df.py_function(lambda v: v + 1., [x + x], x) * x.shape[0])
    for n in range(2, 7):
        assert f(df.ones([n])).tolist() == [3. * n] * n
    assert len(f.trace_report().splitlines()) <= 4, f.trace_report()


def test_decorators():
    @df.register_op("thirds", gradient=lambda g, y, x: g / 3.)
    def thirds(x):
        """Return a third of x."""
        return x.numpy() / np.float32(3)

    @df.py_function(Tout=df.float32)
    def plus(x, y):
        return x + y

    @df.numpy_function(Tout=[df.float32])
    def largest(x):
        assert isinstance(x, np.ndarray)
        return x.max(keepdims=True)

    f = df.function(lambda x: largest(plus(thirds(x), x))[0])
    assert f(df.constant([3., 6.])).tolist() == largest(df.constant([4., 8.]))[0].tolist() == [8.]
    assert thirds.__doc__ == "Return a third of x." and plus.__name__ == "plus"
    assert repr(thirds) == "<dualflow op thirds, in Python>"


# --- effects ------------------------------------------------------------------------------------

def test_order_of_effects():
    seen = []
    v = df.Variable(1.)
    record = df.register_op("record", lambda x: seen.append((x.item(), v.numpy().item())) or x)

    def f(x):
        for k in df.range(2):
            v.assign_add(1.)
            record(x + df.cast(k, df.float32))
        record(x)               # result unused, and equal to an earlier call
        v.assign(0.)
        record(x)
        return x

    f(df.constant(5.))
    eager, seen[:] = list(seen), []
    v.assign(1.)
    g = df.function(f)
    g(df.constant(5.))
    assert seen == eager == [(5., 2.), (6., 3.), (5., 3.), (5., 0.)]


@pytest.mark.filterwarnings("ignore::dualflow.errors.GradientWarning")
def test_forward_function_is_neither_recorded_nor_traced():
    v = df.Variable(2.)
    op = df.register_op("reads", lambda x: x * v, gradient=lambda g, y, x: g * v)

    def f(x):
        with df.GradientTape() as tape:
            y = op(x)
        return tape.gradient(y, [x, v])

    for g in (f, df.function(f)):
        of_x, of_v = g(df.Variable(3.))
        assert of_x.item() == 2. and of_v is None


def test_forward_may_return_its_input():
    same = df.register_op("same", lambda x: x, gradient=lambda g, y, x: 5. * g)
    assert df.grad(same)(df.constant(1.)).item() == 5.
    assert df.grad(df.function(same))(df.constant(1.)).item() == 5.


@pytest.mark.filterwarnings("ignore::dualflow.errors.GradientWarning")
def test_no_gradient():
    plain = df.register_op("plain", lambda x: x)
    for f in (plain, df.function(plain)):
        with pytest.raises(df.errors.UnimplementedError, match="plain: it was registered without"):
            df.grad(f)(df.constant(1.))
    sorts = functools.partial(df.numpy_function, np.sort, Tout=df.float32)
    for f in (sorts, df.function(sorts)):
        with df.GradientTape() as tape:
            x = df.Variable([2., 1.])
            y = f([x])
        assert tape.gradient(y, x) is None


def test_graph_runs_only_the_requested_ops():
    seen = []
    record = df.register_op("record", lambda x: seen.append(x.item()) or x)
    g = df.Graph()
    with g.as_default():
        record(1.)
        y = record(2., name="second")
    assert g.run(y).item() == 2. and seen == [2.]
    assert g.get_tensor_by_name("second:0") is y


# --- errors -------------------------------------------------------------------------------------

def raised(f, kind):
    with pytest.raises(kind) as caught:
        f()
    return caught.value


@pytest.mark.parametrize(("gives", "kind", "text"), [
    (lambda x: x.numpy().astype("float64"), df.errors.DTypeError,
     "wrong: result 0 of the function is float64 (3,), expected float32 (3,)"),
    (lambda x: x.numpy()[:2], df.errors.ShapeError,
     "wrong: result 0 of the function is float32 (2,), expected float32 (3,)"),
    (lambda x: 1., df.errors.ShapeError,
     "wrong: result 0 of the function is float32 (), expected float32 (3,)"),
    (lambda x: None, df.errors.DTypeError, "wrong: got an object of type NoneType"),
    (lambda x: "text", df.errors.DTypeError, "wrong: got "),
])
def test_result_that_differs_from_infer_raises(gives, kind, text):
    op = df.register_op("wrong", gives)
    x = df.ones([3])
    for f in (op, df.function(op), df.function(op, input_signature=[df.TensorSpec([None])])):
        error = raised(lambda f=f: f(x), kind)
        assert str(error).startswith(text)
        assert any("in wrong" in note for note in error.__notes__)


def test_wrong_number_of_results_raises():
    op = df.register_op("pair", lambda x: [x], infer=lambda x: [x, x])
    one = df.register_op("pair", lambda x: x, infer=lambda x: [x, x])
    for f in (op, df.function(op)):
        error = raised(lambda f=f: f(df.ones([3])), df.errors.InvalidArgumentError)
        assert "pair: the function returned 1 results, expected 2" in str(error)
    assert "expected a list" in str(raised(lambda: one(df.ones([3])), df.errors.DTypeError))
    few = df.register_op("few", lambda x, y: x, gradient=lambda g, y, a, b: g)
    error = raised(lambda: df.grad(few)(1., 2.), df.errors.InvalidArgumentError)
    assert "few: its gradient returned 1 results, expected one for each of 2 inputs" in str(error)


def test_invalid_declarations_raise():
    x = df.ones([3])
    nothing = df.register_op("nothing", lambda: 1.)
    assert "needs infer=" in str(raised(nothing, df.errors.InvalidArgumentError))
    odd = df.register_op("odd", lambda x: x, infer=lambda x: "float32")
    assert "odd: infer returned 'float32', expected a TensorSpec" in str(
        raised(lambda: odd(x), df.errors.DTypeError))
    assert "Tout is None" in str(raised(lambda: df.numpy_function(np.sort, [x]),
                                        df.errors.DTypeError))


def test_invalid_arguments_raise():
    with pytest.raises(TypeError, match="register_op: name is 3, expected a str"):
        df.register_op(3, lambda x: x)
    with pytest.raises(TypeError, match="sort: inp is"):
        df.numpy_function(np.sort, df.ones([3]), df.float32)


def test_check_numerics():
    """Results of Python ops are checked as kernel results are."""
    op = df.register_op("roots", lambda x: np.sqrt(np.maximum(x.numpy(), -1)) * [np.nan, 1][
        int(x.numpy()[0] > 0)])
    fails = df.register_op("fails", lambda x: 1 / 0)
    said = []
    df.debugging.enable_check_numerics()
    try:
        for f in (op, df.function(op)):
            assert f(df.constant([4.], df.float64)).tolist() == [2.]
            with pytest.raises(df.errors.InvalidArgumentError, match="1 NaN") as caught:
                f(df.constant([-0.], df.float64))
            said.append(str(caught.value).split(" (made at")[0])
        for f in (fails, df.function(fails)):
            with pytest.raises(ZeroDivisionError):
                f(df.ones([1]))
    finally:
        df.debugging.disable_check_numerics()
    assert said[0] == said[1]


class Mine(Exception):
    def __init__(self, code, text):
        super().__init__(code, text)
        self.code = code


def test_exceptions_are_raised_unchanged():
    mine = Mine("E7", "went wrong")

    def fails(x):
        raise mine

    op = df.register_op("fails", fails)

    def f(x):
        return op(x) * 2.       # this line

    g = df.Graph()
    with g.as_default():
        y = f(df.constant(1.))
    for run_it in (lambda: f(df.constant(1.)), lambda: df.function(f)(1.), lambda: g.run(y)):
        error = raised(run_it, Mine)
        assert error is mine and error.args == ("E7", "went wrong")
        assert any("in fails" in note for note in error.__notes__)
    assert __file__ in error.__notes__[-1] and "in f" in error.__notes__[-1]


def test_variables_keep_updates_before_a_failure():
    v = df.Variable(1.)
    op = df.register_op("fails", lambda x: 1 / 0)

    @df.function
    def f(x):
        v.assign_add(1.)
        op(x)
        v.assign_add(10.)

    raised(lambda: f(df.constant(1.)), ZeroDivisionError)
    assert v.numpy() == 2.


def test_returning_a_traced_tensor_raises():
    g = df.Graph()
    with g.as_default():
        x = g.placeholder([2])
        op = df.register_op("keeps", lambda y: x)
        y = op(df.ones([2]))
    error = raised(lambda: g.run(y), df.errors.DualflowError)
    assert "keeps" in str(error) or "keeps" in "".join(error.__notes__)


# --- threads, memory ----------------------------------------------------------------------------

def test_threads():
    """Concurrent calls of one op get their own results."""
    inside = threading.Barrier(2, timeout=20)

    def meets(x):
        inside.wait()
        return x.numpy() * 2

    op = df.register_op("meets", meets)
    f = df.function(lambda x: op(x + 1.) + 1.)
    f_warm = threading.Thread(target=lambda: f(df.zeros([3])))
    f_warm.start()
    f(df.zeros([3]))
    f_warm.join()
    got = {}

    def work(k):
        got[k] = [f(df.fill([3], float(k))).tolist() for _ in range(50)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert got == {k: [[2. * k + 3.] * 3] * 50 for k in range(2)}


def test_fork():
    run("""
op = df.register_op("pid", lambda x: x.numpy() + os.getpid() % 1000)
f = df.function(lambda x: op(x) * 1.)
f(df.ones([2]))
child = os.fork()
if child == 0:
    signal.alarm(20)
    ok = f(df.ones([2])).tolist() == [1. + os.getpid() % 1000] * 2
    os._exit(0 if ok else 1)
assert os.waitpid(child, 0)[1] == 0
""")


def test_ops_leak_no_memory():
    class Kernel:
        def __call__(self, x):
            return x.numpy() + 1

    def work():
        kernel = Kernel()
        op = df.register_op("temporary", kernel, gradient=lambda g, y, x: g)
        f = df.function(lambda x: df.reduce_sum(op(x)))
        x = df.ones([1000])
        df.grad(f)(x), df.grad(lambda x: df.reduce_sum(op(x)))(x)
        return weakref.ref(kernel)

    refs = [work() for _ in range(3)]
    gc.collect()
    assert [r() for r in refs] == [None] * 3

    bad = df.register_op("bad", lambda x: x.numpy()[:1])
    functions = cube, df.function(lambda x: df.reduce_sum(cube(x))), bad, df.function(bad)
    x = df.ones([1000])

    def calls():
        for f in functions:
            with contextlib.suppress(df.errors.ShapeError):
                f(x)

    calls(), gc.collect()
    live = df.config.memory_stats()["live"]
    for _ in range(200):
        calls()
    gc.collect()
    assert df.config.memory_stats()["live"] == live


def test_text_of_a_graph():
    f = df.function(lambda x: cube(x), name="f")
    assert "host_compute(%0, 'cube') : float32 (2,)" in f.graph_for(df.ones([2])).text()


@pytest.mark.parametrize("mode", [lambda f: f, df.function])
def test_python_functions_of_text(mode):
    """Text is passed as tensors or bytes, and returned, eagerly and in each run of a graph."""
    @mode
    def both(x, y):
        words, n, z = df.py_function(
            lambda x, y: (df.strings.upper(x), df.strings.length(x), y * 2.), [x, y],
            [df.string, df.int32, df.float32])
        joined = df.numpy_function(lambda b, tail: b + tail, [words, "?"], df.string)
        return joined, n, z

    for x in (["a", "bc"], ["d", "e"]):
        joined, n, z = both(df.constant(x), df.constant([1., 2.]))
        assert joined.tolist() == [w.upper().encode() + b"?" for w in x]
        assert n.tolist() == list(map(len, x)) and z.tolist() == [2., 4.]
    one = mode(lambda x: df.py_function(lambda t: t.numpy().decode() * 2, [x], df.string))
    assert one(df.constant("é")).numpy() == "éé".encode()
    size = mode(lambda x: df.numpy_function(lambda b: np.float32(len(b)), [x], df.float32))
    assert [size(df.constant(x)).item() for x in ("abc", "")] == [3., 0.]


def test_invalid_results_of_python_functions_of_text():
    for call, error, why in (
            (lambda: df.py_function(lambda x: 3, ["a"], df.string), TypeError, "expected text"),
            (lambda: df.py_function(lambda x: "a", [1.], df.float32), TypeError, "'a' of type str"),
            (lambda: df.py_function(lambda x: ["a"], ["a"], [df.string] * 2), ValueError,
             "1 results, expected 2"),
            (lambda: df.py_function(lambda x: x, [df.ragged.constant([[1]])], df.int32), TypeError,
             "expected text")):
        with pytest.raises(error, match=why):
            call()


def test_shapes_that_are_not_declared():
    """A dtype alone promises no shape: `set_shape` declares it before the result is used."""
    def env_step(action):
        return np.float32(np.arange(4) + action), np.float32(2.), np.int32(action > 2)

    def step(action, shape, reward=()):
        state, gain, done = df.numpy_function(
            env_step, [action], [df.float32, df.float32, df.int32])
        state.set_shape(shape)
        gain.set_shape(reward)
        done.set_shape([])
        return state * 2., gain, done

    for shape in ([4], [None], df.TensorShape([4])):
        for mode in (lambda f: f, df.function, lambda f: df.function(f, passes=())):
            for action in (1, 3):
                made = mode(lambda a, shape=shape: step(a, shape))(df.constant(action))
                assert made[0].tolist() == [2. * (k + action) for k in range(4)]
                assert (made[1].item(), made[2].item()) == (2., action > 2)
    traced = df.function(lambda a: step(a, [4])[0].shape)
    assert tuple(traced(df.constant(1))) == (4,)
    for wrong in ([3], [None, 4], []):
        with pytest.raises((df.errors.ShapeError, ValueError), match="expected"):
            df.function(lambda a, shape=wrong: step(a, shape))(df.constant(1))

    @df.function
    def used(a):
        y = df.numpy_function(lambda x: x + 1, [a], df.int32)
        z = y * 2
        y.set_shape([4])                # too late: `z` is a scalar
        return z

    with pytest.raises(ValueError, match="not compatible"):
        used(df.constant(1))
    matrix = df.numpy_function(lambda x: np.outer(x, x), [df.constant([1., 2.])], df.float32)
    assert matrix.tolist() == [[1., 2.], [2., 4.]]

    @df.numpy_function(Tout=df.float32)
    def outer(x):
        return np.outer(x, x)

    @df.function
    def f(x):
        y = outer(x)
        y.set_shape([None, 2])
        return df.matmul(y, y) + df.cast(df.shape(y)[0], df.float32)

    assert f(df.constant([1., 2.])).tolist() == [[7., 12.], [12., 22.]]
    v1 = df.compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
        y = v1.py_func(lambda: np.ones([2, 3], "float32"), [], v1.float32)
        y.set_shape([2, 3])
        assert y.shape.as_list() == [2, 3] and session.run(y * 2.).tolist() == [[2.] * 3] * 2
