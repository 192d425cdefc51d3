"""Extreme values of each dtype, and the comparison of the results of two runtimes at these
values."""

import ml_dtypes
import numpy as np

import dualflow as df
from tests.onnx.runtimes import HAS_RUNTIME, reference, runtime

FLOATS = ("float16", "bfloat16", "float32", "float64")
RTOL = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-5, "float64": 1e-9}
RUNTIME_RTOL, RUNTIME_ATOL = 5e-3, 1e-6         # onnxruntime approximates sigmoids


def numpy_dtype(name):
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def ends(dtype, few=False):
    """Return limits, zeros, small values of both signs, infinities and NaN."""
    if dtype == "bool":
        return np.array([False, True])
    if dtype not in FLOATS:
        limits = np.iinfo(dtype)
        some = [limits.min, limits.max, 0, 1, 3, -1, -3]
        more = [limits.min + 1, limits.max - 1, limits.max // 2, 2, 7, 10, -2, -7, -10]
        return np.array(sorted({k for k in some + more * (not few) if k >= limits.min}), dtype)
    limits = ml_dtypes.finfo(numpy_dtype(dtype))
    largest, tiny = float(limits.max), float(limits.tiny)
    some = [0., -0., 1., -2.5, np.inf, -np.inf, np.nan, largest]
    more = [-1., .5, -.5, 1.5, 2.5, 3., -3., 7., -10.25, 100., -100., -largest, tiny, -tiny,
            float(limits.eps)]
    return np.array(some + more * (not few), numpy_dtype(dtype))


def outer(dtypes):
    """Return arrays that broadcast to all combinations of the extreme values of some dtypes."""
    n = len(dtypes)
    return [ends(d, few=n > 2).reshape([-1 if j == k else 1 for j in range(n)])
            for k, d in enumerate(dtypes)]


def compare(want, got, rtol=0., atol=0., zeros=True, where=True, nan=True):
    """Assert equal infinities and NaN, values within a tolerance, and equal signs of zeros.

    With `zeros` or `nan` False, signs of zeros, or results where NaN is expected, are ignored.
    """
    want, got = np.asarray(want), np.asarray(got)
    assert (want.dtype, want.shape) == (got.dtype, got.shape)
    if want.dtype.kind in "biu":
        same = want == got
    else:
        a, b = want.astype("float64"), got.astype("float64")
        with np.errstate(all="ignore"):
            size = np.maximum(np.abs(a), np.abs(b))
            near = np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) <= rtol * size + atol)
        same = (a == b) | near | np.isnan(a) & (np.isnan(b) | (not nan))
        if zeros:
            same &= ~((a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b)))
    bad = ~(same | ~np.broadcast_to(where, same.shape))
    assert not bad.any(), (f"{bad.sum()} of {bad.size} at {np.argwhere(bad)[:3].tolist()}: "
                           f"got {got[bad][:3]}, expected {want[bad][:3]}")


def loaded(model, *arrays):
    made = df.onnx.load(model)(*map(df.constant, arrays))
    return [y.numpy() for y in (made if isinstance(made, tuple) else (made,))]


def by_runtime(model, *arrays):
    """Return the outputs of onnxruntime; None if it has no kernel for an operator or a dtype."""
    try:
        return runtime(model, *arrays)
    except Exception as error:
        if "NOT_IMPLEMENTED" in str(error) or "MLDataType" in str(error):
            return None
        raise


def check(want, model, arrays, exact=False, rtol=0., atol=0., skip=(), where=True, zeros=True):
    """Compare the results of a file in each runtime that is not skipped with eager mode.

    onnxruntime selects and compares without regard to the sign of zero, and loses some NaN.
    """
    for name, run in {"load": loaded, "reference": reference, "runtime": by_runtime}.items():
        if name in skip or (name == "runtime" and not HAS_RUNTIME):
            continue
        with np.errstate(all="ignore"):
            made = run(model, *arrays)
        if made is None:
            continue
        assert len(made) == len(want)
        own = name != "runtime"
        for a, b in zip(want, made, strict=True):
            floating = a.dtype.name in FLOATS and not exact
            near = max(rtol, RTOL[a.dtype.name]) if floating else 0.
            smallest = float(ml_dtypes.finfo(a.dtype).tiny) if floating else 0.
            if floating and not own:
                near, smallest = max(near, RUNTIME_RTOL), RUNTIME_ATOL
            try:
                compare(a, b, near, max(atol, smallest), zeros and own, where, nan=own)
            except AssertionError as error:
                raise AssertionError(f"{name}: {error}") from None
