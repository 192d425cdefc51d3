"""Small programs for both `dualflow.compat.v1` and TensorFlow, and TensorFlow's results.

`reference.json` holds the results of TensorFlow's own ``compat.v1``; if that is installed,
``python -m tests.compat.programs`` writes it again.
"""

import json
import sys
from pathlib import Path

import numpy as np

REFERENCE = Path(__file__).parent / "reference.json"
RNG = np.random.RandomState(0)
A = RNG.randn(3, 4).astype("float32")
P = np.abs(A) / 4 + 0.1
LABELS = np.eye(4, dtype="float32")[[0, 2, 3]]
CLASSES = np.array([0, 2, 3])


def image(tf):
    return tf.reshape(tf.range(32.), [1, 4, 4, 2])


def measures(tf):
    """Return metrics after their updates ran twice."""
    said = tf.constant([0.1, 0.8, 0.4, 0.9])
    classes, others = tf.constant([1, 0, 2, 2]), tf.constant([2, 2, 0, 1])
    given = [tf.constant(x) for x in ([0, 1, 1, 1], [1, 1, 0, 1], [0, 0, 1, 1], [0, 1, 1, 0])]
    floats = tf.constant([1., 2.]), tf.constant([1.5, 4.])
    names = ["precision", "recall", "true_positives", "false_positives", "true_negatives",
             "false_negatives"]
    made = [getattr(tf.metrics, name)(given[0], given[1]) for name in names]
    made += [tf.metrics.precision(given[0], given[1], weights=P[0])]
    made += [getattr(tf.metrics, name)(floats[0], floats[1]) for name in (
        "mean_absolute_error", "mean_squared_error", "root_mean_squared_error")]
    made += [tf.metrics.auc(given[2], said), tf.metrics.auc(given[0], said, curve="PR"),
             tf.metrics.auc(given[3], said, weights=P[1], num_thresholds=5),
             tf.metrics.mean_iou(others, classes, 4),
             tf.metrics.mean_per_class_accuracy(others, classes, 3)]
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        updates = [session.run([update for _, update in made]) for _ in range(2)]
        values = session.run([value for value, _ in made])
    return updates, values


UNARY = ["abs", "acos", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "digamma", "erf",
         "erfc", "exp", "expm1", "floor", "is_finite", "is_inf", "is_nan", "lgamma", "log",
         "log1p", "negative", "reciprocal", "rint", "round", "rsqrt", "sigmoid", "sign", "sin",
         "sinh", "sqrt", "square", "tan", "tanh", "zeros_like", "ones_like", "identity",
         "stop_gradient"]
BINARY = ["add", "subtract", "multiply", "maximum", "minimum", "pow", "equal", "not_equal", "less",
          "less_equal", "greater", "greater_equal", "squared_difference", "atan2", "divide",
          "realdiv", "truediv", "floordiv", "floormod", "mod"]
REDUCTIONS = ["reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod",
              "reduce_logsumexp"]
ACTIVATIONS = ["elu", "leaky_relu", "log_softmax", "relu", "relu6", "selu", "softmax", "softplus",
               "softsign", "swish", "sigmoid", "tanh", "log_sigmoid", "zero_fraction", "l2_loss"]

