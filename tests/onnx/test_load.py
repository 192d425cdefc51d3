"""Files as functions: calls, contents, and round trips."""

import numpy as np
import pytest

pytest.importorskip("onnx")

import onnx
from onnx import TensorProto, helper

import dualflow as df
from dualflow.onnx.importers import OPERATORS
from dualflow.onnx.importers.choices import CHOICES

X = df.TensorSpec([None, 4])


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def saved(fn, tmp_path, *args, **names):
    path = tmp_path / "model.onnx"
    df.onnx.save(fn, path, *args, **names)
    return path


def of_nodes(*nodes, inputs=("x",), outputs=("y",), dtype=TensorProto.FLOAT, opset=20, **more):
    info = lambda name: helper.make_tensor_value_info(name, dtype, None)  # noqa: E731
    graph = helper.make_graph(list(nodes), "g", [info(i) for i in inputs],
                              [info(o) for o in outputs], **more)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


W, B = normal(4, 3, seed=1), normal(3, seed=2)


def network(w, b):
    def fn(x):
        h = df.nn.softmax(df.tanh(x @ w + b))
        n = x.shape[0]
        return [df.reshape(h, [n * 3]), df.reduce_mean(h, 0), x[:, ::2]]
    return fn


def test_round_trip_has_the_same_bits(tmp_path):
    fn = network(df.constant(W), df.constant(B))
    model = df.onnx.load(saved(fn, tmp_path, X), traced=False)
    general = df.function(model, input_signature=[X])
    for n in (1, 3, 50):
        x = df.constant(normal(n, 4))
        for made in (model(x), df.function(model)(x), general(x)):
            assert isinstance(made, tuple)
            for a, b in zip(fn(x), made, strict=True):
                np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert general.experimental_get_tracing_count() == 1


def test_branches_and_loops_round_trip(tmp_path):
    def fn(x):
        y = df.cond(df.reduce_sum(x) > 0, lambda: x * 2., lambda: -x)
        return df.while_loop(lambda i, y: df.reduce_max(y) > 1, lambda i, y: (i + 1, y / 2.),
                             [df.constant(0), y])
    model = df.onnx.load(saved(fn, tmp_path, X), traced=False)
    for x in (normal(2, 4) * 10, -normal(3, 4) * 10):
        for made in (model(x), df.function(model)(df.constant(x))):
            for a, b in zip(fn(df.constant(x)), made, strict=True):
                np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_rows_of_a_loop_round_trip(tmp_path):
    def fn(x):
        return list(df.scan(lambda c, r: (c + r, c * r), df.zeros([4]), x))
    model = df.onnx.load(saved(fn, tmp_path, X), traced=False)
    for n in (1, 5):
        x = normal(n, 4)
        for made in (model(x), df.function(model)(df.constant(x))):
            for a, b in zip(fn(df.constant(x)), made, strict=True):
                np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_sources_and_arguments(tmp_path):
    path = saved(lambda a, b: a - b, tmp_path, X, X, input_names=["a", "b/0"])
    for given in (path, str(path), path.read_bytes(), onnx.load(path)):
        model = df.onnx.load(given)
    assert [(s.name, s.shape) for s in model.inputs] == [("a", (None, 4)), ("b/0", (None, 4))]
    assert [s.name for s in model.outputs] == ["output"]
    x, y = normal(2, 4), normal(2, 4, seed=1)
    for made in (model(x, y), model(x, **{"b/0": y}), model(**{"b/0": y, "a": x})):
        np.testing.assert_array_equal(made.numpy(), x - y)
    wrong = [((x,), {}, "b/0 not given"), ((x, y, y), {}, "got 3"), ((x, y), {"a": x}, "twice"),
             ((x, y), {"c": x}, "'c'"), ((x.astype("float64"), y), {}, "float64, expected float32"),
             ((x, y[0]), {}, "2 dimensions")]
    for args, kwargs, message in wrong:
        with pytest.raises(df.errors.InvalidArgumentError, match=message):
            model(*args, **kwargs)


def test_trainable(tmp_path):
    path = saved(network(df.Variable(W, name="w"), df.Variable(B, name="b")), tmp_path, X)
    fixed, model = df.onnx.load(path), df.onnx.load(path, trainable=True)
    assert fixed.variables == [] and fixed.trainable_variables == []
    assert {"w", "b"} <= {v.name for v in model.variables}
    assert model.trainable_variables == model.variables
    x = df.constant(normal(8, 4))
    w = next(v for v in model.variables if v.name == "w")
    optimizer = df.optimizers.SGD(0.5)

    @df.function
    def step():
        with df.GradientTape() as tape:
            loss = df.reduce_mean(df.square(model(x)[1] - [1., 0., 0.]))
        variables = [v for v in model.trainable_variables if v.shape]
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss
    losses = [float(step()) for _ in range(20)]
    assert losses[-1] < losses[0]
    assert not np.array_equal(w.numpy(), W)


