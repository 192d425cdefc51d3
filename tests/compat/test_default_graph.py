"""The graph that records an op: the default graph, a tensor's graph, or none for dualflow's ops."""

import threading

import numpy as np
import pytest

import dualflow as df
import dualflow.compat.v1 as tf


def outside(f):
    """Run f in a new thread, outside of all graph blocks, and return its result."""
    found = []

    def run():
        try:
            found.append(f())
        except Exception as error:      # raised in the calling thread
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]


def test_programs_record_without_a_block():
    def program():
        x = tf.placeholder(tf.float32, [2], name="x")
        y = tf.constant(3.) + x * 2
        assert y.graph is tf.get_default_graph()
        return tf.Session().run(y, {x: [1, 2]}).tolist()

    assert outside(program) == [5., 7.]


def test_dualflow_ops_run_eagerly_outside_of_blocks():
    def program():
        x = tf.placeholder(tf.float32, [])
        eager = df.constant(2.) * 3.
        y = df.square(x) + eager            # on a graph tensor
        return eager.item(), y.graph is x.graph, tf.Session().run(y, {x: 2.})

    assert outside(program) == (6., True, 10.)


def test_dualflow_ops_in_graph_and_session_blocks():
    def program():
        with tf.Graph().as_default() as g:
            recorded = df.constant(1.) + 1.
        with tf.Session(graph=g) as sess:
            ran = df.constant(1.) + 1.
            made = tf.constant(1.) + 1.
            assert sess.run([recorded, made]) == [2., 2.]
        return type(recorded).__name__, ran.item(), made.graph is g

    assert outside(program) == ("Symbol", 2., True)


def test_graphs_nest(fresh_graph):
    with tf.Graph().as_default() as outer:
        a = tf.constant(1.)
        with tf.Graph().as_default() as inner:
            b = tf.constant(2.)
            assert tf.get_default_graph() is inner
        c = tf.constant(3.)
        assert tf.get_default_graph() is outer
    assert (a.graph, b.graph, c.graph) == (outer, inner, outer)
    assert tf.get_default_graph() is fresh_graph


def test_session_block_sets_the_default_graph():
    g = tf.Graph()
    with tf.Session(graph=g) as sess:
        assert tf.get_default_graph() is g is sess.graph
        assert tf.get_default_session() is sess
    assert tf.get_default_session() is None


def test_each_thread_has_a_default_graph(fresh_graph):
    other = outside(tf.get_default_graph)
    assert other is not fresh_graph
    assert outside(tf.get_default_session) is None


def test_combining_tensors_of_two_graphs_raises():
    a = tf.constant(1., name="a")
    with tf.Graph().as_default():
        b = tf.constant(2., name="b")
        with pytest.raises(ValueError, match=r'Tensor\("a:0".*must be from the graph'):
            a + b
    with pytest.raises(ValueError, match=r'Tensor\("b:0"'):
        tf.add(a, b)


def test_reset_default_graph():
    with tf.Graph().as_default(), pytest.raises(AssertionError, match=r"nested graphs"):
        tf.reset_default_graph()

    def program():
        before = tf.get_default_graph()
        tf.constant(1.)
        tf.reset_default_graph()
        return before is tf.get_default_graph(), tf.get_default_graph().get_operations()

    assert outside(program) == (False, [])


def test_eager_execution():
    def program():
        assert not tf.executing_eagerly()
        tf.enable_eager_execution()
        try:
            assert tf.executing_eagerly()
            with tf.name_scope("a"), tf.control_dependencies([]), tf.device("/cpu:0"):
                y = tf.reduce_sum(tf.constant([1., 2.]) * 2.)
            with pytest.raises(RuntimeError, match=r"not compatible with eager"):
                tf.placeholder(tf.float32)
            assert tf.no_op() is None and tf.group() is None
            tf.set_random_seed(3)
            v = tf.Variable([1., 2.], name="v", dtype=tf.float64)
            assert isinstance(v, df.Variable) and (v * 2.).numpy().tolist() == [2., 4.]
            assert tf.assign_add(v, [1., 1.]).numpy().tolist() == [2., 3.]
            return y.numpy().item(), tf.random_normal([2]).numpy().shape
        finally:
            tf.disable_eager_execution()

    assert outside(program) == (6., (2,))


def test_inside_a_traced_function():
    @df.function
    def f(x):
        return tf.reduce_sum(tf.square(x))

    assert f(df.constant([1., 2.])).item() == 5.


def test_operators_with_arrays_and_integer_division(session):
    x = tf.constant([1., 2.])
    assert (x * np.array([3., 4.])).dtype == tf.float32
    assert (np.array([3., 4.]) * x).dtype == tf.float32
    assert (tf.constant(7) / 2).dtype == tf.float64
    assert session.run(np.array([3., 4.]) * x).tolist() == [3., 8.]
    assert (x == x) is True and (x == 1.) is False and x in [tf.constant(1.), x]
    assert session.run(tf.equal(x, x)).all()


