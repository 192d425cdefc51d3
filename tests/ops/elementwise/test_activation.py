"""Activations: infinities, NaN, tails, and backward ops against the composed rules."""

import math

import numpy as np
import pytest

import dualflow as df

NAMES = ("relu", "relu6", "leaky_relu", "elu", "selu", "gelu", "silu", "softsign", "sigmoid",
         "tanh", "softplus")
LIMITS = {"relu": (0, math.inf), "relu6": (0, 6), "leaky_relu": (-math.inf, math.inf),
          "elu": (-1, math.inf), "gelu": (0, math.inf), "silu": (0, math.inf),
          "softsign": (-1, 1), "sigmoid": (0, 1), "tanh": (-1, 1), "softplus": (0, math.inf)}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_infinities_and_nan(name, dtype):
    y = getattr(df.nn, name)(np.array([-np.inf, np.inf, np.nan], dtype)).numpy()
    assert np.isnan(y[2])
    if name in LIMITS:
        assert tuple(y[:2]) == LIMITS[name]


@pytest.mark.parametrize("name", NAMES)
def test_gradients_at_infinities_are_not_nan(name):
    x = df.constant([-math.inf, math.inf])
    with df.GradientTape() as tape:
        tape.watch(x)
        y = getattr(df.nn, name)(x)
    assert not np.isnan(tape.gradient(y, x).numpy()).any()


def test_approximate_gelu_at_infinities():
    y = df.nn.gelu([-math.inf, math.inf], approximate=True).numpy()
    assert y.tolist() == [0, math.inf]


@pytest.mark.parametrize("approximate", [False, True])
def test_tails_of_gelu_and_silu(approximate):
    x = np.linspace(-12, 12, 4001)
    by_erf = x * (1 + np.vectorize(math.erf)(x * math.sqrt(0.5))) / 2
    by_tanh = x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2
    want = by_tanh if approximate else by_erf
    for dtype in ("float32", "float64"):
        got = df.nn.gelu(x.astype(dtype), approximate=approximate).numpy()
        np.testing.assert_allclose(got, want, rtol=0, atol=4 * np.finfo(dtype).eps * 12)
        np.testing.assert_allclose(df.nn.silu(x.astype(dtype)).numpy(), x / (1 + np.exp(-x)),
                                   rtol=4 * np.finfo(dtype).eps * 2, atol=np.finfo(dtype).eps * 12)


def test_gelu_of_float32_over_its_range():
    bits = np.arange(0, 2**32, 30_011, dtype=np.uint64).astype(np.uint32)
    x = np.concatenate([bits.view(np.float32), np.linspace(-14.5, 6, 60_000, dtype=np.float32)])
    x = x[np.isfinite(x)]
    want, got = df.nn.gelu(x.astype(np.float64)).numpy(), df.nn.gelu(x).numpy()
    error = np.abs(got - want) / np.abs(np.spacing(want.astype(np.float32)))
    assert error.max() < 6.5, x[error.argmax()]


COMPOSED = {
    "relu": lambda x: df.maximum(x, 0.0),
    "relu6": lambda x: df.clip_by_value(x, 0.0, 6.0),
    "leaky_relu": lambda x: df.where(x > 0, x, 0.2 * x),
    "elu": lambda x: df.where(x > 0, x, df.math.expm1(x)),
    "gelu": lambda x: x * (1 + df.math.erf(x * math.sqrt(0.5))) / 2,
    "silu": lambda x: x / (1 + df.exp(-x)),
    "softsign": lambda x: x / (1 + df.abs(x)),
    "sigmoid": lambda x: 1 / (1 + df.exp(-x)),
    "tanh": lambda x: 1 - 2 / (df.exp(2 * x) + 1),
}


@pytest.mark.parametrize("name", COMPOSED)
def test_backward_ops_agree_with_composed_rules(name):
    def derivatives(f):
        x = df.constant(np.linspace(-4.05, 7.1, 100))
        with df.GradientTape() as outer:
            outer.watch(x)
            with df.GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            first = inner.gradient(y, x)
        second = outer.gradient(first, x, unconnected_gradients="zero")
        return first.numpy(), second.numpy()

    for got, want in zip(derivatives(getattr(df.nn, name)), derivatives(COMPOSED[name]),
                         strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)