def test_all_unknown_operators_are_listed():
    model = of_nodes(helper.make_node("Sin", ["x"], ["a"]),
                     helper.make_node("Nonsense", ["a"], ["b"], domain="some.where"),
                     helper.make_node("StringConcat", ["b", "b"], ["c"]),
                     helper.make_node("Nonsense", ["c"], ["y"], domain="some.where"))
    with pytest.raises(df.errors.UnimplementedError,
                       match=r"StringConcat \(1\), some.where:Nonsense \(2\)"):
        df.onnx.load(model)


def test_unsupported_attributes_are_listed():
    model = of_nodes(helper.make_node("Cast", ["x"], ["a"], to=TensorProto.STRING),
                     helper.make_node("Constant", [], ["b"], value_string="b"),
                     helper.make_node("StringConcat", ["a", "b"], ["y"]))
    with pytest.raises(df.errors.UnimplementedError, match=r"Cast to STRING \(1\), "
                       r"Constant of strings \(1\), StringConcat \(1\)"):
        df.onnx.load(model)


def test_invalid_attributes_are_listed():
    model = of_nodes(helper.make_node("Relu", ["x"], ["a"], alpha=1.0),
                     helper.make_node("Pad", ["a", "p"], ["b"], mode="mirror"),
                     helper.make_node("Relu", ["b"], ["c"], alpha=2.0),
                     helper.make_node("GridSample", ["c", "c"], ["y"], mode="bi", padding_mode=""),
                     inputs=("x", "p"))
    with pytest.raises(df.errors.UnimplementedError, match=(
            r"GridSample with mode 'bi' \(1\), GridSample with padding_mode '' \(1\), "
            r"Pad with mode 'mirror' \(1\), Relu with alpha \(2\)$")):
        df.onnx.load(model)


def test_string_attributes_have_known_choices():
    """Exceptions are names, and attributes whose strings are checked by operators."""
    free = {"to", "value_string", "value_strings", "pool_strings", "equation", "activations", "y",
            "xs", "zs"}
    for schema in onnx.defs.get_all_schemas_with_history():
        kind = f"{schema.domain}:{schema.name}" if schema.domain else schema.name
        composed = schema.has_function or schema.has_context_dependent_function
        if schema.domain == "ai.onnx.ml" or not (kind in OPERATORS or composed):
            continue
        for name, attribute in schema.attributes.items():
            if attribute.type.name in ("STRING", "STRINGS") and name not in free:
                known = CHOICES.get(f"{kind}.{name}", CHOICES.get(name))
                default = attribute.default_value.s.decode()
                assert known, (kind, name)
                assert default in (*known, "", "foward"), (kind, name)      # GRU 1 has this typo


@pytest.mark.parametrize("version", [0, 99])
def test_unknown_versions_raise(version):
    model = of_nodes(helper.make_node("Sin", ["x"], ["y"]))
    model.opset_import[0].version = version
    with pytest.raises(df.errors.UnimplementedError, match=f"needs opset {version}; dualflow"):
        df.onnx.load(model)
    model.opset_import[0].version, model.ir_version = 20, 1000
    with pytest.raises(df.errors.UnimplementedError, match="IR version 1000; dualflow"):
        df.onnx.load(model)


@pytest.mark.parametrize("node, message", [
    (helper.make_node("Add", ["x"], ["y"]), "Add, which makes 'y': has 1 inputs, expected 2 to 2"),
    (helper.make_node("Add", ["x", ""], ["y"]), "lacks input 2 of 2"),
    (helper.make_node("Add", ["x", "z"], ["y"]), "no node before it makes its input 'z'"),
    (helper.make_node("Cast", ["x"], ["y"]), "lacks its attribute to"),
    (helper.make_node("Cast", ["x"], ["y"], to=1.5), "has FLOAT as to, expected INT"),
    (helper.make_node("Sin", ["x"], ["y", "z"]), "has 2 outputs, expected at most 1"),
    (helper.make_node("Sin", ["x"], ["x"]), "there is another 'x'"),
    (helper.make_node("Sin", ["x"], ["z"]), "no node makes the output 'y'")])
def test_invalid_nodes_raise(node, message):
    with pytest.raises(df.errors.InvalidArgumentError, match=message):
        df.onnx.load(of_nodes(node))


