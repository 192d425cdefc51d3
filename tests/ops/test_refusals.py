"""Invalid calls of network ops, eager, traced, and traced for unknown sizes: the message names the
called op, the shapes, and the violated rule."""

import re

import numpy as np
import pytest

import dualflow as df

nn, image = df.nn, df.image
X, W, G = (2, 5, 6, 4), (3, 3, 4, 6), (2, 5, 6, 6)       # images, filters, output gradients
D, P = (3, 3, 4, 2), (1, 1, 8, 5)                        # filters of separable convolutions
Q, K = (2, 4, 6, 8), (2, 4, 7, 8)                        # queries and keys
S, U = (2, 5, 3), 4                                      # sequences, units


def ints(*values):
    return np.array(values, "int32")


def of(name, *args, **kwargs):
    """Return a call that takes the tensors first."""
    return name, lambda *tensors: getattr(nn, name)(*tensors, *args, **kwargs)


def of_image(name, *args, **kwargs):
    return name, lambda *tensors: getattr(image, name)(*tensors, *args, **kwargs)


def transposed(name, shape, stride=1):
    return name, lambda x, w: getattr(nn, name)(x, w, shape, stride)


def with_lengths(name):
    return name, lambda x, kernel, recurrent, lengths: getattr(nn, name)(
        x, kernel, recurrent, lengths=lengths)


