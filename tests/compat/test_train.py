"""Optimizer objects: steps, slots, user-supplied gradients, invalid arguments."""

import numpy as np
import pytest

import dualflow as df
import dualflow.compat.v1 as tf
from dualflow.compat.v1.defaults import Mode


def test_minimize_in_two_steps(session):
    a, b = tf.Variable([1., 2.], name="a"), tf.Variable(3., name="b")
    unused = tf.Variable(0.)
    optimizer = tf.train.GradientDescentOptimizer(0.5)
    pairs = optimizer.compute_gradients(tf.reduce_sum(a * a) * b)
    assert [v for _, v in pairs] == [a, b, unused] and pairs[2][0] is None
    clipped = [(tf.clip_by_value(g, -1., 1.), v) for g, v in pairs if g is not None]
    step = optimizer.apply_gradients(clipped, name="train")
    session.run(tf.global_variables_initializer())
    assert session.run(step) is None and step.name == "train"
    assert [x.tolist() for x in session.run([a, b])] == [[0.5, 1.5], 2.5]
    assert tf.get_collection(tf.GraphKeys.TRAIN_OP) == [step]


def test_steps_are_counted(session):
    w, count = tf.Variable(4.), tf.Variable(0, trainable=False)
    rate = tf.train.exponential_decay(0.5, count, 1, 0.5)
    step = tf.train.GradientDescentOptimizer(rate).minimize(w * 1., global_step=count)
    session.run(tf.global_variables_initializer())
    for _ in range(3):
        session.run(step)
    assert session.run([count, w]) == [3, 4. - 0.5 - 0.25 - 0.125]


def test_slots():
    w = tf.Variable([1., 2.], name="w")
    momentum = tf.train.MomentumOptimizer(0.1, 0.9)
    momentum.minimize(tf.reduce_sum(w * w))
    slot = momentum.get_slot(w, "momentum")
    assert slot.name == "w/Momentum:0" and momentum.get_slot_names() == ["momentum"]
    assert momentum.get_slot(w, "other") is None and momentum.variables() == [slot]
    adam = tf.train.AdamOptimizer(name="A")
    adam.minimize(tf.reduce_sum(w * w))
    assert adam.get_name() == "A" and adam.get_slot_names() == ["m", "v"]
    assert [v.name for v in adam.variables()] == [
        "beta1_power:0", "beta2_power:0", "w/A:0", "w/A_1:0"]
    assert tf.trainable_variables() == [w] and slot in tf.global_variables()


def test_names_and_dtypes_of_slots_are_those_of_tensorflow():
    with tf.variable_scope("net"):
        w = tf.get_variable("w", [2])
    loss = tf.reduce_sum(w * w)
    expected = {
        tf.train.MomentumOptimizer(0.1, 0.9): ["Momentum"],
        tf.train.RMSPropOptimizer(0.1): ["RMSProp", "RMSProp_1"],
        tf.train.RMSPropOptimizer(0.1, centered=True, name="C"): ["C", "C_1", "C_2"],
        tf.train.AdagradOptimizer(0.1): ["Adagrad"],
        tf.train.AdadeltaOptimizer(0.1): ["Adadelta", "Adadelta_1"],
        tf.train.FtrlOptimizer(0.1): ["Ftrl", "Ftrl_1"],
        tf.train.GradientDescentOptimizer(0.1): []}
    for optimizer, names in expected.items():
        before = len(tf.global_variables())
        optimizer.minimize(loss)
        assert [v.op.name for v in tf.global_variables()[before:]] == [
            f"net/w/{name}" for name in names]
    before = len(tf.global_variables())
    for _ in range(2):
        tf.train.AdamOptimizer().minimize(loss)
    with tf.name_scope("names"):
        tf.train.AdamOptimizer().minimize(loss)
    with tf.variable_scope("train"):
        tf.train.AdamOptimizer().minimize(loss)
    made = tf.global_variables()[before:]
    assert [v.op.name for v in made] == [
        "beta1_power", "beta2_power", "net/w/Adam", "net/w/Adam_1",
        "beta1_power_1", "beta2_power_1", "net/w/Adam_2", "net/w/Adam_3",
        "names/beta1_power", "names/beta2_power", "net/w/Adam_4", "net/w/Adam_5",
        "train/beta1_power", "train/beta2_power", "train/net/w/Adam", "train/net/w/Adam_1"]
    assert {v.dtype.base_dtype for v in made} == {tf.float32}


