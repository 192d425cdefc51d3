"""Context while a graph is built: names, scopes, control inputs, devices, collections."""

import pytest

import dualflow.compat.v1 as tf


def test_default_names_match_tensorflow():
    x = tf.placeholder(tf.float32, [2])
    made = [x, tf.placeholder(tf.int32), tf.constant(1.), x + 1, tf.add(x, 1.), x * 2, x - 1,
            tf.matmul([[1.]], [[1.]]), tf.Variable(1.), tf.reduce_mean(x), tf.nn.relu(x),
            tf.global_variables_initializer(), tf.no_op(), tf.group(x.op)]
    assert [getattr(t, "name", None) for t in made] == [
        "Placeholder:0", "Placeholder_1:0", "Const:0", "add:0", "Add_1:0", "mul:0", "sub:0",
        "MatMul:0", "Variable:0", "Mean:0", "Relu:0", "init", "NoOp", "group_deps"]
    assert [op.type for op in (x.op, made[2].op, made[3].op, made[7].op, made[8].op, made[12])] == [
        "Placeholder", "Const", "Add", "MatMul", "VariableV2", "NoOp"]


def test_name_scopes():
    with tf.name_scope("a") as a:
        x = tf.constant(1., name="x")
        with tf.name_scope("b"):
            y = tf.constant(1., name="x")
            with tf.name_scope(None):
                z = tf.constant(1., name="z")
    with tf.name_scope("a") as again, tf.name_scope(None, "d") as default:
        pass
    with tf.name_scope(a):
        w = tf.constant(1., name="w")
    assert (a, again, default) == ("a/", "a_1/", "a_1/d/")
    assert [t.name for t in (x, y, z, w)] == ["a/x:0", "a/b/x:0", "z:0", "a/w:0"]
    with tf.op_scope([], None, "old") as scope:
        assert scope == "old/"
    g = tf.get_default_graph()
    assert g.unique_name("fresh") == "fresh" and g.unique_name("Fresh") == "Fresh_1"


def test_control_dependencies(session):
    v = tf.Variable(1.)
    session.run(v.initializer)
    more = v.assign_add(1.)
    with tf.control_dependencies([more]):
        after = v * 10.
        with tf.control_dependencies(None):
            free = tf.identity(5.)
        with tf.control_dependencies([tf.no_op(name="n")]):
            inner = tf.identity(1.)
    assert [op.name for op in inner.op.control_inputs] == ["n", more.op.name]
    assert free.op.control_inputs == ()
    assert session.run(free) == 5. and session.run(v) == 1.
    assert session.run(after) == 20. and session.run(v) == 2.
    assert session.run(v * 10.) == 20.      # does not run the assignment


def test_operations_as_control_inputs(session):
    v, w = tf.Variable(1.), tf.Variable(1.)
    session.run(tf.global_variables_initializer())
    both = tf.group(v.assign_add(1.), w.assign_add(2.), name="both")
    assert both.name == "both" and session.run(both) is None
    both.run()
    assert session.run([v, w]) == [3., 5.]
    made = tf.tuple([v.assign(7.), tf.constant(1.)])
    assert session.run(made[1]) == 1. and session.run(v) == 7.
    assert session.run(tf.no_op()) is None
    with pytest.raises(TypeError, match=r"Can not convert a int"):
        tf.group(3)


def test_devices():
    with tf.device("/gpu:0"):
        x = tf.constant(1.)
        with tf.device("/cpu:0"):
            y = tf.constant(1.)
    z = tf.Variable(1.)
    assert (x.device, y.device, z.device) == ("/gpu:0", "/cpu:0", "")


def test_collections():
    g = tf.get_default_graph()
    tf.add_to_collection("a", 1)
    tf.add_to_collections(["a", "b"], 2)
    tf.get_collection_ref("b").append(3)
    assert tf.get_collection("a") == [1, 2] and tf.get_collection("b") == [2, 3]
    assert g.get_all_collection_keys() == ["a", "b"] and tf.get_collection("c") == []
    g.clear_collection("a")
    assert g.get_collection("a") == []
    x, y = tf.constant(1., name="s/x"), tf.constant(1., name="y")
    g.add_to_collection("t", x)
    g.add_to_collections(("t", "t"), y)
    assert tf.get_collection("t", "s/") == [x] and tf.get_collection("t") == [x, y]
    assert g.get_collection_ref("t") is g.get_collection_ref("t")
    assert tf.GraphKeys.TRAINABLE_VARIABLES == "trainable_variables"


def test_elements_by_name():
    g = tf.get_default_graph()
    x = tf.placeholder(tf.float32, [2], name="x")
    v = tf.Variable([1.], name="v")
    text = tf.constant("t", name="text")
    assert g.as_graph_element("x:0") is x and g.as_graph_element("x") is x.op
    assert g.as_graph_element(v) is v.op.outputs[0] and g.as_graph_element(text) is text
    assert g.get_tensor_by_name("text:0") is text and g.get_operation_by_name("text") is text.op
    assert g.as_graph_element(x.op) is x.op
    with pytest.raises(TypeError, match=r"Can not convert a int into a Tensor or Operation"):
        g.as_graph_element(3)
    with pytest.raises(TypeError, match=r"Can not convert a Operation into a Tensor"):
        g.as_graph_element(x.op, allow_operation=False)
    with tf.Graph().as_default():
        other = tf.constant(1.)
    with pytest.raises(ValueError, match=r"is not an element of this graph"):
        g.as_graph_element(other)
    assert x.op.get_attr("dtype") == tf.float32
    with pytest.raises(ValueError, match=r"no attr named 'T'"):
        x.op.get_attr("T")


def test_finalized_graph_raises(session):
    x = tf.constant(1.)
    tf.get_default_graph().finalize()
    with pytest.raises(RuntimeError, match=r"^Graph is finalized and cannot be modified.$"):
        tf.constant(2.)
    with pytest.raises(RuntimeError, match=r"finalized"):
        x + 1.
    assert session.run(x) == 1.
