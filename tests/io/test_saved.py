"""Modules saved with their traced functions, and loaded without their code."""

import copy
import io
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import dualflow as df
from dualflow import errors
from dualflow.io import content


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "saved")


def normal(*shape, seed=0):
    return df.constant(np.random.default_rng(seed).normal(size=shape).astype("float32"))


def same(a, b):
    def key(x):
        if not isinstance(x, df.TensorBase):
            return type(x), x
        value = x.value() if isinstance(x, df.Variable) else x
        return x.dtype.name, x.shape, bytes(df._core.memory_of(value))

    df.nest.assert_same_structure(a, b)
    return [*map(key, df.nest.flatten(a))] == [*map(key, df.nest.flatten(b))]


def saved(function, folder, *calls, **attributes):
    """Call a function, save it, and return it with its loaded copy."""
    module = df.Module()
    for name, x in attributes.items():
        setattr(module, name, x)
    module.f = function if hasattr(function, "trace_report") else df.function(function)
    results = [module.f(*call) for call in calls]
    df.save(module, folder)
    return results, df.load(folder).f, module


class Layer(df.Module):
    def __init__(self, n_in, n_out, seed):
        super().__init__()
        self.w = df.Variable(normal(n_in, n_out, seed=seed), name="w")
        self.b = df.Variable(df.zeros([n_out]), name="b")
        self.calls = df.Variable(0, trainable=False, name="calls")

    @df.function
    def __call__(self, x):
        self.calls.assign_add(1)
        return x @ self.w + self.b


class Model(df.Module):
    def __init__(self):
        super().__init__(name="classifier")
        self.layers = [Layer(4, 5, 1), {"last": (Layer(5, 3, 2),)}]
        self.first = self.layers[0]
        self.title, self.depth, self.rate, self.nothing = "digits", 2, 0.5, None
        self.random = df.random.Generator(5)
        self.optimizer = df.optimizers.Adam(0.1)        # not saved

    @df.function(input_signature=[df.TensorSpec([None, 4])])
    def __call__(self, x):
        y = df.nn.relu(self.layers[0](x))
        return self.layers[1]["last"][0](y)

    @df.function
    def classify(self, x, names, training=False, scale=1.):
        logits = self(x) * scale
        if training:
            keep = self.random.uniform([logits.shape[0], 1]) < self.rate
            logits = df.where(keep, logits, df.zeros_like(logits))
        return {"logits": logits, names["key"]: (df.argmax(logits, axis=1), logits.shape[0], "x")}

    @df.function
    def step(self, x, y):
        with df.GradientTape() as tape:
            loss = df.reduce_mean((self(x) - y) ** 2)
        self.optimizer.minimize(loss, self.trainable_variables, tape=tape)
        return loss

    @df.function
    def never(self, x):
        return x


def test_model_round_trip(folder):
    model = Model()
    x, y = normal(6, 4), normal(6, 3, seed=3)
    first = model.classify(x, {"key": "best"})
    model.classify(x, {"key": "best"}, training=True)
    model.step(x, y)
    model(x)
    model.first(x)
    df.save(model, folder)
    assert os.listdir(folder) == ["module.safetensors"]
    other = df.load(folder)
    assert (other.name, other.title, other.depth, other.rate, other.nothing) == (
        "classifier", "digits", 2, 0.5, None)
    assert [v.name for v in other.variables] == [v.name for v in model.variables]
    assert [v.trainable for v in other.variables] == [v.trainable for v in model.variables]
    assert other.first is other.layers[0] and other.layers[1]["last"][0].w.shape == (5, 3)
    for n in (6, 2, 1):                         # any size of the first dimension
        x = normal(n, 4, seed=n)
        assert same(model(x), other(x))
        assert same(model.first(x), other.first(x)) if n == 6 else True
    x = normal(6, 4, seed=9)
    for training in (False, True, True):
        assert same(model.classify(x, {"key": "best"}, training=training),
                    other.classify(x, {"key": "best"}, training=training))
    assert sorted(first) == ["best", "logits"]
    for _ in range(3):                          # uses the optimizer slots
        assert same(model.step(x, y), other.step(x, y))
    assert same([v.value() for v in model.variables], [v.value() for v in other.variables])
    assert other.first.calls.item() == model.first.calls.item() > 5


