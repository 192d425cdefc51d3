"""Python iteration over traced tensors: rows, their order and gradients match eager mode; `for`
statements that can be converted become graph loops."""

import warnings

import numpy as np
import pytest

import dualflow as df
from dualflow.errors import RetracingWarning, TracedValueError
from dualflow.graph.ir import LOOP, walk
from tests.autograph.referee import compiled


def n_loops(f, *args):
    return sum([node.op is LOOP for node in walk(f.graph_for(*args).nodes)])


@pytest.mark.parametrize("text", [
    "for v in xs:", "for n, v in enumerate(xs):", "for v, w in zip(xs, reversed(xs)):",
    "for n, (v, w) in enumerate(zip(reversed(xs), xs), 1):", "for v in reversed(xs):",
    "for v in (\n            xs):", "for n, v in enumerate(\n            xs, 1\n        ):",
])
def test_for_statements_become_loops(text):
    f = df.function(compiled(f"""
        def f(xs):
            total = 0.
            {text}
                total = total * .5 + v
            return total
        """))
    x = df.constant([1., 2., 3.])
    assert n_loops(f, x) == 1
    assert f(x).item() == f.python_function(x).item()


@pytest.mark.parametrize("text", [
    "[v * 2. for v in xs]", "a, b, c = xs", "[*xs]", "list(xs)", "sum(xs)", "list(enumerate(xs))",
    "list(zip(xs, xs))", "[v for n in range(2) for v in xs]", "list(map(df.sin, xs))",
    "list(reversed(xs))", "{str(n): v for n, v in enumerate(xs)}", "dict(zip('abc', xs))",
    "(lambda *v: v)(*xs)", "df.stack([*xs])", "[[v * w for v in xs] for w in xs]",
])
@pytest.mark.parametrize("autograph", [True, False])
def test_other_iteration_is_unrolled(text, autograph):
    text = f"{text}; return a, c" if "=" in text else f"return {text}"
    f = df.function(compiled(f"def f(xs):\n    {text}\n"), autograph=autograph)
    x = df.constant([1., 2., 3.])
    assert not n_loops(f, x)
    tree = df.nest.map_structure(lambda v: v.tolist() if isinstance(v, df.Tensor) else v, f(x))
    assert tree == df.nest.map_structure(
        lambda v: v.tolist() if isinstance(v, df.Tensor) else v, f.python_function(x))


def test_for_statement_without_source_is_unrolled():
    module = {}
    exec("def f(xs):\n    t = 0.\n    for v in xs:\n        t = t * .5 + v\n    return t\n", module)
    x = df.constant([1., 2., 3.])
    assert df.function(module["f"])(x).item() == module["f"](x).item()
    left = df.autograph.do_not_convert(lambda xs: next(iter(xs)))
    assert df.function(left)(x).item() == 1.


def test_gradients_match_eager_mode():
    x = df.constant(np.random.default_rng(3).normal(size=(4, 3)).astype("float32"))

    def f(x):
        with df.GradientTape() as tape:
            tape.watch(x)
            a, b, *more = x
            y = sum(df.sin(v) * a for v in more) + df.tanh(b) * df.reduce_sum(x)
        return tape.gradient(y, x)

    for passes in (True, False):
        assert df.function(f, passes=passes)(x).numpy().tobytes() == f(x).numpy().tobytes()


@pytest.mark.parametrize("text", ["[v * 2. for v in xs][-1]", "sum(xs)", "list(xs)[0]",
                                  "max(xs)", "len(list(zip(xs, xs)))", "sorted(xs)[0]"])
def test_changing_size_gets_separate_traces(text):
    plain = compiled(f"def f(xs):\n    return {text}\n")
    f = df.function(plain)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RetracingWarning)
        for n in (3, 2, 5, 4, 2, 5, 1):
            x = df.constant([float(k % 3) for k in range(n)])
            got, want = f(x), plain(x)
            assert float(got) == float(want)


def test_unknown_size_of_an_input_signature():
    f = df.function(lambda xs: sum([v * 2. for v in xs]),
                    input_signature=[df.TensorSpec([None], df.float32)])
    for n in (3, 2, 4):
        assert f(df.ones([n])).item() == 2. * n


def test_iteration_over_too_many_rows_raises():
    f = compiled("def f(xs):\n    return [v for v in xs]\n")
    with pytest.raises(TracedValueError, match=r"iteration over xs:0 .* its 5000 rows one by one, "
                       r"at most 4096 are possible; use a `for` statement"):
        df.function(f)(df.zeros([5000]))
    g = df.function(compiled("""
        def f(xs):
            total = 0.
            for v in xs:
                total = total + v
            return total
        """))
    assert g(df.ones([5000])).item() == 5000.


def test_iteration_over_a_scalar_raises():
    for f in (lambda x: list(x), lambda x: [v for v in x], lambda x: sum(x)):
        with pytest.raises(TypeError, match=r"iteration over a tensor with shape \(\)"):
            df.function(f)(df.constant(1.))


def test_unpacking_a_wrong_number_of_rows_raises():
    def f(x):
        a, b = x
        return a + b

    with pytest.raises(ValueError, match=r"too many values to unpack \(expected 2\)"):
        df.function(f)(df.ones([3]))


def test_variables():
    v = df.Variable([1., -2., 3.])

    def f():
        a, b, c = v
        v.assign_add([1., 1., 1.])
        return a * b + c, [u * 2. for u in v], sum(v)

    want = df.nest.map_structure(lambda x: x.item(), f())
    v.assign([1., -2., 3.])
    assert df.nest.map_structure(lambda x: x.item(), df.function(f)()) == want


def test_number_format_of_a_traced_tensor_raises():
    with pytest.raises(TracedValueError, match=r"formatting as a number needs .*dualflow\.print"):
        df.function(lambda x: f"{x:.2f}")(df.constant(1.))
