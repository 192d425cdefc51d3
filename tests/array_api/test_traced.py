"""Every function returns the bits of eager mode when traced, and is covered by the other tests of
this folder."""

import re
from pathlib import Path

import numpy as np
import pytest

import dualflow as df

xp = df.array_api

ROW = np.array([3.0, -1.5, 0.25, 3.0], "float32")
POSITIVE = np.array([0.5, 0.75, 0.25], "float64")
WHOLE = np.array([[3, 1, 2], [1, 3, 7]], "int16")
TRUTHS = np.array([True, False, True])
MATRIX = np.array([[4.0, 1.0], [1.0, 3.0]])
PLACES = np.array([1, 0], "int32")

ONE = [
    ("abs asinh atan ceil conj cos cosh exp expm1 floor imag isfinite isinf isnan negative "
     "positive real reciprocal round sign signbit sin sinh square tan tanh trunc argmax argmin "
     "argsort count_nonzero cumulative_sum cumulative_prod diff flip max mean min nonzero prod "
     "sort std sum var all any unique_all unique_counts unique_inverse unique_values unstack "
     "empty_like ones_like zeros_like asarray broadcast_arrays meshgrid linalg.vector_norm", ROW),
    ("acos asin atanh log log10 log1p log2 sqrt", POSITIVE),
    ("acosh matrix_transpose tril triu linalg.cholesky linalg.det linalg.diagonal linalg.eigh "
     "linalg.eigvalsh linalg.inv linalg.matrix_norm linalg.matrix_rank linalg.matrix_transpose "
     "linalg.pinv linalg.qr linalg.slogdet linalg.svd linalg.svdvals linalg.trace", MATRIX),
    ("bitwise_invert", WHOLE),
    ("logical_not", TRUTHS),
]
TWO = [
    ("add atan2 copysign divide equal floor_divide greater greater_equal hypot less less_equal "
     "logaddexp maximum minimum multiply nextafter not_equal pow remainder subtract vecdot "
     "searchsorted linalg.outer linalg.vecdot", ROW),
    ("bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor tensordot "
     "linalg.cross linalg.tensordot", WHOLE),
    ("logical_and logical_or logical_xor", TRUTHS),
    ("matmul linalg.matmul linalg.solve", MATRIX),
]
MORE = {
    "arange": lambda x: xp.arange(3, dtype=df.float32) + x[0],
    "astype": lambda x: xp.astype(x, df.int64),
    "broadcast_to": lambda x: xp.broadcast_to(x, (2, 4)),
    "concat": lambda x: xp.concat([x, x]),
    "clip": lambda x: xp.clip(x, 0, 1),
    "empty": lambda x: xp.empty(3) + x[0],
    "expand_dims": lambda x: xp.expand_dims(x, 0),
    "eye": lambda x: xp.eye(3, k=1) * x[0],
    "full": lambda x: xp.full((2,), x[0]),
    "full_like": lambda x: xp.full_like(x, 7),
    "linspace": lambda x: xp.linspace(0, 1, 4) + x,
    "matrix_power": lambda x: xp.linalg.matrix_power(xp.reshape(x, (2, 2)), 3),
    "moveaxis": lambda x: xp.moveaxis(xp.reshape(x, (2, 2)), 0, 1),
    "ones": lambda x: xp.ones(4) + x,
    "permute_dims": lambda x: xp.permute_dims(xp.reshape(x, (2, 2)), (1, 0)),
    "repeat": lambda x: xp.repeat(x, 2),
    "reshape": lambda x: xp.reshape(x, (2, -1)),
    "roll": lambda x: xp.roll(x, 1),
    "squeeze": lambda x: xp.squeeze(xp.expand_dims(x, 0), 0),
    "stack": lambda x: xp.stack([x, x]),
    "take": lambda x: xp.take(x, xp.asarray(PLACES)),
    "take_along_axis": lambda x: xp.take_along_axis(x, xp.argsort(x)),
    "tile": lambda x: xp.tile(x, (2, 2)),
    "var with a correction": lambda x: xp.var(x, correction=1),
    "where": lambda x: xp.where(x > 0, x, 0),
    "zeros": lambda x: xp.zeros(4) + x,
}


def find(name):
    return getattr(xp.linalg if name.startswith("linalg.") else xp, name.rpartition(".")[2])


def of_one(name):
    return lambda x: find(name)(x)


def of_two(name):
    return lambda x: find(name)(x, x)


CALLS = {
    **{name: (of_one(name), x) for names, x in ONE for name in names.split()},
    **{name: (of_two(name), x) for names, x in TWO for name in names.split()},
    **{name: (f, ROW) for name, f in MORE.items()},
}


def parts(result):
    return list(result) if isinstance(result, list | tuple) else [result]


@pytest.mark.parametrize("name", CALLS)
def test_traced(name):
    f, x = CALLS[name]
    traced = df.function(f)
    for _ in range(2):
        for got, want in zip(parts(traced(df.constant(x))), parts(f(df.constant(x))), strict=True):
            assert got.dtype == want.dtype and got.shape == want.shape
            assert got.numpy().tobytes() == want.numpy().tobytes()


# These functions need sizes that are known while tracing.
SIZED = {"unstack", "nonzero"}


@pytest.mark.parametrize("name", [n for n, (_, x) in CALLS.items() if x is ROW and n not in SIZED])
def test_traced_with_an_unknown_size(name):
    f = CALLS[name][0]
    traced = df.function(f, input_signature=[df.TensorSpec([None], "float32")])
    want = parts(f(df.constant(ROW)))
    for got, w in zip(parts(traced(df.constant(ROW))), want, strict=True):
        assert got.shape == w.shape and got.numpy().tobytes() == w.numpy().tobytes()


def test_all_functions_are_traced():
    functions = {n for n in xp.__all__ if callable(getattr(xp, n)) and not isinstance(
        getattr(xp, n), df.DType)} - {"__array_namespace_info__"}
    not_of_arrays = {"can_cast", "finfo", "iinfo", "isdtype", "result_type", "from_dlpack"}
    assert functions - not_of_arrays <= set(CALLS)
    assert set(xp.linalg.__all__) <= {n.removeprefix("linalg.") for n in CALLS}


def test_all_functions_are_tested():
    text = "".join(p.read_text() for p in Path(__file__).parent.glob("test_*.py")
                   if p.name != Path(__file__).name)
    for name in [*xp.__all__, *xp.linalg.__all__]:
        assert re.search(rf'["\.]{name}\b', text), f"no test names {name}"


def test_gradients():
    x = [0.3, -2.0, 5.0]
    df.testing.check_gradients(lambda x: xp.var(x, correction=1), [x])
    df.testing.check_gradients(lambda x: xp.take_along_axis(x, xp.asarray([2, 0])), [x])
    df.testing.check_gradients(lambda x: xp.cumulative_sum(x, include_initial=True), [x])
    df.testing.check_gradients(lambda x: xp.asarray(x, copy=True) * x, [x])
    df.testing.check_gradients(xp.linalg.pinv, [[[2.0, 1.0], [0.5, 3.0], [1.0, 1.0]]])
