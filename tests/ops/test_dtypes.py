"""Dtypes that no row of an op declares are rejected with a message naming op and dtype. float16 and
bfloat16 are accepted wherever float32 is (test_halves.py tests their values)."""

import numpy as np
import pytest

import dualflow as df
from dualflow import _core
from tests.ops import harness
from tests.ops.case import sample
from tests.ops.cases import CASES

HALVES = ("float16", "bfloat16")
COMPLEX = ("complex64", "complex128")
# Functions that compute complex results by other ops than the op of their rows, or return real
# numbers unchanged; their tests are in test_complex*.py of each family.
BY_OTHER_OPS = {"linalg.qr", "math.approximate_equal", "math.reduce_euclidean_norm",
                "math.reduce_std", "math.reduce_variance",
                "math.segment_mean", "math.segment_prod", "math.unsorted_segment_mean",
                "math.unsorted_segment_prod", "math.unsorted_segment_sqrt_n", "nn.conv2d",
                "nn.convolution", "nn.global_avg_pool", "nn.l2_normalize", "norm", "saturate_cast",
                "unique_with_counts"}
OF_PARTS = {"complex", "math.angle", "math.conj", "math.imag", "math.real"}


DECLARED = {}
for row in CASES:
    DECLARED.setdefault(row.function, set()).update(row.dtypes)


def one_per_function():
    """Return one row per function."""
    first = {}
    for case in CASES:
        if any(isinstance(a, sample) for a in case.args):
            first.setdefault(case.function, case)
    return [pytest.param(case, id=function) for function, case in first.items()]


def of_dtype(value, dtype):
    """Return samples as tensors of `dtype`: 16-bit floats are cast, others drawn."""
    if not callable(value):
        return harness.tensor(value)
    drawn = harness.tensor(value(np.random.default_rng(0), "float32" if dtype in HALVES else dtype))
    return df.cast(drawn, dtype) if drawn.dtype is df.float32 else drawn


@pytest.mark.parametrize("case", one_per_function())
def test_undeclared_dtypes(case):
    for dtype in df.dtypes.ALL:
        known = ((dtype.is_complex and case.function in BY_OTHER_OPS)
                 or (not dtype.is_complex and case.function in OF_PARTS)
                 or case.function in ("signal.dct", "signal.rfft"))  # in the float of any dtype
        if dtype.name not in DECLARED[case.function] and not known:
            check(case, dtype.name)


def check(case, dtype):
    args = harness.each(lambda a: of_dtype(a, dtype), list(case.args))
    try:
        harness.function(case)(*args, **case.kwargs)
    except df.errors.DTypeError as error:
        assert dtype not in HALVES or "float32" not in DECLARED[case.function]
        message = str(error)
        assert dtype in message, message
        assert case.op in message or case.function.split(".")[-1] in message, message
        return
    if any([type(a) is float for a in case.args]):      # integers are promoted to float32
        return
    op = _core.get_op(case.op)
    # no dtype table: the kernel is selected differently, e.g. for cast
    has_kernel = op.kind != "elementwise" or not op.dtypes or dtype in op.dtypes
    as_float32 = dtype in HALVES and has_kernel
    assert as_float32, f"{case.function} accepts {dtype}: add it to the row's dtypes"
