"""Programs of 2018 in eager mode: optimizers, steps and checkpoints without a session."""

import numpy as np
import pytest

import dualflow as df
import dualflow.compat.v1 as tf

RNG = np.random.RandomState(3)
INPUTS, TARGETS = RNG.randn(7, 5).astype("f"), RNG.randn(7, 3).astype("f")
START = RNG.randn(5, 3).astype("f")

OPTIMIZERS = {
    "gradient descent": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adam": lambda: tf.train.AdamOptimizer(0.01),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.01, momentum=0.5),
    "centered rmsprop": lambda: tf.train.RMSPropOptimizer(0.01, centered=True),
}


@pytest.fixture
def eager():
    tf.enable_eager_execution()
    yield
    tf.disable_eager_execution()


def loss_of(x, y, w):
    return tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w)) - y))


def in_session(make):
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.Variable(START)
        x, y = tf.placeholder(tf.float32, [None, 5]), tf.placeholder(tf.float32, [None, 3])
        count = tf.train.get_or_create_global_step()
        step = make().minimize(loss_of(x, y, w), count)
        session.run(tf.global_variables_initializer())
        for _ in range(4):
            session.run(step, {x: INPUTS, y: TARGETS})
        assert session.run(count) == 4
        return session.run(w)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizer_in_all_modes(name):
    """Sessions, eager programs in two styles, and traced functions give equal bits."""
    wanted = in_session(OPTIMIZERS[name]).tobytes()
    tf.enable_eager_execution()
    try:
        for traced in (False, True):
            optimizer, w = OPTIMIZERS[name](), tf.Variable(START, name="w")

            def step(optimizer=optimizer, w=w):
                with tf.GradientTape() as tape:
                    loss = loss_of(tf.constant(INPUTS), tf.constant(TARGETS), w)
                grads = tape.gradient(loss, [w])
                assert optimizer.apply_gradients(zip(grads, [w], strict=True)) is None

            run = df.function(step) if traced else step
            for _ in range(4):
                run()
            assert w.numpy().tobytes() == wanted
        optimizer, w = OPTIMIZERS[name](), tf.Variable(START, name="w")
        for _ in range(4):
            optimizer.minimize(lambda w=w: loss_of(INPUTS, TARGETS, w))
        assert w.numpy().tobytes() == wanted
    finally:
        tf.disable_eager_execution()
    optimizer, w = OPTIMIZERS[name](), df.Variable(START)
    run = df.function(lambda: optimizer.minimize(lambda: loss_of(INPUTS, TARGETS, w)))
    for _ in range(4):
        run()
    assert w.numpy().tobytes() == wanted


def test_eager_training_program(eager):
    """Train a model of layers as in tutorials of eager execution."""
    step = tf.train.get_or_create_global_step()
    before = tf.train.global_step(None, step)
    assert tf.train.get_or_create_global_step() is step is tf.train.get_global_step()
    layer = tf.layers.Dense(3, activation=tf.nn.tanh)
    optimizer = tf.train.AdamOptimizer(tf.train.exponential_decay(0.05, step, 10, 0.9))
    rate = optimizer._learning_rate
    assert float(rate()) == np.float32(0.05) * np.float32(0.9) ** np.float32(before / 10)
    losses = []
    for _ in range(20):
        with tf.GradientTape() as tape:
            loss = tf.losses.mean_squared_error(TARGETS, layer(tf.constant(INPUTS)))
        assert set(tape.watched_variables()) == set(layer.trainable_variables)
        grads = tape.gradient(loss, layer.trainable_variables)
        optimizer.apply_gradients(zip(grads, layer.trainable_variables, strict=True),
                                  global_step=step)
        losses.append(float(loss))
    assert losses[-1] < losses[0] * 0.8 and int(step) == before + 20
    kernel = layer.trainable_variables[0]
    assert optimizer.get_slot(kernel, "m").shape == (5, 3)
    assert len(optimizer.variables()) == 6      # two powers, and two slots per variable


def test_sparse_gradients(eager):
    table = tf.Variable(START)
    for make in (tf.train.GradientDescentOptimizer, tf.train.AdagradOptimizer):
        make(0.5).minimize(lambda: tf.reduce_sum(tf.nn.embedding_lookup(table, [0, 2, 0])),
                           var_list=[table])
    assert (table.numpy() != START).any(1).tolist() == [True, False, True, False, False]


def test_invalid_arguments_of_eager_optimizers_raise(eager):
    w, optimizer = tf.Variable(1.), tf.train.GradientDescentOptimizer(0.1)
    with pytest.raises(RuntimeError, match=r"`loss` passed to Optimizer.compute_gradients "):
        optimizer.minimize(w * w)
    with pytest.raises(ValueError, match=r"No variables to optimize"):
        optimizer.minimize(lambda: tf.constant(1.))
    with pytest.raises(ValueError, match=r"No gradients provided for any variable"):
        optimizer.apply_gradients([(None, w)])


def test_assignments_return_the_variable(eager):
    w = tf.Variable([1., 2.])
    assert tf.assign(w, [3., 4.]) is w and tf.assign_add(w, [1., 1.]) is w
    assert tf.assign_sub(w, [2., 2.]) is w and w.numpy().tolist() == [2., 3.]
    with pytest.raises(ValueError, match=r"expected the same"):
        tf.assign(w, [1.])


def test_checkpoints(eager, tmp_path):
    pytest.importorskip("safetensors")
    layer, step = tf.layers.Dense(2, name="dense"), tf.train.get_or_create_global_step()
    layer(tf.ones([1, 3]))
    kernel = layer.trainable_variables[0]
    saver = tf.train.Saver([*layer.variables, step])
    path = saver.save(None, str(tmp_path / "model"), global_step=step)
    before, at = kernel.numpy(), int(step)
    assert path.endswith(f"model-{at}") and tf.train.latest_checkpoint(str(tmp_path)) == path
    kernel.assign(tf.zeros([3, 2]))
    step.assign_add(5)
    saver.restore(None, path)
    assert kernel.numpy().tobytes() == before.tobytes() and int(step) == at
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"dense/kernel is float32 \(3, 2\)"):
        tf.train.Saver({"dense/kernel": tf.Variable([1.])}).restore(None, path)


def test_contrib_eager(eager):
    tfe = tf.contrib.eager
    w, b = tfe.Variable(START), tfe.Variable(np.zeros(3, "f"))
    optimizer = tf.train.GradientDescentOptimizer(0.1)

    def loss(x, y):
        return loss_of(x, y - b, w)

    values = []
    for _ in range(10):
        value, pairs = tfe.implicit_value_and_gradients(loss)(INPUTS, TARGETS)
        again = tfe.implicit_gradients(loss)(INPUTS, TARGETS)
        assert [id(v) for _, v in pairs] == [id(v) for _, v in again] == [id(w), id(b)]
        optimizer.apply_gradients(again)
        values.append(float(value))
    assert values[-1] < values[0] * 0.9
    with pytest.raises(ValueError, match=r"No trainable variables were accessed"):
        tfe.implicit_gradients(lambda: tf.constant(1.))()
    assert tfe.Saver is tf.train.Saver and tfe.py_func is tf.py_function
    assert tfe.enable_eager_execution is tf.enable_eager_execution and tfe.executing_eagerly()
    iterator = tfe.Iterator(tf.data.Dataset.range(2))
    assert [iterator.next().numpy(), iterator.next().numpy()] == [0, 1]