def test_powers_of_adam_follow_its_steps(session, tmp_path):
    w = tf.Variable([1., 2.], name="w")
    optimizer = tf.train.AdamOptimizer(0.5, beta1=0.5, beta2=0.25)
    step = optimizer.minimize(tf.reduce_sum(w * w))
    session.run(tf.global_variables_initializer())
    powers = optimizer._get_beta_accumulators()
    assert session.run(powers) == [0.5, 0.25]
    session.run(step)
    assert session.run(powers) == [0.25, 0.0625]
    path = tf.train.Saver().save(session, str(tmp_path / "model"))
    assert [name for name, _ in tf.train.list_variables(path)] == [
        "beta1_power", "beta2_power", "w", "w/Adam", "w/Adam_1"]
    session.run(step)
    after = session.run(tf.global_variables())
    session.run(tf.global_variables_initializer())
    tf.train.Saver().restore(session, path)
    session.run(step)
    for x, y in zip(after, session.run(tf.global_variables()), strict=True):
        assert (x == y).all()


def test_learning_rates_that_are_fed_or_called(session):
    rate, w = tf.placeholder(tf.float32, []), tf.Variable(1.)
    fed = tf.train.GradientDescentOptimizer(rate).minimize(w * 2.)
    called = tf.train.GradientDescentOptimizer(lambda: 0.25).minimize(w * 2.)
    session.run(w.initializer)
    session.run(fed, {rate: 0.5})
    assert session.run(w) == 0.
    session.run(called)
    assert session.run(w) == -0.5


def test_user_defined_optimizer(session):
    class Signs(tf.train.Optimizer):
        def __init__(self):
            super().__init__(False, "Signs")

        def _create_slots(self, var_list):
            for v in var_list:
                self._zeros_slot(v, "seen", self._name)

        def _apply_dense(self, grad, var):
            seen = self.get_slot(var, "seen").assign_add(tf.ones_like(grad))
            return tf.group(var.assign_sub(tf.sign(grad) * 0.5), seen)

    w, optimizer = tf.Variable([1., -1.]), Signs()
    step = optimizer.minimize(tf.reduce_sum(w * w))
    rows = optimizer.minimize(tf.reduce_sum(tf.nn.embedding_lookup(w, [0])))
    session.run(tf.global_variables_initializer())
    session.run(step)
    assert session.run(w).tolist() == [0.5, -0.5]
    session.run(rows)
    assert session.run(w).tolist() == [0., -0.5]
    assert session.run(optimizer.get_slot(w, "seen")).tolist() == [2., 2.]


def test_invalid_arguments_raise():
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    with pytest.raises(ValueError, match=r"No variables to optimize"):
        optimizer.minimize(tf.constant(1.))
    w = tf.Variable(1., name="w")
    with pytest.raises(ValueError, match=r"No gradients provided for any variable, check your gr"):
        optimizer.minimize(tf.constant(1.))
    with pytest.raises(ValueError, match=r"No variables provided"):
        optimizer.apply_gradients([])
    with pytest.raises(ValueError, match=r"No gradients provided for any variable: .*w:0"):
        optimizer.apply_gradients([(None, w)])
    with pytest.raises(TypeError, match=r"Argument is not a tf.Variable"):
        optimizer.compute_gradients(w * w, [tf.constant(1.)])
    with pytest.raises(ValueError, match=r"initial_accumulator_value must be positive"):
        tf.train.AdagradOptimizer(0.1, 0.)
    with pytest.raises(ValueError, match=r"Must specify the optimizer name"):
        tf.train.AdamOptimizer(name="")
    with pytest.raises(ValueError, match=r"global_step is required"):
        tf.train.exponential_decay(0.1, None, 1, 0.5)
    with pytest.raises(ValueError, match=r"length of boundaries should be 1 less"):
        tf.train.piecewise_constant(1, [1], [1.])