def test_loading_runs_no_user_code(folder):
    model = Model()
    x = normal(2, 4)
    expected = model(x).tolist()
    df.save(model, folder)
    code = """
import sys
import dualflow as df
model = df.load(sys.argv[1])
assert model(df.constant(eval(sys.argv[2]))).tolist() == eval(sys.argv[3])
assert "tests" not in sys.modules and "pickle" not in vars(df.io.load)
"""
    subprocess.run([sys.executable, "-c", code, folder, str(x.tolist()), str(expected)],
                   check=True)


def test_gradients_and_training(folder):
    model = Model()
    x, y = normal(6, 4), normal(6, 3, seed=3)
    model(x)
    df.save(model, folder)
    other = df.load(folder)

    def gradients(model):
        with df.GradientTape() as outer:
            outer.watch(x)
            with df.GradientTape() as tape:
                tape.watch(x)
                loss = df.reduce_sum((model(x) - y) ** 3)
            first = tape.gradient(loss, [x, *model.trainable_variables])
        return [*first, outer.gradient(first[0], x)]

    assert same(gradients(model), gradients(other))

    def train(model):
        optimizer = df.optimizers.Adam(0.1)

        @df.function
        def step():
            with df.GradientTape() as tape:
                loss = df.reduce_mean((model(x) - y) ** 2)
            optimizer.minimize(loss, model.trainable_variables, tape=tape)
            return loss

        return [step() for _ in range(4)]

    assert same(train(model), train(other))


def branches(x):
    if df.reduce_sum(x) > 0.:
        y = x * 2.
    elif df.reduce_max(x) > 1.:
        y = df.exp(x)
    else:
        y = -x[:1] * df.ones_like(x)
    return y


def rounds(x):
    k, total = df.constant(0), df.zeros_like(x)
    while df.reduce_sum(total) < 10.:
        total += df.abs(x) + 0.1
        k += 1
        if k > 7:
            break
    return k, total


def rows(x):
    out = []
    for i, row in enumerate(x):
        out.append(row * df.cast(i, df.float32) if row[0] > 0. else row)
    return df.stack(out)


def scanned(x):
    def add(total, row):
        return total + row

    def both(total, row):
        return total + row, (total * row, row[:1])

    return (df.scan(add, x, initializer=df.zeros_like(x[0])),
            df.scan(add, x, initializer=x[0], reverse=True), df.scan(both, x[0], x))


def grows(x):
    return df.while_loop(lambda x: df.shape(x)[0] < 20, lambda x: df.concat([x, x], 0), [x],
                         shape_invariants=[df.TensorSpec([None, x.shape[1]])])


def counted(x):
    return df.while_loop(lambda k, x: True, lambda k, x: (k + 1, x * 1.5), (0, x),
                         maximum_iterations=df.cast(df.reduce_max(df.abs(x)), df.int32) + 2)


