"""Libraries written for the standard: given tensors they return tensors, with the values that they
compute for NumPy arrays."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import numpy as np
import scipy.special
import scipy.stats
from sklearn import config_context
from sklearn.decomposition import PCA
from sklearn.metrics import accuracy_score, mean_squared_error

import dualflow as df

rows = np.random.default_rng(0).normal(size=(20, 3))
x, labels = df.constant(rows), df.constant([1, 0, 1])


def same(f):
    got, want = f(x), f(rows)
    assert isinstance(got, df.Tensor), type(got)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-9)


same(scipy.special.expit)
same(scipy.stats.skew)
same(lambda a: scipy.stats.ttest_1samp(a, 0.0).pvalue)
with config_context(array_api_dispatch=True):
    same(lambda a: PCA(2, svd_solver="full").fit_transform(a))
    assert accuracy_score(labels, labels) == 1
    assert abs(mean_squared_error(x, x + 1) - 1) < 1e-12
"""


def test_scipy_and_scikit_learn():
    pytest.importorskip("sklearn")
    env = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