def test_failing_node_is_named():
    model = df.onnx.load(of_nodes(helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2],
                                                   strides=[1])))
    with pytest.raises(df.errors.InvalidArgumentError, match="MaxPool, which makes 'y'"):
        model(normal(1, 1, 4, 4))


GATES = {"RNN": 1, "LSTM": 4, "GRU": 3}


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("options", [{}, {"layout": 1}, {"linear_before_reset": 1}])
def test_composed_recurrent_layers_match_kernels(kind, options):
    """A clip so large that it has no effect selects the composed formulas."""
    if "linear_before_reset" in options and kind != "GRU":
        return
    gates, units, batch = GATES[kind], 3, 2
    given = {"x": normal(5, batch, 4), "w": normal(2, gates * units, 4, seed=1),
             "r": normal(2, gates * units, units, seed=2),
             "b": normal(2, 2 * gates * units, seed=3), "n": np.array([5, 3], "int32"),
             "h": normal(2, batch, units, seed=4)}
    if "layout" in options:
        given |= {"x": given["x"].swapaxes(0, 1), "h": given["h"].swapaxes(0, 1)}
    outputs = ["y", "last"]
    info = lambda n, d=TensorProto.FLOAT: helper.make_tensor_value_info(n, d, None)  # noqa: E731

    def made(**more):
        node = helper.make_node(kind, list(given), outputs, direction="bidirectional",
                                hidden_size=units, **options, **more)
        graph = helper.make_graph([node], "g", [info(k, TensorProto.INT32 if k == "n" else
                                                     TensorProto.FLOAT) for k in given],
                                  [info(y) for y in outputs])
        return df.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)]))

    tensors = [df.constant(x) for x in given.values()]
    want = made()(*tensors)
    for model in (made(clip=1e6), df.function(made(clip=1e6))):
        for a, b in zip(want, model(*tensors), strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)


def test_invalid_models_raise(tmp_path):
    for given in (b"\x00\xff rubbish", b"", bytearray(b"x" * 10_000)):
        with pytest.raises(df.errors.InvalidArgumentError,
                           match=f"no ONNX model in the {len(given)} bytes$"):
            df.onnx.load(given)
    (tmp_path / "bad.onnx").write_bytes(b"\x00\xff rubbish")
    with pytest.raises(df.errors.InvalidArgumentError, match=r"no ONNX model in '.*bad\.onnx'$"):
        df.onnx.load(tmp_path / "bad.onnx")
    with pytest.raises(df.errors.InvalidArgumentError, match="expected a path"):
        df.onnx.load(3)
    with pytest.raises(FileNotFoundError):
        df.onnx.load(tmp_path / "none.onnx")


def test_open_sizes_and_ranks():
    """A size of -1 is unknown; inputs may have no rank; errors name the input."""
    model = of_nodes(helper.make_node("Relu", ["x"], ["y"]))
    model.graph.input[0].CopyFrom(helper.make_tensor_value_info("x", TensorProto.FLOAT, [-1, 3]))
    f = df.onnx.load(model)
    assert f(normal(2, 3)).shape == (2, 3) and f(normal(4, 3)).shape == (4, 3)
    with pytest.raises(df.errors.DualflowError, match=r"x has shape \(3,\), expected 2 dim"):
        f(normal(3))
    parts = [helper.make_tensor(name, TensorProto.FLOAT, [1, 8, n], normal(1, 8, n).ravel())
             for name, n in (("w", 3), ("r", 2))]
    f = df.onnx.load(of_nodes(helper.make_node("LSTM", ["x", "w", "r"], ["y"], hidden_size=2),
                              initializer=parts))
    assert f(normal(4, 1, 3)).shape == (4, 1, 1, 2)
    with pytest.raises(df.errors.DualflowError, match="lstm: x has shape"):
        f(normal(4, 3))


def test_truncated_file_raises(tmp_path):
    whole = saved(network(df.constant(W), df.constant(B)), tmp_path, X).read_bytes()
    for n in range(0, len(whole) - 1, 37):
        with pytest.raises(df.errors.DualflowError):
            df.onnx.load(whole[:n])(normal(1, 4))


def beside(path, **where):
    """Save a model that adds a table stored in another file."""
    table = TensorProto(name="w", dims=[3], data_type=TensorProto.FLOAT,
                        data_location=TensorProto.EXTERNAL)
    for key, value in where.items():
        table.external_data.add(key=key, value=str(value))
    path.write_bytes(of_nodes(helper.make_node("Add", ["x", "w"], ["y"]),
                              initializer=[table]).SerializeToString())
    return path


