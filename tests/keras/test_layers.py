"""Layers that Keras defines for all backends, against plain NumPy."""

import itertools

import numpy as np
import pytest

import dualflow as df
from dualflow.keras import layers, models, ops

# --- transposed convolutions ---

KINDS = {1: layers.Conv1DTranspose, 2: layers.Conv2DTranspose, 3: layers.Conv3DTranspose}


def along(n, size, stride, padding, output_padding, dilation):
    """Return the terms of a transposed convolution along one dimension, as in Keras's JAX backend.

    Returns the output size, and (output, input, kernel element) for each term.
    """
    reach = (size - 1) * dilation + 1
    if padding == "valid":
        before, after = 0, max(stride - reach, 0) if output_padding is None else output_padding
    elif output_padding is None:
        total = stride + reach - 2
        before = reach - 1 - min(-(-total // 2), reach - 1)
        after = n * stride - ((n - 1) * stride + reach - before)
    else:
        total = reach + reach % 2 - 2 + output_padding
        left = min(-(-total // 2), reach - 1)
        before, after = reach - 1 - left, total - left - (reach - 1)
    made = (n - 1) * stride + reach - before + after
    terms = [(i * stride + k * dilation - before, i, k) for i in range(n) for k in range(size)]
    return made, [t for t in terms if 0 <= t[0] < made]


def transposed(x, w, *options):
    """Return a transposed convolution computed term by term; channels are last."""
    rank = x.ndim - 2
    dimensions = [along(n, size, *options) for n, size in zip(x.shape[1:-1], w.shape, strict=False)]
    y = np.zeros((x.shape[0], *[n for n, _ in dimensions], w.shape[-2]))
    for terms in itertools.product(*[t for _, t in dimensions]):
        at, source, element = zip(*terms, strict=True)
        y[(slice(None), *at)] += x[(slice(None), *source)] @ w[element].T
    assert y.ndim == rank + 2
    return y


OPTIONS = [(size, stride, padding, output_padding, dilation)
           for size in (1, 2, 3, 4, 5) for stride in (1, 2, 3) for padding in ("same", "valid")
           for output_padding in (None, 0, 1, 4) for dilation in (1, 2) if stride * dilation < 4
           or dilation == 1]


@pytest.mark.parametrize("layout", ["channels_last", "channels_first"])
@pytest.mark.parametrize("rank", KINDS)
def test_transposed_convolutions(rank, layout):
    rng = np.random.default_rng(rank)
    for number, options in enumerate(OPTIONS):
        if rank > 1 and (options[0] > 4 or number % (4, 17)[rank - 2]):
            continue
        x = rng.normal(size=(2, 3, 2, 2)[:rank + 1] + (2,))
        w = rng.normal(size=(options[0],) * rank + (3, 2))
        wanted = transposed(x, w, *options[1:])
        order = (0, rank + 1, *range(1, rank + 1))
        if layout == "channels_first":
            x, wanted = np.transpose(x, order), np.transpose(wanted, order)

        def f(x, w, options=options):
            _, stride, padding, output_padding, dilation = options
            return ops.conv_transpose(x, w, stride, padding, output_padding, layout, dilation)

        for run in (f, df.function(f)):
            got = run(df.constant(x), df.constant(w))
            assert got.shape == wanted.shape, options
            np.testing.assert_allclose(got, wanted, atol=1e-12, err_msg=str(options))


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("rank", KINDS)
def test_training_of_transposed_convolutions(rank, size):
    x = np.random.default_rng(0).normal(size=(2, *[3] * rank, 2)).astype("float32")
    for known in (3, None):
        layer = KINDS[rank](2, size, strides=2, padding="same", output_padding=0)
        model = models.Sequential([layers.Input((*[known] * rank, 2)), layer])
        model.compile("sgd", "mse")
        y = model.predict(x, verbose=0)
        assert y.shape[1:-1] == (4 + size % 2,) * rank
        if known:
            assert model.output_shape == (None, *y.shape[1:])
        before = model.evaluate(x, 0 * y, verbose=0)
        model.fit(x, 0 * y, verbose=0)
        assert model.evaluate(x, 0 * y, verbose=0) < before


# --- recurrent layers ---

@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("kind", ["SimpleRNN", "GRU", "LSTM"])
def test_recurrent_loops_keep_the_state_dtype(kind, masked):
    x = np.random.default_rng(0).normal(size=(2, 4, 3))
    mask = np.array([[1, 1, 0, 1], [0, 1, 1, 0]], bool) if masked else None
    layer = getattr(layers, kind)(3, activation="relu", return_sequences=True, dtype="float64")
    looped = layer(x, mask=mask)
    layer.unroll = True
    np.testing.assert_allclose(looped, layer(x, mask=mask), rtol=1e-6)


# --- attention ---

def attention(query, key, value, bias, mask, is_causal):
    """Return attention as Keras's other backends define it: masked scores are very negative."""
    key, value = [df.repeat(x, query.shape[2] // x.shape[2], 2) for x in (key, value)]
    scores = df.einsum("bthd,bshd->bhts", query, key) / query.shape[-1] ** 0.5
    if bias is not None:
        scores = scores + bias
    seen = np.ones(scores.shape[-2:], bool)
    if is_causal:
        seen = np.tril(seen)
    if mask is not None:
        seen = seen & mask
    weights = df.nn.softmax(df.where(df.constant(seen), scores, -1e38))
    return df.einsum("bhts,bshd->bthd", weights, value)


MASKS = {"no key": (1, 1, 1, 1), "keys": (2, 1, 1, 6), "queries": (2, 1, 5, 1),
         "pairs": (2, 1, 5, 6), "heads": (2, 4, 5, 6), "ranks": (5, 6)}


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("kind", MASKS)
def test_query_without_keys_attends_to_all(kind, biased, is_causal):
    rng = np.random.default_rng(len(kind))
    query, key, value = [df.constant(rng.normal(size=(2, n, heads, 3)), "float32")
                         for n, heads in ((5, 4), (6, 2), (6, 2))]
    bias = df.constant(rng.normal(size=(2, 4, 5, 6)), "float32") if biased else None
    mask = rng.random(MASKS[kind]) < 0.6
    mask[..., :2, :] = False
    mask[..., :1] &= mask.shape[-1] == 1

    def both(f, *args):
        given = [x for x in args if x is not None]
        with df.GradientTape() as tape:
            tape.watch(given)
            y = f(*args)
            loss = df.reduce_sum(df.sin(y))
        return [y, *tape.gradient(loss, given)]

    def ours(query, key, value, bias):
        return ops.dot_product_attention(query, key, value, bias, mask, is_causal=is_causal)

    def wanted(query, key, value, bias):
        return attention(query, key, value, bias, mask, is_causal)

    args = (query, key, value, bias)
    for run in (both, df.function(both)):
        for got, want in zip(run(ours, *args), both(wanted, *args), strict=True):
            np.testing.assert_allclose(got, want, atol=2e-6)


def test_attention_is_the_mean_if_all_keys_are_masked():
    x = np.random.default_rng(0).normal(size=(2, 4, 6)).astype("float32")
    mask = np.ones((2, 4, 4), bool)
    mask[0, 1] = mask[1, :, 2] = False
    for layer in (layers.MultiHeadAttention(2, 3), layers.GroupQueryAttention(3, 4, 2)):
        layer(x, x)
        masked = {causal: layer(x, x, attention_mask=mask, use_causal_mask=causal)
                  for causal in (False, True)}
        query_kernel, query_bias, *others = layer.get_weights()
        layer.set_weights([0 * query_kernel, 0 * query_bias, *others])     # equal scores
        for got in masked.values():
            np.testing.assert_allclose(got[0, 1], layer(x, x)[0, 1], atol=1e-5)


class LastSum(layers.Layer):
    """A layer whose `call` is a traced function with a loop over steps of unknown number."""

    @df.function
    def call(self, x):
        total = df.zeros([df.shape(x)[0], 1])
        for k in df.range(df.shape(x)[1]):
            total = total / 2 + x[:, k]
        return total


def test_loops_of_unknown_length_in_symbolic_models():
    x = layers.Input((None, 1))
    model = models.Model(x, LastSum()(x))
    assert model.output_shape == (None, 1)
    values = np.array([[[4.], [2.], [1.]], [[0.], [0.], [3.]]], "float32")
    np.testing.assert_array_equal(model.predict(values, verbose=0), [[3.], [3.]])
