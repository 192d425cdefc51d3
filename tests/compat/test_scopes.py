"""Variables by name: scopes, reuse, scope defaults, initializers."""

import numpy as np
import pytest

import dualflow as df
import dualflow.compat.v1 as tf

EAGER = df.Variable(1., name="my variable")


def test_scopes_and_reuse():
    with tf.variable_scope("a") as a:
        w = tf.get_variable("w", [2])
        with tf.variable_scope("b"):
            inner = tf.get_variable("w", [2])
        x = tf.constant(1., name="x")
    assert (w.name, inner.name, x.name) == ("a/w:0", "a/b/w:0", "a/x:0")
    with tf.variable_scope(a, reuse=True):
        assert tf.get_variable("w", [2]) is w
        assert tf.get_variable_scope().reuse is True
        with tf.variable_scope("b"):
            assert tf.get_variable("w") is inner
    with tf.variable_scope("a") as again:
        again.reuse_variables()
        assert tf.get_variable("w", [2]) is w
        y = tf.constant(1., name="y")
    assert y.name == "a_2/y:0" and again.original_name_scope == "a_2/"
    with tf.variable_scope("", reuse=tf.AUTO_REUSE):
        assert tf.get_variable("fresh", [1]) is tf.get_variable("fresh", [1])
    assert a.trainable_variables() == a.global_variables() == [w, inner]


def test_default_names_are_made_unique():
    def layer():
        with tf.variable_scope(None, "dense") as scope:
            tf.get_variable("w", [1])
        return scope.name

    assert [layer(), layer(), layer()] == ["dense", "dense_1", "dense_2"]
    with tf.variable_op_scope([], None, "dense") as scope:
        assert scope.name == "dense_3"
    with tf.variable_scope("s", auxiliary_name_scope=False):
        assert tf.constant(1., name="c").name == "c:0"


@pytest.mark.parametrize("name, shape, options, reuse, says", [
    ("v", [2], {}, False, "Variable v already exists, disallowed. Did you mean to set reuse=True"),
    ("u", [2], {}, True, "Variable u does not exist, or was not created with tf.get_variable"),
    ("v", [3], {}, True, "Trying to share variable v, but specified shape (3,) and found shape"),
    ("v", [2], {"dtype": tf.int32}, True, "specified dtype int32 and found dtype float32_ref"),
    ("n", [None], {}, False, "Shape of a new variable (n) must be fully defined, but instead was"),
    ("n", [2], {"initializer": 3.}, False, "If initializer is a constant, do not specify shape"),
])
def test_invalid_get_variable_raises(name, shape, options, reuse, says):
    tf.get_variable("v", [2])
    with tf.variable_scope("", reuse=reuse or None), pytest.raises(ValueError) as caught:
        tf.get_variable(name, shape, **options)
    assert says in str(caught.value)


def test_invalid_scopes_raise():
    with pytest.raises(TypeError, match=r"name_or_scope is required"):
        tf.variable_scope(None)
    with pytest.raises(ValueError, match=r"reuse parameter must be"):
        tf.variable_scope("a", reuse="yes")
    with pytest.raises(ValueError, match=r"without a name_or_scope"):
        tf.variable_scope(None, "a", reuse=True)


def test_defaults_of_scopes(session):
    seen = []

    def getter(get, name, **options):
        seen.append(name)
        return get(name, **options)

    with tf.variable_scope("s", initializer=tf.constant_initializer(2.), dtype=tf.float64,
                           regularizer=tf.nn.l2_loss, custom_getter=getter) as scope:
        w = tf.get_variable("w", [3])
        with tf.variable_scope("t", regularizer=tf.no_regularizer):
            free = tf.get_variable("w", [1], initializer=tf.zeros_initializer)
        scope.set_initializer(tf.ones_initializer())
        scope.set_dtype(tf.float32)
        scope.set_regularizer(None)
        one = tf.get_variable("one", [1])
    session.run(tf.global_variables_initializer())
    assert session.run(w).tolist() == [2., 2., 2.] and w.dtype == tf.float64
    assert session.run([free, one]) == [[0.], [1.]] and one.dtype == tf.float32
    assert seen == ["s/w", "s/t/w", "s/one"]
    assert session.run(tf.losses.get_regularization_losses()) == [6.]
    assert session.run(tf.losses.get_regularization_loss()) == 6.
    assert scope.get_collection(tf.GraphKeys.GLOBAL_VARIABLES) == [w, free, one]


def test_initial_values_by_default(session):
    w = tf.get_variable("w", [100, 50])
    n = tf.get_variable("n", [2], tf.int32)
    value = tf.get_variable("value", initializer=tf.constant([1, 2]))
    made = tf.get_variable("made", [2], initializer=lambda shape, dtype: tf.ones(shape, dtype))
    local = tf.get_local_variable("local", [], initializer=tf.zeros_initializer())
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    limit = np.sqrt(6 / 150)
    found = session.run(w)
    assert abs(found).max() <= limit and abs(found).max() > 0.9 * limit
    assert session.run(n).tolist() == [0, 0] and value.dtype == tf.int32
    assert session.run(made).tolist() == [1., 1.] and local in tf.local_variables()
    assert not local.trainable and tf.VariableScope(False, "x").name == "x"


