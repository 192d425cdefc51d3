"""Moving averages, templates, custom gradients, draws, graph files, and configuration functions."""

from pathlib import Path

import numpy as np
import pytest

import dualflow as df
import dualflow.compat.v1 as tf

# --- averages -------------------------------------------------------------------------------------

def test_averages_of_variables(session):
    w, steps = tf.Variable([1., 2.], name="w"), tf.Variable(0, trainable=False, name="steps")
    ema = tf.train.ExponentialMovingAverage(0.99, num_updates=steps)
    with tf.control_dependencies([w.assign_add([1., 1.])]):
        update = ema.apply()
    assert ema.name == "ExponentialMovingAverage" and tf.moving_average_variables() == [w]
    assert ema.average_name(w) == "w/ExponentialMovingAverage" and ema.average(steps) is None
    assert ema.average(w) in tf.global_variables() and ema.average(w) not in (
        tf.trainable_variables())
    session.run(tf.global_variables_initializer())
    wanted = np.array([1., 2.])
    for k in range(3):
        assert session.run(update) is None
        wanted = wanted * 0.1 + 0.9 * np.array([2. + k, 3. + k])
    np.testing.assert_allclose(session.run(ema.average(w)), wanted, rtol=1e-6)
    restored = ema.variables_to_restore()
    assert restored == {"w/ExponentialMovingAverage": w, "steps": steps}
    with pytest.raises(ValueError, match="Moving average already computed for: w:0"):
        ema.apply([w])
    with pytest.raises(TypeError, match="must be half, float, or double"):
        ema.apply([steps])


def test_averages_of_tensors_without_bias(session):
    x = tf.placeholder(tf.float32, [2], name="x")
    plain = tf.train.ExponentialMovingAverage(0.9)
    fair = tf.train.ExponentialMovingAverage(0.9, zero_debias=True, name="fair")
    update = [plain.apply([x]), fair.apply([x])]
    session.run(tf.global_variables_initializer())
    session.run(update, {x: [1., 2.]})
    found = session.run([plain.average(x), fair.average(x)])
    np.testing.assert_allclose(found, [[.1, .2], [1., 2.]], rtol=1e-6)
    session.run(update, {x: [3., 2.]})
    np.testing.assert_allclose(session.run(fair.average(x)), [(.09 + .3) / .19, 2.], rtol=1e-6)


def test_averages_in_eager_mode():
    tf.enable_eager_execution()
    try:
        w, ema = tf.Variable(1., name="w"), tf.train.ExponentialMovingAverage(0.5)
        for k in range(3):
            w.assign(float(k))
            ema.apply([w])
        assert ema.average(w).numpy() == 1.25 and ema.average_name(w).startswith("w/")
    finally:
        tf.disable_eager_execution()


# --- functions ------------------------------------------------------------------------------------

def test_custom_gradient(session):
    @tf.custom_gradient
    def doubled(x, y):
        return x * y, lambda g: (g * 2. * y, g * 0.)

    a, b = tf.constant([1., 2.]), tf.constant([3., 4.])
    z = doubled(a, b)
    assert [g.tolist() for g in session.run(tf.gradients(z, [a, b]))] == [[6., 8.], [0., 0.]]


def test_templates_share_variables(session):
    def layer(x, n):
        return tf.layers.dense(x, n)

    shared = tf.make_template("layer", layer, n=3)
    y, z = shared(tf.ones([1, 2])), shared(tf.ones([4, 2]))
    assert len(tf.trainable_variables()) == 2 and y.shape[1] == z.shape[1] == 3
    other = tf.make_template("layer", layer, create_scope_now_=True, n=3)
    other(tf.ones([1, 2])), other(tf.ones([1, 2]))
    assert [v.name for v in tf.trainable_variables()] == [
        "layer/dense/kernel:0", "layer/dense/bias:0",
        "layer_1/dense/kernel:0", "layer_1/dense/bias:0"]


def test_hessians(session):
    x = tf.placeholder(tf.float32, [2])
    y = tf.Variable([[1., 2.]])
    both = tf.hessians(x[0] ** 2 * x[1] + tf.reduce_sum(y ** 3), [x, y])
    session.run(y.initializer)
    found = session.run(both, {x: [1., 2.]})
    assert found[0].tolist() == [[4., 2.], [2., 0.]]
    assert found[1].shape == (1, 2, 1, 2)
    assert found[1].reshape(2, 2).tolist() == [[6., 0.], [0., 12.]]