def sizes(x):
    n = x.shape[0]
    half = max(n // 2, 1)
    y = df.reshape(x, [n * x.shape[1]]) + df.zeros([n * x.shape[1]])
    if n > 3:
        y = y * 2.
    return y[:half], half, n / 2, df.zeros(df.shape(x)[0] * 2), y + n


def chosen(x):
    k = df.cast(df.abs(x[0, 0]) * 2., df.int32)
    return df.switch_case(k, [lambda: x, lambda: x * x, lambda: -x])


def helper(x):
    return df.tanh(x) + 1.


def called(x):
    inner = df.function(helper)
    return inner(inner(x)) * inner(x)


def drawn(x):
    return x + df.random.normal(x.shape) + df.random.uniform([1])


def numbers(x):
    return [x[0, 0], {"z": 3, "a": (None, True, "text", 2.5)}, []]


PROGRAMS = [branches, rounds, rows, scanned, grows, counted, sizes, chosen, called, drawn, numbers]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("signature", [False, True])
@pytest.mark.parametrize("eagerly", [False, True])
def test_programs(folder, f, signature, eagerly):
    options = {"input_signature": [df.TensorSpec([None, 3])]} if signature else {}
    x = normal(5, 3)
    df.random.set_seed(3)
    if f is rows and signature:
        with pytest.raises(errors.UnimplementedError, match="rows decides by sizes that its"):
            saved(df.function(f, **options), folder)
        return
    _, loaded, module = saved(df.function(f, **options), folder, *[(x,)] * (not signature))
    for seed, n in enumerate((5, 5, 5, 2, 9) if signature else (5, 5, 5)):
        x = normal(n, 3, seed=seed) * 2.
        df.random.set_seed(seed)
        df.config.run_functions_eagerly(eagerly)
        try:
            result = loaded(x)
        finally:
            df.config.run_functions_eagerly(False)
        df.random.set_seed(seed)
        assert same(result, module.f(x)), n


@pytest.mark.parametrize("f", [branches, rows, scanned, counted, called, chosen, rounds],
                         ids=lambda f: f.__name__)
def test_gradients_of_programs(folder, f):
    x = normal(5, 3, seed=4)
    _, loaded, module = saved(f, folder, (x,))

    def gradient(f, x):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = [df.reduce_sum(y * y) for y in df.nest.flatten(f(x)) if y.dtype.is_floating]
            total = df.add_n(y)
        return tape.gradient(total, x)

    assert same(gradient(loaded, x), gradient(module.f, x))
    assert same(df.function(lambda x: gradient(loaded, x))(x), gradient(module.f, x))


def test_gradients_inside_saved_functions(folder):
    w = df.Variable(normal(3, 3))

    def f(x):
        with df.GradientTape() as tape:
            y = df.reduce_sum(scanned(x @ w)[0] ** 2) + df.reduce_sum(branches(x @ w))
        g = tape.gradient(y, w)
        w.assign_sub(0.01 * g)
        return y, g

    x = normal(4, 3)
    _, loaded, module = saved(f, folder, (x,), w=w)
    for _ in range(3):
        assert same(loaded(x), module.f(x))


def test_several_traces_and_numbers(folder):
    def f(x, by, twice=False, name=None):
        y = x * by if name is None else x - by
        return y * 2 if twice else y

    function = df.function(f)
    x, n = df.constant([1., 2.]), df.constant([1, 2])
    calls = [(x, 2.), (x, 3.), (n, 2), (n, 5), (x, 2., True), (x, 2., False, "minus")]
    _, loaded, module = saved(function, folder, *calls)
    for call in [*calls, (x, 7.5), (n, 9), (x, 4., False)]:
        assert same(loaded(*call), f(*call)), call
    assert same(loaded(by=3., x=x, twice=False), f(x, 3.))
    with pytest.raises(TypeError, match=r"f: .*signature is \(x, by, twice=False, name=None\)"):
        loaded()
    for bad in ((x, 2., True, "minus"), (df.ones([3]), 2.), (x, 2), ([x], 2.),
                (df.cast(x, df.float64), 2.)):
        with pytest.raises(errors.InvalidArgumentError, match=r"f: got .*it was saved for \(fl"):
            loaded(*bad)
    assert "float32 (2,), any float" in repr(loaded) and module


def test_function_that_returns_variables_and_constants(folder):
    v, c = df.Variable(1.), df.constant([3.])
    _, loaded, module = saved(lambda x: (v.assign_add(x), c, {"v": v}), folder,
                              (df.constant(1.),), v=v)
    other = df.load(folder)
    made = other.f(df.constant(2.))
    assert made[0].item() == made[2]["v"].item() == 4. and made[1].tolist() == [3.]
    assert isinstance(made[0], df.Tensor) and loaded and module
    assert other.v.item() == 4. and v.item() == 2.
    df.save(other, folder)
    assert df.load(folder).f(df.constant(1.))[0].item() == 5.


def test_copies_of_a_loaded_module(folder):
    model = Model()
    x = normal(2, 4)
    model.classify(x, {"key": "k"}, training=True)
    df.save(model, folder)
    for make in (copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))):
        loaded = df.load(folder)
        other = make(loaded)
        other.first.w.assign_add(df.ones([4, 5]))
        assert same(loaded(x), model(x)) and not same(other(x), model(x))
        other.first.w.assign_sub(df.ones([4, 5]))
        other.first.w.assign(model.first.w)
        assert same(other(x), model(x))
        assert other.classify(x, {"key": "k"}, training=True).keys() == {"logits", "k"}


