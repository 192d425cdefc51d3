"""Graphs written for TensorBoard: complete, acyclic, with scopes, dtypes and shapes."""

import numpy as np
import pytest

import dualflow as df
from dualflow.graph.passes import cache_invariants
from dualflow.summary.graph_def import to_graph_def
from tests.summary.events import read


def nodes(graph):
    """Return {name: NodeDef} in order; every input is defined earlier."""
    graph_def, _ = to_graph_def(graph)
    found = {}
    for node in graph_def.node:
        assert node.name not in found
        for x in node.input:
            assert x.lstrip("^").split(":")[0] in found, f"{x} of {node.name}"
        found[node.name] = node
    return found


def shape(node, k=0):
    return [d.size for d in node.attr["_output_shapes"].list.shape[k].dim]


def layer():
    w = df.Variable(np.ones([3, 2], np.float32), name="w")

    @df.function
    def step(x, n):
        with df.GradientTape() as tape:
            with df.name_scope("hidden"):
                y = df.nn.relu(x @ w + 1.)
            loss = df.reduce_mean(y, name="loss")
        df.print(loss)
        w.assign_sub(tape.gradient(loss, w))
        df.print(n)
        return loss
    return step


def traced(f, *args):
    return f.get_concrete_function(*args).graph


def test_traced_function():
    found = nodes(traced(layer(), df.TensorSpec([None, 3]), df.constant(1)))
    assert found["n"].op == "Placeholder"
    x, product = found["x"], found["hidden/matmul"]
    assert shape(x) == [-1, 3] and shape(product) == [-1, 2]
    assert list(product.input) == ["x", "hidden/w"]
    assert found["hidden/w"].op == "VariableV2"
    assert x.attr["dtype"].type == 1                                    # DT_FLOAT
    assert product.attr["T"].type == 1
    assert "transpose_a=False" in product.attr["attributes"].s.decode()
    assert product.attr["line"].s.decode().endswith("in step")
    assert found["hidden/constant"].attr["value"].tensor.float_val == [1.]
    assert any(name.startswith("gradients/") for name in found)
    assert list(found["print_1"].input) == ["n", "^print"]              # in this order
    assert {n.device for n in found.values()} == {"/device:CPU:0"}


def test_graphs_before_and_after_the_passes():
    f, x, n = layer(), df.ones([4, 3]), df.constant(1)
    before, after = nodes(f.compiled_for(x, n).traced), nodes(f.graph_for(x, n))
    assert {"add", "relu"} <= {node.op for node in before.values()}
    assert "relu" not in {n.op for n in after.values()}
    products = [n for n in after.values() if n.op == "matmul_cluster"]
    assert [n.attr["attributes"].s for n in products] == [b"add, relu", b"subtract"]


def test_bodies_are_scopes():
    @df.function
    def f(x, flag):
        with df.name_scope("outer"):
            _, y = df.while_loop(lambda k, _: k < 3, lambda k, v: (k + 1, df.tanh(v)), (0, x))
            return df.cond(flag, lambda: df.exp(y), lambda: df.sin(y * 2.))

    found = nodes(traced(f, df.TensorSpec([None]), df.TensorSpec([], df.bool_)))
    (tanh,) = [name for name in found if found[name].op == "tanh"]
    assert tanh == "outer/while_loop/tanh"
    loop = found["outer/while_loop"]
    assert tanh in loop.input                           # a body output is a loop output
    (exp,) = [name for name in found if found[name].op == "exp"]
    assert exp == "outer/cond/branch_1/exp"
    (parameter,) = found[exp].input
    assert list(found[parameter].input) == ["outer/while_loop:1"]
    assert set(found["outer/cond"].input) == {exp, "outer/cond/branch_0/sin", "flag"}
    assert not [n for n in found.values() if n.op == "Placeholder" and n.name not in ("x", "flag")]


def test_calls_are_scopes():
    inner = df.function(lambda x: df.tanh(x) + 1., name="inner")
    outer = df.function(lambda x: inner(x) * inner(x + 1.), name="outer")
    found = nodes(traced(outer, df.ones([2])))
    assert {name for name in found if found[name].op == "tanh"} == {"inner/tanh", "inner_1/tanh_1"}
    assert list(found["multiply"].input) == ["inner", "inner_1"]


def test_explicit_graph():
    g = df.Graph()
    with g.as_default(), df.name_scope("model"):
        x = g.placeholder([None, 2], name="x")
        y = df.square(x, name="y")
        df.gradients(df.reduce_sum(y), [x])
    found = nodes(g)
    assert shape(found["model/y"]) == [-1, 2] and list(found["model/y"].input) == ["model/x"]
    assert any("gradients/" in name for name in found)


def test_cached_results(monkeypatch):
    monkeypatch.setattr(cache_invariants, "LEAST_BYTES", 0)
    w = df.Variable(df.ones([64, 64]))
    f = df.function(lambda x: df.cast(x, df.bfloat16) @ df.cast(w, df.bfloat16))
    found = nodes(f.graph_for(df.ones([64, 64])))
    cached = [name for name in found if name.startswith("cached/")]
    assert cached, list(found)
    assert any(x in cached for n in found.values() if n.name not in cached for x in n.input)


def test_names_are_valid():
    f = df.function(lambda batch: batch["an image"] * 1. + batch["b"], name="lambda <1>")
    found = nodes(traced(f, {"an image": df.ones([2]), "b": df.ones([2])}))
    for name in found:
        assert name.replace("/", "").replace("_", "").replace(".", "").isalnum(), name


@pytest.mark.parametrize("dtype", df.dtypes.ALL, ids=str)
def test_dtypes(dtype):
    f = df.function(lambda x: df.stack([x, df.zeros([2], dtype)]))
    found = nodes(traced(f, df.TensorSpec([2], dtype)))
    assert found["x"].attr["dtype"].type > 0


def test_long_graph():
    """Writing neither recurses nor takes quadratic time."""
    g = df.Graph()
    with g.as_default():
        x = g.placeholder([2], name="x")
        for _ in range(3000):
            x = df.sin(x)
    assert len(nodes(g)) == 3001


def deep(x, depth):
    return df.cond(x > 0., lambda: deep(x - 1., depth - 1), lambda: x) if depth else x


def test_deeply_nested_graph():
    f = df.function(lambda x: deep(x, 8))
    assert sum(n.op == "cond" for n in nodes(traced(f, df.constant(9.))).values()) == 8


def test_graph_files(tmp_path):
    f = df.function(lambda x: df.tanh(x))
    concrete = f.get_concrete_function(df.TensorSpec([None, 3]))
    for name, what in (("a", concrete.graph), ("a2", concrete)):
        with df.summary.create_file_writer(tmp_path / name).as_default():
            assert df.summary.graph(what)
        assert [n.name for n in read(tmp_path / name).Graph().node] == ["x", "tanh"]
    g = df.Graph()
    with g.as_default():
        g.placeholder([2], name="one")
    df.summary.FileWriter(tmp_path / "b", g).close()
    df.summary.FileWriter(tmp_path / "c", graph_def=to_graph_def(g)[0]).close()
    assert [n.name for n in read(tmp_path / "b").Graph().node] == ["one"]
    assert [n.name for n in read(tmp_path / "c").Graph().node] == ["one"]
    assert df.summary.graph(concrete) is False
    with (df.summary.create_file_writer(tmp_path / "d").as_default(),
          pytest.raises(TypeError, match="graph: got 3, expected a")):
        df.summary.graph(3)