def test_training_converges(session):
    tf.set_random_seed(1)
    rng = np.random.RandomState(0)
    inputs = rng.randn(200, 5).astype("float32")
    labels = (inputs @ rng.randn(5) > 0).astype("int32")
    x, y = tf.placeholder(tf.float32, [None, 5]), tf.placeholder(tf.int32, [None])
    with tf.variable_scope("model"):
        w = tf.get_variable("w", [5, 2])
        b = tf.get_variable("b", [2], initializer=tf.zeros_initializer())
    logits = tf.matmul(x, w) + b
    loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
    right = tf.reduce_mean(tf.cast(tf.nn.in_top_k(logits, y, 1), tf.float32))
    value, update = tf.metrics.accuracy(y, tf.argmax(logits, 1), updates_collections="updates",
                                        metrics_collections=["metrics"])
    step = tf.train.AdamOptimizer(0.1).minimize(loss)
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    feed = {x: inputs, y: labels}
    first = session.run(loss, feed)
    for _ in range(60):
        _, last = session.run([step, loss], feed)
    assert last < 0.2 < first and session.run(right, feed) > 0.97
    assert session.run(update, feed) > 0.97 and session.run(value) > 0.97
    assert tf.get_collection("metrics") == [value] and tf.losses.get_losses() == [loss]
    tf.losses.add_loss(tf.constant(1.), None)
    weighted, more = tf.metrics.mean(tf.constant([1., 3.]), weights=[1., 0.])
    session.run(tf.local_variables_initializer())
    assert session.run([more, weighted])[0] == 1. and session.run(weighted) == 1.


@pytest.mark.parametrize("session_optimizer, own", [
    (lambda: tf.train.GradientDescentOptimizer(0.1), lambda: df.optimizers.SGD(0.1)),
    (lambda: tf.train.AdamOptimizer(0.01), lambda: tf.train.AdamOptimizer(0.01)),
    (lambda: tf.train.AdagradOptimizer(0.1),
     lambda: df.optimizers.Adagrad(0.1, 0.1, epsilon=0.)),
], ids=["sgd", "adam", "adagrad"])
def test_same_bits_in_all_modes(session, session_optimizer, own, monkeypatch):
    """A session, a traced function and a tape give equal weights, to the bit."""
    rng = np.random.RandomState(1)
    inputs, targets = rng.randn(7, 5).astype("f"), rng.randn(7, 3).astype("f")
    start = rng.randn(5, 3).astype("f")

    def loss_of(x, y, w):
        return df.reduce_mean(df.square(df.tanh(df.matmul(x, w)) - y))

    w = tf.Variable(start)
    x, y = tf.placeholder(tf.float32, [None, 5]), tf.placeholder(tf.float32, [None, 3])
    with tf.get_default_graph().as_default():
        step = session_optimizer().minimize(loss_of(x, y, w))
    session.run(tf.global_variables_initializer())
    for _ in range(5):
        session.run(step, {x: inputs, y: targets})
    found = [session.run(w)]
    for traced in (False, True):
        v, optimizer = df.Variable(start), own()

        def update(a, b, v=v, optimizer=optimizer):
            with df.GradientTape() as tape:
                loss = loss_of(a, b, v)
            optimizer.apply_gradients([(tape.gradient(loss, v), v)])

        run = df.function(update) if traced else update
        for _ in range(5):
            with monkeypatch.context() as patched:
                patched.setattr(Mode, "eager", True)
                run(df.constant(inputs), df.constant(targets))
        found.append(v.numpy())
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()


def test_adam_is_close_to_that_of_dualflow(session):
    """The powers of the decay rates are float32 variables, as in TensorFlow 1; Adam of dualflow
    computes them from the number of steps."""
    w, v = tf.Variable([1., -2., 3.]), df.Variable([1., -2., 3.])
    step = tf.train.AdamOptimizer(0.01).minimize(tf.reduce_sum(w * w * w))
    session.run(tf.global_variables_initializer())
    own = df.optimizers.Adam(0.01, epsilon=1e-8)
    for _ in range(200):
        session.run(step)
        own.apply_gradients([(df.constant(3 * v.numpy()**2), v)])
    np.testing.assert_allclose(session.run(w), v.numpy(), rtol=3e-5)


def test_global_step_is_found_by_name():
    step = tf.Variable(0, name="global_step", trainable=False)
    assert tf.train.get_global_step() is step
    assert tf.train.get_or_create_global_step() is step
    with tf.Graph().as_default():
        tf.Variable(0., name="global_step")
        with pytest.raises(TypeError, match="does not have integer type"):
            tf.train.get_global_step()
