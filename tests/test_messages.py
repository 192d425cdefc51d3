"""Messages for common mistakes of users."""

import io
import traceback

import pytest

import dualflow as df

X, M = df.constant([1., 2., 3.]), df.constant([[1., 2., 3.], [4., 5., 6.]])


@pytest.mark.parametrize("call, kind, words", [
    (lambda v: bool(X), ValueError, r"ambiguous.*reduce_any\(x\) or dualflow.reduce_all.*& \|"),
    (lambda v: bool(v), ValueError, "ambiguous"),
    (lambda v: bool(df.constant([])), ValueError, "the truth of 0 elements"),
    (lambda v: v["a"], TypeError, "indexing: 'a' of type str, expected integers, slices"),
    (lambda v: v @ M, ValueError, r"a has shape \(3,\) and b \(2, 3\)"),
    (lambda v: v.__setitem__(0, 1), TypeError, r"v is assigned by a method: v\[\.\.\.\]\.assign"),
    (lambda v: X.__setitem__(0, 1), TypeError, "a tensor never changes: use"),
    (lambda v: X.__delitem__(0), TypeError, "a tensor never changes: use"),
    (lambda v: v.__delitem__(0), TypeError, "a tensor never changes: use"),
    (lambda v: X["a"], TypeError, "indexing: 'a' of type str, expected integers, slices"),
    (lambda v: X[1.0], TypeError, "indexing: an index of float32"),
    (lambda v: X[1.0:], TypeError, "expected a slice of integers"),
    (lambda v: X @ M, ValueError, r"a has shape \(3,\) and b \(2, 3\).*\(3\) to equal.*\(2\)"),
    (lambda v: M @ df.constant([1., 2.]), ValueError, r"a has shape \(2, 3\) and b \(2,\)"),
    (lambda v: df.concat(X, X), TypeError, r"concat: axis is .*one argument: concat\(\[a, b\]\)"),
    (lambda v: df.stack(v, X), TypeError, r"stack: axis is .*one argument: stack\(\[a, b\]\)"),
    (lambda v: df.optimizers.SGD("0.1"), TypeError,
     "SGD: learning_rate is '0.1', expected a number"),
    (lambda v: df.optimizers.SGD(None), TypeError, "SGD: learning_rate is None"),
    (lambda v: f"{X:.2f}", ValueError, r"format\(\): '.2f' is for one number, got float32 \(3,\)"),
    (lambda v: f"{v:.2f}", ValueError, "for one number"),
    (lambda v: df.optimizers.Adam(beta1=0.5), TypeError,
     r"Adam\(\) has no argument 'beta1'; did you mean 'beta_1'\?"),
    (lambda v: df.optimizers.Adam(amsgrd=True), TypeError, "did you mean 'amsgrad'"),
    (lambda v: df.optimizers.SGD(wrong=1), TypeError,
     r"SGD\(\) has no argument 'wrong'; it has learning_rate, momentum, nesterov, weight_decay"),
    (lambda v: divmod(X, "a"), TypeError, "expected numbers"),
    (lambda v: X.foo, AttributeError, "'dualflow.Tensor' object has no attribute 'foo'"),
    (lambda v: v.foo, AttributeError, "'dualflow.Variable' object has no attribute 'foo'"),
])
def test_messages(call, kind, words):
    with pytest.raises(kind, match=words):
        call(df.Variable([1., 2., 3.], name="v"))


ONE_BY_ONE = {       # mistaken call: call in the message
    "zeros(2, 3)": "zeros([2, 3])",
    "zeros(2, 3, 4)": "zeros([2, 3, 4])",
    "ones(2, 3, 4)": "ones([2, 3, 4])",
    "fill(2, 3, 0.5)": "fill([2, 3], 0.5)",
    "reshape(x, 1, 3)": "reshape(x, [1, 3])",
    "broadcast_to(x, 2, 3)": "broadcast_to(x, [2, 3])",
    "tile(x, 2, 3)": "tile(x, [2, 3])",
    "reverse(x, 0, 1)": "reverse(x, [0, 1])",
    "squeeze(x, 0, 1)": "squeeze(x, [0, 1])",
    "transpose(x, 1, 0)": "transpose(x, [1, 0])",
    "transpose(x, 2, 0, 1)": "transpose(x, [2, 0, 1])",
    "random.normal(2, 3)": "random.normal([2, 3])",
    "random.truncated_normal(2, 3)": "random.truncated_normal([2, 3])",
    "random.uniform(2, 3)": "random.uniform([2, 3])",
}


