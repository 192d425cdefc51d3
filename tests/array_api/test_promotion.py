"""The promotion table of the standard: result dtypes of functions and operators."""

import itertools

import numpy as np
import pytest

import dualflow as df

xp = df.array_api

SIGNED, UNSIGNED = ["int8", "int16", "int32", "int64"], ["uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]


def table():
    """Return every pair of dtypes for which the standard defines a result, with the result."""
    found = {("bool", "bool"): "bool"}
    for row in (SIGNED, UNSIGNED, FLOATS):
        for (i, a), (k, b) in itertools.product(enumerate(row), repeat=2):
            found[a, b] = row[max(i, k)]
    for (i, a), (k, b) in itertools.product(enumerate(SIGNED), enumerate(UNSIGNED[:-1])):
        found[a, b] = found[b, a] = SIGNED[max(i, k + 1)]
    return found


TABLE = table()
NUMBERS = [(a, b) for a, b in TABLE if a != "bool"]


def test_result_type():
    for (a, b), wanted in TABLE.items():
        a, b, wanted = df.as_dtype(a), df.as_dtype(b), df.as_dtype(wanted)
        assert xp.result_type(a, b) is wanted
        assert xp.result_type(xp.ones((2, 0), dtype=a), b) is wanted
        assert xp.can_cast(a, b) == (wanted is b)
    assert len(TABLE) == 1 + 16 + 16 + 4 + 24


@pytest.mark.parametrize("op", ["__add__", "__sub__", "__mul__", "__mod__", "__floordiv__",
                                "__pow__"])
def test_operators(op):
    for a, b in NUMBERS:
        y = getattr(xp.ones((2,), dtype=a), op)(xp.ones((), dtype=b))
        assert y.dtype == TABLE[a, b], (a, b)


def test_products():
    for a, b in NUMBERS:
        x, y = xp.ones((2, 2), dtype=a), xp.ones((2, 2), dtype=b)
        assert (x @ y).dtype == xp.tensordot(x, y).dtype == TABLE[a, b], (a, b)


def test_binary_functions():
    for (a, b), wanted in TABLE.items():
        x, y = xp.ones((2, 2), dtype=a), xp.ones((2, 2), dtype=b)
        assert xp.where(xp.asarray(True), x, y).dtype == wanted
        assert xp.concat([x, y]).dtype == xp.stack([x, y]).dtype == wanted
        assert xp.equal(x, y).dtype == "bool"
        if a != "bool":
            assert xp.matmul(x, y).dtype == xp.vecdot(x, y).dtype == wanted
            assert xp.maximum(x, y).dtype == xp.linalg.outer(x[0], y[0]).dtype == wanted
        if a in FLOATS:
            assert xp.hypot(x, y).dtype == xp.atan2(x, y).dtype == wanted


def test_python_scalars_are_weakly_typed():
    for name in SIGNED + UNSIGNED + FLOATS:
        x = xp.ones((2,), dtype=name)
        assert (x + 1).dtype == (1 - x).dtype == xp.maximum(x, 1).dtype == name
        assert xp.result_type(x, 1) == xp.clip(x, 0, 1).dtype == name
    for name in FLOATS:
        x = xp.ones((2,), dtype=name)
        assert (x * 1.5).dtype == xp.hypot(x, 1.5).dtype == xp.hypot(2, x).dtype == name


@pytest.mark.parametrize("name, wanted", [
    ("int8", "int32"), ("int16", "int32"), ("int32", "int32"), ("int64", "int64"),
    ("uint8", "uint32"), ("uint16", "uint32"), ("uint32", "uint32"), ("uint64", "uint64"),
    ("float32", "float32"), ("float64", "float64")])
def test_sums_have_a_wider_dtype(name, wanted):
    x = xp.ones((2, 2), dtype=name)
    for y in (xp.sum(x), xp.prod(x, axis=0), xp.cumulative_sum(x, axis=0), xp.linalg.trace(x),
              xp.cumulative_prod(x, axis=1, include_initial=True)):
        assert y.dtype == wanted
    assert xp.sum(x, dtype=df.float64).dtype == "float64"


def test_indices_are_int64():
    x = xp.asarray([3, 1])
    for y in (xp.argmax(x), xp.argmin(x), xp.argsort(x), xp.count_nonzero(x), xp.nonzero(x)[0],
              xp.searchsorted(x, x), *xp.unique_all(x)[1:]):
        assert y.dtype == "int64"


def test_kinds():
    assert xp.isdtype(df.uint8, "unsigned integer") and not xp.isdtype(df.uint8, "signed integer")
    assert xp.isdtype(df.bool_, ("integral", df.bool_)) and not xp.isdtype(df.bool_, "numeric")
    assert not any(xp.isdtype(d, "complex floating") for d in (df.float32, df.int64))
    with pytest.raises(ValueError, match="'integer'"):
        xp.isdtype(df.int8, "integer")


@pytest.mark.parametrize("name", FLOATS)
def test_finfo(name):
    import numpy as np

    got, want = xp.finfo(xp.ones(1, dtype=name)), np.finfo(name)
    for key in ("bits", "eps", "max", "min", "smallest_normal"):
        assert getattr(got, key) == getattr(want, key), key
    assert got.dtype == name


def test_iinfo():
    assert (xp.iinfo(df.uint16).max, xp.iinfo(df.int64).min) == (65535, -2 ** 63)
    with pytest.raises(TypeError, match="expected an integer dtype"):
        xp.iinfo(df.float32)
    with pytest.raises(TypeError, match="expected a floating dtype"):
        xp.finfo(df.int8)


def test_numpy_scalars_that_are_python_numbers():
    """np.float64 is a subclass of float, and as weakly typed as one in all functions."""
    x = xp.ones(2, dtype=df.float32)
    for function in (xp.add, xp.atan2, xp.maximum):
        assert function(x, np.float64(2)).dtype is df.float32
    assert xp.result_type(df.float32, np.float64(2)) is df.float32
