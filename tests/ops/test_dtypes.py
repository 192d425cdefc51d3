"""Dtypes that no row of an op declares are refused, naming the op and the dtype; float16 and
bfloat16 are accepted where float32 is (their values: test_halves.py)."""

import numpy as np
import pytest

import dualflow as df
from dualflow import _core
from tests.ops import harness
from tests.ops.case import sample
from tests.ops.cases import CASES

HALVES = ("float16", "bfloat16")


DECLARED = {}
for row in CASES:
    DECLARED.setdefault(row.function, set()).update(row.dtypes)


def undeclared():
    """One row per function, with each dtype none of the function's rows declares."""
    first = {}
    for case in CASES:
        if any(isinstance(a, sample) for a in case.args):
            first.setdefault(case.function, case)
    return [pytest.param(first[f], d.name, id=f"{f}-{d.name}") for f in first
            for d in df.dtypes.ALL if d.name not in DECLARED[f]]


def of_dtype(value, dtype):
    """Samples as tensors of `dtype`: halves are cast here, others drawn."""
    if not callable(value):
        return harness.tensor(value)
    drawn = harness.tensor(value(np.random.default_rng(0), "float32" if dtype in HALVES else dtype))
    return df.cast(drawn, dtype) if drawn.dtype is df.float32 else drawn


@pytest.mark.parametrize("case, dtype", undeclared())
def test_undeclared_dtype(case, dtype):
    args = harness.each(lambda a: of_dtype(a, dtype), list(case.args))
    try:
        harness.function(case)(*args, **case.kwargs)
    except df.errors.DTypeError as error:
        assert dtype not in HALVES or "float32" not in DECLARED[case.function]
        message = str(error)
        assert dtype in message, message
        assert case.op in message or case.function.split(".")[-1] in message, message
        return
    if any([type(a) is float for a in case.args]):      # promotes integers to float32
        return
    op = _core.get_op(case.op)
    # no table of dtypes: the kernel is chosen otherwise, as that of cast
    has_kernel = op.kind != "elementwise" or not op.dtypes or dtype in op.dtypes
    as_float32 = dtype in HALVES and has_kernel
    assert as_float32, f"{case.function} takes {dtype}: declare it in the row's dtypes"