def test_str_and_repr_of_tensors(session):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    assert str(x) == f"{x}" == 'Tensor("x:0", shape=(?, 3), dtype=float32)'
    assert repr(x) == "<tf.Tensor 'x:0' shape=(?, 3) dtype=float32>"
    assert repr(tf.placeholder(tf.int32)) == (
        "<tf.Tensor 'Placeholder:0' shape=<unknown> dtype=int32>")
    assert x.get_shape().as_list() == x.shape.as_list() == [None, 3]
    assert (x.shape[1].value, x.shape[0].value, int(x.shape[1])) == (3, None, 3)
    assert x.shape[1:].num_elements() == 3 and x.shape.ndims == 2
    assert (x.op.name, x.op.type, x.name, x.dtype, x.value_index) == (
        "x", "Placeholder", "x:0", tf.float32, 0)
    y = x + 1
    assert x.consumers() == [y.op] and y.op.inputs[0] is x and y.op.values() == (y,)
    assert session.run(y, {x: [[1, 2, 3]]}).tolist() == [[2, 3, 4]]
    assert y.eval({x: [[1, 2, 3]]}).tolist() == [[2, 3, 4]]
    x.set_shape([2, 3])
    with pytest.raises(ValueError, match=r"incompatible"):
        x.set_shape([2, 4])
    with pytest.raises(AttributeError, match=r"no attribute 'nothing'"):
        x.nothing  # noqa: B018
    with pytest.raises(TypeError, match=r"as a Python `bool` is not allowed"):
        bool(x)
    with pytest.raises(TypeError, match=r"not iterable"):
        list(x)


def test_shapes():
    s = tf.TensorShape([None, 2, 3])
    assert s.as_list() == [None, 2, 3] and s[1:].as_list() == [2, 3] and s.dims[1].value == 2
    assert repr(s) == "TensorShape([Dimension(None), Dimension(2), Dimension(3)])"
    assert str(s) == "(?, 2, 3)" and str(tf.TensorShape([2])) == "(2,)"
    assert s == [None, 2, 3] and s != (1, 2, 3) and hash(s) == hash(tf.TensorShape([None, 2, 3]))
    assert s.is_compatible_with([7, 2, 3]) and not s.is_compatible_with([7, 2])
    assert not s.is_fully_defined() and s.num_elements() is None
    assert s.concatenate([4]).as_list() == [None, 2, 3, 4]
    assert tf.Dimension(3) == 3 and repr(tf.Dimension(3)) == "Dimension(3)"
    unknown = tf.TensorShape(None)
    assert unknown.ndims is None and str(unknown) == "<unknown>"
    with pytest.raises(ValueError, match=r"as_list\(\) is not defined on an unknown"):
        unknown.as_list()
    assert unknown.is_compatible_with(s) and unknown != s


@df.custom_gradient
def tenfold_back(x):
    return x * x, lambda g: g * 10.


@pytest.mark.parametrize("use", [
    df.function(lambda x: x * 2.), tenfold_back, df.Variable,
    df.grad(lambda x: df.reduce_sum(x)),
    lambda x: df.cond(df.reduce_sum(x) > 0., lambda: x, lambda: -x), int, np.asarray, memoryview,
    np.from_dlpack, lambda x: x.item(), lambda x: x.numpy(), lambda x: x.tolist(),
    lambda x: df.function(lambda y: x + y)(df.constant([1., 2.]))],
    ids=["function", "custom_gradient", "variable", "grad", "cond", "int", "array", "memory",
         "dlpack", "item", "numpy", "tolist", "closure"])
@pytest.mark.parametrize("make", [
    lambda: tf.placeholder(tf.float32, [2]), lambda: tf.Variable([1., 2.])],
    ids=["placeholder", "variable"])
def test_conversion_to_python_values_raises(make, use):
    with pytest.raises((TypeError, ValueError, AttributeError)):
        use(make())


def test_dualflow_ops_on_graph_tensors_and_variables(session):
    x, w = tf.placeholder(tf.float32, [2]), tf.Variable([1., 2.])
    session.run(w.initializer)
    made = [df.square(w), df.stack([w, x]), df.concat([w, x], 0), df.constant([x[0], 1.]),
            df.cast(x, df.int32), df.constant(x, df.float64), df.nn.softmax(w) * 0. + x,
            df.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a + x), (0, w))[1],
            df.map_fn(lambda row: row * 2., x), x[df.constant([1, 0])]]
    assert all(y.graph is x.graph for y in made)
    assert [y.tolist() for y in session.run(made, {x: [3., 4.]})] == [
        [1., 4.], [[1., 2.], [3., 4.]], [1., 2., 3., 4.], [3., 1.], [3, 4], [3., 4.], [3., 4.],
        [7., 10.], [6., 8.], [4., 3.]]


def test_assignments_to_eager_variables_are_recorded(session):
    v, w = df.Variable([0., 0.]), tf.Variable([1., 2.])
    session.run(w.initializer)
    v.assign(w * 2.)
    op = tf.get_default_graph().get_operations()[-1]
    assert v.numpy().tolist() == [0., 0.]
    session.run(op)
    assert v.numpy().tolist() == [2., 4.]
