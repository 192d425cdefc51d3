"""Network ops on tensors without elements: empty batches, images without channels, sequences of no
steps. Results and gradients to order 2 have the shapes they have with elements, and traces for
unknown sizes give the same."""

import numpy as np
import pytest

import dualflow as df
from tests.ops.test_traced import bits

nn, image = df.nn, df.image
NO_BATCH, NO_CHANNELS, NO_ROWS = (0, 5, 5, 4), (2, 5, 5, 0), (2, 0, 5, 4)
ANY = (NO_BATCH, NO_CHANNELS, NO_ROWS)


def conv(n, **kwargs):
    return lambda x, w: getattr(nn, f"conv{n}d")(x, w, 1, "SAME", **kwargs)


def pooled(name, n):
    return lambda x: getattr(nn, f"{name}{n}d")(x, 2, 2, "SAME")


def recurrent(name, gates, **kwargs):
    def call(x):
        both = [df.ones((x.shape[2], 4 * gates))] * (2 if kwargs else 1)
        return getattr(nn, name)(x, both, [df.ones((4, 4 * gates))] * len(both), **kwargs)[0]
    return call


def labels_of_nothing(x):
    return nn.sparse_softmax_cross_entropy_with_logits(df.zeros(x.shape[:-1], df.int32), x)


def of_channels(op, **kwargs):
    def call(x):
        c = x.shape[-1]
        return df.nest.flatten(op(x, df.ones([c]), df.zeros([c]), **kwargs))[0]
    return call


def same(op, *shapes):
    """Return a row of an op whose result has the shape of its input."""
    return [(op, [shape], shape) for shape in shapes]


def attention(causal):
    return lambda q, k: nn.scaled_dot_product_attention(q, k, k, is_causal=causal)