CASES = {
    **{name: lambda tf, name=name: getattr(tf, name)(P) for name in UNARY},
    "acosh": lambda tf: tf.acosh(1 + P),
    **{name: lambda tf, name=name: getattr(tf, name)(P, np.float32(0.3) + P.T.reshape(3, 4))
       for name in BINARY},
    **{name: lambda tf, name=name: [getattr(tf, name)(P), getattr(tf, name)(P, 1),
                                    getattr(tf, name)(P, reduction_indices=0, keep_dims=True)]
       for name in REDUCTIONS},
    **{f"nn.{name}": lambda tf, name=name: getattr(tf.nn if hasattr(tf.nn, name) else tf.math,
                                                   name)(A) for name in ACTIVATIONS},
    "reduce_any": lambda tf: [tf.reduce_any(A > 1), tf.reduce_any(A > 1, 1, keepdims=True)],
    "reduce_all": lambda tf: [tf.reduce_all(A > -9), tf.reduce_all(A > 0, reduction_indices=[0])],
    "logical": lambda tf: [tf.logical_and([True], [False]), tf.logical_or([True], [False]),
                           tf.logical_xor([True], [True]), tf.logical_not([True])],
    "means of integers": lambda tf: [tf.reduce_mean([1, 2, -4, -4]), tf.reduce_mean([[7, 2]], 1)],
    "divisions": lambda tf: [
        tf.div(-7, 2), tf.div(7., 2.), tf.truncatediv(-7, 2), tf.floordiv(-7, 2), tf.mod(-7, 3),
        tf.constant(-7) / 2, tf.constant(7) // 2, tf.constant(-7) % 3, tf.divide(7, 2),
        tf.truediv(7, 2), tf.constant([1, 2], tf.int64) / tf.constant([2, 2], tf.int64),
        tf.constant(7, tf.int8) / tf.constant(2, tf.int8)],
    "operators": lambda tf: [
        tf.constant(A) + 1, 1 - tf.constant(A), tf.constant(A) * np.arange(4.), A / tf.constant(P),
        -tf.constant(A), abs(tf.constant(A)), tf.constant(A) ** 2, tf.constant(P) ** 1.5,
        tf.constant(A) @ tf.constant(A.T), tf.constant(A) > 0, tf.constant(A)[1],
        tf.constant(A)[:, 1:3], tf.constant(A)[..., None], ~tf.constant([True])],
    "argmax": lambda tf: [tf.argmax(A), tf.argmax(A, 1), tf.argmax(A, dimension=1),
                          tf.argmax(A, 1, output_type=tf.int32), tf.argmin(A, axis=1)],
    "casts": lambda tf: [tf.cast(A, tf.int32), tf.to_float([1, 2]), tf.to_double(1),
                         tf.to_int32(A), tf.to_int64(A), tf.cast([0, 2], tf.bool)],
    "matmul": lambda tf: [tf.matmul(A, A, transpose_b=True), tf.matmul(A, A, adjoint_a=True)],
    "sums": lambda tf: [tf.add_n([A, A]), tf.accumulate_n([A, A]), tf.cumsum(A, 1),
                        tf.cumprod(P, 0, exclusive=True)],
    "norms": lambda tf: [tf.norm(A), tf.norm(A, axis=1, keep_dims=True), tf.global_norm([A]),
                         tf.clip_by_norm(A, 1.), tf.clip_by_value(A, -0.5, 0.5),
                         tf.clip_by_global_norm([A, A], 1.), tf.trace(A[:3, :3])],
    "counts": lambda tf: [tf.count_nonzero(A > 0, 1), tf.confusion_matrix([0, 1], [1, 1]),
                          tf.segment_sum(A, [0, 0, 1]), tf.unsorted_segment_sum(A, [1, 0, 1], 2)],
    "products": lambda tf: [tf.tensordot(A, A, [[0], [0]]), tf.einsum("ij,kj->ik", A, A)],
    "sorted": lambda tf: [tf.argsort(A), tf.sort(A), tf.unique([1, 2, 1]),
                          tf.unique_with_counts([1, 2, 1])],
    "where": lambda tf: [tf.where(A > 0), tf.where([True, False, True], A, -A),
                         tf.where(A > 0, A, -A)],
    "joins": lambda tf: [tf.concat([A, A], 1), tf.stack([A, A], 1), tf.unstack(tf.constant(A)),
                         tf.split(A, 2, 1), tf.split(A, [1, 3], 1), tf.tile([1, 2], [2])],
    "gathers": lambda tf: [tf.gather(A, [2, 0]), tf.gather(A, [1], axis=1),
                           tf.gather_nd(A, [[0, 1]]), tf.boolean_mask(A, [True, False, True]),
                           tf.one_hot([1, 0], 3, 5., -1.), tf.scatter_nd([[1]], [5], [3])],
    "shapes": lambda tf: [
        tf.shape(A), tf.shape(A, out_type=tf.int64), tf.shape_n([A, A[0]]), tf.size(A),
        tf.rank(A), tf.reshape(A, [2, -1]), tf.transpose(A), tf.transpose(A[None], [2, 0, 1]),
        tf.expand_dims(A, dim=0), tf.squeeze(A[None], squeeze_dims=[0]),
        tf.broadcast_to(A[0], [2, 4])],
    "parts": lambda tf: [
        tf.reverse(A, [1]), tf.reverse_v2(A, [0]), tf.pad(A, [[1, 0], [0, 1]]),
        tf.pad(A, [[1, 1], [1, 1]], "REFLECT"), tf.slice(A, [0, 1], [2, 2]),
        tf.strided_slice(A, [0, 0], [3, 4], [2, 2])],
    "fills": lambda tf: [
        tf.zeros([2]), tf.ones([2, 1], tf.int32), tf.fill([2], 3), tf.eye(2), tf.range(3),
        tf.range(1., 2., .5), tf.linspace(0., 1., 3), tf.lin_space(0., 1., 2),
        tf.meshgrid([1, 2], [3, 4]), tf.diag([1, 2]), tf.matrix_diag([[1, 2]]),
        tf.matrix_diag_part(A[:3, :3]), tf.matrix_band_part(A, 0, -1),
        tf.sequence_mask([1, 2], 3), tf.sequence_mask([1, 3])],
    "constants": lambda tf: [
        tf.constant(3), tf.constant([1., 2.]), tf.constant([1, 2], shape=[3]),
        tf.constant(3, shape=[2, 2]), tf.constant([1, 2, 3, 4], tf.float32, [2, 2]),
        tf.constant(np.arange(3)), tf.constant(True), tf.convert_to_tensor(A)],
    "text": lambda tf: [tf.constant("a"), tf.constant(["a", "b"]), tf.identity(tf.constant("a"))],
    "cross entropies": lambda tf: [
        tf.nn.softmax_cross_entropy_with_logits(labels=LABELS, logits=A),
        tf.nn.softmax_cross_entropy_with_logits_v2(labels=LABELS, logits=A),
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=CLASSES, logits=A),
        tf.nn.sigmoid_cross_entropy_with_logits(labels=LABELS, logits=A),
        tf.nn.weighted_cross_entropy_with_logits(LABELS, A, 2.)],
    "nn": lambda tf: [
        tf.nn.in_top_k(A, CLASSES, 2), tf.nn.top_k(A, 2), tf.nn.moments(tf.constant(A), [0]),
        tf.nn.moments(tf.constant(A), [0], keep_dims=True), tf.nn.l2_normalize(A, 1),
        tf.nn.l2_normalize(A, dim=0), tf.nn.bias_add(A, [1., 2., 3., 4.]),
        tf.nn.xw_plus_b(A, np.ones([4, 2], "float32"), [1., 2.]),
        tf.nn.embedding_lookup(A, [2, 0]), tf.nn.embedding_lookup([A, A * 2], [0, 1, 3]),
        tf.nn.embedding_lookup([A, A * 2], [0, 1, 3], partition_strategy="div"),
        tf.nn.batch_normalization(A, A[0], P[0], A[1], A[2], 1e-3)],
    "images": lambda tf: [
        tf.nn.conv2d(image(tf), np.ones([2, 2, 2, 3], "float32"), strides=[1, 2, 2, 1],
                     padding="SAME"),
        tf.nn.conv2d(image(tf), filters=np.ones([3, 3, 2, 1], "float32"), strides=1,
                     padding="VALID"),
        tf.nn.conv2d_transpose(image(tf), np.ones([2, 2, 1, 2], "float32"), [1, 8, 8, 1],
                               [1, 2, 2, 1]),
        tf.nn.max_pool(image(tf), ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID"),
        tf.nn.avg_pool(image(tf), ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="SAME"),
        tf.nn.lrn(image(tf), depth_radius=1), tf.nn.local_response_normalization(image(tf)),
        tf.nn.depthwise_conv2d(image(tf), np.ones([2, 2, 2, 1], "float32"), [1, 1, 1, 1], "SAME"),
        tf.nn.separable_conv2d(image(tf), np.ones([2, 2, 2, 1], "float32"),
                               np.ones([1, 1, 2, 3], "float32"), [1, 1, 1, 1], "SAME"),
        tf.nn.atrous_conv2d(image(tf), np.ones([2, 2, 2, 1], "float32"), 2, "SAME"),
        tf.nn.space_to_depth(image(tf), 2), tf.nn.depth_to_space(tf.ones([1, 2, 2, 4]), 2),
        tf.nn.fused_batch_norm(image(tf), [1., 2.], [0., 1.])[0],
        tf.space_to_batch(image(tf), [[0, 0], [0, 0]], 2),
        tf.space_to_batch_nd(image(tf), [2, 2], [[0, 0], [0, 0]]),
        tf.batch_to_space_nd(tf.ones([4, 1, 1, 1]), [2, 2], [[0, 0], [0, 0]]),
        tf.batch_to_space(tf.ones([4, 1, 1, 1]), [[0, 0], [0, 0]], 2)],
    "losses": lambda tf: [
        tf.losses.mean_squared_error(LABELS, A),
        tf.losses.mean_squared_error(LABELS, A, weights=[[1.], [0.], [2.]]),
        tf.losses.mean_squared_error(LABELS, A, loss_collection=None,
                                     reduction=tf.losses.Reduction.NONE),
        tf.losses.mean_squared_error(LABELS, A, 2., reduction=tf.losses.Reduction.SUM),
        tf.losses.mean_squared_error(LABELS, A, 2., reduction=tf.losses.Reduction.MEAN),
        tf.losses.mean_squared_error(
            LABELS, A, 2., reduction=tf.losses.Reduction.SUM_OVER_BATCH_SIZE),
        tf.losses.absolute_difference(LABELS, A), tf.losses.huber_loss(LABELS, A),
        tf.losses.log_loss(LABELS, tf.nn.softmax(A)), tf.losses.hinge_loss(LABELS, A),
        tf.losses.cosine_distance(LABELS, A, 1),
        tf.losses.softmax_cross_entropy(LABELS, A, label_smoothing=.1),
        tf.losses.sparse_softmax_cross_entropy(CLASSES, A, weights=[1., 0., 2.]),
        tf.losses.sigmoid_cross_entropy(LABELS, A, label_smoothing=.1),
        tf.losses.compute_weighted_loss([1., 2.], [3., 0.]), tf.losses.get_total_loss()],
    "control flow": lambda tf: [
        tf.while_loop(lambda i, x: i < 3, lambda i, x: [i + 1, x * 2], [0, 1.]),
        tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)]),
        tf.cond(tf.constant(1) < 2, lambda: tf.constant(1), lambda: tf.constant(2)),
        tf.cond(tf.constant(3) < 2, fn1=lambda: [tf.constant(1)], fn2=lambda: [tf.constant(2)]),
        tf.case([(tf.constant(1) < 0, lambda: tf.constant(1))], default=lambda: tf.constant(2)),
        tf.scan(lambda a, x: a + x, tf.constant([1, 2, 3])),
        tf.scan(lambda a, x: a * x, tf.constant([1., 2.]), initializer=3.),
        tf.map_fn(lambda x: x * 2, tf.constant([1, 2, 3])),
        tf.foldl(lambda a, x: a + x, tf.constant([1, 2, 3])),
        tf.foldr(lambda a, x: a - x, tf.constant([1, 2, 3]))],
    "parts of rows": lambda tf: [
        tf.dynamic_partition(A, [1, 0, 1], 3), tf.dynamic_partition(A, np.arange(12).reshape(
            3, 4) % 2, 2), tf.dynamic_stitch([[0, 3], [1], 2], [A[:2], A[2:], A[0]]),
        tf.reverse_sequence(A, [2, 4, 1], seq_axis=1), tf.reverse_sequence(
            A[None], [2], seq_dim=1, batch_dim=0),
        tf.reverse_sequence(A, [3, 0, 1, 2], seq_axis=0, batch_axis=1),
        tf.invert_permutation([2, 0, 1]), tf.setdiff1d([1, 2, 3, 2], [2, 9]),
        tf.unravel_index([5, 1], [2, 3]), tf.batch_gather(A, [[1, 0], [3, 3], [0, 2]])],
    "diagonals": lambda tf: [
        tf.diag_part(A[:3, :3]), tf.diag_part(np.arange(36.).reshape(2, 3, 2, 3)),
        tf.matrix_set_diag(A, [7., 8., 9.]), tf.matrix_transpose(A[None]),
        tf.cross(A[:, :3], A[:, 1:])],
    "histograms": lambda tf: [
        tf.bincount([1, 3, 1]), tf.bincount([1, 3, 1], [1., 2., 3.]),
        tf.bincount([1, 3, 1], minlength=6, dtype=tf.int64), tf.bincount([1, 3], maxlength=2),
        tf.histogram_fixed_width(A, [-1., 1.], 5),
        tf.histogram_fixed_width_bins([-1., 0., 1.5, 2., 5., 15.], [0., 5.], 5)],
    "segments": lambda tf: [
        tf.segment_mean(A, [0, 0, 2]), tf.segment_max(A, [0, 0, 2]), tf.segment_min(A, [0, 0, 2]),
        tf.unsorted_segment_max(A, [2, 0, 2], 3), tf.unsorted_segment_min([4, 2], [1, 1], 2),
        tf.unsorted_segment_mean(A, [2, 0, 2], 3), tf.unsorted_segment_sqrt_n(A, [2, 0, 2], 3)],
    "shapes and places": lambda tf: [
        tf.parallel_stack([A, A]), tf.roll(A, 1, 0), tf.repeat([1, 2], [2, 1]),
        tf.searchsorted([1., 3., 5.], [3., 4.]), tf.ensure_shape(A, [None, 4]),
        tf.tensor_scatter_nd_update([1, 2, 3], [[1]], [7]), tf.tensor_scatter_add(
            [1, 2, 3], [[1]], [7]), tf.tensor_scatter_sub([1, 2, 3], [[1]], [7]),
        tf.tensor_scatter_update([1, 2, 3], [[0]], [7]), tf.tensor_scatter_nd_max(
            [1, 2], [[0]], [7]), tf.tensor_scatter_nd_min([1, 2], [[0]], [7]),
        tf.tensor_scatter_nd_add([1, 2], [[0]], [7]), tf.tensor_scatter_nd_sub([1], [[0]], [7])],
    "more arithmetic": lambda tf: [
        tf.truncatemod(-7, 3), tf.truncatemod(7, -3), tf.floor_div(-7, 2),
        tf.div_no_nan([1., 2.], [0., 4.]), tf.scalar_mul(2., tf.constant(A)),
        tf.cast(tf.to_bfloat16(A), tf.float32),
        tf.clip_by_average_norm(A, 0.1), tf.clip_by_average_norm(A, 9.),
        tf.is_strictly_increasing([1, 2, 3]), tf.is_strictly_increasing([1, 2, 2]),
        tf.is_non_decreasing([1, 2, 2]), tf.is_non_decreasing([1, 0]),
        tf.is_strictly_increasing([])],
    "tf.math": lambda tf: [
        tf.math.cumulative_logsumexp(A), tf.math.cumulative_logsumexp(A * 30., 1, reverse=True),
        tf.math.cumulative_logsumexp(A, 1, exclusive=True), tf.math.divide_no_nan([1.], [0.]),
        tf.math.multiply_no_nan([1.], [0.]), tf.math.reduce_std(A, 0),
        tf.math.reduce_variance(A), tf.math.reduce_euclidean_norm(A, 1), tf.math.xlogy(P, P),
        tf.math.xdivy(P, P), tf.math.xlog1py(P, P), tf.math.top_k(A, 2), tf.math.softplus(A),
        tf.math.softsign(A), tf.math.zero_fraction(A), tf.math.l2_normalize(A, 1),
        tf.math.log_softmax(A), tf.math.softmax(A), tf.math.bincount([1, 2]),
        tf.math.invert_permutation([1, 0]), tf.math.segment_max(A, [0, 0, 1])],
    "made text": lambda tf: [
        tf.as_string([1, -2]), tf.as_string([1.5, 2.]), tf.as_string(3.14159, precision=2),
        tf.as_string([True]), tf.as_string(1234.5, scientific=True), tf.as_string(
            0.5, shortest=True), tf.as_string(7, width=3, fill="0"), tf.as_string(7, width=3),
        tf.string_join(["a", ["b", "c"]], "-"), tf.reduce_join([["a", "b"], ["c", "d"]], 0),
        tf.reduce_join([["a", "b"], ["c", "d"]], 1, separator=".", keep_dims=True),
        tf.reduce_join([["a", "b"], ["c", "d"]]), tf.string_strip([" a ", "b\n"]),
        tf.strings.lower("AbC"), tf.strings.upper("AbC"), tf.strings.join(["x", "y"])],
    "windows": lambda tf: [
        tf.nn.conv1d(A[None], np.ones([2, 4, 3], "float32"), 1, "SAME"),
        tf.nn.conv1d(A[None], filters=np.ones([2, 4, 1], "float32"), stride=2, padding="VALID"),
        tf.nn.conv3d(tf.reshape(tf.range(16.), [1, 2, 2, 2, 2]),
                     np.ones([2, 2, 2, 2, 1], "float32"), [1, 1, 1, 1, 1], "SAME"),
        tf.nn.conv3d_transpose(tf.ones([1, 1, 1, 1, 2]), np.ones([2, 2, 2, 1, 2], "float32"),
                               [1, 2, 2, 2, 1], [1, 2, 2, 2, 1]),
        tf.nn.conv1d_transpose(tf.ones([1, 2, 2]), np.ones([2, 1, 2], "float32"), [1, 4, 1], 2),
        tf.nn.conv2d_backprop_input([1, 4, 4, 2], np.ones([2, 2, 2, 1], "float32"),
                                    tf.ones([1, 4, 4, 1]), [1, 1, 1, 1], "SAME"),
        tf.nn.conv2d_backprop_filter(image(tf), [2, 2, 2, 1], tf.ones([1, 4, 4, 1]),
                                     [1, 1, 1, 1], "SAME"),
        tf.nn.atrous_conv2d_transpose(image(tf), np.ones([2, 2, 1, 2], "float32"), [1, 6, 6, 1],
                                      2, "VALID"),
        tf.nn.convolution(image(tf), np.ones([2, 2, 2, 1], "float32"), "VALID"),
        tf.nn.depthwise_conv2d_native(image(tf), np.ones([2, 2, 2, 1], "float32"), [1, 1, 1, 1],
                                      "VALID"),
        tf.nn.max_pool2d(image(tf), [1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
        tf.nn.avg_pool2d(value=image(tf), ksize=2, strides=2, padding="VALID"),
        tf.nn.max_pool1d(A[None], 2, 1, "SAME"), tf.nn.avg_pool1d(A[None], 2, 1, "VALID"),
        tf.nn.max_pool3d(tf.ones([1, 2, 2, 2, 1]), 2, 2, "VALID"),
        tf.nn.avg_pool3d(tf.ones([1, 2, 2, 2, 1]), 2, 2, "VALID"),
        tf.nn.max_pool_with_argmax(image(tf), [1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
        tf.nn.pool(image(tf), [2, 2], "AVG", "VALID", strides=[2, 2])],
    "older layers": lambda tf: [
        tf.nn.crelu(A), tf.nn.silu(A), tf.nn.relu_layer(A, A.T, [1., 2., 3.]),
        tf.nn.weighted_moments(A, [0], P), tf.nn.weighted_moments(A, 1, P, keep_dims=True),
        tf.nn.log_poisson_loss(P, A), tf.nn.log_poisson_loss(2. * P, A, True),
        tf.nn.batch_norm_with_global_normalization(
            tf.reshape(A, [1, 3, 1, 4]), A[0], P[0], A[1], A[2], 1e-3, True)],
    "assertions": lambda tf: [
        tf.Assert(True, ["x"]), tf.assert_equal([1, 2], [1, 2]), tf.assert_less([1, 2], 3),
        tf.assert_greater([1, 2], 0), tf.assert_less_equal(1, 1), tf.assert_greater_equal(1, 1),
        tf.assert_none_equal(1, 2), tf.assert_near([1.], [1.000001]), tf.assert_positive([1.]),
        tf.assert_negative([-1]), tf.assert_non_negative([0]), tf.assert_non_positive([0]),
        tf.assert_rank(A, 2), tf.assert_rank_at_least(A, 1), tf.assert_rank_in(A, [1, 2]),
        tf.assert_type(tf.constant(A), tf.float32), tf.assert_integer(tf.constant(1)),
        tf.assert_scalar(1.), tf.check_numerics(A, "x"), tf.verify_tensor_all_finite(A, "x")],
    "nested fetches": lambda tf: (tf.constant(1), {"a": tf.constant(2.), "b": [tf.no_op()]}),
}


def updates(make, sparse):
    """Return a program of variables and slots after each update."""
    def run(tf):
        w = tf.Variable([[1., 2.], [3., 4.], [5., 6.]])
        rows = tf.nn.embedding_lookup(w, [0, 2, 0]) if sparse else w
        optimizer = make(tf.train)
        step = optimizer.minimize(tf.reduce_sum(rows * rows))
        found = []
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(4):
                session.run(step)
                found.append(session.run(w))
        return found, optimizer.get_slot_names()
    return run


OPTIMIZERS = {
    "gradient descent": lambda t: t.GradientDescentOptimizer(.01),
    "momentum": lambda t: t.MomentumOptimizer(.01, .9),
    "nesterov": lambda t: t.MomentumOptimizer(.01, .9, use_nesterov=True),
    "adam": lambda t: t.AdamOptimizer(.1),
    "adagrad": lambda t: t.AdagradOptimizer(.1),
    "rmsprop": lambda t: t.RMSPropOptimizer(.01, momentum=.5),
    "centered rmsprop": lambda t: t.RMSPropOptimizer(.01, centered=True),
    "adadelta": lambda t: t.AdadeltaOptimizer(1., epsilon=1e-3),
    "ftrl": lambda t: t.FtrlOptimizer(.5),
    "ftrl with penalties": lambda t: t.FtrlOptimizer(
        .5, initial_accumulator_value=.2, l1_regularization_strength=3.,
        l2_regularization_strength=.1, l2_shrinkage_regularization_strength=.01),
    "ftrl of another power": lambda t: t.FtrlOptimizer(.5, learning_rate_power=-.7),
    "proximal descent": lambda t: t.ProximalGradientDescentOptimizer(.1, .5, .25),
    "proximal adagrad": lambda t: t.ProximalAdagradOptimizer(.5, .1, .5, .25),
}
DECAYS = {
    "exponential_decay": lambda t, k: t.exponential_decay(.1, k, 10, .5),
    "staircase": lambda t, k: t.exponential_decay(.1, k, 10, .5, staircase=True),
    "natural_exp_decay": lambda t, k: t.natural_exp_decay(.1, k, 10, .5),
    "inverse_time_decay": lambda t, k: t.inverse_time_decay(.1, k, 10, .5),
    "polynomial_decay": lambda t, k: t.polynomial_decay(.1, k, 10),
    "cycle": lambda t, k: t.polynomial_decay(.1, k, 10, power=2., cycle=True),
    "cosine_decay": lambda t, k: t.cosine_decay(.1, k, 10),
    "piecewise_constant": lambda t, k: t.piecewise_constant(k, [2, 10], [1., .5, .1]),
    "piecewise_constant_decay": lambda t, k: t.piecewise_constant_decay(k, [2, 10], [1., .5, .1]),
}


def decayed(make):
    def run(tf):
        with tf.Session() as session:
            return session.run([make(tf.train, tf.constant(k)) for k in (0, 1, 3, 10, 25)])
    return run


def fetched(case):
    def run(tf):
        made = case(tf)
        with tf.Session() as session:
            return session.run(made)
    return run


PROGRAMS = {
    **{name: fetched(case) for name, case in CASES.items()},
    **{name: updates(make, False) for name, make in OPTIMIZERS.items()},
    **{f"sparse {name}": updates(make, True) for name, make in OPTIMIZERS.items()
       if "rms" not in name and name not in ("momentum", "nesterov")},
    **{name: decayed(make) for name, make in DECAYS.items()},
    "metrics": measures,
}


def plain(x):
    """Return results in a form for JSON: dtypes, shapes and values."""
    if isinstance(x, dict):
        return [plain(x[key]) for key in sorted(x)]
    if isinstance(x, list | tuple):
        return [plain(item) for item in x]
    if x is None or isinstance(x, int | str):
        return x
    if isinstance(x, bytes):
        return x.decode()
    if x.dtype == object:
        return [plain(item) for item in x.tolist()]
    values = np.asarray(x, float).ravel().tolist() if x.dtype.kind == "f" else np.ravel(x).tolist()
    return {"dtype": x.dtype.name, "shape": list(np.shape(x)), "values": values}


def results(tf):
    """Return the results of all programs."""
    found = {}
    for name, program in PROGRAMS.items():
        tf.reset_default_graph()
        found[name] = plain(program(tf))
    return found


if __name__ == "__main__":
    import tensorflow.compat.v1 as tensorflow

    tensorflow.disable_v2_behavior()
    REFERENCE.write_text(json.dumps(results(tensorflow)) + "\n")
    sys.exit(0)
