"""Functions as files: sizes, names, branches and loops, and unsupported functions."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

pytest.importorskip("onnx")

import onnx

import dualflow as df
from tests.onnx.runtimes import RUNTIMES, assert_close, model_of, runtime


def check(fn, specs, *calls, runtimes=RUNTIMES):
    """Check that one file of `fn` matches `fn` for the arguments of each call."""
    model = model_of(fn, *specs)
    for arrays in calls:
        made = fn(*[df.constant(a) for a in arrays])
        want = [y.numpy() for y in (made if isinstance(made, list | tuple) else [made])]
        for run in runtimes:
            assert_close(want, run(model, *arrays))
    return model


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


X = df.TensorSpec([None, 4])


def test_unknown_sizes():
    def fn(x):
        n = x.shape[0]
        return [df.reshape(x, [n * 2, 2]), df.zeros([n, 3]), x[1:, ::2], x[:, 1], df.shape(x),
                x / n, df.reshape(x, [-1]), x[-1], df.reduce_sum(x, 1) ** (n // 2)]
    model = check(fn, [X], [normal(3, 4)], [normal(1, 4)], [normal(64, 4)])
    assert [d.dim_param for d in model.graph.input[0].type.tensor_type.shape.dim] == ["x_0", ""]


def test_data_dependent_sizes():
    def fn(x):
        y = df.boolean_mask(x, x > 0)
        return [df.reshape(y, [y.shape[0], 1]) / y.shape[0]]
    check(fn, [X], [normal(3, 4)], [normal(5, 4, seed=1)])


def branch(x):
    y = x * 2.
    if x[0, 0] > 0:
        y, z = y + x, df.reduce_sum(x)
    else:
        z = df.constant(3.)
    return [y, z]


def test_branch():
    check(branch, [X], [np.ones((2, 4), "float32")], [-np.ones((3, 4), "float32")])


def test_switch_case():
    def fn(i, x):
        return df.switch_case(i, {0: lambda: x + 1., 1: lambda: x * x, 2: lambda: -x})
    model = check(fn, [df.TensorSpec([], df.int32), df.TensorSpec([3])],
                  *[[np.array(i, "int32"), normal(3)] for i in (0, 1, 2, 7, -1)])
    assert "If" in {node.op_type for node in model.graph.node}


def halve(x):
    n = df.constant(0)
    while df.reduce_max(x) > 1:
        x = x / 2.
        n += 1
    return [x, n]


def test_while_loop():
    check(halve, [X], [normal(2, 4) * 100], [normal(2, 4) / 100])


@pytest.mark.skipif(runtime not in RUNTIMES, reason="the reference evaluator joins rows of Loop "
                    "instead of stacking them; onnxruntime is not installed")
@pytest.mark.parametrize("reverse", [False, True])
def test_scan(reverse):
    def fn(x):
        return list(df.scan(lambda c, r: (c + r, df.reshape(c * r, [2, 2])), df.zeros([4]), x,
                            reverse=reverse))
    check(fn, [X], [normal(5, 4)], [normal(1, 4)], runtimes=[runtime])


def test_nested_functions():
    inner = df.function(lambda x, k: (x * k, x.shape[0]))

    def fn(x):
        y, n = inner(x, 2.)
        z, m = inner(y, 3.)
        return [z + y, df.zeros([n + m])]
    check(fn, [X], [normal(3, 4)])


def test_variables_become_initializers():
    w = df.Variable(normal(4, 2), name="w")
    model = check(lambda x: [x @ w + w[0]], [X], [normal(3, 4)])
    assert [i.name for i in model.graph.initializer].count("w") == 1


def test_deeply_nested_calls():
    def fn(x):
        for _ in range(300):
            x = df.function(lambda y, before=x: df.sin(y) + before)(x)
        return [x]
    check(fn, [df.TensorSpec([2])], [normal(2)], runtimes=RUNTIMES[:1])


def test_gradients(tmp_path):
    w, b = df.Variable(normal(4, 3)), df.Variable(normal(3))

    def fn(x):
        with df.GradientTape() as tape:
            loss = df.reduce_sum(df.nn.softmax(df.tanh(x @ w + b)) ** 2.)
        return [loss, *tape.gradient(loss, [w, b])]
    check(fn, [X], [normal(3, 4)], [normal(1, 4)])


def test_names(tmp_path):
    path = tmp_path / "a.onnx"
    df.onnx.save(lambda x, y: {"total": x + y, "rest": x - y}, path, X, X)
    graph = onnx.load(path).graph
    assert [i.name for i in graph.input] == ["x", "y"]
    assert [o.name for o in graph.output] == ["rest", "total"]         # in the order of keys
    df.onnx.save(lambda x: x, path, normal(3, 4), input_names=["in"], output_names=["out"])
    graph = onnx.load(path).graph
    assert (graph.input[0].name, graph.output[0].name) == ("in", "out")
    with pytest.raises(df.errors.InvalidArgumentError, match="input_names"):
        df.onnx.save(lambda x: x, path, X, input_names=["a", "b"])


V = df.Variable([1., 2.])
RETURNED = {
    "a constant": (lambda x: df.constant([1., 2.]), 1),
    "a constant and more": (lambda x: [df.constant(5), x + 1., df.constant([1., 2.])], 3),
    "a constant twice": (lambda x: (lambda y: [y, x, y])(df.constant(3.)), 3),
    "numbers": (lambda x: [3, x, 2.5, True], 4),
    "an array": (lambda x: [np.arange(3), x], 2),
    "an input": (lambda x: [x, x], 2),
    "a value twice": (lambda x: (lambda y: [y, y, x])(x * 2.), 3),
    "a variable": (lambda x: [V, x, V + 0.], 3),
    "a constant of a call": (lambda x: list(df.function(lambda y: (y, df.constant(7.)))(x)), 2),
    "a dict": (lambda x: {"b": df.constant(2.), "a": x}, 2),
    "a large constant": (lambda x: [df.range(100.), x], 2),
}


@pytest.mark.parametrize("concrete", [False, True])
@pytest.mark.parametrize("name", RETURNED)
def test_every_result_is_an_output(name, concrete, tmp_path):
    """Constants, inputs and variables are outputs like computed values, in the same order."""
    fn, n = RETURNED[name]
    path, spec, x = tmp_path / "a.onnx", df.TensorSpec([2]), np.array([3., 4.], "float32")
    want = fn(df.constant(x))
    want = [df.convert_to_tensor(y).numpy() for y in df.nest.flatten(want)]
    assert len(want) == n
    if concrete:
        df.onnx.save(df.function(fn).get_concrete_function(spec), path)
    else:
        df.onnx.save(fn, path, spec)
    model = onnx.load(path)
    assert len(model.graph.output) == n
    if name == "a dict":
        assert [o.name for o in model.graph.output] == ["a", "b"]
    loaded = df.onnx.load(path)(x)
    loaded = [y.numpy() for y in (loaded if isinstance(loaded, tuple) else [loaded])]
    for made in [loaded, *[run(model, x) for run in RUNTIMES]]:
        assert_close(want, made)


@pytest.mark.parametrize("concrete", [False, True])
def test_returned_sizes(concrete, tmp_path):
    path = tmp_path / "a.onnx"
    fn = df.function(lambda x: (x.shape[0] + 1, x * 2., x.shape[0] / 2))
    if concrete:
        df.onnx.save(fn.get_concrete_function(X), path)
    else:
        df.onnx.save(fn, path, X)
    for run in RUNTIMES:
        got = run(onnx.load(path), normal(5, 4))
        assert (len(got), got[0], got[2]) == (3, 6, 2.5)


@pytest.mark.parametrize("returned", [lambda n: n, lambda n: {"n": n}, lambda n: [n, [n * 2]]])
def test_results_that_are_only_sizes(returned, tmp_path):
    df.onnx.save(lambda x: returned(x.shape[0]), tmp_path / "a.onnx", X)
    got = RUNTIMES[0](onnx.load(tmp_path / "a.onnx"), normal(5, 4))
    assert got == [5, 10][:len(got)]


@pytest.mark.parametrize("fn", [lambda x: (df.constant(x.shape[0]), x),
                                lambda x: {"n": df.convert_to_tensor([2, x.shape[0]])}])
def test_constants_computed_from_sizes_raise(fn, tmp_path):
    """They would be fixed to the sizes of the trace."""
    with pytest.raises(df.errors.InvalidArgumentError, match=r"x: \(8, 4\).*dualflow.shape"):
        df.onnx.save(fn, tmp_path / "a.onnx", X)
    df.onnx.save(fn, tmp_path / "a.onnx", df.TensorSpec([3, 4]))


@pytest.mark.parametrize("other", [None, "text"])
def test_concrete_functions_without_tensor_results_raise(other, tmp_path):
    concrete = df.function(lambda x: (x, other)).get_concrete_function(X)
    with pytest.raises(df.errors.InvalidArgumentError, match=f"returns {other!r}"):
        df.onnx.save(concrete, tmp_path / "a.onnx")


def test_concrete_function(tmp_path):
    f = df.function(lambda x: x + 1.)
    df.onnx.save(f.get_concrete_function(X), tmp_path / "a.onnx")
    with pytest.raises(df.errors.InvalidArgumentError, match="ConcreteFunction"):
        df.onnx.save(f.get_concrete_function(X), tmp_path / "a.onnx", X)


@pytest.mark.parametrize("fn, message", [
    (lambda x: None, "returns None"), (lambda x: "text", "returns 'text'"),
    (lambda x: [], r"returns \[\]"), (lambda x: {"a": x, "b": object()}, "returns <object")])
def test_functions_without_tensor_results_raise(fn, message, tmp_path):
    path = tmp_path / "model.onnx"
    with pytest.raises(df.errors.InvalidArgumentError, match=f"^onnx.save: <lambda> {message}"):
        df.onnx.save(fn, path, df.TensorSpec([2]))
    assert not path.exists()


@pytest.mark.parametrize("args, message", [
    ((), "x"), ((df.TensorSpec([2]),) * 2, "argument"), ((df.TensorSpec([2], df.int32),), "int32")])
def test_invalid_arguments_raise(args, message, tmp_path):
    path = tmp_path / "model.onnx"
    with pytest.raises((df.errors.DualflowError, TypeError), match=message):
        df.onnx.save(lambda x: df.sqrt(x[0]) @ x, path, *args)
    assert not path.exists()


def test_paths(tmp_path):
    """Existing files are replaced atomically; missing folders are created."""
    df.onnx.save(lambda x: x * 2.0, tmp_path / "a.onnx", df.TensorSpec([2]))
    before = (tmp_path / "a.onnx").read_bytes()
    df.onnx.save(lambda x: x + 2.0, tmp_path / "a.onnx", df.TensorSpec([2]))
    assert (tmp_path / "a.onnx").read_bytes() != before
    df.onnx.save(lambda x: x * 2.0, tmp_path / "new" / "a.onnx", df.TensorSpec([2]))
    assert (tmp_path / "new" / "a.onnx").exists()
    with pytest.raises(OSError):
        df.onnx.save(lambda x: x * 2.0, tmp_path / "a.onnx" / "b.onnx", df.TensorSpec([2]))


def test_all_unsupported_ops_are_listed(tmp_path):
    v = df.Variable(1.)

    def fn(x):
        v.assign_add(1.)
        return df.math.lgamma(x) + df.random.normal([4])
    with pytest.raises(df.errors.UnimplementedError) as caught:
        df.onnx.save(fn, tmp_path / "a.onnx", X)
    text = str(caught.value)
    assert all(name in text for name in ("assign_add", "lgamma", "generator"))
    assert text.count("test_save.py:") >= 3
    assert list(tmp_path.iterdir()) == []


def test_unused_ops_are_not_saved():
    def fn(x):
        df.math.lgamma(x)
        return [x + 1.]
    assert len(model_of(fn, X).graph.node) == 2


def test_branch_on_a_size_warns(tmp_path):
    def fn(x):                  # Python needs the number
        return x * 2. if str(x.shape[0]) == "100" else x
    with pytest.warns(UserWarning, match=r"test_save.py:\d+"):
        df.onnx.save(fn, tmp_path / "a.onnx", X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        df.onnx.save(fn, tmp_path / "a.onnx", normal(3, 4))


def test_branch_on_a_size_is_saved(tmp_path):
    def fn(x):
        return x * 2. if x.shape[0] > 100 else x
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        df.onnx.save(fn, tmp_path / "a.onnx", X)
    loaded = df.onnx.load(tmp_path / "a.onnx")
    for n in (1, 100, 101):
        x = normal(n, 4)
        assert df.nest.flatten(loaded(x))[0].tolist() == fn(x).tolist()


def test_onnx_is_imported_lazily():
    code = ("import sys, dualflow\nassert 'onnx' not in sys.modules\n"
            "sys.modules['onnx'] = None\n"
            "try: dualflow.onnx.save(abs, 'x', 1.)\n"
            "except ImportError as e: assert 'dualflow[onnx]' in str(e)\n"
            "else: raise AssertionError")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_sparse_gradients(tmp_path):
    table = df.Variable(normal(5, 3))

    def fn(i):
        with df.GradientTape() as tape:
            loss = df.reduce_sum(df.gather(table, i) ** 2.)
        return tape.gradient(loss, [table])
    path = tmp_path / "a.onnx"
    df.onnx.save(fn, path, df.TensorSpec([None], df.int32))
    i = np.array([1, 1, 2], "int32")
    want = df.convert_to_tensor(fn(df.constant(i))[0]).numpy()
    for run in RUNTIMES:
        assert_close([want], run(onnx.load(path), i))