@pytest.mark.parametrize("make, stddev", [
    (tf.random_normal_initializer(stddev=0.5), 0.5),
    (tf.truncated_normal_initializer(stddev=0.5), 0.5 * 0.8796),
    (tf.random_uniform_initializer(-1., 1.), np.sqrt(1 / 3)),
    (tf.glorot_normal_initializer(), np.sqrt(2 / 300)),
    (tf.glorot_uniform_initializer(), np.sqrt(2 / 300)),
    (tf.variance_scaling_initializer(2.), np.sqrt(2 / 200)),
    (tf.variance_scaling_initializer(mode="fan_out", distribution="untruncated_normal"), 0.1),
    (tf.uniform_unit_scaling_initializer(), np.sqrt(1 / 200)),
], ids=lambda x: type(x).__name__)
def test_standard_deviation_of_initializers(session, make, stddev):
    found = session.run(make([200, 100]))
    assert found.dtype == np.float32
    assert abs(found.mean()) < stddev / 20 and abs(found.std() / stddev - 1) < 0.03
    if hasattr(make, "seed"):
        assert "seed" in make.get_config()


def test_short_names_of_initializers(session):
    short = tf.initializers
    for made in (short.glorot_normal(), short.glorot_uniform(), short.orthogonal(),
                 short.random_normal(), short.random_uniform(), short.truncated_normal(),
                 short.uniform_unit_scaling(), short.variance_scaling(), short.identity()):
        assert session.run(made([3, 2])).shape == (3, 2)
    assert session.run(short.constant(2.)([1])) == [2.] == 2 * session.run(short.ones()([1]))
    assert session.run(short.zeros()([1])) == [0.]


def test_exact_initializers(session):
    assert session.run(tf.zeros_initializer()([2])).tolist() == [0., 0.]
    assert session.run(tf.ones_initializer(tf.int32)([2])).tolist() == [1, 1]
    assert session.run(tf.constant_initializer([1, 2, 3, 4])([2, 2])).tolist() == [[1, 2], [3, 4]]
    assert session.run(tf.identity_initializer(2.)([2, 3])).tolist() == [[2, 0, 0], [0, 2, 0]]
    for shape in ([6, 4], [4, 6], [2, 2, 4]):
        q = session.run(tf.orthogonal_initializer()(shape)).reshape(-1, shape[-1])
        small = q.T @ q if q.shape[0] >= q.shape[1] else q @ q.T
        np.testing.assert_allclose(small, np.eye(len(small)), atol=1e-5)
    with pytest.raises(ValueError, match=r"at least two-dimensional"):
        tf.orthogonal_initializer()([3])
    with pytest.raises(ValueError, match=r"positive float"):
        tf.variance_scaling_initializer(0.)
    with pytest.raises(ValueError, match=r"`mode` should be one of"):
        tf.variance_scaling_initializer(mode="in")


@pytest.mark.parametrize("name", ["a b", "a:0", "_x", "-a", "\u00e9"])
def test_invalid_node_names_raise(name):
    for make in (lambda: tf.constant(1., name=name), lambda: tf.add(1., 2., name=name),
                 lambda: tf.placeholder(tf.float32, name=name)):
        with pytest.raises(ValueError, match=rf"'{name}(_\d)?' is not a valid node name"):
            make()
    with pytest.raises(ValueError, match=f"'{name}' is not a valid scope name"):
        tf.name_scope(name).__enter__()
    with tf.name_scope("ok"):
        assert tf.constant(1., name="_x").op.name == "ok/_x"
        with tf.name_scope("_y") as scope:
            assert scope == "ok/_y/"
        with pytest.raises(ValueError, match="'b c' is not a valid scope name"):
            tf.name_scope("b c").__enter__()


def test_names_of_functions_and_eager_variables_are_sanitized():
    with df.Graph().as_default():
        assert df.function(lambda x: x + 1.)(tf.constant(1.)).shape == ()
        own = df.custom_gradient(lambda x: (x * 2., lambda g: g))
        assert own(tf.constant(1.)).op.name == ".lambda>_1"
        v = EAGER + tf.constant(1.)
        assert v.op.inputs[0].op.name == "my.variable"


def test_unique_name_without_marking_it_used():
    g = tf.get_default_graph()
    names = [g.unique_name("c", mark_as_used=False), g.unique_name("c"), g.unique_name("c"),
             g.unique_name("c", False), g.unique_name("c")]
    assert names == ["c", "c", "c_1", "c_2", "c_2"]


def test_variable_without_shape_and_initializer_raises():
    with pytest.raises(ValueError, match="Variable w did not get an initializer, so its `shape`"):
        tf.get_variable("w")


def test_is_variable_initialized_returns_a_numpy_bool(session):
    found = session.run(tf.is_variable_initialized(tf.Variable(1.)))
    assert type(found).__name__ == "bool" and type(found) is not bool and not found


def test_branches_without_a_return_value_raise():
    for then, otherwise, caller in ((lambda: None, lambda: 1., "true_fn"),
                                    (lambda: 1., lambda: None, "false_fn")):
        with pytest.raises(ValueError, match=f"{caller} must have a return value"):
            tf.cond(tf.constant(True), then, otherwise)
