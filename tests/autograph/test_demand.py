"""Conversion on demand: which functions are converted, when, and which are not."""

import ast
import copy
import gc
import pickle
import subprocess
import sys
import textwrap
import threading

import pytest

import dualflow as df
from dualflow.autograph import convert, demand
from dualflow.errors import TracedValueError
from tests.autograph.referee import check, compiled


def relu(x):
    return x if x > 0 else 0


def calls_relu(x):
    return relu(x) + relu(-x)


def run(text):
    """Run a program in a new process and return its output."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_autograph_is_imported_on_demand():
    assert run("""
        import sys, dualflow as df
        f = df.function(lambda x: x + 1)
        f(df.constant(1))
        print([x for x in sys.modules if x.startswith("dualflow.autograph")])
        """) == "[]\n"


def test_functions_keep_their_code():
    code = relu.__code__, calls_relu.__code__
    check(calls_relu, (3,), (-2,))
    assert (relu.__code__, calls_relu.__code__) == code
    assert not demand._active


def test_functions_without_tensor_branches_are_not_converted():
    def outer(x):
        return relu(x) * 2

    f = df.function(outer)
    f(df.constant(1))
    assert [x.__name__ for x in f._conversion._replaced.codes] == ["relu"]


def test_code_objects_are_converted_once(monkeypatch):
    made = []
    monkeypatch.setattr(convert, "source_of",
                        lambda code, of=convert.source_of: made.append(code) or of(code))
    g = compiled("def g(x):\n    return x if x > 3 else -x\n", "g")
    for dtype in ("int32", "float32", "int64"):
        f = df.function(lambda x: g(x))
        assert f(df.constant(2, dtype)).item() == -2
    assert made == [g.__code__]


def test_later_traces_convert_at_once():
    runs = []

    @df.function
    def f(x):
        runs.append(x.dtype.name)
        return relu(x)

    with pytest.warns(df.errors.RetracingWarning, match="runs"):
        f(df.constant(1))
    f(df.constant(1.))
    assert runs == ["int32", "int32", "float32"]


def test_without_autograph():
    f = df.function(calls_relu, autograph=False)
    with pytest.raises(TracedValueError, match=r"bool\(\) needs .*use dualflow.where"):
        f(df.constant(1))
    with pytest.raises(TracedValueError):
        df.function(lambda x: f(x))(df.constant(1))
    g = df.function(calls_relu)
    assert df.function(lambda x: g(x), autograph=False)(df.constant(-2)).item() == 2


def test_do_not_convert():
    @df.autograph.do_not_convert
    def left(x):
        return calls_relu(x)

    assert left(3) == 3
    with pytest.raises(TracedValueError):
        df.function(left)(df.constant(1))
    with pytest.raises(TracedValueError):
        df.function(lambda x: left(x) if x > 0 else x)(df.constant(1))


def test_tensorflow_options():
    f = df.function(relu, jit_compile=True, reduce_retracing=True)
    assert f(df.constant(-1)).item() == 0


def test_copies_and_pickles_keep_the_option():
    f = df.function(relu, autograph=False)
    for g in (copy.copy(f), pickle.loads(pickle.dumps(f))):
        with pytest.raises(TracedValueError):
            g(df.constant(1))
    assert pickle.loads(pickle.dumps(df.function(relu)))(df.constant(4)).item() == 4


def test_to_code_returns_valid_python():
    for f in (relu, calls_relu, df.function(relu), Loops().fall):
        assert isinstance(ast.parse(df.autograph.to_code(f)).body[0], ast.FunctionDef)
    text = df.autograph.to_code(Loops.fall)
    assert "ag.while_('x')" in text and "ag_while.test(x > 0)" in text


class Loops:
    @df.function
    def fall(self, x):
        while x > 0:
            x = x - 3
        return x

    @df.function
    def twice(self, x):
        return self.fall(x) + self.fall(x + 1)


def test_traced_methods():
    a, b = Loops(), Loops()
    assert [a.fall(df.constant(4)).item(), b.twice(df.constant(4)).item()] == [-2, -3]


def test_threads():
    f = [df.function(lambda x: calls_relu(x)) for _ in range(8)]
    got = []

    def work(k):
        got.append(f[k](df.constant(k - 4)).item())

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(got) == sorted([abs(k - 4) for k in range(8)])
    assert not demand._active and not convert.is_converted(relu.__code__)


def test_loops_over_changing_sizes_and_numbers_share_traces():
    @df.function
    def f(xs, k):
        s = 0.
        for x in xs:
            if x > k:
                s = s + x * k
        return s

    for n in range(1, 6):
        xs = [float(i) for i in range(n)]
        assert f(df.constant(xs), .5 + n).item() == sum(
            [x * (.5 + n) for x in xs if x > .5 + n])
    assert f.experimental_get_tracing_count() <= 5


def test_concrete_function_of_any_length():
    def f(xs):
        s, n = 0., 0
        for i, x in enumerate(xs):
            if x < 0.:
                break
            s, n = s + x, i
        return s, n

    g = df.function(f, input_signature=[df.TensorSpec([None])])
    assert [x.item() for x in g(df.constant([1., 2., -1., 5.]))] == [3., 1]
    assert [x.item() for x in g(df.constant([4.]))] == [4., 0]
    assert [x.item() for x in g(df.zeros([0]))] == [0., 0]


def test_asserts_run_each_time():
    f = df.function(compiled("""
        def f(x):
            assert x > 0, "too small"
            if x > 5:
                assert x % 2 == 0
            return x
        """))
    assert f(df.constant(3)).item() == 3 and f(df.constant(8)).item() == 8
    with pytest.raises(AssertionError, match="too small"):
        f(df.constant(-1))
    with pytest.raises(AssertionError):
        f(df.constant(7))


def test_prints_run_each_time(capsys):
    @df.function
    def f(n):
        for i in range(n):
            if i % 2 == 1:
                print("odd", i)
        return n

    capsys.readouterr()
    f(df.constant(4))
    assert [x.split()[0] for x in capsys.readouterr().out.splitlines()] == ["odd", "odd"]


def test_branch_not_taken_raises_nothing():
    @df.function
    def f(x, k):
        if k < 3:
            return x[k]
        return x[0]

    x = df.constant([1, 2, 3])
    assert [f(x, df.constant(k)).item() for k in (2, 7)] == [3, 1]


def test_gradient_rules_are_converted():
    """Rules are converted in the trace of a function; one that is traced later needs nothing."""
    @df.custom_gradient
    def square(x):
        def grad(g):
            return g * 2. * x if g > 0. else g
        return x * x, grad

    def gradient(f, x):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    x = df.constant(2.)
    assert df.function(lambda x: gradient(square, x))(x).item() == 4.
    with pytest.raises(TracedValueError, match="use dualflow"):
        gradient(df.function(lambda x: square(x)), x)


def test_boolean_operators_are_lazy():
    @df.function
    def f(x, k):
        return 1 if k < 3 and x[k] > 2 else 0

    x = df.constant([1, 2, 3])
    assert [f(x, df.constant(k)).item() for k in (2, 1, 9)] == [1, 0, 0]


def test_run_functions_eagerly_runs_unconverted_code():
    df.config.run_functions_eagerly(True)
    try:
        check(calls_relu, (3,), (-1,))
    finally:
        df.config.run_functions_eagerly(False)


def test_doctests_and_prompts():
    """Find source text that only `linecache` or the history of a prompt has."""
    assert run("""
        import doctest, types, dualflow as df
        text = '''
        >>> import dualflow as df
        >>> @df.function
        ... def f(x):
        ...     if x > 0:
        ...         return x
        ...     return -x
        >>> f(df.constant(-3)).item()
        3
        '''
        test = doctest.DocTestParser().get_doctest(text, {}, "t", None, None)
        print(doctest.DocTestRunner().run(test))
        """) == "TestResults(failed=0, attempted=3)\n"
    assert run("""
        import readline, dualflow as df
        lines = ["import dualflow as df", "def g(x):", "    return 1", "def g(x):", "    if x > 0:",
                 "        return x", "    return -x", "", "f = df.function(g)"]
        for line in lines:
            readline.add_history(line)
        names = {"df": df}
        exec(compile("\\n".join(lines[3:7]) + "\\n", "<stdin>", "single"), names)
        print(df.function(names["g"])(df.constant(-4)).item())
        """) == "4\n"


IS_LONG = {"three": lambda n: n > 3}


def test_functions_are_found_among_frozen_objects():
    suite = gc.get_freeze_count()           # the suite freezes its items
    gc.freeze()
    try:
        def f(x):
            y = df.boolean_mask(x, x > 0.)
            return y * (2. if IS_LONG["three"](y.shape[0]) else 3.)

        traced = df.function(f)
        for n in (2, 4):
            assert traced(df.ones([n])).tolist() == f(df.ones([n])).tolist()
        assert gc.get_freeze_count()
    finally:
        gc.unfreeze()
        if suite:
            gc.freeze()


def test_traces_of_code_without_text_are_freed():
    """The refusal is cached, but neither its traceback nor, through it, the frames of a trace."""
    from dualflow.graph.trace.trace import Trace

    def once():
        names = {}
        exec("def f(x):\n    return x if x > 0 else -x\n", names)
        f = df.function(names["f"])
        return f(df.constant(1)).item() + f(df.constant([1], "int64")).item()

    assert once() == 2
    gc.collect()
    known, traces = len(convert._cache), sum(isinstance(x, Trace) for x in gc.get_objects())
    for _ in range(3):
        once()
    gc.collect()
    assert len(convert._cache) <= known
    assert sum(isinstance(x, Trace) for x in gc.get_objects()) <= traces


def test_memory_of_converted_code_is_freed():
    def once():
        f = compiled("def f(x):\n    return x if x > 0 else -x\n")
        df.function(f)(df.constant(1))

    once()
    gc.collect()
    n = len(convert._cache)
    for _ in range(5):
        once()
    gc.collect()
    assert len(convert._cache) <= n + 1