ONE = [1, 1, 1, 1]
ROWS = [      # (op, call), tensors by shape or array, words of the message
    (of("conv1d", 1, "VALID"), [(2, 2, 4), (3, 4, 6)], "(2, 2, 4) (3, 4, 6) 3 wide fits"),
    (of("conv1d", 0, "SAME"), [(2, 5, 4), (3, 4, 6)], "strides is 0"),
    (of("conv2d", 1, "VALID", "NCHW"), [(2, 4, 2, 3), W], "(2, 4, 2, 3) (3, 3, 4, 6) fits"),
    (of("conv2d", 1, "SAME"), [X, (3, 3, 3, 6)], "(2, 5, 6, 4) (3, 3, 3, 6) channels multiple"),
    (of("conv2d", 1, "SAME"), [X, (3, 3, 2, 5)], "(2, 5, 6, 4) (3, 3, 2, 5) outputs groups"),
    (of("conv3d", 1, "SAME"), [X, (3, 3, 3, 4, 6)], "(2, 5, 6, 4) (3, 3, 3, 4, 6) 5 or more"),
    (of("convolution"), [X, (4, 6)], "(4, 6) 3, 4 or 5"),
    (of("atrous_conv2d", 3, "VALID"), [X, W], "(2, 5, 6, 4) (3, 3, 4, 6) dilation 3 7 wide"),
    (transposed("conv1d_transpose", (2, 9, 6)), [(2, 5, 4), (3, 6, 4)], "(2, 9, 6) (2, 5, 4)"),
    (transposed("conv2d_transpose", (2, -1, 6, 6)), [X, (3, 3, 6, 4)], "(2, ?, 6, 6) 0 or more"),
    (transposed("conv2d_transpose", (3, 5, 6, 6)), [X, (3, 3, 6, 4)], "(3, 5, 6, 6) (2, 5, 6, 4)"),
    (transposed("conv3d_transpose", (2, 9), 2), [(2, 5, 5, 5, 4), (3, 3, 3, 6, 4)], "(2, 9) 5"),
    (("conv2d_backprop_input",
      lambda w, g: nn.conv2d_backprop_input((2, 9, 6, 4), w, g, 1, "SAME")),
     [W, G], "(2, 9, 6, 4) (3, 3, 4, 6) (2, 5, 6, 6) output's shape"),
    (("conv2d_backprop_filter",
      lambda x, g: nn.conv2d_backprop_filter(x, (3, 3, 3, 6), g, 1, "SAME")),
     [X, G], "(2, 5, 6, 4) (3, 3, 3, 6) channels"),
    (of("depthwise_conv2d", ONE, "VALID"), [(2, 2, 2, 4), D], "(2, 2, 2, 4) (3, 3, 4, 2) fits"),
    (of("depthwise_conv2d", ONE, "SAME"), [X, (3, 3, 3, 2)], "(2, 5, 6, 4) (3, 3, 3, 2) 4"),
    (of("separable_conv2d", ONE, "SAME"), [X, D, (1, 1, 7, 5)], "(3, 3, 4, 2) (1, 1, 7, 5)"),
    (of("separable_conv2d", [1, 0, 0, 1], "SAME"), [X, D, P], "strides [1, 0, 0, 1] 1 or more"),
    (of("max_pool", 7, 1, "VALID"), [X], "(2, 5, 6, 4) spans 7 fits"),
    (of("avg_pool", 2, 0, "SAME"), [X], "(2, 5, 6, 4) stride 0 1 or more"),
    (of("max_pool1d", [2, 2], 1, "SAME"), [(2, 5, 4)], "ksize (2, 5, 4) [2, 2]"),
    (of("max_pool2d", 2, 1, [[0, 0], [5, 5], [0, 0], [0, 0]]), [X], "(2, 5, 6, 4) 5 and 5 less"),
    (of("avg_pool3d", 2, 1, "SAME"), [X], "(2, 5, 6, 4) 5 dimensions"),
    (of("adaptive_avg_pool", [0, 1]), [X], "(2, 5, 6, 4) 0 windows"),
    (of("adaptive_max_pool", 2), [(2, 0, 6, 4)], "(2, 0, 6, 4) 1 pixel or more"),
    (of("max_pool_with_argmax", 2, 1, "SAME"), [X[1:]], "(5, 6, 4) 4 dimensions"),
    (of_image("resize", [3, 0]), [X], "size is [3, 0] positive"),
    (of_image("resize", [3, 3]), [(4,)], "(4,) height"),
    (of_image("crop_and_resize", [2, 2]), [X, (3, 4), ints(0, 0)], "(2, 5, 6, 4) (3, 4) (2,)"),
    (of_image("extract_patches", [1, 2, 2, 1], ONE, ONE, "SAME"), [X[1:]], "sizes (5, 6, 4)"),
    (of("space_to_depth", 2), [X], "(2, 5, 6, 4) height is 5 multiple of 2"),
    (of("depth_to_space", 3), [X], "(2, 5, 6, 4) channels is 4 multiple of 9"),
    (of("space_to_batch", [2, 2], [[0, 0], [0, 0]]), [X], "(2, 5, 6, 4) is 5 multiple of 2"),
    (of("batch_to_space", [2, 1], [[9, 9], [0, 0]]), [X], "(2, 5, 6, 4) crops 9 and 9"),
    (of("batch_normalization", None, None, 1e-3), [X, (3,), (4,)], "(2, 5, 6, 4) mean (3,)"),
    (of("fused_batch_norm"), [X, (3,), (4,)], "(2, 5, 6, 4) scale (3,) (4,)"),
    (of("fused_batch_norm", is_training=False), [X, (4,), (4,), (3,), (4,)], "(2, 5, 6, 4) (3,)"),
    (of("layer_norm"), [X, (3,)], "(2, 5, 6, 4) scale (3,)"),
    (of("layer_norm", axis=[1, 2]), [X, (5,)], "(2, 5, 6, 4) (5,) broadcast"),
    (of("layer_norm"), [()], "scalar"),
    (of("group_norm", 3), [X], "3 groups of 4 channels divisor"),
    (of("instance_norm"), [X, (3,)], "(2, 5, 6, 4) scale (3,)"),
    (of("rms_norm"), [X, (3,)], "(2, 5, 6, 4) scale (3,)"),
    (of("local_response_normalization", -1), [X], "depth_radius is -1"),
    (of("moments", 4), [X], "axis 4 of 4 dimensions"),
    (of("softmax", 4), [X], "axis 4 of 4 dimensions"),
    (of("softmax_cross_entropy_with_logits"), [(2, 3), (2, 4)], "(2, 3) (2, 4) same shape"),
    (of("sparse_softmax_cross_entropy_with_logits"), [ints(0, 4), (2, 4)], "label 4 0 to 3"),
    (of("sparse_softmax_cross_entropy_with_logits"), [ints(1), (2, 4)], "(1,) (2, 4)"),
    (of("scaled_dot_product_attention"), [Q, (2, 4, 7, 9), K], "(2, 4, 6, 8) (2, 4, 7, 9) width"),
    (of("scaled_dot_product_attention"), [Q, (2, 3, 7, 8), (2, 3, 7, 8)], "(2, 3, 7, 8) heads"),
    (of("scaled_dot_product_attention"), [Q, K, K, np.ones((5, 7), bool)], "(5, 7) (2, 4, 6, 7)"),
    (of("scaled_dot_product_attention"), [Q, K, K, np.ones((1, 1, 1, 6, 7), bool)],
     "(1, 1, 1, 6, 7) (2, 4, 6, 7)"),
    (of("scaled_dot_product_attention", dropout_p=1.5), [Q, K, K], "dropout_p is 1.5"),
    (of("embedding_lookup"), [(5, 3), ints(0, 5)], "indices[1] is 5 (5, 3)"),
    (of("embedding_lookup"), [(0, 3), ints(0)], "indices[0] is 0 (0, 3)"),
    *[(of(name), [(2, 5, 2), (3, n * U), (U, n * U)], f"(3, {n * U}) (2, 5, 2)")
      for name, n in (("lstm", 4), ("gru", 3), ("simple_rnn", 1))],
    *[(of(name), [S, (3, n * U), (3, n * U)], f"recurrent (3, {n * U})")
      for name, n in (("lstm", 4), ("gru", 3))],
    *[(with_lengths(name), [S, (3, n * U), (U, n * U), lengths], words)
      for name, n in (("lstm", 4), ("gru", 3), ("simple_rnn", 1))
      for lengths, words in ((ints(-1, 2), "length -1 0 to 5"), (ints(6, 2), "length 6 0 to 5"),
                             (ints(1, 2, 3), "lengths (3,)"))],
    (("lstm", lambda x, k, r, h: nn.lstm(x, k, r, initial_state=(h, h))),
     [S, (3, 4 * U), (U, 4 * U), (3, U)], "initial state (3, 4)"),
    (("matmul", lambda a, b: df.matmul(a, b, output_type=df.int32)),
     [np.ones((5, 3), "int8"), np.ones((4, 5), "int8")], "(5, 3) (4, 5)"),
]
# Names in messages of functions that call another op.
KNOWN_AS = {"max_pool1d": "max_pool", "max_pool2d": "max_pool", "avg_pool3d": "avg_pool",
            "adaptive_avg_pool": "avg_pool", "adaptive_max_pool": "max_pool",
            "softmax_cross_entropy_with_logits": "softmax_cross_entropy",
            "sparse_softmax_cross_entropy_with_logits": "sparse_softmax_cross_entropy",
            "embedding_lookup": "gather", "matmul": "matmul_int32"}
IDS = [f"{k}-{op}" for k, ((op, _), _, _) in enumerate(ROWS)]


def tensors(given):
    return [df.constant(np.ones(g, "float32") if isinstance(g, tuple) else g) for g in given]


@pytest.mark.parametrize("sizes", ["eager", "known", "unknown"])
@pytest.mark.parametrize("call, given, words", ROWS, ids=IDS)
def test_invalid_call_raises_with_message(call, given, words, sizes):
    op, function = call
    given = tensors(given)
    if sizes != "eager":
        function = df.function(function, input_signature=None if sizes == "known" else [
            df.TensorSpec([None] * x.ndim, x.dtype) for x in given])
    with pytest.raises((ValueError, TypeError, IndexError)) as info:
        function(*given)
    message = str(info.value)
    # Errors found only at run time name the op that found them.
    inner = {op, KNOWN_AS.get(op, op), op.replace("2d_transpose", "_backprop_input")}
    assert message.partition(":")[0] in inner, message
    for word in re.findall(r"\([^)]*\)|\S+", words):
        assert word in message, message
    assert isinstance(info.value, df.errors.DualflowError)
