"""Comparison of a function of the namespace with NumPy's function of the same name."""

import warnings

import numpy as np
from hypothesis import settings, strategies as st
from hypothesis.extra import numpy as hnp

import dualflow as df

xp = df.array_api

INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]
NUMBERS = INTS + FLOATS
ALL = ["bool", *NUMBERS]
CLOSE = {"float32": 3e-6, "float64": 1e-13}

SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
quick = settings.get_profile("array_api")


def arrays(dtypes, shapes=SHAPES, **elements):
    """Return a strategy of arrays; with `elements` floats have those bounds, else also inf and
    NaN."""
    def of(dtype):
        kind = np.dtype(dtype).kind
        bounds = dict(elements) if kind == "f" else {}
        if kind in "iu" and elements:
            low = 0 if kind == "u" else -5
            bounds = {"min_value": max(low, int(elements["min_value"])), "max_value": 5}
        return hnp.arrays(dtype, shapes, elements=hnp.from_dtype(
            np.dtype(dtype), **{"allow_subnormal": False} if kind == "f" else {}, **bounds))
    return st.sampled_from(dtypes).flatmap(of)


def small(dtypes, shapes=SHAPES):
    """Return a strategy of arrays whose sums and products neither overflow nor cancel much."""
    return arrays(dtypes, shapes, min_value=-5, max_value=5)


def axes(data, ndim, several=True):
    """Draw None, an axis, or a tuple of distinct axes."""
    choices = [st.none()]
    if ndim:
        choices.append(st.integers(-ndim, ndim - 1))
    if several:
        choices.append(st.lists(st.integers(0, max(ndim - 1, 0)), unique=True,
                                max_size=ndim).map(tuple))
    return data.draw(st.one_of(choices))


def given_to(module, x):
    """Convert NumPy arrays to arrays of the module."""
    if isinstance(x, np.ndarray | np.generic):
        return df.constant(x) if module is xp else x
    if isinstance(x, list | tuple):
        return type(x)([given_to(module, part) for part in x])
    return x


def find(module, name):
    for part in name.split("."):
        module = getattr(module, part)
    return module


def assert_same(got, want, rtol=None, atol=0.0):
    """Assert equal shapes and kinds, equal integers, and floats within a few units in the last
    place."""
    if isinstance(want, list | tuple):
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            assert_same(g, w, rtol, atol)
        return
    want = np.asarray(want)
    assert got.shape == want.shape
    if got.dtype.is_floating:
        tolerance = CLOSE[got.dtype.name] if rtol is None else rtol
        np.testing.assert_allclose(got.numpy(), want, rtol=tolerance, atol=atol)
    else:
        assert want.dtype.kind in ("b" if got.dtype.is_bool else "iu")
        np.testing.assert_array_equal(got.numpy(), want.astype(got.dtype.name))


def check(name, *args, rtol=None, atol=0.0, numpy_name=None, **kwargs):
    """Return the result of dualflow, which must match NumPy's."""
    got = find(xp, name)(*given_to(xp, args), **given_to(xp, kwargs))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = find(np, numpy_name or name)(*args, **kwargs)
    assert_same(got, want, rtol, atol)
    return got
