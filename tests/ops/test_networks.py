"""Network ops of random sizes with gradients to order 2: equal bits for any thread count, traced
with and without passes, and traced for unknown sizes; results are close to float64.

A few examples by default, thousands with ``--exhaustive``. Sizes are often odd, prime or 1.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import dualflow as df
from tests.ops import harness
from tests.ops.test_empty import to_order_2
from tests.ops.test_traced import bits

nn, image = df.nn, df.image
SMALL = st.sampled_from([1, 1, 2, 3, 5, 7, 8, 11])
CHANNELS = st.sampled_from([1, 2, 3, 4, 7, 13, 16, 17, 31])
PADDING = st.sampled_from(["SAME", "VALID"])


def images(draw, n=2, channels=None, least=1):
    size = [draw(SMALL) + least - 1 for _ in range(n)]
    return (draw(st.sampled_from([1, 2, 3, 9])), *size, channels or draw(CHANNELS))


def formats(x, n, first):
    """Return the shape in the given layout, and its data_format."""
    last, before = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}[n]
    return ((x[0], x[-1], *x[1:-1]), before) if first else (x, last)


def conv(draw):
    n = draw(st.integers(1, 3))
    groups, each, outputs = draw(st.sampled_from([1, 1, 2, 3])), draw(CHANNELS), draw(CHANNELS)
    kernel = [draw(st.sampled_from([1, 2, 3, 3, 5])) for _ in range(n)]
    x, layout = formats(images(draw, n, each * groups, 5), n, draw(st.booleans()))
    strides, padding = draw(st.integers(1, 2)), draw(PADDING)
    return (lambda x, w: getattr(nn, f"conv{n}d")(x, w, strides, padding, layout),
            [x, (*kernel, each, outputs * groups)])


def depthwise(draw):
    c = draw(CHANNELS)
    x, layout = formats(images(draw, 2, c, 5), 2, draw(st.booleans()))
    kernel, strides, padding = draw(st.sampled_from([1, 3, 3, 5])), draw(st.integers(1, 2)), \
        draw(PADDING)
    return (lambda x, w: nn.depthwise_conv2d(x, w, strides, padding, layout),
            [x, (kernel, kernel, c, draw(st.integers(1, 3)))])


def separable(draw):
    c, padding = draw(CHANNELS), draw(PADDING)
    return (lambda x, w, mix: nn.separable_conv2d(x, w, mix, 1, padding),
            [images(draw, 2, c, 5), (3, 3, c, 2), (1, 1, 2 * c, draw(CHANNELS))])


def transposed(draw):
    x, strides, outputs = images(draw), draw(st.integers(1, 3)), draw(CHANNELS)
    shape = (x[0], x[1] * strides, x[2] * strides, outputs)
    return (lambda x, w: nn.conv2d_transpose(x, w, shape, strides), [x, (3, 3, outputs, x[3])])


def pool(draw):
    n, name = draw(st.integers(1, 3)), draw(st.sampled_from(["max_pool", "avg_pool"]))
    x, layout = formats(images(draw, n, least=3), n, draw(st.booleans()))
    window, strides, padding = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(PADDING)
    return lambda x: getattr(nn, f"{name}{n}d")(x, window, strides, padding, layout), [x]


def adaptive(draw):
    n, op = draw(SMALL), draw(st.sampled_from([nn.adaptive_avg_pool, nn.adaptive_max_pool]))
    return lambda x: op(x, [n, 1]), [images(draw)]


def resize(draw):
    size = [draw(SMALL), draw(SMALL)]
    method = draw(st.sampled_from(["bilinear", "bicubic", "area", "nearest", "lanczos3"]))
    return lambda x: image.resize(x, size, method), [images(draw)]


def crops(draw):
    x, size = images(draw), [draw(SMALL), draw(SMALL)]
    indices = np.array(draw(st.lists(st.integers(0, x[0] - 1), min_size=1, max_size=4)), "int32")
    boxes = np.random.default_rng(1).uniform(0.05, 0.95, (len(indices), 4))
    return lambda x: image.crop_and_resize(x, df.cast(boxes, x.dtype), indices, size), [x]


def patches(draw):
    size, strides, padding = draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(PADDING)
    return lambda x: image.extract_patches(x, size, strides, 1, padding), [images(draw, 2, least=3)]


def blocks(draw):
    n, (b, h, w, c) = draw(st.integers(1, 3)), images(draw)
    if draw(st.booleans()):
        return lambda x: nn.space_to_depth(x, n), [(b, h * n, w * n, c)]
    return lambda x: nn.depth_to_space(x, n), [(b, h, w, c * n * n)]


def layer_norm(draw):
    x = images(draw)
    if draw(st.booleans()):
        return lambda x, s: nn.rms_norm(x, s), [x, x[3:]]
    axis = draw(st.sampled_from([-1, [1, 2], [2, 3], [1, 2, 3]]))
    if axis == -1:
        return lambda x, s, o: nn.layer_norm(x, s, o), [x, x[3:], x[3:]]
    return lambda x: nn.layer_norm(x, axis=axis), [x]


def channel_norm(draw):
    groups, each, first = draw(st.integers(1, 3)), draw(CHANNELS), draw(st.booleans())
    c = groups * each
    x, layout = formats(images(draw, 2, c, 2), 2, first)
    if draw(st.booleans()):
        return lambda x, s, o: nn.fused_batch_norm(x, s, o, data_format=layout)[0], [x, (c,), (c,)]
    return (lambda x, s, o: nn.group_norm(x, groups, s, o, data_format=layout), [x, (c,), (c,)])


def local_response(draw):
    radius = draw(st.integers(0, 5))
    return lambda x: nn.local_response_normalization(x, radius, 1., 0.5), [images(draw)]


def softmax(draw):
    axis = draw(st.integers(-3, -1))
    op = draw(st.sampled_from([nn.softmax, nn.log_softmax]))
    return lambda x: op(x, axis), [images(draw)]


def cross_entropy(draw):
    x = images(draw)
    labels = np.random.default_rng(1).integers(0, x[3], x[:3])
    if draw(st.booleans()):
        return lambda x: nn.sparse_softmax_cross_entropy_with_logits(labels, x), [x]
    return lambda x, y: nn.softmax_cross_entropy_with_logits(y, x), [x, x]


def attention(draw):
    batch, groups, shared, width = draw(SMALL), draw(st.integers(1, 2)), draw(st.integers(1, 2)), \
        draw(SMALL)
    queries, keys, of_values = draw(CHANNELS), draw(CHANNELS), draw(SMALL)
    causal = draw(st.booleans())
    mask = None if causal or draw(st.booleans()) else np.random.default_rng(1).random(
        (queries, keys)) < 0.8
    return (lambda q, k, v: nn.scaled_dot_product_attention(q, k, v, mask, is_causal=causal),
            [(batch, groups * shared, queries, width), (batch, shared, keys, width),
             (batch, shared, keys, of_values)])


def recurrent(draw):
    name, gates = draw(st.sampled_from([("lstm", 4), ("gru", 3), ("simple_rnn", 1)]))
    batch, steps, features, units = (draw(SMALL) for _ in range(4))
    lengths = draw(st.none() | st.lists(st.integers(0, steps), min_size=batch, max_size=batch))
    bias = (2, 3 * units) if name == "gru" else (gates * units,)
    return (lambda x, k, r, b: getattr(nn, name)(
                x, k, r, b, lengths=None if lengths is None else np.array(lengths, "int32"))[0],
            [(batch, steps, features), (features, gates * units), (units, gates * units), bias])


def embedding(draw):
    rows, width, n = draw(CHANNELS), draw(SMALL), draw(SMALL)
    ids = np.random.default_rng(1).integers(0, rows, (n, 3))
    return lambda table: nn.embedding_lookup(table, ids), [(rows, width)]


OPS = [conv, depthwise, separable, transposed, pool, adaptive, resize, crops, patches, blocks,
       layer_norm, channel_norm, local_response, softmax, cross_entropy, attention, recurrent,
       embedding]


def check(function, shapes):
    rng = np.random.default_rng(0)
    drawn = [rng.normal(size=s) * 0.5 for s in shapes]
    given = [df.constant(x, dtype=df.float32) for x in drawn]

    def call(*tensors):
        return to_order_2(function, list(tensors))

    eager = call(*given)
    want = bits(eager)
    for n in (1, 2, 3, 8):
        with harness.threads(n):
            assert bits(call(*given)) == want, f"{n} threads"
    signature = [df.TensorSpec([None] * len(s), df.float32) for s in shapes]
    for options in ({}, {"passes": False}, {"input_signature": signature}):
        assert bits(df.function(call, **options)(*given)) == want, options
    with harness.threads(3):
        assert bits(df.function(call)(*given)) == want, "traced, 3 threads"
    wide = call(*[df.cast(x, df.float64) for x in given])
    for y, exact in zip(eager, wide, strict=True):
        # Second gradients are long sums of products; a wrong one has an error of its own magnitude.
        limit = 2e-3 * max(1., float(np.abs(exact.numpy()).max(initial=0)))
        np.testing.assert_allclose(y.numpy(), exact.numpy(), rtol=0, atol=limit)


@pytest.mark.parametrize("op", OPS, ids=[op.__name__ for op in OPS])
def test_random_sizes(op, request):
    many = request.config.getoption("exhaustive")

    @settings(max_examples=300 if many else 5, derandomize=not many,
              suppress_health_check=list(HealthCheck))
    @given(st.data())
    def run(data):
        check(*op(data.draw))

    run()
