"""Inspection of traced functions: graphs, plans, passes, drawings, profiles."""

import pytest

import dualflow as df
from dualflow.errors import InvalidArgumentError


@pytest.fixture
def f():
    @df.function
    def f(x, scale=2.):
        unused = x - 7.  # noqa: F841
        return df.exp(x @ x) * scale

    return f


X = df.ones([8, 8])


def test_graph_plan_and_passes(f):
    assert "matmul" in str(f.graph_for(X))
    plan = f.plan_for(X)
    assert "argument 0" in plan
    assert "result 0" in plan
    assert "at least" in plan.splitlines()[0]
    stages = f.passes_for(X)
    assert stages.startswith("--- traced\ngraph f:")
    assert "subtract" in stages.split("--- after dead_code")[0]
    assert "subtract" not in stages.split("--- after dead_code")[1]


def test_each_pass_report_differs_from_the_previous(f):
    parts = f.passes_for(X).split("--- ")[1:]
    texts = [part.split("\n", 1)[1].strip() for part in parts]
    assert all(a != b for a, b in zip(texts, texts[1:], strict=False))


def test_draw(f, tmp_path):
    assert "subtract" in f.draw(X, traced=True)
    assert "subtract" not in f.draw(X)
    f.draw(X, path=tmp_path / "f.svg")
    f.draw(X, path=str(tmp_path / "f.dot"), scale=3.)
    assert (tmp_path / "f.svg").read_text().startswith("<svg")
    assert (tmp_path / "f.dot").read_text().startswith("digraph")
    with pytest.raises(InvalidArgumentError, match=r"\.png"):
        f.draw(X, path="f.png")


def test_profile_takes_the_arguments_of_a_call(f):
    assert f.profile(X, scale=3., runs=1).rows
    assert f.profile(X, runs=1).rows


def test_inspection_of_methods():
    class Model:
        @df.function
        def __call__(self, x):
            return x * 2. + 1.

    model = Model()
    assert type(model).__call__.__get__(model).draw(X).startswith("<svg")


def test_plan_lists_workspaces_and_live_ranges():
    @df.function(passes=False)
    def f(x):
        y = df.sort(x, axis=0)
        return df.reduce_sum(df.cumsum(y)) + df.reduce_sum(y)

    text = f.plan_for(df.ones([64, 64]))
    assert "arena +" in text
    assert "instructions 0-" in text


def test_operations_by_name():
    graph = df.function(lambda x: x * 2. + x).get_concrete_function(df.constant(1.)).graph
    operations = graph.get_operations()
    assert operations[0].name == "x" and len(operations) == len(graph.nodes)
    add = graph.get_operation_by_name("add")
    assert add in operations and graph.get_tensor_by_name("add:0") is add.outputs[0]
    for name in ("no", "add:1", "no:0"):
        with pytest.raises(KeyError):
            graph.get_tensor_by_name(name) if ":" in name else graph.get_operation_by_name(name)
    with pytest.raises(ValueError, match="not the name of a tensor"):
        graph.get_tensor_by_name("add")