def test_external_tensors(tmp_path, monkeypatch):
    folder, w = tmp_path / "model", np.array([1., 2., 3.], "float32")
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "w.bin").write_bytes(b"    " + w.tobytes())
    (tmp_path / "w.bin").write_bytes(w.tobytes())
    (folder / "link.bin").symlink_to(tmp_path / "w.bin")
    path = beside(folder / "m.onnx", location="data/w.bin", offset=4, length=12)
    np.testing.assert_array_equal(df.onnx.load(path)(w).numpy(), w + w)
    monkeypatch.chdir(folder)               # bytes belong to no folder, not to the current one
    for given in (path.read_bytes(), onnx.load(path, load_external_data=False)):
        with pytest.raises(df.errors.InvalidArgumentError, match="by its path"):
            df.onnx.load(given)
    np.testing.assert_array_equal(df.onnx.load("m.onnx")(w).numpy(), w + w)
    for where in ("../w.bin", tmp_path / "w.bin", folder / "data/w.bin", "link.bin", "none.bin", "",
                  "."):
        with pytest.raises(df.errors.InvalidArgumentError, match="w"):
            df.onnx.load(beside(folder / "bad.onnx", location=where))
    for options in ({"length": 4}, {"length": "many"}, {"offset": -4}, {"offset": 100}):
        with pytest.raises(df.errors.DataLossError):
            df.onnx.load(beside(folder / "bad.onnx", location="data/w.bin", **options))


def test_unsupported_dtypes_raise():
    model = of_nodes(helper.make_node("Identity", ["x"], ["y"]), dtype=TensorProto.COMPLEX64)
    with pytest.raises(df.errors.UnimplementedError, match="'x' is COMPLEX64"):
        df.onnx.load(model)


def test_functions_defined_in_the_file():
    double = helper.make_function("own", "Double", ["a"], ["b"],
                                  [helper.make_node("Add", ["a", "a"], ["b"])],
                                  [helper.make_opsetid("", 20)])
    model = of_nodes(helper.make_node("Double", ["x"], ["h"], domain="own"),
                     helper.make_node("Double", ["h"], ["y"], domain="own"))
    model.functions.append(double)
    model.opset_import.append(helper.make_opsetid("own", 1))
    np.testing.assert_array_equal(df.onnx.load(model)([1., 2.]).numpy(), [4., 8.])


def test_operators_of_old_versions():
    """Axes were attributes in old versions."""
    model = of_nodes(helper.make_node("Squeeze", ["x"], ["h"], axes=[0]),
                     helper.make_node("Unsqueeze", ["h"], ["i"], axes=[1]),
                     helper.make_node("ReduceSum", ["i"], ["j"], axes=[1], keepdims=0),
                     helper.make_node("Slice", ["j"], ["y"], starts=[1], ends=[3]), opset=9)
    np.testing.assert_array_equal(df.onnx.load(model)([[1., 2., 3., 4.]]).numpy(), [2., 3.])


def test_shape_arithmetic_is_static():
    """Exporters write these nodes to flatten all but the first dimension."""
    n = helper.make_node
    constants = [helper.make_tensor(name, TensorProto.INT64, shape, values) for name, shape, values
                 in (("zero", [], [0]), ("axis", [1], [0]), ("minus", [1], [-1]))]
    model = of_nodes(n("Shape", ["x"], ["s"]), n("Gather", ["s", "zero"], ["b"], axis=0),
                     n("Unsqueeze", ["b", "axis"], ["b1"]),
                     n("Concat", ["b1", "minus"], ["wanted"], axis=0),
                     n("Reshape", ["x", "wanted"], ["y"]), initializer=constants)
    fn = df.function(df.onnx.load(model), input_signature=[df.TensorSpec([None, 2, 3])])
    assert [fn(df.zeros([k, 2, 3])).shape for k in (1, 4)] == [(1, 6), (4, 6)]
    assert fn.experimental_get_tracing_count() == 1


def test_transposes_of_factors_are_fused(tmp_path):
    """The transposed factor has another reader, a reader in a branch, or no other reader."""
    def fn(a, b):
        t = df.transpose(b)
        y = df.matmul(a, b, transpose_b=True)
        z = df.cond(df.reduce_sum(a) > 0, lambda: t * 2., lambda: t)
        return [y, z, df.matmul(df.transpose(a), t, transpose_b=True)]
    for rows, columns in ((3, 4), (1, 300)):
        a, b = normal(rows, columns), normal(rows, columns, seed=1)
        model = df.onnx.load(saved(fn, tmp_path, a, b), traced=False)
        for made in (model(a, b), df.function(model)(df.constant(a), df.constant(b))):
            for x, y in zip(fn(df.constant(a), df.constant(b)), made, strict=True):
                np.testing.assert_array_equal(x.numpy(), y.numpy())
    linear = of_nodes(helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]),
                      helper.make_node("MatMul", ["x", "t"], ["y"]))
    assert [n.kind for n in df.onnx.load(linear)._body.nodes] == ["MatMul"]


