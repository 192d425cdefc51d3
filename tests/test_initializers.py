"""Initial values: variance by fans, edge shapes, seeds."""

import numpy as np
import pytest

import dualflow as df

init = df.initializers
VARIANCES = {"glorot": lambda i, o: 2 / (i + o), "he": lambda i, o: 2 / i,
             "lecun": lambda i, o: 1 / i}
FANS = [((200, 300), 200, 300), ((3, 3, 40, 60), 360, 540), ((50_000,), 50_000, 50_000)]


@pytest.mark.parametrize("shape, fan_in, fan_out", FANS)
@pytest.mark.parametrize("kind", ["uniform", "normal"])
@pytest.mark.parametrize("family", VARIANCES)
def test_variance(family, kind, shape, fan_in, fan_out):
    x = getattr(init, f"{family}_{kind}")(shape, seed=1).numpy().astype(np.float64)
    want = VARIANCES[family](fan_in, fan_out)
    assert x.shape == shape and abs(x.var() / want - 1) < 0.04
    assert abs(x.mean()) < 5 * np.sqrt(want / x.size)
    assert np.abs(x).max() <= np.sqrt(want) * (1.7321 if kind == "uniform" else 2.274)


@pytest.mark.parametrize("name", init.__all__)
def test_edges(name):
    make = getattr(init, name)
    for shape in ((), (0,), (0, 3), (2, 0, 3)):
        x = make(shape, df.float64)
        assert x.shape == shape and x.dtype is df.float64


def test_constants_and_seeds():
    assert init.zeros([2]).numpy().tolist() == [0, 0] and init.ones([2]).numpy().tolist() == [1, 1]
    a, b = init.he_normal([4], seed=3), init.he_normal([4], seed=3)
    assert a.numpy().tolist() == b.numpy().tolist()
    with pytest.raises(ValueError, match="-1"):
        init.zeros([-1])
    with pytest.raises(ValueError, match="negative"):
        init.he_normal([-1])