def test_options_are_preserved(folder):
    x = normal(40, 3)
    for options in ({"fast_math": True}, {"passes": False}):
        def f(x):
            return df.reduce_sum(df.tanh(x) * 3. / 7., axis=0)

        _, loaded, module = saved(df.function(f, **options), folder, (x,))
        assert same(loaded(x), module.f(x))
        mine = loaded._traces[0]._function.options
        assert mine == module.f.options


def test_loaded_module_can_be_saved_again(folder):
    model = Model()
    x = normal(2, 4)
    model.classify(x, {"key": "k"}, training=True)
    df.save(model, folder)
    other = df.load(folder)
    other.first.w.assign_add(df.ones([4, 5]))
    df.save(other, folder + "2")
    third = df.load(folder + "2")
    assert same(other(x), third(x)) and not same(model(x), third(x))
    assert same(other.classify(x, {"key": "k"}, training=True),
                third.classify(x, {"key": "k"}, training=True))
    assert third.first is third.layers[0] and third.title == "digits"


def test_checkpoint_of_a_loaded_module(folder, tmp_path):
    model = Model()
    df.save(model, folder)
    path = df.train.Checkpoint(model=model).save(tmp_path / "ckpt")
    other = df.load(folder)
    other.first.w.assign_add(df.ones([4, 5]))
    df.train.Checkpoint(model=other).restore(path, partial=True)
    assert same(other.first.w, model.first.w)


def test_missing_attributes_and_files_raise(folder):
    model = Model()
    df.save(model, folder)
    other = df.load(folder)
    with pytest.raises(AttributeError, match=r"the loaded module classifier has no 'optimizer'"):
        print(other.optimizer)
    with pytest.raises(errors.InvalidArgumentError, match=r"Model.never was not traced when"):
        other.never(df.ones([2]))
    with pytest.raises(errors.InvalidArgumentError, match=r"got \(x: float32 \(2, 3\)\), it"):
        other(df.ones([2, 3]))
    df.save(df.Module(), folder)
    with pytest.raises(AttributeError, match="has no '__call__'"):
        df.load(folder)(1)
    with pytest.raises(errors.NotFoundError, match=r"no saved module in .*/nowhere \(no file"):
        df.load(folder + "/nowhere")


def test_saved_functions_print(folder, capsys):
    v = df.Variable(3., name="v")

    def f(x, y):
        print("Tracing with", x)
        print("only once")
        df.print("y:", [y, {"of": y * 2.}], v, sep="; ", end=".\n", summarize=1)
        df.print("each time", output_stream=sys.stderr)
        for k in df.range(2):
            print(v, k)
        return x + v

    args = df.constant(1.), df.ones([4])
    _, loaded, _ = saved(f, folder, args)
    capsys.readouterr()
    df.function(f)(*args)
    wanted = capsys.readouterr()
    wanted = wanted._replace(out=wanted.out.replace("only once\n", ""))
    assert "y:; [[1. ... 1.], {'of': [2. ... 2.]}]; 3.0.\n" in wanted.out
    loaded(*args)
    assert capsys.readouterr() == wanted
    df.function(loaded)(*args)
    assert capsys.readouterr() == wanted


