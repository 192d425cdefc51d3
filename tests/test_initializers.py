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


@pytest.mark.parametrize("name", init.__all__)
def test_lower_case_initializer_without_a_shape_returns_the_class_instance(name):
    make = getattr(init, name)
    made = make()
    assert type(made) is getattr(init, name.title().replace("_", ""))
    assert made([3, 4]).shape == (3, 4) and made([2], df.float64).dtype is df.float64
    if name not in ("zeros", "ones"):
        assert make(seed=2)([5]).tolist() == make([5], seed=2).tolist()
        assert make(seed=2).get_config() == {"seed": 2}


def test_lower_case_tensorflow_names():
    assert init.constant(3.)([2]).tolist() == df.constant_initializer(3.)([2]).tolist() == [3., 3.]
    assert init.identity(2.)([1, 2]).tolist() == [[2., 0.]]
    for name in ("orthogonal", "random_normal", "random_uniform", "truncated_normal",
                 "variance_scaling"):
        assert getattr(init, name)(seed=1)([3, 3]).shape == (3, 3)
    with pytest.raises(AttributeError, match="no attribute 'normal'"):
        _ = init.normal
