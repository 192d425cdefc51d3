"""Sums of many values keep the accuracy of their dtype, whichever op computes them."""

import numpy as np
import pytest

import dualflow as df
from tests.ops import harness

N = 1_000_003
X = np.random.default_rng(0).uniform(0, 1, N).astype("f4")
IDS = np.random.default_rng(1).integers(0, 3, N)


def by_id(ids, like):
    out = np.zeros((3, *like.shape[1:]))
    np.add.at(out, ids, like.astype("f8"))
    return out


SUMS = {
    "cumsum": (lambda: df.cumsum(X), lambda: np.cumsum(X.astype("f8"))),
    "reverse": (lambda: df.cumsum(X, reverse=True), lambda: np.cumsum(X[::-1].astype("f8"))[::-1]),
    "columns": (lambda: df.cumsum(X[:-1].reshape(-1, 2), 0),
                lambda: np.cumsum(X[:-1].reshape(-1, 2).astype("f8"), 0)),
    "segment_sum": (lambda: df.math.segment_sum(X, np.sort(IDS)), lambda: by_id(np.sort(IDS), X)),
    "unsorted_segment_sum": (lambda: df.math.unsorted_segment_sum(X, IDS, 3),
                             lambda: by_id(IDS, X)),
    "rows": (lambda: df.math.unsorted_segment_sum(X[:-1].reshape(-1, 2), IDS[:N // 2], 3),
             lambda: by_id(IDS[:N // 2], X[:-1].reshape(-1, 2))),
    "scatter_nd": (lambda: df.scatter_nd(IDS[:, None], X, [3]), lambda: by_id(IDS, X)),
    "scatter_sub": (lambda: df.tensor_scatter_nd_sub(np.zeros(3, "f4"), IDS[:, None], X),
                    lambda: -by_id(IDS, X)),
    "scatter_add": (lambda: df.tensor_scatter_nd_add(np.ones(3, "f4"), IDS[:, None], X),
                    lambda: 1 + by_id(IDS, X)),
    "reduce_sum": (lambda: df.reduce_sum(X), lambda: X.astype("f8").sum()),
    "reduce_sum of columns": (lambda: df.reduce_sum(X[:-1].reshape(-1, 2), 0),
                              lambda: X[:-1].reshape(-1, 2).astype("f8").sum(0)),
    "reduce_mean": (lambda: df.reduce_mean(X), lambda: X.astype("f8").mean()),
    "matmul of a row": (lambda: df.matmul(X[None, :N // 2], X[:-1].reshape(-1, 2)),
                        lambda: X[None, :N // 2].astype("f8") @ X[:-1].reshape(-1, 2)),
    "softmax": (lambda: df.nn.softmax(X), lambda: (lambda e: e / e.sum())(np.exp(X.astype("f8")))),
    "log of softmax": (lambda: df.nn.log_softmax(X * 1e-3),
                       lambda: (lambda x: x - np.log(np.exp(x).sum()))(X.astype("f8") * 1e-3)),
    "softmax of columns": (lambda: df.nn.softmax(X[:-1].reshape(-1, 2), 0),
                           lambda: (lambda e: e / e.sum(0))(np.exp(X[:-1].reshape(-1, 2)
                                                                   .astype("f8")))),
}


def gradient_of_gather():
    table = df.ones([3])
    with df.GradientTape() as tape:
        tape.watch(table)
        y = df.reduce_sum(df.gather(table, IDS) * X)
    return df.convert_to_tensor(tape.gradient(y, table))


SUMS["gather's gradient"] = (gradient_of_gather, lambda: by_id(IDS, X))


@pytest.mark.parametrize("name", SUMS)
def test_long_sums(name):
    """A million values in [0, 1) are summed to within 6 ulp, with equal bits on any thread
    count."""
    f, ref = SUMS[name]
    with harness.threads(1):
        one = f().numpy()
    with harness.threads(2):
        assert f().numpy().tobytes() == one.tobytes()
    assert df.function(f)().numpy().tobytes() == one.tobytes()
    np.testing.assert_allclose(one, ref(), rtol=7e-7)
