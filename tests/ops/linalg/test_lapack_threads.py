"""LAPACK runs on one thread, and the number of threads is restored."""

import threading

import numpy as np
import pytest

import dualflow as df
from dualflow.ops.linalg.lapack import blas_threads, one_blas_thread

NUMPY, SCIPY = "numpy.linalg._umath_linalg", "scipy.linalg._flapack"
SYMMETRIC = np.array([[2.0, 1.0], [1.0, 3.0]])


@pytest.fixture(params=[NUMPY, SCIPY])
def blas(request):
    """The functions of an OpenBLAS that is set to three threads."""
    pytest.importorskip(request.param)
    found = blas_threads(request.param)
    if found is None:
        pytest.skip("another implementation of BLAS")
    before = found.get()
    found.set(3)
    if found.get() != 3:
        pytest.skip("a build with fewer threads")
    yield found
    found.set(before)


def watched(monkeypatch, module, name):
    """Replace a function; return a list that gets the number of threads of each of its calls."""
    counts, original = [], getattr(module, name)

    def call(*args, **kwargs):
        counts.append([b.get() for b in map(blas_threads, (NUMPY, SCIPY)) if b])
        return original(*args, **kwargs)

    monkeypatch.setattr(module, name, call)
    return counts


@pytest.mark.parametrize("name", ["eigh", "svd", "pinv", "eig"])
def test_numpy_has_one_thread(monkeypatch, name):
    counts = watched(monkeypatch, np.linalg, name)
    blas = blas_threads(NUMPY)
    if blas is None:
        pytest.skip("another implementation of BLAS")
    before = blas.get()
    getattr(df.linalg, name)(SYMMETRIC)
    assert counts[0][0] == 1 and blas.get() == before


@pytest.mark.parametrize("name", ["expm", "logm", "sqrtm"])
def test_scipy_has_one_thread(monkeypatch, blas, name):
    linalg = pytest.importorskip("scipy.linalg")
    counts = watched(monkeypatch, linalg, name)
    getattr(df.linalg, name)(SYMMETRIC)
    assert set(counts[0]) == {1} and blas.get() == 3


def test_the_number_is_restored_after_an_error(blas):
    with pytest.raises(df.errors.InvalidArgumentError, match="svd"):
        df.linalg.svd(np.full((2, 2), np.nan))
    assert blas.get() == 3


def test_the_limit_holds_until_the_last_concurrent_call_ends(blas):
    inside, leave = threading.Event(), threading.Event()

    def long_call():
        with one_blas_thread(SCIPY):
            inside.set()
            leave.wait(10)

    other = threading.Thread(target=long_call)
    with one_blas_thread(SCIPY):
        other.start()
        assert inside.wait(10)
    assert blas.get() == 1
    leave.set()
    other.join()
    assert blas.get() == 3
