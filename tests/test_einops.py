"""einops on tensors agrees with einops on NumPy arrays, eagerly, traced and in gradients."""

import numpy as np
import pytest

import dualflow as df

einops = pytest.importorskip("einops")
from dualflow.einops import pack, parse_shape, rearrange, reduce, repeat, unpack  # noqa: E402

X = np.arange(2 * 4 * 6 * 3, dtype="float32").reshape(2, 4, 6, 3)

CALLS = {
    "transpose": lambda x: einops.rearrange(x, "b h w c -> b c h w"),
    "space to depth": lambda x: rearrange(x, "b (h p) (w q) c -> b h w (p q c)", p=2, q=3),
    "flatten": lambda x: rearrange(x, "b ... -> b (...)"),
    "new axes": lambda x: rearrange(x, "b h w c -> b 1 (h w) 1 c"),
    "list": lambda x: rearrange([x[0], x[1]], "b h w c -> h (b w) c"),
    **{name: (lambda x, name=name: reduce(x, "b (h p) w c -> b h c", name, p=2))
       for name in ("sum", "mean", "max", "min", "prod")},
    "repeat": lambda x: repeat(x, "b h w c -> b (h n) w c m", n=2, m=3),
    "einsum": lambda x: einops.einsum(x, x, "b h w c, b h w d -> c d"),
}


@pytest.mark.parametrize("name", CALLS)
def test_equal_numpy(name):
    expected = CALLS[name](X)
    for got in (CALLS[name](df.constant(X)), df.function(CALLS[name])(df.constant(X))):
        assert isinstance(got, df.Tensor)
        np.testing.assert_allclose(got.numpy(), expected, rtol=2e-5)


def test_unknown_sizes():
    @df.function(input_signature=[df.TensorSpec([None, 4, None, 3])])
    def patches(x):
        return rearrange(x, "b (h p) w c -> b h (w p c)", p=2)

    for n in (1, 2):
        expected = einops.rearrange(X[:n, :, :n + 2], "b (h p) w c -> b h (w p c)", p=2)
        assert patches(df.constant(X[:n, :, :n + 2])).numpy().tolist() == expected.tolist()


def test_pack_and_unpack():
    parts = df.ones([2, 3]), df.zeros([2, 4, 3])
    packed, shapes = pack(parts, "b * c")
    assert packed.shape == (2, 5, 3)
    for part, back in zip(parts, unpack(packed, shapes, "b * c"), strict=True):
        assert back.numpy().tolist() == part.numpy().tolist()
    assert parse_shape(df.constant(X), "b h _ c") == {"b": 2, "h": 4, "c": 3}


def test_gradient_and_variable():
    v = df.Variable(X)
    with df.GradientTape() as tape:
        y = reduce(v, "b h w c -> ", "mean")
    assert tape.gradient(y, v).numpy().ravel()[0] == pytest.approx(1 / X.size)


def test_mistake():
    with pytest.raises(einops.EinopsError, match="divide"):
        rearrange(df.constant(X), "b (h p) w c -> b h p w c", p=3)
