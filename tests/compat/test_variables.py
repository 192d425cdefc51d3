"""Variables of graphs: creation, initialization, assignment, collections, values per session."""

import numpy as np
import pytest

import dualflow as df
import dualflow.compat.v1 as tf


def test_initial_values(session):
    w = tf.Variable(tf.random_normal([3, 2]), name="w")
    same = tf.Variable(w.initialized_value() * 2., name="same")
    made = tf.Variable(lambda: tf.ones([2]), name="made")
    whole = tf.Variable(3)
    half = tf.Variable(1, dtype=tf.float16)
    session.run(tf.global_variables_initializer())
    a, b = session.run([w, same])
    assert (2 * a == b).all() and a.shape == (3, 2)
    assert session.run([made, whole, half])[1:] == [3, 1.]
    assert (whole.dtype, half.dtype, w.shape.as_list()) == (tf.int32, tf.float16, [3, 2])
    assert whole.get_shape() == [] and w.device == ""


def test_variable_attributes(session):
    w = tf.Variable([1., 2.], name="w")
    assert (w.name, w.op.name, w.op.type, w.initializer.name) == ("w:0", "w", "VariableV2",
                                                                  "w/Assign")
    assert repr(w) == "<tf.Variable 'w:0' shape=(2,) dtype=float32_ref>"
    session.run(w.initializer)
    assert session.run(w.value()).tolist() == w.eval().tolist() == [1., 2.]
    assert w.eval(session).tolist() == [1., 2.]
    w.load([3., 4.], session)
    w.load([3., 5.])
    assert session.run("w:0").tolist() == session.run(w.read_value()).tolist() == [3., 5.]
    with pytest.raises(TypeError, match=r"not iterable"):
        iter(w)


def test_operators(session):
    w = tf.Variable([4., 9.])
    array = np.array([1., 2.])
    made = [w + 1, 1 + w, w - array, array - w, w * w, w / 2, 2 / w, w // 4, 9 // w, w % 4, 5 % w,
            w ** 2, 2 ** w, -w, abs(w), w < 5, w <= 4, w > 5, w >= 9, w[1]]
    session.run(w.initializer)
    wanted = np.array([4., 9.], "float32")
    found = session.run(made)
    for x, y in zip(found, [wanted + 1, 1 + wanted, wanted - array, array - wanted, wanted * wanted,
                            wanted / 2, 2 / wanted, wanted // 4, 9 // wanted, wanted % 4,
                            5 % wanted, wanted ** 2, 2 ** wanted, -wanted, abs(wanted), wanted < 5,
                            wanted <= 4, wanted > 5, wanted >= 9, wanted[1]], strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6)
    m, b = tf.Variable([[2.]]), tf.Variable([True])
    session.run([m.initializer, b.initializer])
    assert session.run([m @ m, m.__rmatmul__([[3.]]), ~b, b & b, b | b, b ^ b]) == [
        [[4.]], [[6.]], [False], [True], [True], [False]]


def test_invalid_initial_values_raise():
    with pytest.raises(ValueError, match=r"^initial_value must be specified.$"):
        tf.Variable()
    with pytest.raises(ValueError, match=r"initial_value must have a shape specified"):
        tf.Variable(tf.placeholder(tf.float32, [None]))
    with pytest.raises(ValueError, match=r"initial_value must have a shape specified"):
        tf.Variable(tf.placeholder(tf.float32))
    with pytest.raises(ValueError, match=r"requested dtype int32 for Tensor with dtype float32"):
        tf.Variable(tf.constant(1.), dtype=tf.int32)
    with pytest.raises(ValueError, match=r"must be a list, tuple"):
        tf.Variable(1., collections="a")


def test_assignments(session):
    w = tf.Variable([1., 2.], name="w")
    session.run(w.initializer)
    new = tf.assign(w, [3., 4.])
    assert session.run(new).tolist() == [3., 4.] and session.run(w).tolist() == [3., 4.]
    assert session.run(tf.assign_add(w, [1, 1])).tolist() == [4., 5.]
    assert session.run(tf.assign_sub(w, w)).tolist() == [0., 0.]
    assert session.run(w.assign(w + 1.) * 2.).tolist() == [2., 2.]
    assert session.run([w.assign_add([1., 1.]).op, w])[1].tolist() == [2., 2.]
    assert session.run(tf.assign(w.assign_sub([1., 1.]), [7., 7.])).tolist() == [7., 7.]
    assert session.run(w * 2., {w: [1., 1.]}).tolist() == [2., 2.]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"w:0 is fed, and AssignAdd.*assig"):
        session.run(w.assign_add([1., 0.]), {w: [1., 1.]})