GRADIENTS = {
    "dynamic_partition": lambda tf, x: tf.dynamic_partition(x, [1, 0, 1], 2)[1] * 2.,
    "dynamic_stitch": lambda tf, x: tf.dynamic_stitch([[2, 0], [1]], [x[:2], x[2:]]) * [
        [1.], [2.], [3.]],
    "reverse_sequence": lambda tf, x: tf.reverse_sequence(x, [1, 2, 0], 1) * [1., 5.],
    "diag_part": lambda tf, x: tf.diag_part(x[:2]) ** 2,
    "matrix_set_diag": lambda tf, x: tf.matrix_set_diag(x, x[0] * 3.),
    "cross": lambda tf, x: tf.cross(tf.transpose(x), [[1., 2., 3.]] * 2),
    "segment_mean": lambda tf, x: tf.segment_mean(x, [0, 0, 1]) ** 2,
    "segment_max": lambda tf, x: tf.segment_max(x, [0, 0, 2]),
    "unsorted_segment_mean": lambda tf, x: tf.unsorted_segment_mean(x, [1, 0, 1], 2) ** 2,
    "cumulative_logsumexp": lambda tf, x: tf.math.cumulative_logsumexp(x),
    "crelu": lambda tf, x: tf.nn.crelu(x) ** 2,
    "bincount": lambda tf, x: tf.bincount([1, 2, 1], x[:, 0]) * [1., 2., 3.],
    "clip_by_average_norm": lambda tf, x: tf.clip_by_average_norm(x, 0.1),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_in_all_modes(session, name):
    """Sessions, tapes and traced functions give equal bits."""
    program = GRADIENTS[name]
    start = np.array([[1., -2.], [3., 0.5], [-1., 4.]], "f")
    x = tf.placeholder(tf.float32, [3, 2])
    y = program(tf, x)
    found = session.run([y, *tf.gradients(y, x)], {x: start})
    tf.enable_eager_execution()
    try:
        def taped(a):
            with tf.GradientTape() as tape:
                tape.watch(a)
                b = program(tf, a)
            return b, tape.gradient(b, a)

        for run in (taped, df.function(taped)):
            for one, other in zip(found, run(tf.constant(start)), strict=True):
                assert one.tobytes() == other.numpy().tobytes(), name
    finally:
        tf.disable_eager_execution()


# --- draws ----------------------------------------------------------------------------------------

def test_multinomial(session):
    tf.set_random_seed(1)
    draws = session.run(tf.multinomial(tf.log([[0.1, 0.2, 0.7], [0.5, 0.5, 1e-30]]), 4000))
    assert draws.shape == (2, 4000) and draws.dtype == np.int64
    shares = [np.bincount(row, minlength=3) / 4000 for row in draws]
    np.testing.assert_allclose(shares, [[.1, .2, .7], [.5, .5, 0.]], atol=0.03)
    assert tf.multinomial([[0., 0.]], 1, output_dtype=tf.int32).dtype == tf.int32


def test_random_crop(session):
    x = tf.placeholder(tf.int32, [None, None])
    crop = tf.random_crop(x, [2, 3], seed=3)
    seen = set()
    for _ in range(200):
        part = session.run(crop, {x: np.arange(20).reshape(4, 5)})
        assert part.tolist() == (part[0, 0] + np.array([[0, 1, 2], [5, 6, 7]])).tolist()
        seen.add(int(part[0, 0]))
    assert seen == {0, 1, 2, 5, 6, 7, 10, 11, 12}


# --- graph files, configuration functions, and others ---------------------------------------------

def test_graphs_as_protobufs(session, tmp_path):
    pytest.importorskip("tensorboard")
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    with tf.name_scope("layer"):
        tf.identity(x * 2., name="y")
    found = tf.get_default_graph().as_graph_def()
    assert {"x", "layer/y"} <= {node.name for node in found.node}
    assert session.graph_def == found
    path = tf.train.write_graph(found, str(tmp_path / "new"), "graph.pbtxt")
    assert 'name: "layer/y"' in Path(path).read_text()
    path = tf.train.write_graph(session.graph, str(tmp_path), "graph.pb", as_text=False)
    assert type(found).FromString(Path(path).read_bytes()) == found


def test_configuration_functions():
    for name in ("disable_v2_behavior", "disable_control_flow_v2", "disable_resource_variables",
                 "disable_tensor_equality", "disable_v2_tensorshape", "enable_resource_variables",
                 "enable_tensor_equality"):
        assert getattr(tf, name)() is None
    assert not tf.executing_eagerly() and not tf.resource_variables_enabled()
    tf.enable_eager_execution()
    tf.disable_v2_behavior()
    assert not tf.executing_eagerly()


def test_deprecated_names():
    assert tf.initialize_variables is tf.variables_initializer
    assert tf.initialize_local_variables is tf.local_variables_initializer
    assert tf.__version__ == tf.VERSION and tf.OpError is tf.errors.OpError
    assert tf.UnconnectedGradients.ZERO == "zero" and tf.nest.flatten([1, [2]]) == [1, 2]
    assert tf.TensorSpec([2], tf.float32).dtype is tf.float32


def test_dtypes():
    assert tf.int8.limits == (-128, 127) and tf.uint8.max == 255 and tf.int64.min == -2 ** 63
    assert tf.bool.limits == (False, True) and tf.uint8.is_unsigned and not tf.int8.is_unsigned
    for dtype in (tf.float16, tf.float32, tf.float64):
        info = np.finfo(dtype.name)
        assert dtype.max == float(info.max) and dtype.min == float(info.min)
        assert dtype.size == dtype.itemsize == info.bits // 8
    assert tf.bfloat16.max == 3.3895313892515355e38 and not tf.bfloat16.is_numpy_compatible
    assert tf.float32.is_compatible_with("float32") and not tf.float32.is_compatible_with(tf.int8)
    assert tf.float32.real_dtype is tf.float32.base_dtype is tf.float32
    assert not tf.float32.is_complex


def test_computed_strings(session):
    x = tf.placeholder(tf.int32, [None])
    text = tf.string_join(["n = ", tf.as_string(x)])
    assert session.run(text, {x: [3, 4]}).tolist() == [b"n = 3", b"n = 4"]
    assert session.run(tf.reduce_join(text), {x: [3, 4]}) == b"n = 3n = 4"
    wide = tf.string_join([" ", text, "  "])
    assert session.run(tf.strings.strip(wide), {x: [5]}).tolist() == [b"n = 5"]
    with pytest.raises(TypeError, match="expected a tensor of type string"):
        tf.string_join([tf.constant(1)])