ROWS = [      # function, shapes of its tensors, shape of the result
    *[(conv(n), [(0, *(5,) * n, 4), (*(3,) * n, 4, 6)], (0, *(5,) * n, 6)) for n in (1, 2, 3)],
    *[(conv(n), [(2, *(5,) * n, 0), (*(3,) * n, 0, 6)], (2, *(5,) * n, 6)) for n in (1, 2, 3)],
    (conv(2), [(2, 5, 5, 4), (3, 3, 4, 0)], (2, 5, 5, 0)),
    (conv(2), [(2, 0, 5, 4), (3, 3, 4, 6)], (2, 0, 5, 6)),
    (conv(2), [(2, 3, 0, 5, 4), (3, 3, 4, 6)], (2, 3, 0, 5, 6)),
    (conv(2, data_format="NCHW"), [(0, 4, 5, 5), (3, 3, 4, 6)], (0, 6, 5, 5)),
    (lambda x, w: nn.conv2d_transpose(x, w, (x.shape[0], 5, 5, 3), 1),
     [NO_BATCH, (3, 3, 3, 4)], (0, 5, 5, 3)),
    *[(lambda x, w: nn.depthwise_conv2d(x, w, 1, "SAME"), [x, (3, 3, x[3], 2)],
       (*x[:3], 2 * x[3])) for x in (NO_BATCH, NO_ROWS)],
    *[(pooled(name, n), [x], y) for name in ("max_pool", "avg_pool")
      for n, x, y in ((1, (0, 5, 4), (0, 3, 4)), (2, NO_CHANNELS, (2, 3, 3, 0)),
                      (3, (0, 5, 5, 5, 4), (0, 3, 3, 3, 4)))],
    (lambda x: nn.adaptive_avg_pool(x, 2), [NO_BATCH], (0, 2, 2, 4)),
    (lambda x: nn.adaptive_max_pool(x, 2), [NO_CHANNELS], (2, 2, 2, 0)),
    (lambda x: nn.max_pool_with_argmax(x, 2, 2, "SAME")[0], [NO_BATCH], (0, 3, 3, 4)),
    *[(lambda x, m=method: image.resize(x, [3, 7], m), [x], (x[0], 3, 7, x[3]))
      for x in (NO_BATCH, NO_CHANNELS) for method in ("bilinear", "nearest", "area")],
    *[(lambda x, b: image.crop_and_resize(x, b, df.zeros([b.shape[0]], df.int32), [2, 3]),
       [(2, 5, 5, c), (n, 4)], (n, 2, 3, c)) for n, c in ((0, 4), (3, 0))],
    (lambda x: image.extract_patches(x, 2, 1, 1, "SAME"), [NO_BATCH], (0, 5, 5, 16)),
    (lambda x: nn.space_to_depth(x, 2), [(0, 4, 4, 3)], (0, 2, 2, 12)),
    (lambda x: nn.depth_to_space(x, 2), [(2, 0, 5, 4)], (2, 0, 10, 1)),
    (lambda x: df.space_to_batch(x, [2, 2], [[0, 1], [0, 1]]), [NO_CHANNELS], (8, 3, 3, 0)),
    *same(of_channels(nn.fused_batch_norm), *ANY),
    *same(of_channels(nn.layer_norm), *ANY),
    *same(lambda x: nn.layer_norm(x, axis=[1, 2, 3]), *ANY),
    *same(lambda x: nn.rms_norm(x), *ANY),
    *same(lambda x: nn.group_norm(x, 2), *ANY),
    *same(lambda x: nn.instance_norm(x, data_format="NCHW"), *ANY),
    *same(nn.local_response_normalization, *ANY),
    *same(lambda x: nn.l2_normalize(x, -1), *ANY),
    *same(nn.softmax, *ANY), *same(lambda x: nn.log_softmax(x, 1), *ANY),
    *[(lambda x: nn.softmax_cross_entropy_with_logits(x, x), [x], x[:-1]) for x in ANY],
    *[(labels_of_nothing, [x], x[:-1]) for x in (NO_BATCH, NO_ROWS)],
    *[(attention(causal), [q, k], q) for causal in (False, True) for q, k in (
        ((0, 4, 6, 8), (0, 4, 7, 8)), ((2, 0, 6, 8), (2, 0, 7, 8)), ((2, 4, 0, 8), (2, 4, 7, 8)),
        ((2, 4, 6, 8), (2, 4, 0, 8)), ((2, 4, 6, 0), (2, 4, 7, 0)))],
    *[(recurrent(name, gates), [x], (*x[:2], 4)) for name, gates in
      (("lstm", 4), ("gru", 3), ("simple_rnn", 1)) for x in ((0, 5, 3), (2, 0, 3), (2, 5, 0))],
    (recurrent("lstm", 4, bidirectional=True), [(2, 0, 3)], (2, 0, 8)),
    *[(lambda p, n=n: nn.embedding_lookup(p, np.zeros(n, "int32")), [p], (*n, p[1]))
      for p, n in (((5, 3), (0,)), ((0, 3), (2, 0)), ((5, 0), (2, 3)))],
    (df.matmul, [(2, 0), (0, 4)], (2, 4)),
]


def to_order_2(function, given):
    """Return the result, its gradients, and the gradients of the sum of their squares."""
    with df.GradientTape() as second:
        second.watch(given)
        with df.GradientTape() as first:
            first.watch(given)
            y = function(*given)
        once = [df.convert_to_tensor(g) for g in first.gradient(
            y, given, unconnected_gradients="zero")]
        total = df.add_n([df.reduce_sum(g * g) for g in once])
    twice = second.gradient(total, given, unconnected_gradients="zero")
    return [y, *once, *map(df.convert_to_tensor, twice)]


@pytest.mark.parametrize("function, shapes, shape", ROWS, ids=range(len(ROWS)))
def test_shapes_and_gradients(function, shapes, shape):
    given = [df.ones(s) for s in shapes]
    eager = to_order_2(function, given)
    assert [y.shape for y in eager] == [shape, *shapes, *shapes]
    traced = df.function(lambda *x: to_order_2(function, list(x)), input_signature=[
        df.TensorSpec([None] * len(s), df.float32) for s in shapes])
    assert bits(traced(*given)) == bits(eager)


@pytest.mark.parametrize("a, b", [((0, 3), (3, 4)), ((2, 0), (0, 4)), ((2, 3), (3, 0))])
def test_empty_integer_products(a, b):
    got = df.matmul(df.ones(a, df.int8), df.ones(b, df.int8), output_type=df.int32)
    np.testing.assert_array_equal(got.numpy(), np.zeros((a[0], b[1]), "int32"))