@pytest.mark.parametrize("node, least, most", [
    (helper.make_node("RandomUniform", [], ["y"], shape=[4000], low=1., high=3.), 1., 3.),
    (helper.make_node("RandomNormal", [], ["y"], shape=[4000], mean=2., scale=0.5), -3., 7.),
    (helper.make_node("Dropout", ["twos", "half", "yes"], ["y"]), 0., 4.)])
def test_random_operators_differ_in_each_run(node, least, most):
    """The inputs are constant, but the results are not folded."""
    constants = [helper.make_tensor("twos", TensorProto.FLOAT, [4000], [2.] * 4000),
                 helper.make_tensor("half", TensorProto.FLOAT, [], [0.5]),
                 helper.make_tensor("yes", TensorProto.BOOL, [], [True])]
    model = df.onnx.load(of_nodes(node, inputs=(), initializer=constants))
    for fn in (model, df.function(model)):
        df.random.set_seed(1)
        first, second = fn().numpy(), fn().numpy()
        df.random.set_seed(1)
        np.testing.assert_array_equal(first, fn().numpy())
        assert not np.array_equal(first, second)
        assert least <= first.min() <= first.max() <= most and abs(first.mean() - 2) < 0.1


def test_bernoulli():
    p = df.constant(np.tile([0., 0.25, 1.], (2000, 1)), df.float32)
    model = df.onnx.load(of_nodes(helper.make_node("Bernoulli", ["x"], ["y"])))
    for fn in (model, df.function(model)):
        np.testing.assert_allclose(fn(p).numpy().mean(0), [0., 0.25, 1.], atol=0.05)


def test_calls_run_as_a_program(tmp_path):
    model = df.onnx.load(saved(network(df.constant(W), df.constant(B)), tmp_path, X))
    x = df.constant(normal(3, 4))
    one_by_one = df.onnx.load(tmp_path / "model.onnx", traced=False)
    for want, got in zip(one_by_one(x), model(x), strict=True):
        assert want.numpy().tobytes() == got.numpy().tobytes()
    assert model.program.experimental_get_tracing_count() == 1 and one_by_one.program is None
    assert model.profile(x, runs=2).rows
    with pytest.raises(df.errors.UnimplementedError, match="operator by operator"):
        one_by_one.profile(x)
    with df.GradientTape() as tape:
        tape.watch(x)
        loss = df.reduce_sum(model(x)[0] ** 2.)
    assert tape.gradient(loss, x) is not None
    assert model.program.experimental_get_tracing_count() == 1


def test_model_that_cannot_be_traced_runs_operator_by_operator():
    """The number of splits depends on the data."""
    node = helper.make_node("SplitToSequence", ["x", "n"], ["y"])
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None]),
                      helper.make_tensor_value_info("n", TensorProto.INT64, [])],
        [helper.make_tensor_sequence_value_info("y", TensorProto.FLOAT, None)])
    model = df.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]))
    with pytest.warns(RuntimeWarning, match="g runs operator by operator"):
        made = model([1., 2., 3.], df.constant(2, df.int64))
    assert [y.numpy().tolist() for y in made] == [[1., 2.], [3.]] and model.program is None


def test_errors_are_those_of_the_operators():
    proto, texts = of_nodes(helper.make_node("MatMul", ["a", "b"], ["y"]), inputs=("a", "b")), []
    for model in df.onnx.load(proto), df.onnx.load(proto, traced=False):
        with pytest.raises(df.errors.ShapeError) as error:
            model([[1., 2.]], [[3.]])
        texts.append(str(error.value))
    assert texts[0] == texts[1]


def test_program_survives_a_call_that_fails():
    model = df.onnx.load(of_nodes(helper.make_node("MatMul", ["a", "b"], ["y"]), inputs=("a", "b")))
    assert model([[1., 2.]], [[3.], [4.]]).item() == 11.
    with pytest.raises(df.errors.ShapeError):
        model([[1., 2.]], [[3.]])
    assert model.program is not None and model([[1., 2.]], [[5.], [6.]]).item() == 17.
