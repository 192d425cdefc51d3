"""The rules of the IR, each violated once; copying and editing graphs."""

import pytest

import dualflow as df
from dualflow._core import get_op, symbol
from dualflow.graph import ir
from tests.graph.build import assert_exact, lines, ops, text, traced, variable, x

ADD, EXP, NEGATIVE = get_op("add"), get_op("exp"), get_op("negative")


def simple():
    return traced(lambda a, b: df.exp(a) + b, x(3), x(3))


def broken(graph, match):
    with pytest.raises(ir.IRError, match=match):
        ir.check(graph)


# --- the rules ---

def test_valid_graph():
    ir.check(simple())


def test_use_before_definition():
    graph = simple()
    graph.nodes.reverse()
    broken(graph, "before it is defined")


def test_value_of_another_graph():
    graph, other = simple(), simple()
    graph.nodes[-1].inputs = (other.inputs[0], graph.inputs[1])
    broken(graph, "before it is defined")


def test_shapes_and_dtypes():
    graph = simple()
    node = graph.nodes[-1]
    node.outputs = (symbol(graph, node, 0, df.float32, (4,)),)
    graph.outputs = list(node.outputs)
    broken(graph, "has outputs .*, expected")
    node.outputs = (symbol(graph, node, 0, df.float64, (3,)),)
    broken(graph, "has outputs .*, expected")


def test_output_with_a_wrong_index():
    graph = simple()
    graph.nodes[-1].outputs[0].index = 1
    broken(graph, "output 0 of add")


def test_value_defined_twice():
    graph = simple()
    graph.nodes.append(graph.nodes[-1])
    broken(graph, "output 0 of add")


def test_undefined_graph_output():
    graph = simple()
    graph.outputs = list(simple().outputs)
    broken(graph, "is an input or output but not defined")


def test_graph_inputs_must_be_parameters():
    graph = simple()
    graph.inputs = list(graph.outputs)
    broken(graph, "an input is not a parameter")


def test_read_of_an_overwritten_version():
    v = variable(3)

    def f(a):
        old = v.value()
        v.assign_add(a)
        return df.exp(old)

    broken(traced(f, x(3)), "which assign_add has overwritten")


def test_return_of_an_overwritten_version():
    v = variable(3)

    def f(a):
        old = v.value()
        v.assign_add(a)
        return old

    broken(traced(f, x(3)), "is returned but assign_add overwrites it")


# --- copies ---

def test_copy_is_equal_and_independent():
    v = variable(3)

    def f(a):
        v.assign_add(a)
        return (*df.split(a, 3), df.unique(a)[0], v * 2.0)

    graph = traced(f, x(3))
    made = ir.copy(graph)
    ir.check(made)
    assert text(made) == text(graph)
    assert_exact(graph, made)
    ours = {y for node in graph.nodes for y in node.outputs}
    assert not ours & {y for node in made.nodes for y in node.outputs}


# --- edit ---

def replace_exp(graph, node):
    """Replace exp(x) by -x."""
    return graph.add(NEGATIVE, node.inputs).outputs if node.op is EXP else None


def test_edit_keeps_unchanged_objects():
    graph = simple()
    kept = graph.nodes[-1]
    changed = ir.edit(graph, replace_exp)
    assert changed is graph
    assert graph.nodes[-1] is kept
    assert ops(graph) == ["negative", "add"]
    assert graph.changes == 1
    ir.check(graph)


def test_edit_replaces_graph_outputs():
    graph = traced(lambda a: [df.exp(a), a], x(3))
    ir.edit(graph, replace_exp)
    assert lines(graph)[-1] == "return %1, %0"


def test_edit_without_changes():
    graph = simple()
    before, nodes = text(graph), list(graph.nodes)
    ir.edit(graph, lambda graph, node: None)
    assert (text(graph), graph.nodes, graph.changes) == (before, nodes, 0)


def test_edit_infers_shapes_again_if_a_size_becomes_known():
    def f(a):
        return df.exp(df.unique(a)[0]) + 1.0

    graph = traced(f, x(3))

    def visit(graph, node):
        if node.type != "unique":
            return None
        return [node.inputs[0], *[graph.constant(df.constant([0, 1, 2])) for _ in node.outputs[1:]]]

    ir.edit(graph, visit)
    ir.check(graph)
    assert graph.outputs[0].shape == (3,)


def test_edit_that_reads_a_version_late_raises():
    v = variable(3)

    def f(a):
        early, late = df.identity(v), df.identity(v)
        product = early * a
        v.assign_add(a)
        return late, product

    graph = traced(f, x(3))

    def visit(graph, node):
        return node.inputs if node.type == "identity" else None

    ir.edit(graph, visit)
    ir.check(graph)
    assert ops(graph) == ["identity", "multiply", "assign_add"]


def test_edit_that_adds_a_late_reader_raises():
    v = variable(3)

    def f(a):
        early = -v
        v.assign_add(a)
        return df.negative(early)

    graph = traced(f, x(3))

    def visit(graph, node):
        inside = node.inputs[0].node if node.inputs else node
        if node.type == inside.type == "negative":
            return graph.add(ADD, (inside.inputs[0], inside.inputs[0])).outputs
        return None

    before = text(graph)
    ir.edit(graph, visit)
    assert text(graph) == before


# --- text ---

def test_text():
    v = variable(3, name="weights")

    def f(a):
        v.assign_sub(df.reduce_sum(a, 0))
        return df.unique(a[0])[0] * 2.0

    got = text(traced(f, x(2, 3)))
    assert got.splitlines()[0] == "graph f:"
    assert "%2 = variable('weights') : float32 (3,)" in got
    assert "reduce_sum(%0, axes=(0,), keepdims=False) : float32 (3,)" in got
    assert "float32 (?,)" in got
    assert got.splitlines()[-1].startswith("  return %")


def test_text_of_long_constants_and_attributes():
    c = df.constant(list(range(5)))
    got = text(traced(lambda a: df.gather(a, c), x(5)))
    assert "constant(...) : int32 (5,)" in got
