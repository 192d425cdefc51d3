"""Layers whose definition Keras shares between its backends, against plain NumPy."""

import itertools

import numpy as np
import pytest

import dualflow as df
from dualflow.keras import layers, models, ops

# --- transposed convolutions ---

KINDS = {1: layers.Conv1DTranspose, 2: layers.Conv2DTranspose, 3: layers.Conv3DTranspose}


def along(n, size, stride, padding, output_padding, dilation):
    """The terms of a transposed convolution along one dimension, as Keras' JAX backend defines it.

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
    """A transposed convolution, term by term; channels come last."""
    rank = x.ndim - 2
    told = [along(n, size, *options) for n, size in zip(x.shape[1:-1], w.shape, strict=False)]
    y = np.zeros((x.shape[0], *[n for n, _ in told], w.shape[-2]))
    for terms in itertools.product(*[t for _, t in told]):
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
def test_layers_of_transposed_convolutions_train(rank, size):
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
