"""One-line reprs with content, and their HTML in notebooks."""

import pytest

import dualflow as df

X = df.constant([1., 2.])


class Layer(df.Module):
    def __init__(self, name=None):
        super().__init__(name=name)
        self.w = df.Variable(df.ones([2, 3]))
        self.b = df.Variable([1.], trainable=False)


class Net(df.Module):
    def __init__(self):             # a module may leave out super().__init__()
        self.layers = [Layer("first"), Layer()]
        self.shared = self.layers[0].w


@df.function
def step(x, n=2):
    return {"y": x * 0.1, "rest": (df.reduce_sum(x), n)}


def check(x, text, *parts):
    """Check the repr, and the parts of the HTML."""
    assert repr(x) == text
    html = x._repr_html_()
    assert html.startswith('<div style="font-family: monospace">') and html.endswith("</div>")
    for part in parts:
        assert part in html


def test_tapes():
    v = df.Variable([1., 2.])
    for _ in range(4):              # repeated tapes are compared with their signature
        with df.GradientTape() as tape:
            y = v * v * 2.
            check(tape, "<dualflow.GradientTape: 2 ops recorded, 1 tensor watched, recording>")
        check(tape, "<dualflow.GradientTape: 2 ops recorded, 1 tensor watched>", "ops recorded")
        tape.gradient(y, v)
    check(df.GradientTape(persistent=True),
          "<dualflow.GradientTape: 0 ops recorded, 0 tensors watched, persistent>")


def test_optimizers():
    sgd = df.optimizers.SGD(0.1, momentum=0.9)
    sgd.build([df.Variable([1.])])
    check(sgd, "<SGD learning_rate=0.1, momentum=0.9, iterations=0, variables=1>", "momentum")
    decay = df.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9)
    check(df.optimizers.Adam(decay, clipnorm=1.),
          "<Adam learning_rate=ExponentialDecay, clipnorm=1.0, beta_1=0.9, beta_2=0.999, "
          "epsilon=1e-07, iterations=0, variables=0>", "ExponentialDecay")
    assert "learning_rate=0.5" in repr(df.optimizers.SGD(df.Variable(0.5)))
    assert "<lambda>" in repr(df.optimizers.SGD(lambda: 0.5))


def test_modules():
    check(Layer(), "<Layer: 2 variables, 7 elements>", "not trainable", "(2, 3)")
    check(Layer("dense"), "<Layer 'dense': 2 variables, 7 elements>", "&#x27;dense&#x27;")
    check(Net(), "<Net: 4 variables, 14 elements>", "shared", "layers/0/b",
          "layers/1/w")


def test_functions():
    f = df.function(step.python_function, name="step")
    check(f, "<dualflow.Function step(x, n=2): 0 traces>")
    f(X)
    check(f, "<dualflow.Function step(x, n=2): 1 trace>", "first call",
          "step(x: float32 (2,), n: 2)")
    check(f.get_concrete_function(X),
          "<dualflow.ConcreteFunction step(x: float32 (2,), n: 2) -> {'y': float32 (2,), 'rest': "
          "(float32 (), 2)}: 4 nodes>", "<svg")


def test_a_function_without_a_signature():
    assert repr(df.function(dict, autograph=False)).startswith("<dualflow.Function dict")


def test_drawings(tmp_path):
    drawing = step.draw(X)
    assert isinstance(drawing, str) and drawing._repr_svg_() == str(drawing)
    assert drawing.startswith("<svg")
    assert repr(drawing) == f"<dualflow.Drawing: {len(drawing):,} characters of SVG>"
    dot = step.draw(X, path=tmp_path / "step.dot")
    assert dot._repr_svg_() is None and repr(dot).endswith("of DOT>")


def test_profiles():
    profile = step.profile(X, runs=1)
    assert "\n" not in repr(profile) and repr(profile).startswith("<dualflow.Profile of step: ")
    assert "<th" in profile._repr_html_() and str(profile).startswith("step: ")


def test_checkpoints():
    checkpoint = df.train.Checkpoint(model=Net(), epoch=3)
    check(checkpoint, "<dualflow.train.Checkpoint of model, epoch=3: 4 variables>",
          "&lt;Net: 4 variables, 14 elements&gt;")
    check(df.train.Checkpoint(), "<dualflow.train.Checkpoint of nothing: 0 variables>")


def test_datasets_and_iterators():
    spec = "element_spec: (TensorSpec(shape=(None,), dtype=float32), " \
           "TensorSpec(shape=(None,), dtype=float32))>"
    dataset = df.data.Dataset.from_tensor_slices((X, X)).shuffle(2).batch(2)
    check(dataset, f"<Dataset Slices -> Shuffle -> Batch, {spec}", "<td", "Shuffle", ">1<")
    check(iter(dataset), f"<dualflow.data.Iterator, pass 0, of Slices -> Shuffle -> Batch, {spec}")


def test_a_repr_runs_no_function_of_a_dataset():
    calls = []
    dataset = df.data.Dataset.range(3).map(lambda x: calls.append(x) or x)
    generated = df.data.Dataset.from_generator(lambda: calls.append(1) or iter([1]))
    for x in (dataset, generated, dataset.batch(2), iter(dataset)):
        assert "element_spec: not known yet" in repr(x) and "not known" in x._repr_html_()
    assert not calls
    assert dataset.element_spec == df.TensorSpec((), df.int64)
    assert repr(dataset.batch(2)).endswith("element_spec: TensorSpec(shape=(None,), dtype=int64)>")


def test_text_elements_of_a_dataset(tmp_path):
    (tmp_path / "a.txt").write_text("x\n")
    assert repr(df.data.TextLineDataset(str(tmp_path / "a.txt"))).endswith("element_spec: str>")


@pytest.mark.parametrize("make", [
    lambda: df.optimizers.Adam(0.1), lambda: df.train.Checkpoint(v=df.Variable(1.)), Layer,
    lambda: df.GradientTape(), lambda: df.data.Dataset.range(3), lambda: step])
def test_reprs_inside_a_traced_function(make):
    x = make()
    before = repr(x)

    @df.function
    def f(y):
        assert repr(x) == before
        return y

    f(X)


def test_tensors_have_a_fixed_width_font():
    assert '<pre style="font-family: monospace">[1. 2.]</pre>' in X._repr_html_()