@pytest.mark.parametrize("written", ONE_BY_ONE)
@pytest.mark.parametrize("traced", [False, True])
def test_separate_sizes_and_axes_raise(written, traced):
    run = df.function if traced else lambda f: f
    for x in (X, df.Variable(X)):
        with pytest.raises(TypeError) as raised:
            run(lambda: eval(f"df.{written}", {"df": df, "x": x}))()    # noqa: B023
        assert f"as one argument: {ONE_BY_ONE[written]}" in str(raised.value)


def test_single_int_is_a_shape():
    assert df.zeros(3, df.int32).shape == df.zeros(3).shape == df.random.normal(3, 0, 1).shape
    assert df.random.uniform(3, 2, 4).shape == df.random.normal(3, 2.).shape == (3,)
    assert df.reshape(M, 6).shape == (6,) and df.tile(X, 2).shape == (6,)


SIGNS = {"+=": "assign_add", "-=": "assign_sub", "*=": "assign", "/=": "assign", "//=": "assign",
         "%=": "assign", "**=": "assign", "@=": "assign", "&=": "assign", "|=": "assign",
         "^=": "assign", "<<=": "assign", ">>=": "assign"}


@pytest.mark.parametrize("sign", SIGNS)
def test_augmented_assignment_to_a_variable_raises(sign):
    v = df.Variable([1, 2], name="v")
    with pytest.raises(TypeError, match=SIGNS[sign]):
        exec(f"v {sign} 1", {"v": v})
    if sign != "@=":
        with pytest.raises(TypeError, match=r"v\[\.\.\.\]\.assign"):
            exec(f"v[0] {sign} 1", {"v": v})
    with pytest.raises(TypeError, match=SIGNS[sign]):
        df.function(lambda: exec(f"v {sign} 1", {"v": v}))()
    x = df.constant([1, 2])
    if sign != "@=" and sign != "/=":
        names = {"x": x}
        exec(f"x {sign} 1", names)          # rebinds the name, as for Python numbers
        assert names["x"] is not x and x.tolist() == [1, 2]


def test_format_of_scalars():
    assert f"{df.constant(2.5):.2f} {df.Variable(2.5):.1f}" == "2.50 2.5"
    assert f"{X:>60}" == f"{X!s:>60}" and f"{X}" == str(X)


def test_matmul_takes_vectors_as_the_operator_does():
    for f in (df.matmul, lambda a, b: a @ b):
        for run in (f, df.function(f)):
            assert run(M, X).tolist() == [14., 32.] and run(X, X).item() == 14.
            assert run(df.constant([1., 2.]), M).tolist() == [9., 12., 15.]
    assert df.matmul(M, [1., 2.], transpose_a=True).tolist() == [9., 12., 15.]
    assert df.matmul(X, M, transpose_b=True).tolist() == [14., 32.]
    g = df.grad(lambda x: df.reduce_sum(df.matmul(M, x)))(X)
    assert g.tolist() == [5., 7., 9.]


def test_class_names_and_modules():
    assert str(df.Tensor) == "<class 'dualflow.Tensor'>"
    assert str(df.Variable) == "<class 'dualflow.Variable'>"
    assert df.TensorSpec.__module__ == "dualflow" and df.Tensor.__qualname__ == "Tensor"
    assert df.function(lambda x: str(type(x)))(X) == "<class 'dualflow._core.Symbol'>"


def test_dir_of_the_package():
    names = dir(df)
    assert not {"Any", "importlib", "_importlib", "_typing", "_LATE", "typing"} & {*names}
    assert {"Tensor", "function", "errors", "math", "__version__"} <= {*names}
    assert all(hasattr(df, name) for name in names)


# --- membership in containers -------------------------------------------------------------------

def test_list_membership_finds_the_same_object_first():
    x, y, v = df.constant([1., 2.]), df.constant([1., 2.]), df.Variable([1., 2.])
    for items in ([x], [x, y], [None, "a", x], (x, y), {1: x, 2: y}.values()):
        assert x in items and not (x not in items)
    assert v in [v, x, y] and x in {x, y} and x in {x: 1} and v not in {x}
    assert df.constant(1.) in [df.constant(1.)] and df.constant(1.) not in [df.constant(2.)]
    assert None not in [x, v] and "a" not in [x]


