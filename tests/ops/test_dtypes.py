"""Dtypes that no row of an op declares are refused, naming the op and the dtype."""

import numpy as np
import pytest

import dualflow as df
from dualflow import _core
from tests.ops import harness
from tests.ops.case import sample
from tests.ops.cases import CASES

STORAGE = ("float16", "bfloat16")


def undeclared():
    """One row per function, with each dtype none of the function's rows declares."""
    declared, first = {}, {}
    for case in CASES:
        declared.setdefault(case.function, set()).update(case.dtypes)
        if any(isinstance(a, sample) for a in case.args):
            first.setdefault(case.function, case)
    return [pytest.param(first[f], d.name, id=f"{f}-{d.name}") for f in first
            for d in df.dtypes.ALL if d.name not in declared[f]]


def of_dtype(value, dtype):
    """Samples as tensors of `dtype`; bfloat16 arrays do not exist, so they are cast here."""
    if isinstance(value, sample):
        drawn = value(np.random.default_rng(0), "float32" if dtype in STORAGE else dtype)
        return _core.apply("cast", df.constant(drawn), dtype=dtype)
    rng = np.random.default_rng(0)
    drawn = value(rng, "float32" if dtype in STORAGE else dtype) if callable(value) else value
    return harness.tensor(drawn)


@pytest.mark.parametrize("case, dtype", undeclared())
def test_undeclared_dtype(case, dtype):
    args = harness.each(lambda a: of_dtype(a, dtype), list(case.args))
    try:
        harness.function(case)(*args, **case.kwargs)
    except df.errors.DTypeError as error:
        message = str(error)
        assert dtype in message, message
        assert case.op in message or case.function.split(".")[-1] in message, message
        return
    op = _core.get_op(case.op)
    # no table of dtypes: the kernel is chosen otherwise, as that of cast
    has_kernel = op.kind != "elementwise" or not op.dtypes or dtype in op.dtypes
    moved = dtype in STORAGE and has_kernel
    assert moved, f"{case.function} takes {dtype}: declare it in the row's dtypes"