def test_unsupported_objects_raise(folder):
    class Thing:
        pass

    @df.custom_gradient
    def own(x):
        return x * 2., lambda g: g * 7.

    v, x = df.Variable(1.), df.constant(1.)
    for f, args, why in (
            (lambda x: df.numpy_function(lambda x: x, [x], df.float32), (x,),
             r"<lambda> cannot be saved: .*calls Python"),
            (lambda x: df.print(x, output_stream=io.StringIO()), (x,), "calls Python"),
            (lambda x: df.py_function(lambda x: x, [x], df.float32), (x,), "calls Python"),
            (lambda v: v + 1., (v,), r"argument v is any Variable"),
            (lambda x, t: x, (x, Thing()), r"argument t is a Thing|argument t is <"),
            (lambda x: {x.shape: x}, (x,), r"\(\) is a Shape, expected None, a number"),
            (lambda x: Thing(), (x,), r"is a Thing, expected None, a number")):
        with pytest.raises(errors.UnimplementedError, match=why):
            saved(f, folder, args)
    for bad in (None, v, Model):
        with pytest.raises(errors.InvalidArgumentError, match=r"save: got .*, expected a Module"):
            df.save(bad, folder)
    assert not os.path.exists(folder)
    _, loaded, _ = saved(lambda x: own(x), folder, (x,))
    assert loaded(x).item() == 2.
    with df.GradientTape() as tape:
        tape.watch(x)
        y = loaded(x)
    with pytest.raises(errors.UnimplementedError, match=r"is Python code, and was not saved"):
        tape.gradient(y, x)


def test_damaged_files(folder):
    df.save(Model(), folder)
    path = os.path.join(folder, "module.safetensors")
    with open(path, "rb") as file:
        good = file.read()
    random = np.random.default_rng(1)
    for k in random.integers(0, len(good), 60):
        bad = bytearray(good)
        bad[k] ^= 1 << random.integers(8)
        with open(path, "wb") as file:
            file.write(bad)
        with pytest.raises(errors.DataLossError):
            df.load(folder)
    with open(path, "wb") as file:
        file.write(good[:-5])
    with pytest.raises(errors.DataLossError, match="damaged"):
        df.load(folder)
    for said in ({}, {"modules": 3}, [], None):
        content.write_content(path, "dualflow module 1", {}, {"module": said})
        with pytest.raises(errors.DataLossError, match="invalid"):
            df.load(folder)
    content.write_content(path, "dualflow checkpoint 1", {}, {})
    with pytest.raises(errors.DataLossError, match="is a dualflow checkpoint 1, expected a"):
        df.load(folder)


def test_many_nested_calls_and_a_long_chain(folder):
    def deep(x, n):
        return df.function(lambda x: deep(x, n - 1))(x) + 1. if n else x

    def chain(x):
        for _ in range(3000):
            x = x + 1.
        return x

    x = df.constant(1.)
    for f, expected in ((lambda x: deep(x, 40), 41.), (chain, 3001.)):
        _, loaded, _ = saved(f, folder, (x,))
        assert loaded(x).item() == expected


def test_file_metadata(folder):
    from safetensors import safe_open

    df.save(Model(), folder)
    with safe_open(os.path.join(folder, "module.safetensors"), framework="numpy") as file:
        said = json.loads(file.metadata()["manifest"])
        assert "variables/1/w" in file.keys()  # noqa: SIM118  no mapping
    assert said["format"] == "dualflow module 1"


class Rolls(df.Module):
    def __init__(self):
        self.random = df.random.Generator(3)

    @df.function(input_signature=[df.TensorSpec([], df.int32)])
    def __call__(self, n):
        x = self.random.normal([2])
        for _ in df.range(n):
            x += self.random.normal([2])
        return x + self.random.normal([2])


def test_keys_of_loops_and_of_other_code_have_one_generator(folder):
    model = Rolls()
    model(df.constant(2))
    df.saved_model.save(model, folder)
    loaded = df.saved_model.load(folder)
    for n in (2, 0, 3):
        assert loaded(df.constant(n)).tolist() == model(df.constant(n)).tolist()
    assert loaded.random.counter == model.random.counter


def test_options_are_accepted(folder):
    options = df.saved_model.SaveOptions(experimental_custom_gradients=True, extra_tags=["a"])
    module = df.Module()
    module.v = df.Variable(2.)
    df.saved_model.save(obj=module, export_dir=folder, options=options)
    loaded = df.saved_model.load(export_dir=folder, options=df.saved_model.LoadOptions())
    assert loaded.v.item() == 2. and "extra_tags=['a']" in repr(options)
    options = df.train.CheckpointOptions(experimental_io_device="/job:localhost")
    checkpoint = df.train.Checkpoint(v=module.v)
    path = checkpoint.save(folder + "/ckpt", options=options)
    module.v.assign(0.)
    checkpoint.restore(path, options=options).assert_consumed()
    assert module.v.item() == 2.