@pytest.mark.parametrize("search", [
    lambda x, items: x in items, lambda x, items: x not in items,
    lambda x, items: items.index(x), lambda x, items: items.count(x),
    lambda x, items: items.remove(x)])
def test_list_membership_of_several_elements_raises(search):
    x, y = df.constant([1., 2.]), df.Variable([1., 2.])
    with pytest.raises(ValueError, match=r"ambiguous.*any\(t is x for t in items\)"):
        search(x, [y, x])
    with pytest.raises(ValueError, match="broadcast"):
        search(x, [df.constant([1., 2., 3.]), x])
    assert any(t is x for t in [y, x])


def test_list_membership_of_traced_tensors():
    def found(x, y, z):
        return df.constant([float(x in [x, y]), float(z in [z + 1., z]), float(None in [x])])

    def compared(x, y):
        return x if x in [y, x] else y

    traced = df.function(found)
    assert traced(X, X + 0., X[0]).tolist() == found(X, X + 0., X[0]).tolist() == [1., 1., 0.]
    for function in (compared, df.function(compared)):
        with pytest.raises(ValueError, match=r"any\(t is x for t in items\)"):
            function(X, X + 0.)
    with pytest.raises(TypeError, match=r"bool\(\)"):
        df.function(compared, autograph=False)(X, X + 0.)


def test_truth_value_raises_outside_containers():
    with pytest.raises(ValueError, match="ambiguous"):
        bool(df.equal(X, X))
    with pytest.raises(ValueError, match="broadcast"):
        df.constant([1., 2.]) == X          # noqa: B015
    assert 2. in X and 5. not in X


# --- tracebacks ---------------------------------------------------------------------------------

def test_traceback_has_at_most_one_core_frame():
    with pytest.raises(ValueError) as caught:
        df.add(X, df.constant([1., 2.]))
    files = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert files[0] == __file__ and sum(not name.endswith(".py") for name in files) <= 1


# --- notebooks ----------------------------------------------------------------------------------

def test_notebook_representations():
    html = df.constant([[1., 2.]])._repr_html_()
    assert "Tensor shape=(1, 2) dtype=float32" in html and "[[1. 2.]]" in html
    assert "Variable &#x27;&lt;w&gt;&#x27; shape=()" in df.Variable(1., name="<w>")._repr_html_()
    f = df.function(lambda x: (x._repr_html_(), df.exp(x)))
    made = f.get_concrete_function(X)
    assert "&lt;dualflow.Symbol" in f(X)[0]
    assert made._repr_svg_().startswith("<svg") and f.graph_for(X)._repr_svg_().startswith("<svg")
    graph = df.Graph()
    with graph.as_default():
        df.exp(graph.placeholder([2], name="x"))
    assert graph._repr_svg_().startswith("<svg")


def sum_of_unequal(x):
    return x + df.constant([1., 2.])


def a_gradient_that_fails(x):
    with df.GradientTape() as tape:
        tape.watch(x)
        y = df.custom_gradient(lambda x: (x * 2., sum_of_unequal))(x)
    return tape.gradient(y, x)


@pytest.mark.parametrize("run", [
    sum_of_unequal, df.function(sum_of_unequal), a_gradient_that_fails,
    df.function(a_gradient_that_fails), lambda x: df.vmap(sum_of_unequal)(df.stack([x, x])),
    lambda x: df.gather(x, [7]), lambda x: df.function(df.gather)(x, df.cast(x, df.int32) + 7),
])
def test_notebook_traceback_of_an_error(run):
    """The traceback shows the user's lines and at most one function of the core: notebooks never
    hide the last frame."""
    shown = pytest.importorskip("IPython.core.ultratb").VerboseTB(theme_name="nocolor")
    with pytest.raises(df.errors.DualflowError) as caught:
        run(X)
    text = shown.text(caught.type, caught.value, caught.tb)
    assert __file__ in text or "tests/test_messages.py" in text
    assert text.count(".pxi:") + text.count(".pyx:") <= 1
    frames = [f for f in traceback.extract_tb(caught.tb) if not f.filename.endswith(".py")]
    assert len(frames) <= 1


def test_progress_bars_get_the_dataset_length():
    tqdm = pytest.importorskip("tqdm")
    batches = df.data.Dataset.range(10).batch(3)
    output = io.StringIO()
    for _ in tqdm.tqdm(batches, file=output):
        pass
    assert len(batches) == 4 and "4/4" in output.getvalue()
