"""`channel_sum` and the like have the bits of the reduction of the tensor in channels first."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dualflow as df
from dualflow import _core
from tests.ops import harness

# Short rows, several accumulators, several chunks of a row, chunks of the batch, parts of vectors
SHAPES = [(2, 3, 4), (3, 7, 5, 16), (2, 9, 9, 33), (1, 30, 31, 24), (2, 16390, 5),
          (1, 200, 200, 19), (300, 1, 3, 20), (2, 4, 5, 3, 17), (5, 1, 1, 8), (4, 6, 6, 1),
          (0, 3, 3, 4), (2, 0, 3, 4), (2, 3, 3, 0)]
SPECIAL = [0., -0., np.nan, np.inf, -np.inf, 1e38, -1e-40]


def check(x):
    first = df.transpose(x, [0, x.ndim - 1, *range(1, x.ndim - 1)])
    for of in ("sum", "mean", "sum_of_squares", "mean_of_squares", "variance"):
        for over_batch in (False, True):
            axes = [*[0] * over_batch, *range(2, x.ndim)]
            for keepdims in (False, True):
                want = _core.apply(f"reduce_{of}", first, axes=axes, keepdims=keepdims)
                got = _core.apply(f"channel_{of}", x, over_batch=over_batch, keepdims=keepdims)
                assert got.shape == want.shape and got.dtype is want.dtype
                assert got.numpy().tobytes() == want.numpy().tobytes(), (of, over_batch)


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_bits(shape, n_threads):
    with harness.threads(n_threads):
        check(df.constant(np.random.default_rng(0).standard_normal(shape, "float32")))


@given(st.lists(st.sampled_from([1, 2, 3, 5, 8, 17, 40]), min_size=3, max_size=5),
       st.integers(0, 2**32))
@settings(max_examples=100, derandomize=True)
def test_random_shapes(shape, seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    if rng.random() < 0.3:
        x.flat[rng.integers(0, x.size, 3)] = rng.choice(SPECIAL, 3)
    with np.errstate(over="ignore"):
        check(df.constant(x.astype("float32")))


def test_bad_input():
    with pytest.raises(df.errors.ShapeError, match=r"channel_sum: x has shape \(2, 3\)"):
        _core.apply("channel_sum", df.zeros((2, 3)), over_batch=False, keepdims=False)
    with pytest.raises(df.errors.DTypeError, match="channel_mean: input 0 is float64"):
        _core.apply("channel_mean", df.zeros((2, 3, 4), df.float64), over_batch=True,
                    keepdims=False)