def test_invalid_assignments_raise():
    w = tf.Variable([1., 2.], name="w")
    with pytest.raises(TypeError, match=r"'Const:0|Const.* is not a variable and cannot be ass"):
        tf.assign(tf.constant(1.), 2.)
    with pytest.raises(AttributeError, match=r"no attribute 'assign'"):
        tf.constant(1.).assign(2.)
    with pytest.raises(ValueError, match=r"Shapes must be equal, but are \[2\] and \[3\] .* w\."):
        tf.assign(w, [1., 2., 3.])
    with pytest.raises(TypeError, match=r"type int32 that does not match type float32 of argument"):
        w.assign(tf.constant([1, 2]))


def test_reads_and_writes_of_one_run(session):
    """A read without dependencies on writes returns the value at the start of the run; fetching a
    variable returns its final value."""
    w = tf.Variable(1.)
    before = w * 10.
    more = w.assign_add(1.)
    after, read = w * 100., w.read_value()
    session.run(w.initializer)
    assert session.run([before, more, after, read, w]) == [10., 2., 100., 1., 2.]
    assert session.run([w, more]) == [3., 3.]
    with tf.control_dependencies([more]):
        late, read = w * 10., w.read_value()
    assert session.run([late, read, before]) == [40., 4., 30.]


def test_sessions_have_separate_values(fresh_graph):
    w = tf.Variable(1.)
    more = w.assign_add(1.)
    one, other = tf.Session(), tf.Session()
    one.run(w.initializer)
    other.run(w.assign(10.))
    assert [one.run(more), one.run(more), other.run(more)] == [2., 3., 11.]
    assert (one.run(w), other.run(w)) == (3., 11.)
    assert len(fresh_graph.programs._known) == 4        # shared by both sessions


def test_eager_variables_are_shared_by_sessions():
    v = df.Variable(1.)
    y = tf.constant(2.) * v
    one, other = tf.Session(), tf.Session()
    assert one.run(y) == 2.
    v.assign(5.)
    assert one.run(y) == other.run(y) == 10.
    raised = tf.assign_add(v, 1.)
    assert one.run(raised) == 6. == v.numpy()


def test_lists_of_variables(session):
    a = tf.Variable(1., name="s/a")
    b = tf.Variable(1., trainable=False, name="b")
    c = tf.Variable(1, collections=[tf.GraphKeys.LOCAL_VARIABLES], trainable=False, name="c")
    d = tf.Variable(1, False, [tf.GraphKeys.MODEL_VARIABLES])
    assert tf.global_variables() == [a, b] and tf.trainable_variables() == [a]
    assert tf.local_variables() == [c] and tf.model_variables() == [d]
    assert tf.global_variables("s/") == [a] and tf.trainable_variables("x") == []
    names = tf.report_uninitialized_variables()
    assert session.run(names).tolist() == [b"s/a", b"b", b"c"]
    assert session.run(tf.is_variable_initialized(a)) == False  # noqa: E712  a NumPy bool
    session.run(tf.variables_initializer([a]))
    assert session.run([names, tf.is_variable_initialized(a)])[0].tolist() == [b"b", b"c"]
    session.run([tf.local_variables_initializer(), tf.initialize_all_variables()])
    assert session.run(names).tolist() == []
    assert session.run(tf.report_uninitialized_variables([d])).tolist() == [b"Variable"]


def test_gradients_of_variables(session):
    w = tf.Variable([1., 2.])
    unused = tf.Variable(1.)
    x = tf.constant([3., 4.])
    y = tf.reduce_sum(w * w * x)
    dw, dx, none = tf.gradients(y, [w, x, unused])
    assert none is None
    zero, = tf.gradients(y, [unused], unconnected_gradients="zero")
    twice, = tf.gradients(dw, w, grad_ys=[tf.constant([1., 10.])])
    with pytest.raises(ValueError, match=r"Passed 2 grad_ys for 1 ys"):
        tf.gradients(dw, w, grad_ys=[None, None])
    stopped, = tf.gradients(w * tf.stop_gradient(w), w)
    session.run(tf.global_variables_initializer())
    assert [v.tolist() for v in session.run([dw, dx, zero, twice, stopped])] == [
        [6., 16.], [1., 4.], 0., [6., 80.], [1., 2.]]


def test_variables_in_loops_and_branches(session):
    w = tf.Variable(2.)
    looped = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * w), [0, 1.])[1]
    slope, = tf.gradients(looped, w)
    chosen = tf.cond(w > 1., lambda: w.assign(5.), lambda: w.assign(7.))
    nothing = tf.cond(w > 100., lambda: tf.group(w.assign(9.)), tf.no_op)
    session.run(w.initializer)
    assert session.run([looped, slope]) == [8., 12.]
    assert session.run(chosen) == 5. and session.run(w) == 5.
    session.run(nothing)
    assert session.run(w) == 5.


def test_variable_created_in_a_loop_body(session):
    def body(i, x):
        return i + 1, x * tf.get_variable("w", [], initializer=tf.constant_initializer(3.))

    with tf.variable_scope("s", reuse=tf.AUTO_REUSE):
        made = tf.while_loop(lambda i, x: i < 2, body, [0, 1.])[1]
    session.run(tf.global_variables_initializer())
    assert session.run(made) == 9.
